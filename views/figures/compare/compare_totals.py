"""Two whole runs in numbers, side by side, and which is better."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from engine.trace import events
from engine.trace.trace import Trace
from views.figures.moment import num_finished_steps
from views.figures.run_numbers import StepNumbers
from views.text import Text

ABORT = "abort"  # the reason of an end that somebody else wanted


class Totals(NamedTuple):
    """What one run comes to. A run that never ends has a `steps` of None."""

    steps: int | None
    computed: int  # tokens, those computed again included
    hits: int  # tokens, of requests that were never preempted, as vLLM counts
    queries: int
    evictions: int
    preemptions: int
    peak_blocks: int
    num_usable_blocks: int
    block_size: int
    waste: float  # mean share of the held slots that are empty, over the steps that hold any
    finished: Mapping[str, int | None]  # request id -> step; None: it never ends
    aborted: Collection[str]  # those of them that did not end by themselves
    computed_by: Mapping[str, int]  # request id -> tokens


def totals(trace: Trace, moments: Iterable[StepNumbers]) -> Totals:
    """`moments`: each step as the model ran."""
    state = trace.at(trace.last)
    waste = [now.num_empty_slots / now.num_held_slots for now in moments if now.num_held_slots]
    computed = _computed(trace, state.requests)
    return Totals(
        steps=num_finished_steps(trace),
        computed=sum(computed.values()),
        hits=state.stats.hits,
        queries=state.stats.queries,
        evictions=_num_evictions(trace),
        preemptions=state.num_preemptions,
        peak_blocks=_peak(trace),
        num_usable_blocks=state.num_blocks - 1,
        block_size=state.block_size,
        waste=sum(waste) / len(waste) if waste else 0.0,
        finished={id_: request.finished_step for id_, request in state.requests.items()},
        aborted={id_ for id_, r in state.requests.items() if r.finish_reason == ABORT},
        computed_by=computed,
    )


def _computed(trace: Trace, request_ids: Iterable[str]) -> dict[str, int]:
    """Tokens that the model computed for each request, those that it computed again included."""
    computed = dict.fromkeys(request_ids, 0)
    for event in trace.events_from(0):
        if isinstance(event, events.RequestScheduled):
            computed[event.request_id] += event.num_scheduled_tokens
        elif isinstance(event, events.RequestUnscheduled):
            computed[event.request_id] -= event.num_tokens_given_back
    return computed


def _num_evictions(trace: Trace) -> int:
    return sum(
        len(event.evicted_block_ids)
        for event in trace.events_from(0)
        if isinstance(event, events.BlocksTaken)
    )


def _peak(trace: Trace) -> int:
    """The most blocks in use at any moment, steps that end in between included."""
    refs: dict[int, int] = {}
    peak = 0
    for event in trace.events_from(0):
        if isinstance(event, events.BlocksTaken | events.BlocksTouched):
            for id_ in filter(None, event.block_ids):  # the null block is nobody's
                refs[id_] = refs.get(id_, 0) + 1
        elif isinstance(event, events.BlocksFreed | events.HolesMade):
            for id_ in filter(None, event.block_ids):
                refs[id_] -= 1
                if not refs[id_]:
                    del refs[id_]
        peak = max(peak, len(refs))
    return peak


def total_rows(
    left: Totals | None, right: Totals | None, text: Text, unended: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Values and the better one; no verdict where a side is missing or never ends.

    `sign`: 1 where more is better, -1 where less is, 0 where neither. `unended`: as in `compare`.
    """
    return [
        _row("capacity", "", (left, right), text, sign=0),
        _row("steps", "steps", (left, right), text, sign=-1),
        _mean_end((left, right), text, unended),
        _row("computed", "computed", (left, right), text, sign=-1),
        _row("hits", "hits", (left, right), text, sign=1),
        _row("hit_rate", "", (left, right), text, sign=1),
        _row("evictions", "evictions", (left, right), text, sign=-1),
        _row("preemptions", "preemptions", (left, right), text, sign=-1),
        _row("peak", "", (left, right), text, sign=0),
        _row("waste", "waste", (left, right), text, sign=-1),
    ]


def _row(
    key: str, name: str, both: tuple[Totals | None, Totals | None], text: Text, *, sign: int
) -> dict[str, Any]:
    values = [None if one is None else _value(key, name, one) for one in both]
    return {
        "key": key,
        "label": text.named("compare_total", key),
        "hint": text.named("compare_total_hint", key),
        "values": [_words(key, value, one, text) for value, one in zip(values, both, strict=True)],
        "better": _better(key, values, both, sign),
    }


