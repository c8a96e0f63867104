"""Long block tables: cut into lines, folded in their middle, unfolded when somebody asks."""

import pytest

from tests.views.page import payload, send
from tests.views.trees import run
from views.figures.cache.tables import tables
from views.figures.moment import moment_at
from views.text import Text

TEXT = Text("en")
SMALL = {"block_size": 4, "num_blocks": 64, "max_num_seqs": 8}
LARGE = SMALL | {"num_blocks": 1024}


def drawn(items):
    """Logical indices in order; a fold as its count in brackets."""
    return [item["index"] if "index" in item else [item["hidden"]] for item in items]


def table_of(config, num_blocks, *, num_requests=1, **options):
    """The first table of so many requests, each with this many blocks of their own prompt."""
    prompts = ([1000 * k + j for j in range(4 * num_blocks - 1)] for k in range(num_requests))
    trace = run([(prompt, {"arrival_step": 0}) for prompt in prompts], **config)
    return tables(moment_at(trace, trace.after_schedule(0)), TEXT, **options)


def test_four_requests_have_two_lines_of_eight_each_and_a_fold_where_that_is_too_little():
    shown = table_of(SMALL, 15, num_requests=4)
    assert shown["columns"] == 8
    assert [drawn(row["groups"][0]["items"]) for row in shown["rows"]] == [[*range(15)]] * 4
    items = table_of(LARGE, 60, num_requests=4)["rows"][3]["groups"][0]["items"]
    assert drawn(items) == [0, 1, 2, [52], 55, 56, 57, 58, 59]


def test_a_request_that_is_alone_has_ten_lines():
    assert drawn(table_of(SMALL, 63)["rows"][0]["groups"][0]["items"]) == [*range(63)], "8 x 8"
    items = drawn(table_of(LARGE, 90)["rows"][0]["groups"][0]["items"])
    assert items == [*range(23), [42], *range(65, 90)]


def test_what_is_selected_stays_in_sight_in_the_middle_of_a_fold():
    items = table_of(LARGE, 90, lit=[41])["rows"][0]["groups"][0]["items"]
    assert drawn(items) == [*range(23), [17], 40, [24], *range(65, 90)]


def test_an_unfolded_table_is_drawn_to_its_end_and_offers_to_fold():
    row = table_of(LARGE, 90, unfolded={"table r0"})["rows"][0]
    assert drawn(row["groups"][0]["items"]) == [*range(90)]
    assert (row["unfolded"], row["key"]) == (True, "table r0")
    longest = table_of(LARGE, 1000, unfolded={"table r0"})
    items = drawn(longest["rows"][0]["groups"][0]["items"])
    assert items == [*range(598), [397], *range(995, 1000)]


@pytest.mark.parametrize(("num_blocks", "columns"), [(16, 0), (17, 8), (100, 8), (101, 5)])
def test_a_line_is_as_long_as_the_numbers_of_the_pool_allow(num_blocks, columns):
    shown = table_of(SMALL | {"num_blocks": num_blocks}, 3)
    assert shown["columns"] == columns, "0: a small pool has each index above its block"
    assert shown["roomy"] == (columns == 0)


def test_of_the_holes_of_a_window_the_first_two_and_the_last_are_drawn():
    window = {"kv_groups": [{"type": "sliding", "window": 8}], "max_num_batched_tokens": 16}
    trace = run([([*range(1, 80)], {})], **SMALL | window)
    moment = moment_at(trace, trace.after_schedule(4))
    items = tables(moment, TEXT)["rows"][0]["groups"][0]["items"]
    assert [item.get("holes") or (item["index"], item["block"]) for item in items] == [
        *((0, 0), (1, 0)),
        11,
        *((13, 0), (14, 15), (15, 16), (16, 17), (17, 18), (18, 19), (19, 20)),
    ]


def test_the_page_unfolds_a_table_and_folds_it_again(app):
    send(app.run(), "unfolded", "table request0")
    assert payload(app, "tables")["rows"][0]["unfolded"]
    send(app, "unfolded", "table request0")
    assert "unfolded" not in payload(app, "tables")["rows"][0]
