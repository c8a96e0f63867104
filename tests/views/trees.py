"""Prefix trees for tests: of the A-O example, and of prompts written down in the test."""

from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload
from tests.views.runs import golden_trace
from views.figures.moment import moment_at
from views.figures.selection import Selection
from views.figures.tree.tree import tree
from views.text import Text

TEXT = Text("en")


def after(trace, step, kind):
    """The moment just after the first event of this kind in the step."""
    for sub_step in range(trace.num_sub_steps(step)):
        if any(type(event).__name__ == kind for event in trace.events(step, sub_step)):
            return moment_at(trace, Cursor(step, sub_step + 1))
    raise AssertionError(f"no {kind} in step {step}")


def doc_tree(step, kind, **chosen):
    trace = golden_trace("doc_example")
    return tree(after(trace, step, kind), TEXT, trace=trace, selection=Selection(**chosen))


def run(prompts, **config):
    requests = [
        {"id": f"r{i}", "arrival_step": i, "prompt": prompt, "output": [7], **options}
        for i, (prompt, options) in enumerate(prompts)
    ]
    settings = {"max_num_batched_tokens": 8192, "max_model_len": 8192, **config}
    workload = parse_workload({"name": "tree", "config": settings, "requests": requests})
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.append).run():
        pass
    return trace


def last_tree(trace, **chosen):
    selection = Selection(**chosen)
    return tree(moment_at(trace, trace.last), TEXT, trace=trace, selection=selection)
