"""What differs between two runs, request by request, in sentences; each with the cause as the traces have it."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from engine.questions.miss import why_miss
from engine.questions.reasons import Parting
from engine.trace import events
from engine.trace.entries import RequestState
from engine.trace.state import State
from engine.trace.trace import Trace
from views.figures.compare.compare_frames import Differing, Frame, while_computing
from views.figures.compare.compare_totals import ABORT, Totals
from views.figures.why.why_picture import subject_of, token_word
from views.figures.why.why_words import Teller, words
from views.text import Text

MAX_LINES = 40
ENDS = {  # whether it was aborted on the left, on the right
    (False, False): "compare.ends",
    (True, False): "compare.aborted_left",
    (False, True): "compare.aborted_right",
    (True, True): "compare.aborted_both",
}
MAX_SAID = 4  # requests that one sentence about a step names


class Told(NamedTuple):
    """One side as the sentences need it."""

    trace: Trace
    totals: Totals
    end: State
    unended: Collection[str] = ()  # what ends here goes on behind the tokens that are repeated

    def request(self, request_id: str) -> RequestState | None:
        return self.end.requests.get(request_id)


class Line(NamedTuple):
    """`step`: from which on the difference can be seen."""

    step: int
    kind: str
    request_id: str
    sentence: str
    because: str = ""


def told(trace: Trace, totals: Totals, unended: Collection[str] = ()) -> Told:
    return Told(trace, totals, trace.at(trace.last), unended)


def difference_lines(left: Told, right: Told, text: Text) -> dict[str, Any]:
    """All differences that last, in order of their step."""
    ids = dict.fromkeys([*left.end.requests, *right.end.requests])
    lines = [line for id_ in ids for line in _of_request(id_, left, right, text)]
    lines.sort(key=lambda line: line.step)
    hidden = len(lines) - MAX_LINES
    return {
        "lines": [
            {"step": step, "kind": kind, "request": id_, "text": sentence, "because": because}
            for step, kind, id_, sentence, because in lines[:MAX_LINES]
        ],
        "more": text.count("compare.more_lines", hidden) if hidden > 0 else "",
        "none": "" if lines else text("compare.no_lines"),
    }


def _of_request(id_: str, left: Told, right: Told, text: Text) -> Iterator[Line]:
    one, other = left.request(id_), right.request(id_)
    if one is None or other is None:
        seen = one or other
        assert seen is not None, id_
        key = "compare.only_left" if one is not None else "compare.only_right"
        yield Line(seen.added.step, "there", id_, text(key, request=id_))
        return
    for find in (_arrival, _admission, _hits, _preemptions, _computed, _finish):
        line = find(one, other, (left, right), text)
        if line is not None:
            yield line


Both = tuple[Told, Told]


def _arrival(one: RequestState, other: RequestState, _: Both, text: Text) -> Line | None:
    steps = one.added.step, other.added.step
    if steps[0] == steps[1]:
        return None
    id_ = one.request_id
    sentence = text("compare.arrives", request=id_, left=steps[0], right=steps[1])
    return Line(min(steps), "arrival", id_, sentence)


def _admission(one: RequestState, other: RequestState, both: Both, text: Text) -> Line | None:
    """Who waits longer than the other, counted from its arrival, and what for."""
    id_, starts = one.request_id, (one.first_scheduled_step, other.first_scheduled_step)
    waits = [
        None if start is None else start - request.added.step
        for start, request in zip(starts, (one, other), strict=True)
    ]
    if waits[0] == waits[1]:
        return None
    is_left = waits[0] is None or (waits[1] is not None and waits[0] > waits[1])
    later, side = (one, both[0]) if is_left else (other, both[1])
    step = later.added.step + (min(wait for wait in waits if wait is not None))
    if starts[0] is None or starts[1] is None:
        start = starts[0] if starts[0] is not None else starts[1]
        key = "compare.never_begins_left" if is_left else "compare.never_begins_right"
        sentence = text(key, request=id_, step=start)
    else:
        sentence = text("compare.begins", request=id_, left=starts[0], right=starts[1])
    because = _in_the_way(side, id_, step, text)
    if because:
        key = "compare.because_left" if is_left else "compare.because_right"
        because = text(key, reason=because)
    return Line(min(step, *(s for s in starts if s is not None)), "begin", id_, sentence, because)


def _in_the_way(side: Told, id_: str, step: int, text: Text) -> str:
    """Why somebody who waits is not admitted in this step; empty where the trace does not say."""
    happened = side.trace.step_events(step)
    state = side.trace.at(while_computing(side.trace, step))
    for event in happened:
        if isinstance(event, events.AllocationFailed) and event.request_id == id_:
            need, free = event.num_blocks_needed, event.num_free_blocks
            return text("compare.no_blocks", step=step, need=need, free=free)
    for event in happened:
        if isinstance(event, events.AdmissionStopped):
            if event.reason == "preempted":
                return text("compare.after_preemption", step=step)
            if event.request_id not in (None, id_):
                return text("compare.behind", step=step, other=event.request_id)
            return text("compare.uncut", step=step)
    if len(state.running) >= state.config["max_num_seqs"]:
        return text.count("compare.no_seat", len(state.running), step=step)
    scheduled = sum(row.num_scheduled_tokens for row in state.scheduled.values())
    if scheduled >= state.token_budget:
        return text.count("compare.no_budget", state.token_budget, step=step)
    return ""


def _hits(one: RequestState, other: RequestState, both: Both, text: Text) -> Line | None:
    found = one.num_cached_tokens, other.num_cached_tokens
    starts = one.first_scheduled_step, other.first_scheduled_step
    if found[0] == found[1] or None in found or starts[0] is None or starts[1] is None:
        return None
    id_ = one.request_id
    sentence = text("compare.hits", request=id_, left=found[0], right=found[1])
    is_left = (found[0] or 0) < (found[1] or 0)
    side, start = (both[0], starts[0]) if is_left else (both[1], starts[1])
    key = "compare.because_left" if is_left else "compare.because_right"
    reason = _why(side, id_, start, text)
    because = text(key, reason=reason) if reason else ""
    return Line(max(starts[0], starts[1]), "hit", id_, sentence, because)


def _why(side: Told, id_: str, step: int, text: Text) -> str:
    """What the lens "why" says about the lookup of its first admission."""
    miss = why_miss(side.trace, while_computing(side.trace, step), id_)
    if miss is None:
        return ""
    state = side.end
    subject = subject_of(state.requests[id_], miss.found.num_tokens)

    def token(parting: Parting, is_own: bool) -> str:
        place = parting.num_shared_tokens
        if is_own:
            return token_word(subject, place, parting.token_id, text)
        theirs = subject_of(state.requests[parting.request_id], place + 1)
        return token_word(theirs, place, parting.other_token_id, text)

    teller = Teller(id_, token, text, step)
    return text.told(words(reason, teller).sentence for reason in miss.reasons)


def _preemptions(one: RequestState, other: RequestState, both: Both, text: Text) -> Line | None:
    counts = one.num_preemptions, other.num_preemptions
    if counts[0] == counts[1]:
        return None
    id_, is_left = one.request_id, counts[0] > counts[1]
    sentence = text("compare.preempted", request=id_, left=counts[0], right=counts[1])
    side = both[0] if is_left else both[1]
    step, event = next(_preempted(side.trace, id_))
    if event.for_request_id is None:
        reason = text("compare.preempted_reset", step=step)
    elif event.for_request_id == id_:
        reason = text("compare.preempted_self", step=step, request=id_)
    else:
        reason = text("compare.preempted_for", step=step, other=event.for_request_id)
    key = "compare.because_left" if is_left else "compare.because_right"
    return Line(step, "preempted", id_, sentence, text(key, reason=reason))


def _preempted(trace: Trace, id_: str) -> Iterator[tuple[int, events.RequestPreempted]]:
    for step in range(trace.num_steps):
        for event in trace.step_events(step):
            if isinstance(event, events.RequestPreempted) and event.request_id == id_:
                yield step, event


def _computed(one: RequestState, other: RequestState, both: Both, text: Text) -> Line | None:
    """Tokens that were computed again are work done twice."""
    id_ = one.request_id
    counts = both[0].totals.computed_by[id_], both[1].totals.computed_by[id_]
    ends = one.finished_step, other.finished_step
    hits = one.num_cached_tokens or 0, other.num_cached_tokens or 0
    is_plain = counts[0] + hits[0] == counts[1] + hits[1]  # its hits say it already
    if is_plain or ends[0] is None or ends[1] is None:
        return None
    sentence = text("compare.computes", request=id_, left=counts[0], right=counts[1])
    return Line(max(ends[0], ends[1]) + 1, "computed", id_, sentence)


def _finish(one: RequestState, other: RequestState, both: Both, text: Text) -> Line | None:
    id_, ends = one.request_id, (one.finished_step, other.finished_step)
    if ends[0] == ends[1]:
        return None
    is_cut = id_ in both[0].unended
    if ends[0] is None or ends[1] is None:
        key = "compare.never_ends_left" if ends[0] is None else "compare.never_ends_right"
        if is_cut:
            key = "compare.never_as_far_left" if ends[0] is None else "compare.never_as_far_right"
        step = ends[1] if ends[0] is None else ends[0]
        assert step is not None
        return Line(step + 1, "finish", id_, text(key, request=id_, step=step))
    key = (
        "compare.as_far"
        if is_cut
        else ENDS[one.finish_reason == ABORT, other.finish_reason == ABORT]
    )
    sentence = text(key, request=id_, left=ends[0], right=ends[1])
    return Line(min(ends[0], ends[1]) + 1, "finish", id_, sentence)


# One step -----------------------------------------------------------------------------------------


def step_sentence(found: Differing, left: Frame, right: Frame, text: Text) -> str:
    """The step in a few sentences: how many blocks and entries differ, and whose status does."""
    if not (found.block_ids or found.tables or found.facts):
        return text("compare.alike")
    said = []
    if found.block_ids:
        ids = text.ids(found.block_ids)
        said.append(text.count("compare.blocks_differ", len(found.block_ids), ids=ids))
    if found.num_entries:
        said.append(text.count("compare.entries_differ", found.num_entries))
    told = {"status", "there", "computed"}
    named = [id_ for id_, facts in found.facts.items() if told & set(facts)]
    said += [_request_differs(id_, left, right, text) for id_ in named[:MAX_SAID]]
    if len(named) > MAX_SAID:
        said.append(text.count("compare.more_differ", len(named) - MAX_SAID))
    return text.told(said)


def _request_differs(id_: str, left: Frame, right: Frame, text: Text) -> str:
    one, other = left.requests.get(id_), right.requests.get(id_)
    if one and other and (one.status, one.place) == (other.status, other.place):
        computed = {"left": one.spans[2], "right": other.spans[2]}
        return text("compare.computed_differs", request=id_, **computed)
    words = [_status(frame, id_, text) for frame in (left, right)]
    return text("compare.status_differs", request=id_, left=words[0], right=words[1])


def _status(frame: Frame, id_: str, text: Text) -> str:
    request = frame.requests.get(id_)
    if request is None:
        return text("compare.not_there")
    word = text.named("status", request.status)
    if request.place:
        return text("status.in_line", status=word, place=request.place)
    return word
