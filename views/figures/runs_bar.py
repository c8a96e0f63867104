"""The runs beside each other: which is shown, where each came from, what is different in it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from views.text import Text


class RunLine(NamedTuple):
    """One run; `settings` and what follows say what is different in a branch."""

    run_id: int
    number: int
    from_number: int | None = None
    step: int = 0
    settings: Mapping[str, Any] = {}
    redone: bool = False
    request_id: str | None = None
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
                "close": text("runs.close", number=run.number),
                "can_close": run.from_number is not None,
                "link": dict(run.link),
            }
            for run in runs
        ],
        # Of those that stood here before the page was loaded, the browser knows the links.
        "earlier": text("runs.earlier"),
        "open": text("runs.open"),
        "forget": text("runs.forget"),
    }


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
