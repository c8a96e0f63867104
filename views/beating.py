"""What a visitor of "Beat the pool" asks for: another puzzle, another order, another text."""

from collections.abc import Mapping
from typing import Any

from engine.config import EngineConfig
from engine.trace.state import Cursor
from lessons.puzzles import Arrangement, Puzzle, code_of, is_allowed, puzzles, read_code
from views import actions, side_runs
from views.beat import Beat
from views.choices import Choices
from views.figures.selection import NOTHING
from views.runs import Run
from views.text import Text, quoted

LENS = "timeline"  # the whole run at once: who waits, who is thrown out, what is evicted


def read_link(chosen: Choices, params: Mapping[str, str]) -> None:
    """Puzzle and solution of the address; what is none gets a sentence, and the puzzle as given."""
    beat, text = Beat(), Text(chosen.language)
    names = [str(number) for number in range(1, len(puzzles()) + 1)]
    number, code = params.get("puzzle", names[0]), params.get("arranged")
    if number in names:
        beat.number = int(number)
    else:
        chosen.say_also(text("beat.no_puzzle", given=quoted(number), last=names[-1]))
    if code is not None and number in names:
        solution = read_code(beat.puzzle, code)
        if solution is None:
            chosen.say_also(text("beat.no_arrangement", given=quoted(code)))
        else:
            beat.solve(solution)
    chosen.beat, chosen.lens = beat, LENS
    show(chosen)


def _revisit(chosen: Choices, begun: Run | None, moment: Any) -> bool:
    """Back or Forward in the browser led to another arrangement, or to another moment of it."""
    if chosen.beat is None:
        return side_runs.ACTIONS["revisited"](chosen, begun, moment)
    names = moment.get("names") if isinstance(moment, dict) else None
    if isinstance(names, dict) and isinstance(names.get("puzzle"), str):
        again = Choices(language=chosen.language)
        read_link(again, {name: given for name, given in names.items() if isinstance(given, str)})
        assert again.beat is not None
        chosen.beat.number = again.beat.number
        chosen.beat.solve(again.beat.solution)
        step, sub_step = moment.get("step"), moment.get("sub")
        trace = show(chosen).trace
        if isinstance(step, int) and isinstance(sub_step, int):
            chosen.cursor = trace.clamp(Cursor(step, sub_step))
    return False


def show(chosen: Choices) -> Run:
    """The run of this solution; a new one is seen from its end."""
    beat = chosen.beat or Beat()
    if chosen.run is None or chosen.run.trace is not beat.trace:
        chosen.run = Run(beat.trace, EngineConfig.from_mapping(beat.trace.header.config))
        chosen.cursor = beat.trace.last
    chosen.run.link = link(beat)
    return chosen.run


def link(beat: Beat) -> dict[str, str]:
    """Without the solution where nothing was changed."""
    names = {"puzzle": str(beat.number)}
    return names if beat.is_given else {**names, "arranged": code_of(beat.puzzle, *beat.solution)}


def _choose(chosen: Choices, _: Run | None, number: Any) -> bool:
    is_there = isinstance(number, int) and 1 <= number <= len(puzzles())
    if chosen.beat is not None and is_there:
        chosen.beat.number, chosen.selection, chosen.beat.refused = number, NOTHING, None
        chosen.notices.clear()
    return False


def _arrange(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """All prompts in their new order, each with all its parts; anything else changes nothing."""
    if chosen.beat is not None:
        arrangement = _read(chosen.beat.puzzle, sent)
        if arrangement is not None:
            chosen.beat.arrange(arrangement)
            chosen.notices.clear()
    return False


def _read(puzzle: Puzzle, sent: Any) -> Arrangement | None:
    try:
        arrangement = tuple(
            (str(id_), tuple(str(part) for part in parts)) for id_, parts in list(sent)
        )
    except (TypeError, ValueError):
        return None
    return arrangement if is_allowed(puzzle, arrangement) else None


def _write(chosen: Choices, _: Run | None, sent: Any) -> bool:
    """A part is written otherwise: prompt, part, text. A part that is not there changes nothing."""
    if chosen.beat is not None and isinstance(sent, list) and list(map(type, sent)) == [str] * 3:
        id_, part, text = sent
        parts = {prompt.id: prompt.parts for prompt in chosen.beat.puzzle.prompts}
        if part in parts.get(id_, ()):
            chosen.beat.write(id_, part, text)
            chosen.notices.clear()
    return False


def _give_up(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.beat is not None:
        chosen.beat.give_up()
    return False


def _begin_again(chosen: Choices, _: Run | None, __: Any) -> bool:
    if chosen.beat is not None:
        chosen.beat.begin_again()
    return False


ACTIONS: dict[str, actions.Action] = {
    "puzzle": _choose,
    "arranged": _arrange,
    "best_shown": _give_up,
    "begun_again": _begin_again,
    "revisited": _revisit,
    "written": _write,
}
