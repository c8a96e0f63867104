"""Runs that take the place of the one that is on: an example as it comes, or with other settings."""

import functools
import importlib
from typing import Any

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.sources.branch import DTYPE
from views.actions import Action
from views.branching import scripted_run
from views.choices import Choices
from views.drafts import Draft, Restart, numbers_of
from views.examples import EXAMPLES
from views.figures.moment import num_finished_steps
from views.runs import Run
from views.text import Text
from views.weights import ready


@functools.cache
def recorded(name: str) -> Run:
    """A scripted example as it comes, run once for everybody: nothing in it changes any more."""
    begun = scripted_run(EXAMPLES[name], EXAMPLES[name].config)
    begun.link = {"example": name}
    return begun


def begin_example(chosen: Choices) -> None:
    """As soon as that is possible: some of them need the model, and all of these need room."""
    example = EXAMPLES[chosen.example]
    if example.needs_model and not chosen.share.loader.is_ready:
        return
    config, said = example.config, ""
    if example.needs_model:
        bytes_per_block = _bytes_per_block(chosen.share.loader.model, config)
        config, said = chosen.share.fitted(config, bytes_per_block, Text(chosen.language))
    try:
        begin(chosen, config, [Draft(text=prompt) for prompt in example.prompts])
        if said:
            chosen.say_also(said)
    except ConfigError as error:
        chosen.say("error", error.sentence)


def _bytes_per_block(model: Any, config: EngineConfig) -> int:
    live = importlib.import_module("engine.sources.live")
    return int(live.plan_for(model, config.block_size).bytes_per_block)


def begin(
    chosen: Choices,
    config: EngineConfig,
    drafts: list[Draft],
    *,
    leaving: Run | None = None,
    dtype: str | None = None,
) -> None:
    """A new run with these settings and prompts; the old one stays if that fails.

    A run that is as its example comes is saved only once somebody takes a step. `leaving`: in whose
    place it comes; `dtype`: of the weights, None for the server's own.
    """
    example = EXAMPLES[chosen.example]
    if example.needs_model:
        begun = _live_run(chosen, config, leaving, dtype)
        for draft in drafts:
            begun.add(draft, draft.sampling(Text(chosen.language)))
        cursor = begun.trace.last
    else:
        is_known = config == example.config
        begun = recorded(chosen.example) if is_known else scripted_run(example, config)
        cursor = begun.first_sight()
    if not begun.link:
        chosen.share.take(begun, chosen.example)
        if leaving is not None:
            begun.keep()
    chosen.put(begun, cursor)


def _live_run(chosen: Choices, config: EngineConfig, leaving: Run | None, dtype: str | None) -> Run:
    """ConfigError with a sentence where there is no model, or too little room."""
    share, words = chosen.share, Text(chosen.language)
    loader = ready(share, dtype, words)
    share.check_pool(config, _bytes_per_block(loader.model, config), words, leaving=leaving)
    source = importlib.import_module("engine.sources.live").LiveSource(loader.model, config)
    return Run(source.trace, source.config, live=source, lock=loader.lock)


def _restart(chosen: Choices, begun: Run | None, restart: Restart) -> bool:
    if begun is not None:
        settings = numbers_of(restart.settings, Text(chosen.language))
        dtype = settings.pop(DTYPE, begun.trace.header.dtype)
        config = EngineConfig.from_mapping({**begun.config.to_mapping(), **settings})
        drafts = begun.asked if restart.drafts is None else restart.drafts
        begin(chosen, config, drafts, leaving=begun, dtype=dtype)
        chosen.notices.clear()
        chosen.say_away(_put_away(begun, Text(chosen.language)), begun.link)
    return True


def _put_away(begun: Run, words: Text) -> str:
    requests = words.count("count.requests", len(begun.trace.at(begun.trace.last).requests))
    steps = words.count("count.steps", num_finished_steps(begun.trace))
    return words("saved.put_away", requests=requests, steps=steps)


def _wait(chosen: Choices, begun: Run | None, _: Any) -> bool:
    """Begin again with what was refused, and let what can never fit wait for ever."""
    if chosen.refused is not None:
        settings, drafts = chosen.refused
        _restart(chosen, begun, Restart({**settings, "refuse_oversized": False}, drafts))
        if chosen.draft in (drafts or ()):
            chosen.clear_draft()
    return True


ACTIONS: dict[str, Action] = {"waited": _wait, "applied": _restart}
