"""A scripted workload: settings, requests, and operations by step (the JSON of SEMANTICS 2).

No model is needed: `ScriptedRunner` answers with the tokens of the script.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.config import EngineConfig, SamplingParams
from engine.core.output import ModelOutput, SchedulerOutput
from engine.core.request import BlockTables, SampledTokens
from engine.engine import Engine
from engine.errors import ConfigError
from engine.malformed import reason_of
from engine.trace.events import Emit, Event, RequestAdded, TokensSampled, ignore

WRONG_DRAFT_OFFSET = 7  # a wrong draft is the right token plus this


class ScriptedRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One request; the length of `output` is its max_tokens."""

    id: str
    arrival_step: int
    prompt: tuple[int, ...]
    output: tuple[int, ...]
    cache_salt: str | None = None
    lora: str | int | None = None  # a name, or n for the name lora-n
    priority: int = 0
    arrival_time: float | None = None
    abort_step: int | None = None
    abort_phase: str = "before"
    skip_reading_prefix_cache: bool = False

    @property
    def lora_name(self) -> str | None:
        return f"lora-{self.lora}" if isinstance(self.lora, int) else self.lora


class Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    step: int
    op: str
    reset_running_requests: bool | None = None


class Workload(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a scripted run is given."""

    name: str
    requests: tuple[ScriptedRequest, ...]
    about: str = ""
    config: EngineConfig = EngineConfig()
    ops: tuple[Operation, ...] = ()
    max_steps: int = 400

    @property
    def last_input_step(self) -> int:
        """The last step with an arrival, an abort or an operation; -1 if there is none."""
        steps = [request.arrival_step for request in self.requests]
        steps += [r.abort_step for r in self.requests if r.abort_step is not None]
        return max(steps + [op.step for op in self.ops], default=-1)


def parse_workload(content: bytes | str | Mapping[str, Any]) -> Workload:
    """Check and build a workload from JSON; ConfigError says what is wrong and where."""
    try:
        if isinstance(content, Mapping):
            return msgspec.convert(content, Workload)
        return msgspec.json.decode(content, type=Workload)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError.of(
            "workload.refused", "not a workload: {reason}", reason=reason_of(error)
        ) from error


def read_workload(path: str | Path) -> Workload:
    """Read a workload file; ConfigError names the file and the reason."""
    try:
        return parse_workload(Path(path).read_bytes())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def naming_tokens(
    append: Callable[[Event], None], names: Mapping[int, bytes], *, between: bytes = b""
) -> Callable[[Event], None]:
    """A recorder that writes what a script's token ids stand for where a tokenizer's bytes would
    stand; an id without a name stands for itself. `between`: what stands between the tokens of a
    prompt, and before each output token, in their text."""

    def bytes_of(token_ids: Sequence[int]) -> tuple[bytes, ...]:
        return tuple(names.get(id_, str(id_).encode()) for id_ in token_ids)

    def emit(event: Event) -> None:
        if isinstance(event, RequestAdded):
            bytes_ = bytes_of(event.prompt_token_ids)
            typed = between.join(bytes_).decode() if between else None
            event = msgspec.structs.replace(event, prompt_token_bytes=bytes_, prompt_text=typed)
        elif isinstance(event, TokensSampled):
            bytes_ = bytes_of(event.token_ids)
            text = b"".join(between + piece for piece in bytes_).decode()
            event = msgspec.structs.replace(event, token_bytes=bytes_, text=text)
        append(event)

    return emit


class ScriptedRunner:
    """Stands in for the model: the next scripted token for everyone who has caught up.

    With drafts it verifies them against the script: as many scripted tokens as lead the drafts,
    plus one; tokens beyond the script count as 0.
    """

    eos_token_ids: frozenset[int] = frozenset()
    vocab_size = 1 << 40  # letters, not a vocabulary

    def __init__(self, workload: Workload) -> None:
        self.scripts = {request.id: request.output for request in workload.requests}
        self.spec = workload.config.spec
        self._num_drafted: dict[str, int] = {}

    def execute(
        self,
        output: SchedulerOutput,
        block_tables: BlockTables,
        forced: Mapping[str, tuple[int, ...]] | None = None,
    ) -> ModelOutput:
        return ModelOutput(
            {
                row.request.request_id: SampledTokens(self._next_tokens(row.request, row))
                for row in output.scheduled
                if row.samples
            }
        )

    def _next_tokens(self, request: Any, row: Any) -> tuple[int, ...]:
        place = request.num_output_tokens
        if not row.spec_token_ids:
            return (self._scripted(request.request_id, place),)
        tokens = []
        for draft in row.spec_token_ids:
            tokens.append(self._scripted(request.request_id, place))
            place += 1
            if draft != tokens[-1]:
                return tuple(tokens)
        return (*tokens, self._scripted(request.request_id, place))

    def _scripted(self, request_id: str, place: int) -> int:
        script = self.scripts[request_id]
        return script[place] if place < len(script) else 0

    def forget(self, request_id: str) -> None:
        """Nothing is kept of a finished request."""

    def draft(self, request_id: str, num_output_tokens: int) -> tuple[int, ...]:
        """Drafts for the next step: the n-th drafting has `accept[n mod len]` right tokens."""
        assert self.spec is not None
        accept = self.spec.accept or (self.spec.num_speculative_tokens,)
        nth = self._num_drafted.get(request_id, 0)
        self._num_drafted[request_id] = nth + 1
        num_right = accept[nth % len(accept)]
        right = [
            self._scripted(request_id, num_output_tokens + i)
            for i in range(self.spec.num_speculative_tokens)
        ]
        return tuple(
            token if i < num_right else token + WRONG_DRAFT_OFFSET for i, token in enumerate(right)
        )


class ScriptedRun:
    """A workload on an engine, step by step, with the inputs at their places.

    A step does: operations, aborts before, arrivals, schedule, aborts in the middle, update,
    drafts. It does so also when there is nothing to do.
    """

    def __init__(self, workload: Workload, *, emit: Emit = ignore) -> None:
        self.workload = workload
        self.runner = ScriptedRunner(workload)
        self.engine = Engine(workload.config, self.runner, emit=emit)
        self.drafts: list[tuple[str, tuple[int, ...]]] = []  # of the latest step
        self.inputs: list[dict[str, Any]] = []  # before schedule() of the latest step
        self.mid_inputs: list[dict[str, Any]] = []
        self.lora_names: list[str] = []  # in the order in which they came in

    @property
    def is_over(self) -> bool:
        """All requests are gone and all inputs are used, or max_steps is reached."""
        step = self.engine.step_index
        if step >= self.workload.max_steps:
            return True
        used = step > self.workload.last_input_step
        return used and not self.engine.has_unfinished_requests

    def step(self) -> None:
        self.before()
        self.engine.schedule()
        self.engine.run()
        self.middle()
        self.after()

    def before(self) -> None:
        """Operations, aborts, arrivals."""
        step, engine = self.engine.step_index, self.engine
        self.inputs = []
        for op in self.workload.ops:
            if op.step == step:
                self.inputs.append(self._operate(op))
        self.inputs += self._aborts(step, "before")
        for place, request in enumerate(self.workload.requests):
            if request.arrival_step == step:
                self._add(request, place)
                self.inputs.append({"op": "add", "id": request.id})
        assert engine.step_index == step

    def middle(self) -> None:
        """Aborts while the model runs."""
        self.mid_inputs = self._aborts(self.engine.step_index, "mid")

    def after(self) -> None:
        """Update, then new drafts for whoever got a token and lives."""
        self.engine.update(end_step=False)
        self.after_update()

    def after_update(self) -> None:
        """Draft for the next step and close this one."""
        self.drafts = []
        if self.workload.config.spec is not None:
            for output in self.engine.outputs:
                if output.finish_reason is None:
                    request = self.engine.scheduler.requests[output.request_id]
                    drafts = self.runner.draft(output.request_id, request.num_output_tokens)
                    self.engine.scheduler.set_drafts(output.request_id, drafts)
                    self.drafts.append((output.request_id, drafts))
        self.engine.end_step()

    def _operate(self, op: Operation) -> dict[str, Any]:
        if op.op != "reset_prefix_cache":
            raise ConfigError(f"ops: {op.op!r} at step {op.step} is unknown")
        forced = bool(op.reset_running_requests)
        result = self.engine.reset_prefix_cache(reset_running_requests=forced)
        given = {"step": op.step, "op": op.op, "reset_running_requests": op.reset_running_requests}
        if op.reset_running_requests is None:
            del given["reset_running_requests"]
        return {**given, "ok": result.ok, "preempted": result.preempted}

    def _aborts(self, step: int, phase: str) -> list[dict[str, Any]]:
        done = []
        for request in self.workload.requests:
            if request.abort_step == step and request.abort_phase == phase:
                ok = self.engine.abort(request.id, phase=phase)
                done.append({"op": "abort", "id": request.id, "phase": phase, "ok": ok})
        return done

    def _add(self, request: ScriptedRequest, place: int) -> None:
        arrival = request.arrival_time
        if request.lora_name and request.lora_name not in self.lora_names:
            self.lora_names.append(request.lora_name)
        self.engine.add_request(
            request.id,
            request.prompt,
            sampling=SamplingParams(max_tokens=len(request.output), ignore_eos=True),
            arrival_time=request.arrival_step + 1e-6 * place if arrival is None else arrival,
            priority=request.priority,
            cache_salt=request.cache_salt,
            lora_name=request.lora_name,
            skip_reading_prefix_cache=request.skip_reading_prefix_cache,
        )

    def run(self) -> Iterator[int]:
        """Step to the end; yields the index of each finished step."""
        while not self.is_over:
            self.step()
            yield self.engine.step_index - 1
