"""Two runs of one workload: what differs between them, and why."""

import pytest

from engine.workload import read_workload
from tests.views.comparisons import TEXT, drawn, expanded, frames_of, halves, said, total
from tests.views.runs import NAMES, WORKLOADS
from views.examples import DOC_EXAMPLE
from views.figures.compare.compare import compare
from views.figures.compare.compare_frames import at, differing, ranges
from views.workloads import Material, letters


def test_without_the_cache_request1_hits_nothing_and_the_page_says_why():
    why = "Because on the right: Prefix caching is off in this run: nobody asks the cache."
    assert said(drawn(DOC_EXAMPLE)) == [
        (3, "request1 hits 8 tokens on the left, 0 on the right.", why),
        (6, "request2 hits 12 tokens on the left, 0 on the right.", why),
    ]


def test_at_step_3_the_tables_of_request1_differ_in_all_four_entries():
    place = drawn(DOC_EXAMPLE)["places"][3]
    assert {id_: expanded(flat) for id_, flat in place["tables"].items()} == {
        "request1": [0, 1, 2, 3]
    }
    assert expanded(place["blocks"]) == [1, 2, 3, 4, 6, 7, 8, 9]  # 5 is partly filled on both
    assert place["facts"] == {"request1": ("hit",)}
    assert place["say"].startswith("8 blocks of the pool differ: 1, 2, 3, 4, 6, 7, 8, 9. 4 entries")


def test_a_block_size_that_is_too_large_for_the_shared_start_hits_less():
    page = drawn(DOC_EXAMPLE, right={"block_size": "8"})
    step, sentence, because = said(page)[0]
    assert (step, sentence) == (6, "request2 hits 12 tokens on the left, 8 on the right.")
    assert because.startswith("Because on the right: It parts from request0 at token 12: “α” here")
    assert total(page, "capacity") == ("40", "80", "")


@pytest.mark.parametrize(("num_blocks", "hits"), [("7", "0"), ("8", "12"), ("9", "24")])
def test_the_cliff_is_between_six_and_eight_usable_blocks(num_blocks, hits):
    page = drawn("cliff", left={"num_blocks": num_blocks}, right={})
    assert total(page, "hits")[0] == hits


def test_a_verdict_needs_two_sides_that_can_be_compared():
    with_and_without_cache = drawn(DOC_EXAMPLE)
    assert total(with_and_without_cache, "evictions") == ("1", "0", "")
    assert total(with_and_without_cache, "waste") == ("7.3%", "6.7%", "")
    assert total(with_and_without_cache, "peak")[2] == ""
    assert total(drawn(DOC_EXAMPLE, right={"block_size": "8"}), "waste")[2] == "left"


def test_at_the_cliff_each_prompt_finds_itself_just_evicted():
    page = drawn("cliff")
    assert total(page, "hits") == ("24", "0", "left")
    assert total(page, "evictions") == ("0", "8", "left")
    assert total(page, "computed") == ("30", "54", "left")
    assert said(page)[0] == (
        3,
        "r3 hits 8 tokens on the left, 0 on the right.",
        "Because on the right: Its logical block 0 was cached in block 1 since step 0, "
        "until r2 took that block in step 2.",
    )


def test_who_holds_no_block_has_no_k_and_v_whatever_it_would_hit():
    """r1 was thrown out; its hit of 8 tokens was looked up in step 8, but it was not admitted."""
    left, _ = halves("pressure")
    waiting = frames_of(left)[8].requests["r1"]
    assert (waiting.status, waiting.table, waiting.spans) == ("PREEMPTED", (), (0, 0, 0, 0))


def test_who_is_preempted_and_for_whom():
    page = drawn("pressure")
    assert said(page) == [
        (
            5,
            "r1 is preempted 1 × on the left, 0 × on the right.",
            "Because on the left: in step 5 r0 needed a block and none was free.",
        ),
        (12, "r1 ends in step 15 on the left, in step 11 on the right.", ""),
        (
            16,
            "r1 computes 23 tokens on the left, 19 on the right: what a preemption threw away is "
            "computed again, unless it hits.",
            "",
        ),
    ]
    assert total(page, "preemptions") == ("1", "0", "right")
    assert total(page, "steps") == ("16", "12", "right")


def test_who_waits_is_told_with_what_it_waits_for():
    because = {line[1]: line[2] for line in said(drawn("shared"))}
    assert because["r2 is admitted in step 0 on the left, in step 4 on the right."] == (
        "Because on the right: in step 0 it needs 5 blocks, and 4 are free."
    )
    assert because["r3 is admitted in step 0 on the left, in step 4 on the right."] == (
        "Because on the right: in step 0 r2 stands in front of it and does not fit, "
        "and the line is served in order."
    )


def test_one_seat_is_given_to_whom_the_policy_puts_first():
    page = drawn("line")
    assert said(page)[1] == (
        0,
        "r1 is admitted in step 6 on the left, in step 0 on the right.",
        "Because on the left: 1 request runs in step 0, and max_num_seqs lets no more.",
    )
    assert total(page, "mean_end") == ("6.0", "2.7", "right")


