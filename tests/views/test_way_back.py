"""Runs that left their place, or stood beside another before a reload: one click brings them back."""

import pytest

from tests.views.page import notice, payload, prompt, send, set_number
from tests.views.survival import address, again, begun, come_back, desk, step_to


def test_removed_prompts_come_back_with_one_click_in_the_place_of_the_empty_run(app):
    step_to(begun(app, "Hello", "Help!"), 2)
    gone = address(app)
    app.button(key="clear").click().run()
    assert payload(app, "requests")["cards"] == []
    (away,) = payload(app, "notices")["notices"]
    assert away["text"] == "Another run stood here, with 2 requests and 3 steps. It is saved."
    way = away["way_out"]
    assert (way["word"], way["what"]) == ("Bring it back", "revisited")
    assert way["sent"] == {"names": {"example": "own", "run": gone["run"]}}
    send(app, way["what"], way["sent"])
    assert address(app)["run"] == gone["run"]
    assert len(payload(app, "requests")["cards"]) == 2
    assert len(desk(app).shelf.kept) == 1
    assert notice(app, "note") == "The run is back as it was saved: 3 finished steps."
    come_back(app)
    step_to(app, 30)
    assert [card["word"] for card in payload(app, "requests")["cards"]] == ["finished: length"] * 2


def test_a_run_that_began_anew_does_not_make_place_for_the_one_before_it(app):
    step_to(begun(app, "Hello"), 2)
    set_number(app, "block_size", 16)
    app.button(key="apply").click().run()
    step_to(app, 1)
    (away,) = payload(app, "notices")["notices"]
    assert away["text"] == "Another run stood here, with 1 request and 3 steps. It is saved."
    send(app, "revisited", away["way_out"]["sent"])
    assert [kept.run.config.block_size for kept in desk(app).shelf.kept] == [16, 8]


def test_the_bar_gives_a_browser_the_links_by_which_it_opens_runs_again_after_a_reload(app):
    step_to(begun(app, "Hello"), 3)
    first = address(app)["run"]
    send(app, "added_here", prompt("Help!", max_tokens="3"))
    bar = payload(app, "runs")
    assert [(run["number"], run["link"]["run"]) for run in bar["runs"]] == [
        (1, first),
        (2, address(app)["run"]),
    ]
    back = again(app)
    there = payload(back, "runs")
    assert [run["number"] for run in there["runs"]] == [2]
    assert there["example"] == bar["example"] == "own"
    assert there["visitor"] != bar["visitor"]
    send(back, "revisited", {"names": bar["runs"][0]["link"], "number": 1})
    runs = payload(back, "runs")["runs"]
    assert [(run["name"], run["link"]["run"]) for run in runs] == [
        ("Run 2", bar["runs"][1]["link"]["run"]),
        ("Run 1", first),
    ]


@pytest.mark.parametrize("number", [None, 0, -3, 2, 10**9, "1", [1]])
def test_a_saved_run_has_its_own_number_whatever_the_browser_says(app, number):
    step_to(begun(app, "Hello"), 3)
    first = address(app)["run"]
    send(app, "added_here", prompt("Help!", max_tokens="3"))
    back = again(app)
    send(back, "revisited", {"names": {"example": "own", "run": first}, "number": number})
    assert [run["name"] for run in payload(back, "runs")["runs"]] == ["Run 2", "Run 1"]


@pytest.mark.parametrize(("number", "name"), [(1, "Run 1"), (2, "Run 3"), (None, "Run 3")])
def test_the_documentations_run_is_opened_again_beside_its_branch(app, number, name):
    app.run()
    app.button(key="panel_settings").click().run()
    send(app, "target", {"step": 2, "plus": 0, "sequence": 1})
    set_number(app, "max_num_seqs", 1)
    app.button(key="branch").click().run()
    back = again(app)
    send(back, "revisited", {"names": {"example": "doc_example"}, "number": number})
    assert [run["name"] for run in payload(back, "runs")["runs"]] == ["Run 2", name]
    assert address(back).get("run") is None
