"""What holds in every picture, whatever the workload. Each sentence carries the numbers.

`check` may be called wherever a sub-step ends; what must hold only between schedule() calls is left
out while one is going on.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from engine.trace.entries import ScheduledRow
from engine.trace.state import NULL_BLOCK_ID, State, cache_key


def check(state: State) -> None:
    """AssertionError with all violations, if there are any."""
    found = violations(state)
    assert not found, f"step {state.step}: " + "; ".join(found)


def violations(state: State) -> list[str]:
    """One sentence for each thing that cannot be."""
    return [sentence for rule in RULES for sentence in rule(state)]


def counts_add_up(state: State) -> Iterator[str]:
    free, used = state.num_free_blocks, sum(b.ref_cnt > 0 for b in state.blocks.values())
    if free + used + 1 != state.num_blocks:
        yield f"{free} free + {used} used + 1 null block are not {state.num_blocks}"
    usage = used / (state.num_blocks - 1)
    if abs(state.usage - usage) > 1e-9:
        yield f"usage is {state.usage}, but {used} of {state.num_blocks - 1} blocks are in use"


def references_are_tables(state: State) -> Iterator[str]:
    """The reference count of a block is the number of table entries that name it."""
    held = Counter(
        block_id
        for request in state.requests.values()
        for table in request.block_tables
        for block_id in table
        if block_id != NULL_BLOCK_ID
    )
    for block_id in held.keys() - state.blocks.keys():
        yield f"block {block_id} is in a table, but was never taken"
    for block_id, block in state.blocks.items():
        if block.ref_cnt != held[block_id]:
            yield f"block {block_id} has ref_cnt {block.ref_cnt}, but {held[block_id]} entries"


def queue_holds_the_unreferenced(state: State) -> Iterator[str]:
    """`at_head`, never-used blocks, `freed`: no block twice, and exactly those with ref_cnt 0."""
    freed = state.freed.keys() | state.at_head
    for block_id, block in state.blocks.items():
        if block_id >= state.next_unused or block_id <= NULL_BLOCK_ID:
            yield f"block {block_id} was used, but never-used blocks begin at {state.next_unused}"
        if (block_id in freed) != (block.ref_cnt == 0):
            where = "in" if block_id in freed else "not in"
            yield f"block {block_id} has ref_cnt {block.ref_cnt} and is {where} the free queue"
    for block_id in freed - state.blocks.keys():
        yield f"block {block_id} is in the free queue as freed, but was never used"
    if len(freed) != len(state.freed) + len(state.at_head):
        yield f"a block stands twice in the free queue: {state.at_head} at its head, {[*state.freed]}"
    for block_id in state.at_head:
        if state.is_cached(block_id):
            yield f"block {block_id} stands at the head of the free queue with a hash"
    if len(state.blocks) != state.next_unused - 1:
        yield f"{len(state.blocks)} blocks were used, but {state.next_unused - 1} left the queue"


def hashes_agree(state: State) -> Iterator[str]:
    """The prefix cache and the blocks name each other."""
    listed: dict[int, str] = {}
    for listed_key, block_ids in state.cached.items():
        if not block_ids or len(set(block_ids)) != len(block_ids):
            yield f"key {listed_key} lists blocks {block_ids}"
        listed.update(dict.fromkeys(block_ids, listed_key))
    for block_id, block in state.blocks.items():
        key = None if block.block_hash is None else cache_key(block.block_hash, block.group_id)
        if listed.get(block_id) != key:
            yield f"block {block_id} has key {key}, but the cache lists it at {listed.get(block_id)}"
        size = state.group_block_sizes[block.group_id]
        if len(block.token_ids) != (0 if key is None else size):
            yield f"block {block_id} of {size} tokens has {len(block.token_ids)} tokens, key {key}"
        if block.kv_valid and (key is None or block.num_written_slots != size):
            yield f"block {block_id} is valid with {block.num_written_slots} of {size} slots written"


def budget_is_kept(state: State) -> Iterator[str]:
    total = sum(row.num_scheduled_tokens for row in state.scheduled.values())
    if total > state.token_budget:
        yield f"{total} tokens are scheduled with a budget of {state.token_budget}"


def requests_are_in_one_place(state: State) -> Iterator[str]:
    """Waiting or preempted: once in the queue. Running: once in the list. Finished: in neither."""
    waiting, running = Counter(state.waiting), Counter(state.running)
    for request_id in (waiting | running).keys() - state.requests.keys():
        yield f"request {request_id} is unknown"
    for request_id, request in state.requests.items():
        place = (waiting[request_id], running[request_id])
        expected = (0, 0) if request.is_finished else (0, 1)
        expected = (1, 0) if request.status in ("WAITING", "PREEMPTED") else expected
        if place != expected:
            yield (
                f"request {request_id} is {request.status} and stands {place[0]} times in waiting, "
                f"{place[1]} times in running"
            )


def tables_cover_the_computed(state: State) -> Iterator[str]:
    """Running requests hold blocks for all computed tokens; all others hold none."""
    is_scheduling = state.in_step and not state.is_scheduled
    for request_id, request in state.requests.items():
        for table, size in zip(request.block_tables, state.group_block_sizes, strict=True):
            if request.num_computed_tokens > len(table) * size and not request.is_finished:
                yield (
                    f"request {request_id} has computed {request.num_computed_tokens} tokens, "
                    f"but holds {len(table)} blocks of {size}"
                )
            if table and request.status != "RUNNING" and not is_scheduling:
                yield f"request {request_id} is {request.status} and holds {len(table)} blocks"


def writes_hurt_nobody(state: State) -> Iterator[str]:
    """Asked between schedule() and the model: what is about to be written belongs to its writer.

    A block is written by the request that took it last, at the place for which it was taken, by one
    row of the batch alone, and never again once its K and V are valid in the cache. Then whoever
    shares it found it under its hash, and relies on what the writer writes, not on older content.
    """
    if not state.is_scheduled or state.is_written or state.is_updated:
        return
    writers: dict[int, str] = {}
    for row, index, block_id in _blocks_to_write(state):
        writer = writers.setdefault(block_id, row.request_id)
        if writer != row.request_id:
            yield f"block {block_id} is written by {writer} and by {row.request_id} in one step"
        block = state.blocks.get(block_id)
        if block is None or (block.request_id, block.logical_index) != (row.request_id, index):
            taken = "nobody" if block is None else f"{block.request_id} at {block.logical_index}"
            yield f"{row.request_id} writes block {block_id} at {index}, taken by {taken}"
        elif block.kv_valid:
            yield f"{row.request_id} overwrites block {block_id}, which is valid in the cache"
        elif block.ref_cnt > 1 and block.block_hash is None:
            yield f"{row.request_id} writes block {block_id}, shared by {block.ref_cnt}, unhashed"


def reads_are_computed(state: State) -> Iterator[str]:
    """With `recompute_invalid_hits`: no row attends to K and V that nobody computes."""
    if not state.config.get("recompute_invalid_hits") or not state.is_written:
        return
    for row in state.scheduled.values():
        request = state.requests[row.request_id]
        end = request.num_computed_tokens  # without the drafts that turned out wrong
        for table, size in zip(request.block_tables, state.group_block_sizes, strict=True):
            for index, block_id in enumerate(table[: -(-row.num_computed_tokens // size)]):
                needed = min(size, end - index * size)
                block = state.blocks.get(block_id)
                if block is not None and block.num_written_slots < needed:
                    yield (
                        f"{row.request_id} reads block {block_id} at {index}: "
                        f"{block.num_written_slots} of {needed} slots are written"
                    )


def _blocks_to_write(state: State) -> Iterator[tuple[ScheduledRow, int, int]]:
    """(row, logical index, block id) of every block that this step's tokens go into."""
    for row in state.scheduled.values():
        start, end = row.num_computed_tokens, row.num_computed_tokens + row.num_scheduled_tokens
        request = state.requests[row.request_id]
        for table, size in zip(request.block_tables, state.group_block_sizes, strict=True):
            for index in range(start // size, -(-end // size)):
                yield row, index, table[index] if index < len(table) else NULL_BLOCK_ID


RULES: tuple[Callable[[State], Iterator[str]], ...] = (
    counts_add_up,
    references_are_tables,
    queue_holds_the_unreferenced,
    hashes_agree,
    budget_is_kept,
    requests_are_in_one_place,
    tables_cover_the_computed,
    writes_hurt_nobody,
    reads_are_computed,
)
