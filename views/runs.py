"""A run as a page uses it: a trace to look at, and perhaps an engine that can go on."""

import itertools
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from engine.config import EngineConfig, SamplingParams
from engine.errors import ConfigError, TraceError
from engine.sources.branch import Plan, beginning, branch_step, plan_branch, settings_at
from engine.sources.prompt import Tokenized
from engine.sources.source import LiveRun
from engine.trace.events import INPUT_EVENTS, BlocksTaken
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views.drafts import Branch, Draft, numbers_of, told_longer
from views.examples import Example
from views.figures.time.until import BRANCHED, DONE, RETURNED, Until, find_next
from views.saving import Saving
from views.text import Text
from views.turns import Turns

MAX_STEPS_AT_ONCE = 64
SECONDS_AT_ONCE = 0.2  # then the page is drawn, and others get at the model
NUMBER_BYTES = {"float32": 4}  # of K and V, by the dtype of the weights; of all others: 2
PAUSE_S = 0.001  # between two steps: a lock is not fair, whoever waits for it gets it now
_RUN_IDS = itertools.count(1)  # in this process, so that a page can tell one run from the next


class Pursued(NamedTuple):
    """How far a run came on its way to what somebody waits for."""

    cursor: Cursor
    since: Cursor  # what is in front of it has been searched
    is_found: bool = False
    is_over: bool = False  # the run has no more to give


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
        script: Example | None = None,
    ) -> None:
        """`script`: what a run without an engine repeats; `lock`: held while the model computes."""
        self.run_id = next(_RUN_IDS)
        self.trace = trace
        self.config = config
        self.live = live
        self.script = script
        self.link: dict[str, str] = {}  # what finds it again; empty where nothing does
        self.past_links: list[dict[str, str]] = []  # what found it before
        self.saving: Saving | None = None
        self.came_back = False  # from its file: an engine behind it has the past to repeat
        self.became_copy = False  # goes on under another link than it came by: not said yet
        self.refusal: str | None = None  # why no engine goes on with it
        self.drafts: dict[str, Draft] = {}  # request id -> what was typed for it
        self.num_interventions = 0  # aborts and resets: each stops the player
        self.lock = lock
        self._stuck_reason = stuck_reason

    @property
    def asked(self) -> list[Draft]:
        """What was typed for this run, in the order of the requests that came of it."""
        return list(self.drafts.values())

    @property
    def can_go_on(self) -> bool:
        """Whether the engine behind this run has another step to give."""
        return (
            self.live is not None
            and self.live.has_unfinished_requests
            and self.live.stuck_reason is None
        )

    @property
    def can_be_branched(self) -> bool:
        """Whether a run beside it can repeat its past."""
        return self.live is not None or self.script is not None

    @property
    def is_coming_back(self) -> bool:
        """Whether its engine still repeats what its file holds: nothing can be asked of it yet."""
        return self.came_back and self.branch_step is not None

    def keep(self) -> None:
        """Save what is new; its link is the one under which it was saved last."""
        if self.saving is None:
            return
        self.saving.keep()
        link = self.saving.link
        if link != self.link:
            self.past_links += [self.link] if self.link else []
            self.became_copy = "run" in self.link
            self.link = link

    def has_link(self, link: dict[str, str]) -> bool:
        return link == self.link or link in self.past_links

    def bytes_per_block(self, block_size: int, dtype: str | None = None) -> int:
        """What a block of another size would take with the model of this run, perhaps in another dtype."""
        assert self.live is not None, "a script has no keys and values"
        num_tokens = self.config.num_blocks * self.config.block_size
        held = self.trace.header.dtype
        now, then = (NUMBER_BYTES.get(each or "", 2) for each in (held, dtype or held))
        return self.live.pool_bytes // num_tokens * block_size * then // now

    @property
    def stuck_reason(self) -> str | None:
        """One sentence when nothing can ever be scheduled again although requests wait."""
        return self._stuck_reason if self.live is None else self.live.stuck_reason

    def kv_shape(self, group_id: int) -> tuple[tuple[int, ...], int] | None:
        """Layers and KV heads of a group's cache tensors; None where there are none to look into."""
        return None if self.live is None else self.live.kv_shape(group_id)

    def peek_kv(
        self, block_id: int, layer: int, head: int
    ) -> tuple[list[list[float]], list[list[float]]]:
        """What the cache tensors hold now (`LiveRun.peek_kv`)."""
        assert self.live is not None, "a recorded run has no cache tensors"
        return self.live.peek_kv(block_id, layer, head)

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

    def branch_begins_at(self, cursor: Cursor) -> int:
        """The step before which a branch from here would begin."""
        return branch_step(self.trace, cursor)

    def settings_at(self, cursor: Cursor) -> EngineConfig:
        """Those that hold at this moment: in a branch some of them change on the way."""
        return settings_at(self.trace, cursor)

    def plan(self, cursor: Cursor, branch: Branch, text: Text) -> Plan:
        """What a branch from here would mean; ConfigError if its settings are wrong."""
        return plan_branch(self.trace, cursor, numbers_of(branch.settings, text))

    def is_inside_a_step(self, cursor: Cursor) -> bool:
        """Whether a branch from here would do anew what a step has begun."""
        step, sub_step = self.trace.clamp(cursor)
        begins = beginning(self.trace, step)
        return branch_step(self.trace, cursor) == step and Cursor(step, sub_step) > begins

    def has_inputs_after(self, cursor: Cursor) -> bool:
        """Whether the run was given anything that a branch from here would leave out."""
        return any(
            isinstance(e, INPUT_EVENTS)
            for e in self.trace.events_from(len(self.trace.events_before(cursor)))
        )

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
        self.drafts[request_id] = draft
        self.keep()
        return request_id

    def num_prompt_tokens(self, request_id: str) -> int:
        return self.trace.at(self.trace.last).requests[request_id].num_prompt_tokens

    def why_refused(self, draft: Draft, num_tokens: int, text: Text) -> str:
        """The sentence that adding this draft would get; empty where it would be taken."""
        assert self.live is not None, "a script cannot be asked"
        try:
            self.live.check_prompt(num_tokens, draft.sampling(text).max_tokens)
        except ConfigError as error:
            return text.error(told_longer(draft, error, text))
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
        self.keep()
        return self.trace.last

    def reset_prefix_cache(self) -> Cursor:
        """Ask the engine to forget all hashes; the cursor that shows its answer."""
        assert self.live is not None, "a script cannot be asked"
        self.live.reset_prefix_cache()
        self.num_interventions += 1
        self.keep()
        return self.trace.last

    def advance(self) -> bool:
        """Ask the engine for one more step; False when it has none to give."""
        if not self.can_go_on or self.live is None:
            return False
        try:
            with self._turn():
                self.live.step()
        except TraceError as error:  # what was saved does not repeat itself: no engine can go on
            self.live, self.refusal = None, error.sentence
            raise
        self.keep()
        return True

    def _turn(self) -> AbstractContextManager[Any]:
        """Held while the model computes one step of this run."""
        if not isinstance(self.lock, Turns):
            return self.lock or nullcontext()
        requests = self.trace.at(self.trace.last).requests.values()
        is_long = any(
            each.num_computed_tokens < each.num_prompt_tokens - 1
            for each in requests
            if not each.is_finished
        )
        return self.lock.turn(is_long=is_long)

    def grow(self) -> bool:
        """As `advance`, but one step has to make the trace longer."""
        return not self.is_coming_back and self.advance()

    @property
    def branch_step(self) -> int | None:
        """Where this branch begins, as long as it still repeats what came before."""
        return None if self.live is None else self.live.branch_step

    def pursue(self, until: Until, since: Cursor) -> Pursued:
        """Go on until it happens, or for one share of work. First what has run already is searched."""
        ends_at = time.monotonic() + SECONDS_AT_ONCE
        for _ in range(MAX_STEPS_AT_ONCE):
            found = self._find(until, since)
            if found is not None:
                return Pursued(found, since, is_found=True)
            since = self.trace.last
            if not self.advance():
                return Pursued(since, since, is_over=True)
            if time.monotonic() > ends_at:
                break
            if self.lock is not None:
                time.sleep(PAUSE_S)
        return Pursued(self.trace.last, since)

    def _find(self, until: Until, since: Cursor) -> Cursor | None:
        if until.kind in (BRANCHED, RETURNED):
            return self.trace.last if self.branch_step is None else None
        if until.kind == DONE and self.can_go_on:
            return None  # whoever is there may finish, and more may come
        return find_next(self.trace, since, until)
