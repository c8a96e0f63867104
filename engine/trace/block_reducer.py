"""What the events about blocks mean: the pool, its free queue, the tables and the prefix cache."""

from itertools import islice

from engine.errors import TraceError
from engine.trace.entries import BlockState, RequestState
from engine.trace.events import (
    BlocksCached,
    BlocksFreed,
    BlocksTaken,
    BlocksTouched,
    CacheReset,
    HolesMade,
    SlotsWritten,
)
from engine.trace.state import NULL_BLOCK_ID, State, cache_key


def blocks_taken(state: State, event: BlocksTaken) -> None:
    table = _own_table(state, event.request_id, event.group_id)
    _leave_head(state, event.block_ids)
    evicted = tuple(id_ for id_ in event.block_ids if state.is_cached(id_))
    if evicted != event.evicted_block_ids:
        raise TraceError.of(
            "refused.evicted",
            "blocks {blocks} were evicted, but cached are {cached}",
            blocks=event.evicted_block_ids,
            cached=evicted,
        )
    for block_id in evicted:
        _leave_cache(state, block_id)
    for logical_index, block_id in enumerate(event.block_ids, len(table)):
        state.blocks[block_id] = BlockState(
            state.owner,
            ref_cnt=1,
            group_id=event.group_id,
            request_id=event.request_id,
            logical_index=logical_index,
        )
    table.extend(event.block_ids)


def blocks_touched(state: State, event: BlocksTouched) -> None:
    table = _own_table(state, event.request_id, event.group_id)
    for block_id in event.block_ids:
        if block_id == NULL_BLOCK_ID:
            continue
        if block_id not in state.blocks:
            raise TraceError.of(
                "refused.touched", "block {block} was touched, but was never used", block=block_id
            )
        block = state.own_block(block_id)
        if block.ref_cnt == 0:
            del state.freed[block_id]
            state.num_left_freed += 1
        block.ref_cnt += 1
    table.extend(event.block_ids)


def holes_made(state: State, event: HolesMade) -> None:
    table = _own_table(state, event.request_id, event.group_id)
    holes = [table[index] for index in event.logical_indices if 0 <= index < len(table)]
    if holes != list(event.block_ids):
        raise TraceError.of(
            "refused.holes",
            "blocks {blocks} left the window of {request}, but its table holds {held} at {places}",
            blocks=event.block_ids,
            request=event.request_id,
            held=holes,
            places=event.logical_indices,
        )
    for index in event.logical_indices:
        table[index] = NULL_BLOCK_ID
    _release(state, event.block_ids, event.to_head)


def blocks_cached(state: State, event: BlocksCached) -> None:
    held = _own_table(state, event.request_id, event.group_id)
    first, block_ids, hashes = event.first_logical_index, event.block_ids, event.block_hashes
    size = state.group_block_sizes[event.group_id]
    if not len(event.token_ids) == size * len(block_ids) == size * len(hashes):
        raise TraceError.of(
            "refused.cached",
            "{blocks} blocks of {size} tokens were cached with {hashes} hashes and {tokens} tokens",
            blocks=len(block_ids),
            size=size,
            hashes=len(hashes),
            tokens=len(event.token_ids),
        )
    if tuple(held[first : first + len(block_ids)]) != block_ids:
        raise TraceError.of(
            "refused.not_held",
            "{request} does not hold blocks {blocks} from place {place}",
            request=event.request_id,
            blocks=block_ids,
            place=first,
        )
    parent = event.parent_block_hash
    for place, block_id in enumerate(block_ids):
        if block_id != NULL_BLOCK_ID:
            block = state.own_block(block_id)
            if block.block_hash is not None:
                raise TraceError.of(
                    "refused.has_hash",
                    "block {block} was cached while it has a hash already",
                    block=block_id,
                )
            block.block_hash, block.parent_block_hash = hashes[place], parent
            block.token_ids = event.token_ids[place * size : (place + 1) * size]
            key = cache_key(hashes[place], event.group_id)
            state.cached[key] = (*state.cached.get(key, ()), block_id)
        parent = hashes[place]


def blocks_freed(state: State, event: BlocksFreed) -> None:
    """Empties the tables whose blocks these are, group by group, each from its tail."""
    request = state.own_request(event.request_id)
    place = 0
    for table in request.block_tables:
        held = tuple(id_ for id_ in reversed(table) if id_ != NULL_BLOCK_ID)
        if event.block_ids[place : place + len(held)] == held:
            place += len(held)
            table.clear()
    if place != len(event.block_ids):
        raise TraceError.of(
            "refused.no_tail",
            "{request} gave up blocks {blocks} that are not the tail of its tables {tables}",
            request=event.request_id,
            blocks=event.block_ids[place:],
            tables=str(request.block_tables),
        )
    _release(state, event.block_ids, event.to_head)


