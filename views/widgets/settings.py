"""The settings that matter, and what a change of them restarts or begins."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from engine.config import EngineConfig
from engine.errors import ConfigError
from views import session, weights
from views.components.piece import piece
from views.drafts import Branch, Restart, numbers_of
from views.figures.moment import num_finished_steps
from views.limits import server_limits
from views.runs import Run
from views.text import Text
from views.widgets.branch import branch_button, consequence, why_no_branch, why_refused

CACHING, REFUSES = "enable_prefix_caching", "refuse_oversized"
WAIT = "wait_for_ever"  # in the form in place of REFUSES, and its opposite
MOVING = ("max_num_batched_tokens", "max_num_seqs", "long_prefill_token_threshold")
FIXED = ("block_size", "num_blocks", CACHING)
OF_ROOM = ("num_blocks", "block_size", weights.FIELD)  # the first that changed is told of it


def settings(run: Run) -> None:
    """What is typed is checked at once by the engine's own config: it says more than a form can."""
    text = session.text()
    changed = _changed(run)
    problems = problems_of(_held(run), changed, text)
    problems |= _too_many(run, changed, problems, text) | _not_loaded(changed, text)
    _fields(run, problems, text)
    branch = Branch(changed, keep_later=_later(run, text))
    with st.container(key="settings_foot", horizontal=True, vertical_alignment="center"):
        with st.container(width="content"):
            _actions(run, branch, problems, text)
        st.caption(_restarts(run, list(_of_form(run)), problems, text), width="stretch")
    with st.container(key="settings_more"):
        st.caption(consequence(run, branch))
        if run.live is not None and run.trace.num_steps:
            with st.container(horizontal=True, vertical_alignment="center"):
                _clear(text)
                st.caption(_clears(run, text), width="stretch")


def _actions(run: Run, branch: Branch, problems: Mapping[str, str], text: Text) -> None:
    changed = branch.settings
    with st.container(horizontal=True, width="content"):
        st.button(
            text("settings.apply"),
            key="apply",
            type="primary",
            disabled=not changed or bool(problems) or _loads(changed),
            on_click=_apply,
        )
        if why_no_branch(run, text) is None:
            is_off = bool(problems) or (run.live is None and not changed) or _loads(changed)
            is_off = is_off or why_refused(run, branch) is not None
            branch_button(run, branch, is_off=is_off)


def _apply() -> None:
    """What stands in the form when it is pressed, not when the button was drawn."""
    run = session.run()
    if run is not None:
        session.ask("applied", Restart(_of_form(run)))


def problems_of(config: EngineConfig, changed: Mapping[str, Any], text: Text) -> dict[str, str]:
    """Setting -> what is wrong with it, one after the other; "" where none of them is to blame."""
    problems: dict[str, str] = {}
    left = dict(changed)
    for name, given in changed.items():
        try:
            left[name] = numbers_of({name: given}, text)[name]
        except ConfigError as error:
            problems[name] = text.error(error)
            del left[name]
    left.pop(weights.FIELD, None)  # the model's own
    as_it_is = {name: getattr(config, name) for name in config.__struct_fields__}
    while True:
        try:
            EngineConfig(**{**as_it_is, **left})
        except ConfigError as error:
            named = _named(str(error), left)
            problems[named[0] if named else ""] = text.error(error)
            if len(named) != 1:
                return problems
            del left[named[0]]
        else:
            return problems


def _too_many(
    run: Run, changed: Mapping[str, Any], problems: Mapping[str, str], text: Text
) -> dict[str, str]:
    """What the server has no room for, said at the field before anything is applied."""
    typed = {name: changed[name] for name in OF_ROOM if name in changed}
    if run.live is None or not typed or "block_size" in problems:
        return {}
    try:
        wanted = numbers_of(typed, text)
    except ConfigError:
        return {}
    size = wanted.get("block_size", _held(run).block_size)
    given = wanted.get("num_blocks", _held(run).num_blocks)
    fits = _most_blocks(run, size, wanted.get(weights.FIELD))
    if given <= fits:
        return {}
    field = next(name for name in OF_ROOM if name in typed)
    return {field: text("settings.too_many", given=given, size=size, fits=fits)}


def _not_loaded(changed: Mapping[str, Any], text: Text) -> dict[str, str]:
    """Why the chosen weights are not to be had, said at their field."""
    reason = weights.why_failed(session.choices().share, changed.get(weights.FIELD), text)
    return {} if reason is None else {weights.FIELD: reason}


def _loads(changed: Mapping[str, Any]) -> bool:
    """Whether the chosen weights are still on their way."""
    loader = session.choices().share.loader
    return weights.FIELD in changed and weights.is_loading(loader.of(changed[weights.FIELD]))


def _most_blocks(run: Run, block_size: int, dtype: str | None = None) -> int:
    """The largest pool that a restart may have, beside the visitor's other runs."""
    held = session.choices().share.pool_bytes(leaving=run)
    return server_limits().num_blocks_that_fit(run.bytes_per_block(block_size, dtype), held)


