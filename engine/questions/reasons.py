"""Why a lookup ended where it did: one small class for each answer, with its facts.

`block_index` counts blocks of config.block_size, in which hashes are made, from the start of the
prompt; a group with larger blocks names the first of those that one of its own is made of.
"""

from typing import NamedTuple


class Parting(NamedTuple):
    """Where these tokens part from those of the request that goes with them the longest."""

    request_id: str
    num_shared_tokens: int  # also the index of the first token that differs
    token_id: int | None  # there; None: these tokens end before
    other_token_id: int | None  # None: the other's end before


class ReadingSkipped(NamedTuple):
    """The cache was not asked."""

    is_caching_off: bool  # else the request does not read (as with prompt_logprobs)


class ShorterThanBlock(NamedTuple):
    """Not one block is full, and only full blocks have hashes."""

    num_tokens: int
    block_size: int


class NothingCached(NamedTuple):
    """The cache holds nothing at all, and never held this."""

    num_others: int  # requests before it (parting.py)


class NoSharedPrefix(NamedTuple):
    """Not even the first token is that of any request before it."""

    num_others: int


class Diverges(NamedTuple):
    """Full blocks match up to here; in the next one a token differs."""

    parting: Parting
    block_index: int
    num_blocks_behind: int  # full blocks from there on: all of them miss
    num_tokens_behind: int  # and tokens of a last block that is not full


class OtherParent(NamedTuple):
    """These very tokens were cached as a block, but behind others: hash and K/V differ."""

    parting: Parting | None
    block_index: int
    request_id: str
    other_block_index: int  # its place in that request
    block_id: int


class OtherKeys(NamedTuple):
    """All tokens are the same, but salt or adapter is not."""

    request_id: str
    num_shared_tokens: int
    lora_name: str | None
    other_lora_name: str | None
    cache_salt: str | None
    other_cache_salt: str | None


class Evicted(NamedTuple):
    """It was cached, until somebody took the block."""

    block_id: int
    block_index: int
    block_hash: str
    cached_step: int
    step: int
    position: int  # of the cursor right after it happened
    by_request_id: str


class Reset(NamedTuple):
    """It was cached, until the whole cache was forgotten."""

    block_id: int
    block_index: int
    block_hash: str
    step: int
    position: int


class NotCachedYet(NamedTuple):
    """Somebody has the same tokens, but this block of theirs never entered the cache.

    `why`: "waiting" (not admitted yet), "prefill" (its chunks have not got that far),
    "unfilled" (the token that fills the block has not been computed yet), "never" (it ended
    before: the last sampled token is never computed), "preempted" (the asking request itself lost
    its blocks before this one was full), "window" (it had left the window by then).
    """

    request_id: str
    block_index: int
    why: str


class NeverCached(NamedTuple):
    """Nobody who is still known has brought this block."""

    block_index: int


class PartialBlock(NamedTuple):
    """The same tokens go on, but not to the end of a block; only full blocks are shared."""

    parting: Parting
    block_index: int
    num_in_block: int  # shared tokens in that block
    block_size: int
    is_own_end: bool  # these tokens end there; else the other's do


class LastTokenKept(NamedTuple):
    """The last block is cached as well, but one token must be computed, so the block is."""

    block_id: int
    block_index: int
    block_size: int


class LastBlockDropped(NamedTuple):
    """EAGLE: the last block that matched is computed again for the drafter's sake; of several
    groups each drops one."""

    block_id: int  # the first of them
    block_index: int
    num_blocks: int


class NotComputed(NamedTuple):
    """The block is cached, but nobody computed its K and V: Pagewalk cuts the hit before it."""

    block_id: int
    block_index: int


class GroupsDisagree(NamedTuple):
    """Every KV-cache group must hold the prefix, in whole blocks of all of them."""

    num_hit_tokens: tuple[int, ...]  # per group, had it been alone
    limiting_group_id: int
    alignment: int  # tokens; a hit is a multiple of it


class WindowGap(NamedTuple):
    """Later blocks are cached, but not as many in a row as the window needs."""

    group_id: int
    num_needed: int
    num_in_row: int
    block_index: int  # the one that is missing in front of them


class FullHit(NamedTuple):
    """Every block that may hit did."""

    num_rest_tokens: int  # beyond the last full block, or in the block held back


Reason = (
    ReadingSkipped
    | ShorterThanBlock
    | NothingCached
    | NoSharedPrefix
    | Diverges
    | OtherParent
    | OtherKeys
    | Evicted
    | Reset
    | NotCachedYet
    | NeverCached
    | PartialBlock
    | LastTokenKept
    | LastBlockDropped
    | NotComputed
    | GroupsDisagree
    | WindowGap
    | FullHit
)
