"""Beat the pool: what an arrangement may be, and what the engine makes of it."""

import pytest

from engine.trace.invariants import check
from lessons.errors import LessonError
from lessons.puzzle_search import alike, search
from lessons.puzzles import (
    Solution,
    best_known,
    code_of,
    is_allowed,
    puzzle_named,
    puzzles,
    read_code,
    rewrite,
    run_of,
    score,
)

NAMES = [puzzle.name for puzzle in puzzles()]
CLOCK = puzzle_named("clock")
HANDS = puzzle_named("hands")


def put_together(puzzle, order, *rule):
    """These prompts in this order, their parts by one rule."""
    return tuple((id_, tuple(sorted(puzzle.prompt(id_).parts, key=rule.index))) for id_ in order)


def test_behind_a_time_stamp_nothing_hits_and_in_front_of_it_every_full_block_does():
    assert score(CLOCK, CLOCK.given).num_hits == 0
    moved = put_together(CLOCK, "abcdef", "system", "clock", "question")
    assert score(CLOCK, moved).hits == {"a": 0, "b": 20, "c": 20, "d": 20, "e": 20, "f": 20}


def test_two_documents_in_turn_push_each_other_out_and_one_after_the_other_they_do_not():
    puzzle = puzzle_named("documents")
    rule = ("system", "map", "log", "question")
    assert score(puzzle, put_together(puzzle, "abcdef", *rule)).num_hits == 60
    assert score(puzzle, put_together(puzzle, "acebdf", *rule)).num_hits == 100


def test_in_the_crowd_the_obvious_orders_fall_short_or_preempt():
    puzzle = puzzle_named("crowd")
    rule = ("system", "map", "log", "question", "clock")
    as_given = score(puzzle, put_together(puzzle, "abcdef", *rule))
    assert (as_given.preempted, as_given.hit_rate < puzzle.target) == ((), True)
    grouped = score(puzzle, put_together(puzzle, "acebdf", *rule))
    assert (grouped.preempted, grouped.hit_rate >= puzzle.target) == (("c", "f"), True)


@pytest.mark.parametrize("name", NAMES)
def test_a_puzzle_is_unsolved_as_it_is_given_and_can_be_solved(name):
    puzzle = puzzle_named(name)
    assert len(puzzle.prompts) == len(puzzle.arrivals) == 6
    assert all("question" in prompt.own for prompt in puzzle.prompts)
    given, (_, best) = score(puzzle, puzzle.given), best_known(name)
    assert given.hit_rate < puzzle.target <= best.hit_rate
    assert best.preempted == ()


@pytest.mark.parametrize("name", NAMES)
def test_score_and_run_say_the_same(name):
    puzzle = puzzle_named(name)
    for solution in (Solution(puzzle.given), best_known(name)[0]):
        trace, found = run_of(name, *solution), score(puzzle, *solution)
        state = trace.at(trace.last)
        check(state)
        assert all(request.status.startswith("FINISHED") for request in state.requests.values())
        assert {id_: r.num_cached_tokens for id_, r in state.requests.items()} == found.hits
        assert {id_: r.num_prompt_tokens for id_, r in state.requests.items()} == found.num_tokens
        assert state.num_preemptions == len(found.preempted)


def test_the_best_is_written_shorter_than_it_was_given():
    """The time stamps without signs and the questions without their marks: 100 of 207, not of 219."""
    (solution, found) = best_known("clock")
    assert (found.num_hits, sum(found.num_tokens.values())) == (100, 207)
    assert ("a", "question", "Tides") in solution.rewritten


def test_the_search_finds_again_what_was_recorded():
    assert search(CLOCK).score == best_known("clock")[1]
    assert search(HANDS).score == best_known("hands")[1]


@pytest.mark.parametrize("name", NAMES)
def test_no_exchange_of_two_prompts_beats_the_best_known(name):
    puzzle = puzzle_named(name)
    (arrangement, rewritten), best = best_known(name)
    for one in range(6):
        for other in range(one):
            swapped = list(arrangement)
            swapped[one], swapped[other] = swapped[other], swapped[one]
            assert score(puzzle, tuple(swapped), rewritten).rank <= best.rank


