"""The lens "why": a verdict on one request's lookup, and what holds up the line."""

from typing import Any

from engine.questions.miss import Miss, why_miss
from engine.questions.reasons import Diverges, NoSharedPrefix, Parting
from engine.trace.entries import RequestState
from engine.trace.state import Cursor, State
from engine.trace.trace import Trace
from views.figures.moment import Moment
from views.figures.why.why_picture import Subject, sides, strip, subject_of, token_word
from views.figures.why.why_stuck import autopsy
from views.figures.why.why_words import Teller, found_words, parting_of, words
from views.text import Text

MAX_PICKS = 12


def why(
    trace: Trace, cursor: Cursor, moment: Moment, text: Text, *, request_id: str | None = None
) -> dict[str, Any]:
    """`request_id`: whom the learner has chosen. Without one, whom this sub-step is about, else
    who waits first, else who was admitted last."""
    state = moment.state
    if request_id not in state.requests:
        request_id = default_request(moment)
    miss = why_miss(trace, cursor, request_id) if request_id is not None else None
    payload: dict[str, Any] = {
        "title": text("why.title"),
        "pick": text("why.pick"),
        "picks": _picks(state, request_id),
        "pick_more": _more(state, text),
        "request": request_id,
        "token_label": text("why.token"),
        "line": autopsy(state, text),
    }
    if miss is None or request_id is None:
        key = "why.unasked" if request_id is not None else "why.empty"
        payload["empty"] = text(key, request=request_id or "")
        return payload
    request = state.requests[request_id]
    subject = subject_of(request, miss.found.num_tokens)
    payload["when"] = _when(trace, state, miss, text)
    payload["case"] = case(state, miss, subject, text)
    return payload


def default_request(moment: Moment) -> str | None:
    state = moment.state
    for event in moment.events:
        named = getattr(event, "request_id", None)
        if named in state.requests and not _is_new_to_all(state.requests[named]):
            return str(named)
    if state.waiting:
        return state.waiting[0]
    admitted = [id_ for id_, request in state.requests.items() if request.lookup is not None]
    return max(admitted, key=lambda id_: _lookup_step(state, id_), default=None)


def _is_new_to_all(request: RequestState) -> bool:
    """Ended without ever having been looked up: nothing can be said about it."""
    return request.is_finished and request.lookup is None


def _lookup_step(state: State, request_id: str) -> int:
    lookup = state.requests[request_id].lookup
    return -1 if lookup is None else lookup.step


def _picks(state: State, chosen: str | None) -> list[dict[str, Any]]:
    """Who waits, who runs, and who ended last; the chosen one always among them."""
    rest = [id_ for id_ in reversed(state.requests) if state.requests[id_].is_finished]
    order = list(dict.fromkeys([*state.waiting, *state.running, *rest]))[:MAX_PICKS]
    if chosen is not None and chosen not in order:
        order[-1:] = [chosen]
    arrival = {id_: place for place, id_ in enumerate(state.requests)}
    return [{"id": id_, "chosen": id_ == chosen} for id_ in sorted(order, key=arrival.__getitem__)]


def _more(state: State, text: Text) -> str:
    hidden = len(state.requests) - MAX_PICKS
    return text.count("why.pick_more", hidden) if hidden > 0 else ""


def _when(trace: Trace, state: State, miss: Miss, text: Text) -> str:
    request_id = miss.request_id
    if miss.is_forecast:
        return text("why.when_now", request=request_id)
    step = trace.cursor_at(miss.position + 1).step
    key = "why.when_waits" if request_id in state.waiting else "why.when"
    return text(key, step=step, request=request_id)


def case(state: State, miss: Miss, subject: Subject, text: Text) -> dict[str, Any]:
    """Verdict, reasons with what to do, and the picture."""

    def token(parting: Parting, is_own: bool) -> str:
        at = parting.num_shared_tokens
        if is_own:
            return token_word(subject, at, parting.token_id, text)
        other = state.requests.get(parting.request_id)
        theirs = subject if other is None else subject_of(other, at + 1)
        return token_word(theirs, at, parting.other_token_id, text)

    step = None if miss.is_forecast else _lookup_step(state, miss.request_id or "")
    teller = Teller(subject.name, token, text, step)
    told = [words(reason, teller) for reason in miss.reasons]
    parting = parting_of(miss)
    shown: dict[str, Any] = {
        "found": found_words(miss, subject.name, text),
        "num_hit": miss.found.num_hit_tokens,
        "reasons": [
            {"kind": type(reason).__name__, "text": said.sentence, "do": said.advice}
            | ({} if said.position is None else {"position": said.position, "go": said.go})
            for reason, said in zip(miss.reasons, told, strict=True)
        ],
        "strip": strip(state, miss, subject, text),
        "sides": None
        if parting is None or parting.request_id not in state.requests
        else sides(state.requests[parting.request_id], parting, subject, text, miss=miss),
    }
    if miss.num_same_words and isinstance(miss.reasons[-1], Diverges | NoSharedPrefix):
        shown["reasons"][-1]["more"] = text.count("why.same_words", miss.num_same_words)
    return shown
