"""What a hash was made of, and the bytes that were hashed, cut into what they say.

    H((parent, token ids, extra keys))      pickle  80 05 | 95 .. | 43 20 .. 94 | 28 4b .. | 4e | 87 94 2e
                                            CBOR    83 | 58 20 .. | 84 .. | f6

A hash of a group with larger blocks is several of these, one behind the other (SEMANTICS 3).
"""

import pickletools
from itertools import pairwise
from typing import NamedTuple

from engine.core.block_hash import (
    HASH_ALGORITHMS,
    ExtraKeys,
    extra_keys,
    hash_input,
    none_hash,
)
from engine.trace.header import TraceHeader
from engine.trace.state import State, cache_key
from views.figures.tree.prefix_forest import (
    Link,
    hash_factor,
    link_hash,
    link_of_block,
    num_links,
)

PARTS = ("start", "parent", "tokens", "extra", "end")


class Part(NamedTuple):
    """A stretch of the serialised bytes, named by one of PARTS."""

    name: str
    content: bytes


class Ingredients(NamedTuple):
    """What one hash is made of; `parent` None where the file does not say what NONE_HASH was."""

    place: int  # of the block, in blocks of the config's block_size
    parent: bytes | None
    token_ids: tuple[int, ...]
    keys: ExtraKeys
    digest: bytes  # as the trace has it


def find_link(state: State, block_hash: str) -> Link | None:
    """Where the hash stands: in a block that is cached, else in the chain of a request."""
    for group_id in range(len(state.groups)):
        block_ids = state.cached.get(cache_key(block_hash, group_id))
        if block_ids:
            return link_of_block(state, block_ids[0])
    for request in state.requests.values():
        for group_id in range(len(state.groups)):
            factor = hash_factor(state, group_id)
            known = request.block_hashes
            first = block_hash[: len(block_hash) // factor]
            index, rest = divmod(known.index(first), factor) if first in known else (0, 1)
            link = Link(request, group_id, index)
            is_there = not rest and index < num_links(state, request, group_id)
            if is_there and link_hash(state, link) == block_hash:
                return link
    return None


def ingredients(state: State, header: TraceHeader, link: Link) -> list[Ingredients]:
    """One for each hash that stands in the key of the block: mostly a single one."""
    factor, size, request = hash_factor(state, link.group_id), state.block_size, link.request
    first = link.place * factor
    found = []
    for index in range(first, first + factor):
        parent = bytes.fromhex(request.hash_log[index - 1]) if index else first_parent(header)
        token_ids = tuple(request.tokens_between(index * size, (index + 1) * size))
        digest = bytes.fromhex(request.hash_log[index])
        keys = extra_keys(
            index, lora_name=request.added.lora_name, cache_salt=request.added.cache_salt
        )
        one = Ingredients(index, parent, token_ids, keys, digest)
        found.append(_with_objects_as_hashed(header.config["hash_algo"], one))
    return found


def first_parent(header: TraceHeader) -> bytes | None:
    """NONE_HASH as the file has it, or made from its seed; random ones cannot be made again."""
    if header.none_hash is not None:
        return bytes.fromhex(header.none_hash)
    return hash_of_seed(header)


def hash_of_seed(header: TraceHeader) -> bytes | None:
    """What NONE_HASH is with this seed; None without one."""
    seed = header.config["hash_seed"]
    return None if seed is None else none_hash(header.config["hash_algo"], seed)


def serialised(algorithm: str, one: Ingredients) -> bytes:
    """Exactly what is hashed."""
    assert one.parent is not None
    return HASH_ALGORITHMS[algorithm][0](hash_input(one.parent, one.token_ids, one.keys))


def digest_of(algorithm: str, content: bytes) -> bytes:
    return HASH_ALGORITHMS[algorithm][1](content)


def _with_objects_as_hashed(algorithm: str, one: Ingredients) -> Ingredients:
    """Pickle writes the same text a second time only where it is another object, and a trace
    from a file does not say whether adapter and salt of one name were one object."""
    keys = one.keys
    if one.parent is None or keys is None or len(keys) < 2 or keys[0] != keys[1]:
        return one
    apart = keys[1].encode().decode()
    for tried in (keys, (keys[0], keys[0]), (keys[0], apart)):
        again = one._replace(keys=tried)
        if digest_of(algorithm, serialised(algorithm, again)) == one.digest:
            return again
    return one


def parts(algorithm: str, one: Ingredients) -> list[Part]:
    """The serialised bytes, cut where one ingredient ends; joined they are the bytes again."""
    if algorithm.endswith("cbor"):
        return _cbor_parts(algorithm, one)
    return _pickle_parts(serialised(algorithm, one), len(one.token_ids))


def _cbor_parts(algorithm: str, one: Ingredients) -> list[Part]:
    """CBOR writes a head, then each item as if it stood alone."""
    serialise = HASH_ALGORITHMS[algorithm][0]
    items = zip(("parent", "tokens", "extra"), (one.parent, one.token_ids, one.keys), strict=True)
    behind = [Part(name, serialise(item)) for name, item in items]
    whole = serialised(algorithm, one)
    start = whole[: len(whole) - sum(len(part.content) for part in behind)]
    return [Part("start", start), *behind]


def _pickle_parts(content: bytes, num_tokens: int) -> list[Part]:
    """Cut by operations: a bytes object and its memo, the tuple of tokens, what is left, the end.

    Frames are no values, they only say how much follows: one in between belongs to what it cuts.
    """
    starts = [at for op, _, at in pickletools.genops(content) if op.name not in ("PROTO", "FRAME")]
    num_token_ops = num_tokens + (3 if num_tokens > 3 else 2)  # MARK, items, TUPLE, MEMOIZE
    cuts = [0, starts[0], starts[2], starts[2 + num_token_ops], starts[-3], len(content)]
    return [
        Part(name, content[start:stop])
        for name, (start, stop) in zip(PARTS, pairwise(cuts), strict=True)
    ]
