"""The packed forward pass of one step: a row for each scheduled token, request after request.

    row  request  position   block table    slot = block * block_size + offset
    0    A        9          [2] -> 4       4 * 4 + 1 = 17          A decodes
    1    B        0          [0] -> 6       6 * 4 + 0 = 24          B computes its prompt
    2    B        1          [0] -> 6       6 * 4 + 1 = 25

It is read from the picture right after schedule(): what the model gets (engine/runner/input_batch.py).
Later in the step tables may have been freed already; earlier the batch is still being filled.

vLLM 0.17.1: v1/worker/gpu_model_runner.py GPUModelRunner._prepare_inputs
"""

from collections.abc import Sequence
from typing import Any

from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.figures.batch.batch_reads import reads
from views.figures.batch.batch_rows import DrawnRows, Place, Share, shares_of
from views.figures.cache.request_tokens import token_words
from views.figures.moment import block_words, has_begun
from views.figures.selection import NOTHING, Selection
from views.text import Text

STARTS_HEAD, STARTS_TAIL = 6, 2  # of query_start_loc
MAX_NAMED = 4  # requests in a sentence
COLUMNS = ("row", "request", "token", "position", "table", "offset", "slot", "sample")


def batch(
    trace: Trace,
    cursor: Cursor,
    text: Text,
    *,
    selection: Selection = NOTHING,
    group_id: int = 0,
) -> dict[str, Any]:
    """Rows in order, folded where there are many; and what the chosen row reads.

    The chosen row is the selected token's, or the last of the selected request, or of the first.
    """
    cursor = trace.cursor_at(trace.position(cursor))
    state = now = trace.at(cursor)
    payload: dict[str, Any] = {"title": text("batch.title", step=cursor.step)}
    if not has_begun(state, cursor) or not (state.scheduled or state.is_scheduled):
        return payload | {"empty": text("batch.not_yet", step=cursor.step)}
    token_state = "now" if state.is_written else "scheduled"
    if state.is_scheduled:
        state = trace.at(trace.after_schedule(cursor.step))
    if not state.scheduled:
        return payload | {"empty": text("batch.nothing", step=cursor.step)}
    group_id = group_id if 0 <= group_id < len(state.groups) else 0
    shares = shares_of(state, group_id)
    place = place_of(shares, selection)
    size = state.group_block_sizes[group_id]
    drawn = DrawnRows(now, shares, size, place)
    return payload | {
        "beside": _summary(state, shares, text),
        "starts": _starts(shares),
        "groups": group_choices(state, text),
        "group": group_id,
        "group_label": text("batch.groups"),
        "size": size,
        "columns": [text.named("batch_column", name) for name in COLUMNS],
        "column_hints": [text.named("batch_hint", name) for name in COLUMNS],
        "words": {name: text.named("batch_word", name) for name in ("sample", "draft")},
        "token_state": token_state,
        "token_word": token_words(state, text)[token_state],
        "scroll_label": text("batch.rows"),
        "block_label": text("tree.block"),
        "block_words": block_words(text),
        "sequences": drawn.sequences(text),
        "chosen": [place.share.request.request_id, place.position],
        "note": text.told((_note(state, place, selection, text), _given_up(now, shares, text))),
        "reads": reads(
            state, place.share.row, place.position, group_id=group_id, now=now, text=text
        )
        | {"row": place.share.first_row + place.position - place.share.start},
    }


def place_of(shares: Sequence[Share], selection: Selection) -> Place:
    for share in shares:
        if share.request.request_id == selection.request_id:
            token = selection.token
            if token is not None and share.start <= token < share.stop:
                return Place(share, token, True)
            return Place(share, share.stop - 1, True)
    return Place(shares[0], shares[0].stop - 1, False)


def _note(state: State, place: Place, selection: Selection, text: Text) -> str:
    """Why another row is shown than the one that was asked for."""
    request_id, token = selection.request_id, selection.token
    if request_id is None or request_id not in state.requests:
        return ""
    if not place.is_chosen:
        key = "batch.not_in_yet" if _may_still_come(state, request_id) else "batch.not_in"
        return text(key, request=request_id, step=state.step)
    if token is None or token == place.position:
        return ""
    where = "batch.token_before" if token < place.share.start else "batch.token_after"
    return text(where, request=request_id, token=token, step=state.step)


def _given_up(now: State, shares: Sequence[Share], text: Text) -> str:
    """Who has no table any more: the blocks of their rows are drawn as they are now, as in the pool."""
    ids = [share.request.request_id for share in shares]
    gone = [id_ for id_ in ids if not any(now.requests[id_].block_tables)]
    if not gone:
        return ""
    many = text.count("batch.requests", len(gone))
    return text.count(
        "batch.given_up", len(gone), who=text.listed(gone) if len(gone) <= MAX_NAMED else many
    )


def _may_still_come(state: State, request_id: str) -> bool:
    """While schedule() goes on. Once it has preempted somebody, it admits nobody any more."""
    is_open = request_id in state.running or (request_id in state.waiting and not state.preempted)
    return is_open and not state.is_scheduled


def _summary(state: State, shares: Sequence[Share], text: Text) -> str:
    num_tokens = shares[-1].first_row + shares[-1].row.num_scheduled_tokens
    num_samples = sum(share.samples + len(share.row.spec_token_ids) for share in shares)
    key = "batch.summary" if state.is_scheduled else "batch.so_far"
    return text(
        key,
        tokens=text.count("batch.tokens", num_tokens),
        requests=text.count("batch.requests", len(shares)),
        samples=text.count("batch.samples", num_samples),
    )


def _starts(shares: Sequence[Share]) -> str:
    """query_start_loc: where each request's rows begin, and the end of the last."""
    starts = [share.first_row for share in shares]
    starts.append(shares[-1].first_row + shares[-1].row.num_scheduled_tokens)
    if len(starts) <= STARTS_HEAD + STARTS_TAIL + 1:
        return ", ".join(map(str, starts))
    head, tail = starts[:STARTS_HEAD], starts[-STARTS_TAIL:]
    return f"{', '.join(map(str, head))} … {', '.join(map(str, tail))}"


def group_choices(state: State, text: Text) -> list[str]:
    """One name for each KV-cache group; none where there is nothing to choose."""
    if len(state.groups) == 1:
        return []
    return [
        text(
            "batch.group",
            id=group_id,
            kind=group_name(group, text),
            size=group["block_size"],
        )
        for group_id, group in enumerate(state.groups)
    ]


def group_name(group: dict[str, Any], text: Text) -> str:
    if group["type"] == "sliding":
        return text("batch.sliding", n=group["window"])
    if group["type"] == "chunked_local":
        return text("batch.chunked", n=group["chunk"])
    return text("batch.full")
