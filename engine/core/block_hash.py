"""Chained hashes of full blocks: H(parent hash, token ids, extra keys).

The chain makes a block's hash stand for everything in front of it as well, so one dictionary
lookup per block finds the longest common prefix (SEMANTICS 3).

vLLM 0.17.1: v1/core/kv_cache_utils.py
"""

import hashlib
import os
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import cbor2
import xxhash

ExtraKeys = tuple[str, ...] | None


def _pickled(value: Any) -> bytes:
    return pickle.dumps(value, protocol=5)


def _cbor(value: Any) -> bytes:
    return bytes(cbor2.dumps(value, canonical=True))


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _xxh3_128(data: bytes) -> bytes:
    return xxhash.xxh3_128_digest(data)


Serialiser = Callable[[Any], bytes]
Digest = Callable[[bytes], bytes]

# name -> how the input becomes bytes, how the bytes become a hash
HASH_ALGORITHMS: dict[str, tuple[Serialiser, Digest]] = {
    "sha256": (_pickled, _sha256),
    "sha256_cbor": (_cbor, _sha256),
    "xxhash": (_pickled, _xxh3_128),
    "xxhash_cbor": (_cbor, _xxh3_128),
}


def none_hash(algorithm: str, seed: str | None) -> bytes:
    """The parent of every first block: the hash of the seed's text, or 32 random bytes."""
    if seed is None:
        return os.urandom(32)
    serialise, digest = HASH_ALGORITHMS[algorithm]
    return digest(serialise(seed))


def extra_keys(
    block_index: int, *, lora_name: str | None = None, cache_salt: str | None = None
) -> ExtraKeys:
    """What besides tokens makes a block different: the adapter's name in every block, the salt in
    the first alone. vLLM 0.17.1: generate_block_hash_extra_keys"""
    keys: tuple[str, ...] = (lora_name,) if lora_name else ()
    if block_index == 0 and cache_salt:
        keys += (cache_salt,)
    return keys or None


def hash_block(
    algorithm: str, parent: bytes, token_ids: Sequence[int], keys: ExtraKeys = None
) -> bytes:
    """H((parent, token ids, extra keys)). vLLM 0.17.1: hash_block_tokens"""
    serialise, digest = HASH_ALGORITHMS[algorithm]
    return digest(serialise(hash_input(parent, token_ids, keys)))


def hash_input(
    parent: bytes, token_ids: Sequence[int], keys: ExtraKeys = None
) -> tuple[bytes, tuple[int, ...], ExtraKeys]:
    """The tuple that is serialised; token ids must be plain ints, or the pickle differs."""
    return (parent, tuple(token_ids), keys)


class BlockHasher:
    """Extends the chain of a request; one per engine, shared by its requests."""

    def __init__(
        self, algorithm: str, seed: str | None, block_size: int, first_parent: bytes | None = None
    ) -> None:
        self.algorithm = algorithm
        self.block_size = block_size
        self.none_hash = first_parent or none_hash(algorithm, seed)
        self._serialise, self._digest = HASH_ALGORITHMS[algorithm]

    def extend(
        self,
        hashes: list[bytes],
        token_ids: Sequence[int],
        *,
        lora_name: str | None = None,
        cache_salt: str | None = None,
    ) -> None:
        """Append to `hashes` those of all blocks of `token_ids` that are full and not hashed."""
        size = self.block_size
        parent = hashes[-1] if hashes else self.none_hash
        for index in range(len(hashes), len(token_ids) // size):
            keys = extra_keys(index, lora_name=lora_name, cache_salt=cache_salt)
            block = hash_input(parent, token_ids[index * size : (index + 1) * size], keys)
            parent = self._digest(self._serialise(block))
            hashes.append(parent)


def merge_hashes(hashes: Sequence[bytes], factor: int) -> Sequence[bytes]:
    """Hashes for blocks `factor` times as large: concatenated, not hashed again (SEMANTICS 3)."""
    if factor == 1:
        return hashes
    return [
        b"".join(hashes[start : start + factor])
        for start in range(0, len(hashes) // factor * factor, factor)
    ]


def cache_key(block_hash: bytes, group_id: int) -> bytes:
    """Key in the prefix cache: the hash and the group id as 4 bytes, big-endian."""
    return block_hash + group_id.to_bytes(4, "big")


def event_hash(block_hash: bytes) -> int:
    """The integer that vLLM publishes by default: the last 8 bytes, big-endian."""
    return int.from_bytes(block_hash[-8:], "big")
