"""What an address asks for, put on a desk. What makes no sense there gets a sentence."""

from collections.abc import Mapping

from views import bringing_back, studying
from views.choices import LENSES, Choices, panel_of
from views.examples import EXAMPLES
from views.figures.time import address
from views.text import Text, quoted


def read_source(chosen: Choices, params: Mapping[str, str]) -> None:
    """Which example, and which saved run. The moment that stands beside a run that is not here any
    more means nothing."""
    given = params.get("example")
    if given in EXAMPLES:
        chosen.example = given
    elif given is not None:
        chosen.say_also(Text(chosen.language)("notice.example", given=quoted(given)))
    if "run" in params:
        chosen.address_is_read = not bringing_back.bring(chosen, params["run"])
    chosen.panel = panel_of(chosen.example, chosen.run)


def read_moment(chosen: Choices, params: Mapping[str, str]) -> None:
    """What is selected, the lens, and where to stand in the run that is on. Of a link to a side of
    a comparison that is no concern of this run."""
    if "side" in params:
        chosen.address_is_read = True
        return
    begun, words = chosen.run, Text(chosen.language)
    assert begun is not None
    found = address.read_choice(params, LENSES, begun.trace, words)
    chosen.selection, chosen.lens, complaint = found
    if complaint:
        chosen.say_also(complaint)
    if begun.live is None:
        _read_cursor(chosen, params)
    elif (given := params.get("step")) is not None:
        chosen.say_also(words("notice.live_step", given=quoted(given)))
    chosen.address_is_read = True


def read_lesson(chosen: Choices, params: Mapping[str, str]) -> None:
    """The lesson, its text, and where to stand in its run."""
    studying.read_link(chosen, params)
    if studying.show(chosen) is not None and "step" in params:
        _read_cursor(chosen, params)
    chosen.address_is_read = True


def _read_cursor(chosen: Choices, params: Mapping[str, str]) -> None:
    assert chosen.run is not None
    words = Text(chosen.language)
    cursor, complaint = address.read_cursor(params, chosen.run.trace, words)
    chosen.cursor = cursor or chosen.cursor
    if complaint:
        chosen.say_also(complaint)
