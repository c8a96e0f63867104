"""What the story, the prefix tree and the cards say of moments in which little can be said wrongly."""

import msgspec
import pytest

from engine.trace.events import BlockHashed, BlocksTouched, TokensSampled
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from lessons.library import load_lesson
from lessons.places import find_place
from tests.views.runs import golden_trace
from tests.views.trees import TEXT, last_tree, run
from views.figures.cache.requests import _last_words, requests
from views.figures.cache.tokens import PLAIN, SIGN
from views.figures.moment import Moment, moment_at
from views.figures.time.narration import sentence
from views.figures.tree.tree import tree


def of_lesson(name: str, scenario: str, place: str) -> tuple[Trace, Moment]:
    trace = load_lesson(name).traces[scenario]
    return trace, moment_at(trace, find_place(trace, place))


def told(moment: Moment) -> str:
    return sentence(moment.events, TEXT)


def facts(moment: Moment, request_id: str) -> list[str]:
    cards = requests(moment, TEXT)["cards"]
    return [words for card in cards if card["id"] == request_id for _, words in card["facts"]]


def test_a_prompt_without_a_full_block_has_nothing_to_look_for():
    trace, moment = of_lesson("06-prefill", "sixteen", "after first PrefixLookedUp about r0")
    assert told(moment) == (
        "r0 asks the cache: no hit. None of its blocks is full, and only a full block has a hash."
    )
    assert tree(moment, TEXT, trace=trace)["sentence"] == (
        "r0 looked up in step 0: none of its blocks is full, so it has no hash to look for."
    )


def test_a_block_whose_last_token_was_just_sampled_has_a_hash_and_does_not_carry_it():
    _, moment = of_lesson("10-docs-example", "docs", "before first RequestFinished about r0")
    assert told(moment) == (
        "r0 gets the token “T”. The tokens of one more block are all known: hash #1fdae9 joins the "
        "chain of r0. Its block carries it only once r0 is scheduled again."
    )
    assert moment.state.requests["r0"].block_hashes[-1].endswith("1fdae9")
    assert not any(key[:-8].endswith("1fdae9") for key in moment.state.cached)


def test_two_hashes_of_one_step_are_two():
    event = BlockHashed(request_id="r0", block_hashes=("00aa11bb", "00cc22dd"))
    assert sentence([event], TEXT) == (
        "The tokens of 2 more blocks are all known: hashes #aa11bb, #cc22dd join the chain of r0. "
        "Its blocks carry them only once r0 is scheduled again."
    )


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ((1,), "c takes part in block 1: one reference more."),
        ((1, 2), "c takes part in blocks 1, 2: one reference more each."),
    ],
)
def test_one_block_is_touched_or_several(blocks, words):
    event = BlocksTouched(request_id="c", group_id=0, block_ids=blocks)
    assert sentence([event], TEXT) == words


def test_one_hash_is_cached_or_several_in_as_many_blocks():
    one, two = (run([([*range(n)], {})], num_blocks=9, block_size=4) for n in (5, 8))
    assert last_tree(one)["summary"] == "1 hash cached, in 1 block"
    assert last_tree(two)["summary"] == "2 hashes cached, in 2 blocks"


def test_a_request_that_has_all_its_tokens_has_none_to_compute():
    _, moment = of_lesson("07-decode", "ends", "before first RequestFinished about r0")
    assert "made 3 of 3" in facts(moment, "r0")
    assert not any(words.startswith("to compute") for words in facts(moment, "r0"))
    _, before = of_lesson("07-decode", "ends", "after_update of step 1")
    assert "to compute 1" in facts(before, "r0")


def test_words_of_a_finished_request_stand_apart():
    trace = load_lesson("11-why-miss").traces["stamp_first"]
    card = requests(moment_at(trace, trace.last), TEXT)["cards"][0]
    assert card["closed"]["prompt"] == "12:01 You are a careful assistant for a small pu…"


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        ((" ", ""), [["␣", SIGN]]),
        (("\n", "So"), [["↵\n", SIGN], ["So", PLAIN]]),
        (("two", " words"), "two words"),
    ],
)
def test_white_space_of_an_answer_can_be_seen_on_its_card(texts, answer):
    told, given = Trace(TraceHeader(config=golden_trace("doc_example").header.config)), [*texts]
    for event in golden_trace("doc_example").events_from(0):
        if isinstance(event, TokensSampled) and event.request_id == "request0":
            event = msgspec.structs.replace(event, text=given.pop(0) if given else "")
        told.append(event)
    card = requests(moment_at(told, told.last), TEXT)["cards"][0]
    assert (card["text"], card["closed"]["answer"]) == (answer, answer)


def test_of_a_long_answer_the_last_words_are_on_the_line_and_say_so():
    assert _last_words("x" * 400) == "x" * 400
    assert _last_words("y" + "x" * 400) == "…" + "x" * 400


def test_letters_of_a_script_stand_side_by_side():
    trace = load_lesson("10-docs-example").traces["docs"]
    card = requests(moment_at(trace, trace.last), TEXT)["cards"][0]
    assert card["closed"]["prompt"] == "ABCDEFGHIJKLMNO"
