"""What a browser asks for is done once, in order, however often and in whatever pieces it comes."""

import json

from views.asked import Asked, Heard, Wish


def letter(*numbers, page="tab"):
    return {"page": page, "asked": [[n, "selected", {"block": n}, "playground"] for n in numbers]}


def blocks(wishes):
    return [wish.sent["block"] for wish in wishes]


def test_what_comes_twice_counts_once():
    heard = Heard()
    assert blocks(heard.read("selected", letter(1))) == [1]
    assert blocks(heard.read("selected", letter(1))) == []
    assert blocks(heard.read("target", letter(1, 2, 3))) == [2, 3]
    assert heard.number == 3


def test_what_an_overtaken_letter_held_stands_in_the_next_one():
    heard = Heard()
    assert blocks(heard.read("selected", letter(3, 1, 2))) == [1, 2, 3]


def test_a_page_that_was_opened_anew_counts_from_one():
    heard = Heard()
    heard.read("selected", letter(1, 2, 3))
    assert blocks(heard.read("selected", letter(1, page="another tab"))) == [1]


def test_what_is_no_letter_is_a_wish_by_itself():
    heard = Heard()
    for sent in ({"block": 4}, 7, None, "text", {"page": 3, "asked": []}, {"page": "tab"}):
        assert list(heard.read("selected", sent)) == [Wish(0, "selected", sent)]


def test_nonsense_in_a_letter_is_passed_over():
    nonsense = [["1", "selected", 1, "d"], [-1, "selected", 1, "d"], [2], 5, None]
    sent = {"page": "tab", "asked": [*nonsense, [4, "lens", "why", "playground"]]}
    assert list(Heard().read("lens", sent)) == [Wish(4, "lens", "why", "playground")]


def test_the_answer_is_behind_the_first_that_is_still_to_do():
    asked = Asked()
    for number in (5, 6):
        asked.add(Wish(number, "uploaded" if number == 5 else "lens", None))
    asked["typed"] = {"block_size": "8"}
    assert asked.first_number == 5
    assert asked.next(but=("uploaded",)) == Wish(6, "lens", None)
    assert asked.next(but=("uploaded",)) == Wish(0, "typed", {"block_size": "8"})
    assert asked.next(but=("uploaded",)) is None
    assert asked.first_number == 5
    assert "uploaded" in asked
    assert asked.pop("uploaded") is None
    assert asked.first_number is None


def drawn(app):
    (part,) = (
        e for e in app.get("bidi_component") if e.proto.component_name.endswith("_transport")
    )
    return json.loads(part.proto.bytes)["drawn"]


def test_a_payload_says_how_far_the_browser_was_answered(app):
    app.run()
    assert drawn(app)[2] == 0
    app.session_state["heard"].read("selected", letter(1, 2))
    app.session_state["desks"]["playground"].asked.add(Wish(2, "selected", {"block": 3}))
    app.run()
    assert drawn(app)[2] == 2
    assert app.session_state["desks"]["playground"].selection.block_id == 3
