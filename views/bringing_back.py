"""How the run of a link comes back to a desk, and how an engine gets behind it there."""

import importlib

from engine.errors import PagewalkError, SourceError
from views.brought import Brought, bring_back, go_on
from views.choices import Choices
from views.figures.time.until import BRANCHED, RETURNED, until_words
from views.runs import Run
from views.text import Text
from views.weights import is_loading, ready, try_again


def find(chosen: Choices, run_id: object) -> Brought | None:
    """The saved run of an id; None, and a sentence on the page, where there is none."""
    words = Text(chosen.language)
    try:
        brought = bring_back(chosen.share.saved, run_id, words)
    except SourceError as error:
        chosen.say("error", error.sentence)
        return None
    run = brought.run
    chosen.share.take(run, brought.example, origin=brought.origin, came_from=brought.saved)
    run.keep()
    if run.script is None:
        chosen.waiting.append(brought)
        try_again(chosen.share, run.trace.header.dtype)
    return brought


def bring(chosen: Choices, run_id: object) -> bool:
    """Look at a saved run, at its end, where no other run is on."""
    brought = find(chosen, run_id)
    if brought is None:
        return False
    chosen.example = brought.example
    chosen.put(brought.run, brought.run.trace.last, brought.origin)
    words = Text(chosen.language)
    chosen.say("note", brought.words(words))
    if (until := brought.awaited) is not None:
        chosen.offer(until, words("saved.pending", until=until_words(until, words)))
    return True


def remember(chosen: Choices, begun: Run | None) -> bool:
    """For after each action: what the run is on its way to is saved with it; and once, when a run
    that was opened by its link goes on, it is said that whoever has that link has it as it was.

    True when the run that is on has a link that the bar of runs does not know yet.
    """
    if begun is not None and begun.became_copy:
        begun.became_copy = False
        chosen.say_also(Text(chosen.language)("saved.copy"))
    wanted = None if chosen.pursuit is None else chosen.pursuit.until
    if wanted is not None and wanted.kind in (BRANCHED, RETURNED):
        wanted = None  # it is on its way there again when it comes back
    for run in (begun, chosen.run):
        if run is not None and run.saving is not None:
            run.saving.waits_for(wanted if run is chosen.run else None)
    link = {} if chosen.run is None else chosen.run.link
    is_new = "run" in link and link != chosen.told_link
    chosen.told_link = link
    return is_new


def waits_for_engine(chosen: Choices) -> bool:
    """Whether the run that is on is one that a model would go on with."""
    return any(brought.run is chosen.run for brought in chosen.waiting)


def engage(chosen: Choices) -> None:
    """Put an engine behind the run that is on, if it waits for one and the model is there.

    Where that is refused the run can still be looked at, and says why it does not go on.
    """
    waiting = [each for each in chosen.waiting if each.run is chosen.run]
    for brought in waiting if chosen.share.loader.is_ready else ():
        run, words = brought.run, Text(chosen.language)
        loader = chosen.share.loader.of(run.trace.header.dtype)
        if is_loading(loader):
            loader.start()
            chosen.model_is_seen = False
            continue
        chosen.waiting.remove(brought)
        _no_longer_say(chosen, words("saved.waiting"), words)
        try:
            loader = ready(chosen.share, run.trace.header.dtype, words)
            live = importlib.import_module("engine.sources.live")
            bytes_per_block = live.plan_for(loader.model, run.config.block_size).bytes_per_block
            chosen.share.check_pool(run.config, bytes_per_block, words)
            go_on(brought, loader.model, loader.lock)
        except PagewalkError as error:
            run.refusal = error.sentence
        chosen.follow(run)


def _no_longer_say(chosen: Choices, sentence: str, text: Text) -> None:
    """Whoever asked for something meanwhile was told so, and has read what is over now."""
    for kind in ("note", "error"):
        if text.said(chosen.notices.get(kind, "")) == sentence:
            del chosen.notices[kind]


def why_no_engine(chosen: Choices) -> str | None:
    """Why the run that is on came back to be looked at and nothing else; None for all others."""
    run, text, failure = chosen.run, Text(chosen.language), chosen.share.loader.failure
    if run is None or run.saving is None or run.can_be_branched:
        return None
    if run.refusal is None and failure is not None:
        return text("model.failed", reason=text.said(failure))
    return text.said(run.refusal or text("saved.waiting"))
