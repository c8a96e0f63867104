"""A live run without a model, for the tests of the page: letters are tokens, answers are scripted.

It has the shape of engine/sources/live.py, so a test can put it in that module's place.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine.config import EngineConfig, SamplingParams
from engine.core.admission import check_admissible
from engine.core.output import ModelOutput
from engine.core.request import SampledTokens
from engine.engine import Engine
from engine.errors import ConfigError
from engine.sources.branch import Course, course_of, plan_branch
from engine.sources.prompt import Prompt, Tokenized
from engine.sources.resume import Repetition, Rest, check_same, course_again, rest_of
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace

TEMPLATE = ("<|system|>", "You are a helpful assistant.", "<|user|>", "{}", "<|assistant|>")
BYTES_PER_TOKEN = 1000  # letters have no K and V, but a page may ask what they would take
ANSWER = b" This is an answer that never ends, "
SPECIAL = {256: b"<|system|>", 257: b"<|user|>", 258: b"<|assistant|>"}


def load_model(progress: Callable[[str, float], None], **options: Any) -> str:
    progress("loading the fake", 0.5)
    return "fake"


def dtypes_on_offer(model: str, path: str | None) -> tuple[str, ...]:
    """A test that is about them replaces this; "fake:4bit" is a model with its weights in 4 bits."""
    return ()


def load_beside(model: str, path: str | None, *, dtype: str, **options: Any) -> str:
    return f"fake:{dtype}"


class Plan(NamedTuple):
    """engine.core.sizing.KVCachePlan, as far as a page asks."""

    bytes_per_block: int


def plan_for(model: str, block_size: int) -> Plan:
    return Plan(BYTES_PER_TOKEN * block_size)


class Letters:
    """The runner: one token of the answer for everyone who has caught up."""

    eos_token_ids: frozenset[int] = frozenset()
    vocab_size = 259

    def execute(self, output, block_tables, forced=None) -> ModelOutput:
        sampled = {}
        for row in output.scheduled:
            if row.samples:
                letter = ANSWER[row.request.num_output_tokens % len(ANSWER)]
                bytes_ = bytes([letter])
                sampled[row.request.request_id] = SampledTokens(
                    (letter,), text=bytes_.decode(), token_bytes=(bytes_,)
                )
        return ModelOutput(sampled)

    def forget(self, request_id: str) -> None:
        """Nothing is kept."""


class LiveSource:
    """engine.sources.source.LiveRun."""

    def __init__(
        self,
        model: str,
        config: EngineConfig,
        course: Course | None = None,
        *,
        recorded: Trace | None = None,
    ) -> None:
        self.model = model
        self.config = config
        self._course = course or Course()
        self.rest = rest_of(self._course)
        self.pool_bytes = BYTES_PER_TOKEN * config.block_size * config.num_blocks
        name, _, dtype = model.partition(":")
        header = TraceHeader(config=config.to_mapping(), model=name, dtype=dtype or None)
        if recorded is not None:
            check_same(recorded.header, header)
        self.trace = Trace(header) if recorded is None else recorded
        self._repetition = None if recorded is None else Repetition(recorded)
        emit = self.trace.append if self._repetition is None else self._repetition.emit
        self.engine = Engine(config, Letters(), emit=emit)
        self._numbers = itertools.count(len(self._course.added))
        self._course.begin(self.engine)

    @classmethod
    def resume(cls, model: str, trace: Trace, rest: Rest | None = None) -> "LiveSource":
        config = EngineConfig.from_mapping(trace.header.config)
        source = cls(model, config, course_again(trace, rest), recorded=trace)
        source.rest = rest
        return source

    @property
    def has_unfinished_requests(self) -> bool:
        return self.engine.has_unfinished_requests or self._course.has_more(self.engine)

    @property
    def stuck_reason(self) -> str | None:
        return None if self._course.has_more(self.engine) else self.engine.stuck_reason

    @property
    def branch_step(self) -> int | None:
        return self._course.step if self.engine.step_index < self._course.step else None

    def _check_is_back(self) -> None:
        if self._repetition is not None and not self._repetition.is_over:
            raise ConfigError("this run is being brought back: wait until it is there")

    def kv_shape(self, group_id: int) -> None:
        """Letters have no K and V."""

    attention_sizes = None
    path_reason = None

    def tokenize(self, text: str, mode: str, *, allow_special: bool = False) -> Tokenized:
        if mode == "raw" and not text:
            raise ConfigError("the prompt cannot be empty: type at least one character")
        try:
            letters = text.encode()
        except UnicodeEncodeError as error:
            raise ConfigError("the prompt holds half a character") from error
        if mode == "raw":
            return Tokenized(tuple(letters), tuple(bytes([b]) for b in letters), ())
        system = b"You are helpful."
        ids = (256, *system, 257, *letters, 258)
        bytes_ = tuple(SPECIAL.get(id_) or bytes([id_]) for id_ in ids)
        return Tokenized(ids, bytes_, (256, 257, 258))

    def add_request(
        self,
        text: str | Sequence[int],
        *,
        mode: str = "chat",
        sampling: SamplingParams | None = None,
        allow_special: bool = False,
        **options: Any,
    ) -> str:
        self._check_is_back()
        tokenized = self.tokenize(str(text), mode, allow_special=allow_special)
        request_id = f"r{next(self._numbers)}"
        self.engine.add_request(
            request_id,
            tokenized.token_ids,
            sampling=sampling,
            text_fields={
                "prompt_text": text,
                "prompt_mode": mode,
                "prompt_token_bytes": tokenized.token_bytes,
                "special_token_ids": tokenized.special_token_ids,
            },
        )
        return request_id

    def check_prompt(
        self, num_prompt_tokens: int, max_tokens: int, config: EngineConfig | None = None
    ) -> None:
        specs = self.engine.scheduler.kv_cache_manager.specs
        if config is not None:
            specs = [replace(spec, block_size=config.block_size) for spec in specs]
        check_admissible(config or self.config, specs, num_prompt_tokens, max_tokens)

    def abort(self, request_id: str) -> bool:
        self._check_is_back()
        return self.engine.abort(request_id)

    def reset_prefix_cache(self) -> bool:
        self._check_is_back()
        return self.engine.reset_prefix_cache().ok

    def step(self) -> None:
        self._course.take_step(self.engine)

    def branch(
        self,
        cursor: Cursor,
        settings: Mapping[str, Any],
        *,
        prompts: Sequence[Prompt] = (),
        keep_later: bool = False,
        model: str | None = None,
    ) -> "LiveSource":
        plan = plan_branch(self.trace, cursor, settings)

        def tokenize(prompt: Prompt) -> Tokenized:
            return self.tokenize(prompt.text, prompt.mode, allow_special=prompt.allow_special)

        course = course_of(
            self.trace, cursor, plan, prompts=prompts, tokenize=tokenize, keep_later=keep_later
        )
        return LiveSource(model or self.model, plan.config, course)
