"""`make bench`: prints a table for each part with its method beside it, then one JSON line."""

import argparse
import json
import os
from collections.abc import Callable
from typing import Any

from bench.measure import OtherLoad, machine
from bench.workloads import BATCHES, FULL, QUICK, Size

PARTS = ("decode", "prefill", "shared_prefix", "scheduler", "recording", "trace", "pool")
MODEL_PARTS = ("decode", "prefill", "shared_prefix", "recording")


class Options(argparse.Namespace):
    quick: bool
    only: list[str]
    num_threads: int
    dtype: str
    batches: list[int]
    model: str | None
    vllm_python: str | None
    llama_python: str | None
    llama_models: list[str]


def parse_options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m bench.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of a few tokens")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument(
        "--threads", type=int, default=os.cpu_count(), dest="num_threads", help="of torch"
    )
    parser.add_argument(
        "--batch",
        nargs="+",
        type=int,
        choices=BATCHES,
        default=BATCHES,
        dest="batches",
        help="of decode",
    )
    parser.add_argument("--dtype", choices=("bfloat16", "float32", "4bit"), default="bfloat16")
    parser.add_argument("--model", help="a local folder; default: the model of the set-up")
    parser.add_argument("--vllm-python", help="interpreter of an environment with vLLM 0.17.1")
    parser.add_argument("--llama-python", help="interpreter of one with llama-cpp-python")
    parser.add_argument("--llama-models", nargs="+", default=[], metavar="GGUF")
    return parser.parse_args(namespace=Options())


def measure_models(options: Options, size: Size) -> dict[str, Any]:
    """The parts that run the model; torch is imported here so that the others do without."""
    from bench.model_speed import ModelBench

    bench = ModelBench(
        options.model, dtype=options.dtype, num_threads=options.num_threads, size=size
    )
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "decode": lambda: bench.decode(options.batches),
        "prefill": bench.prefill,
        "shared_prefix": bench.shared_prefix,
        "recording": bench.recording,
    }
    found: dict[str, Any] = {}
    for name in MODEL_PARTS:
        if name in options.only:
            found |= parts[name]()
    return found | bench.beside(options)


def measure_bookkeeping(options: Options, size: Size) -> dict[str, Any]:
    from bench.bookkeeping import measure_scheduler, measure_trace
    from bench.pool_size import measure_pool

    found: dict[str, Any] = {}
    if "scheduler" in options.only:
        found |= measure_scheduler(size)
    if "trace" in options.only:
        found |= measure_trace(size)
    if "pool" in options.only:
        found |= measure_pool(size.num_rounds)
    return found


def main() -> None:
    options = parse_options()
    size = QUICK if options.quick else FULL
    load = OtherLoad()
    print(f"{machine()}; {options.num_threads} threads")
    found = measure_bookkeeping(options, size)
    if set(MODEL_PARTS) & set(options.only) or options.vllm_python or options.llama_python:
        found |= measure_models(options, size)
    print(f"\n{load.sentence()}")
    print(json.dumps({"vllm": None} | found))


if __name__ == "__main__":
    main()
