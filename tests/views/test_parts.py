"""The scripts of the parts travel once a page, and a step carries data."""

from streamlit.testing.v1 import AppTest

from tests.source_tree import ROOT
from views.components.piece import FOLDER, NAMES, SCRIPT

MOST_BYTES = 300  # of a script that only waits


def test_what_a_step_sends_of_a_part_is_a_short_script_and_data(app):
    app.run()
    parts = [each.proto for each in app.get("bidi_component")]
    sent = {proto.component_name: proto for proto in parts}
    carrier = sent.pop("pagewalk_parts")
    assert carrier.js_content.endswith(SCRIPT)
    assert len(sent) > 8
    for name, proto in sent.items():
        assert len(proto.js_content) < MOST_BYTES, name
        assert proto.css_content == "", name
        assert proto.html_content == '<div class="root"></div>', name


def test_every_part_is_carried_and_says_how_it_is_drawn():
    for name in NAMES:
        script = (FOLDER / f"{name}.js").read_text(encoding="utf-8")
        assert script in SCRIPT, name
        assert "function present(" in script, name


def test_a_page_draws_the_scripts_once_and_before_anything_that_waits_for_them():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30).run()
    names = [each.proto.component_name for each in app.get("bidi_component")]
    assert names[0] == "pagewalk_parts"
    assert names.count("pagewalk_parts") == 1
