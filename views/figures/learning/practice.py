"""The exercise card of the allocator's page."""

from typing import Any

from engine.trace.state import State
from lessons.exercises import DONE, LEVELS, Deed
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


def situation(request_id: str, state: State, block_size: int, text: Text) -> str:
    """Who stands at the door, with what."""
    request = state.requests[request_id]
    return text(
        "practice.situation",
        request=request_id,
        tokens=text.count("count.tokens", request.num_tokens),
        computed=request.num_computed_tokens,
        size=block_size,
        free=state.num_free_blocks,
    )


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
