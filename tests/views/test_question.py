"""What was typed into the lens Why? belongs to the example in which it was typed."""

from lessons.library import load_lesson
from tests.views.page import load, payload, send, turn_to
from tests.views.runs import golden_trace
from views.figures.why.would_hit import names_of, script_tokens
from views.text import Text


def test_a_typed_question_stays_with_its_example(app):
    app.query_params["lens"] = "why"
    send(app.run(), "asked", {"text": "ABCDX", "mode": "chat"})
    assert payload(app, "why")["ask"]["text"] == "ABCDX"
    load(app)
    turn_to(app, "own")
    send(app, "lens", "why")
    assert payload(app, "why")["ask"]["text"] == ""
    send(app, "asked", {"text": "Hello", "mode": "raw"})
    turn_to(app, "doc_example")
    assert payload(app, "why")["ask"]["text"] == "ABCDX"
    turn_to(app, "own")
    ask = payload(app, "why")["ask"]
    assert (ask["text"], ask["mode"]) == ("Hello", "raw")


def test_blanks_are_a_text_that_the_cache_is_asked_about(app):
    app.query_params["lens"] = "why"
    load(app.run())
    turn_to(app, "own")
    send(app, "lens", "why")
    send(app, "asked", {"text": "   \n\t ", "mode": "raw"})
    ask = payload(app, "why")["ask"]
    assert ask["case"]["found"].startswith("This text is 6 tokens")
    assert ask["case"]["strip"]["cells"][0]["tokens"]
    send(app, "asked", {"text": "", "mode": "raw"})
    assert "case" not in payload(app, "why")["ask"]


def test_a_run_from_a_file_is_asked_in_its_own_tokens():
    """Numbers that stand for themselves are typed as numbers, whatever the playground shows."""
    names = names_of(golden_trace("preempt_multi_victims"))
    assert names == {}
    assert script_tokens("1 2 3", names, Text("en")).token_ids == [1, 2, 3]
    assert script_tokens("ABC", names, Text("en")).problem


def test_letters_of_a_lesson_are_typed_as_letters():
    names = names_of(load_lesson("6").traces["docs"])
    assert script_tokens("ABC", names, Text("en")).token_ids == [65, 66, 67]