def _mean_end(
    both: tuple[Totals | None, Totals | None], text: Text, unended: Collection[str]
) -> dict[str, Any]:
    """Over the same requests on both sides: those that end by themselves on each."""
    known = [one for one in both if one is not None]
    ids = dict.fromkeys(id_ for one in known for id_ in one.finished)
    ended = [id_ for id_ in ids if id_ not in unended and all(_ends(one, id_) for one in known)]
    means = [None if one is None or not ended else _mean_step(one, ended) for one in both]
    words = [text("compare.no_value") if mean is None else f"{mean:.1f}" for mean in means]
    return {
        "key": "mean_end",
        "label": text.named("compare_total", "mean_end"),
        "hint": text("compare_total_hint.mean_end", n=len(ended), all=len(ids)),
        "values": words,
        "better": _better("mean_end", means, both, -1),
    }


def _ends(one: Totals, request_id: str) -> bool:
    return one.finished.get(request_id) is not None and request_id not in one.aborted


def _mean_step(one: Totals, request_ids: Collection[str]) -> float:
    return sum(one.finished[id_] or 0 for id_ in request_ids) / len(request_ids)


def _value(key: str, name: str, one: Totals) -> float | None:
    if key == "hit_rate":
        return one.hits / one.queries if one.queries else None
    if key == "peak":
        return one.peak_blocks * one.block_size
    if key == "capacity":
        return one.num_usable_blocks * one.block_size
    found: float | None = getattr(one, name)
    return found


def _words(key: str, value: float | None, one: Totals | None, text: Text) -> str:
    if one is None:
        return text("compare.no_value")
    if value is None:
        return text("compare.never" if key == "steps" else "compare.no_value")
    if key in ("hit_rate", "waste"):
        return f"{100 * value:.1f}%"
    if key == "peak":
        share = one.peak_blocks / one.num_usable_blocks
        return text("compare.peak", n=int(value), blocks=one.peak_blocks, share=f"{share:.0%}")
    return f"{int(value):,}"


def _better(
    key: str, values: list[float | None], both: tuple[Totals | None, Totals | None], sign: int
) -> str:
    """What a run that never ends did in its time is no measure; only that the other ends is."""
    one, other = values
    left, right = both
    if left is None or right is None or not sign:
        return ""
    if left.steps is None or right.steps is None:
        is_half = (left.steps is None) != (right.steps is None)
        return ("right" if left.steps is None else "left") if key == "steps" and is_half else ""
    if one is None or other is None or not _is_comparable(key, left, right):
        return ""
    if one == other:
        return "equal"
    return "left" if (one - other) * sign > 0 else "right"


def _is_comparable(key: str, left: Totals, right: Totals) -> bool:
    """Without a cache nothing can be evicted; and a share of what is held grows with sharing too, so
    that it tells of block sizes alone."""
    if key == "evictions":
        return bool(left.queries and right.queries)
    return key != "waste" or left.block_size != right.block_size


def finish_rows(
    left: Totals | None, right: Totals | None, text: Text, unended: Collection[str]
) -> list[dict[str, Any]]:
    """The step in which each request ends, in order of arrival on the left."""
    ids = dict.fromkeys(id_ for one in (left, right) if one is not None for id_ in one.finished)
    rows = []
    for id_ in ids:
        steps = [None if one is None else one.finished.get(id_) for one in (left, right)]
        is_aborted = any(one is not None and id_ in one.aborted for one in (left, right))
        rows.append(
            {
                "request": id_,
                "is_cut": id_ in unended,
                "values": [_end_words(one, id_, text) for one in (left, right)],
                "better": "" if is_aborted else _sooner(steps, known=None not in (left, right)),
            }
        )
    return rows


def _end_words(one: Totals | None, request_id: str, text: Text) -> str:
    if one is None:
        return text("compare.no_value")
    step = one.finished.get(request_id)
    if step is None:
        return text("compare.never")
    return text("compare.aborted", step=step) if request_id in one.aborted else str(step)


def _sooner(steps: list[int | None], *, known: bool) -> str:
    if not known:
        return ""
    one, other = (float("inf") if step is None else step for step in steps)
    return "equal" if one == other else "left" if one < other else "right"
