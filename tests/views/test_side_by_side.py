"""Two texts that are not the same do not look the same."""

import json
from itertools import combinations
from pathlib import Path

import pytest

from engine.questions.reasons import Diverges, Parting
from tests.questions.builders import request, run
from views.figures.moment import moment_at
from views.figures.tree.tree import tree
from views.figures.why.side_by_side import looks_alike, side_by_side
from views.figures.why.why import why
from views.figures.why.why_words import Teller, words
from views.text import Text

TEXT = Text("en")
CASES = json.loads((Path(__file__).parents[1] / "data" / "cases.json").read_text(encoding="utf-8"))
FORMS = next(case for case in CASES["scenarios"] if case["name"] == "salt_forms")
SALTS = sorted({each.get("cache_salt") or "" for each in FORMS["requests"]} - {""})


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("acme", "acne", ("“acme”", "“acne”")),
        ("caf\u00e9", "cafe\u0301", ("“caf\u00e9” (U+00E9)", "“cafe\u0301” (U+0065 U+0301)")),
        ("acme", "acme ", ("“acme”", "“acme␣” (U+0020)")),
        ("acme", "ac\u200bme", ("“acme”", "“acU+200Bme” (U+200B)")),
        ("a", "\u0430", ("“a” (U+0061)", "“\u0430” (U+0430)")),
        ("acme ", "", ("“acme␣”", "“”")),
        ("x" * 60 + "a", "x" * 60 + "b", (f"“…{'x' * 12}a”", f"“…{'x' * 12}b”")),
    ],
)
def test_what_differs_is_seen_or_spelled(one, other, shown):
    assert side_by_side(one, other, TEXT) == shown


def test_quotes_are_those_of_the_language():
    assert side_by_side("a", "b", Text("ja")) == ("「a」", "「b」")


def test_only_the_form_differs():
    assert looks_alike("caf\u00e9", "cafe\u0301 ")
    assert looks_alike("a\u200bb", "ab")
    assert not looks_alike("acme", "acne")


def salted_run():
    """Every salt of case salt_forms (B28), with one prompt."""
    return run(
        *(
            request(f"r{number}", range(1, 9), step=number, cache_salt=salt)
            for number, salt in enumerate(SALTS)
        )
    )


def test_every_two_salts_of_the_case_are_shown_as_two():
    assert len(SALTS) == 3
    for one, other in combinations(SALTS, 2):
        ours, theirs = side_by_side(one, other, TEXT)
        assert not looks_alike(ours, theirs)


def test_why_spells_out_a_salt_that_differs_in_form():
    trace = run(
        request("early", range(1, 9), cache_salt="Zo\u00eb"),
        request("late", range(1, 9), step=1, cache_salt="Zoe\u0308"),
    )
    payload = why(trace, trace.last, moment_at(trace, trace.last), TEXT, request_id="late")
    said = payload["case"]["reasons"][0]["text"]
    assert "“Zoe\u0308” (U+0065 U+0308) here, “Zo\u00eb” (U+00EB) there" in said


def test_why_spells_out_an_adapter_that_differs_by_a_space():
    adapters = {"early": "fr", "late": "fr "}
    trace = run(
        *(
            request(id_, range(1, 9), step=step, lora=adapters[id_])
            for step, id_ in enumerate(adapters)
        ),
        max_loras=2,
    )
    payload = why(trace, trace.last, moment_at(trace, trace.last), TEXT, request_id="late")
    assert "“fr␣” (U+0020) here, “fr” there" in payload["case"]["reasons"][0]["text"]


def test_every_salt_has_a_root_that_looks_like_no_other():
    trace = salted_run()
    payload = tree(moment_at(trace, trace.last), TEXT, trace=trace)
    roots = [node for node in payload["nodes"] if node["kind"] == "root"]
    assert len(roots) == 3
    for field in ("below", "title"):
        for one, other in combinations([node[field] for node in roots], 2):
            assert not looks_alike(one, other)


def test_two_tokens_that_look_the_same_are_told_apart_by_their_ids():
    def token(_, is_own):
        return "“e\u0301”" if is_own else "“\u00e9”"

    parted = Diverges(Parting("early", 4, 6, 5), 1, 1, 0)
    said = words(parted, Teller("late", token, TEXT)).sentence
    assert "“e\u0301” (id 6) here, “\u00e9” (id 5) there" in said
