"""Request cards: status, counts, and every token in the block that holds its K and V."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from engine.trace.entries import RequestState
from engine.trace.state import State
from views.figures.moment import ROOMY_BLOCKS, Moment
from views.figures.tokens import PLAIN, Piece, request_pieces
from views.text import Text
from views.theme import TOKEN_STATES

HEAD, TAIL = 6, 12  # blocks of a long request that are drawn
MAX_TOKENS_OF_BLOCK = 64
MAX_CARDS = 24
MAX_FIRST_WORDS = 48  # characters of a finished request's prompt
MAX_TEXT = 400  # characters of a generated text on the card


def requests(
    moment: Moment,
    text: Text,
    *,
    unfinished: Collection[str] | None = None,
    is_past: bool = False,
) -> dict[str, Any]:
    """Cards in order of arrival; of very many requests the unfinished ones come first.

    `unfinished`: who can be aborted, at the end of the run; None where the run is recorded.
    """
    state = moment.state
    shown = _shown(state)
    hidden = len(state.requests) - len(shown)
    cards = [
        _card(moment, request, text) | _abort(request, text, unfinished, is_past)
        for request in shown
    ]
    return {
        "title": text("requests.title"),
        "cards": cards,
        "empty": "" if shown else text("requests.empty"),
        "more": text.count("rows.more", hidden) if hidden else "",
        "legend": [[name, text.named("token_state", name)] for name in TOKEN_STATES],
        "legend_output": text("requests.output"),
        "legend_bytes": bytes_words(_shared_characters(cards), text),
        "token_label": text("requests.token"),
        "block_label": text("requests.block"),
        "shared_label": text("requests.shared_character"),
        "roomy": state.num_blocks <= ROOMY_BLOCKS,
    }


def _shown(state: State) -> list[RequestState]:
    every = list(state.requests.values())
    if len(every) <= MAX_CARDS:
        return every
    return sorted(every, key=lambda request: request.is_finished)[:MAX_CARDS]


def _card(moment: Moment, request: RequestState, text: Text) -> dict[str, Any]:
    state = moment.state
    card: dict[str, Any] = {
        "id": request.request_id,
        "status": request.status,
        "word": _status_word(state, request, text),
        "facts": _facts(state, request, text),
        "touched": any(
            getattr(event, "request_id", None) == request.request_id for event in moment.events
        ),
        "text": request.output_text[-MAX_TEXT:],
    }
    blocks = _blocks(state, request)
    hidden = blocks[HEAD : len(blocks) - TAIL] if len(blocks) > HEAD + TAIL + 1 else []
    if hidden:
        card["folded"] = _folded_words(hidden, text)
        blocks = blocks[:HEAD] + blocks[len(blocks) - TAIL :]
        card["fold_at"] = HEAD
    card["blocks"] = blocks
    if request.is_finished:
        card["closed"] = _closed(request, text)
    return card


def _closed(request: RequestState, text: Text) -> dict[str, Any]:
    """What a finished card shows before somebody opens it, and the whole answer for when they do."""
    return {
        "prompt": _first_words(request),
        "answer": request.output_text,
        "open": text("requests.open"),
        "close": text("requests.close"),
        "label": text("requests.open_label", request=request.request_id),
    }


def _first_words(request: RequestState) -> str:
    """Of what was typed; of a script, of the names of its tokens."""
    typed = request.added.prompt_text
    if typed is None:
        head = request.added.prompt_token_bytes[: MAX_FIRST_WORDS + 1]
        typed = b"".join(head).decode(errors="replace")
    words = " ".join(typed[: 4 * MAX_FIRST_WORDS].split())
    is_whole = len(words) <= MAX_FIRST_WORDS and len(typed) <= 4 * MAX_FIRST_WORDS
    return words if is_whole else words[:MAX_FIRST_WORDS].rstrip() + "…"


def _abort(
    request: RequestState, text: Text, unfinished: Collection[str] | None, is_past: bool
) -> dict[str, Any]:
    """The button of a card, with what it does from here, or why it can do nothing."""
    if unfinished is None or request.is_finished:
        return {}
    is_off = request.request_id not in unfinished
    does = "requests.abort_past" if is_past else "requests.abort_now"
    button = {
        "word": text("requests.abort"),
        "label": text("requests.abort_label", request=request.request_id),
        "hint": text("requests.abort_too_late" if is_off else does, request=request.request_id),
        "off": is_off,
    }
    return {"abort": button}


def _status_word(state: State, request: RequestState, text: Text) -> str:
    if request.request_id in state.waiting:
        place = state.waiting.index(request.request_id) + 1
        return text("status.in_line", status=text.named("status", request.status), place=place)
    return text.named("status", request.status)


def _facts(state: State, request: RequestState, text: Text) -> list[list[str]]:
    """[kind, words]: what the counts say, with the colour of their meaning."""
    facts = [
        ["", text("requests.prompt", n=request.num_prompt_tokens)],
        ["", text("requests.made", n=request.num_output_tokens, most=request.added.max_tokens)],
    ]
    if request.num_cached_tokens is not None:
        kind = "hit" if request.num_cached_tokens else ""
        facts.append([kind, text("requests.cached", n=request.num_cached_tokens)])
    row = state.scheduled.get(request.request_id)
    if row and not request.is_finished:
        facts.append(["now", text("requests.scheduled", n=row.num_scheduled_tokens)])
    if request.num_preemptions:
        facts.append(["lost", text.count("requests.preempted", request.num_preemptions)])
    return facts


def token_spans(state: State, request: RequestState) -> tuple[int, int, int]:
    """Where hits end, where what was computed before ends, where this step's tokens end."""
    row = state.scheduled.get(request.request_id)
    if request.is_finished:
        computed = request.num_computed_tokens
        return min(request.num_hit_tokens, computed), computed, computed
    if request.status == "RUNNING":
        if row is None:
            computed = request.num_computed_tokens
            return min(request.num_hit_tokens, computed), computed, computed
        end = row.num_computed_tokens + row.num_scheduled_tokens
        return request.num_hit_tokens, row.num_computed_tokens, end
    lookup = request.lookup
    if lookup and lookup.step == state.step and state.in_step and not request.is_finished:
        found = 0 if request.request_id in state.preempted else lookup.num_hit_tokens
        return found, found, found
    return 0, 0, 0


