"""The KV-cache events that vLLM publishes to routers and other outside observers (SEMANTICS 9).

They say less than the trace: no request, no reference counts, no queue.

vLLM 0.17.1: distributed/kv_events.py
"""

from typing import NamedTuple

from engine.core.block_hash import ExtraKeys


class BlockStored(NamedTuple):
    """Blocks entered the prefix cache. Null blocks are left out, but `token_ids` covers them."""

    block_hashes: tuple[bytes, ...]
    parent_block_hash: bytes | None  # None for the first block of a prompt
    token_ids: tuple[int, ...]
    block_size: int
    lora_name: str | None
    extra_keys: tuple[ExtraKeys, ...]


class BlockRemoved(NamedTuple):
    """A cached block was handed out again and forgotten."""

    block_hashes: tuple[bytes, ...]


class AllBlocksCleared(NamedTuple):
    """The prefix cache was reset."""


KVCacheEvent = BlockStored | BlockRemoved | AllBlocksCleared
