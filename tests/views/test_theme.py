"""Contrast of every ink on its fill, and of every ink that stands on the page."""

import tomllib
from itertools import combinations

import pytest

from tests.source_tree import ROOT
from views.theme import BACKGROUNDS, MEANINGS, contrast, css_variables


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", MEANINGS)
def test_text_is_readable_on_its_fill(name, theme):
    paint = getattr(MEANINGS[name], theme)
    for background in (paint.fill,) if paint.fill else BACKGROUNDS[theme]:
        assert contrast(paint.ink, background) >= 4.5, (name, theme, background)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_the_backgrounds_that_the_inks_are_made_for(theme):
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    colours = config["theme"][theme]
    backgrounds = (colours["backgroundColor"], colours["secondaryBackgroundColor"])
    assert backgrounds == BACKGROUNDS[theme]
    for background in backgrounds:
        assert contrast(colours["textColor"], background) >= 4.5
    assert contrast(colours["primaryColor"], colours["backgroundColor"]) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_two_fills_are_the_same(theme):
    fills = {name: getattr(meaning, theme).fill for name, meaning in MEANINGS.items()}
    for one, other in combinations([name for name, fill in fills.items() if fill], 2):
        assert fills[one] != fills[other], (one, other)


def test_black_on_white_is_21():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


def test_every_meaning_reaches_the_style_sheets():
    sheet = css_variables()
    assert all(f"--pw-{name}-ink:" in sheet for name in MEANINGS)