@pytest.mark.parametrize("name", NAMES)
def test_a_code_brings_an_arrangement_back(name):
    puzzle = puzzle_named(name)
    for solution in (Solution(puzzle.given), best_known(name)[0]):
        assert read_code(puzzle, code_of(puzzle, *solution)) == solution


@pytest.mark.parametrize(
    "code",
    [
        "", "a012", "a012-b012-c012-d012-e012", "a012-b012-c012-d012-e012-e012",
        "a01-b012-c012-d012-e012-f012", "a011-b012-c012-d012-e012-f012",
        "a0123-b012-c012-d012-e012-f012", "g012-b012-c012-d012-e012-f012",
        "a012-b012-c012-d012-e012-f012-a012", "a0١2-b012-c012-d012-e012-f012", "-" * 10_000,
    ],
)  # fmt: skip
def test_what_leaves_out_doubles_or_adds_something_is_no_arrangement(code):
    assert read_code(CLOCK, code) is None


def test_every_prompt_keeps_its_own_question():
    without = tuple((id_, tuple(p for p in parts if p != "question")) for id_, parts in CLOCK.given)
    assert is_allowed(CLOCK, CLOCK.given)
    assert not is_allowed(CLOCK, without)
    assert not is_allowed(CLOCK, (*CLOCK.given, CLOCK.given[0]))
    assert not is_allowed(CLOCK, (("z", ()), *CLOCK.given[1:]))


# Rewriting ---------------------------------------------------------------------------------------


def test_six_hands_hit_nothing_in_any_order_until_they_write_the_same():
    moved = put_together(HANDS, "abcdef", "system", "map", "question")
    assert score(HANDS, moved).num_hits == 8  # two begin with "Answer "
    assert score(HANDS, moved, alike(HANDS)).hits == {
        "a": 0, "b": 40, "c": 40, "d": 40, "e": 40, "f": 40
    }  # fmt: skip


def test_capitals_spaces_and_signs_are_free():
    written = rewrite(HANDS, (), id_="a", part="system", text="ANSWER in one - line")
    assert written == (("a", "system", "ANSWER in one - line"),)
    assert rewrite(HANDS, written, id_="a", part="system", text="Answer in one line. ") == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "its words here are answer in one line"),
        ("Answer in line. ", "must go on asking the same"),
        ("One line in answer. ", "must go on asking the same"),
        ("Answer in one lines.", "must go on asking the same"),
        ("Answer in o.ne line. ", "must go on asking the same"),
        ("Answer in one line. x", "must go on asking the same"),
        ("Answer in one line...", "would have 47 tokens, and it was given with 46"),
        ("Answer in one\u202eline.", r"the sign U\+202E cannot be seen"),
        ("Answer in one\nline. ", r"the sign U\+000A"),
        ("Answer in one\ud800line", r"the sign U\+D800"),
        ("Answer in one line\u0301", r"the sign U\+0301"),
        ("x" * 10**6, "may have 46 characters in all, and this part alone has 1000000"),
    ],
)
def test_a_prompt_that_would_ask_something_else_is_refused(text, sentence):
    with pytest.raises(LessonError, match=sentence):
        rewrite(HANDS, (), id_="a", part="system", text=text)


def test_one_part_may_grow_by_what_another_gave_up():
    shorter = rewrite(HANDS, (), id_="a", part="question", text="Reef")
    assert rewrite(HANDS, shorter, id_="a", part="map", text="MAP: reef N, bay S.   ")
    with pytest.raises(LessonError, match="would have 47 tokens"):
        rewrite(HANDS, shorter, id_="a", part="map", text="MAP: reef N, bay S.    ")


@pytest.mark.parametrize(
    "texts",
    [
        "{", "[]", '{"a0":5}', '{"z0":"Reef"}', '{"a9":"Reef"}', '{"a":"Reef"}', '{"":"Reef"}',
        '{"a0":"Wreck"}', '{"a-1":"MAP: reef N, bay S. "}', '{"a0":"Reef?         "}', "[" * 3_000,
    ],
)  # fmt: skip
def test_a_link_with_a_text_that_is_not_allowed_is_none(texts):
    order = code_of(HANDS, HANDS.given)
    assert read_code(HANDS, f'{order}~{{"a0":"Reef"}}') == (
        HANDS.given,
        (("a", "question", "Reef"),),
    )
    assert read_code(HANDS, f"{order}~{texts}") is None
