"""The page on fragmentation: the lengths that it reads from a run, its pictures, its choices."""

import json

import pytest
from streamlit.util import calc_hash

from tests.views.page import payload
from tests.views.runs import NAMES, golden_trace
from views.figures.fragmentation.fragmentation import (
    MAX_STEPS,
    Setting,
    asked_for,
    asked_step,
    block_sizes,
    fragmentation,
)
from views.figures.fragmentation.lives import (
    ASKED,
    MAX_MODEL_LEN,
    RESERVATIONS,
    TABLES,
    Lengths,
    Recorded,
    recorded_lengths,
)
from views.text import Text

TEXT = Text("en")
RESERVED, GROWING, PAGED = range(3)


def picture(lengths, *, block_size=16, reservation=MAX_MODEL_LEN, source="mixed"):
    return fragmentation(lengths, Setting(source, block_size, reservation), TEXT)


def lengths_of(*rows, capacity=16, most=8, block_size=4):
    requests = tuple(Recorded(name, arrival, 1, 4, tuple(grown)) for name, arrival, grown in rows)
    return Lengths(requests, capacity, block_size, most)


# Lengths ----------------------------------------------------------------------------------------


def test_the_example_s_requests_grow_from_their_prompt_by_one_token_a_step():
    found = recorded_lengths(golden_trace("doc_example"))
    assert [(r.request_id, r.arrival_step, r.lengths) for r in found.requests] == [
        ("request0", 0, (15, 16, 17, 18, 19)),
        ("request1", 3, (14, 15, 16)),
        ("request2", 6, (29, 30)),
    ]
    assert (found.capacity, found.block_size) == (40, 4)


@pytest.mark.parametrize("name", NAMES)
def test_every_finished_request_of_a_recorded_run_ends_with_all_tokens_that_have_k_and_v(name):
    trace = golden_trace(name)
    state, found = trace.at(trace.last), recorded_lengths(trace)
    for request in found.requests:
        assert list(request.lengths) == sorted(request.lengths)
        known = state.requests[request.request_id.split(" (")[0]]
        if known.finish_reason in ("length", "stop") and " (" not in request.request_id:
            drafts = (state.config.get("spec") or {}).get("num_speculative_tokens", 0)
            assert 0 <= request.lengths[-1] - (known.num_tokens - 1) <= drafts
        assert (
            request.is_finished == (known.finish_reason is not None) or " (" in request.request_id
        )


def test_what_a_preemption_threw_away_is_told_once():
    found = recorded_lengths(golden_trace("preempt_self"))
    for request in found.requests:
        steps = [after - before for before, after in zip(request.lengths, request.lengths[1:])]
        assert all(step >= 0 for step in steps)
        assert request.lengths[-1] == max(request.lengths)


def test_a_request_that_never_ran_is_left_out_and_the_page_says_so():
    found = recorded_lengths(golden_trace("oversized"))
    assert (len(found.requests), found.num_left_out) == (1, 2)
    assert "2 requests are left out" in picture(found, block_size=found.block_size)["note"]


def test_a_trace_is_read_on_where_it_was_left():
    trace = golden_trace("abort_mix")
    assert recorded_lengths(trace) == recorded_lengths(trace)


def test_the_most_that_a_request_may_come_to():
    request = Recorded("a", 0, 100, 50, (100, 101))
    lengths = Lengths((request,), 1000, 16, 120)
    assert [lengths.most_tokens(request, each) for each in RESERVATIONS] == [120, 120]
    assert lengths._replace(max_model_len=400).most_tokens(request, ASKED) == 150


def test_what_is_reserved_from_the_start_is_what_the_memory_can_hold():
    assert TABLES["mixed"].best_reservation() == MAX_MODEL_LEN
    assert (
        recorded_lengths(golden_trace("doc_example"))._replace(max_model_len=256).best_reservation()
        == ASKED
    )


# Pictures ---------------------------------------------------------------------------------------


