"""The page of one block: what it holds, what happened to it, and the numbers in it."""

import json

import pytest

from engine.trace.history import history_of
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.views.runs import NAMES, doc_moment, golden_trace
from views.figures.block.block import block, block_page
from views.figures.block.kv import Sight, kv, sight
from views.figures.block.life import MAX_SHOWN, life
from views.figures.moment import block_state, moment_at
from views.text import Text

TEXT = Text("en")
NO_KV = kv(Sight(), TEXT)


def find(step, kind):
    """The cursor just after the first event of this kind in the step of the A-O example."""
    trace = golden_trace("doc_example")
    for sub_step in range(trace.num_sub_steps(step)):
        if any(type(event).__name__ == kind for event in trace.events(step, sub_step)):
            return Cursor(step, sub_step + 1)
    raise AssertionError(f"no {kind} in step {step}")


def page(cursor, selected, name="doc_example"):
    return block_page(golden_trace(name), cursor, TEXT, selected=selected, kv=NO_KV)


def told(payload):
    return [(step, sentence) for _, step, sentence, _, _ in payload["life"]["lines"]]


@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_every_recorded_workload_has_a_page(name):
    trace = golden_trace(name)
    last = trace.num_positions - 1
    for position in {0, last // 3, 2 * last // 3, last}:
        cursor = trace.cursor_at(position)
        state = trace.at(cursor)
        for block_id in (None, 0, 1, 2, 3, 5, 8, 13, state.num_blocks - 1, 10**9):
            seen = Sight() if block_id is None else sight(trace, cursor, block_id)
            payload = block_page(trace, cursor, TEXT, selected=block_id, kv=kv(seen, TEXT))
            json.dumps(payload)
            json.dumps(block(moment_at(trace, cursor), TEXT, selected=block_id))
            if block_id in state.blocks:
                passed = [line for line in payload["life"]["lines"] if not line[4]]
                assert passed[-1][3] == block_state(state, block_id)
                assert len(payload["tokens"]) == len(state.block_tokens(block_id))


# What it holds --------------------------------------------------------------------------------


def test_a_block_tells_its_content_hash_parent_holders_and_whether_it_is_valid():
    facts = dict(page(find(3, "SlotsWritten"), 2)["facts"])
    assert facts["ref_cnt"] == ["2"]
    assert facts["held by"] == [{"request": "request0"}, {"request": "request1"}]
    assert facts["last taken by"] == [{"request": "request0"}, "for its logical block 1"]
    _, where, parent = facts["parent"]
    assert (where, parent) == ("in block", {"block": 1, "state": "shared", "ref": 2})
    assert facts["K and V"] == ["valid, all 4 slots written"]
    (digits,) = facts["hash"]
    assert digits["text"] == digits["hash"]
    assert digits["end"] == digits["hash"][-6:], "by which it is named elsewhere"
    assert len(digits["hash"]) == 64


def test_the_card_shows_the_end_of_the_hash_and_leads_to_the_whole_life():
    payload = block(
        moment_at(golden_trace("doc_example"), find(3, "SlotsWritten")), TEXT, selected=2
    )
    (digits,) = dict(payload["facts"])["hash"]
    assert digits["text"] == "#" + digits["hash"][-6:]
    assert payload["whole"]["word"] == "Whole life"
    assert "life" not in payload


def test_the_null_block_and_an_unused_one_explain_themselves():
    assert "never given" in block(doc_moment(0, 1), TEXT, selected=0)["facts"][0][1][0]
    assert "not been used" in block(doc_moment(0, 1), TEXT, selected=9)["facts"][0][1][0]
    assert "life" not in page(Cursor(0, 1), 0)
    assert all(later for *_, later in page(Cursor(0, 1), 9)["life"]["lines"])


def test_tokens_can_be_chosen_in_the_request_that_brought_them():
    tokens = page(find(3, "SlotsWritten"), 2)["tokens"]
    assert [(request, place) for _, _, _, request, place in tokens] == [
        ("request0", 4),
        ("request0", 5),
        ("request0", 6),
        ("request0", 7),
    ]


def test_a_forgotten_parent_is_named_and_twins_are_listed():
    found = {"twins": 0, "gone": 0}
    for name in ("duplicate_blocks", "sliding_hit_edges"):
        trace = golden_trace(name)
        for step in range(trace.num_steps):
            moment = moment_at(trace, trace.after_update(step))
            for block_id, entry in moment.state.blocks.items():
                facts = dict(block(moment, TEXT, selected=block_id)["facts"])
                twins = facts.get("same hash as", [])
                found["twins"] += bool(twins)
                for twin in twins:
                    assert moment.state.blocks[twin["block"]].block_hash == entry.block_hash
                found["gone"] += facts.get("parent", [""])[-1] == "no longer cached"
    assert all(found.values()), found


# Its life -------------------------------------------------------------------------------------


def test_the_life_of_block_4_of_the_example():
    assert told(page(Cursor(7, 0), 4)) == [
        (0, "Taken by request0, as its logical block 3."),
        (1, "Hashed: #1c194c enters the prefix cache."),
        (1, "Filled: K and V are in all its slots."),
        (
            4,
            "Given up by request0, who is finished. "
            "It is free, and what it holds can still be hit.",
        ),
        (6, "Evicted by request2, who needs a block: hash #1c194c is forgotten."),
        (6, "Taken by request2, as its logical block 7."),
        (7, "Given up by request2, who is finished. It is free."),
    ]


def test_a_shared_block_counts_its_holders_and_a_hit_takes_it_out_of_the_queue():
    sentences = [sentence for _, sentence in told(page(Cursor(7, 0), 1))]
    assert "Hit by request1 (logical block 0): shared by 2 now." in sentences
    assert "Given up by request0, who is finished. 1 request still holds it." in sentences
    assert "Hit by request2 (logical block 0): it leaves the free queue." in sentences


def test_a_line_leads_to_its_moment_and_what_is_later_is_marked():
    trace = golden_trace("doc_example")
    cursor = find(4, "BlocksFreed")
    told_life = page(cursor, 4)["life"]
    assert [later for *_, later in told_life["lines"]] == [False] * 4 + [True] * 3
    assert told_life["current"] == 3
    assert told_life["lines"][3][0] == trace.position(cursor)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("preempt_resume_hit", "Taken away from"),
        ("sliding_window", "left the attention window of"),
        ("reset_cache", "The prefix cache is reset: its hash is forgotten."),
        ("abort_mix", "who was aborted"),
    ],
)
def test_a_life_says_how_a_block_was_lost(name, words):
    trace = golden_trace(name)
    lines = [
        line[2]
        for block_id in trace.at(trace.last).blocks
        for line in life(trace, trace.last, block_id, TEXT)["lines"]
    ]
    assert any(words in line for line in lines)


def test_a_long_life_is_shown_around_the_cursor_and_the_rest_is_counted():
    trace = golden_trace("shared_system_prompt_100")
    num_all = history_of(trace).num_occurrences(1)
    assert num_all > 2 * MAX_SHOWN
    for position in range(0, trace.num_positions, trace.num_positions // 20):
        shown = life(trace, trace.cursor_at(position), 1, TEXT)
        assert len(shown["lines"]) == MAX_SHOWN, "nobody evicts it, so each line is an occurrence"
        assert shown["current"] < MAX_SHOWN
        left_out = [int(shown[name].split()[0]) for name in ("before", "after") if shown[name]]
        assert sum(left_out) == num_all - MAX_SHOWN


# Its K and V ----------------------------------------------------------------------------------


def test_a_new_trace_has_no_block_to_read():
    trace = Trace(golden_trace("doc_example").header)
    assert sight(trace, Cursor(0, 0), 1) == Sight()
    assert life(trace, Cursor(0, 0), 1, TEXT)["empty"] == "Nothing has ever happened to this block."
