"""Runs that begin: a script from start to end, and the branch of any run."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.config import EngineConfig
from engine.sources.branch import (
    DTYPE,
    Plan,
    ScriptedBranch,
    beginning,
    scripted_changes,
)
from engine.sources.prompt import request_name
from engine.trace.events import RequestAdded, SettingChanged
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import naming_tokens
from views.drafts import Branch, numbers_of
from views.examples import Example
from views.origin import Origin
from views.runs import Run
from views.text import Text


class Begun(NamedTuple):
    """A new run and where it opens; a live one has still to come to the branch."""

    run: Run
    cursor: Cursor
    plan: Plan
    request_id: str | None = None  # of the prompt that came in at the branch

    def origin(self, number: int) -> Origin:
        """What the page says about this branch; `number` is that of the run that it left."""
        names = self.plan.redone or self.plan.changes
        held = {DTYPE: self.run.trace.header.dtype}
        settings = {name: held.get(name) or getattr(self.run.config, name) for name in names}
        return Origin(number, self.plan.step, settings, bool(self.plan.redone), self.request_id)


def scripted_run(
    example: Example, config: EngineConfig, changes: Sequence[SettingChanged] = ()
) -> Run:
    """A scripted workload from start to end: no model, a few milliseconds."""
    workload = example.workload(config)
    trace = Trace(TraceHeader(config=config.to_mapping()))
    script = ScriptedBranch(
        workload, changes, emit=naming_tokens(trace.append, example.token_names)
    )
    reason = None
    while not (script.is_over or reason):
        script.step()
        if script.engine.step_index > workload.last_input_step and not script.changes:
            reason = script.engine.stuck_reason
    script.check_changes()
    return Run(trace, script.engine.config, stuck_reason=reason, script=example)


def check_prompts(run: Run, cursor: Cursor, branch: Branch, text: Text) -> None:
    """ConfigError if a prompt of this run has no room where its past is done again."""
    plan = run.plan(cursor, branch, text)
    if run.live is None or not plan.redone:
        return
    keeps = branch.keep_later
    for event in run.trace.events_from(0) if keeps else run.trace.events_before(cursor):
        if isinstance(event, RequestAdded):
            run.live.check_prompt(len(event.prompt_token_ids), event.max_tokens, plan.config)


def branch_of(run: Run, cursor: Cursor, branch: Branch, text: Text, *, model: Any = None) -> Begun:
    """A run beside this one, perhaps with the weights of `model`. ConfigError if its settings or its
    prompt are refused."""
    plan = run.plan(cursor, branch, text)
    if run.live is None:
        return _scripted_branch(run, cursor, plan)
    prompts = [] if branch.draft is None else [branch.draft.prompt(text)]
    settings = numbers_of(branch.settings, text)
    live = run.live.branch(
        cursor, settings, prompts=prompts, keep_later=branch.keep_later, model=model
    )
    config = EngineConfig.from_mapping({**live.trace.header.config, **plan.changes})
    begun = Run(live.trace, config, live=live, lock=run.lock)
    kept = _kept_requests(run.trace, None if branch.keep_later else cursor)
    begun.drafts = {id_: draft for id_, draft in run.drafts.items() if id_ in kept}
    request_id = None
    if branch.draft is not None:
        request_id = request_name(len(kept))
        begun.drafts[request_id] = branch.draft
    return Begun(begun, live.trace.last, plan, request_id)


def _scripted_branch(run: Run, cursor: Cursor, plan: Plan) -> Begun:
    assert run.script is not None, "a run without an engine and without a script cannot go on"
    changes = scripted_changes(run.trace, cursor, plan)
    begun = scripted_run(run.script, plan.config, changes)
    return Begun(begun, beginning(begun.trace, plan.step), plan)


def _kept_requests(trace: Trace, cursor: Cursor | None) -> list[str]:
    events = trace.events_from(0) if cursor is None else trace.events_before(cursor)
    return [event.request_id for event in events if isinstance(event, RequestAdded)]
