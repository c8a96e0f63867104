"""Holds the engine against vLLM's own scheduler on random workloads, field by field.

    python -m tests.against_vllm VLLM_PYTHON [--runs 200] [--first SEED] [--keep DIR] [--digests FILE]

VLLM_PYTHON is an interpreter that has vLLM 0.17.1 (its CPU build will do) and xxhash. Exits with 1 at
a difference, whose workload and record stay in DIR, and with 2 where VLLM_PYTHON is no such
interpreter. `--digests FILE` adds what vLLM did to FILE, for tests/core/test_random_runs.py.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine.errors import PagewalkError, SourceError
from engine.recorded_run import first_difference, read_recorded_run, recorded_run
from engine.workload import parse_workload
from tests.against_vllm.digest import digest_of
from tests.against_vllm.random_workloads import random_workload

LISTED = "workloads.txt"  # their paths, one a line
RECORDER = Path(__file__).parent / "record.py"
VERSION = "0.17.1"
ASK_VERSION = "import vllm, xxhash; print(vllm.__version__)"


class Compared(NamedTuple):
    """One workload after both have run it; `problem` is None where they are equal."""

    seed: int
    num_steps: int
    digest: str  # of vLLM's run
    problem: str | None


def check_vllm(vllm_python: str) -> None:
    """SourceError where this is no interpreter, or not one with vLLM 0.17.1 and xxhash."""
    try:
        asked = subprocess.run(
            [vllm_python, "-c", ASK_VERSION], capture_output=True, text=True, check=False
        )
    except OSError as error:
        reason = f"{vllm_python} cannot be run: {error.strerror}"
    else:
        answer = (asked.stdout.strip() or asked.stderr.strip() or "nothing").splitlines()[-1]
        if asked.returncode == 0 and answer.split("+")[0] == VERSION:
            return
        verb = "says:" if asked.returncode else "has vLLM"
        reason = f"{vllm_python} {verb} {answer}"
    raise SourceError(f"{reason}; name an interpreter that has vLLM {VERSION} and xxhash")


def compared(vllm_python: str, seeds: Sequence[int], folder: Path) -> Iterator[Compared]:
    """Each as soon as vLLM has run it. What differs stays in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"random_{seed}.json" for seed in seeds]
    for seed, path in zip(seeds, paths, strict=True):
        path.write_text(json.dumps(random_workload(seed)), encoding="utf-8")
    (folder / LISTED).write_text("\n".join(map(str, paths)), encoding="utf-8")
    command = [vllm_python, RECORDER, folder]
    with (
        (folder / LISTED).open(encoding="utf-8") as listed,
        subprocess.Popen(command, stdin=listed, stdout=subprocess.PIPE, text=True) as recorder,
    ):
        assert recorder.stdout is not None
        for seed, path in zip(seeds, paths, strict=True):
            if recorder.stdout.readline().strip() != path.stem:
                raise SourceError(f"vLLM's side ended before {path.stem}; it says why above")
            record = path.with_suffix(".jsonl.gz")
            result = compare(seed, json.loads(path.read_text(encoding="utf-8")), record)
            if result.problem is None:
                record.unlink()
                path.unlink()
            yield result


def compare(seed: int, workload: dict[str, Any], record: Path) -> Compared:
    """A workload here against the record of it that vLLM left."""
    theirs = read_recorded_run(record)
    if raised := theirs[-1].get("raised"):
        return Compared(seed, 0, "", f"vLLM raised {raised}")
    try:
        problem = first_difference(recorded_run(parse_workload(workload)), theirs)
    except PagewalkError as error:
        problem = f"refused here, and vLLM ran it: {error}"
    return Compared(seed, len(theirs) - 1, digest_of(theirs), problem)


def _keep(digests: dict[str, str], file: Path) -> None:
    """Beside those that the file has already."""
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    in_order = dict(sorted((known | digests).items(), key=lambda item: int(item[0])))
    file.write_text(json.dumps(in_order, indent=0) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.against_vllm", description=__doc__)
    parser.add_argument("vllm_python")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--keep", type=Path, default=Path("data/differences"), metavar="DIR")
    parser.add_argument("--digests", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        check_vllm(options.vllm_python)
        return _compare_all(options)
    except SourceError as error:
        print(error.sentence, file=sys.stderr)
        return 2


def _compare_all(options: argparse.Namespace) -> int:
    seeds = range(options.first, options.first + options.runs)
    num_equal, num_steps = 0, 0
    digests: dict[str, str] = {}
    for result in compared(options.vllm_python, seeds, options.keep):
        if result.problem is not None:
            print(f"random_{result.seed}: {result.problem}", flush=True)
            continue
        num_equal += 1
        num_steps += result.num_steps
        digests[str(result.seed)] = result.digest
    print(f"{num_equal} of {options.runs} random runs are equal, {num_steps} steps field by field")
    if options.digests is not None:
        _keep(digests, options.digests)
    return 0 if num_equal == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())
