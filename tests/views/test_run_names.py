"""Runs keep their names: the number of each is saved with it."""

from tests.views.branches import branch, go_to_end_of, names, run_id, shown, two_prompts
from tests.views.page import payload, send
from tests.views.survival import again, come_back, desk


def three_runs(app):
    """Two branches of one run, at the end of the second. Link of each run, by its name."""
    two_prompts(app)
    for step in (2, 3):
        send(app, "switched", run_id(app, "Run 1"))
        go_to_end_of(app, step)
        branch(app)
        come_back(app)
    return {run["name"]: run["link"] for run in payload(app, "runs")["runs"]}


def open_again(app, link):
    """As a click in the bar on a run of before the reload does, from a browser that lost its number."""
    return come_back(send(app, "revisited", {"names": link}))


def test_runs_have_their_names_after_a_reload_in_whichever_order_they_are_opened_again(app):
    links = three_runs(app)
    back = again(app)
    assert shown(back) == "Run 3"
    open_again(back, links["Run 2"])
    open_again(back, links["Run 1"])
    assert sorted(name for name, _ in names(back)) == ["Run 1", "Run 2", "Run 3"]
    assert shown(back) == "Run 1"
    send(back, "switched", run_id(back, "Run 2"))
    assert dict(names(back))["Run 2"] == dict(names(app))["Run 2"]
    assert desk(back).shelf.find(run_id(back, "Run 2")).origin.step == 3


def test_a_branch_after_a_reload_takes_no_name_of_a_run_that_stood_there_before(app):
    links = three_runs(app)
    send(app, "switched", run_id(app, "Run 1"))
    back = come_back(again(app))
    assert shown(back) == "Run 1"
    back.button(key="panel_settings").click().run()
    go_to_end_of(back, 1)
    branch(back)
    assert shown(back) == "Run 4"
    open_again(back, links["Run 3"])
    assert shown(back) == "Run 3"


def test_a_copy_that_goes_on_keeps_its_name_as_well(app):
    three_runs(app)
    back = come_back(again(app))
    send(back, "target", {"step": 7, "plus": 0, "sequence": 20})
    assert shown(come_back(again(back))) == "Run 3"
