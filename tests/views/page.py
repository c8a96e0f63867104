"""What the tests of the page ask of Streamlit's AppTest."""

import json
import time

from views.drafts import Draft


def payload(app, name):
    """What a component was given."""
    for element in app.get("bidi_component"):
        if element.proto.component_name.endswith(f"pagewalk_{name}"):
            return json.loads(element.proto.bytes)
    return None


def send(app, what, sent):
    """As if a component had sent it."""
    app.session_state["desks"]["playground"].asked[what] = sent
    return app.run()


def load(app):
    """Let the fake model arrive."""
    until = time.monotonic() + 10
    while not app.session_state["desks"]["playground"].model_is_seen:
        assert time.monotonic() < until
        app.run()
    return app


def open_own(app):
    app.query_params["example"] = "own"
    return load(app.run())


def prompt(text="Hello there", **fields):
    return Draft(text=text, **fields)._asdict()


def shown_notice(app, kind):
    shown = payload(app, "notices") or {"notices": []}
    return next((n for n in shown["notices"] if n["kind"] == kind), None)


def notice(app, kind):
    shown = shown_notice(app, kind)
    return shown and shown["text"]


def set_number(app, name, value):
    field = next(field for field in app.text_input if field.label == name)
    return field.set_value(str(value)).run()
