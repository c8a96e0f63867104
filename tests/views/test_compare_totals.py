"""The totals of a comparison are what the engine itself comes to, counted while it runs."""

import msgspec
import pytest

from engine.core.kv_events import BlockRemoved
from engine.workload import ScriptedRun
from tests.views.comparisons import TEXT, halves
from views.comparing import half, start_of
from views.figures.compare.compare import compare
from views.figures.compare.compare_inputs import Setting
from views.workloads import MATERIALS, MAX_STEPS, arranged

PAIRS = [
    ("doc_example", {}, {"enable_prefix_caching": "off"}),
    ("doc_example", {"num_blocks": "9"}, {"block_size": "8"}),
    ("doc_example", {"max_num_batched_tokens": "8", "max_num_seqs": "1"}, {"order": "reversed"}),
    ("shared", {}, {"max_num_seqs": "2"}),
    ("shared", {"num_blocks": "9"}, {"order": "together"}),
    ("cliff", {}, {}),
    ("cliff", {"num_blocks": "7"}, {"block_size": "1", "num_blocks": "29"}),
    ("pressure", {"num_blocks": "7"}, {"num_blocks": "9"}),
    ("pressure", {"num_blocks": "6"}, {"policy": "priority"}),
    ("line", {}, {"max_num_seqs": "4"}),
]


def _filled(requests, block_size):
    """Every slot that has K and V, or gets them in this step: what is shared is there once."""
    for request in requests.values():
        for place in range(request["num_computed_tokens"]):
            for table in request["blocks"]:
                if place // block_size < len(table):
                    yield table[place // block_size], place % block_size


def counted(name, half):
    """The same run once more, and what its engine holds and says at each of its steps."""
    base = MATERIALS[name].workload
    config = msgspec.structs.replace(
        base.config,
        **{
            field: int(value) if value.isdigit() else {"on": True, "off": False}.get(value, value)
            for field, value in half.setting._asdict().items()
            if field != "order"
        },
    )
    workload = msgspec.structs.replace(
        arranged(base, half.setting.order), config=config, max_steps=MAX_STEPS
    )
    found = dict.fromkeys(("computed", "hits", "queries", "preemptions", "evictions", "peak"), 0)
    ends, waste = {}, []

    def num_used():
        manager = run.engine.scheduler.kv_cache_manager
        return len(manager.pool.blocks) - 1 - manager.pool.num_free_blocks

    def seen(event):
        found["peak"] = max(found["peak"], num_used() if run else 0)

    run = None
    run = ScriptedRun(workload, emit=seen)
    engine = run.engine
    while not run.is_over:
        run.before()
        output = engine.schedule()
        found["computed"] += sum(row.num_scheduled_tokens for row in output.scheduled)
        found["preemptions"] += len(output.preempted)
        if held := num_used():
            filled = set(_filled(engine.snapshot()["requests"], config.block_size))
            waste.append(1 - len(filled) / (held * config.block_size))
        engine.run()
        run.middle()
        run.after()
        found["hits"] += engine.stats.hits
        found["queries"] += engine.stats.queries
        removed = [event for event in engine.kv_events if isinstance(event, BlockRemoved)]
        found["evictions"] += sum(len(event.block_hashes) for event in removed)
        ends |= {
            one.request_id: engine.step_index - 1 for one in engine.outputs if one.finish_reason
        }
    return found | {"steps": engine.step_index, "ends": ends, "waste": sum(waste) / len(waste)}


@pytest.mark.parametrize(("name", "left", "right"), PAIRS, ids=lambda value: str(value))
def test_the_totals_are_what_the_engine_counts(name, left, right):
    both = halves(name, left, right if right else None)
    page = compare(*both, TEXT)
    for place, side in enumerate(both):
        own = counted(name, side)
        shown = {row["key"]: row["values"][place] for row in page["totals"]}
        assert shown["steps"] == str(own["steps"])
        assert shown["computed"] == f"{own['computed']:,}"
        assert shown["hits"] == f"{own['hits']:,}"
        share = f"{100 * own['hits'] / own['queries']:.1f}%" if own["queries"] else "–"
        assert shown["hit_rate"] == share
        assert shown["evictions"] == str(own["evictions"])
        assert shown["preemptions"] == str(own["preemptions"])
        assert shown["peak"].startswith(f"{own['peak'] * int(side.setting.block_size)} (")
        assert shown["waste"] == f"{100 * own['waste']:.1f}%"
        assert shown["mean_end"] == f"{sum(own['ends'].values()) / len(own['ends']):.1f}"
        ends = {row["request"]: row["values"][place] for row in page["finished"]}
        assert ends == {id_: str(step) for id_, step in own["ends"].items()}


def mean_row(page):
    return next(row for row in page["totals"] if row["key"] == "mean_end")


def ends(page):
    return {row["request"]: row["values"] for row in page["finished"]}


def test_the_mean_end_leaves_out_whom_the_playground_has_not_finished():
    both = halves("pressure", {}, {"num_blocks": "10"})
    whole, cut = compare(*both, TEXT), compare(*both, TEXT, ["r0"])
    assert ends(whole) == ends(cut) == {"r0": ["8", "8"], "r1": ["15", "11"]}
    assert mean_row(whole)["values"] == ["11.5", "9.5"]
    assert mean_row(cut)["values"] == ["15.0", "11.0"]
    assert ": 2 of 2." in mean_row(whole)["hint"]
    assert ": 1 of 2." in mean_row(cut)["hint"]
    none = mean_row(compare(*both, TEXT, ["r0", "r1"]))
    assert (none["values"], none["better"]) == (["–", "–"], "")


def test_an_abort_is_no_end_that_counts():
    """r1 ends by itself on the right alone, before anybody aborts it."""
    material = MATERIALS["pressure"]
    first, second = material.workload.requests
    leaves = msgspec.structs.replace(second, abort_step=12)
    workload = msgspec.structs.replace(material.workload, requests=(first, leaves))
    left_early = material._replace(workload=workload)
    start = start_of(left_early)
    both = [half(left_early, one, start, TEXT) for one in (Setting(), Setting(num_blocks="10"))]
    page = compare(*both, TEXT)
    assert ends(page) == {"r0": ["8", "8"], "r1": ["12, aborted", "11"]}
    assert mean_row(page)["values"] == ["8.0", "8.0"]
    assert mean_row(page)["better"] == "equal"
    assert [row["better"] for row in page["finished"]] == ["equal", ""]
    told = [line["text"] for line in page["reasons"]["lines"] if line["kind"] == "finish"]
    assert told == ["r1 is aborted in step 12 on the left; on the right it ends in step 11."]
