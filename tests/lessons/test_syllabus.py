"""The numbers of the syllabus, one story each, as every lesson's recorded run holds them.

The syllabus counts steps from 1; lessons count them from 0, as the page does.
"""

import functools
from typing import Any

import pytest

from lessons.checks import facts_of
from lessons.facts import source
from lessons.grading import answer_of
from lessons.library import LoadedLesson, load_lesson

lesson = functools.lru_cache(maxsize=None)(load_lesson)


def values(number: str, *names: str) -> list[Any]:
    loaded: LoadedLesson = lesson(number)
    return [loaded.value(name) for name in names]


def test_2_token_21_lives_in_block_10_slot_41() -> None:
    assert values("2", "table") == [(7, 2, 19, 4)]
    assert values("2", "s_table") == [(1, 2, 3, 8, 9, 10, 5, 4)]
    assert values("2", "logical", "block", "offset", "slot") == [5, 10, 1, 41]


def test_5_eleven_blocks_are_ten_and_the_first_is_1() -> None:
    assert values("5", "first", "usable") == [1, 10]
    assert values("5", "queue") == [tuple(range(1, 11))]


def test_6_fifteen_tokens_take_four_blocks_and_three_get_a_hash() -> None:
    assert values("6", "tokens", "table", "hashed_count") == [15, (1, 2, 3, 4), 3]
    assert values("6", "sixteen_tokens", "sixteen_size", "sixteen_table") == [5, 16, (1,)]


def test_7_a_prompt_of_6_takes_a_block_in_steps_4_and_8() -> None:
    (steps,) = values("7", "steps")
    assert [step + 1 for step in steps[1:]] == [4, 8]
    assert values("7", "computed_before") == [8]  # token 9 is computed in that step


def test_8_token_0_changes_all_hashes_token_5_all_from_the_second_on() -> None:
    assert values("8", "full", "b_changed", "c_changed_blocks") == [4, 4, (1, 2, 3)]
    assert values("8", "reproduced") == [True]


def test_9_the_second_of_two_equal_prompts_computes_one_token() -> None:
    assert values("9", "tokens", "b_tokens") == [9, 1]
    assert values("9", "a_table", "b_table", "refs") == [(1, 2, 3), (1, 2, 4), (2, 2, 1, 1)]
    assert values("9", "common", "common_c") == [2, 0]


def test_9_one_system_prompt_for_1_2_5_and_10_requests() -> None:
    assert values("9", "pirate_tokens", "pirate_shared") == [17, 16]
    assert values("9", "one_used", "two_used", "five_used", "ten_used") == [5, 6, 9, 14]
    assert values("9", "one_alone", "two_alone", "five_alone", "ten_alone") == [5, 10, 25, 50]


def test_10_the_documentations_example_to_the_end() -> None:
    assert values("10", "r1_shared", "r1_cached", "r1_table") == [10, 8, (1, 2, 6, 7)]
    assert values("10", "queue") == [(8, 9, 10, 5, 4, 3, 7, 6, 2, 1)]
    assert values("10", "r2_shared", "r2_table") == [12, (1, 2, 3, 8, 9, 10, 5, 4)]
    assert values("10", "left", "middle_cached") == [(7, 6), 0]


def test_11_what_one_changed_token_of_17_leaves() -> None:
    names = ("hit0", "hit3", "hit6", "hit9", "hit12", "hit15")
    assert values("11", *names) == [0, 0, 4, 8, 12, 12]
    assert values("11", "eight", "nine") == [4, 8]
    assert values("11", "head_hit", "tail_hit", "tail_tokens") == [0, 36, 56]


def test_12_nothing_is_used_and_8_of_9_hit() -> None:
    assert values("12", "usage_gone", "hit", "tokens") == [0.0, 8, 9]
    assert values("12", "refused", "granted", "hit_after") == [False, True, 0]
    (before, after) = values("12", "queue_before", "queue_after")
    assert before == after


def test_13_a_stranger_eats_a_prefix_from_its_tail() -> None:
    assert values("13", "tokens", "full", "usable") == [13, 3, 8]
    assert values("13", "queue") == [(5, 6, 7, 8, 4, 3, 2, 1)]
    assert values("13", "five_hit", "six_hit", "seven_hit", "eight_hit") == [12, 8, 4, 0]


@pytest.mark.parametrize(("pool", "hits"), [("three", 0), ("seven", 4), ("eight", 8)])
def test_14_three_prompts_in_turn_in_6_7_and_8_blocks(pool: str, hits: int) -> None:
    assert values("14", "two_a", "two_b") == [8, 8]
    assert values("14", f"{pool}_a", f"{pool}_b", f"{pool}_c") == [hits] * 3


