"""The catalogue: no key is missing, none is left over, and no sentence stands in a page."""

import ast
import re
import string
from collections import Counter

import pytest

from engine.trace import events
from tests.sentences import every_sentence
from tests.source_tree import modules_under
from views.figures.time import narration
from views.text import LANGUAGES, Text, catalogues

ENGLISH = Text("en").messages
TWO_WORDS = r"\b[A-Za-z][a-z]+ [a-z]{2,}\b"

# Families whose last word comes from the trace or from a table: text.named(family, name).
FAMILIES = {
    "about": None,
    "batch_column": None,
    "batch_hint": None,
    "batch_kind": None,
    "batch_word": None,
    "beat_part": None,
    "beat_puzzle": None,
    "beat_task": None,
    "beat_word": None,
    "block_state": None,
    "compare_about": None,
    "compare_field": None,
    "compare_hint": None,
    "compare_name": None,
    "compare_option": None,
    "compare_total": None,
    "compare_total_hint": None,
    "compare_word": None,
    "example": None,
    "frag_about": None,
    "frag_how": None,
    "frag_kind": None,
    "frag_reserve": None,
    "frag_source": None,
    "frag_word": None,
    "kernel_column": None,
    "kernel_hint": None,
    "kernel_stage": None,
    "kernel_word": None,
    "key": None,
    "key_does": None,
    "home_more": None,
    "home_word": None,
    "learn_change": None,
    "learn_how": None,
    "learn_mark": None,
    "learn_part": None,
    "learn_unit": None,
    "learn_word": None,
    "lens": None,
    "lens_hint": None,
    "life_freed": None,
    "notice_kind": None,
    "number": None,
    "number_hint": None,
    "number_name": None,
    "pool_word": None,
    "practice_level": None,
    "practice_show": None,
    "practice_task": None,
    "practice_verb": None,
    "practice_verb_hint": None,
    "practice_why": None,
    "practice_word": None,
    "panel": None,
    "panel_close": None,
    "prompt": None,
    "setting_hint": None,
    "setting_label": None,
    "setting_name": None,
    "sizing_bar": None,
    "sizing_field": None,
    "sizing_hint": None,
    "sizing_kind": None,
    "sizing_number": None,
    "sizing_part": None,
    "sizing_step": None,
    "sizing_word": None,
    "slot_state": None,
    "speed": None,
    "status": None,
    "status_hint": None,
    "timeline_status": None,
    "timeline_word": None,
    "timeline_zoom": None,
    "token_state": None,
    "transport": None,
    "until_kind": None,
    "until_word": None,
}
COMPOSED = (
    "kv_group.",
    "stop_reason.",
    "chain_stop.",
    "event.AdmissionStopped.",
    "event.RequestFinished.",
)


def written_keys():
    """Every text that looks like a key, anywhere in the views."""
    return {
        node.value
        for module in modules_under("views", "app")
        if not module.name.startswith(("views.i18n", "views.__main__", "views.serve"))
        for node in ast.walk(module.tree())
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"[a-z_]+(\.[A-Za-z_]+)+", node.value)
    }


def test_every_key_that_a_page_names_is_in_the_catalogue():
    """A refusal's code looks like a key too: its words are the refusal's own (test_errors.py)."""
    first_words = {key.split(".")[0] for key in ENGLISH}
    codes = {said.code for said in every_sentence()}
    for key in written_keys() - codes:
        if key.split(".")[0] in first_words:
            assert key in ENGLISH or f"{key}.other" in ENGLISH, key


def test_no_key_is_left_over():
    used = written_keys()
    for key in ENGLISH:
        base = re.sub(r"\.(one|other)$", "", key)
        family = key.rsplit(".", 1)[0]
        known = base in used or family in FAMILIES or key.startswith(COMPOSED)
        assert known, f"{key} is used nowhere"


def test_every_event_has_a_sentence():
    kinds = {
        kind
        for kind in vars(events).values()
        if isinstance(kind, type) and issubclass(kind, events.Event) and kind is not events.Event
    }
    assert set(narration.TELLERS) == kinds


@pytest.mark.parametrize("language", LANGUAGES)
def test_languages_have_the_same_keys_and_the_same_gaps_to_fill(language):
    """Only the sentence for one thing may be missing where a language has the same for many."""
    messages = of_pages(language)
    needed = {key for key in ENGLISH if language == "en" or not key.endswith(".one")}
    assert needed - messages.keys() == set()
    assert messages.keys() - ENGLISH.keys() == set()
    for key, message in messages.items():
        assert gaps(message) == gaps(ENGLISH[key]), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_key_stands_in_two_modules_of_a_language(language):
    keys = [key for module in catalogues(language) for key in module.MESSAGES]
    assert len(keys) >= len(Text(language).messages) > 1_000
    doubled = {key for key, times in Counter(keys).items() if times > 1}
    assert doubled == set()


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"en"}))
def test_no_sentence_was_left_in_english(language):
    """Names, formulas and keys stay; two plain words one behind the other are English."""
    plain = {key: re.sub(r"\{.*?\}", "", text) for key, text in Text(language).messages.items()}
    left = {
        key
        for key, text in plain.items()
        if text == re.sub(r"\{.*?\}", "", ENGLISH.get(key, "")) and re.search(TWO_WORDS, text)
    }
    assert left == set()


def test_japanese_has_one_sentence_for_one_and_for_many():
    assert Text("ja").count("count.tokens", 1) == "1 トークン"
    assert Text("ja").count("count.tokens", 12) == "12 トークン"


def test_chinese_has_a_sentence_of_its_own_for_one_where_many_name_both_ends():
    scheduled = {"request": "r1", "first": 5}
    assert Text("zh").count("event.RequestScheduled", 1, **scheduled, last=5).endswith("位置 5。")
    assert "5 到 6" in Text("zh").count("event.RequestScheduled", 2, **scheduled, last=6)
    assert Text("zh").count("count.tokens", 1) == "1 个 token"


def test_sentences_and_words_are_put_together_as_a_language_does_it():
    assert Text("en").told(("One.", "", "Two.")) == "One. Two."
    assert Text("ja").told(("一つ。", "", "二つ。")) == "一つ。二つ。"
    assert Text("en").listed(("here", "there")) == "here, there"
    assert Text("ja").listed(("ここ", "そこ")) == "ここ、そこ"
    assert Text("zh").told(("第一句。", "", "第二句。")) == "第一句。第二句。"
    assert Text("zh").listed(("一处", "另一处")) == "一处，另一处"


def of_pages(language):
    """Without what the engine says: its English stands in the engine (test_errors.py)."""
    messages = Text(language).messages
    return {key: message for key, message in messages.items() if not key.startswith("error.")}


def gaps(message):
    return {name for _, name, _, _ in string.Formatter().parse(message) if name is not None}


def test_a_user_s_braces_stay_braces():
    assert "{steps}" in Text()("event.RequestAborted", request="{steps}")


def test_long_lists_keep_their_ends():
    assert Text().ids(range(1, 4)) == "1, 2, 3"
    assert Text().ids(range(1, 41)) == "1, 2, 3, 4, 5, 6 … 40 (40)"
