"""Beat the pool: what a visitor does, what the engine makes of it, and what a link brings back."""

import pytest
from streamlit.util import calc_hash

from lessons.puzzles import Solution, best_known, puzzle_named, puzzles, score
from tests.views.page import notice, payload
from views.beating import ACTIONS, link, read_link, show
from views.choices import Choices
from views.text import Text
from views.widgets.beat import beat_payload

TEXT = Text("en")
ORDER = "abcdef"
CLOCK = puzzle_named("clock")


@pytest.fixture
def chosen() -> Choices:
    """The first puzzle, as it is given: clock, system, question."""
    chosen = Choices()
    read_link(chosen, {})
    return chosen


def do(chosen, what, sent=True):
    ACTIONS[what](chosen, chosen.run, sent)
    return show(chosen)


def sent(*parts, order=ORDER):
    return [[id_, list(parts)] for id_ in order]


def card(chosen):
    return beat_payload(chosen.beat, TEXT)


def test_a_puzzle_begins_as_it_is_given_and_its_run_is_seen_from_the_end(chosen):
    begun = show(chosen)
    assert chosen.cursor == begun.trace.last
    score = card(chosen)["score"]
    assert (score["shown"], score["is_solved"]) == ("0.0%", False)
    assert score["sentence"] == "99 more tokens have to hit to reach 45.0%."
    assert begun.link == {"puzzle": "1"}


def test_the_time_stamp_behind_the_system_text_solves_the_first_one(chosen):
    begun = do(chosen, "arranged", sent("system", "clock", "question"))
    assert chosen.cursor == begun.trace.last
    shown = card(chosen)
    assert shown["score"]["is_solved"]
    assert shown["score"]["tokens"] == "100 of 219 tokens hit"
    assert shown["score"]["sentence"].endswith("Better is known to be possible.")
    assert [row["found"] for row in shown["prompts"]][:2] == ["hits 0 of 36", "hits 20 of 36"]
    parts = shown["prompts"][1]["parts"]
    assert [(part["part"], part["num_hit"]) for part in parts] == [
        ("system", 20),
        ("clock", 0),
        ("question", 0),
    ]


def test_who_is_preempted_is_named_and_the_puzzle_is_not_solved(chosen):
    do(chosen, "puzzle", 3)
    assert card(chosen)["score"]["sentence"] == (
        "2 preemptions (c, e), and 45.0% is not reached yet."
    )
    rows = {row["id"]: row["preempted"] for row in card(chosen)["prompts"]}
    assert rows == {"a": "", "b": "", "c": "preempted", "d": "", "e": "preempted", "f": ""}
    grouped = [
        [id_, ["system", doc, "question", "clock"]]
        for id_, doc in zip("acebdf", ["map"] * 3 + ["log"] * 3, strict=True)
    ]
    do(chosen, "arranged", grouped)
    found = card(chosen)["score"]
    assert found["rate"] > found["target"]
    assert not found["is_solved"]
    assert found["sentence"] == "45.0% is reached, but with 2 preemptions (c, f)."


@pytest.mark.parametrize("number", range(1, len(puzzles()) + 1))
def test_the_best_known_is_shown_and_the_given_one_comes_back(chosen, number):
    do(chosen, "puzzle", number)
    begun = do(chosen, "best_shown")
    assert card(chosen)["score"]["is_solved"]
    assert card(chosen)["score"]["rate"] == best_known(chosen.beat.puzzle.name)[1].hit_rate
    again = Choices()
    read_link(again, begun.link)
    assert again.beat.solution == chosen.beat.solution
    do(chosen, "begun_again")
    assert chosen.beat.is_given


def test_each_puzzle_keeps_its_own_arrangement(chosen):
    do(chosen, "arranged", sent("system", "question", "clock", order="fedcba"))
    do(chosen, "puzzle", 2)
    assert chosen.beat.is_given
    do(chosen, "puzzle", 1)
    assert link(chosen.beat)["arranged"] == "f120-e120-d120-c120-b120-a120"


def test_back_in_the_browser_is_back_to_the_arrangement_before(chosen):
    first = do(chosen, "arranged", sent("system", "clock", "question")).link
    do(chosen, "puzzle", 2)
    do(chosen, "revisited", {"names": first, "step": 1, "sub": 2})
    assert show(chosen).link == first
    assert chosen.cursor == (1, 2)
    do(chosen, "revisited", {"names": {"puzzle": "1"}, "step": 10**9, "sub": 0})
    assert chosen.beat.is_given
    for nonsense in (None, {}, {"names": 5}, {"names": {"puzzle": 1}}):
        do(chosen, "revisited", nonsense)
    assert chosen.beat.is_given


