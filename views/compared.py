"""One side of a comparison on the stage: its run, and the moment that the other side stands at."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from engine.config import EngineConfig
from engine.trace.events import Event
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views import actions, beating
from views.choices import LENSES, Choices
from views.figures.compare.compare_frames import while_computing
from views.figures.compare.compare_inputs import LEFT, LETTERS, RIGHT, SIDES, Choice, Closer, Half
from views.figures.moment import num_finished_steps
from views.figures.selection import Selection
from views.figures.time.address import read_choice
from views.runs import Run
from views.text import Text

BOTH = ""


class Crossing(NamedTuple):
    """From the other side at `left_at` to this one at `came_to`: the way back, while nobody moves."""

    left_at: Cursor
    came_to: Cursor


class ComparedRun(Run):
    """A side of a comparison, whole from the start; `halves` are both."""

    def __init__(self, halves: tuple[Half, Half], side: str, link: Mapping[str, str]) -> None:
        half = halves[SIDES.index(side)]
        assert half.trace is not None, side
        config = EngineConfig.from_mapping(half.trace.header.config)
        super().__init__(half.trace, config, stuck_reason=half.stuck_reason)
        self.halves = halves
        self.side = side
        self.link = {**link, "side": side}
        self.unended: Collection[str] = ()  # requests that go on behind what is repeated of them
        self.told: dict[str, list[dict[str, Any]]] = {}  # language -> what comes out otherwise
        self.number = 0  # of the choice that it answers
        self.crossing: Crossing | None = None

    def answers(self, closer: Closer, half: Half) -> bool:
        """Whether it is the run of this choice, and nobody has changed the setting since."""
        return self.number == closer.number and self.trace is half.trace

    def step_at(self, cursor: Cursor, stood_at: int) -> int:
        """The step of the comparison that shows this moment; the one it stood at while nobody has
        moved, which may be one that only the longer run has."""
        if cursor == moment_of(self.trace, stood_at):
            return stood_at
        is_over = self.trace.position(cursor) == self.trace.num_positions - 1
        return num_finished_steps(self.trace) if is_over else cursor.step


def moment_of(trace: Trace, step: int) -> Cursor:
    """What the comparison shows of a step: a run that is over stays at its end."""
    return while_computing(trace, step) if step < num_finished_steps(trace) else trace.last


def same_moment(there: Trace, cursor: Cursor, here: Trace, step: int) -> Cursor:
    """Where the same thing happens to the same request in the same step; of what happens there alone,
    behind the latest before it that happens on both sides."""
    at, sub_step = there.clamp(cursor)
    if at != step or step >= num_finished_steps(here):
        return moment_of(here, step)
    ours = [_names(here.events(step, place)) for place in range(here.num_sub_steps(step))]
    for place in reversed(range(sub_step)):
        happened = _names(there.events(step, place))
        if happened in ours:
            return Cursor(step, ours.index(happened) + 1)
    return Cursor(step, 0)


def _names(happened: Sequence[Event]) -> list[tuple[str, str]]:
    """What happened, to whom: without its numbers, which are what is compared."""
    return [(type(event).__name__, getattr(event, "request_id", "")) for event in happened]


def show(chosen: Choices, halves: tuple[Half, Half], link: Mapping[str, str]) -> ComparedRun:
    """The run of the side that is chosen. Who comes from the other side stands at the same moment,
    and what was selected stays so where it exists on this one."""
    closer, before = chosen.closer, chosen.run
    half = halves[SIDES.index(closer.side)]
    if isinstance(before, ComparedRun) and before.answers(closer, half):
        before.halves, before.link = halves, {**link, "side": closer.side}
        return before
    run = ComparedRun(halves, closer.side, link)
    run.number = closer.number
    chosen.cursor = _arrived(before, chosen.cursor, run, closer)
    chosen.selection = kept(chosen.selection, run.trace)
    chosen.run = run
    return run


def _arrived(before: Run | None, cursor: Cursor, run: ComparedRun, closer: Closer) -> Cursor:
    if closer.cursor is not None:
        return run.trace.clamp(closer.cursor)
    step = closer.at or 0
    if not isinstance(before, ComparedRun) or before.step_at(cursor, step) != step:
        return moment_of(run.trace, step)
    if before.side == run.side:
        return run.trace.clamp(cursor)
    back = before.crossing
    if back is not None and back.came_to == cursor:
        return run.trace.clamp(back.left_at)
    come_to = same_moment(before.trace, cursor, run.trace, step)
    run.crossing = Crossing(cursor, come_to)
    return come_to


def kept(selection: Selection, trace: Trace) -> Selection:
    """What is selected, as far as it exists in this run."""
    names = {name: str(value) for name, value in selection.named().items()}
    found, _, _ = read_choice(names, LENSES, trace, Text())
    return found


def _look_closer(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """A side goes onto the stage, or both stand beside each other again, at the step of the stage."""
    given = sent if isinstance(sent, Mapping) else {}
    side, closer = given.get("side"), chosen.closer
    if side not in (BOTH, LEFT, RIGHT) or side == closer.side:
        return False
    at = given.get("at")
    step = at if isinstance(at, int) and at >= 0 else closer.at
    cursor = _cursor(given)  # Forward in the browser, to a moment of a side
    if closer.side and isinstance(begun, ComparedRun):
        step = begun.step_at(chosen.cursor, closer.at or 0)
    else:
        chosen.selection = Selection.from_browser(given.get("selected"))
    chosen.closer = Closer(str(side), step, closer.number + 1, cursor)
    _take_link(chosen, given)
    chosen.notices.clear()
    return True


def _revisit(chosen: Choices, begun: Run | None, moment: Any) -> bool:
    """Back or Forward in the browser led to a moment of the other side, or to both."""
    if not isinstance(begun, ComparedRun):
        return beating.ACTIONS["revisited"](chosen, begun, moment)
    given = moment if isinstance(moment, dict) else {}
    names, cursor = given.get("names"), _cursor(given)
    if not isinstance(names, dict) or cursor is None:
        return False
    side = names.get("side", BOTH)
    if side not in SIDES and not (side == BOTH and "at" in names):
        return False
    chosen.closer = Closer(side, cursor.step, chosen.closer.number + 1, cursor if side else None)
    _take_link(chosen, given)
    return True


def _take_link(chosen: Choices, given: Mapping[str, Any]) -> None:
    """Whoever goes back to before a change finds what was compared then."""
    link, now = given.get("link"), chosen.compare or Choice()
    if isinstance(link, Mapping):
        then = Choice.from_browser(link)  # which names letters only where they are what is compared
        chosen.compare = then if then.workload == LETTERS else then._replace(letters=now.letters)


def _cursor(given: Mapping[str, Any]) -> Cursor | None:
    step, sub_step = given.get("step"), given.get("sub")
    if not isinstance(step, int) or not isinstance(sub_step, int):
        return None
    return Cursor(max(0, step), max(0, sub_step))


SIDE_ACTIONS: dict[str, actions.Action] = {"closer": _look_closer, "revisited": _revisit}
