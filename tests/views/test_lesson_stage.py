"""What stands on the stage of a lesson beside what every run has."""

from streamlit.util import calc_hash

from tests.views.page import payload


def reading(app, lesson: str, chunk: str):
    app._page_hash = calc_hash("learn")  # AppTest 1.67 switches to files only
    app.query_params.update({"lesson": lesson, "chunk": chunk})
    app.run()
    assert not app.exception
    return app


def test_lesson_20_counts_queries_on_its_stage_once_its_question_is_answered(app):
    rows = payload(reading(app, "20", "2"), "numbers")["numbers"]
    assert {row["key"]: row["beside"] for row in rows}["hit_rate"] == "0 of 48"


def test_a_place_behind_what_may_be_seen_is_its_end(app):
    transport = payload(reading(app, "22", "5"), "transport")
    story = payload(app, "narration")
    assert "step 1" in story["title"]
    assert transport["address"]["chunk"] == "5"
