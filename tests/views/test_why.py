"""The lens "why": a verdict first, the picture of it, what holds up the line, and typed text."""

import json
import time

import pytest

from engine.questions import reasons
from engine.trace.events import BlocksTaken, Event
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.questions.builders import request, run, sub_steps
from tests.views.runs import NAMES, golden_trace
from views.examples import DOC_EXAMPLE, EXAMPLES
from views.figures.moment import moment_at
from views.figures.why import why_words
from views.figures.why.why import default_request, why
from views.figures.why.would_hit import NEW_TOKEN, answer, ask_form, ask_hint, script_tokens
from views.text import Text

TEXT = Text("en")
LETTERS = EXAMPLES[DOC_EXAMPLE].token_names


def lens(trace, cursor, request_id=None, text=TEXT):
    return why(trace, cursor, moment_at(trace, cursor), text, request_id=request_id)


def cursors(trace, at_most):
    """Evenly spread over the run, with both ends."""
    last = trace.num_positions - 1
    return [trace.cursor_at(at) for at in [*range(0, last, max(1, last // at_most)), last]]


def marks(payload):
    return [cell.get("mark") for cell in payload["case"]["strip"]["cells"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_lens_answers_at_every_moment_of_every_recorded_workload(name):
    trace = golden_trace(name)
    for cursor in cursors(trace, 25):
        for request_id in (None, *list(trace.at(cursor).requests)[:3], "nobody"):
            payload = lens(trace, cursor, request_id)
            assert json.dumps(payload)
            if "case" in payload:
                assert payload["case"]["found"]
                assert all(said["text"] for said in payload["case"]["reasons"])
                assert payload["case"]["strip"]["cells"]
            else:
                assert payload["empty"]


def test_every_reason_has_its_words():
    kinds = {kind for kind in vars(reasons).values() if isinstance(kind, type)}
    answers = {kind for kind in kinds if kind.__module__ == reasons.__name__}
    assert set(why_words._TELLERS) == answers - {reasons.Parting}


def test_two_tokens_stand_side_by_side_where_two_requests_part():
    trace = golden_trace("doc_example")
    payload = lens(trace, trace.last, "request1")
    case = payload["case"]
    assert payload["when"] == "as the cache was in step 3, when request1 was admitted"
    assert case["found"] == "request1: 8 of 14 tokens hit."
    assert case["reasons"][0]["text"] == (
        "It parts from request0 at token 10: “201” here, “11” there. "
        "From logical block 2 on, 1 full block and 2 more tokens must be computed."
    )
    assert "end" in case["reasons"][0]["do"]
    theirs, ours = case["sides"]["rows"]
    assert (theirs["name"], ours["name"]) == ("request0", "request1")
    states = [[token[3] for token in row["tokens"]] for row in (theirs, ours)]
    assert states[1] == [*["hit"] * 3, *["same"] * 2, "parts", *["behind"] * 3]
    assert [token[1] for token in ours["tokens"] if token[4]] == [8, 12], "blocks begin there"
    assert marks(payload) == ["hit", "hit", "miss", "rest"]
    assert case["strip"]["cells"][2]["parts_at"] == 2
    assert [cell.get("block") for cell in case["strip"]["cells"]] == [1, 2, None, None]


@pytest.mark.parametrize(
    ("language", "num_tokens", "says"),
    [
        ("en", 12, "From logical block 2 on, 1 full block must be computed."),
        ("en", 13, "From logical block 2 on, 1 full block and 1 more token must be computed."),
        ("en", 19, "From logical block 2 on, 2 full blocks and 3 more tokens must be computed."),
        ("ja", 19, "論理ブロック 2 以降、満杯の 2 ブロックと、さらに 3 トークンの計算が必要です。"),
        ("zh", 19, "从逻辑块 2 起，有 2 个满块和另外 3 个 token 要计算。"),
    ],
)
@pytest.mark.parametrize("num_early", [20, 8], ids=["parts", "ended"])
def test_what_must_be_computed_counts_the_tokens_of_the_last_block(
    language, num_tokens, says, num_early
):
    late = [*range(8), *range(50, 42 + num_tokens)]
    trace = run(request("early", range(num_early)), request("late", late))
    reason = lens(trace, trace.last, "late", Text(language))["case"]["reasons"][0]
    assert reason["text"].endswith(says)


def test_a_block_that_hit_is_drawn_as_it_is_now():
    trace = golden_trace("doc_example")

    def chips(cursor):
        cells = lens(trace, cursor, "request1")["case"]["strip"]["cells"]
        return [(c["block"], c["state"], c["ref"]) for c in cells if "block" in c]

    assert chips(trace.after_schedule(3)) == [(1, "shared", 2), (2, "shared", 2)]
    assert chips(trace.after_update(5)) == [(1, "remembered", 0), (2, "remembered", 0)]
    typed = script_tokens("ABCD EFGH IJKx", LETTERS, TEXT)
    cells = answer(trace, trace.after_update(5), typed, TEXT)["case"]["strip"]["cells"]
    assert [cell.get("state") for cell in cells] == ["remembered", "remembered", None]
    assert cells[0]["label"] == "1: free, still cached, ref_cnt 0"


def test_an_eviction_is_a_place_to_go_to():
    trace = golden_trace("preempt_resume_hit")
    payload = lens(trace, trace.after_update(6), "r1")
    said = payload["case"]["reasons"][0]
    assert said["go"] == "Go to the eviction in step 5"
    there = trace.cursor_at(said["position"])
    assert there.step == 5
    assert isinstance(trace.events(there.step, there.sub_step - 1)[0], BlocksTaken)
    assert marks(payload) == ["hit", "hit", "hit", "lost", "rest"]


def test_a_block_computed_again_is_not_called_a_miss():
    trace = golden_trace("boundary_bs4")
    payload = lens(trace, trace.last, "n8b")
    assert payload["case"]["found"] == "n8b: 4 of 8 tokens hit."
    assert marks(payload) == ["hit", "again"]
    assert "one token must be computed" in payload["case"]["reasons"][0]["text"]


def test_words_behind_another_start_are_counted():
    doc = list(range(50, 62))
    trace = run(
        request("early", [7, 1, *doc[:2], *doc]), request("late", [7, 2, *doc[:2], *doc], 1)
    )
    said = lens(trace, trace.last, "late")["case"]["reasons"][0]
    assert said["more"].startswith("3 of the blocks that missed hold words")


def test_a_salt_is_named_on_both_sides():
    trace = golden_trace("cache_salt")
    said = lens(trace, trace.last, "saltA")["case"]["reasons"][0]["text"]
    assert "“A” here, none there" in said


def test_long_prompts_fold_and_a_huge_pool_costs_a_few_milliseconds():
    trace = golden_trace("big_pool_131928")
    cursor = trace.last
    lens(trace, cursor, "b")
    began = time.perf_counter()
    for _ in range(5):
        payload = lens(trace, cursor, "b")
    assert (time.perf_counter() - began) / 5 < 0.05
    assert len(json.dumps(payload)) < 30_000
    folds = [cell["fold"] for cell in payload["case"]["strip"]["cells"] if "fold" in cell]
    assert folds


def test_without_a_choice_it_is_about_whom_the_sub_step_is_about():
    trace = golden_trace("doc_example")
    after_lookup = next(
        trace.next(cursor)
        for cursor, happened in sub_steps(trace)
        if type(happened[0]).__name__ == "PrefixLookedUp" and cursor.step == 3
    )
    assert default_request(moment_at(trace, after_lookup)) == "request1"
    assert default_request(moment_at(trace, trace.last)) == "request2"
    assert lens(trace, after_lookup, "nobody")["request"] == "request1"


def test_a_lookup_of_this_schedule_is_told_as_one_that_was_made():
    payload = lens(golden_trace("doc_example"), Cursor(6, 6), "request2")
    assert payload["when"] == "as the cache was in step 6, when request2 was looked up"
    assert payload["case"]["found"] == "request2: 12 of 29 tokens hit."


def test_a_run_without_requests_says_how_to_begin():
    trace = Trace(TraceHeader(config=golden_trace("doc_example").header.config))
    payload = lens(trace, Cursor(0, 0))
    assert payload["empty"].startswith("No request has been looked up yet.")
    assert payload["line"] is None


# The line -----------------------------------------------------------------------------------------


def test_the_autopsy_shows_what_is_needed_beside_what_exists():
    trace = golden_trace("oversized")
    lines = [lens(trace, cursor)["line"] for cursor in cursors(trace, 200)]
    line = next(line for line in lines if line and line["deadlock"])
    assert line["cause"] == "oversized"
    assert line["bar"]["needed"] > line["bar"]["free"] + line["bar"]["used"]
    assert "for ever" in line["deadlock"]
    assert (line["bar"]["needed"], line["bar"]["later"]) == (8, 0)
    assert line["sentence"] == (
        "It needs more blocks than exist, and would wait for ever. With all its 33 tokens it needs "
        "up to 8 blocks, and 6 exist: it cannot finish here, unless it ends early. A way out: raise "
        "num_blocks to 9, or abort it and ask again with a shorter prompt or a lower max_tokens."
    )


def test_one_token_is_told_as_one_and_the_end_is_counted_too():
    long = request("long", range(32), output=[1] * 16)
    settings = {"block_size": 8, "num_blocks": 5, "refuse_oversized": False}
    trace = run(long, max_num_batched_tokens=64, **settings)
    line = lens(trace, trace.last)["line"]
    assert line["bar"]["need_words"] == (
        "5 for the 1 token that a step would give it, 4 of them hits that lie in the free queue, "
        "up to 6 by its end, with 48 tokens"
    )
    assert "raise num_blocks to 7" in line["sentence"]


def test_whoever_behind_the_head_needs_most_says_how_many_blocks_are_enough():
    head = request("head", range(12), output=[1] * 6)
    behind = request("behind", range(100, 108), output=[1] * 14)
    trace = run(head, behind, num_blocks=4, refuse_oversized=False)
    said = lens(trace, trace.last)["line"]["sentence"]
    assert "behind needs up to 6: with num_blocks=7 all of them can finish." in said


def test_in_the_middle_of_schedule_the_line_is_told_about_this_schedule():
    trace = golden_trace("doc_example")
    cursors = [Cursor(6, sub_step) for sub_step in (1, 2, 5)]
    before, begun, taken = (lens(trace, cursor)["line"]["sentence"] for cursor in cursors)
    assert "the next schedule()" in before
    assert "this schedule()" in begun
    assert taken.startswith("It is being admitted in this very schedule()")
    assert not lens(trace, Cursor(6, 5))["line"]["deadlock"]


def test_whose_end_would_be_enough_is_named():
    trace = golden_trace("preempt_resume_hit")
    line = lens(trace, trace.after_update(6), "r1")["line"]
    assert line["cause"] == "blocks"
    assert line["way_out"] == "When r0 ends, 5 blocks come free: enough."
    assert line["holders"] == [{"request": "r0", "num": 5, "own": ""}]


@pytest.mark.parametrize("name", NAMES)
def test_every_line_has_a_sentence(name):
    trace = golden_trace(name)
    for cursor in cursors(trace, 40):
        line = lens(trace, cursor)["line"]
        assert line is None or line["sentence"]


# Typed text ---------------------------------------------------------------------------------------


def test_the_letters_of_the_example_are_asked_without_running_anything():
    trace = golden_trace("doc_example")
    before: list[Event] = trace.events_from(0)
    typed = script_tokens("ABCD EFGH IJKx", LETTERS, TEXT)
    assert list(typed.token_ids)[:4] == [1, 2, 3, 4]
    shown = answer(trace, trace.last, typed, TEXT)
    assert shown["case"]["found"] == "This text is 12 tokens; 8 would hit."
    assert "“x” here, “12” there" in shown["case"]["reasons"][0]["text"]
    assert [cell["mark"] for cell in shown["case"]["strip"]["cells"]] == ["hit", "hit", "miss"]
    assert shown["need"].startswith("To go on it would take 1 block for the rest")
    assert trace.events_from(0) == before


def test_a_letter_that_no_token_has_is_a_token_of_its_own():
    typed = script_tokens("Aж", LETTERS, TEXT)
    assert list(typed.token_ids) == [1, NEW_TOKEN + ord("ж")]


def test_a_script_without_names_takes_numbers_and_says_what_is_none():
    assert list(script_tokens("1, 2 3", {}, TEXT).token_ids) == [1, 2, 3]
    assert script_tokens("1 <b>", {}, TEXT).problem.startswith("“<b>” is not a token id")


def test_an_empty_text_has_no_answer_and_an_unknown_seed_is_said():
    trace = golden_trace("doc_example")
    assert answer(trace, trace.last, script_tokens("  ", LETTERS, TEXT), TEXT) == {"problem": ""}
    secret = run(request("a", range(8)), hash_seed=None)
    said = answer(secret, secret.last, script_tokens("1 2 3", {}, TEXT), TEXT)
    assert "random" in said["problem"]


def test_the_field_says_how_to_type():
    assert ask_hint(LETTERS, TEXT).startswith("Type the letters of this example, such as A B C")
    assert ask_hint({}, TEXT).startswith("Type token ids")
    assert ask_hint(None, TEXT).startswith("Type a prompt")
    form = ask_form(TEXT, hint="", typed="{x}", mode=None)
    assert form["text"] == "{x}"


def test_an_empty_cache_is_that_of_the_lookup_and_not_of_the_moment_shown():
    trace = run(request("early", range(1, 9)), request("late", range(20, 29), step=3))
    (admitted,) = lens(trace, trace.last, "early")["case"]["reasons"]
    assert admitted["text"].startswith("The cache held no hash at its lookup in step 0")
    (waits,) = lens(trace, Cursor(0, 1), "early")["case"]["reasons"]
    assert waits["text"].startswith("The cache holds no hash at this moment")
