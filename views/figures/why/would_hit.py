"""What the cache would give a text that somebody types: asked of the State, nothing runs."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from engine.questions.lookup import query_of_tokens
from engine.questions.miss import why_would_miss
from engine.trace.events import RequestAdded, TokensSampled
from engine.trace.per_trace import OnePerTrace
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.figures.why.why import case
from views.figures.why.why_picture import Subject
from views.text import Text

NEW_TOKEN = 1 << 30  # added to a letter's code point where no token has that name
MAX_LETTERS = 12


class Typed(NamedTuple):
    """A text as tokens; or the sentence that says why it is none."""

    token_ids: Sequence[int] = ()
    token_bytes: Sequence[bytes] = ()
    problem: str = ""


def names_of(trace: Trace) -> Mapping[int, bytes]:
    """Token id -> letter, where each token of the run is one letter; nothing where they are more,
    or numbers that stand for themselves. The run is a whole one: it is read once."""
    return _NAMES.of(trace)


def _read_names(trace: Trace) -> Mapping[int, bytes]:
    names: dict[int, bytes] = {}
    for event in trace.events_from(0):
        if isinstance(event, RequestAdded):
            names.update(zip(event.prompt_token_ids, event.prompt_token_bytes or (), strict=False))
        elif isinstance(event, TokensSampled):
            names.update(zip(event.token_ids, event.token_bytes or (), strict=False))
    are_letters = all(len(name.decode(errors="replace")) == 1 for name in names.values())
    are_numbers = all(name == str(id_).encode() for id_, name in names.items())
    return names if are_letters and not are_numbers else {}


_NAMES: OnePerTrace[Mapping[int, bytes]] = OnePerTrace(_read_names)


def script_tokens(typed: str, names: Mapping[int, bytes], text: Text) -> Typed:
    """A script has no tokenizer: its tokens are named by letters, or are numbers."""
    if not names:
        return _numbers(typed, text)
    by_letter = {name.decode(): token_id for token_id, name in names.items()}
    letters = [letter for letter in typed if not letter.isspace()]
    ids = [by_letter.get(letter, NEW_TOKEN + ord(letter)) for letter in letters]
    return Typed(ids, [letter.encode(errors="replace") for letter in letters])


def _numbers(typed: str, text: Text) -> Typed:
    ids = []
    for word in typed.replace(",", " ").split():
        if not (word.isascii() and word.isdecimal()) or len(word) > 12:
            return Typed(problem=text("why.ask_bad", word=word[:40]))
        ids.append(int(word))
    return Typed(ids)


def ask_hint(names: Mapping[int, bytes] | None, text: Text) -> str:
    """`names`: of a script's tokens; None where a model's tokenizer reads the text."""
    if names is None:
        return text("why.ask_hint_live")
    if not names:
        return text("why.ask_hint_numbers")
    letters = " ".join(name.decode() for name in list(names.values())[:MAX_LETTERS])
    return text("why.ask_hint_letters", letters=letters)


def ask_form(text: Text, *, hint: str, typed: str, mode: str | None) -> dict[str, Any]:
    """The field without an answer. `mode`: None where there is nothing to choose."""
    return {
        "title": text("why.ask"),
        "label": text("why.ask_label"),
        "hint": hint,
        "text": typed,
        "mode": mode,
        "mode_label": text("why.mode"),
        "modes": [["chat", text("why.mode_chat")], ["raw", text("why.mode_raw")]],
    }


def answer(trace: Trace, cursor: Cursor, typed: Typed, text: Text) -> dict[str, Any]:
    """What goes into the form beside its words; nothing for an empty text."""
    if typed.problem or not typed.token_ids:
        return {"problem": typed.problem}
    state = trace.at(cursor)
    query = query_of_tokens(state, list(typed.token_ids), none_hash=trace.header.none_hash)
    if query is None:
        return {"problem": text("why.ask_unknown")}
    miss = why_would_miss(trace, cursor, query)
    subject = Subject(text("why.typed_name"), query.token_ids, typed.token_bytes)
    found = miss.found
    needs = [text.count("why.ask_need", found.num_new_blocks, free=found.num_free_blocks)]
    if found.num_queued_hits:
        needs.append(text.count("why.ask_need_queued", found.num_queued_hits))
    return {"case": case(state, miss, subject, text), "need": text.told(needs)}
