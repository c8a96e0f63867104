"""Who computes how many tokens in this step.

There is no prefill phase and no decode phase: every request has tokens that are known and tokens
that are computed, and each step lets some of them catch up within the token budget.

vLLM 0.17.1: v1/core/sched/scheduler.py Scheduler
"""

from engine.config import EngineConfig
from engine.core.batch import Batch
from engine.core.coordinator import Hit
from engine.core.kv_cache_manager import Blocks, KVCacheManager
from engine.core.output import (
    ModelOutput,
    RequestOutput,
    ScheduledRequest,
    SchedulerOutput,
)
from engine.core.request import FINISH_REASONS, Request, RequestStatus
from engine.core.request_queue import REQUEST_QUEUES
from engine.trace.events import (
    AdmissionStopped,
    DraftsSet,
    Emit,
    RequestAdmitted,
    RequestFinished,
    RequestPreempted,
    RequestQueued,
    RequestScheduled,
    RequestSetAside,
    RequestUnscheduled,
    StepScheduled,
    ignore,
)


class Scheduler:
    """Running list, waiting queue, and the rules that move requests between them (SEMANTICS 7, 8).

    Invariant: a request is in `running`, in `waiting`, or gone.
    """

    def __init__(self, config: EngineConfig, *, emit: Emit = ignore) -> None:
        self.config = config
        self.emit = emit
        self.max_num_batched_tokens = config.max_num_batched_tokens
        self.max_num_seqs = config.max_num_seqs
        self.long_prefill_token_threshold = config.long_prefill_token_threshold
        self.num_lookahead_tokens = config.spec.num_lookahead_tokens if config.spec else 0
        self.is_priority = config.policy == "priority"
        self.kv_cache_manager = KVCacheManager(config, emit=emit)
        self.requests: dict[str, Request] = {}  # in order of arrival
        self.running: list[Request] = []
        self.waiting = REQUEST_QUEUES[config.policy]()

    # Inputs -----------------------------------------------------------------------------------

    def add_request(self, request: Request) -> None:
        request.max_total_tokens = min(request.max_total_tokens, self.config.max_model_len)
        self.requests[request.request_id] = request
        self.emit(RequestQueued(request.request_id, self.waiting.add(request)))

    def abort(self, request_id: str) -> Request | None:
        """Take the request out; None if it is unknown or finished. Free it with `free`."""
        request = self.requests.get(request_id)
        if request is None:
            return None
        if request.status is RequestStatus.RUNNING:
            self.running.remove(request)
        else:
            self.waiting.remove(request)
        request.status = RequestStatus.FINISHED_ABORTED
        return request

    def free(self, request: Request) -> None:
        """Release the blocks of a finished request and forget it."""
        self.kv_cache_manager.free(request)
        del self.requests[request.request_id]

    def preempt_all(self) -> list[str]:
        """Preempt every running request, last to first, so that they keep their order."""
        preempted = []
        while self.running:
            request = self.running.pop()
            self._preempt(request, None)
            preempted.append(request.request_id)
        return preempted

    def set_drafts(self, request_id: str, token_ids: tuple[int, ...]) -> None:
        """Guessed tokens for the request's next step."""
        self.requests[request_id].spec_token_ids = token_ids
        self.emit(DraftsSet(request_id, token_ids))

    # Schedule ---------------------------------------------------------------------------------

    def schedule(self, step: int) -> SchedulerOutput:
        """Choose the batch of this step, and take and cache its blocks, before the model runs."""
        batch = Batch(self.max_num_batched_tokens)
        self._schedule_running(batch)
        if batch.preempted:
            self._note_stop("preempted")
        else:
            self._admit_waiting(batch)
        scheduled = list(batch.rows.values())
        common: tuple[int, ...] = tuple(0 for _ in self.kv_cache_manager.managers)
        if self.running:
            first_id = self.running[0].request_id
            common = self.kv_cache_manager.get_num_common_prefix_blocks(first_id)
        total = 0
        for row in scheduled:
            row.request.num_computed_tokens += row.num_scheduled_tokens
            total += row.num_scheduled_tokens
        self.emit(StepScheduled(step, total, common))
        return SchedulerOutput(scheduled, batch.preempted, common, total)

    def _schedule_running(self, batch: Batch) -> None:
        """Serve running requests in list order; preempt when blocks are short."""
        threshold = self.long_prefill_token_threshold
        max_computed = self.config.max_model_len - 1
        allocate, emit = self.kv_cache_manager.allocate_slots, self.emit
        is_recorded = emit is not ignore  # most steps of most requests have no other event
        block_ids: Blocks | None
        no_blocks = self.kv_cache_manager.no_blocks
        index = 0
        while index < len(self.running) and batch.budget > 0:
            request = self.running[index]
            computed = request.num_computed_tokens
            count = len(request.token_ids) + len(request.spec_token_ids) - computed
            if count > 1:
                if 0 < threshold < count:
                    count = threshold
                count = min(count, batch.budget)
            if computed + count > max_computed:
                count = max_computed - computed
            if count == 0:
                index += 1
                continue
            if computed + count <= request.num_quiet_tokens:
                block_ids = no_blocks  # most steps of a decode
            else:
                block_ids = allocate(request, count, None, self.num_lookahead_tokens)
            if block_ids is None:
                block_ids, num_moved = self._preempt_until_it_fits(request, count, batch)
                index -= num_moved
            if block_ids is None:
                return  # it preempted itself, and that ends the loop
            drafts = _take_drafts(request, count) if request.spec_token_ids else ()
            request_id = request.request_id
            new_ids = None if block_ids is no_blocks else block_ids
            batch.rows[request_id] = ScheduledRequest(
                request, "running", count, computed, new_ids, drafts
            )
            batch.budget -= count
            if is_recorded:
                emit(RequestScheduled(request_id, count, computed, drafts))
            index += 1

    def _preempt_until_it_fits(
        self, request: Request, count: int, batch: Batch
    ) -> tuple[Blocks | None, int]:
        """Preempt victims until `request` gets its blocks; None when it became one itself.

        Also how many victims had been scheduled in this step already: as many places the running
        list has moved back.
        """
        num_unscheduled = 0
        block_ids = None
        while block_ids is None:
            victim = self._choose_victim()
            if batch.unschedule(victim):
                num_unscheduled += 1
                self.kv_cache_manager.pool.cancel_writes(victim.request_id)
                self.emit(RequestUnscheduled(victim.request_id, batch.given_back))
            self._preempt(victim, request.request_id)
            batch.preempted.append(victim.request_id)
            if victim is request:
                return None, num_unscheduled
            block_ids = self.kv_cache_manager.allocate_slots(
                request, count, None, self.num_lookahead_tokens
            )
        return block_ids, num_unscheduled

    def _choose_victim(self) -> Request:
        """Remove from running the one to preempt: the last, or the first of the worst rank."""
        if not self.is_priority:
            return self.running.pop()
        victim = max(self.running, key=lambda request: (request.priority, request.arrival_time))
        self.running.remove(victim)
        return victim

    def _preempt(self, request: Request, for_request_id: str | None) -> None:
        """Take everything computed away from the request; it starts over, helped by the cache."""
        request.status = RequestStatus.PREEMPTED
        request.num_computed_tokens = 0
        request.spec_token_ids = ()
        request.num_preemptions += 1
        self.emit(RequestPreempted(request.request_id, for_request_id))
        self.kv_cache_manager.free(request)
        self.emit(RequestQueued(request.request_id, self.waiting.give_back(request)))

    def _admit_waiting(self, batch: Batch) -> None:
        """Admit from the head of the waiting queue until something does not fit."""
        set_aside: list[Request] = []
        loras = {row.request.lora_name for row in batch.rows.values() if row.request.lora_name}
        max_loras = self.config.max_loras
        while self.waiting and batch.budget > 0 and len(self.running) < self.max_num_seqs:
            request = self.waiting.peek()
            adapter = request.lora_name
            if max_loras and adapter and len(loras) >= max_loras and adapter not in loras:
                set_aside.append(self.waiting.pop())
                self.emit(RequestSetAside(request.request_id))
                continue
            hit = self.kv_cache_manager.get_computed_blocks(request)
            if not self._admit(request, hit, batch):
                break
            if adapter:
                loras.add(adapter)
        self.waiting.put_aside_back(set_aside)

    def _admit(self, request: Request, hit: Hit, batch: Batch) -> bool:
        """Move the head of the waiting queue to running; False if it does not fit now."""
        count = request.num_tokens - hit.num_tokens
        if 0 < self.long_prefill_token_threshold < count:
            count = self.long_prefill_token_threshold
        if not self.config.enable_chunked_prefill and count > batch.budget:
            self._note_stop("budget")
            return False
        count = min(count, batch.budget)
        if self.kv_cache_manager.allocate_slots(request, count, hit) is None:
            self._note_stop("blocks")
            return False
        self.waiting.pop()
        self.running.append(request)
        resumed = request.status is RequestStatus.PREEMPTED
        request.status = RequestStatus.RUNNING
        request.num_computed_tokens = hit.num_tokens
        if request.num_cached_tokens < 0:
            request.num_cached_tokens = hit.num_tokens
        request_id = request.request_id
        tables = self.kv_cache_manager.get_block_tables(request_id)
        batch.rows[request_id] = ScheduledRequest(
            request,
            "resumed" if resumed else "new",
            count,
            hit.num_tokens,
            tuple(tuple(table) for table in tables),
        )
        batch.budget -= count
        self.emit(RequestAdmitted(request_id, hit.num_tokens, resumed))
        self.emit(RequestScheduled(request_id, count, hit.num_tokens))
        return True

    def _note_stop(self, reason: str) -> None:
        if self.waiting:
            self.emit(AdmissionStopped(reason, self.waiting.peek().request_id))

    # Update -----------------------------------------------------------------------------------

    def update_from_output(
        self, output: SchedulerOutput, model_output: ModelOutput
    ) -> list[RequestOutput]:
        """Append the sampled tokens; free who is finished at once. What each request gained."""
        outputs: list[RequestOutput] = []
        any_finished = False
        sampled, is_running = model_output.sampled, RequestStatus.RUNNING
        for row in output.scheduled:
            request = row.request
            request_id = request.request_id
            tokens = sampled.get(request_id)
            if tokens is None or request.status is not is_running:
                continue  # still in prefill, or aborted while the model ran
            num_rejected = 0
            if row.spec_token_ids:
                num_rejected = len(row.spec_token_ids) + 1 - len(tokens.token_ids)
                request.num_computed_tokens -= num_rejected
            kept = request.append_sampled(tokens, num_rejected)
            reason = None
            if request.status is not is_running:
                any_finished = True
                reason = FINISH_REASONS[request.status]
                self.emit(RequestFinished(request_id, reason))
                self.free(request)
            outputs.append(RequestOutput(request_id, kept, reason, request.num_cached_tokens))
        if any_finished:
            self.running = [r for r in self.running if r.status is is_running]
        return outputs


def _take_drafts(request: Request, count: int) -> tuple[int, ...]:
    """As many drafts as fit into `count` scheduled tokens; the rest is dropped."""
    num_drafts = max(0, count + request.num_computed_tokens - request.num_tokens)
    drafts, request.spec_token_ids = request.spec_token_ids[:num_drafts], ()
    return drafts
