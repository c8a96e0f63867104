"""A field or a file can hold half a character (a lone surrogate): the page is drawn all the same."""

import json

import pytest

from tests.views.page import open_own, payload, prompt, send, set_number
from views.components.piece import encoded
from views.figures.sizing.sizing_inputs import OWN, Inputs
from views.figures.sizing.sizing_page import sizing_page
from views.text import Text

HIGH, LOW = "\ud83d", "\udc00"


@pytest.mark.parametrize(
    ("given", "drawn"),
    [
        (f"x{HIGH}y{LOW}z", "x�y�z"),
        ("\ud83d\ude00", "😀"),
        ("plain", "plain"),
        ({HIGH: [1, (LOW, None)]}, {"�": [1, ["�", None]]}),
    ],
)
def test_it_is_drawn_as_the_sign_for_what_cannot_be_read(given, drawn):
    assert json.loads(encoded({"text": given})) == {"text": drawn}


def test_the_prompt_field_shows_it_and_says_what_is_wrong(app):
    open_own(app, "prompts")
    send(app, "draft", prompt(f"half {HIGH} of it"))
    form = payload(app, "prompt")
    assert "half � of it" in json.dumps(form, ensure_ascii=False)
    assert form["count"] == "the prompt holds half a character"


@pytest.mark.parametrize("what", ["asked", "typed"])
def test_so_do_the_other_fields_of_the_stage(app, what):
    open_own(app)
    if what == "asked":
        send(app, "lens", "why")
        send(app, "asked", {"text": f"a{HIGH}b"})
        assert "a�b" in json.dumps(payload(app, "why"), ensure_ascii=False)
    else:
        set_number(app, "num_blocks", f"6{LOW}4")
        assert "6�4" in json.dumps(payload(app, "fields"), ensure_ascii=False)


def test_a_config_may_say_one_of_its_model():
    config = {
        "model_type": HIGH,
        "num_hidden_layers": 2,
        "hidden_size": 64,
        "num_attention_heads": 2,
        "max_position_embeddings": 99,
    }
    page = sizing_page(Inputs(model=OWN, config=json.dumps(config)), Text())
    assert "�" in encoded(page).decode()
