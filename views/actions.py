"""What a visitor asks of the run that is on: each action takes the choices, the run, and what was sent.

True says that something outside of the stage has changed as well. Those that put another run in
the place of this one are in `session.py`.
"""

from collections.abc import Callable
from typing import Any

from engine.errors import ConfigError
from engine.sources.branch import DTYPE
from views import weights
from views.choices import LENSES, SETTINGS, Choices, Pursuit
from views.drafts import Draft, remarks, told_longer
from views.figures.block.kv import Place
from views.figures.compare.compare_inputs import Choice
from views.figures.moment import num_finished_steps
from views.figures.selection import NOTHING, Selection
from views.figures.sizing.sizing_inputs import Inputs
from views.figures.time.timeline import ZOOMS
from views.figures.time.until import BRANCHED, DONE, RETURNED, Until, until_words
from views.limits import server_limits
from views.runs import Run
from views.targets import reach
from views.text import Text

Action = Callable[[Choices, Run | None, Any], bool]


def _go_to(chosen: Choices, begun: Run | None, target: Any) -> bool:
    """A note ends where one goes on."""
    if not isinstance(target, dict):
        return False
    if begun is not None:
        chosen.sequence = int(target.get("sequence", chosen.sequence))
    if begun is None or target.get("run", begun.run_id) != begun.run_id:
        _stand_elsewhere(chosen, target)
        return False
    before = _offer(begun, chosen)
    chosen.cursor = reach(begun, target)
    if begun.is_coming_back and chosen.pursuit is None:
        chosen.follow(begun)  # it was stopped on its way, and somebody goes on
    chosen.notices.pop("note", None)
    return chosen.panel == SETTINGS and _offer(begun, chosen) != before


def _stand_elsewhere(chosen: Choices, target: dict[str, Any]) -> None:
    """A target that came too late: it says where the run that was left shall stand meanwhile."""
    run_id, position = target.get("run"), target.get("position")
    if not (isinstance(run_id, int) and isinstance(position, int)):
        return
    if (kept := chosen.shelf.find(run_id)) is not None:
        kept.cursor = kept.run.trace.cursor_at(position)
    for name, left in chosen.left.items():
        if left.run is not None and left.run.run_id == run_id:
            chosen.left[name] = left._replace(cursor=left.run.trace.cursor_at(position))


def _offer(begun: Run, chosen: Choices) -> tuple[object, ...]:
    """What the settings say about a branch from here; the page is drawn anew only when that changes. The
    form for prompts goes with the time (stage.py)."""
    cursor = chosen.cursor
    is_past = cursor != begun.trace.last
    held = begun.settings_at(cursor) if chosen.panel == SETTINGS else None
    return begun.branch_begins_at(cursor), begun.is_inside_a_step(cursor), is_past, held


def _go_to_position(chosen: Choices, begun: Run | None, position: Any) -> bool:
    return _go_to(chosen, begun, {"position": position})


def _select(chosen: Choices, _: Run | None, sent: Any) -> bool:
    wanted = Selection.from_browser(sent)  # what is selected already is deselected
    chosen.selection = NOTHING if wanted == chosen.selection else wanted
    return False


def _unfold(chosen: Choices, _: Run | None, request_id: Any) -> bool:
    chosen.unfolded ^= {str(request_id)}  # what is unfolded already folds again
    return False


def _look_through(chosen: Choices, _: Run | None, lens: Any) -> bool:
    if lens in LENSES:
        chosen.lens = lens
    return False


