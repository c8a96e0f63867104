"""The graph of all hashes: what hangs on what, whichever way one came to a moment."""

import random

import networkx as nx
import pytest

from engine.trace.state import cache_key
from tests.views.runs import NAMES, golden_trace, moments
from views.figures.tree.prefix_forest import PrefixForest, Root, last_link, link_node


def live_ends(state):
    groups = range(len(state.groups))
    return [last_link(state, r, g) for r in state.live_requests().values() for g in groups]


@pytest.mark.parametrize("name", NAMES)
def test_a_forest_moved_to_and_fro_is_the_forest_built_anew(name):
    trace = golden_trace(name)
    moved = PrefixForest()
    pictures = [moment.state for moment in moments(trace, at_most=16)]
    for state in [*pictures, *random.Random(0).sample(pictures, len(pictures))]:
        moved.move(state, live_ends(state))
        anew = PrefixForest()
        anew.move(state, live_ends(state))
        assert set(moved.graph.edges) == set(anew.graph.edges)
        assert moved.sizes == {
            node: 1 + len(nx.descendants(moved.graph, node)) for node in moved.graph
        }
        assert set(moved.graph) >= {*state.cached, *(link_node(state, e) for e in live_ends(state))}
        assert all(
            isinstance(node, Root) or link_node(state, moved.link(state, node)) == node
            for node in moved.graph
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_hash_hangs_at_its_parent_and_at_no_other_node(name):
    trace = golden_trace(name)
    for moment in moments(trace, at_most=12):
        state, forest = moment.state, PrefixForest()
        forest.move(state, live_ends(state))
        for key, block_ids in state.cached.items():
            (before,) = forest.graph.predecessors(key)
            for block_id in block_ids:
                block = state.blocks[block_id]
                if block.parent_block_hash is None:
                    assert isinstance(before, Root)
                else:
                    assert before == cache_key(block.parent_block_hash, block.group_id)
