"""Two runs of one workload, step beside step: what the browser needs to move through both by itself."""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from engine.trace.entries import RequestState
from engine.trace.per_trace import OnePerTrace
from engine.trace.trace import Trace
from views.figures.cache.tokens import drawn_runs, request_pieces
from views.figures.compare import compare_frames as pictures
from views.figures.compare.compare_frames import (
    Frame,
    RequestFrame,
    differing,
)
from views.figures.compare.compare_inputs import FIELDS, SWITCHES, Half
from views.figures.compare.compare_totals import Totals, finish_rows, total_rows, totals
from views.figures.compare.compare_words import difference_lines, step_sentence, told
from views.figures.run_numbers import numbers_of
from views.text import Text
from views.theme import BLOCK_STATES, TOKEN_STATES

MAX_ROWS = 24  # requests that are drawn
MAX_TOKENS = 72  # of a request of which each token is drawn; of a longer one its blocks are
WORDS = (
    *("left", "right", "setting", "total", "step", "end", "over", "of", "of_end", "pool"),
    *("more_blocks", "hit", "made", "cached", "place", "preempted", "absent", "better", "equal"),
    *("differs", "first", "back", "play", "pause", "forward", "last", "slider", "time"),
    *("swap", "swap_hint", "reset", "reset_hint", "workload", "letters", "letters_hint"),
    *("differences", "to_come", "go", "no_run", "block", "hashed", "unwritten", "token"),
    *(
        "many_tokens",
        "finish",
        "finish_cut",
        "explain",
        "hash_legend",
        "now_legend",
    ),
)


class Look(NamedTuple):
    """What was worked out about one run, without the run itself."""

    frames: list[Frame]
    totals: Totals
    blocks: list[list[int]]
    requests: list[dict[str, Any]]


def _look(trace: Trace) -> Look:
    frames, moments = [], []
    for state, frame in pictures.pictures(trace):
        frames.append(frame)
        moments.append(numbers_of(state))
    changes = _changed_blocks(frames), _changed_requests(frames)
    return Look(frames, totals(trace, moments), *changes)


_LOOKS = OnePerTrace(_look)


def compare(left: Half, right: Half, text: Text, unended: Collection[str] = ()) -> dict[str, Any]:
    """`unended`: requests that go on behind the tokens that are repeated here.

    `places`: what differs, one for each step of the longer run and its end; None: as before.
    """
    halves = (left, right)
    looks = [None if half.trace is None else _LOOKS.of(half.trace) for half in halves]
    both = [None if look is None else look.frames for look in looks]
    sums = [_sums(half) for half in halves]
    return {
        "sides": [_side(half, text) for half in halves],
        "fields": [_field(name, text) for name in FIELDS],
        "requests": _requests([half.trace for half in halves]),
        "more": _more(halves, text),
        "places": _places(both[0], both[1], halves, text),
        "totals": total_rows(sums[0], sums[1], text, unended),
        "finished": finish_rows(sums[0], sums[1], text, unended),
        "reasons": _reasons(halves, sums, text, unended),
        "legend": [[name, text.named("block_state", name)] for name in BLOCK_STATES],
        "tokens": [[name, text.named("token_state", name)] for name in TOKEN_STATES],
        "status": {name: text.named("status", name) for name in _statuses(both)},
        "words": {name: text.named("compare_word", name) for name in WORDS},
    }


def _sums(half: Half) -> Totals | None:
    """None of a side that has not run."""
    if half.trace is None:
        return None
    found, never = _LOOKS.of(half.trace).totals, half.stuck_reason is not None or half.is_cut
    return found._replace(steps=None) if never else found


def reasons(
    halves: Sequence[Half], text: Text, unended: Collection[str] = ()
) -> dict[str, Any] | None:
    """What comes out otherwise, and why; None where only one side has run."""
    return _reasons(halves, [_sums(half) for half in halves], text, unended)


def sentence_at(halves: Sequence[Half], step: int, text: Text) -> str:
    """What differs while this step is computed; empty where only one side has run."""
    left, right = [half.trace for half in halves]
    if left is None or right is None:
        return ""
    one, other = (pictures.at(_LOOKS.of(trace).frames, step) for trace in (left, right))
    same_blocks = halves[0].setting.block_size == halves[1].setting.block_size
    return step_sentence(differing(one, other, same_blocks=same_blocks), one, other, text)


def _field(name: str, text: Text) -> dict[str, Any]:
    field: dict[str, Any] = {
        "name": name,
        "label": text.named("compare_field", name),
        "hint": text.named("compare_hint", name),
    }
    if name in SWITCHES:
        options = SWITCHES[name]
        field["options"] = [[each, text.named("compare_option", each)] for each in options]
    return field


