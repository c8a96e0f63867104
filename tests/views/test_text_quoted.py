"""What somebody gave stands in our sentences letter by letter, and cannot turn them around."""

import pytest

from views.text import quoted


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("abc", "abc"),
        ("\u202eabc", "U+202Eabc"),
        ("a\u200bb", "aU+200Bb"),
        ("a\nb", "aU+000Ab"),
        ("<b>$x$", "<b>$x$"),
        ("שלום", "\u2068שלום\u2069"),
        ("x" * 41, "x" * 40 + "…"),
    ],
)
def test_a_quote_shows_what_cannot_be_seen_and_keeps_to_itself(given, shown):
    assert quoted(given) == shown
