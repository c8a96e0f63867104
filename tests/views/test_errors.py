"""What the engine says has a code, and each language its own words for it."""

import importlib
import pickle
import re
from collections import Counter

import msgspec
import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError, Sentence, TraceError
from engine.malformed import reason_of
from engine.trace.codec import encode_trace, read_trace
from tests.sentences import every_sentence, gaps
from views.comparing import half, start_of
from views.figures.compare.compare import compare
from views.figures.compare.compare_inputs import Setting
from views.figures.opened import File, Limits, opened
from views.opening import Upload, open_example, open_upload
from views.text import LANGUAGES, Text
from views.workloads import MATERIALS

SENTENCES = tuple(every_sentence())
OTHERS = [language for language in LANGUAGES if language != "en"]


def words_of(language):
    return importlib.import_module(f"views.i18n.{language}.errors").MESSAGES


def test_each_code_stands_in_one_place():
    assert len(SENTENCES) > 100
    places = Counter(said.code for said in SENTENCES)
    assert {code for code, times in places.items() if times > 1} == set()


@pytest.mark.parametrize("said", SENTENCES, ids=lambda said: said.code)
def test_a_template_has_a_gap_for_each_of_its_values(said):
    assert re.fullmatch(r"[a-z_0-9]+(\.[a-z_0-9]+)*", said.code), said.place
    assert gaps(said.template) == said.values, said.place


@pytest.mark.parametrize("language", OTHERS)
def test_a_language_says_every_sentence_with_the_same_values(language):
    words = words_of(language)
    assert words.keys() == {f"error.{said.code}" for said in SENTENCES}
    for said in SENTENCES:
        assert gaps(words[f"error.{said.code}"]) == gaps(said.template), said.code


@pytest.mark.parametrize("language", OTHERS)
def test_no_sentence_stays_english(language):
    """Each has a letter of the language, unless it does nothing but put values together."""
    together = {"trace.both", "fact.check", "fact.about", "lesson.scenario"}
    for key, words in words_of(language).items():
        if key.removeprefix("error.") not in together:
            assert re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", words), key


def test_a_refused_setting_is_said_in_three_languages():
    with pytest.raises(ConfigError) as raised:
        EngineConfig(num_blocks=1)
    error = raised.value
    assert (error.code, str(error)) == (
        "setting.out_of_range",
        "num_blocks=1 is out of range: give a whole number from 2 to 4,000,000",
    )
    assert Text("en").error(error) == str(error)
    assert Text("ja").error(error) == (
        "num_blocks=1 は範囲外です。2 から 4,000,000 までの整数を指定してください"
    )
    assert Text("zh").error(error) == "num_blocks=1 超出范围：请给出整数，从 2 到 4,000,000"


def test_a_sentence_within_a_sentence_is_said_in_the_same_language():
    problem = read_trace(b'{"format": "pagewalk-trace", "version": 9}\n').problem
    assert problem == (
        "line 1: a newer Pagewalk wrote this trace (format version 9, this one reads 2): "
        "update Pagewalk"
    )
    assert Text("ja").said(problem).startswith("1 行目：")
    assert "新しい Pagewalk" in Text("ja").said(problem)
    assert "更新的 Pagewalk" in Text("zh").said(problem)


def test_a_check_of_ours_keeps_its_code_on_the_way_through_msgspec():
    with pytest.raises(ConfigError) as raised:
        EngineConfig.from_mapping({"kv_groups": [{"type": "sliding", "window": 0}]})
    assert str(raised.value) == (
        "kv_groups.window=0 is out of range: give a whole number from 1 up - at `$.kv_groups[0]`"
    )
    said = Text("zh").error(raised.value)
    assert said == "kv_groups.window=0 超出范围：请给出整数，不小于 1（位置：`$.kv_groups[0]`）"


def test_what_has_no_code_is_said_as_it_is():
    assert Text("ja").said("a file of that name exists") == "a file of that name exists"
    assert Text("ja").error(ConfigError("no such option")) == "no such option"
    assert ConfigError("no such option").code is None