def _side(half: Half, text: Text) -> dict[str, Any]:
    side: dict[str, Any] = {"setting": half.setting._asdict(), "errors": dict(half.errors)}
    if half.trace is None:
        return side
    look = _LOOKS.of(half.trace)
    state = half.trace.at(half.trace.last)
    note = text.said(half.stuck_reason or "")
    if half.is_cut:
        note = text("compare.cut", n=len(look.frames) - 1)
    return side | {
        "run": {
            "num_steps": len(look.frames) - 1,
            "block_size": state.group_block_sizes[0],
            "num_blocks": state.num_blocks,
            "note": note,
            "blocks": look.blocks,
            "requests": look.requests,
        }
    }


def _changed_blocks(found: Sequence[Frame]) -> list[list[int]]:
    """Block id and code, flat, of those that changed since the step before."""
    changes, before = [], [-1] * len(found[0].blocks)
    for frame in found:
        now = pictures.packed_blocks(frame)
        flat: list[int] = []
        for id_, (old, new) in enumerate(zip(before, now, strict=True)):
            if old != new:
                flat += (id_, new)
        changes.append(flat)
        before = now
    return changes


def _changed_requests(found: Sequence[Frame]) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = []
    before: dict[str, RequestFrame] = {}
    for frame in found:
        now = frame.requests
        changed = {id_: r for id_, r in now.items() if before.get(id_) != r}
        changes.append({id_: _packed(r, before.get(id_)) for id_, r in changed.items()})
        before = now
    return changes


def _packed(request: RequestFrame, before: RequestFrame | None) -> list[Any]:
    """Its table comes only with the step that changes it, else None."""
    is_same = before is not None and before.table == request.table
    return [
        request.status,
        request.place,
        list(request.spans),
        request.num_tokens,
        request.num_hit_tokens,
        request.num_preemptions,
        None if is_same else list(request.table),
    ]


def _all_requests(traces: Sequence[Trace | None]) -> dict[str, RequestState]:
    """In order of arrival on the left; of two sides the one in which a request came further."""
    found: dict[str, RequestState] = {}
    for trace in traces:
        if trace is None:
            continue
        for id_, request in trace.at(trace.last).requests.items():
            if id_ not in found or found[id_].num_tokens < request.num_tokens:
                found[id_] = request
    return found


def _requests(traces: Sequence[Trace | None]) -> list[dict[str, Any]]:
    return [_request(request) for request in list(_all_requests(traces).values())[:MAX_ROWS]]


def _request(request: RequestState) -> dict[str, Any]:
    """Tokens are the same on both sides, so they are sent once: [drawn, id] each."""
    row: dict[str, Any] = {
        "id": request.request_id,
        "prompt": request.num_prompt_tokens,
        "most": request.added.max_tokens,
    }
    if request.num_tokens <= MAX_TOKENS:
        ids = request.token_ids
        known = [*request.added.prompt_token_bytes, *request.output_token_bytes]
        pieces = request_pieces(ids, known)
        row["tokens"] = [[drawn_runs(each), id_] for each, id_ in zip(pieces, ids, strict=True)]
    return row


def _more(halves: Sequence[Half], text: Text) -> str:
    hidden = len(_all_requests([half.trace for half in halves])) - MAX_ROWS
    return text.count("rows.more", hidden) if hidden > 0 else ""


def _places(
    left: Sequence[Frame] | None,
    right: Sequence[Frame] | None,
    halves: Sequence[Half],
    text: Text,
) -> list[dict[str, Any] | None]:
    num_places = max((len(run) for run in (left, right) if run is not None), default=0)
    if left is None or right is None:
        return [None] * num_places
    same_blocks = halves[0].setting.block_size == halves[1].setting.block_size
    places: list[dict[str, Any] | None] = []
    before = None
    for step in range(num_places):
        one, other = pictures.at(left, step), pictures.at(right, step)
        found = differing(one, other, same_blocks=same_blocks)
        place = {
            "blocks": pictures.ranges(found.block_ids),
            "tables": {id_: pictures.ranges(entries) for id_, entries in found.tables.items()},
            "facts": found.facts,
            "say": step_sentence(found, one, other, text),
        }
        places.append(None if place == before else place)
        before = place
    return places


def _reasons(
    halves: Sequence[Half], sums: Sequence[Totals | None], text: Text, unended: Collection[str]
) -> dict[str, Any] | None:
    """None where only one side has run: there is nothing to compare."""
    (left, right), (ours, theirs) = [half.trace for half in halves], sums
    if left is None or right is None or ours is None or theirs is None:
        return None
    return difference_lines(told(left, ours, unended), told(right, theirs, unended), text)


def _statuses(both: Sequence[Sequence[Frame] | None]) -> set[str]:
    return {r.status for run in both for frame in run or () for r in frame.requests.values()}
