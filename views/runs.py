"""A run as a page uses it: a trace to look at, and perhaps an engine that can go on."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig, SamplingParams
from engine.errors import ConfigError
from engine.sources.source import LiveRun, Tokenized
from engine.trace.events import BlocksTaken, Event, RequestAdded, TokensSampled
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRun
from views.examples import DEFAULT_MAX_TOKENS, Example
from views.figures.moment import num_finished_steps
from views.text import Text

MAX_STEPS_AT_ONCE = 64
_RUN_IDS = itertools.count(1)  # in this process, so that a page can tell one run from the next


class Draft(NamedTuple):
    """A prompt as it stands in the form: numbers are still what somebody typed."""

    text: str = ""
    mode: str = "chat"
    allow_special: bool = False
    max_tokens: str = str(DEFAULT_MAX_TOKENS)
    temperature: str = "0"
    seed: str = "0"

    @classmethod
    def from_browser(cls, sent: Any) -> "Draft":
        """Whatever a browser sent, as the types that a draft has."""
        fields = dict(sent) if isinstance(sent, dict) else {}
        return cls(
            text=str(fields.get("text", "")),
            mode="raw" if fields.get("mode") == "raw" else "chat",
            allow_special=fields.get("allow_special") is True,
            max_tokens=str(fields.get("max_tokens", DEFAULT_MAX_TOKENS)),
            temperature=str(fields.get("temperature", "0")),
            seed=str(fields.get("seed", "0")),
        )

    def sampling(self, text: Text) -> SamplingParams:
        """ConfigError with a sentence for everything that is no number or out of range."""
        return SamplingParams(
            max_tokens=whole_number("max_tokens", self.max_tokens, text),
            temperature=any_number("temperature", self.temperature, text),
            seed=whole_number("seed", self.seed, text),
        )


def whole_number(name: str, given: str, text: Text) -> int:
    try:
        return int(given)
    except ValueError as error:
        key = "notice.not_whole" if given.strip() else "notice.blank_whole"
        raise ConfigError(text(key, name=name, given=given[:40])) from error


def any_number(name: str, given: str, text: Text) -> float:
    try:
        return float(given)
    except ValueError as error:
        key = "notice.not_number" if given.strip() else "notice.blank_number"
        raise ConfigError(text(key, name=name, given=given[:40])) from error


def numbers_of(settings: Mapping[str, Any], text: Text) -> dict[str, Any]:
    """Settings as the engine wants them: what was typed becomes a number, or a ConfigError."""
    return {
        name: whole_number(name, given, text) if isinstance(given, str) else given
        for name, given in settings.items()
    }


def remarks(draft: Draft, sampling: SamplingParams, num_tokens: int, text: Text) -> list[str]:
    """What was taken otherwise than somebody may think who typed this."""
    said = []
    if not draft.text.strip():
        blank = "prompt.blank_raw" if draft.mode == "raw" else "prompt.blank_chat"
        said.append(text.count(blank if draft.text else "prompt.nothing_chat", num_tokens))
    if sampling.temperature != float(draft.temperature):
        given, used = draft.temperature, sampling.temperature
        said.append(text("prompt.temperature_raised", given=given, used=used))
    return said


class Restart(NamedTuple):
    """What a run begins again with: changed settings, and prompts (None: those it has)."""

    settings: dict[str, Any]
    drafts: list[Draft] | None = None


class Run:
    """What one session looks at. `live` is None when the whole run is there from the start."""

    def __init__(
        self,
        trace: Trace,
        config: EngineConfig,
        *,
        live: LiveRun | None = None,
        stuck_reason: str | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.run_id = next(_RUN_IDS)
        self.trace = trace
        self.config = config
        self.live = live
        self.asked: list[Draft] = []
        self.num_interventions = 0  # aborts and resets: each stops the player
        self._stuck_reason = stuck_reason
        self._lock = lock

    @property
    def can_go_on(self) -> bool:
        """Whether the engine behind this run has another step to give."""
        return (
            self.live is not None
            and self.live.has_unfinished_requests
            and self.live.stuck_reason is None
        )

    @property
    def stuck_reason(self) -> str | None:
        """One sentence when nothing can ever be scheduled again although requests wait."""
        return self._stuck_reason if self.live is None else self.live.stuck_reason

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The requests that an abort would end: it happens at the end of the run."""
        state = self.trace.at(self.trace.last)
        return tuple(id_ for id_, request in state.requests.items() if not request.is_finished)

    @property
    def stuck_head(self) -> str | None:
        """Whom to abort so that a run that is stuck goes on; None where nobody can."""
        if self.live is None or self.live.stuck_reason is None:
            return None
        return self.trace.at(self.trace.last).waiting[0]

    def first_sight(self) -> Cursor:
        """Where a recorded run opens: the first blocks are just being handed out."""
        for sub_step in range(self.trace.num_sub_steps(0)):
            if any(isinstance(event, BlocksTaken) for event in self.trace.events(0, sub_step)):
                return Cursor(0, sub_step + 1)
        return self.trace.after_update(0)

    def tokenize(self, draft: Draft) -> Tokenized:
        assert self.live is not None, "a script has no tokenizer"
        return self.live.tokenize(draft.text, draft.mode, allow_special=draft.allow_special)

    def add(self, draft: Draft, sampling: SamplingParams) -> str:
        """Queue a prompt; ConfigError when it cannot be served."""
        assert self.live is not None, "a script cannot be asked"
        request_id = self.live.add_request(
            draft.text, mode=draft.mode, sampling=sampling, allow_special=draft.allow_special
        )
        self.asked.append(draft)
        return request_id

    def num_prompt_tokens(self, request_id: str) -> int:
        return self.trace.at(self.trace.last).requests[request_id].num_prompt_tokens

    def why_refused(self, draft: Draft, num_tokens: int, text: Text) -> str:
        """The sentence that adding this draft would get; empty where it would be taken."""
        assert self.live is not None, "a script cannot be asked"
        try:
            self.live.check_prompt(num_tokens, draft.sampling(text).max_tokens)
        except ConfigError as error:
            return str(error)
        return ""

    @property
    def is_idle(self) -> bool:
        """Whether only another prompt makes this run go on."""
        return self.live is not None and not self.live.has_unfinished_requests

    def abort(self, request_id: str) -> Cursor:
        """Drop a request where the run ends; the cursor that shows it."""
        assert self.live is not None, "a script cannot be asked"
        self.live.abort(request_id)
        self.num_interventions += 1
        return self.trace.last

    def reset_prefix_cache(self) -> Cursor:
        """Ask the engine to forget all hashes; the cursor that shows its answer."""
        assert self.live is not None, "a script cannot be asked"
        self.live.reset_prefix_cache()
        self.num_interventions += 1
        return self.trace.last

    def advance(self) -> bool:
        """Ask the engine for one more step; False when it has none to give."""
        if not self.can_go_on or self.live is None:
            return False
        if self._lock is None:
            self.live.step()
        else:
            with self._lock:
                self.live.step()
        return True

    def reach(self, target: dict[str, Any]) -> Cursor:
        """The cursor that a target means; beyond the end of the trace the engine goes on."""
        trace = self.trace
        if "step" in target:
            step = max(0, min(int(target["step"]), trace.num_steps + MAX_STEPS_AT_ONCE))
            while num_finished_steps(trace) <= step and self.advance():
                pass
            step = min(step, max(0, trace.num_steps - 1))
            wanted = trace.position(trace.after_update(step)) + int(target.get("plus", 0))
        else:
            wanted = int(target.get("position", 0))
        while wanted >= trace.num_positions and self.advance():
            pass
        return trace.cursor_at(max(0, wanted))