def test_a_code_that_a_language_lacks_is_said_in_english():
    assert Text("ja").said(Sentence.of("not.there", "{n} of {of}", n=1, of=2)) == "1 of 2"


def test_braces_of_a_user_stay_braces():
    error = TraceError.of("refused.freed", "block {block} was freed", block="{0.__class__}")
    assert "{0.__class__}" in Text("ja").error(error)


def test_a_sentence_can_be_copied():
    sentence = Sentence.of("span.up", "from {low} up", low=3)
    again = pickle.loads(pickle.dumps(sentence))
    assert (again, again.code, Text("zh").said(again)) == (
        "from 3 up",
        "span.up",
        "不小于 3",
    )


@pytest.mark.parametrize("language", OTHERS)
def test_a_damaged_file_is_explained_in_the_language_of_the_page(language):
    """As plain text: the codec of a component's payload takes no other kind of string."""
    lines = encode_trace(open_example().trace).split(b"\n")
    text, damaged = Text(language), b"\n".join([*lines[:5], b'{"type": '])
    run = open_upload(Upload("cut.jsonl", len(damaged), damaged), text)
    payload = opened(run.trace, File(run.name, run.problem), Limits(1, 1), text)
    problem = payload["file"]["problem"]
    assert type(problem) is str
    assert msgspec.json.decode(msgspec.json.encode(payload)) == payload
    assert problem != run.problem
    assert re.search(r"\b6 行", problem)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("Expected `int`, got `str` - at `$.a[1]`", "Expected `int`, got `str` - at `$.a[1]`"),
        ("Expected `str` - at `key` in `$.a`", "Expected `str` - at `$.a`"),
        ("Expected `array` of length 2, got 3", "it has 3 entries where 2 are expected"),
        ("Expected `int` >= 0 - at `$`", "a number >= 0 is expected"),
        ("Object contains unknown field `a`", "unknown field `a`"),
        ("Object missing required field `a` - at `$.b`", "missing required field `a` - at `$.b`"),
        ("Invalid value 'X' - at `$.type`", "'X' is no value that is known here - at `$.type`"),
        ("JSON is malformed: trailing characters (byte 7)", "JSON is malformed at byte 7"),
        ("JSON is malformed: invalid character (byte 0)", "it is not JSON"),
        ("Expected `object`, got `array`", "a list stands where a JSON object is expected"),
        (
            "Expected `object`, got `str` - at `$.a`",
            "a text stands where a JSON object is expected - at `$.a`",
        ),
        ("Expected `object`, got `int`", "a whole number stands where a JSON object is expected"),
        ("Expected `object`, got `bool`", "true or false stands where a JSON object is expected"),
        ("Expected `object`, got `null`", "null stands where a JSON object is expected"),
        ("Expected `object`, got `float`", "a number stands where a JSON object is expected"),
        ("Input data was truncated", "JSON ends too early"),
        ("Invalid base64 encoded string", "this is not base64"),
        ("Integer value out of range", "the number is out of range"),
        ("Number out of range", "the number is out of range"),
        ("Invalid UTF-8 encoded string", "this is not UTF-8"),
        ("'utf-8' codec can't decode byte 0xff in position 0", "this is not UTF-8"),
        ("maximum recursion depth exceeded", "it is nested too deep"),
        ("Something new of msgspec", "it does not have the form that is expected there"),
    ],
)
def test_what_msgspec_says_has_words_in_every_language(told, says):
    sentence = reason_of(msgspec.ValidationError(told))
    assert sentence == says
    for language in OTHERS:
        technical = re.sub(r"`[^`]*`|'X'|JSON|UTF-8|base64|null", "", Text(language).said(sentence))
        assert not re.search("[A-Za-z]", technical), technical


@pytest.mark.parametrize("language", OTHERS)
def test_a_run_that_stands_still_says_so_in_the_language_of_the_page(language):
    text, setting = Text(language), Setting(num_blocks="3")
    stuck = MATERIALS["pressure"]
    side = half(stuck, setting, start_of(stuck), text)
    assert side.stuck_reason is not None
    note = compare(side, side, text)["sides"][0]["run"]["note"]
    assert type(note) is str
    assert "r0" in note
    assert "nothing" not in note
