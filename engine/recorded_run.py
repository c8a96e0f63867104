"""A scripted run in the form in which vLLM's own runs were recorded, and how two of them differ.

The form is SEMANTICS 2: a header, then one object a step with the state after schedule() and after
update_from_output().
"""

import gzip
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from engine.config import LATER_BEHAVIOURS, EngineConfig
from engine.core.block_hash import event_hash, none_hash
from engine.core.kv_events import BlockRemoved, BlockStored, KVCacheEvent
from engine.core.stats import PrefixCacheStats
from engine.errors import ConfigError
from engine.workload import ScriptedRun, Workload

VLLM_VERSION = "0.17.1"
SNAPSHOT_FIELDS = (
    "waiting",
    "running",
    "requests",
    "free_queue",
    "num_free_blocks",
    "usage",
    "blocks",
)
RECORDED_SETTINGS = (
    "block_size",
    "num_blocks",
    "max_num_batched_tokens",
    "max_num_seqs",
    "max_model_len",
    "enable_prefix_caching",
    "enable_chunked_prefill",
    "long_prefill_token_threshold",
    "policy",
    "hash_algo",
    "hash_seed",
    "max_loras",
    "kv_groups",
    "spec",
    "int_event_hashes",
)
NOT_COMPARED = ("workload", "python")  # of the header


def recorded_run(workload: Workload) -> Iterator[dict[str, Any]]:
    """The header and one dict a step, in exactly the form of the recorded runs (SEMANTICS 2).

    ConfigError for what vLLM 0.17.1 does not do: it could be compared with nothing.
    """
    config = workload.config
    later = [name for name in LATER_BEHAVIOURS if getattr(config, name)]
    if later:
        raise ConfigError(
            f"{workload.name}: {', '.join(later)} is what versions of vLLM after {VLLM_VERSION} "
            "do, and there is no recorded run of it: turn it off"
        )
    run = ScriptedRun(workload)
    yield {
        "type": "header",
        "workload": {"name": workload.name, "about": workload.about},
        "config": _recorded_config(config),
        "vllm_version": VLLM_VERSION,
        "python": sys.version.split()[0],
        "none_hash": none_hash(config.hash_algo, config.hash_seed).hex(),
        "null_block_id": 0,
    }
    while not run.is_over:
        yield _record_step(run)


def _recorded_config(config: EngineConfig) -> dict[str, Any]:
    """All settings of a workload; groups and drafting name only what was set."""
    recorded: dict[str, Any] = json.loads(msgspec.json.encode(config))
    for group in recorded["kv_groups"] or ():
        for name in [name for name, value in group.items() if value is None]:
            del group[name]
    return {name: recorded[name] for name in RECORDED_SETTINGS}


def _record_step(run: ScriptedRun) -> dict[str, Any]:
    engine = run.engine
    step: dict[str, Any] = {"type": "step", "step": engine.step_index}
    run.before()
    output = engine.schedule()
    step["ops"] = run.inputs
    step["scheduled"] = [_scheduled_row(row) for row in output.scheduled]
    step["total_num_scheduled_tokens"] = output.total_num_scheduled_tokens
    step["preempted"] = list(output.preempted)
    step["num_common_prefix_blocks"] = list(output.num_common_prefix_blocks)
    step["after_schedule"] = _snapshot(run)
    engine.run()
    run.middle()
    step["mid_ops"] = run.mid_inputs
    run.after()
    step["outputs"] = [
        {
            "id": output.request_id,
            "tokens": list(output.token_ids),
            "finish_reason": output.finish_reason,
            "num_cached_tokens": output.num_cached_tokens,
        }
        for output in engine.outputs
    ]
    step["finished"] = [row["id"] for row in step["outputs"] if row["finish_reason"]]
    step["after_update"] = _snapshot(run)
    step["prefix_cache_stats"] = {
        name: getattr(engine.stats, name) for name in PrefixCacheStats.__slots__
    }
    step["kv_cache_usage"] = step["after_update"]["usage"]
    as_int = run.workload.config.int_event_hashes
    step["events"] = [_kv_event(event, run, as_int) for event in engine.kv_events]
    if run.workload.config.spec is not None:
        step["drafts"] = {id_: list(token_ids) for id_, token_ids in run.drafts}
    return step


