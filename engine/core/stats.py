"""Counters of the prefix cache.

vLLM 0.17.1: v1/metrics/stats.py PrefixCacheStats
"""

from dataclasses import dataclass


@dataclass(slots=True)
class PrefixCacheStats:
    """Counted per lookup attempt, in tokens; requests that were preempted before count apart.

    With `count_lookups_once` per admission, as vLLM does since PR 48860 (2026-07).
    """

    reset: bool = False
    requests: int = 0
    queries: int = 0
    hits: int = 0
    preempted_requests: int = 0
    preempted_queries: int = 0
    preempted_hits: int = 0

    def record(self, num_tokens: int, num_hit_tokens: int, was_preempted: bool) -> None:
        if was_preempted:
            self.preempted_requests += 1
            self.preempted_queries += num_tokens
            self.preempted_hits += num_hit_tokens
        else:
            self.requests += 1
            self.queries += num_tokens
            self.hits += num_hit_tokens
