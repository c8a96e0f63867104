"""`make bench-gpu PYTHON=...`: the kernels and the decode step on an NVIDIA GPU, with that
interpreter's own torch and triton. Prints a table for each part, then one JSON line: what was
measured, and under "errors" what failed. Without any error the exit code is 0.

--dry runs every part small on the CPU, through Triton's interpreter: its times mean nothing.
"""

import argparse
import importlib.util
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from bench.gpu_report import Report

NEEDED = ("torch", "triton", "transformers")
TESTS_NEED = "pytest"  # make test-gpu runs the tests after --check
PARTS = ("attention", "prefill", "model", "engine")


class Options(argparse.Namespace):
    dry: bool
    check: bool
    only: list[str]


def parse_options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--dry", action="store_true", help="small, on the CPU")
    parser.add_argument(
        "--check", action="store_true", help="only say whether make test-gpu could run"
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    return parser.parse_args(namespace=Options())


def why_not(*, dry: bool, check: bool = False) -> str | None:
    """One sentence: why nothing can be measured, or tested, with this interpreter."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        return (
            f"{sys.executable} lacks {', '.join(missing)}: name another Python with PYTHON=..., "
            "whose torch sees an NVIDIA GPU."
        )
    if check and importlib.util.find_spec(TESTS_NEED) is None:
        return (
            f"{sys.executable} lacks {TESTS_NEED}, which the tests are run by: name another Python "
            f"with PYTHON=..., or install {TESTS_NEED} into this one."
        )
    import torch

    if not dry and not torch.cuda.is_available():
        return (
            f"{sys.executable} has torch {torch.__version__}, which sees no NVIDIA GPU: name "
            "another Python with PYTHON=..."
        )
    if dry:
        return None
    from engine.runner.attention.choice import why_no_kernels

    reason = why_no_kernels(torch.device("cuda"))
    return None if reason is None else f"The kernels do not run here: {reason}."


def measure(options: Options, report: Report) -> None:
    from bench import gpu_attention, gpu_machine
    from bench.gpu_clock import Clock

    clock = Clock(dry=options.dry)
    with report.attempt("machine"):
        report.found |= gpu_machine.facts(dry=options.dry)
        print(gpu_machine.sentence(report.found))
    with report.attempt("ceilings"):
        report.found |= clock.measure_ceilings()
    with report.attempt("check"):
        report.found |= gpu_attention.check(clock)
    parts: dict[str, Callable[[], None]] = {
        "attention": lambda: gpu_attention.measure_decode(clock, report),
        "prefill": lambda: gpu_attention.measure_prefill(clock, report),
        "model": lambda: measure_model(clock, report),
        "engine": lambda: measure_engine(clock, report),
    }
    for name in options.only:
        with report.attempt(name):
            parts[name]()


def measure_model(clock: Any, report: Report) -> None:
    from bench.gpu_model import ModelBench

    ModelBench(clock, report).measure()


def measure_engine(clock: Any, report: Report) -> None:
    """Needs what the engine needs besides torch, and the model of the set-up."""
    if importlib.util.find_spec("msgspec") is None:
        report.fail("engine", "not measured, since msgspec is missing here")
        return
    from bench.gpu_engine import measure_steps

    measure_steps(clock, report)


def main() -> int:
    options = parse_options()
    if options.dry:  # before anything imports triton
        os.environ |= {"TRITON_INTERPRET": "1", "PAGEWALK_ATTENTION": "triton"}
    reason = why_not(dry=options.dry, check=options.check)
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    if options.check:
        return 0
    report = Report()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a time limit loses nothing either
    try:
        measure(options, report)
    except KeyboardInterrupt:
        report.fail("all", "stopped before its end")
    print(f"\n{json.dumps(report.found)}")
    return 1 if report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
