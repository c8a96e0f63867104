"""The scheduler's own picture of itself, in the form of the recorded runs (SEMANTICS 2)."""

from typing import Any

from engine.core.block_pool import BlockPool
from engine.core.scheduler import Scheduler

WHOLE_QUEUE_UP_TO = 512  # blocks; of a longer queue the two ends are listed
QUEUE_ENDS = 64


def snapshot(scheduler: Scheduler) -> dict[str, Any]:
    """Everything that a folded trace must agree with, built from the live objects.

    `State.snapshot` builds the same from events; both must be equal after every step.
    """
    manager = scheduler.kv_cache_manager
    pool = manager.pool
    listed = [
        (id_, block)
        for id_, block in enumerate(pool.blocks)
        if id_ and (block.ref_cnt or block.cache_key)
    ]
    requests = scheduler.requests
    return {
        "waiting": [request.request_id for request in scheduler.waiting],
        "running": [request.request_id for request in scheduler.running],
        "requests": {
            id_: {
                "status": request.status.value,
                "num_computed_tokens": request.num_computed_tokens,
                "num_tokens": request.num_tokens,
                "num_cached_tokens": request.num_cached_tokens,
                "num_preemptions": request.num_preemptions,
                "blocks": [list(table) for table in manager.get_block_tables(id_)],
            }
            for id_, request in requests.items()
        },
        "free_queue": _queue_snapshot(pool),
        "num_free_blocks": pool.num_free_blocks,
        "usage": pool.usage,
        "blocks": [
            [id_, block.ref_cnt, block.cache_key.hex() if block.cache_key else None]
            for id_, block in listed
        ],
        "cached": {key.hex(): list(ids) for key, ids in pool.cached.items()},
        "invalid_blocks": [id_ for id_, b in listed if b.cache_key and not b.kv_valid],
        "token_ids": {id_: list(request.token_ids) for id_, request in requests.items()},
        "block_hashes": {
            id_: [hash_.hex() for hash_ in request.block_hashes]
            for id_, request in requests.items()
        },
        "spec_token_ids": {id_: list(r.spec_token_ids) for id_, r in requests.items()},
    }


def _queue_snapshot(pool: BlockPool) -> dict[str, Any]:
    """All ids of a short free queue; the ends of a long one."""
    queue = pool.free_queue
    if len(queue) <= WHOLE_QUEUE_UP_TO:
        return {"len": len(queue), "ids": list(queue)}
    first = [id_ for id_, _ in zip(queue, range(QUEUE_ENDS), strict=False)]
    last = [id_ for id_, _ in zip(reversed(queue), range(QUEUE_ENDS), strict=False)]
    return {"len": len(queue), "head": first, "tail": last[::-1]}
