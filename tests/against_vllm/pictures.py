"""What a scheduler of vLLM holds and did, in the words of the recorded runs; part of record.py."""

from typing import Any

MOST_WHOLE_QUEUE, ENDS_OF_QUEUE = 512, 64


def snapshot(scheduler: Any) -> dict[str, Any]:
    manager = scheduler.kv_cache_manager
    pool = manager.block_pool
    free = [block.block_id for block in pool.free_block_queue.get_all_free_blocks()]
    queue = {"ids": free}
    if len(free) > MOST_WHOLE_QUEUE:
        queue = {"head": free[:ENDS_OF_QUEUE], "tail": free[-ENDS_OF_QUEUE:]}
    return {
        "waiting": [request.request_id for request in scheduler.waiting],
        "running": [request.request_id for request in scheduler.running],
        "requests": {
            id_: {
                "status": request.status.name,
                "num_computed_tokens": request.num_computed_tokens,
                "num_tokens": request.num_tokens,
                "num_cached_tokens": request.num_cached_tokens,
                "num_preemptions": request.num_preemptions,
                "blocks": [list(ids) for ids in manager.get_block_ids(id_)],
            }
            for id_, request in scheduler.requests.items()
        },
        "free_queue": {"len": len(free), **queue},
        "num_free_blocks": pool.get_num_free_blocks(),
        "usage": manager.usage,
        "blocks": [
            [
                block.block_id,
                block.ref_cnt,
                None if block.block_hash is None else bytes(block.block_hash).hex(),
            ]
            for block in pool.blocks
            if not block.is_null and (block.ref_cnt or block.block_hash is not None)
        ],
    }


def scheduled_rows(output: Any) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for new in output.scheduled_new_reqs:
        rows[new.req_id] = {
            "kind": "new",
            "num_computed_tokens": new.num_computed_tokens,
            "block_ids": [list(ids) for ids in new.block_ids],
        }
    cached = output.scheduled_cached_reqs
    for id_, block_ids, computed in zip(
        cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True
    ):
        rows[id_] = {
            "kind": "resumed" if id_ in cached.resumed_req_ids else "running",
            "num_computed_tokens": computed,
            "block_ids": None if block_ids is None else [list(ids) for ids in block_ids],
        }
    scheduled = []
    for id_, num_tokens in output.num_scheduled_tokens.items():
        row = {"id": id_, "num_scheduled_tokens": num_tokens, **rows[id_]}
        if drafts := output.scheduled_spec_decode_tokens.get(id_):
            row["spec_tokens"] = list(drafts)
        scheduled.append(row)
    return scheduled


def event_of(event: Any) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return value.hex()
        return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value

    fields = {name: plain(getattr(event, name)) for name in event.__struct_fields__}
    return {"type": type(event).__name__, **fields}
