"""The exercise card of the allocator's page."""

from typing import Any

from lessons.exercises import DONE, LEVELS, PREEMPT, Deed, Exercise
from lessons.judging import Judgement
from views.text import Text

VERBS = ("touch", "take", "free", "preempt")
WORDS = ("commit", "done_so_far", "levels", "next", "again", "show", "verbs", "page", "undone")


def practice_card(
    level: int, seed: int, *, done: tuple[Deed, ...], verb: str, text: Text
) -> dict[str, Any]:
    """What does not depend on how it went."""
    return {
        "page": f"{level}/{seed}",
        "title": text("practice.page"),
        "level": level,
        "levels": [[each, text.named("practice_level", str(each))] for each in LEVELS],
        "task": text.named("practice_task", str(level)),
        "verb": verb,
        "verbs": [
            [each, text.named("practice_verb", each), text.named("practice_verb_hint", each)]
            for each in VERBS
        ],
        "done": [
            [text.named("practice_verb", deed.verb), deed.target]
            for deed in done
            if deed.verb != DONE
        ],
        "words": {name: text.named("practice_word", name) for name in WORDS},
        "seed": text("practice.seed", seed=seed),
    }


def situation(exercise: Exercise, text: Text) -> str:
    """Whose turn it is, with what, and never who will have to give way."""
    state = exercise.trace.at(exercise.begin)
    size, about = int(exercise.trace.header.config["block_size"]), exercise.about
    is_short = exercise.deeds[0].verb == PREEMPT
    asks = exercise.deeds[0].for_request_id if is_short else about
    assert asks is not None  # nobody resets a cache here
    request = state.requests[asks]
    missing = -(-request.num_tokens // size) - len(request.block_tables[0])
    if about is None:
        return text.count("practice.short_unnamed", missing, size=size, free=state.num_free_blocks)
    values = {
        "request": about,
        "tokens": text.count("count.tokens", request.num_tokens),
        "computed": request.num_computed_tokens,
        "size": size,
        "free": state.num_free_blocks,
    }
    if is_short:
        return text.count("practice.short", missing, **values)
    return text("practice.situation", **values)


def shown(done: tuple[Deed, ...], text: Text) -> dict[str, Any] | None:
    """Of the engine's latest deed, while it plays them: what, and by which rule."""
    if not done:
        return None
    deed = done[-1]
    reason = text.named("practice_show", deed.verb)
    return {
        "kind": "shown",
        "text": reason.format(target=deed.target, request=deed.request_id),
    }


def told(said: Judgement | None, text: Text) -> dict[str, Any] | None:
    """One sentence about the latest action."""
    if said is None:
        return None
    if said.is_right:
        return {"kind": "right", "text": text.named("practice_why", "right")}
    return {
        "kind": "wrong",
        "text": text.named("practice_why", said.reason).format(**said.values),
    }


def outcome(num_mistakes: int, num_solved: int, text: Text, *, was_shown: bool) -> str:
    """Behind the last deed."""
    if was_shown:
        return text("practice.shown")
    if not num_mistakes:
        return text.count("practice.clean", num_solved)
    return text.count("practice.solved", num_mistakes)
