"""The walk is what the kernel does: its slots are attention's, its lines the file's, its numbers softmax."""

import math

import pytest

from engine.runner.attention.tiling import AttentionSizes
from engine.workload import read_workload
from tests.views.batches import packed_run, read_slots
from tests.views.runs import NAMES, WORKLOADS, golden_trace
from views.figures.batch.attention import Query
from views.figures.batch.batch_rows import shares_of
from views.figures.kernel.kernel import Look, kernel, walk_of
from views.figures.kernel.kernel_numbers import LOG2_E, numbers_of
from views.figures.kernel.kernel_source import kernel_source, places_of
from views.figures.kernel.kernel_steps import TILE_STAGES, steps_of
from views.figures.kernel.kernel_walk import is_walkable, launch_of, spots
from views.figures.selection import Selection
from views.text import LANGUAGES, Text

TEXT = Text("en")
GPU = AttentionSizes(num_heads=14, num_kv_heads=2, head_size=64, itemsize=4, num_processors=132)


def rows_of(trace, step, group_id):
    """Up to six places of every request of a step."""
    state = trace.at(trace.after_schedule(step))
    for share in shares_of(state, group_id):
        count = share.stop - share.start
        for offset in sorted({*range(min(2, count)), *range(max(0, count - 3), count), count // 2}):
            yield share, share.start + offset


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sizes", [AttentionSizes(9, 3, 64, 2), GPU])
def test_the_slots_of_a_walk_are_those_that_the_row_reads(name, sizes):
    trace = golden_trace(name)
    for step in range(0, trace.num_steps, max(1, trace.num_steps // 12)):
        for group_id, group in enumerate(trace.at(trace.last).groups):
            for share, position in rows_of(trace, step, group_id):
                chosen = Selection(request_id=share.request.request_id, token=position)
                walk = walk_of(trace, step, selection=chosen, look=Look(group_id, 1), sizes=sizes)
                if not is_walkable(group):
                    assert walk is None
                    continue
                tiles = [tile for _, tile in walk.program.visits]
                assert tiles == sorted(set(tiles))
                seen = [spot for tile in tiles for spot in spots(walk.launch, walk.program, tile)]
                read = [spot.slot for spot in seen if spot.sight == "read"]
                query = Query(share.request.request_id, position, group_id)
                assert read == read_slots(walk.state, query)
                assert all(spot.physical for spot in seen), "the null block is never loaded"


@pytest.mark.parametrize("name", ["doc_example", "sliding_window", "hybrid_three_groups"])
def test_the_walk_writes_where_the_engines_own_slot_mapping_says(name):
    trace, batches = packed_run(read_workload(WORKLOADS / f"{name}.json"))
    for step, real in batches.items():
        for group_id, group in enumerate(real.groups):
            for share, position in rows_of(trace, step, group_id):
                chosen = Selection(request_id=share.request.request_id, token=position)
                walk = walk_of(trace, step, selection=chosen, look=Look(group_id))
                row = share.first_row + walk.program.own_query
                words = steps_of(walk.launch, walk.program, TEXT, num_blocks=9)[0].words
                assert f"row {row} of the batch slot {int(group.slot_mapping[row])}." in words


def test_a_window_bounds_the_splits_as_it_bounds_the_walk():
    trace = golden_trace("shared_system_prompt_100")
    shares = list(shares_of(trace.at(trace.after_schedule(trace.num_steps - 1)), 0))
    whole, windowed = (launch_of(shares, GPU, block_size=16, window=w) for w in (None, 8))
    assert (whole.num_splits, windowed.num_splits) == (2, 1)


def test_every_program_has_its_rows_once():
    """A tile takes 21 queries of three heads; r1's six are one tile, beside the one of r0."""
    walk = walk_of(golden_trace("doc_example"), 3)
    assert walk.launch.tiles == [(0, 0), (1, 0)]
    assert walk.launch.num_programs == (2, 3)
    long = walk_of(golden_trace("shared_system_prompt_100"), 0)
    starts = [first for seq, first in long.launch.tiles if seq == 0]
    assert starts == list(range(0, long.program.num_queries, 21))


def test_on_a_gpu_with_idle_processors_a_long_sequence_is_split():
    trace = golden_trace("shared_system_prompt_100")
    step = trace.num_steps - 1
    while walk_of(trace, step) is None:
        step -= 1
    walk = walk_of(trace, step, sizes=GPU._replace(head_size=256, itemsize=4))
    assert walk.launch.num_splits > 1
    splits = [split for split, _ in walk.program.visits]
    assert splits == sorted(splits)
    stages = [each.stage for each in steps_of(walk.launch, walk.program, TEXT, num_blocks=9)]
    assert stages[-2:] == ["parts", "out"]


def test_the_lines_of_a_step_are_those_of_the_file():
    source = kernel_source()
    lines = ["".join(text for text, _ in line) for line in source.lines]
    walk = walk_of(golden_trace("doc_example"), 3)
    shown = {
        each.stage: lines[each.lines[0] - 1 : each.lines[1]]
        for each in steps_of(walk.launch, walk.program, TEXT, num_blocks=11)
    }
    assert shown["logical"] == ["    logical_blocks = positions // BLOCK_SIZE"]
    assert "tl.load(table_ptr + logical_blocks" in shown["table"][0]
    assert "own_position" in shown["mask"][0]
    assert shown["out"][0].strip().startswith("out = acc / ")
    assert source.path == "engine/runner/attention/paged_triton.py"


def test_a_statement_is_found_by_what_it_assigns_however_lines_move():
    code = "def f(x):\n    a = 1\n    for b in x:\n        a += b\n    return a\n"
    assert places_of(code) == {
        "f": (1, 1),
        "f.a": (2, 2),
        "f.b": (3, 3),
        "f.a#2": (4, 4),
        "f.return": (5, 5),
    }


def test_the_online_softmax_is_softmax():
    """Heads of size 16 in float32 make tiles of 64: 70 positions are two of them."""
    sizes = AttentionSizes(num_heads=2, num_kv_heads=1, head_size=16, itemsize=4)
    trace = golden_trace("shared_system_prompt_100")
    walk = next(
        walk
        for step in range(trace.num_steps)
        if (walk := walk_of(trace, step, sizes=sizes)) and len(walk.program.visits) > 1
    )
    size = walk.launch.block_size

    def read(block_id):
        keys = [[math.sin(block_id * size + slot + d) for d in range(16)] for slot in range(size)]
        values = [[float(block_id * size + slot)] * 16 for slot in range(size)]
        return keys, values

    query = [[0.5] * 16, [-3.0] * 16]
    numbers = numbers_of(walk.launch, walk.program, query, scale=0.25, read=read)
    slots = read_slots(
        walk.state, Query(walk.place.share.request.request_id, walk.place.position, 0)
    )
    for head in (0, 1):
        scores = [
            0.25 * sum(q * math.sin(slot + d) for d, q in enumerate(query[head])) for slot in slots
        ]
        weights = [math.exp(score) for score in scores]
        expected = sum(w * slot for w, slot in zip(weights, slots, strict=True)) / sum(weights)
        assert numbers.out[head] == pytest.approx([expected] * 16)
        last = numbers.folds[-1][head]
        assert last.top[1] == pytest.approx(max(scores) * LOG2_E)
        assert last.total[1] == pytest.approx(sum(weights) / math.exp(max(scores)))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "name", ["doc_example", "sliding_window", "ngram_spec", "chunked_local_only"]
)
def test_every_step_has_its_sentence_in_every_language(name, language):
    trace, text = golden_trace(name), Text(language)
    for step in range(min(trace.num_steps, 6)):
        for sizes in (AttentionSizes(9, 3, 64, 2), GPU):
            walk = walk_of(trace, step, sizes=sizes)
            payload = kernel(trace, trace.after_update(step), text, walk=walk)
            if walk is None:
                assert payload["empty"]
                continue
            assert all(each[3] and "{" not in each[3] for each in payload["steps"])
            assert len(payload["steps"]) >= 8 + len(TILE_STAGES)
            last = payload["step"]
            assert last["number"] == step
            assert last["run"] is None


def test_the_doc_examples_request_walks_its_own_table():
    trace = golden_trace("doc_example")
    chosen = Selection(request_id="request1", token=10)
    walk = walk_of(trace, 3, selection=chosen)
    payload = kernel(trace, trace.after_update(3), TEXT, walk=walk)
    assert payload["beside"] == "row 3 of the batch: request1, position 10"
    assert [entry[:2] for entry in payload["table"]] == [[0, 1], [1, 2], [2, 6], [3, 7]]
    (visit,) = payload["visits"]
    assert visit["rows"][-1] == {"fold": "positions 14 to 63: not loaded"}
    position, _, _, logical, block, _, offset, slot, at, sight = visit["rows"][10]
    assert (position, logical, block, offset, slot) == (10, 2, 6, 2, 26)
    assert at == 26 * 3 * 64
    assert sight == "read"
    assert visit["rows"][11][-1] == "later"
    said = next(words for stage, _, _, words, *_ in payload["steps"] if stage == "table")
    assert said.startswith("The table is read there: block_table[2] = 6.")
