"""Nodes of the prefix trees: what of their tokens is drawn, and where they stand."""

import pytest

from tests.views.trees import doc_tree, last_tree, run
from views.figures.tree.node_label import _label as block_label
from views.figures.tree.node_label import columns_of, cut
from views.figures.tree.tree_layout import GAP_X, GAP_Y, Drawn, boxes


def shown_label(node):
    """As drawn, with the token in brackets that makes the node a branch."""
    runs = [[node["label"], ""]] if isinstance(node["label"], str) else node["label"]
    return "".join(f"[{text}]" if "differs" in kind else text for text, kind in runs)


def test_a_branch_that_fits_shows_all_its_tokens_and_marks_where_it_differs():
    payload = doc_tree(3, "StepEnded")
    branches = [node for node in payload["nodes"] if node.get("place") == 2]
    assert [node["text"] for node in branches] == ["9 10 11 12", "9 10 201 202"]
    assert [shown_label(node) for node in branches] == ["9 10 [11] 12", "9 10 [201] 202"]
    assert branches[0]["parent"] == branches[1]["parent"]


def test_a_branch_that_does_not_fit_begins_where_it_differs():
    """Two prompts that have two long tokens of four in common."""
    starts = [[1, 2, 3, 4, 70001, 70002, third, 70004] for third in (80001, 90001)]
    payload = last_tree(run([([*start, 5], {}) for start in starts]))
    branches = [node for node in payload["nodes"] if node.get("place") == 1]
    assert [shown_label(node) for node in branches] == ["…[80001] 70004", "…[90001] 70004"]
    assert [node["text"] for node in branches] == [
        "70001 70002 80001 70004",
        "70001 70002 90001 70004",
    ]


def test_one_sees_where_a_token_ends_that_is_spelled_in_bytes():
    """A family of four, as a tokenizer may cut its 25 bytes; then letters, which need no sign."""
    family = "👨‍👩‍👧‍👦".encode()
    tokens = (family[:2], family[2:3], family[3:4], family[4:6], family[6:7], b"!", b"a", b"b")
    label = block_label(tuple(range(8)), tokens, 0)
    assert label.whole == "F0 9F|91|A8|E2 80|8D|!ab"
    assert label.short == [
        ["F0 9F", "bytes"],
        ["|", "sign"],
        ["91", "bytes"],
        ["|", "sign"],
        ["A8", "bytes"],
        ["|", "sign"],
        ["…", "bytes"],
    ]


def test_a_shared_block_says_how_many_share_it():
    """Step 3: request0 and request1 hold blocks 1 and 2."""
    held = {node["place"]: node["blocks"] for node in doc_tree(3, "StepEnded")["nodes"][1:5]}
    assert held[0] == [[1, "shared", 2]]
    assert held[3] == [[4, "used", 0]]


def test_a_node_without_siblings_has_nothing_marked():
    payload = doc_tree(0, "StepEnded")
    assert [shown_label(node) for node in payload["nodes"][1:]] == [
        "1 2 3 4",
        "5 6 7 8",
        "9 10 11 12",
        "13 14 15 101",
    ]


def test_narrow_boxes_stand_in_the_same_rows_and_keep_a_hash_where_there_is_room():
    payload = doc_tree(6, "BlocksCached")
    nodes = payload["nodes"]
    assert payload["gaps"] == [18, 10, 6]
    for node in nodes:
        left, width, _ = node["narrow"]
        assert left <= node["x"]
        assert width < node["w"]
        if node["parent"] >= 0:
            before = nodes[node["parent"]]["narrow"]
            assert left >= before[0] + before[1] + 10
    with_hash = {node["narrow"][1]: node["narrow"][2] for node in nodes if "short" in node}
    assert with_hash[min(with_hash)] is False


def test_in_one_line_a_request_stands_beside_the_end_of_its_chain_and_below_where_it_goes_on():
    """request0 ends before a block that request2 does not have; nothing follows behind request2."""
    nodes = doc_tree(6, "BlocksCached")["nodes"]
    tops = sorted({node["slim"][1] for node in nodes})
    assert tops == [0, 28]
    ends = {name: node for node in nodes for name, *_ in node.get("requests", ())}
    assert list(ends) == ["request2"]
    *_, height, beside = ends["request2"]["slim"]
    assert height == 22
    assert beside == round(20 + 6.7 * len("request2+1")) + 4
    growing = doc_tree(3, "StepEnded")["nodes"]
    first = next(
        node for node in growing if ["request0", "+3", "running"] in node.get("requests", ())
    )
    assert first["slim"][3:] == [22, 91]


def test_the_first_branch_goes_straight_on_and_the_others_get_rows_of_their_own():
    drawn = [
        Drawn("root", ("a",), -1),
        Drawn("hash", ("b",), 0),
        Drawn("hash", ("c",), 1),
        Drawn("hash", ("d",), 1),
        Drawn("hash", ("e",), 0),
    ]
    placed = boxes(drawn, [(50, 40), (80, 40), (60, 60), (70, 40), (90, 40)])
    assert [box.top for box in placed] == [0, 0, 0, 60 + GAP_Y, 60 + GAP_Y + 40 + GAP_Y]
    assert [box.left for box in placed] == [
        0,
        50 + GAP_X,
        140 + 2 * GAP_X,
        140 + 2 * GAP_X,
        50 + GAP_X,
    ]
    assert [box.width for box in placed] == [50, 90, 70, 70, 90]


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("你好吗", 6, "你好吗"),
        ("你好吗", 5, "你好…"),
        ("你好吗", 4, "你…"),
        ("", 1, ""),
    ],
)
def test_a_label_is_cut_by_how_wide_it_is_drawn(text, columns, expected):
    assert cut(text, columns) == expected
    assert columns_of(expected) <= columns
