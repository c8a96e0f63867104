"""What the tests of branches ask of the page."""

from engine.trace.events import RequestAdded
from tests.views.page import open_own, payload, prompt, send


def run_steps(app, step):
    return send(app, "target", {"step": step, "plus": 0, "sequence": step + 1})


def go_to_end_of(app, step):
    run = app.session_state["desks"]["playground"].run
    return send(app, "target", {"position": run.trace.position(run.trace.after_update(step))})


def two_prompts(app, num_steps=6):
    """Two prompts that have come as far as step 5, and the panel open."""
    open_own(app)
    send(app, "added", prompt("One two three", max_tokens="9"))
    send(app, "added", prompt("One two four", max_tokens="9"))
    return run_steps(app, num_steps - 1)


def captions(app):
    return [caption.value for caption in app.caption]


def said(app, start):
    return next((words for words in captions(app) if words.startswith(start)), None)


def branch(app):
    app.button(key="branch").click().run()
    return app


def names(app):
    bar = payload(app, "runs")
    return bar and [(run["name"], run["about"]) for run in bar["runs"]]


def shown(app):
    bar = payload(app, "runs")
    return next(run["name"] for run in bar["runs"] if run["id"] == bar["shown"])


def run_id(app, name):
    return next(run["id"] for run in payload(app, "runs")["runs"] if run["name"] == name)


def added(app):
    trace = app.session_state["desks"]["playground"].run.trace
    return [(e.request_id, e.step) for e in trace.events_from(0) if isinstance(e, RequestAdded)]
