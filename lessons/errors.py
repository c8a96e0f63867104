"""What can be wrong with a lesson, each told in one sentence with its file and place."""

from engine.errors import PagewalkError


class LessonError(PagewalkError, ValueError):
    """A lesson's file is wrong: the message names the file, the place in it and what to write."""


class FactError(PagewalkError, LookupError):
    """This run does not hold what a check asks about, so nothing can be said about it."""
