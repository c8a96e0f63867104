"""Everything that a story about the core is not about."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.config import EngineConfig, SamplingParams
from engine.core.block_hash import BlockHasher
from engine.core.block_pool import BlockPool
from engine.core.contiguous import Allocator, Life
from engine.core.request import Request
from engine.trace.events import Event
from engine.workload import ScriptedRun, parse_workload


def build_pool(num_blocks: int, block_tables: Mapping[str, Sequence[int]]) -> BlockPool:
    """A pool whose blocks were taken in the order of these tables."""
    pool = BlockPool(num_blocks)
    for request_id, table in block_tables.items():
        assert pool.take(request_id, 0, len(table)) == list(table)
    return pool


def build_request(token_ids: Sequence[int], *, block_size: int = 4, **options: Any) -> Request:
    return Request(
        options.pop("request_id", "a"),
        token_ids,
        sampling=SamplingParams(max_tokens=8),
        arrival_time=0.0,
        hasher=BlockHasher("sha256", "0", block_size),
        **options,
    )


def run_script(
    requests: Sequence[Mapping[str, Any]], **settings: Any
) -> tuple[ScriptedRun, list[Event]]:
    """A scripted run to its end, or to its standstill, with its events."""
    events: list[Event] = []
    config = EngineConfig(**settings).to_mapping()
    workload = parse_workload({"name": "story", "config": config, "requests": list(requests)})
    run = ScriptedRun(workload, emit=events.append)
    while not run.is_over and not (
        run.engine.is_stuck and run.engine.step_index > workload.last_input_step
    ):
        run.step()
    return run, events


def build_life(
    request_id: str, *lengths: int, arrival: int = 0, most: int = 8, is_finished: bool = True
) -> Life:
    return Life(request_id, arrival, lengths, most, is_finished)


def tokens_held(allocator: Allocator) -> dict[str, int]:
    """Tokens of each request, counted from the regions."""
    found: dict[str, int] = {}
    for region in allocator.regions.values():
        found[region.request_id] = found.get(region.request_id, 0) + region.num_tokens
    return found
