"""What was typed into the lens Why? belongs to the example in which it was typed."""

from tests.views.page import load, payload, send, turn_to


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