def _ask_cache(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.questions[chosen.example] = Draft.from_browser(sent)
    return False


def _look_at_group(chosen: Choices, _: Run | None, group_id: Any) -> bool:
    if isinstance(group_id, int) and group_id >= 0:
        chosen.group_id = group_id
    return False


def _zoom(chosen: Choices, _: Run | None, zoom: Any) -> bool:
    if zoom in ZOOMS:
        chosen.zoom = zoom
    return False


def _look_at_place(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.place = Place.from_browser(sent)
    return False


def _size(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.sizing = Inputs.from_browser(sent)
    return False


def _type_settings(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """A form sends all its fields. One that says what holds follows time; the others stay."""
    held = begun.settings_at(chosen.cursor).to_mapping() if begun is not None else {}
    held[DTYPE] = begun.trace.header.dtype if begun is not None else None
    before = chosen.typed.get(DTYPE)
    for name, value in sent.items() if isinstance(sent, dict) else ():
        given = value if isinstance(value, bool) else str(value).strip()
        chosen.typed[str(name)] = given
        if given in (held.get(name), str(held.get(name))):
            del chosen.typed[str(name)]
    return weights.want(chosen, before)


def _compare(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.compare = Choice.from_browser(sent)
    return False


def _close(chosen: Choices, _: Run | None, kind: Any) -> bool:
    return chosen.notices.pop(str(kind), None) is not None


def _keep_draft(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.draft = Draft.from_browser(sent)
    return False


def _add(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """Queue the prompt that stands in the form. If that fails the form keeps it."""
    draft = chosen.draft = Draft.from_browser(sent)
    words = Text(chosen.language)
    begun = _with_engine(begun, words)
    server_limits().check_prompt(draft.text, words)
    sampling = draft.sampling(words)
    try:
        request_id = begun.add(draft, sampling)
    except ConfigError as error:
        raise told_longer(draft, error, words) from error
    _hush(chosen)
    chosen.clear_draft()
    chosen.cursor = begun.trace.last
    added = words("notice.added", request=request_id)
    said = remarks(draft, sampling, begun.num_prompt_tokens(request_id), words)
    chosen.say("note", words.told((added, *said)))
    return True


def _hush(chosen: Choices) -> None:
    """What was said, or refused, before this is over. A step ends no refusal: the run may be playing."""
    for kind in ("note", "error"):
        chosen.notices.pop(kind, None)


def _with_engine(begun: Run | None, words: Text) -> Run:
    """ConfigError with a sentence where nothing can be asked of the run that is on."""
    if begun is None or begun.live is None:
        raise ConfigError((begun and begun.refusal) or words("saved.waiting"))
    return begun


def _abort(chosen: Choices, begun: Run | None, request_id: Any) -> bool:
    begun = _with_engine(begun, Text(chosen.language))
    _hush(chosen)
    chosen.cursor = begun.abort(str(request_id))
    return False


def _reset(chosen: Choices, begun: Run | None, _: Any) -> bool:
    begun = _with_engine(begun, Text(chosen.language))
    _hush(chosen)
    chosen.cursor = begun.reset_prefix_cache()
    return False


def _wait_until(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    until = Until.from_browser(sent)
    if begun is None or until is None:
        return False
    _hush(chosen)
    if not begun.is_coming_back and not begun.trace.at(begun.trace.last).requests:
        chosen.say("note", Text(chosen.language)("until.no_request"))
        return True
    chosen.pursuit = Pursuit(until, chosen.cursor)
    return _pursue(chosen, begun, True)


def _pursue(chosen: Choices, begun: Run | None, _: Any) -> bool:
    """One share of the way. The browser asks for the next once it has drawn this one."""
    pursuit, chosen.pursuit = chosen.pursuit, None  # gone also where the engine fails
    if begun is None or pursuit is None:
        return False
    before, num_events = _offer(begun, chosen), begun.trace.num_events
    came = begun.pursue(pursuit.until, pursuit.since)
    chosen.num_shares += 1
    if pursuit.until.kind != RETURNED or begun.trace.num_events > num_events:
        chosen.cursor = came.cursor  # of a past that is only repeated, any moment can be looked at
    if not (came.is_found or came.is_over):
        chosen.pursuit = pursuit._replace(since=came.since)
        return chosen.panel == SETTINGS and _offer(begun, chosen) != before
    if came.is_over:
        chosen.say("note", _why_not(begun, pursuit, Text(chosen.language)))
    return True


def _why_not(begun: Run, pursuit: Pursuit, text: Text) -> str:
    """One sentence about a run that ended before it happened, or that has no engine yet."""
    if begun.saving is not None and not begun.can_be_branched:
        return text.said(begun.refusal or text("saved.waiting"))
    if pursuit.until.kind == DONE and begun.stuck_reason is None:
        return text("until.nothing")
    key = "until.stuck" if begun.stuck_reason else "until.over"
    step = max(0, num_finished_steps(begun.trace) - 1)
    return text(key, until=until_words(pursuit.until, text), step=step)


def _stop(chosen: Choices, begun: Run | None, _: Any) -> bool:
    """Also on the way to a branch: it stays where it is, and stepping goes on with its past."""
    if chosen.pursuit is not None and begun is not None:
        words = Text(chosen.language)
        if chosen.pursuit.until.kind == BRANCHED and begun.branch_step is not None:
            chosen.say("note", words("branch.stopped", step=begun.branch_step))
        if begun.is_coming_back:
            chosen.say("note", words("saved.stopped"))
        chosen.pursuit = None
    return True


def waiting(chosen: Choices) -> tuple[str, ...]:
    """What is done only once the branch has begun: it is meant for the end of the run."""
    return () if chosen.branch_on_its_way is None else ("added", "aborted", "reset", "until")


def interrupt(chosen: Choices, what: str) -> None:
    """Whoever goes elsewhere waits no more; a run that repeats its past is stopped by "stopped"."""
    repeats = chosen.run is not None and chosen.run.is_coming_back
    if what not in HARMLESS and not repeats and chosen.branch_on_its_way is None:
        chosen.pursuit = None


ACTIONS: dict[str, Action] = {
    "target": _go_to,
    "chosen": _go_to_position,
    "selected": _select,
    "unfolded": _unfold,
    "lens": _look_through,
    "asked": _ask_cache,
    "group": _look_at_group,
    "zoom": _zoom,
    "kv": _look_at_place,
    "sized": _size,
    "compared": _compare,
    "typed": _type_settings,
    "closed": _close,
    "draft": _keep_draft,
    "added": _add,
    "aborted": _abort,
    "reset": _reset,
    "until": _wait_until,
    "pursued": _pursue,
    "stopped": _stop,
}
HARMLESS = (
    "selected",
    "unfolded",
    "lens",
    "asked",
    "group",
    "zoom",
    "kv",
    "sized",
    "compared",
    "typed",
    "closed",
    "draft",
    "pursued",
    "stopped",
)  # a run on its way goes on
