"""The prefix trees: what hangs where, whose path it is, how a lookup walked, what a large one folds."""

import json
import random

import pytest

from tests.views.runs import NAMES, golden_trace, moments
from tests.views.trees import TEXT, doc_tree, last_tree, run
from views.figures.selection import Selection
from views.figures.tree.tree import tree


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_run_is_drawn_with_every_block_of_the_cache_in_one_node(name):
    trace = golden_trace(name)
    for moment in moments(trace, at_most=20):
        state = moment.state
        chosen = [Selection(), Selection(block_id=1), Selection(request_id="nobody")]
        chosen += [Selection(request_id=id_) for id_ in list(state.requests)[-2:]]
        chosen += [Selection(block_hash=key[:-8]) for key in list(state.cached)[:1]]
        for selection in chosen:
            payload = tree(moment, TEXT, trace=trace, selection=selection)
            json.dumps(payload)
            nodes = payload["nodes"]
            assert len({node["k"] for node in nodes}) == len(nodes)
            shown = {node["k"]: node["blocks"] for node in nodes if node["kind"] == "hash"}
            folded = any(node["kind"] == "fold" for node in nodes)
            for key, block_ids in state.cached.items():
                assert folded or [id_ for id_, *_ in shown[key[-24:]]] == list(block_ids[:3])


def test_the_lookup_of_the_example_is_walked_to_its_first_miss():
    payload = doc_tree(3, "PrefixLookedUp")
    marks = [(node["short"], node["mark"]) for node in payload["nodes"] if "mark" in node]
    assert marks == [
        ("#bae91d", ["hit", 1]),
        ("#2b036b", ["hit", 2]),
        ("#c9c4cf", ["miss", 3]),
    ]
    assert payload["sentence"] == (
        "request1 looked up in step 3: 2 of 3 full blocks hit; #c9c4cf was not cached."
    )
    missed = next(node for node in payload["nodes"] if node.get("mark") == ["miss", 3])
    assert missed["state"] == "absent"
    assert missed["blocks"] == []
    assert payload["focus"] == missed["k"]


def test_a_chosen_request_is_a_path_from_the_root_to_its_last_full_block():
    payload = doc_tree(3, "StepEnded", request_id="request0")
    path = [node for node in payload["nodes"] if node.get("path")]
    assert [node.get("short") for node in path] == [
        None,
        "#bae91d",
        "#2b036b",
        "#f917a0",
        "#1c194c",
    ]
    assert path[-1]["requests"] == [["request0", "+3", "running"]]
    assert payload["walked"] == "request0"


def test_the_chain_of_whom_the_sub_step_is_about_is_to_be_in_sight():
    payload = doc_tree(6, "BlocksCached")
    (end,) = [node for node in payload["nodes"] if "request2" in str(node.get("requests"))]
    assert payload["focus"] == end["k"]
    assert end["place"] == 6
    decoding = doc_tree(4, "TokensSampled")
    focus = next(node for node in decoding["nodes"] if node["k"] == decoding["focus"])
    assert [name for name, *_ in focus["requests"]] == ["request0"]


def test_a_hash_that_is_registered_before_the_model_ran_says_so():
    before, computed = doc_tree(0, "BlocksCached"), doc_tree(0, "SlotsWritten")
    assert [node["state"] for node in before["nodes"][1:]] == ["unwritten"] * 3
    assert [node["state"] for node in computed["nodes"][1:]] == ["cached"] * 3


def test_twins_stand_in_one_node_oldest_first():
    trace = run([([1, 2, 3, 4], {}), ([1, 2, 3, 4], {})])
    (node,) = [node for node in last_tree(trace)["nodes"] if node["kind"] == "hash"]
    state = trace.at(trace.last)
    assert [block for block, *_ in node["blocks"]] == list(*state.cached.values()) == [1, 2]


def test_salt_and_adapter_have_roots_of_their_own():
    prompt = [1, 2, 3, 4, 5]
    options = [{}, {"cache_salt": "<b>ours</b>"}, {"lora": "sql"}]
    payload = last_tree(run([(prompt, one) for one in options]))
    roots = [(node["label"], node["below"]) for node in payload["nodes"] if node["kind"] == "root"]
    assert roots == [
        ("NONE_HASH", "#14aa7c"),
        ("NONE_HASH", "salt <b>our…"),
        ("NONE_HASH", "LoRA sql"),
    ]


def test_each_group_has_a_tree_of_its_own():
    trace = golden_trace("hybrid_full_sliding")
    roots = [n["label"] for n in last_tree(trace)["nodes"] if n["kind"] == "root"]
    assert roots == ["0: full", "1: sliding"]


