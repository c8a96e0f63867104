"""Request cards: status, counts, and every token in the block that holds its K and V."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from engine.trace.entries import RequestState
from engine.trace.state import State
from views.figures.cache.request_tokens import blocks, token_spans, token_words
from views.figures.cache.tokens import drawn_runs as drawn_runs
from views.figures.cache.tokens import text_runs
from views.figures.moment import ROOMY_BLOCKS, Moment
from views.text import Text, quoted

MAX_CARDS = 24
ROOMY_TOKENS = 64  # more of them go on in the small letters of a large pool
MAX_FIRST_WORDS = 48  # characters of a finished request's prompt
MAX_TEXT = 400  # characters of a generated text on the card


class Looks(NamedTuple):
    """What a viewer chose about the cards."""

    lit: Collection[int] = ()  # blocks that stay in sight
    unfolded: Collection[str] = ()  # requests of which every block is drawn


PLAIN_LOOKS = Looks()


def requests(
    moment: Moment,
    text: Text,
    *,
    looks: Looks = PLAIN_LOOKS,
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
        _card(moment, request, text, looks) | _abort(request, text, unfinished, is_past)
        for request in shown
    ]
    return {
        "title": text("requests.title"),
        "cards": cards,
        "empty": "" if shown else _nobody(moment, text, can_add=unfinished is not None),
        "more": text.count("rows.more", hidden) if hidden else "",
        "legend": [[*named] for named in token_words(state, text).items()],
        "legend_output": text("requests.output"),
        "legend_bytes": bytes_words(_shared_characters(cards), text),
        "token_label": text("requests.token"),
        "block_label": text("requests.block"),
        "shared_label": text("requests.shared_character"),
        "unfold_hint": text("requests.unfold_hint"),
        "roomy": _is_roomy(state),
    }


def _is_roomy(state: State) -> bool:
    """In large letters, as long as all that run and wait stay in sight."""
    num_tokens = sum(request.num_tokens for request in state.live_requests().values())
    return state.num_blocks <= ROOMY_BLOCKS and num_tokens <= ROOMY_TOKENS


def _nobody(moment: Moment, text: Text, *, can_add: bool) -> str:
    if moment.first_arrival is None:
        return text("requests.empty" if can_add else "requests.none")
    return text("requests.to_come", step=moment.first_arrival)


def _shown(state: State) -> list[RequestState]:
    every = list(state.requests.values())
    if len(every) <= MAX_CARDS:
        return every
    return sorted(every, key=lambda request: request.is_finished)[:MAX_CARDS]


def _card(moment: Moment, request: RequestState, text: Text, looks: Looks) -> dict[str, Any]:
    state, is_unfolded = moment.state, request.request_id in looks.unfolded
    card: dict[str, Any] = {
        "id": request.request_id,
        "status": request.status,
        "word": _status_word(state, request, text),
        "why": text.named("status_hint", request.status),
        "facts": _facts(state, request, text),
        "touched": any(
            getattr(event, "request_id", None) == request.request_id for event in moment.events
        ),
        "text": text_runs(_last_words(request.output_text)),
        "blocks": blocks(state, request, text, lit=looks.lit, is_unfolded=is_unfolded),
    }
    if is_unfolded:
        card["fold_again"] = text("requests.fold_again")
    if request.is_finished:
        card["closed"] = _closed(request, text)
    return card


def _closed(request: RequestState, text: Text) -> dict[str, Any]:
    """What a finished card shows before somebody opens it, and the whole answer for when they do."""
    return {
        "prompt": _first_words(request),
        "answer": text_runs(request.output_text),
        "open": text("requests.open"),
        "close": text("requests.close"),
        "label": text("requests.open_label", request=request.request_id),
    }


def _last_words(made: str) -> str:
    return made if len(made) <= MAX_TEXT else "…" + made[-MAX_TEXT:]


def _first_words(request: RequestState) -> str:
    """Of what was typed; of a script without spaces, of the names of its tokens."""
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
        key = "requests.was_scheduled" if state.is_updated else "requests.scheduled"
        facts.append(["now", text(key, n=row.num_scheduled_tokens, step=state.step)])
    num_left = request.num_tokens - token_spans(state, request)[-1]
    if num_left and not request.is_finished and not _has_all_tokens(state, request):
        facts.append(["", text("requests.left", n=num_left)])
    if request.num_preemptions:
        facts.append(["lost", text.count("requests.preempted", request.num_preemptions)])
    if request.finished_step is not None:
        facts.append(["", text("requests.finished", step=request.finished_step)])
    return facts


def _has_all_tokens(state: State, request: RequestState) -> bool:
    """It reached its length in this step: what it sampled last is never computed."""
    is_longest = request.num_tokens >= int(state.config["max_model_len"])
    return request.num_output_tokens >= request.added.max_tokens or is_longest


def _shared_characters(cards: Sequence[dict[str, Any]]) -> Iterator[str]:
    for card in cards:
        for block in card["blocks"]:
            yield from (token[4] for token in block.get("tokens", ()))


def bytes_words(shared: Iterable[str], text: Text) -> str:
    """What E4 BD A0 stands for, with the first such character; empty where there is none."""
    found = next((character[0] for character in shared if character), None)
    if found is None:
        return ""
    return text("requests.bytes", bytes=found.encode().hex(" ").upper(), character=quoted(found))