def _scheduled_row(row: Any) -> dict[str, Any]:
    recorded = {
        "id": row.request.request_id,
        "kind": row.kind,
        "num_scheduled_tokens": row.num_scheduled_tokens,
        "num_computed_tokens": row.num_computed_tokens,
        "block_ids": None if row.block_ids is None else [list(ids) for ids in row.block_ids],
    }
    if row.spec_token_ids:
        recorded["spec_tokens"] = list(row.spec_token_ids)
    return recorded


def _snapshot(run: ScriptedRun) -> dict[str, Any]:
    whole = run.engine.snapshot()
    return {name: whole[name] for name in SNAPSHOT_FIELDS}


def _kv_event(event: KVCacheEvent, run: ScriptedRun, as_int: bool) -> dict[str, Any]:
    """An event as vLLM publishes it: whole hashes in hex, or their last 8 bytes as integers."""

    def published(block_hash: bytes | None) -> int | str | None:
        if block_hash is None:
            return None
        return event_hash(block_hash) if as_int else block_hash.hex()

    if isinstance(event, BlockStored):
        return {
            "type": "BlockStored",
            "block_hashes": [published(block_hash) for block_hash in event.block_hashes],
            "parent_block_hash": published(event.parent_block_hash),
            "token_ids": list(event.token_ids),
            "block_size": event.block_size,
            "lora_id": _lora_id(event.lora_name, run),
            "medium": "GPU",
            "lora_name": event.lora_name,
            "extra_keys": [None if keys is None else list(keys) for keys in event.extra_keys]
            or None,
        }
    if isinstance(event, BlockRemoved):
        return {
            "type": "BlockRemoved",
            "block_hashes": [published(block_hash) for block_hash in event.block_hashes],
            "medium": "GPU",
        }
    return {"type": "AllBlocksCleared"}


def _lora_id(lora_name: str | None, run: ScriptedRun) -> int | None:
    """The adapter's number: names count from 1 in the order in which they came in."""
    return None if lora_name is None else run.lora_names.index(lora_name) + 1


# Comparison -------------------------------------------------------------------------------------


def read_recorded_run(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def first_difference(
    ours: Iterable[dict[str, Any]], theirs: Sequence[dict[str, Any]]
) -> str | None:
    """One sentence about the first field that differs; None when all are equal."""
    count = 0
    for count, mine in enumerate(ours, start=1):
        if count > len(theirs):
            return f"step {mine.get('step')}: we go on, they end after {len(theirs) - 1} steps"
        yours = theirs[count - 1]
        place = "header" if mine["type"] == "header" else f"step {mine['step']}"
        for name in sorted(mine.keys() | yours.keys()):
            if name in NOT_COMPARED and mine["type"] == "header":
                continue
            found = _difference(mine.get(name, _MISSING), yours.get(name, _MISSING), name)
            if found:
                return f"{place}: {found}"
    if count < len(theirs):
        return f"we end after {count - 1} steps, they go on to {len(theirs) - 1}"
    return None


_MISSING = "(no such field)"


def _difference(ours: Any, theirs: Any, path: str) -> str | None:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        if path.endswith("requests") and list(ours) != list(theirs):
            return f"{path} (order): ours {list(ours)}, theirs {list(theirs)}"
        for name in [*ours, *(key for key in theirs if key not in ours)]:
            found = _difference(
                ours.get(name, _MISSING), theirs.get(name, _MISSING), f"{path}.{name}"
            )
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for place, (mine, yours) in enumerate(zip(ours, theirs, strict=True)):
            found = _difference(mine, yours, f"{path}[{place}]")
            if found:
                return found
        return None
    if type(ours) is type(theirs) and ours == theirs:
        return None
    return f"{path}: ours {_short(ours)}, theirs {_short(theirs)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."


def write_run(steps: Iterable[dict[str, Any]], path: Path) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for step in steps:
            file.write(json.dumps(step, separators=(",", ":"), ensure_ascii=False) + "\n")
