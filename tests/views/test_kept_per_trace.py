"""What the figures keep about a trace is made once, and ends with the trace."""

import gc
import weakref

from engine.questions.miss import why_miss
from engine.trace.trace import Trace
from tests.views.runs import golden_trace
from views.figures.time.strip import run_strip
from views.figures.tree.prefix_forest import forest_of


def short_lived() -> Trace:
    shared = golden_trace("doc_example")
    trace = Trace(shared.header)
    trace.extend(shared.events_from(0))
    return trace


def test_the_picture_of_a_run_and_its_prefix_trees_go_when_its_trace_goes():
    trace = short_lived()
    strip, forest = run_strip(trace), forest_of(trace)[1]
    assert run_strip(trace) is strip
    assert forest_of(trace)[1] is forest
    known = weakref.ref(strip), weakref.ref(forest)
    del trace, strip, forest
    gc.collect()
    assert [each() for each in known] == [None, None]


def test_a_verdict_on_a_lookup_is_given_once_and_goes_when_its_trace_goes():
    trace = short_lived()
    verdict = why_miss(trace, trace.last, "request1")
    assert verdict is not None
    assert verdict.found.num_hit_tokens == 8
    assert why_miss(trace, trace.last, "request1") is verdict
    known = weakref.ref(trace)
    del trace
    gc.collect()
    assert known() is None