def test_what_a_window_no_longer_needs_is_no_hit_and_no_miss():
    trace = golden_trace("sliding_window")
    kinds = set()
    for moment in moments(trace, at_most=200):
        for node in tree(moment, TEXT, trace=trace)["nodes"]:
            kinds.add(node["mark"][0] if "mark" in node else None)
    assert "hole" in kinds


def test_a_hash_whose_parent_was_forgotten_hangs_behind_the_dashed_parent():
    found = set()
    for name in NAMES:
        trace = golden_trace(name)
        for moment in moments(trace, at_most=60):
            if moment.state.live_requests():
                continue
            nodes = tree(moment, TEXT, trace=trace)["nodes"]
            for node in nodes:
                if node["kind"] == "hash" and node["state"] == "absent":
                    children = [n["state"] for n in nodes if nodes[n["parent"]] is node]
                    assert children, "nobody asks for it, and nothing hangs behind it"
                    found.update(children)
    assert "cached" in found


def test_a_run_as_deep_as_the_lens_has_room_for_is_drawn_hash_by_hash():
    """Four requests in 64 blocks: eight blocks that all share, and eight of one's own."""
    prompts = [([*range(32), *range(100 * i, 100 * i + 32)], {}) for i in range(1, 5)]
    nodes = last_tree(run(prompts, num_blocks=64))["nodes"]
    assert [node["kind"] for node in nodes] == ["root", *["hash"] * (8 + 4 * 8)]


def test_a_deeper_run_folds_its_middle_and_a_chosen_hash_comes_out_of_the_fold():
    trace = run([(list(range(120)), {})])
    folded = last_tree(trace)["nodes"]
    assert [node["kind"] for node in folded] == ["root", *["hash"] * 7, "fold", *["hash"] * 7]
    assert folded[8]["below"] == "×16 hashes"
    assert folded[8]["label"] == [["28 29 30 31", "code"]]
    opened = last_tree(trace, block_hash=trace.at(trace.last).requests["r0"].block_hashes[14])
    kinds = [node["kind"] for node in opened["nodes"]]
    assert kinds == ["root", *["hash"] * 3, "fold", *["hash"] * 7, "fold", *["hash"] * 3]
    assert opened["nodes"][8]["place"] == 14
    assert opened["focus"] == opened["nodes"][8]["k"]
    assert opened["recipe"]["steps"][0]["verdict"][0] is True


def branching(num_requests, num_blocks):
    """Ten starts of 20 tokens, and behind them what nobody else has."""
    draw = random.Random(1)
    return [
        ([1000 + i % 10] * 20 + [draw.randrange(50_000) for _ in range(4 * num_blocks + 1)], {})
        for i in range(num_requests)
    ]


def test_more_than_500_nodes_keep_the_chosen_path_and_count_the_rest():
    trace = run(branching(60, 10), num_blocks=2000)
    state = trace.at(trace.last)
    assert 500 < len(state.cached) < 5000
    payload = last_tree(trace, request_id="r37")
    nodes = payload["nodes"]
    assert len(nodes) < 200
    path = [node for node in nodes if node.get("path")]
    assert path[-1]["requests"][0][0] == "r37"
    counted = sum(1 for node in nodes if node["kind"] == "hash")
    counted += sum(int(node["title"].split()[0]) for node in nodes if node["kind"] == "fold")
    rests = [node for node in nodes if node["kind"] == "rest"]
    counted += sum(int(node["below"].split()[0]) for node in rests)
    assert counted == len(state.cached), "what is not drawn is counted"
    assert len(json.dumps(payload)) < 60_000


def test_more_than_5000_hashes_are_counted_by_their_place_and_a_chosen_path_is_drawn():
    trace = run(branching(130, 40), num_blocks=8000)
    state = trace.at(trace.last)
    assert len(state.cached) > 5000
    payload = last_tree(trace)
    assert payload["nodes"] == []
    counts = [int(count.replace(",", "")) for _, count, _ in payload["depths"]["rows"]]
    assert sum(counts) == len(state.cached)
    assert payload["depths"]["rows"][0][0] == "0 to 1"
    assert len(json.dumps(payload)) < 4_000
    chosen = last_tree(trace, request_id="r5")
    assert "r5" in [node["requests"][0][0] for node in chosen["nodes"] if "requests" in node]
    assert len(chosen["nodes"]) < 20


def test_with_caching_off_there_is_no_tree_and_a_word_why():
    payload = last_tree(golden_trace("prefix_off"))
    assert payload["nodes"] == []
    assert payload["empty"] == "enable_prefix_caching is off: no block gets a hash."
