"""What can go wrong, each with a sentence meant for the person who caused it."""


class PagewalkError(Exception):
    """Base of all errors whose message is written for the user and can be shown as it stands."""


class ConfigError(PagewalkError, ValueError):
    """A setting or an input is wrong: the message says what, how much, and what to do."""


class TraceError(PagewalkError, ValueError):
    """A trace file cannot be read further: the message names the line and the reason."""


class SourceError(PagewalkError, RuntimeError):
    """A source of traces (a model, a saved run) is not to be had."""
