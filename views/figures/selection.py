"""What a visitor has chosen, and what the same thing is called elsewhere on the page.

A block, a hash, a request or one token of a request can be chosen. Every part of the stage lights
up what belongs to it:

    token 9 of r1  ->  block 6 (its K and V lie there)  ->  the hash of that block
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from engine.trace.entries import RequestState
from engine.trace.state import NULL_BLOCK_ID, State, cache_key

MAX_LIT = 2_000  # ids of a kind that are sent to the browser
KINDS = ("block", "hash", "request", "token")

Span = tuple[str, int, int]  # request id, first token, and the one after the last


class Selection(NamedTuple):
    """Nothing, or exactly one of: a block, a hash, a request, a token of a request."""

    block_id: int | None = None
    block_hash: str | None = None
    request_id: str | None = None
    token: int | None = None  # index in the request's tokens

    @property
    def kind(self) -> str | None:
        """One of KINDS; None where nothing is chosen."""
        if self.block_id is not None:
            return "block"
        if self.block_hash is not None:
            return "hash"
        if self.token is not None:
            return "token"
        return None if self.request_id is None else "request"

    @classmethod
    def from_browser(cls, sent: Any) -> "Selection":
        """What a click sent, or an address; NOTHING for everything that names nothing."""
        if not isinstance(sent, Mapping):
            return NOTHING
        block, token = _index(sent.get("block")), _index(sent.get("token"))
        if block is not None:
            return cls(block_id=block)
        if sent.get("hash"):
            return cls(block_hash=str(sent["hash"]))
        request = sent.get("request")
        return NOTHING if request is None else cls(request_id=str(request), token=token)

    def named(self) -> dict[str, Any]:
        """In the words of the browser: the reverse of `from_browser`."""
        words = zip(KINDS, self, strict=True)
        return {word: value for word, value in words if value is not None}


NOTHING = Selection()


def _index(given: Any) -> int | None:
    """A number from 0, or its digits as an address has them."""
    if isinstance(given, str) and given.isascii() and given.isdecimal() and len(given) <= 15:
        given = int(given)
    is_number = isinstance(given, int) and not isinstance(given, bool)
    return given if is_number and given >= 0 else None


class Spotlight(NamedTuple):
    """Everything that is, holds or lies in what was chosen."""

    blocks: tuple[int, ...] = ()
    hashes: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    tokens: tuple[Span, ...] = ()


def spotlight(state: State, selection: Selection) -> Spotlight:
    """Empty where what was chosen does not exist at this moment."""
    if selection.kind == "block":
        return _of_block(state, selection.block_id)
    if selection.kind == "hash":
        return _of_hash(state, selection.block_hash)
    request = state.requests.get(selection.request_id or "")
    if request is None:
        return Spotlight()
    if selection.token is not None:
        return _of_token(state, request, selection.token)
    return _of_request(state, request)


def block_of(state: State, selection: Selection) -> int | None:
    """The block to show: the one that is selected, or the first that holds the token or hash."""
    if selection.kind in ("hash", "token"):
        return next(iter(spotlight(state, selection).blocks), None)
    return selection.block_id


def lit(state: State, selection: Selection) -> dict[str, Any]:
    """The spotlight as every part of the stage gets it (`link` in components/base.js)."""
    found = spotlight(state, selection)
    names = zip(found._fields, found, strict=True)
    return {"own": selection.named(), **{name: list(ids[:MAX_LIT]) for name, ids in names}}


def _of_block(state: State, block_id: int | None) -> Spotlight:
    if block_id is None or not 0 <= block_id < state.num_blocks:
        return Spotlight()
    block = state.blocks.get(block_id)
    if block is None:
        return Spotlight(blocks=(block_id,))
    holders = tuple(state.holders(block_id))
    return Spotlight(
        blocks=(block_id,),
        hashes=(block.block_hash,) if block.block_hash else (),
        requests=holders,
        tokens=tuple(_spans_in_block(state, holders, block_id)),
    )


def _spans_in_block(state: State, holders: Iterable[str], block_id: int) -> Iterable[Span]:
    """As far as there are tokens: drafts may have taken blocks beyond the last one."""
    for request_id in holders:
        request = state.requests[request_id]
        for group_id, table in enumerate(request.block_tables):
            size = state.group_block_sizes[group_id]
            for index, held in enumerate(table):
                if held == block_id and index * size < request.num_tokens:
                    yield request_id, index * size, min((index + 1) * size, request.num_tokens)


def _of_hash(state: State, block_hash: str | None) -> Spotlight:
    if block_hash is None:
        return Spotlight()
    keys = [cache_key(block_hash, group_id) for group_id in range(len(state.groups))]
    blocks = tuple(id_ for key in keys for id_ in state.cached.get(key, ()))
    spans = tuple(_spans_of_hash(state, block_hash))
    if not blocks and not spans:
        return Spotlight()
    return Spotlight(blocks, (block_hash,), tuple(id_ for id_, _, _ in spans), spans)


def _spans_of_hash(state: State, block_hash: str) -> Iterable[Span]:
    """A hash of a group with larger blocks is several of a chain's (SEMANTICS 3)."""
    for request_id, request in state.requests.items():
        chain = request.block_hashes
        digits = len(chain[0]) if chain else len(block_hash)
        first, factor = block_hash[:digits], len(block_hash) // digits
        index = chain.index(first) if first in chain else 0
        if "".join(chain[index : index + factor]) == block_hash:
            start, stop = index * state.block_size, (index + factor) * state.block_size
            yield request_id, start, stop


def _of_request(state: State, request: RequestState) -> Spotlight:
    tables = dict.fromkeys(id_ for table in request.block_tables for id_ in table)
    tables.pop(NULL_BLOCK_ID, None)
    hashes = dict.fromkeys([*request.block_hashes, *_hashes_in(state, tables)])
    return Spotlight(tuple(tables), tuple(hashes), (request.request_id,))


def _hashes_in(state: State, block_ids: Iterable[int]) -> Iterable[str]:
    """Those of groups with larger blocks stand in no chain."""
    if any(size != state.block_size for size in state.group_block_sizes):
        yield from filter(None, (state.blocks[id_].block_hash for id_ in block_ids))


def _of_token(state: State, request: RequestState, token: int) -> Spotlight:
    if token >= request.num_tokens:
        return Spotlight(requests=(request.request_id,))
    held = []
    for group_id, table in enumerate(request.block_tables):
        index = token // state.group_block_sizes[group_id]
        if index < len(table) and table[index] != NULL_BLOCK_ID:
            held.append(table[index])
    place = token // state.block_size
    hashes = dict.fromkeys([*request.block_hashes[place : place + 1], *_hashes_in(state, held)])
    span = (request.request_id, token, token + 1)
    return Spotlight(tuple(held), tuple(hashes), (request.request_id,), (span,))
