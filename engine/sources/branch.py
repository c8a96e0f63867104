"""Going on from a moment of a run with other settings or another prompt, in a run beside it.

A branch is re-executed from the inputs of its run: the same requests, aborts and resets at the same
steps, and each request gets the tokens that it had got by then, so that sampling cannot lead it
elsewhere. A changed setting is meant in one of two ways:

- it may change between two steps (CHANGEABLE_SETTINGS): the past stays as it was, and the setting
  has its new value from the branch on;
- it may not (block_size, num_blocks, ..., the dtype of the weights): the whole past is done again
  with the new value. The past may look different then, and that is what one compares.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from engine.config import EngineConfig, SamplingParams
from engine.engine import CHANGEABLE_SETTINGS, Engine
from engine.errors import ConfigError
from engine.replay import redo_inputs
from engine.sources.prompt import Prompt, Tokenized, request_name
from engine.trace.events import (
    INPUT_EVENTS,
    CacheReset,
    Event,
    RequestAborted,
    RequestAdded,
    SettingChanged,
    StepEnded,
)
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, Workload

DTYPE = "dtype"  # of the weights: the model's, and beside the engine's own settings
Tokenizer = Callable[[Prompt], Tokenized]
Input = RequestAdded | RequestAborted | CacheReset | SettingChanged


def branch_step(trace: Trace, cursor: Cursor) -> int:
    """The step before which a branch from here begins: a step that has begun is done anew."""
    step, sub_step = trace.clamp(cursor)
    happened = trace.events(step, sub_step - 1) if sub_step else []
    return step + 1 if happened and isinstance(happened[-1], StepEnded) else step


def settings_at(trace: Trace, cursor: Cursor) -> EngineConfig:
    """The settings that hold at this moment: those of the beginning and every change since."""
    changes = {
        event.name: event.value
        for event in trace.events_before(cursor)
        if isinstance(event, SettingChanged)
    }
    return EngineConfig.from_mapping({**trace.header.config, **changes})


class Plan(NamedTuple):
    """What changed settings mean for a branch."""

    step: int  # the branch begins before it
    config: EngineConfig  # of step 0
    changes: dict[str, int]  # these hold from `step` on, in the order of making them
    redone: tuple[str, ...]  # for these the whole past is done again, with all settings of `config`


def plan_branch(trace: Trace, cursor: Cursor, settings: Mapping[str, Any]) -> Plan:
    """`settings`: wanted values, DTYPE perhaps among them; those that hold already change nothing.
    ConfigError if wrong."""
    now = settings_at(trace, cursor)
    of_engine = {name: value for name, value in settings.items() if name != DTYPE}
    wanted = EngineConfig.from_mapping({**now.to_mapping(), **of_engine})
    changed = {name: value for name, value in of_engine.items() if value != getattr(now, name)}
    if settings.get(DTYPE, trace.header.dtype) != trace.header.dtype:
        changed[DTYPE] = settings[DTYPE]
    step = branch_step(trace, cursor)
    if set(changed) <= set(CHANGEABLE_SETTINGS):
        begin = EngineConfig.from_mapping(trace.header.config)
        return Plan(step, begin, _in_order(changed, now), ())
    return Plan(step, wanted, {}, tuple(changed))


def _in_order(changed: Mapping[str, int], now: EngineConfig) -> dict[str, int]:
    """One after the other, so that the budget never falls below max_num_seqs on the way."""
    fewer_first = changed.get("max_num_seqs", now.max_num_seqs) <= now.max_num_seqs
    names = sorted(changed, key="max_num_seqs".__eq__, reverse=fewer_first)
    return {name: changed[name] for name in names}


class Course:
    """What a run has still to repeat: inputs by step, and tokens by request.

    Inputs of a step come as soon as the step before is over, as they do from a visitor. A token is
    kept by its place in its request's answer, so it is found again in another step as well. One
    token a request and step: a run with drafts is a script and needs no course.
    """

    def __init__(
        self,
        step: int = 0,
        inputs: Iterable[Input] = (),
        tokens: Mapping[str, Sequence[int]] | None = None,
        *,
        none_hash: str | None = None,
    ) -> None:
        """`step`: where the branch begins; what comes later in `inputs` is repeated as well.

        `none_hash`: the one that the run drew where its settings leave it to chance.
        """
        self.step = step
        self.none_hash = none_hash
        self.tokens = dict(tokens or {})
        self._inputs: dict[int, list[Input]] = {}
        for event in inputs:
            self._inputs.setdefault(event.step, []).append(event)

    def has_more(self, engine: Engine) -> bool:
        """Whether something is still to be repeated, also where nobody would run by themselves."""
        return engine.step_index < self.step or bool(self._inputs)

    @property
    def left(self) -> list[Input]:
        """The inputs that are still to come, step by step."""
        return [event for step in sorted(self._inputs) for event in self._inputs[step]]

    @property
    def added(self) -> list[RequestAdded]:
        """The requests that are still to come."""
        return [event for event in self.left if isinstance(event, RequestAdded)]

    def begin(self, engine: Engine) -> None:
        """Check all prompts, then do the inputs of step 0. ConfigError leaves the engine alone."""
        for event in self.added:
            engine.check_prompt(len(event.prompt_token_ids), event.max_tokens)
        self._come_in(engine)

    def take_step(self, engine: Engine) -> None:
        """One step of the engine with its inputs in the middle, then the inputs of the next."""
        engine.schedule()
        engine.run(self._kept(engine))
        redo_inputs(engine, self._inputs.pop(engine.step_index, ()), "mid")
        engine.update()
        self._come_in(engine)

    def _come_in(self, engine: Engine) -> None:
        due = self._inputs.pop(engine.step_index, [])
        redo_inputs(engine, due, "before")
        if mid := [event for event in due if event.phase == "mid"]:
            self._inputs[engine.step_index] = mid

    def _kept(self, engine: Engine) -> dict[str, tuple[int, ...]]:
        """The token that each scheduled request got at this place of its answer."""
        assert engine.scheduler_output is not None
        kept: dict[str, tuple[int, ...]] = {}
        for row in engine.scheduler_output.scheduled if self.tokens else ():
            tokens = self.tokens.get(row.request.request_id, ())
            place = row.request.num_output_tokens
            if row.samples and place < len(tokens):
                kept[row.request.request_id] = (tokens[place],)
        return kept


def course_of(
    trace: Trace,
    cursor: Cursor,
    plan: Plan,
    *,
    prompts: Sequence[Prompt] = (),
    tokenize: Tokenizer | None = None,
    keep_later: bool = False,
) -> Course:
    """What a branch with this plan repeats. `prompts` come when it begins.

    `keep_later`: what the run was given after `cursor` comes in the branch as well, at its step.
    """
    past = trace.events_before(cursor)
    inputs = [e for e in _inputs(past, plan) if e.step < plan.step or e.phase == "before"]
    inputs += [SettingChanged(plan.step, name, value) for name, value in plan.changes.items()]
    later = [e for e in _inputs(past, plan) if e not in inputs] if keep_later else []
    later += _inputs(trace.events_from(len(past)), plan) if keep_later else []
    place = sum(isinstance(event, RequestAdded) for event in [*inputs, *later])
    for number, prompt in enumerate(prompts, start=place):
        assert tokenize is not None, "a prompt needs a tokenizer"
        inputs.append(_added(request_name(number), plan.step, prompt, tokenize(prompt)))
    state = trace.at(trace.after_update(plan.step - 1)) if plan.step else None
    requests = state.requests if state is not None else {}
    tokens = {id_: tuple(request.output_token_ids) for id_, request in requests.items()}
    is_same_chain = plan.config.hash_algo == trace.header.config["hash_algo"]
    none_hash = trace.header.none_hash if is_same_chain else None
    return Course(plan.step, [*inputs, *later], tokens, none_hash=none_hash)


def _inputs(events: Iterable[Event], plan: Plan) -> list[Input]:
    """Where the past is done again, its settings are given from the start and change no more."""
    return [
        event
        for event in events
        if isinstance(event, INPUT_EVENTS)
        and not (plan.redone and isinstance(event, SettingChanged))
    ]


def _added(request_id: str, step: int, prompt: Prompt, tokens: Tokenized) -> RequestAdded:
    sampling = prompt.sampling or SamplingParams()
    return RequestAdded(
        request_id,
        step,
        tokens.token_ids,
        arrival_time=float(step),
        **{name: getattr(sampling, name) for name in SamplingParams.__struct_fields__},
        prompt_text=prompt.text,
        prompt_mode=prompt.mode,
        prompt_token_bytes=tokens.token_bytes,
        special_token_ids=tokens.special_token_ids,
    )


class ScriptedBranch(ScriptedRun):
    """A workload again, with settings that change on the way; its script goes on to the end."""

    def __init__(self, workload: Workload, changes: Sequence[SettingChanged], **emit: Any) -> None:
        super().__init__(workload, **emit)
        self.changes = list(changes)

    def before(self) -> None:
        """Inputs of the script come first, then the changes of this step."""
        super().before()
        due = [change for change in self.changes if change.step == self.engine.step_index]
        self.changes = [change for change in self.changes if change not in due]
        for change in due:
            self.engine.change_setting(change.name, change.value)

    def check_changes(self) -> None:
        """ConfigError if the script came to its end before a setting could change."""
        if self.changes:
            step, names = self.changes[0].step, ", ".join(c.name for c in self.changes)
            raise ConfigError.of(
                "branch.script_over",
                "{names} would change before step {step}, but the script is at its end there: "
                "go back in time and branch from an earlier step",
                names=names,
                step=step,
            )


def scripted_changes(trace: Trace, cursor: Cursor, plan: Plan) -> list[SettingChanged]:
    """The settings that change in a branch of a scripted run: as before, and then as planned."""
    past = _inputs(trace.events_before(cursor), plan)
    changed = [event for event in past if isinstance(event, SettingChanged)]
    return changed + [
        SettingChanged(plan.step, name, value) for name, value in plan.changes.items()
    ]


def beginning(trace: Trace, step: int) -> Cursor:
    """The moment before a step begins, with all its inputs there; the end of a shorter run."""
    for sub_step in range(trace.num_sub_steps(step)):
        if not isinstance(trace.events(step, sub_step)[0], INPUT_EVENTS):
            return Cursor(step, sub_step)
    return trace.last