def cache_reset(state: State, event: CacheReset) -> None:
    if not event.ok:
        return
    if state.num_used_blocks:
        raise TraceError.of(
            "refused.reset", "the cache was reset with {n} blocks in use", n=state.num_used_blocks
        )
    for block_ids in state.cached.values():
        for block_id in block_ids:
            block = state.own_block(block_id)
            block.block_hash = block.parent_block_hash = None
            block.token_ids, block.kv_valid = (), False
    state.cached.clear()


def slots_written(state: State, event: SlotsWritten) -> None:
    if not state.is_scheduled or state.is_written:
        raise TraceError.of(
            "refused.written",
            "slots were written outside of the run of step {step}",
            step=state.step,
        )
    sizes = state.group_block_sizes
    for request_id, _, num_scheduled_tokens, start, _ in state.scheduled.values():
        end = start + num_scheduled_tokens
        for table, size in zip(state.requests[request_id].block_tables, sizes):
            _write(state, table, size, start=start, end=end)
    for block_id in event.valid_block_ids:
        block = state.own_block(block_id)
        if block.block_hash is None:
            raise TraceError.of(
                "refused.valid", "block {block} became valid, but is not cached", block=block_id
            )
        block.kv_valid = True
    state.is_written = True


def reject_slots(state: State, request: RequestState, start: int, end: int) -> None:
    """What wrong drafts left in the slots from `start` to `end - 1` counts as never written."""
    for table, size in zip(request.block_tables, state.group_block_sizes, strict=True):
        for index in range(start // size, -(-end // size)):
            block = state.own_block(table[index])
            block.num_written_slots = min(block.num_written_slots, max(0, start - index * size))


def _write(state: State, table: list[int], size: int, *, start: int, end: int) -> None:
    """The slots of the positions `start` to `end - 1` are written, in one block or in several."""
    first, last = start // size, (end - 1) // size
    if last >= len(table):
        raise TraceError.of(
            "refused.few_blocks",
            "tokens up to {end} were computed, but only {n} blocks are held",
            end=end,
            n=len(table),
        )
    for block_id in table[first : last + 1]:
        if block_id == NULL_BLOCK_ID:
            raise TraceError.of(
                "refused.null_block",
                "tokens {start} to {last} were written into the null block",
                start=start,
                last=end - 1,
            )
        block = state.blocks[block_id]
        if block.owner != state.owner:
            block = state.own_block(block_id)
        num_slots = size if first < last else end - last * size
        if num_slots > block.num_written_slots:
            block.num_written_slots = num_slots
        first += 1


def _own_table(state: State, request_id: str, group_id: int) -> list[int]:
    tables = state.own_request(request_id).block_tables
    if not 0 <= group_id < len(tables):
        raise TraceError.of(
            "refused.group",
            "there is no cache group {group}: the groups are 0 to {last}",
            group=group_id,
            last=len(tables) - 1,
        )
    return tables[group_id]


def _leave_head(state: State, block_ids: tuple[int, ...]) -> None:
    """What was put at the head stands first in the free queue, then the never-used, then the freed."""
    head = tuple(islice(state.free_queue(), len(block_ids)))
    if head != block_ids:
        raise TraceError.of(
            "refused.not_head",
            "blocks {blocks} were taken, but the free queue begins with {head}",
            blocks=block_ids,
            head=head,
        )
    num_at_head = min(len(block_ids), len(state.at_head))
    if num_at_head:
        del state.at_head[-num_at_head:]
    num_unused = min(len(block_ids) - num_at_head, state.num_blocks - state.next_unused)
    state.next_unused += num_unused
    for block_id in block_ids[num_at_head + num_unused :]:
        del state.freed[block_id]
        state.num_left_freed += 1
    if state.num_left_freed > max(256, len(state.freed) >> 4):
        # A dict keeps the places of deleted keys, and looking at its first key walks over them.
        state.freed, state.num_left_freed = dict(state.freed), 0


def _release(state: State, block_ids: tuple[int, ...], to_head: tuple[int, ...]) -> None:
    """One reference less each; who has none left joins the end of the free queue, or its head."""
    for block_id in block_ids:
        block = state.own_block(block_id)
        if block.ref_cnt < 1:
            raise TraceError.of(
                "refused.freed", "block {block} was freed, but nobody holds it", block=block_id
            )
        block.ref_cnt -= 1
        if block.ref_cnt == 0 and block_id not in to_head:
            state.freed[block_id] = None
    for block_id in reversed(to_head):
        joins = block_id in block_ids and block_id not in state.at_head
        if not joins or state.blocks[block_id].ref_cnt or state.is_cached(block_id):
            raise TraceError.of(
                "refused.to_head",
                "block {block} joined the head of the free queue in use or hashed",
                block=block_id,
            )
        state.at_head.append(block_id)


def _leave_cache(state: State, block_id: int) -> None:
    key = state.cache_key(block_id)
    assert key is not None, block_id
    left = tuple(id_ for id_ in state.cached[key] if id_ != block_id)
    if left:
        state.cached[key] = left
    else:
        del state.cached[key]
