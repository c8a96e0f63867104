"""A place to which the stage plays by itself, once."""

import itertools
from typing import NamedTuple

from engine.trace.state import Cursor

_MOTIONS = itertools.count(1)  # in this process, so that a page plays each of them once


class Motion(NamedTuple):
    """The stage shall play to this place; every motion has another number."""

    number: int
    to: Cursor


def next_motion(to: Cursor) -> Motion:
    return Motion(next(_MOTIONS), to)
