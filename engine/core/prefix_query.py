"""What is asked of the prefix cache for the groups of one spec."""

from collections.abc import Sequence
from typing import NamedTuple

from engine.errors import ConfigError


class PrefixQuery(NamedTuple):
    block_hashes: Sequence[bytes]  # of the spec's own block size
    max_length: int  # tokens
    group_ids: Sequence[int]  # a block must be cached in all of them
    drops_last_block: bool  # EAGLE
    alignment: int  # tokens: the hit must be a multiple of it
    is_a_requests: bool = True  # not of somebody who explains another lookup

    def check_drop(self, block_size: int) -> None:
        """Before EAGLE's last block is dropped from a window's hit: ConfigError where vLLM 0.17.1
        asserts, in SlidingWindowManager.find_longest_cache_hit."""
        if self.is_a_requests and block_size != self.alignment:
            raise ConfigError.of(
                "group.sliding_eagle",
                "a sliding group beside others of larger blocks with spec.method='eagle': at its "
                "first prefix hit, which is here, vLLM 0.17.1 ends: set "
                "kv_groups.block_size={needed} there, choose another method, or turn caching off",
                needed=self.alignment,
            )