def test_14_with_unhashed_tails_at_the_head_the_cliff_moves_by_one_block() -> None:
    assert values("14", "three_later", "seven_later", "eight_later") == [4, 8, 8]
    assert values("14", "later_queue") == [(3, 4, 5, 6, 7, 2, 1)]


def test_15_b_is_thrown_out_in_step_6_and_back_in_step_10() -> None:
    assert values("15", "victim", "block_for_a", "queue") == ["b", 6, (4, 3)]
    (out, back) = values("15", "victim_step", "resumed_step")
    assert (out + 1, back + 1) == (6, 10)
    assert values("15", "b_returns", "b_tokens", "recomputed") == [False, 13, 5]
    assert values("15", "resumed_hit", "resumed_table") == [8, (3, 4, 6, 5)]


def test_16_twins_keep_their_blocks_under_one_hash() -> None:
    assert values("16", "tokens", "b_table", "copies") == [8, (1, 3), (2, 3)]
    assert values("16", "a_grown", "b_grown") == [(1, 2, 4), (1, 3, 5)]


def test_17_four_and_four_hit_4_four_and_five_hit_8() -> None:
    assert values("17", "prompt", "four_tokens", "five_tokens") == [4, 8, 9]
    assert values("17", "four_hit", "five_hit") == [4, 8]


def test_18_chunks_the_head_of_the_line_and_a_request_that_never_fits() -> None:
    assert values("18", "tokens", "table0", "table1") == [18, (1, 2), (1, 2, 3, 4)]
    assert values("18", "table2") == [(1, 2, 3, 4, 5)]
    assert values("18", "big_tokens", "line_free") == [20, 4]
    assert values("18", "hits_free", "hits_needed") == [3, 4]
    (victim, step) = values("18", "victim", "victim_step")
    assert (victim, step + 1) == ("huge", 3)
    assert values("18", "end_running", "end_waiting", "end_usage") == [0, 2, 0.0]


def test_19_salt_adapter_and_a_request_that_does_not_read() -> None:
    assert values("19", "y_hit", "x_hit", "lora_hit") == [0, 8, 0]
    assert values("19", "x_first", "x_second", "x_third") == [("x",), (), ()]
    assert values("19", "lora_first", "lora_second", "lora_third") == [("poet",)] * 3
    assert values("19", "skip_hit", "reader_hit") == [0, 8]


def test_20_a_refused_request_is_counted_on_each_try() -> None:
    assert values("20", "runs_tokens", "big_tokens", "queries") == [8, 20, 48]


def test_20_later_versions_count_a_lookup_once() -> None:
    assert values("20", "later_queries", "later_hits", "later_warm_queries") == [8, 8, 37]


def test_21_a_window_leaves_holes_and_eagle_drops_a_block() -> None:
    assert values("21", "tokens", "full") == [26, (1, 2, 5, 6, 9, 10, 13)]
    assert values("21", "sliding", "b_hit") == [(0, 0, 0, 0, 11, 12, 14), 24]
    (next_hole, prefill_end, step) = values("21", "next_hole", "prefill_end", "hole_step")
    assert (next_hole, step - prefill_end) == (11, 2)  # the second step of decode
    assert values("21", "plain_hit", "eagle_hit") == [12, 8]


CLAIMS = {  # section 5 of the syllabus, one card each; true of 0.17.1, or not
    "letters": False, "ids": False, "victim": False, "access_time": False, "scans": False,
    "division": False, "table": False, "in_use": False, "takes_nothing": False,
    "up_front": False, "mask": False, "ni_hao": False, "signature": False, "sixteen": False,
    "shape": False,
}  # fmt: skip
TRUE_ONES = ("registered", "tail_first", "comes_back")


def test_23_every_claim_of_the_table_is_a_card_and_a_check_decides_it() -> None:
    loaded = lesson("23")
    cards = loaded.lesson.predictions
    for claim, is_true in {**CLAIMS, **dict.fromkeys(TRUE_ONES, True)}.items():
        name = f"{claim}_holds"
        assert cards[name].answer["check"]
        found = answer_of(loaded.lesson, name, loaded.traces)
        assert (claim, found) == (claim, "holds" if is_true else "fails")
    assert len(CLAIMS) == 15


def test_23_the_source_decides_only_where_no_run_can() -> None:
    checks = {name: each.answer["check"] for name, each in lesson("23").lesson.predictions.items()}
    asked = {name for name, check in checks.items() if check in facts_of(source)}
    assert asked == {"access_time_holds", "signature_holds", "sixteen_holds", "shape_holds"}
    assert values("23", "r0_tokens", "first", "r0_blocks") == [15, 1, 4]
