"""Where the kernels cannot run, test_gate.py says so and is all that is collected.

An interpreter that has a GPU's torch may lack what the engine around the kernels needs.
"""

from importlib.util import find_spec

from tests.kernels.gate import why_not

NEED_THE_ENGINE = ("engine_on_kernels", "bench_gpu_engine", "fused_trial")

collect_ignore_glob = [] if why_not() is None else ["test_[!g]*.py"]
if find_spec("msgspec") is None:
    collect_ignore_glob += [f"test_{name}.py" for name in NEED_THE_ENGINE]
