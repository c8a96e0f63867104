"""The page on comparing: its form, its link, and the run of the playground on it."""

import pytest
from streamlit.util import calc_hash

from engine.config import EngineConfig
from tests.views.comparisons import TEXT, drawn, halves, total
from tests.views.page import load, payload, prompt, send
from views.comparing import start_of
from views.examples import DOC_EXAMPLE
from views.figures.compare.compare_inputs import FIELDS, Choice, Setting
from views.workloads import MATERIALS, NOTHING, OWN_LETTERS, letters

# Settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        ({"block_size": "0"}, "block_size", "block_size=0 is out of range"),
        ({"block_size": ""}, "block_size", "block_size is empty"),
        ({"num_blocks": "1e9"}, "num_blocks", "num_blocks=1e9 is not a whole number"),
        ({"num_blocks": "5000"}, "num_blocks", "num_blocks=5,000 is out of range: this page runs"),
        ({"num_blocks": "1"}, "num_blocks", "twice, so give a whole number from 2 to 4,096."),
        ({"max_num_seqs": "100"}, "max_num_seqs", "is below max_num_seqs=100"),
        ({"max_num_batched_tokens": "2"}, "max_num_batched_tokens", "is below max_num_seqs=8"),
        ({"policy": "x"}, "policy", "policy=x is not offered: choose from fcfs, priority."),
        ({"order": ""}, "order", "choose from given, reversed, shortest, together"),
    ],
)
def test_a_bad_setting_gets_its_sentence_and_the_other_side_stays(typed, field, sentence):
    page = drawn(DOC_EXAMPLE, left=typed)
    left, right = page["sides"]
    assert list(left["errors"]) == [field]
    assert sentence in left["errors"][field]
    assert "run" not in left
    assert right["errors"] == {}
    assert right["run"]["num_steps"] == 8
    assert page["reasons"] is None
    assert total(page, "steps") == ("–", "8", "")


def test_every_field_of_a_setting_has_its_words():
    assert [field["name"] for field in drawn(DOC_EXAMPLE)["fields"]] == list(FIELDS)


def test_two_bad_fields_get_two_sentences():
    one, _ = halves(DOC_EXAMPLE, left={"block_size": "x", "num_blocks": "0"})
    assert sorted(one.errors) == ["block_size", "num_blocks"]


def test_a_request_that_these_settings_refuse_is_said_beside_num_blocks():
    config = EngineConfig(block_size=4, num_blocks=13, refuse_oversized=True)
    one, other = halves(letters(OWN_LETTERS, TEXT, config=config), left={"num_blocks": "3"})
    assert list(one.errors) == ["num_blocks"]
    assert one.trace is None
    assert other.trace is not None


def test_nothing_to_compare_is_drawn_as_nothing():
    page = drawn(NOTHING)
    assert (page["requests"], len(page["places"])) == ([], 1)


# The link ------------------------------------------------------------------------------------------


def test_a_link_says_what_is_not_as_the_workload_comes():
    start = start_of(MATERIALS["cliff"])
    starts = {"left": start, "right": MATERIALS["cliff"].right.over(start)}
    sent = {"workload": "cliff", "letters": "A", "left_num_blocks": "8", "right_num_blocks": "7"}
    sent |= {"right_order": "reversed", "unknown": "1"}
    address = Choice.from_browser(sent).address(starts, OWN_LETTERS)
    assert address == {"workload": "cliff", "left_num_blocks": "8", "right_order": "reversed"}
    assert Choice.from_browser(address).left.num_blocks == "8"


def test_own_letters_stand_in_the_link():
    start = {"left": Setting(), "right": Setting()}
    choice = Choice.from_browser({"workload": "letters", "letters": "AB > c"})
    assert choice.address(start, OWN_LETTERS) == {"workload": "letters", "letters": "AB > c"}


# The page ------------------------------------------------------------------------------------------


@pytest.fixture
def page(app):
    app._page_hash = calc_hash("compare")  # AppTest 1.67 switches to files only
    return app


def ask(page, what, sent):
    """As if the page on comparing had sent it: it has a desk of its own."""
    page.session_state["desks"]["compare"].asked[what] = sent
    return page.run()


def drawn_by(page):
    found = payload(page.run(), "compare")
    assert not page.exception
    assert not page.error
    return found


