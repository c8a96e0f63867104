"""The tokens of a request, cut into blocks: what each is now, and what of a long one is drawn."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.trace.entries import RequestState
from engine.trace.state import State
from views.figures.cache.tokens import CODE, Piece, drawn_runs, pieces_between
from views.figures.moment import kept
from views.text import Text
from views.theme import TOKEN_STATES

HEAD_TOKENS, TAIL_TOKENS = 24, 48  # of a long request, in whole blocks
NEAR_BLOCKS = 2  # drawn around what happens, and around what is selected
MAX_TOKENS_OF_BLOCK = 64
MAX_UNFOLDED_BLOCKS, MAX_UNFOLDED_TOKENS_OF_BLOCK = 512, 1024
MAX_SLOTS = 32  # empty slots of a block that are drawn

Spans = tuple[int, int, int, int]


def token_spans(state: State, request: RequestState) -> Spans:
    """Where hits, what was computed before, what this step computed and what it will compute end.

    A token is scheduled until the model ran: its block may have a hash already, its K and V not.
    """
    if request.is_finished:
        return _all_computed(request)
    if request.status == "RUNNING":
        row = state.scheduled.get(request.request_id)
        if row is None:
            return _all_computed(request)
        before, end = row.num_computed_tokens, row.num_computed_tokens + row.num_scheduled_tokens
        return request.num_hit_tokens, before, end if state.is_written else before, end
    lookup = request.lookup
    if lookup and lookup.step == state.step and state.in_step:
        found = 0 if request.request_id in state.preempted else lookup.num_hit_tokens
        return found, found, found, found
    return 0, 0, 0, 0


def _all_computed(request: RequestState) -> Spans:
    computed = request.num_computed_tokens
    return min(request.num_hit_tokens, computed), computed, computed, computed


def token_words(state: State, text: Text) -> dict[str, str]:
    """Each of TOKEN_STATES in words. Between two steps nothing is "this step": the last one is named."""
    words = {name: text.named("token_state", name) for name in TOKEN_STATES}
    if state.is_updated:
        words["now"] = text("token_state.was", step=state.step)
    return words


def blocks(
    state: State,
    request: RequestState,
    text: Text,
    *,
    lit: Collection[int] = (),
    is_unfolded: bool = False,
) -> list[dict[str, Any]]:
    """Blocks with their tokens, and folds between them; `block` is None where none is held yet.

    The ends are drawn, what happens now, and the blocks of `lit`; the first KV-cache group cuts.
    """
    size = state.group_block_sizes[0]
    table = request.block_tables[0] if request.block_tables else []
    num_blocks = max(-(-request.num_tokens // size), len(table))
    spans, drawn, end = token_spans(state, request), [], 0
    parts = _parts(num_blocks, size, spans, [i for i, id_ in enumerate(table) if id_ in lit])
    if is_unfolded:
        parts = [range(min(num_blocks, MAX_UNFOLDED_BLOCKS))]
    most = MAX_UNFOLDED_TOKENS_OF_BLOCK if is_unfolded else MAX_TOKENS_OF_BLOCK
    for part in [*parts, range(num_blocks, num_blocks)]:
        if part.start > end:
            hidden = range(end, part.start)
            words = token_words(state, text)
            drawn.append(
                _fold(hidden, text, words, size=size, num_tokens=request.num_tokens, spans=spans)
            )
        drawn += _blocks(request, table, part, size=size, spans=spans, most=most)
        end = part.stop
    return drawn


def _parts(num_blocks: int, size: int, spans: Spans, lit: Sequence[int]) -> list[range]:
    head, tail = max(1, HEAD_TOKENS // size), max(2, TAIL_TOKENS // size)
    now = range(spans[1] // size, -(-spans[3] // size)) if spans[3] > spans[1] else range(0)
    return kept(
        num_blocks,
        range(head),
        range(num_blocks - tail, num_blocks),
        range(now.start, min(now.start + NEAR_BLOCKS, now.stop)),
        range(max(now.stop - NEAR_BLOCKS, now.start), now.stop),
        *(range(index, index + 1) for index in lit[:NEAR_BLOCKS]),
    )


def _blocks(
    request: RequestState,
    table: Sequence[int],
    part: range,
    *,
    size: int,
    spans: Spans,
    most: int,
) -> list[dict[str, Any]]:
    start = part.start * size
    tokens = _tokens(request, range(start, min(part.stop * size, request.num_tokens)), spans)
    drawn = []
    for index in part:
        held = tokens[index * size - start : (index + 1) * size - start]
        is_held = index < len(table)
        drawn.append(
            {
                "block": table[index] if is_held else None,
                "start": index * size,
                "tokens": held[:most],
                "hidden": max(0, len(held) - most),
                "empty": min(size - len(held), MAX_SLOTS) if is_held else 0,
            }
        )
    return drawn


def _tokens(request: RequestState, places: range, spans: Spans) -> list[list[Any]]:
    """[drawn, state, kind, token id, shared characters] for each token."""
    special = frozenset(request.added.special_token_ids)
    ids = request.tokens_between(places.start, places.stop)
    tokens = []
    for place, token_id, piece in zip(places, ids, _pieces(request, places), strict=True):
        is_output = place >= request.num_prompt_tokens
        kind = "special" if token_id in special else "output" if is_output else ""
        name = _state_at(place, spans)
        tokens.append([drawn_runs(piece), name, kind, token_id, piece.shared])
    return tokens


def _pieces(request: RequestState, places: range) -> Sequence[Piece]:
    """The tokens' ids where the source does not know their bytes."""
    known = [*request.added.prompt_token_bytes, *request.output_token_bytes]
    if len(known) == request.num_tokens and any(known):
        return pieces_between(known, places.start, places.stop)
    ids = request.tokens_between(places.start, places.stop)
    return [Piece(((str(id_), CODE),)) for id_ in ids]


def _state_at(place: int, spans: Spans) -> str:
    for end, name in zip(spans, TOKEN_STATES, strict=False):
        if place < end:
            return name
    return TOKEN_STATES[-1]


def _fold(
    hidden: range,
    text: Text,
    words: Mapping[str, str],
    *,
    size: int,
    num_tokens: int,
    spans: Spans,
) -> dict[str, Any]:
    """What a fold hides, by what its tokens are now."""
    start, stop = hidden.start * size, min(hidden.stop * size, num_tokens)
    parts = []
    for name, end in zip(TOKEN_STATES, (*spans, num_tokens), strict=True):
        count = max(0, min(end, stop) - start)
        if count:
            parts.append(text("requests.folded_part", n=count, state=words[name]))
        start += count
    return {"fold": text.count("requests.folded", len(hidden), parts=text.listed(parts))}