def _blocks(state: State, request: RequestState) -> list[dict[str, Any]]:
    """The tokens, cut where blocks end; `block` is None where no block is held yet."""
    tokens = _tokens(state, request)
    size = state.group_block_sizes[0]
    table = request.block_tables[0] if request.block_tables else []
    num_blocks = max(-(-len(tokens) // size), len(table))
    blocks = []
    for index in range(num_blocks):
        part = tokens[index * size : (index + 1) * size]
        blocks.append(
            {
                "block": table[index] if index < len(table) else None,
                "start": index * size,
                "tokens": part[:MAX_TOKENS_OF_BLOCK],
                "hidden": max(0, len(part) - MAX_TOKENS_OF_BLOCK),
                "empty": min(size - len(part), 32) if index < len(table) else 0,
            }
        )
    return blocks


def _tokens(state: State, request: RequestState) -> list[list[Any]]:
    """[drawn, state, kind, token id, shared characters] for each token."""
    ids = request.token_ids
    added = request.added
    drawn = request_pieces(ids, [*added.prompt_token_bytes, *request.output_token_bytes])
    spans = token_spans(state, request)
    special = frozenset(added.special_token_ids)
    tokens = []
    for position, (token_id, piece) in enumerate(zip(ids, drawn, strict=True)):
        is_output = position >= request.num_prompt_tokens
        kind = "special" if token_id in special else "output" if is_output else ""
        name = _state_at(position, spans)
        tokens.append([drawn_runs(piece), name, kind, token_id, piece.shared])
    return tokens


def _state_at(position: int, spans: tuple[int, int, int]) -> str:
    for end, name in zip(spans, TOKEN_STATES, strict=False):
        if position < end:
            return name
    return "pending"


def drawn_runs(piece: Piece) -> str | list[list[str]]:
    """A plain token is just its text; one with signs or bytes is a list of [text, kind]."""
    if len(piece.runs) == 1 and piece.runs[0][1] == PLAIN:
        return piece.runs[0][0]
    return [[text, kind] for text, kind in piece.runs]


def _folded_words(hidden: Sequence[dict[str, Any]], text: Text) -> str:
    counts = Counter(token[1] for block in hidden for token in block["tokens"])
    parts = [
        f"{counts[name]} {text.named('token_state', name)}" for name in TOKEN_STATES if counts[name]
    ]
    return text("requests.folded", n=len(hidden), parts=", ".join(parts))


def _shared_characters(cards: Sequence[dict[str, Any]]) -> Iterator[str]:
    for card in cards:
        for block in card["blocks"]:
            yield from (token[4] for token in block["tokens"])


def bytes_words(shared: Iterable[str], text: Text) -> str:
    """What E4 BD A0 stands for, with the first such character; empty where there is none."""
    found = next((character[0] for character in shared if character), None)
    if found is None:
        return ""
    return text("requests.bytes", bytes=found.encode().hex(" ").upper(), character=found)