def test_the_page_opens_with_the_documentation_s_example(page):
    found = drawn_by(page)
    assert found["address"] == {"workload": "doc_example"}
    assert found["at"] is None
    assert [side["setting"]["enable_prefix_caching"] for side in found["sides"]] == ["on", "off"]


def test_a_link_restores_workload_settings_and_step(page):
    for name, given in {"workload": "cliff", "left_num_blocks": "8", "at": "4"}.items():
        page.query_params[name] = given
    found = drawn_by(page)
    assert (found["workload"], found["at"]) == ("cliff", 4)
    assert [side["setting"]["num_blocks"] for side in found["sides"]] == ["8", "7"]


def test_a_language_that_is_not_there_gets_a_sentence(page):
    page.query_params["lang"] = "tlh"
    said = payload(page.run(), "compare")["complaints"]
    assert said == [TEXT("notice.language", given="tlh")]
    assert payload(page.run(), "compare")["complaints"] == said  # until one is chosen


def test_a_link_that_asks_for_what_is_not_there_gets_sentences(page):
    for name, given in {"workload": "x", "left_policy": "y", "at": "99"}.items():
        page.query_params[name] = given
    found = drawn_by(page)
    assert len(found["complaints"]) == 2
    assert "workload=x" in found["complaints"][0]
    assert "places go from 0 to 8" in found["complaints"][1]
    assert list(found["sides"][0]["errors"]) == ["policy"]


def test_what_is_typed_is_kept_and_nothing_of_it_breaks_the_page(page):
    drawn_by(page)
    for sent in (None, 7, {"left_block_size": []}, {"workload": 3}, {"letters": {"a": 1}}):
        ask(page, "compared", sent)
        assert not page.exception
        assert not page.error
    ask(page, "compared", {"workload": "letters", "letters": "ABCD", "right_block_size": "2"})
    assert drawn_by(page)["sides"][1]["setting"]["block_size"] == "2"
    ask(page, "compared", {"workload": "letters", "letters": ">"})
    found = drawn_by(page)
    assert "is no request" in found["letters_error"]
    assert found["is_empty"]


def test_the_run_of_the_playground_is_repeated_with_its_tokens(app):
    app.query_params["example"] = "own"
    load(app.run())
    for words in ("Hello there friend", "Hello there again"):
        send(app, "added", prompt(words, max_tokens="3"))
    for step in range(4):
        send(app, "target", {"step": step})
    state = app.session_state["desks"]["playground"].run.trace
    outputs = {i: r.output_token_ids for i, r in state.at(state.last).requests.items()}
    app._page_hash = calc_hash("compare")
    app.query_params["workload"] = "run"
    found = drawn_by(app)
    shown = {r["id"]: [t[1] for t in r["tokens"]][r["prompt"] :] for r in found["requests"]}
    assert shown == {id_: tokens for id_, tokens in outputs.items() if tokens}
    assert found["sides"][0]["run"]["num_steps"] > 0
    assert found["complaints"] == []
    assert [row["is_cut"] for row in found["finished"]] == [False, False]


def test_a_request_that_had_not_ended_is_not_said_to_end(app):
    app.query_params["example"] = "own"
    load(app.run())
    send(app, "added", prompt("Hello there friend", max_tokens="40"))
    send(app, "added", prompt("Hello there again", max_tokens="1"))
    for step in range(4):
        send(app, "target", {"step": step})
    app._page_hash = calc_hash("compare")
    for name, given in {"workload": "run", "right_max_num_seqs": "1"}.items():
        app.query_params[name] = given
    found = drawn_by(app)
    assert [(row["request"], row["is_cut"]) for row in found["finished"]] == [
        ("r0", True),
        ("r1", False),
    ]
    assert found["complaints"] == [
        "Not over yet: r0. Such a request is repeated up to the last token that it has by now, and "
        "is cut there."
    ]


def test_while_the_playground_has_no_token_the_page_says_so(app):
    app.query_params["example"] = "own"
    load(app.run())
    app._page_hash = calc_hash("compare")
    app.query_params["workload"] = "run"
    found = drawn_by(app)
    assert found["is_empty"]
    assert found["complaints"] == [TEXT("compare.run_empty")]
