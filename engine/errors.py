"""What can go wrong, each with a sentence meant for the person who caused it."""


class PagewalkError(Exception):
    """Base of all errors whose message is written for the user and can be shown as it stands."""

    code: str | None = None  # names the few errors for which a page knows a way out


class ConfigError(PagewalkError, ValueError):
    """A setting or an input is wrong: the message says what, how much, and what to do.

    `code` is "oversized" where vLLM would admit the request and let it wait for ever.
    """

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code


class TraceError(PagewalkError, ValueError):
    """A trace file cannot be read further: the message names the line and the reason."""


class SourceError(PagewalkError, RuntimeError):
    """A source of traces (a model, a saved run) is not to be had."""
