"""Runs beside the one that is on: branches, and the way from one run to another."""

from typing import Any

from engine.trace.state import Cursor
from views import actions
from views.branching import branch_of
from views.choices import START, Choices, Pursuit
from views.drafts import Branch, Draft
from views.examples import EXAMPLES, OWN
from views.figures.selection import NOTHING
from views.figures.until import BRANCHED, Until
from views.runs import Run
from views.shelf import MAX_RUNS, Left, Shelf
from views.text import Text


def _branch(chosen: Choices, begun: Run | None, branch: Branch) -> bool:
    """Go on beside this run. A live branch is on its way to its beginning then."""
    if begun is None:
        return False
    words = Text(chosen.language)
    made = branch_of(begun, chosen.cursor, branch, words)
    chosen.shelf.leave(begun, chosen.cursor)
    gone = chosen.shelf.branch(
        begun, made.run, made.cursor, made.origin(chosen.shelf.number(begun))
    )
    _turn_to(chosen, made.run, made.cursor)
    if gone is not None:
        chosen.say("note", words("branch.dropped", number=gone.number, most=MAX_RUNS))
    if made.run.branch_step is not None:
        chosen.pursuit = Pursuit(Until(BRANCHED), made.cursor)
        actions.ACTIONS["pursued"](chosen, made.run, True)
    return True


def _add_here(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """The prompt of the form, in a branch from the moment shown. If refused the form keeps it."""
    draft = chosen.draft = Draft.from_browser(sent)
    if _branch(chosen, begun, Branch({}, draft)):
        chosen.clear_draft()
    return True


def open_example(chosen: Choices, name: str) -> None:
    """Leave the run that is on, and go on with the one that was left there, or begin it."""
    if name not in EXAMPLES or name == chosen.example:
        return
    if chosen.run is not None:
        chosen.left[chosen.example] = Left(chosen.run, chosen.cursor, chosen.shelf)
    there = chosen.left.pop(name, Left(None, START, Shelf()))
    chosen.shelf, chosen.pursuit = there.shelf, None
    chosen.example, chosen.panel_is_open = name, name == OWN
    chosen.cursor, chosen.selection, chosen.address_is_read = there.cursor, NOTHING, True
    chosen.notices.clear()
    chosen.typed.clear()
    chosen.run = there.run


def _revisit(chosen: Choices, _: Run | None, moment: Any) -> bool:
    """Back or Forward in the browser led to a moment of another run."""
    link = moment.get("names") if isinstance(moment, dict) else None
    if not isinstance(link, dict):
        return False
    open_example(chosen, str(link.get("example", chosen.example)))
    if (kept := chosen.shelf.with_link(link)) is not None:
        _switch(chosen, chosen.run, kept.run.run_id)
    step, sub_step = moment.get("step"), moment.get("sub")
    if chosen.run is not None and isinstance(step, int) and isinstance(sub_step, int):
        chosen.cursor = chosen.run.trace.clamp(Cursor(step, sub_step))
    return True


def _switch(chosen: Choices, begun: Run | None, run_id: Any) -> bool:
    kept = chosen.shelf.find(run_id)
    if begun is not None and kept is not None and kept.run is not begun:
        chosen.shelf.leave(begun, chosen.cursor)
        _turn_to(chosen, kept.run, kept.cursor)
    return True


def _drop(chosen: Choices, begun: Run | None, run_id: Any) -> bool:
    next_one = chosen.shelf.close(run_id)
    if begun is not None and next_one is not None and begun.run_id == run_id:
        _turn_to(chosen, next_one.run, next_one.cursor)
    return True


def _turn_to(chosen: Choices, begun: Run, cursor: Cursor) -> None:
    """Look at another run of the shelf. What is selected stays selected, to be compared."""
    chosen.run, chosen.cursor, chosen.pursuit = begun, cursor, None
    chosen.typed.clear()
    chosen.notices.clear()


ACTIONS: dict[str, actions.Action] = {
    "branched": _branch,
    "added_here": _add_here,
    "switched": _switch,
    "dropped": _drop,
    "revisited": _revisit,
}