def _named(sentence: str, changed: Mapping[str, Any]) -> list[str]:
    """Of those that changed, in the sentence's order: the config's sentences say name=value."""
    places = {name: sentence.find(f"{name}=") for name in changed}
    return sorted((name for name in places if places[name] >= 0), key=lambda name: places[name])


def _held(run: Run) -> EngineConfig:
    """The settings of the moment that is shown: the form shows them, and a branch begins with them."""
    return run.settings_at(session.choices().cursor)


def _of_form(run: Run) -> dict[str, Any]:
    """What a restart takes from the form, once something in it is changed: all that stands there
    otherwise than at the end of the run."""
    changed, held = _changed(run), _held(run)
    moved = (name for name in MOVING if getattr(held, name) != getattr(run.config, name))
    return {**{name: str(getattr(held, name)) for name in moved}, **changed} if changed else {}


def _changed(run: Run) -> dict[str, Any]:
    """Settings that the form has otherwise than they hold: numbers as typed, the engine's switches."""
    typed = session.choices().typed
    has_choice = weights.on_offer(session.choices(), run)
    names = (*MOVING, *FIXED, WAIT, weights.FIELD) if has_choice else (*MOVING, *FIXED, WAIT)
    given = {name: _given(run, name) for name in names}
    changed = {name: typed[name] for name in given if typed.get(name, given[name]) != given[name]}
    if WAIT in changed:
        changed[REFUSES] = not changed.pop(WAIT)
    return changed


def _given(run: Run, name: str) -> str | bool:
    """A setting as it holds, as it stands in the form."""
    if name == WAIT:
        return not _held(run).refuse_oversized
    if name == weights.FIELD:
        return str(run.trace.header.dtype)
    value = getattr(_held(run), name)
    return bool(value) if name == CACHING else str(value)


def _fields(run: Run, problems: Mapping[str, str], text: Text) -> None:
    dtypes = weights.on_offer(session.choices(), run)
    fixed = FIXED if run.live is None else (*FIXED, WAIT, *([weights.FIELD] if dtypes else []))
    kinds = [
        {
            "title": text(title),
            "fields": [_field(run, name, problems.get(name), text) for name in names],
        }
        for title, names in (("settings.moving", MOVING), ("settings.fixed", fixed))
    ]
    payload = {"run": run.run_id, "title": text("settings.title"), "kinds": kinds}
    piece("fields", payload, on_typed_change=partial(session.note, "fields", "typed"))


def _field(run: Run, name: str, problem: str | None, text: Text) -> dict[str, Any]:
    given = _given(run, name)
    value = session.choices().typed.get(name, given)
    return {
        "key": name,
        "kind": _kind(name, given),
        "options": [[each, weights.named(each, text)] for each in _options(run, name)],
        "label": text.named("setting_label", name),
        "name": _name(name, value, text),
        "hint": text.told((text.named("setting_hint", name), _room(run, name, text))),
        "value": value,
        "changed": value != given,
        "problem": problem,
    }


def _kind(name: str, given: str | bool) -> str:
    if name == weights.FIELD:
        return "choice"
    return "switch" if isinstance(given, bool) else "number"


def _options(run: Run, name: str) -> tuple[str, ...]:
    return weights.on_offer(session.choices(), run) if name == weights.FIELD else ()


def _name(name: str, value: str | bool, text: Text) -> str:
    """The engine's own; with what the switch makes of it where that is the opposite."""
    said = text.named("setting_name", name)
    return text("runs.setting", name=said, value=not value) if name == WAIT else said


def _room(run: Run, name: str, text: Text) -> str:
    if name != "num_blocks" or run.live is None:
        return ""
    return text("settings.room", n=_most_blocks(run, _held(run).block_size))


def _clear(text: Text) -> None:
    st.button(
        text("settings.clear"),
        key="clear",
        on_click=session.ask,
        args=("applied", Restart({}, [])),
    )


def _clears(run: Run, text: Text) -> str:
    return text(
        "settings.clear_hint",
        requests=text.count("count.requests", _num_requests(run)),
        steps=_num_steps(run, text),
    )


def _later(run: Run, text: Text) -> bool:
    """What a run was given after the moment shown comes along only if somebody asks for it."""
    if run.live is None or not run.has_inputs_after(session.choices().cursor):
        return False
    return st.checkbox(
        text("branch.later"), key=f"later-{run.run_id}", help=text("branch.later_hint")
    )


def _restarts(run: Run, changed: list[str], problems: Mapping[str, str], text: Text) -> str:
    if problems:
        return problems.get("") or text("settings.wrong", names=", ".join(problems))
    if not changed:
        return text("settings.unchanged")
    if _loads(_changed(run)):
        return text("weights.loading")
    return text.count(
        "settings.restarts",
        _num_requests(run),
        names=", ".join(changed),
        steps=_num_steps(run, text),
    )


def _num_requests(run: Run) -> int:
    return len(run.trace.at(run.trace.last).requests)


def _num_steps(run: Run, text: Text) -> str:
    return text.count("count.steps", num_finished_steps(run.trace))
