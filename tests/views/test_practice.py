"""The allocator's page: what a click means, and what may be seen meanwhile."""

import pytest

from views.choices import Choices
from views.figures.learning.practice import told
from views.i18n.en_practice import MESSAGES
from views.practice import Practice
from views.practising import ACTIONS, read_link, show
from views.text import Text
from views.widgets.practice import practice_payload

TEXT = Text("en")


@pytest.fixture
def chosen() -> Choices:
    """Level 3, seed 0: touch 1 and 2, take 7 and 8, that is all."""
    chosen = Choices()
    read_link(chosen, {"level": "3", "seed": "0"})
    return chosen


def do(chosen, what, sent):
    ACTIONS[what](chosen, chosen.run, sent)
    return show(chosen)


def test_the_run_ends_where_the_next_deed_begins(chosen):
    begun = show(chosen)
    assert begun.trace.at(begun.trace.last).requests["r2"].status == "WAITING"
    assert begun.trace.num_positions - 1 == chosen.practice.exercise.deeds[0].before


def test_clicks_are_held_against_the_engine_and_the_run_follows(chosen):
    do(chosen, "selected", {"block": 7})
    assert (chosen.practice.said.reason, chosen.practice.mistakes) == ("no_verb", [])
    do(chosen, "verb", "take")
    do(chosen, "selected", {"block": 7})
    assert chosen.practice.said.reason == "touch_first"
    do(chosen, "verb", "touch")
    do(chosen, "selected", {"block": 1})
    begun = do(chosen, "selected", {"block": 2})
    assert begun.trace.at(begun.trace.last).blocks[1].ref_cnt == 3
    do(chosen, "verb", "take")
    do(chosen, "selected", {"block": 7})
    do(chosen, "selected", {"block": 8})
    do(chosen, "finished_acting", True)
    assert chosen.practice.is_over
    card = practice_payload(chosen.practice, TEXT)
    assert card["done"] == [["touch", 1], ["touch", 2], ["take", 7], ["take", 8]]
    assert "1 mistake " in card["outcome"]
    in_chinese = practice_payload(chosen.practice, Text("zh"))["done"]
    assert in_chinese == [["touch", 1], ["touch", 2], ["取走", 7], ["取走", 8]]


def test_whoever_gives_up_sees_the_engine_do_one_deed_after_the_other(chosen):
    begun = do(chosen, "solution", True)
    assert practice_payload(chosen.practice, TEXT)["playing"] == 0
    said = []
    for place in range(5):
        begun = do(chosen, "played", [place, False])
        do(chosen, "played", [place, False])  # the same one once more
        card = practice_payload(chosen.practice, TEXT)
        said.append(card["said"]["text"].split(":")[0] if card["said"] else card["outcome"][:7])
        assert len(card["done"]) == min(place + 1, 4)
    assert said == ["touch 1", "touch 2", "take 7", "take 8", "That is"]
    assert begun.trace.last == chosen.cursor == chosen.practice.exercise.end
    assert (chosen.practice.num_solved, card["playing"]) == (0, None)
    do(chosen, "selected", {"block": 7})
    assert chosen.practice.mistakes == []


def test_without_motion_the_solution_is_there_at_once(chosen):
    do(chosen, "solution", True)
    do(chosen, "played", [0, True])
    assert chosen.practice.is_over


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        (1, "r1 needs 1 more block to go on: 13 tokens known, 12 computed"),
        (3, "needs 1 more block"),
        (5, "A running request needs 1 more block"),
        (6, "A running request needs 1 more block"),
        (7, "needs 1 more block"),
    ],
)
def test_who_has_to_give_way_is_not_named_before_it_is_asked(seed, said):
    practice = Practice(level=5, seed=seed)
    deed = practice.exercise.deeds[0]
    assert deed.verb == "preempt"
    situation = practice_payload(practice, TEXT)["situation"]
    assert said in situation
    assert deed.target not in situation


def test_a_request_is_looked_at_unless_one_preempts(chosen):
    do(chosen, "selected", {"request": "r0"})
    assert chosen.practice.mistakes == []
    do(chosen, "verb", "preempt")
    do(chosen, "selected", {"request": "r1"})
    assert [each.reason for each in chosen.practice.mistakes] == ["has_room"]


def test_another_exercise_and_the_same_again(chosen):
    do(chosen, "verb", "touch")
    do(chosen, "selected", {"block": 1})
    do(chosen, "exercise_again", True)
    assert (chosen.practice.seed, chosen.practice.num_done) == (0, 0)
    do(chosen, "exercise", 5)
    assert chosen.practice.level == 5


@pytest.mark.parametrize(
    "params", [{"level": "9"}, {"level": "x"}, {"seed": "-1"}, {"seed": "1" * 30}]
)
def test_an_address_of_no_exercise_gets_a_sentence_and_another_one(params):
    chosen = Choices()
    read_link(chosen, params)
    assert next(iter(params.values()))[:9] in chosen.notices["note"]
    assert show(chosen).trace.num_positions > 1


@pytest.mark.parametrize("sent", [None, [], {"block": "x"}, {"block": -1}, 5, "nobody"])
def test_nonsense_from_a_browser_does_no_harm(chosen, sent):
    do(chosen, "selected", sent)
    do(chosen, "verb", sent)
    do(chosen, "exercise", "5")
    assert chosen.practice.num_done == 0


def test_every_mistake_has_its_sentence():
    from lessons.exercises import LEVELS, exercise
    from lessons.judging import judge

    seen = set()
    for level in LEVELS:
        for seed in range(12):
            asked = exercise(level, seed)
            for place in range(len(asked.deeds)):
                targets = [("preempt", f"r{n}") for n in range(5)] + [("done", None)]
                targets += [(verb, id_) for verb in ("touch", "take", "free") for id_ in range(16)]
                for verb, target in targets:
                    found = judge(asked, place, verb, target)
                    assert told(found, TEXT)["text"]
                    seen.add(found.reason)
    seen.add("no_verb")  # said by the page itself
    assert {f"practice_why.{reason}" for reason in seen} == {
        key for key in MESSAGES if key.startswith("practice_why.")
    }


def test_solved_without_a_mistake_counts(chosen):
    practice = Practice(level=3, seed=0)
    for deed in practice.exercise.deeds:
        practice.verb = deed.verb
        practice.act(deed.target)
    assert practice.num_solved == 1


@pytest.mark.parametrize(
    ("block", "sentence"),
    [
        (0, "Block 0 is the null block: it has no hash"),
        (7, "Block 7 has no hash: the cache knows nothing of it"),
    ],
)
def test_a_block_without_a_hash_is_not_said_to_have_one(chosen, block, sentence):
    do(chosen, "verb", "touch")
    do(chosen, "selected", {"block": block})
    said = practice_payload(chosen.practice, TEXT)["said"]["text"]
    assert said.startswith(sentence)
    assert "other tokens" not in said
