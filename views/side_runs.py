"""Runs beside the one that is on: branches, and the way from one run to another."""

from typing import Any

from engine.errors import ConfigError
from engine.sources.branch import DTYPE
from engine.trace.state import Cursor
from views import actions
from views.beginning import recorded
from views.branching import branch_of
from views.bringing_back import find
from views.choices import START, Choices, Pursuit, panel_of
from views.drafts import Branch, Draft
from views.examples import EXAMPLES
from views.figures.selection import NOTHING
from views.figures.time.until import BRANCHED, Until
from views.limits import server_limits
from views.runs import Run
from views.shelf import MAX_RUNS, Left, Shelf
from views.text import Text
from views.weights import model_of

MAX_NUMBER = 10_000  # a run that says more was not numbered here


def _branch(chosen: Choices, begun: Run | None, branch: Branch) -> bool:
    """Go on beside this run. A live branch is on its way to its beginning then."""
    if begun is None:
        return False
    words = Text(chosen.language)
    _check_room(chosen, begun, branch, words)
    model = model_of(chosen.share, branch.settings, words)
    made = branch_of(begun, chosen.cursor, branch, words, model=model)
    origin = made.origin(chosen.shelf.number(begun))
    chosen.share.take(made.run, chosen.example, origin=origin)
    made.run.keep()
    chosen.shelf.leave(begun, chosen.cursor)
    gone = chosen.shelf.branch(begun, made.run, made.cursor, origin)
    chosen.turn_to(made.run, made.cursor)
    if gone is not None:
        chosen.say("note", words("branch.dropped", number=gone.number, most=MAX_RUNS))
    if made.run.branch_step is not None:
        chosen.pursuit = Pursuit(Until(BRANCHED), made.cursor)
        actions.ACTIONS["pursued"](chosen, made.run, True)
    return True


def _check_room(chosen: Choices, begun: Run, branch: Branch, words: Text) -> None:
    """ConfigError with a sentence where a branch is impossible or too large."""
    if (step := chosen.branch_on_its_way) is not None:
        raise ConfigError(words("branch.on_its_way", step=step))
    if not begun.can_be_branched:
        raise ConfigError(begun.refusal or words("saved.waiting"))
    if branch.draft is not None:
        server_limits().check_prompt(branch.draft.text, words)
    if begun.live is not None:
        config = begun.plan(chosen.cursor, branch, words).config
        num_bytes = begun.bytes_per_block(config.block_size, branch.settings.get(DTYPE))
        chosen.share.check_pool(config, num_bytes, words)


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
    chosen.shelf = there.shelf
    chosen.example, chosen.panel = name, panel_of(name, there.run)
    chosen.cursor, chosen.selection, chosen.address_is_read = there.cursor, NOTHING, True
    chosen.notices.clear()
    chosen.typed.clear()
    chosen.run = there.run
    chosen.follow(there.run)


def _revisit(chosen: Choices, _: Run | None, moment: Any) -> bool:
    """Back or Forward in the browser led to a moment of another run, or somebody opens it again:
    under the number that it had."""
    link = moment.get("names") if isinstance(moment, dict) else None
    if not isinstance(link, dict):
        return False
    open_example(chosen, str(link.get("example", chosen.example)))
    kept = chosen.shelf.with_link(link)
    number = _number(moment)
    if kept is None and "run" not in link:
        _put_recorded_beside(chosen, number)
    elif kept is None and not _bring_beside(chosen, link["run"], number):
        return True
    if kept is not None:
        _switch(chosen, chosen.run, kept.run.run_id)
    step, sub_step = moment.get("step"), moment.get("sub")
    if chosen.run is not None and isinstance(step, int) and isinstance(sub_step, int):
        chosen.cursor = chosen.run.trace.clamp(Cursor(step, sub_step))
    return True


def _number(moment: dict[str, Any]) -> int | None:
    given = moment.get("number")
    return given if isinstance(given, int) and 0 < given < MAX_NUMBER else None


def _bring_beside(chosen: Choices, run_id: Any, number: int | None) -> bool:
    """A saved run that this page does not have at hand. One that nobody asked anything of gives its
    place away."""
    brought = find(chosen, run_id)
    if brought is None:
        return False
    open_example(chosen, brought.example)
    last = brought.run.trace.last
    if chosen.run is None or chosen.run.trace.num_events == 0:
        chosen.put(brought.run, last, brought.origin)
    else:
        chosen.shelf.leave(chosen.run, chosen.cursor)
        chosen.shelf.branch(chosen.run, brought.run, last, brought.origin, number=number)
        chosen.turn_to(brought.run, last)
    chosen.say("note", brought.words(Text(chosen.language), is_page_new=False))
    return True


def _put_recorded_beside(chosen: Choices, number: int | None) -> None:
    """The example as it comes, where a run that began in it is on."""
    if chosen.run is not None and not EXAMPLES[chosen.example].needs_model:
        begun = recorded(chosen.example)
        chosen.shelf.leave(chosen.run, chosen.cursor)
        chosen.shelf.branch(chosen.run, begun, begun.first_sight(), None, number=number)
        chosen.turn_to(begun, begun.first_sight())


def _switch(chosen: Choices, begun: Run | None, run_id: Any) -> bool:
    kept = chosen.shelf.find(run_id)
    if begun is not None and kept is not None and kept.run is not begun:
        chosen.shelf.leave(begun, chosen.cursor)
        chosen.turn_to(kept.run, kept.cursor)
    return True


def _drop(chosen: Choices, begun: Run | None, run_id: Any) -> bool:
    closed, next_one = chosen.shelf.find(run_id), chosen.shelf.close(run_id)
    if begun is None or closed is None or next_one is None:
        return True
    if begun.run_id == run_id:
        chosen.turn_to(next_one.run, next_one.cursor)
    words = Text(chosen.language)
    chosen.say_away(words("saved.closed", number=closed.number), closed.run.link)
    return True


ACTIONS: dict[str, actions.Action] = {
    "branched": _branch,
    "added_here": _add_here,
    "switched": _switch,
    "dropped": _drop,
    "revisited": _revisit,
}
