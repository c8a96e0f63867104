"""What the tests of saved runs ask of the page: other visitors, and reloads."""

from streamlit.testing.v1 import AppTest

from engine.trace.codec import without_times
from tests.source_tree import ROOT
from tests.views.page import open_own, payload, prompt, send
from views.limits import server_limits


def desk(app):
    return app.session_state["desks"]["playground"]


def address(app):
    return payload(app, "transport")["address"]


def visit(**params):
    """Another browser, or this one after its page was begun anew."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in params.items():
        app.query_params[name] = str(value)
    return app.run()


def again(app):
    return visit(**address(app))


def step_to(app, step):
    return send(app, "target", {"step": step, "plus": 0, "sequence": step + 1})


def begun(app, *texts):
    open_own(app)
    for text in texts:
        send(app, "added", prompt(text, max_tokens="6"))
    return app


def come_back(app):
    """As the browser does, share after share."""
    while desk(app).pursuit is not None:
        send(app, "pursued", True)
    return app


def plain(app):
    return [without_times(event) for event in desk(app).run.trace.events_from(0)]


def files():
    folder = server_limits().runs
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []
