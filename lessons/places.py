"""Named places in a run, as a lesson writes them, found in whatever run is at hand.

start                                     before everything
end                                       when everything has happened
start of step 3                           before its first sub-step
after_schedule of step 3                  schedule() is done, the model has not run
after_update of step 3                    the step is over
step 3 sub_step 2                         two sub-steps of step 3 have happened
after first BlocksTaken                   the event's sub-step has just happened
before second PrefixLookedUp about r1     it is the next sub-step
after last BlocksFreed about r0 in step 4
"""

import re

from engine.errors import Sentence
from engine.trace import events
from engine.trace.events import Event
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.happenings import events_of

KINDS: dict[str, type[Event]] = {
    name: kind
    for name, kind in vars(events).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}

_STEP = re.compile(r"(start|after_schedule|after_update) of step (\d+)")
_SUB_STEP = re.compile(r"step (\d+) sub_step (\d+)")
_EVENT = re.compile(
    rf"(before|after) ({'|'.join(ORDINALS)}) (\w+)(?: about (\S+))?(?: in step (\d+))?"
)


def why_not_a_place(text: str) -> str | None:
    """A sentence if this is not the name of a place in any run."""
    if text in ("start", "end") or _STEP.fullmatch(text) or _SUB_STEP.fullmatch(text):
        return None
    found = _EVENT.fullmatch(text)
    if found is None:
        return (
            f'"{text}" is not a place: write such as "after_schedule of step 3" or '
            f'"after first BlocksTaken about r1"'
        )
    if found[3] not in KINDS:
        return f'"{text}": there is no event {found[3]}; there are {", ".join(sorted(KINDS))}'
    return None


def find_place(trace: Trace, text: str) -> Cursor:
    """FactError where this run has no such place."""
    if text == "start":
        return Cursor(0, 0)
    if text == "end":
        return trace.last
    if found := _STEP.fullmatch(text):
        return _of_step(trace, found[1], int(found[2]))
    if found := _SUB_STEP.fullmatch(text):
        step, sub_step = int(found[1]), int(found[2])
        if step >= trace.num_steps or sub_step > trace.num_sub_steps(step):
            raise FactError.of(
                "fact.no_sub_step",
                "this run has no step {step} with {sub_step} sub-steps",
                step=step,
                sub_step=sub_step,
            )
        return Cursor(step, sub_step)
    return _of_event(trace, text)


def _of_step(trace: Trace, which: str, step: int) -> Cursor:
    if step >= trace.num_steps:
        raise FactError.of(
            "fact.ends_before",
            "this run has no step {step}: it ends with step {last}",
            step=step,
            last=trace.num_steps - 1,
        )
    if which == "start":
        return Cursor(step, 0)
    return trace.after_schedule(step) if which == "after_schedule" else trace.after_update(step)


def _of_event(trace: Trace, text: str) -> Cursor:
    found = _EVENT.fullmatch(text)
    assert found is not None, why_not_a_place(text)
    when, ordinal, kind, request, step = found.groups()
    places = [
        happening.position
        for happening, _ in events_of(trace, KINDS[kind], request, int(step) if step else None)
    ]
    index = ORDINALS[ordinal]
    if index >= len(places) or not places:
        about = Sentence.of("fact.about", " about {request}", request=request) if request else ""
        raise FactError.of(
            "fact.few_events",
            "this run has {n} {kind}{about}, and the {ordinal} is asked for",
            n=len(places),
            kind=kind,
            about=about,
            ordinal=ordinal,
        )
    return trace.cursor_at(places[index] - (when == "before"))
