"""Thirty files that are no whole trace: a sentence each, in the language of the page, without English."""

import gzip
import re

import pytest

from engine.errors import PagewalkError
from tests.views.uploads import doc_file, old_doc_file, rows
from views.opening import Upload, open_upload
from views.text import LANGUAGES, Text

LINES = old_doc_file().splitlines(keepends=True)
SEALED = doc_file().splitlines(keepends=True)
HEADER, EVENTS = LINES[0], b"".join(LINES[1:])
LOOKUP = next(place for place, line in enumerate(LINES) if b"PrefixLookedUp" in line)
STEP_END = next(place for place, line in enumerate(LINES) if b"StepEnded" in line)
TAKEN = next(place for place, line in enumerate(LINES) if b"BlocksTaken" in line)


def with_line(place, line):
    return b"".join([*LINES[:place], line, *LINES[place + 1 :]])


FILES = {
    "empty": b"",
    "one letter": b"x",
    "binary": bytes(range(256)) * 9,
    "zst": b"\x28\xb5\x2f\xfd\x04\x00aaaa",
    "zip": b"PK\x03\x04abc",
    "UTF-16": b"\xff\xfe{\x00",
    "KV events": b'{"ts": 1.0, "events": [{"type": "BlockStored", "block_hashes": [1]}]}\n',
    "packed KV events": b"\x93\xcb\x00\x00\xabBlockStored",
    "for Perfetto": b'{"traceEvents": []}',
    "a config": b'{"num_hidden_layers": 3}',
    "a workload": b'{"config": {}, "requests": []}',
    "web page": b"<html><body>404</body></html>",
    "JSON list": b"[1, 2]",
    "no header": EVENTS,
    "newer": HEADER.replace(b'"version":1', b'"version":7') + EVENTS,
    "version in words": HEADER.replace(b'"version":1', b'"version":"one"') + EVENTS,
    "half a header": HEADER[:-20] + b"\n" + EVENTS,
    "a setting of another type": HEADER.replace(b'"max_num_seqs":8', b'"max_num_seqs":"x"')
    + EVENTS,
    "a header that was changed": doc_file().replace(b'"num_blocks":11', b'"num_blocks":12'),
    "a digit that was changed": doc_file().replace(b'"token_budget":64', b'"token_budget":60', 1),
    "a cut between two steps": b"".join(SEALED[: STEP_END + 1]),
    "cut": doc_file()[:-40],
    "cut gzip": gzip.compress(doc_file())[:-100],
    "short gzip": gzip.compress(doc_file())[:12],
    "broken gzip": b"\x1f\x8b" + b"x" * 50,
    "a broken line": with_line(LOOKUP, b"{broken\n"),
    "a broken line that matters": with_line(TAKEN, b"{broken\n"),
    "an unknown event": with_line(TAKEN, b'{"type": "BlocksStolen"}\n'),
    "an unknown field": with_line(LOOKUP, LINES[LOOKUP].replace(b"{", b'{"colour":1,', 1)),
    "a missing field": with_line(LOOKUP, b'{"type": "PrefixLookedUp"}\n'),
    "a wrong type": with_line(LOOKUP, b'{"type": "PrefixLookedUp", "request_id": 5}\n'),
    "not UTF-8": with_line(LOOKUP, b'{"type": "\xff"}\n'),
    "deep": with_line(LOOKUP, b'{"type": ' + b"[" * 5_000 + b"\n"),
    "two lines changed places": b"".join(
        [*LINES[:TAKEN], LINES[TAKEN + 1], LINES[TAKEN], *LINES[TAKEN + 2 :]]
    ),
    "a row of Mooncake": rows({}) + b"{broken\n" + rows({"input_length": 0}, {}),
    "cut Mooncake": gzip.compress(rows(*({"timestamp": n} for n in range(300))))[:-300],
    "no row of Mooncake": rows({"hash_ids": [0]}),
}
# What stays as it is: names of formats, of events and of settings, and vLLM's words.
KEPT = re.compile(
    r"`[^`]*`|'[^']*'|\"[^\"]*\"|ui\.perfetto\.dev|python -m engine\.conformance|config\.json|"
    r"[A-Z][a-z]+[A-Z]\w*|\w+_\w+|request\d|"
    r"\b(gzip|JSON|UTF|Pagewalk|Perfetto|Mooncake|Zstandard|ZIP|vLLM|KV|K|V|trace|token|id|ids)\b"
)


def said(content, language):
    """What the page says of the file."""
    text = Text(language)
    try:
        run = open_upload(Upload("run.jsonl", len(content), content), text)
    except PagewalkError as error:
        return text.error(error)
    return text.said(run.problem)


@pytest.mark.parametrize(
    ("content", "in_words"),
    [
        (
            b"[" * 5_000,
            {
                "en": "(a list stands where a JSON object is expected)",
                "ja": "（JSON のオブジェクトであるべきところにリストがあります）",
                "zh": "（此处应为 JSON 对象，而不是列表）",
            },
        ),
        (
            b"the notes of a meeting\n",
            {"en": "(it is not JSON)", "ja": "（JSON ではありません）", "zh": "（这不是 JSON）"},
        ),
    ],
    ids=["lists", "prose"],
)
def test_what_is_another_kind_of_file_is_told_in_words(content, in_words):
    for language, words in in_words.items():
        assert said(content, language).endswith(words)


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_each_gets_one_sentence_in_the_language_of_the_page(content):
    sentences = {language: said(content, language) for language in LANGUAGES}
    assert len(set(sentences.values())) == len(LANGUAGES)
    for language, sentence in sentences.items():
        assert sentence
        assert "\n" not in sentence
        assert len(sentence) < 400
        if language != "en":
            assert re.findall(r"[A-Za-z]+", KEPT.sub("", sentence)) == []
