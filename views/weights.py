"""In which dtype the weights are that compute a run: the server's own, or the other one on offer.

The other form of the model is loaded when somebody first wants it, behind the page and once for all
visitors. A run has its dtype from its first step on: a branch with another one does its past again.
"""

from collections.abc import Mapping
from typing import Any

from engine.errors import ConfigError
from engine.sources.branch import DTYPE
from views.choices import Choices
from views.loading import Loader
from views.runs import Run
from views.share import Share
from views.text import Text

FIELD = DTYPE  # of the form
STORED = "4bit"  # engine/runner/four_bit.py


def on_offer(chosen: Choices, run: Run) -> tuple[str, ...]:
    """The dtypes between which the form lets choose; nothing where there is no choice."""
    dtypes = chosen.share.loader.dtypes
    return dtypes if run.live is not None and run.trace.header.dtype in dtypes else ()


def want(chosen: Choices, before: object) -> bool:
    """The form may name another dtype than `before`: begin to load it. True where it does."""
    dtype = chosen.typed.get(DTYPE)
    if dtype not in chosen.share.loader.dtypes:
        chosen.typed.pop(DTYPE, None)
        dtype = None
    elif dtype != before and not chosen.share.loader.of(dtype).is_ready:
        chosen.share.loader.of(dtype).retry()
        chosen.model_is_seen = False
    return dtype != before


def awaited(chosen: Choices) -> Loader:
    """What this desk waits for: weights that its form names, or that its run came back for; else the
    server's own."""
    run, dtype = chosen.run, chosen.typed.get(DTYPE)
    if run is not None and any(each.run is run for each in chosen.waiting):
        dtype = run.trace.header.dtype
    return chosen.share.loader.of(dtype)


def is_loading(loader: Loader) -> bool:
    return not loader.is_ready and loader.failure is None


def model_of(share: Share, settings: Mapping[str, Any], text: Text) -> Any:
    """The model in the dtype that these settings name, None where they name none. ConfigError as
    `ready`."""
    return ready(share, settings[DTYPE], text).model if DTYPE in settings else None


def ready(share: Share, dtype: object, text: Text) -> Loader:
    """ConfigError with a sentence while these weights load, or where that failed."""
    loader = share.loader.of(dtype)
    if (reason := why_failed(share, dtype, text)) is not None:
        raise ConfigError(reason)
    if not loader.is_ready:
        raise ConfigError(text("saved.waiting" if loader is share.loader else "weights.loading"))
    return loader


def try_again(share: Share, dtype: object) -> None:
    """Where the other weights could not be loaded: there may be memory for them by now."""
    loader = share.loader.of(dtype)
    if loader is not share.loader and loader.failure is not None:
        loader.retry()


def why_failed(share: Share, dtype: object, text: Text) -> str | None:
    """One sentence where the other weights could not be loaded; None for the server's own."""
    loader = share.loader.of(dtype)
    failure = loader.failure  # read once: somebody else may have it loaded again
    if loader is share.loader or failure is None:
        return None
    return text("weights.failed", dtype=dtype, reason=text.said(failure))


def named(dtype: str, text: Text) -> str:
    return text("weights.stored") if dtype == STORED else dtype
