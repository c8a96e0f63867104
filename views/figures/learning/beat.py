"""The puzzle of "Beat the pool": its prompts as they are arranged, and what the engine made of them."""

from typing import Any

from lessons.puzzles import Arrangement, Puzzle, Score
from views.text import Text

WORDS = (
    "again", "best", "best_hint", "earlier", "hits", "later", "move", "page", "part", "parts",
    "prompts", "puzzles", "target",
)  # fmt: skip


def beat_card(
    puzzle: Puzzle, arrangement: Arrangement, text: Text, *, found: Score, best: Score
) -> dict[str, Any]:
    """The score, then a row for each prompt in sending order."""
    return {
        "title": text("beat.page"),
        "name": puzzle.name,
        "task": text.named("beat_task", puzzle.name),
        "rules": text("beat.rules", target=_percent(puzzle.target)),
        "score": _score(puzzle, found, best, text),
        "prompts": [
            _row(puzzle, place, found, text, id_=id_, parts=parts)
            for place, (id_, parts) in enumerate(arrangement)
        ],
        "words": {name: text.named("beat_word", name) for name in WORDS},
    }


def is_solved(puzzle: Puzzle, found: Score) -> bool:
    return found.hit_rate >= puzzle.target and not found.preempted


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _score(puzzle: Puzzle, found: Score, best: Score, text: Text) -> dict[str, Any]:
    return {
        "rate": found.hit_rate,
        "target": puzzle.target,
        "best": best.hit_rate,
        "is_solved": is_solved(puzzle, found),
        "shown": _percent(found.hit_rate),
        "best_shown": text("beat.best", rate=_percent(best.hit_rate)),
        "sentence": _verdict(puzzle, found, best, text),
        "tokens": text("beat.tokens", hits=found.num_hits, of=sum(found.num_tokens.values())),
    }


def _verdict(puzzle: Puzzle, found: Score, best: Score, text: Text) -> str:
    """One sentence: what is still missing, or how good it is."""
    is_reached = found.hit_rate >= puzzle.target
    names = text.listed(dict.fromkeys(found.preempted))
    if found.preempted:
        key = "beat.preempted_reached" if is_reached else "beat.preempted"
        return text.count(key, len(found.preempted), names=names, target=_percent(puzzle.target))
    if not is_reached:
        missing = _tokens_to(puzzle.target, found) - found.num_hits
        return text.count("beat.missing", missing, target=_percent(puzzle.target))
    return text("beat.solved_best" if found.num_hits >= best.num_hits else "beat.solved")


def _tokens_to(target: float, found: Score) -> int:
    """The fewest hits with which the target is reached."""
    total = sum(found.num_tokens.values())
    return next(hits for hits in range(total + 1) if hits / total >= target)


def _row(
    puzzle: Puzzle, place: int, found: Score, text: Text, *, id_: str, parts: tuple[str, ...]
) -> dict[str, Any]:
    prompt, hits = puzzle.prompt(id_), found.hits.get(id_, 0)
    times = found.preempted.count(id_)
    drawn, left = [], hits
    for part in parts:
        content = puzzle.text(prompt, part)
        drawn.append(
            {
                "part": part,
                "word": text.named("beat_part", part),
                "text": content,
                "num_hit": max(0, min(left, len(content))),
                "is_own": part in prompt.own,
            }
        )
        left -= len(content)
    return {
        "id": id_,
        "parts": drawn,
        "comes": text("beat.comes", step=puzzle.arrivals[place]),
        "answer": text.count("beat.answer", len(prompt.output)),
        "found": text("beat.found", hits=hits, of=found.num_tokens[id_]),
        "preempted": text.count("beat.preempted_here", times) if times else "",
    }
