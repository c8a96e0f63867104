"""Which run a lab takes from the playground: the one that its address names, else the one that is on."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engine.errors import SourceError
from views.beginning import recorded
from views.brought import bring_back
from views.choices import Choices
from views.examples import EXAMPLES
from views.runs import Run
from views.text import Text


class Named(NamedTuple):
    """`run` is None while its model is not there, or where the saved run that is named can not be had:
    then `complaint` says why, and no other run takes its place. `link`: what an address says of it."""

    run: Run | None
    link: dict[str, str]
    complaint: str = ""


def named_run(chosen: Choices, params: Mapping[str, str], *, is_link: bool) -> Named:
    """`is_link`: the address asks for a run of the playground, so that it should say which."""
    run_id, example = params.get("run"), params.get("example")
    if run_id is not None:
        return _saved(chosen, run_id, example)
    if example in EXAMPLES and (example != chosen.example or not EXAMPLES[example].needs_model):
        return _of_example(chosen, example)
    complaint = ""
    if is_link and example is None and chosen.run is not None:
        words = Text(chosen.language)
        complaint = words("saved.nameless", example=words.named("example", chosen.example))
    return Named(chosen.run, _link(chosen.run, chosen.example), complaint)


def _saved(chosen: Choices, run_id: str, example: str | None) -> Named:
    """Here already, or opened beside the playground, whose own run stays as it is."""
    words = Text(chosen.language)
    run = next((run for run in _at_hand(chosen) if _is_known_as(run, run_id)), None)
    if run is not None:
        return Named(run, run.link, "" if run.saving is None else run.saving.damage(words))
    try:
        brought = bring_back(chosen.share.saved, run_id, words)
    except SourceError as error:
        link = {"run": run_id} | ({"example": example} if example in EXAMPLES else {})
        return Named(None, link, error.sentence)
    brought.run.link = {"example": brought.example, "run": run_id}
    chosen.share.take(brought.run, brought.example, came_from=brought.saved)
    chosen.beside = brought.run
    return _saved(chosen, run_id, example)


def _of_example(chosen: Choices, example: str) -> Named:
    """The example as it comes; where it needs the model, the run that was left there."""
    if not EXAMPLES[example].needs_model:
        return Named(recorded(example), {"example": example})
    left = chosen.left.get(example)
    run = None if left is None else left.run
    return Named(run, _link(run, example))


def _link(run: Run | None, example: str) -> dict[str, str]:
    return (run.link if run is not None else {}) or {"example": example}


def _at_hand(chosen: Choices) -> Iterator[Run]:
    shelves = [chosen.shelf, *(left.shelf for left in chosen.left.values())]
    runs = [chosen.run, chosen.beside, *(left.run for left in chosen.left.values())]
    runs += [kept.run for shelf in shelves for kept in shelf.kept]
    return (run for run in runs if run is not None)


def _is_known_as(run: Run, run_id: str) -> bool:
    return any(link.get("run") == run_id for link in (run.link, *run.past_links))