def replayed(one, step):
    """Start -> [size, tokens, request], from the changes that the browser gets."""
    regions = {}
    for flat in one["changes"][: step + 1]:
        for start, *rest in zip(*[iter(flat)] * 4, strict=True):
            regions.pop(start, None) if rest[0] == 0 else regions.update({start: rest})
    return regions


@pytest.mark.parametrize("reservation", RESERVATIONS)
@pytest.mark.parametrize("name", [*NAMES, *TABLES])
def test_every_run_is_drawn_and_its_counts_are_those_of_its_regions(name, reservation):
    lengths = TABLES.get(name) or recorded_lengths(golden_trace(name))
    drawn = picture(lengths, block_size=lengths.block_size, reservation=reservation)
    assert len(json.dumps(drawn)) < 1_000_000
    for one in drawn["allocators"]:
        for step in (0, len(one["changes"]) // 2, len(one["changes"]) - 1):
            regions = replayed(one, step)
            usage = {kind: series[step] for kind, series in one["usage"].items()}
            assert sum(usage.values()) == lengths.capacity
            assert usage["used"] == sum(tokens for _, tokens, _ in regions.values())
            held = sum(size for size, _, _ in regions.values())
            assert usage["used"] + usage["internal"] == held
            assert one["live"][step] == len({number for _, _, number in regions.values()})


def test_three_rows_waste_74_percent_where_a_page_wastes_a_quarter():
    drawn = picture(TABLES["three"])
    assert drawn["start"] == 31
    shares = [one["internal"][31] for one in drawn["allocators"]]
    assert shares == [74.02, 0.0, 0.25]
    assert [one["usage"]["used"][31] for one in drawn["allocators"]] == [1596] * 3


def test_more_of_the_same_requests_are_live_where_memory_is_paged():
    drawn = picture(TABLES["mixed"])
    most = [max(one["live"]) for one in drawn["allocators"]]
    assert most[RESERVED] < most[PAGED] == most[GROWING]
    assert drawn["allocators"][GROWING]["copied"][-1] > sum(
        request.lengths[-1] for request in TABLES["mixed"].requests
    )
    assert not any(drawn["allocators"][PAGED]["copied"])


def test_a_larger_block_wastes_more():
    wasted = [
        sum(picture(TABLES["mixed"], block_size=size)["allocators"][PAGED]["usage"]["internal"])
        for size in (1, 16, 64, 256)
    ]
    assert wasted[0] == 0
    assert wasted == sorted(wasted)


def test_what_no_request_can_ever_use_is_said():
    lengths = lengths_of(("a", 0, (1, 2)), capacity=16, most=32)
    drawn = picture(lengths, block_size=4)
    assert "longer than the whole memory of 16" in drawn["note"]
    assert drawn["allocators"][RESERVED]["refused"] == [0]
    assert "1 request never fits" in drawn["allocators"][RESERVED]["total"]
    assert drawn["allocators"][PAGED]["live"] == [1, 1, 0]


def test_where_nothing_is_held_there_is_no_share():
    drawn = picture(lengths_of(("a", 1, (1,))), block_size=4)
    assert drawn["allocators"][PAGED]["internal"] == [None, 75.0, None]


def test_without_lengths_the_page_says_so():
    drawn = picture(lengths_of(), block_size=4)
    assert drawn["empty"].startswith("No request of this run has been computed yet")
    assert drawn["num_steps"] == 1
    assert [one["total"] for one in drawn["allocators"]] == [[], [], []]


def test_a_long_run_is_drawn_up_to_a_limit_and_the_page_says_so():
    lengths = lengths_of(("a", 0, range(1, MAX_STEPS + 9)), capacity=4096, most=4096)
    drawn = picture(lengths, block_size=16)
    assert drawn["num_steps"] == MAX_STEPS
    assert "Only the first 2,000 steps are drawn." in drawn["note"]


# Choices ----------------------------------------------------------------------------------------


def test_the_slider_offers_what_the_memory_holds_and_the_run_s_own_size():
    assert block_sizes(lengths_of(capacity=40, block_size=5)) == [1, 2, 4, 5, 8, 16, 32]


@pytest.mark.parametrize("given", ["3", "", "16.0", "-1", "９", "<b>x</b>"])
def test_what_is_not_offered_gets_a_sentence(given):
    found, complaint = asked_for({"block_size": given}, "block_size", [1, 16], TEXT)
    assert found is None
    assert complaint.startswith(f"The address asked for block_size={given}, which is not offered")
    assert asked_for({"block_size": "16"}, "block_size", [1, 16], TEXT) == ("16", "")
    assert asked_for({}, "block_size", [1, 16], TEXT) == (None, "")


@pytest.mark.parametrize("given", ["7", "-1", "x", "", "9" * 400, "２"])
def test_a_step_that_does_not_exist_gets_a_sentence(given):
    found, complaint = asked_step({"at": given}, 7, TEXT)
    assert found is None
    assert "steps go from 0 to 6" in complaint
    assert len(complaint) < 200
    assert asked_step({"at": "6"}, 7, TEXT) == (6, "")


# The page ---------------------------------------------------------------------------------------


@pytest.fixture
def page(app):
    app._page_hash = calc_hash("fragmentation")  # AppTest 1.67 switches to files only
    return app


def drawn_by(page):
    found = payload(page.run(), "fragmentation")
    assert not page.exception
    return found


def test_the_page_opens_with_requests_from_a_table(page):
    drawn = drawn_by(page)
    assert drawn["address"] == {"lengths": "mixed", "block_size": "16", "reserve": "max_model_len"}
    assert (drawn["capacity"], len(drawn["requests"])) == (4096, 24)
    assert drawn["complaints"] == []


def test_the_address_says_whose_lengths_which_blocks_and_which_step(page):
    for name, given in {"lengths": "three", "block_size": "64", "reserve": "asked"}.items():
        page.query_params[name] = given
    page.query_params["at"] = "12"
    drawn = drawn_by(page)
    assert drawn["address"] == {"lengths": "three", "block_size": "64", "reserve": "asked"}
    assert (drawn["at"], len(drawn["requests"])) == (12, 3)


def test_an_address_that_asks_for_what_is_not_there_costs_nothing_but_a_sentence(page):
    for name, given in {"lengths": "x", "block_size": "3", "reserve": "y", "at": "z"}.items():
        page.query_params[name] = given
    drawn = drawn_by(page)
    assert drawn["address"]["block_size"] == "16"
    assert drawn["at"] is None
    assert len(drawn["complaints"]) == 4
    assert "lengths=x" in drawn["complaints"][0]


def test_the_run_of_the_playground_brings_its_lengths_and_its_memory(page):
    page.query_params["lengths"] = "run"
    drawn = drawn_by(page)
    assert [request["id"] for request in drawn["requests"]] == ["request0", "request1", "request2"]
    assert drawn["capacity"] == 40
    assert drawn["address"]["reserve"] == "asked"  # max_model_len is more than there is


def test_other_lengths_leave_block_size_and_step_of_those_before(page):
    page.query_params["block_size"], page.query_params["at"] = "64", "80"
    drawn_by(page)
    page.session_state["frag_lengths"] = "run"
    page.query_params.clear()  # as the callback does
    assert drawn_by(page)["address"]["block_size"] == "4"


def test_the_slider_s_size_is_the_paged_memory_s(page):
    drawn_by(page)
    page.select_slider[0].set_value(128).run()
    drawn = drawn_by(page)
    assert drawn["address"]["block_size"] == "128"
    assert drawn["allocators"][PAGED]["how"] == "Blocks wherever one is free; block_size is 128."


def test_while_the_model_of_the_run_is_not_there_the_page_says_so(page):
    page.query_params["lengths"], page.query_params["example"] = "run", "own"
    page.run()
    assert not page.exception
    texts = [info.value for info in page.info]
    drawn = payload(page, "fragmentation")
    assert texts == [TEXT("frag.no_run")] or drawn["empty"] == TEXT("frag.empty")