class Left(NamedTuple):
    """A run that its visitor left for another example, and where they stood in it."""

    run: Run | None
    cursor: Cursor


def scripted_run(example: Example, config: EngineConfig) -> Run:
    """A scripted workload from start to end: no model, a few milliseconds."""
    workload = example.workload(config)
    trace = Trace(TraceHeader(config=config.to_mapping()))
    run = ScriptedRun(workload, emit=_naming(trace.append, example.token_names))
    reason = None
    while not (run.is_over or reason):
        run.step()
        if run.engine.step_index > workload.last_input_step:
            reason = run.engine.stuck_reason
    return Run(trace, config, stuck_reason=reason)


def _naming(append: Callable[[Event], None], names: Mapping[int, bytes]) -> Callable[[Event], None]:
    """A script's tokens are numbers; their names go where a tokenizer's bytes would stand."""

    def bytes_of(token_ids: Sequence[int]) -> tuple[bytes, ...]:
        return tuple(names.get(id_, str(id_).encode()) for id_ in token_ids)

    def emit(event: Event) -> None:
        if isinstance(event, RequestAdded):
            bytes_ = bytes_of(event.prompt_token_ids)
            event = msgspec.structs.replace(event, prompt_token_bytes=bytes_)
        elif isinstance(event, TokensSampled):
            bytes_ = bytes_of(event.token_ids)
            words = b"".join(bytes_).decode()
            event = msgspec.structs.replace(event, token_bytes=bytes_, text=words)
        append(event)

    return emit