def test_a_rewritten_prompt_is_scored_marked_and_stands_in_the_link(chosen):
    do(chosen, "puzzle", 4)
    do(chosen, "arranged", sent("map", "system", "question"))
    assert card(chosen)["score"]["shown"] == "0.0%"
    begun = do(chosen, "written", ["b", "map", "MAP: reef N, bay S. "])
    row = card(chosen)["prompts"][1]
    assert row["found"] == "hits 20 of 47"
    assert [(part["part"], part["is_written"]) for part in row["parts"]] == [
        ("map", True),
        ("system", False),
        ("question", False),
    ]
    assert begun.link["arranged"].endswith('~{"b1":"MAP: reef N, bay S. "}')
    again = Choices()
    read_link(again, begun.link)
    assert again.beat.solution == chosen.beat.solution
    do(chosen, "arranged", sent("system", "map", "question"))
    assert card(chosen)["prompts"][1]["parts"][1]["is_written"]  # moving keeps what was written


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_a_text_that_asks_something_else_is_refused_and_stays_in_the_field(chosen, language):
    do(chosen, "puzzle", 4)
    do(chosen, "written", ["b", "question", "Which? "])
    refused = beat_payload(chosen.beat, Text(language))["refused"]
    assert (refused["id"], refused["part"], refused["typed"]) == ("b", "question", "Which? ")
    assert "where" in refused["reason"]
    assert chosen.beat.is_given
    do(chosen, "written", ["b", "question", "where "])
    assert card(chosen)["refused"] is None
    assert not chosen.beat.is_given


def test_the_best_of_the_search_is_said_to_be_that(chosen):
    do(chosen, "puzzle", 4)
    do(chosen, "best_shown")
    score = card(chosen)["score"]
    assert score["sentence"].endswith("The search found nothing better.")
    assert score["best_shown"] == f"best found {score['shown']}"


def test_whoever_beats_the_search_sees_their_own_as_the_best(chosen, monkeypatch):
    weak = (Solution(CLOCK.given), score(CLOCK, CLOCK.given))
    monkeypatch.setattr("views.beat.best_known", lambda _: weak)
    do(chosen, "arranged", sent("system", "clock", "question"))
    shown = card(chosen)["score"]
    assert shown["sentence"].endswith("better than the best that the search found.")
    assert (shown["best"], shown["best_shown"]) == (shown["rate"], "your best 45.7%")
    do(chosen, "begun_again")
    assert card(chosen)["score"]["best_shown"] == "your best 45.7%"


@pytest.mark.parametrize(
    "nonsense",
    [None, "b", ["b", "map"], ["b", "map", 5], ["z", "map", "x"], ["b", "z", "x"], ["b", [], "x"]],
)
def test_a_text_for_a_part_that_is_not_there_changes_nothing(chosen, nonsense):
    do(chosen, "written", nonsense)
    assert chosen.beat.is_given
    assert chosen.beat.refused is None


@pytest.mark.parametrize(
    "nonsense",
    [
        None, 5, "a012", [], [["a"]], [["a", 5]], sent("system", "clock"),
        sent("system", "clock", "clock"), sent("system", "clock", "question", order="abcde"),
        sent("system", "clock", "question", order="abcdee"), {"a": ["system"]},
    ],
)  # fmt: skip
def test_an_arrangement_that_leaves_something_out_changes_nothing(chosen, nonsense):
    do(chosen, "arranged", nonsense)
    do(chosen, "puzzle", nonsense)
    assert chosen.beat.is_given
    assert chosen.beat.number in (1, nonsense)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"puzzle": "9"}, "puzzle “9”; puzzles go from 1 to 4"),
        ({"puzzle": "x" * 500}, "x…”; puzzles go"),
        ({"puzzle": "2", "arranged": "a012"}, "solution “a012”, which is none of this puzzle"),
        ({"arranged": "\u202e<b>"}, "solution “U+202E<b>”"),
    ],
)
def test_a_bad_link_gets_a_sentence_and_the_puzzle_as_it_is_given(params, said):
    chosen = Choices()
    read_link(chosen, params)
    assert said in chosen.notices["note"]
    assert chosen.beat.is_given


@pytest.mark.parametrize("language", ["en", "ja", "zh"])
def test_every_sentence_is_there_in_every_language(chosen, language):
    text = Text(language)
    for number in range(1, len(puzzles()) + 1):
        do(chosen, "puzzle", number)
        for what in ("begun_again", "best_shown"):
            do(chosen, what)
            assert beat_payload(chosen.beat, text)["score"]["sentence"]


def test_the_page_draws_the_puzzle_of_its_address_and_what_is_arranged(app):
    app._page_hash = calc_hash("beat")  # AppTest 1.67 switches to files only
    app.query_params["puzzle"] = "2"
    app.query_params["arranged"] = "nonsense"
    app.run()
    assert not app.exception
    assert payload(app, "beat")["number"] == 2
    assert "“nonsense”" in notice(app, "note")
    app.session_state["desks"]["beat"].asked["best_shown"] = True
    app.run()
    assert payload(app, "beat")["score"]["shown"] == "61.5%"
    assert payload(app, "transport")["address"]["arranged"].startswith(
        "b120-d120-f120-a120-c120-e120~"
    )
