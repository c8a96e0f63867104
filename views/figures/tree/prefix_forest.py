"""The prefix trees of one run as a graph: an edge leads from a hash to each hash that continues it.

    NONE_HASH -> #2f1c -> #77ab -> #90d1      a node per key of the prefix cache, and below each
                              \\--> #c4e2      root one tree: same group, same extra keys

In the graph are the keys that the cache holds, the ends of the chains that somebody asks about
(pins), and everything in front of either, cached or not. Between two moments only what differs is
changed, in either direction of time.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import networkx as nx

from engine.trace.entries import RequestState
from engine.trace.per_trace import OnePerTrace
from engine.trace.state import State, cache_key
from engine.trace.trace import Trace


class Root(NamedTuple):
    """Where the first blocks hang that have the same extra keys."""

    group_id: int
    lora_name: str | None
    cache_salt: str | None


Node = str | Root  # a cache key (hash and group), or a root


class Link(NamedTuple):
    """The place of a hash in the chain of a request."""

    request: RequestState
    group_id: int
    place: int  # the logical index of its block


def num_links(state: State, request: RequestState, group_id: int) -> int:
    """How many full blocks of the group's size have a hash."""
    return request.num_block_hashes // hash_factor(state, group_id)


def hash_factor(state: State, group_id: int) -> int:
    """How many hashes stand one behind the other in a key of the group (SEMANTICS 3)."""
    factor: int = state.group_block_sizes[group_id] // state.block_size
    return factor


def link_hash(state: State, link: Link) -> str:
    factor = hash_factor(state, link.group_id)
    start = link.place * factor
    return "".join(link.request.hash_log[start : start + factor])


def link_node(state: State, link: Link) -> Node:
    """The node of a link; that of index -1 is the root of the chain."""
    if link.place < 0:
        added = link.request.added
        return Root(link.group_id, added.lora_name or None, added.cache_salt or None)
    return cache_key(link_hash(state, link), link.group_id)


def last_link(state: State, request: RequestState, group_id: int) -> Link:
    return Link(request, group_id, num_links(state, request, group_id) - 1)


def link_of_block(state: State, block_id: int) -> Link:
    """The place of a hashed block in the chain of whoever took it last, and so hashed it."""
    block = state.blocks[block_id]
    assert block.request_id is not None, block_id
    return Link(state.requests[block.request_id], block.group_id, block.logical_index)


class Counts(NamedTuple):
    """Of a cache too large to draw."""

    cached: dict[str, tuple[int, ...]]
    num_blocks: int
    per_place: Counter[int]  # place in the chain -> how many hashes


class PrefixForest:
    """The graph of one run, moved from moment to moment."""

    def __init__(self) -> None:
        self.graph: nx.DiGraph[Node] = nx.DiGraph()
        self._cached: dict[str, tuple[int, ...]] = {}
        self._pins: dict[Node, Link] = {}
        self.sizes: dict[Node, int] = {}  # how many nodes hang at each, itself included
        self._counts: Counts | None = None

    def move(self, state: State, pins: Iterable[Link], *, with_cached: bool = True) -> None:
        """Make it the forest of `state`, with `pins` in it whether cached or not."""
        cached = state.cached if with_cached else {}
        wanted = {link_node(state, link): link for link in pins}
        changed = cached.keys() ^ self._cached.keys()
        gone: list[Node] = [key for key in changed if key not in cached]
        gone += [node for node in self._pins if node not in wanted]
        for key in changed:
            if key in cached:
                self._add(state, link_of_block(state, cached[key][0]))
        for link in wanted.values():
            self._add(state, link)
        self._cached, self._pins = cached, wanted
        for node in gone:
            self._remove(node)

    def _add(self, state: State, link: Link) -> None:
        """With everything in front of it, as far as that is not there yet."""
        node = link_node(state, link)
        fresh: list[Node] = []
        while node not in self.graph:
            self.graph.add_node(node)
            if fresh:
                self.graph.add_edge(node, fresh[-1])
            fresh.append(node)
            self.sizes[node] = len(fresh)
            if link.place < 0:
                return
            link = link._replace(place=link.place - 1)
            node = link_node(state, link)
        if fresh:
            self.graph.add_edge(node, fresh[-1])
            self._resize(node, len(fresh))

    def _remove(self, node: Node) -> None:
        """With everything in front of it that nothing else needs."""
        num_removed = 0
        while node in self.graph and not self._is_needed(node):
            before = list(self.graph.predecessors(node))
            self.graph.remove_node(node)
            del self.sizes[node]
            num_removed += 1
            if not before:
                return
            node = before[0]
        if num_removed:
            self._resize(node, -num_removed)

    def _resize(self, node: Node, by: int) -> None:
        for ancestor in self.path(node):
            self.sizes[ancestor] += by

    def _is_needed(self, node: Node) -> bool:
        return node in self._cached or node in self._pins or self.graph.out_degree(node) > 0

    def counts(self, state: State) -> Counts:
        """Most sub-steps leave the cache as it is, and comparing is quicker than counting."""
        if self._counts is None or self._counts.cached != state.cached:
            cached, blocks = state.cached, state.blocks
            places = Counter(blocks[block_ids[0]].logical_index for block_ids in cached.values())
            self._counts = Counts(cached, sum(map(len, cached.values())), places)
        return self._counts

    def path(self, node: Node) -> list[Node]:
        """From the root to `node`."""
        found = [node]
        while before := list(self.graph.predecessors(found[-1])):
            found.append(before[0])
        return found[::-1]

    def roots(self) -> Iterator[Root]:
        return (node for node in self.graph if isinstance(node, Root))

    def link(self, state: State, node: str) -> Link:
        """A request whose chain holds the hash: its own, or that of one that continues it."""
        at: Node = node
        num_steps = 0
        while at not in self._pins and at not in self._cached:
            at, num_steps = next(self.graph.successors(at)), num_steps + 1
        is_cached = isinstance(at, str) and at in self._cached
        found = link_of_block(state, self._cached[str(at)][0]) if is_cached else self._pins[at]
        return found._replace(place=found.place - num_steps) if num_steps else found


_FORESTS = OnePerTrace(lambda _: (threading.Lock(), PrefixForest()))


def forest_of(trace: Trace) -> tuple[threading.Lock, PrefixForest]:
    """The forest of a run, to be moved and read by whoever holds its lock."""
    return _FORESTS.of(trace)
