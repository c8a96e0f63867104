"""The runs beside each other: which is shown, where each came from, what is different in it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from views.text import Text, quoted

MAX_WORDS = 28  # characters of a prompt


class RunLine(NamedTuple):
    """One run; `settings` and what follows say what is different in a branch."""

    run_id: int
    number: int
    from_number: int | None = None
    step: int = 0
    settings: Mapping[str, Any] = {}
    redone: bool = False
    request_id: str | None = None
    prompt: str = ""  # the first of a run that is no branch
    own: Mapping[str, Any] = {}  # its settings that are not those of its example
    link: Mapping[str, str] = {}  # what finds it after a reload; empty where nothing does


def runs_bar(runs: Sequence[RunLine], run_id: int, text: Text) -> dict[str, Any]:
    """`run_id` is the run that is shown. Any but the first can be closed."""
    return {
        "title": text("runs.title"),
        "shown": run_id,
        "runs": [
            {
                "id": run.run_id,
                "name": text("runs.run", number=run.number),
                "number": run.number,
                "about": _about(run, text),
                "gist": _gist(run, text),
                "close": text("runs.close", number=run.number),
                "can_close": run.from_number is not None,
                "link": dict(run.link),
            }
            for run in runs
        ],
        # Of those that stood here before the page was loaded, the browser knows the links.
        "earlier": text("runs.earlier"),
        "before": text("runs.before"),  # where its number is that of another run here
        "open": text("runs.open"),
        "forget": text("runs.forget"),
    }


def _gist(run: RunLine, text: Text) -> str:
    """By what one tells a run from others that are no branch either; empty of an untouched example."""
    if run.from_number is not None:
        return ""
    words = " ".join(run.prompt.split())
    cut = words if len(words) <= MAX_WORDS else f"{words[:MAX_WORDS].rstrip()}…"
    said = [text("runs.words", words=quoted(cut))] if words else []
    said += [text("runs.setting", name=name, value=value) for name, value in run.own.items()]
    return text.listed(said)


def _about(run: RunLine, text: Text) -> str:
    if run.from_number is None:
        return ""
    said = [text("runs.branched", number=run.from_number, step=run.step)]
    said += [text("runs.setting", name=name, value=value) for name, value in run.settings.items()]
    if run.request_id is not None:
        said.append(text("runs.prompt", request=run.request_id))
    if run.redone:
        said.append(text("runs.redone"))
    return text.listed(said)