def test_a_budget_that_others_use_up_is_named():
    lines = "@0 ABCDEFGHIJKLMNOP > xyz\n@0 abcdefgh > z"
    page = drawn(letters(lines, TEXT), right={"max_num_batched_tokens": "8"})
    assert (0, "r1 is admitted in step 0 on the left, in step 2 on the right.") in [
        line[:2] for line in said(page)
    ]
    assert "Because on the right: others use up the budget of step 0, 8 tokens." in [
        line[2] for line in said(page)
    ]


def test_the_order_of_arrival_is_a_difference_like_any_other():
    page = drawn("cliff", left={"num_blocks": "9"}, right={"order": "reversed"})
    assert said(page)[0][:2] == (0, "r0 arrives in step 0 on the left, in step 5 on the right.")


def test_a_run_that_never_ends_is_no_better_in_anything():
    page = drawn(DOC_EXAMPLE, left={"num_blocks": "5"}, right={})
    assert total(page, "steps") == ("never", "8", "right")
    assert total(page, "computed")[2] == ""
    assert page["finished"][0] == {
        "request": "request0",
        "is_cut": False,
        "values": ["never", "4"],
        "better": "right",
    }
    assert page["sides"][0]["run"]["note"].startswith("nothing can run any more: request0 stands")


def test_a_run_that_is_over_stays_at_its_end():
    left, right = (frames_of(side) for side in halves("pressure"))
    assert (len(left), len(right)) == (17, 13)
    assert at(right, 15) is right[-1]
    assert {r.status for r in at(right, 15).requests.values()} == {"FINISHED_LENGTH_CAPPED"}
    assert drawn("pressure")["places"][15]["say"].endswith(
        "r1 is here on the left: running; on the right: finished: length."
    )


def test_a_side_is_no_different_from_itself():
    page = drawn(DOC_EXAMPLE, right={})
    assert page["reasons"]["lines"] == []
    assert page["places"][0]["say"] == "At this step both runs are alike."
    assert page["places"][1:] == [None] * 8
    assert {row["better"] for row in page["totals"]} <= {"equal", ""}


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_workload_is_compared_with_and_without_the_cache(name):
    """The browser's pictures, put together from their changes, are those of the run."""
    workload = read_workload(WORKLOADS / f"{name}.json")
    off = "off" if workload.config.enable_prefix_caching else "on"
    sides = halves(Material(workload), right={"enable_prefix_caching": off})
    page = compare(*sides, TEXT)
    for side, shown in zip(sides, page["sides"], strict=True):
        assert side.errors == {}
        codes, requests = {}, {}
        run = shown["run"]
        for frame, flat, changed in zip(
            frames_of(side), run["blocks"], run["requests"], strict=True
        ):
            codes.update(zip(flat[::2], flat[1::2], strict=True))
            for id_, now in changed.items():
                table = requests[id_][6] if now[6] is None else now[6]
                requests[id_] = [*now[:6], table]
            assert [code >> 5 for code in codes.values()] == [b.ref_cnt for b in frame.blocks]
            assert {id_: tuple(r[6]) for id_, r in requests.items()} == {
                id_: r.table for id_, r in frame.requests.items()
            }


def test_what_lies_in_a_block_is_compared_where_both_have_one_block_size():
    one, other = (frames_of(side)[0] for side in halves("line"))
    assert differing(one, other, same_blocks=True).block_ids == (1, 2)
    without_content = differing(one, other, same_blocks=False).block_ids
    assert set(without_content) <= {1, 2}
    assert 2 in without_content, "hashed here, partial there"


def test_a_block_in_another_requests_table_differs_also_between_block_sizes():
    sides = halves("doc_example", right={"block_size": "8"})
    one, other = (frames_of(side)[4] for side in sides)
    assert {"request0"} == {id_ for id_, r in one.requests.items() if 4 in r.table}
    assert {"request1"} == {id_ for id_, r in other.requests.items() if 4 in r.table}
    assert 4 in differing(one, other, same_blocks=False).block_ids


@pytest.mark.parametrize(
    ("on_the_left", "differ"),
    [("30", [1, 2, 3, 5, 6, 7, 8]), ("9", [1, 2, 3, 5, 6, 7, 8]), ("8", [1, 2, 3, 5, 6, 7])],
)
def test_a_block_that_only_one_side_ever_used_differs_where_both_pools_have_it(on_the_left, differ):
    """With the cache r1 shares 1, 2 and 3, so that the left pool is drawn up to block 7."""
    sharing = letters("@0 ABCDEFGHIJKL > vwxyz\n@2 ABCDEFGHIJKLMN > xyz", TEXT)
    right = {"num_blocks": "30", "enable_prefix_caching": "off"}
    sides = halves(sharing, left={"num_blocks": on_the_left}, right=right)
    one, other = (frames_of(side)[2] for side in sides)
    assert len(one.blocks) == 8
    assert other.requests["r1"].table == (5, 6, 7, 8)
    place = compare(*sides, TEXT)["places"][2]
    assert expanded(place["blocks"]) == differ
    assert place["say"].startswith(f"{len(differ)} blocks of the pool differ: 1, 2, 3, 5, 6, 7")


def test_numbers_are_sent_as_ranges():
    assert ranges([]) == []
    assert ranges([3]) == [3, 4]
    assert ranges([0, 1, 2, 5, 7, 8]) == [0, 3, 5, 6, 7, 9]
