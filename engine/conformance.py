"""Runs workloads without a model and writes or compares them in the form of the recorded runs.

    python -m engine.conformance WORKLOAD.json ... [--out DIR] [--against DIR] [--trace DIR]
    python -m engine.conformance --time [--recording] WORKLOAD.json

`--out DIR` writes a picture a step, as vLLM's runs were recorded: for comparing. `--trace DIR` writes
the events, which is what the page Inspect opens.
`--against DIR` compares with DIR/NAME.jsonl.gz field by field and exits with 1 at a difference.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.errors import PagewalkError
from engine.recorded_run import first_difference, read_recorded_run, recorded_run, write_run
from engine.trace.codec import write_trace
from engine.trace.events import Event, ignore
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, Workload, read_workload


def time_workload(workload: Workload, *, recording: bool) -> dict[str, Any]:
    """Seconds in schedule and update alone, without snapshots."""
    events: list[Event] = []
    run = ScriptedRun(workload, emit=events.append if recording else ignore)
    seconds = 0.0
    clock = time.perf_counter
    while not run.is_over:
        run.before()
        began = clock()
        run.engine.schedule()
        seconds += clock() - began
        run.engine.run()
        run.middle()
        began = clock()
        run.engine.update(end_step=False)
        seconds += clock() - began
        run.after_update()
    return {"workload": workload.name, "steps": run.engine.step_index, "seconds": round(seconds, 6)}


def check_workload(path: str, out: Path | None, against: Path | None) -> str | None:
    """Run one workload, write it and compare it as asked; a sentence if it differs."""
    workload = read_workload(path)
    steps = list(recorded_run(workload))
    steps[0]["workload"] = json.loads(Path(path).read_text(encoding="utf-8"))
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_run(steps, out / f"{workload.name}.jsonl.gz")
    if against is None:
        print(f"{workload.name}: {len(steps) - 1} steps")
        return None
    theirs = against / f"{workload.name}.jsonl.gz"
    if not theirs.exists():
        return f"{workload.name}: {theirs} does not exist"
    difference = first_difference(steps, read_recorded_run(theirs))
    if difference is not None:
        return f"{workload.name}: {difference}"
    print(f"{workload.name}: {len(steps) - 1} steps, equal")
    return None


def trace_workload(workload: Workload, folder: Path) -> None:
    """Write the events of a run as NAME.trace.jsonl.gz."""
    header = TraceHeader(config=workload.config.to_mapping(), title=workload.name)
    trace = Trace(header)
    for _ in ScriptedRun(workload, emit=trace.append).run():
        pass
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{workload.name}.trace.jsonl.gz"
    write_trace(path, trace)
    print(f"{workload.name}: {trace.num_steps} steps in {path}, for the page Inspect")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine.conformance", description=__doc__)
    parser.add_argument("workloads", nargs="+", metavar="WORKLOAD.json")
    parser.add_argument("--out", type=Path, help="write NAME.jsonl.gz here, to compare with")
    parser.add_argument("--trace", type=Path, help="write NAME.trace.jsonl.gz here, for Inspect")
    parser.add_argument("--against", type=Path, help="compare with NAME.jsonl.gz in this folder")
    parser.add_argument("--time", action="store_true", help="print steps and seconds as JSON")
    parser.add_argument("--recording", action="store_true", help="with --time: record events")
    options = parser.parse_args(arguments)
    num_wrong = 0
    for path in options.workloads:
        try:
            if options.time:
                timed = time_workload(read_workload(path), recording=options.recording)
                print(json.dumps(timed))
                continue
            if options.trace is not None:
                trace_workload(read_workload(path), options.trace)
            is_compared = options.trace is None or options.out or options.against
            problem = check_workload(path, options.out, options.against) if is_compared else None
        except PagewalkError as error:
            problem = str(error)
        if problem is not None:
            num_wrong += 1
            print(problem, file=sys.stderr)
    return 1 if num_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
