"""What the tests of the page ask of Streamlit's AppTest."""

import json
import time

from views.drafts import Draft


def payload(app, name):
    """What a component was given, without the number of its drawing."""
    for element in app.get("bidi_component"):
        if element.proto.component_name.endswith(f"pagewalk_{name}"):
            given = json.loads(element.proto.bytes)
            given.pop("drawn", None)
            return given
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


def open_own(app, panel="settings"):
    """The visitor's own prompts, with one of the panels open."""
    app.query_params["example"] = "own"
    load(app.run())
    return app if panel == "prompts" else open_panel(app, panel)


def open_panel(app, panel):
    """Or close it, if it is the one that is open."""
    return app.button(key=f"panel_{panel}").click().run()


def turn_to(app, example):
    """As if its name had been clicked."""
    names = next(group for group in app.get("button_group") if group.key == "example")
    return names.set_value(example).run()


def prompt_form(app):
    """What the form of a prompt was given; its panel is opened if another is."""
    shown = payload(app, "prompt")
    return shown or payload(open_panel(app, "prompts"), "prompt")


def prompt(text="Hello there", **fields):
    return Draft(text=text, **fields)._asdict()


def shown_notice(app, kind):
    shown = payload(app, "notices") or {"notices": []}
    return next((n for n in shown["notices"] if n["kind"] == kind), None)


def notice(app, kind):
    shown = shown_notice(app, kind)
    return shown and shown["text"]


def set_number(app, name, value):
    return send(app, "typed", {name: str(value)})


def set_switch(app, name, is_on):
    return send(app, "typed", {name: is_on})


def setting(app, name):
    """The field of a setting, as the form was given it."""
    kinds = payload(app, "fields")["kinds"]
    return next(field for kind in kinds for field in kind["fields"] if field["key"] == name)
