"""Where the kernels cannot run, test_gate.py says so and is all that is collected.

An interpreter that has a GPU's torch may lack what the engine around the kernels needs.
"""

from importlib.util import find_spec

from tests.kernels.gate import why_not

collect_ignore_glob = [] if why_not() is None else ["test_[!g]*.py"]
if find_spec("msgspec") is None:
    collect_ignore_glob += ["test_engine_on_kernels.py", "test_bench_gpu_engine.py"]
