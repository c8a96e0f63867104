"""Where the kernels cannot run, test_gate.py says so and is all that is collected."""

from tests.kernels.gate import why_not

collect_ignore_glob = [] if why_not() is None else ["test_[!g]*.py"]
