"""The puzzle of "Beat the pool": its prompts as they are arranged, and what the engine made of them."""

from typing import Any

from lessons.puzzles import Puzzle, Rewritten, Score, Solution
from lessons.rewriting import words_of
from views.text import Text

WORDS = (
    "again", "best", "best_hint", "earlier", "hits", "later", "move", "page", "part", "parts",
    "prompts", "puzzles", "target", "write", "write_hint", "written",
)  # fmt: skip


def beat_card(
    puzzle: Puzzle,
    solution: Solution,
    text: Text,
    *,
    found: Score,
    best: Score,
    is_own_best: bool,
) -> dict[str, Any]:
    """The score, then a row for each prompt in sending order."""
    return {
        "title": text("beat.page"),
        "name": puzzle.name,
        "task": text.named("beat_task", puzzle.name),
        "rules": text("beat.rules", target=_percent(puzzle.target)),
        "score": _score(puzzle, found, best, text, is_own_best=is_own_best),
        "prompts": [
            _row(puzzle, place, found, text, id_=id_, parts=parts, rewritten=solution.rewritten)
            for place, (id_, parts) in enumerate(solution.arrangement)
        ],
        "words": {name: text.named("beat_word", name) for name in WORDS},
    }


def is_solved(puzzle: Puzzle, found: Score) -> bool:
    return found.hit_rate >= puzzle.target and not found.preempted


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _score(
    puzzle: Puzzle, found: Score, best: Score, text: Text, *, is_own_best: bool
) -> dict[str, Any]:
    best_shown = "beat.own_best" if is_own_best else "beat.best"
    return {
        "rate": found.hit_rate,
        "target": puzzle.target,
        "best": best.hit_rate,
        "is_solved": is_solved(puzzle, found),
        "shown": _percent(found.hit_rate),
        "best_shown": text(best_shown, rate=_percent(best.hit_rate)),
        "sentence": _verdict(puzzle, found, best, text, is_own_best=is_own_best),
        "tokens": text("beat.tokens", hits=found.num_hits, of=sum(found.num_tokens.values())),
    }


def _verdict(puzzle: Puzzle, found: Score, best: Score, text: Text, *, is_own_best: bool) -> str:
    """One sentence: what is still missing, or how good it is."""
    is_reached = found.hit_rate >= puzzle.target
    names = text.listed(dict.fromkeys(found.preempted))
    if found.preempted:
        key = "beat.preempted_reached" if is_reached else "beat.preempted"
        return text.count(key, len(found.preempted), names=names, target=_percent(puzzle.target))
    if not is_reached:
        missing = _tokens_to(puzzle.target, found) - found.num_hits
        return text.count("beat.missing", missing, target=_percent(puzzle.target))
    if found.rank < best.rank:
        return text("beat.solved")
    return text("beat.solved_better" if is_own_best else "beat.solved_best")


def _tokens_to(target: float, found: Score) -> int:
    """The fewest hits with which the target is reached."""
    total = sum(found.num_tokens.values())
    return next(hits for hits in range(total + 1) if hits / total >= target)


def _row(
    puzzle: Puzzle,
    place: int,
    found: Score,
    text: Text,
    *,
    id_: str,
    parts: tuple[str, ...],
    rewritten: Rewritten,
) -> dict[str, Any]:
    prompt, left = puzzle.prompt(id_), found.hits.get(id_, 0)
    times, texts = found.preempted.count(id_), puzzle.texts(prompt, rewritten)
    drawn = []
    for part in parts:
        content, given = texts[part], puzzle.text(prompt, part)
        drawn.append(
            {
                "part": part,
                "word": text.named("beat_part", part),
                "text": content,
                "num_hit": max(0, min(left, len(content))),
                "is_own": part in prompt.own,
                "is_written": content != given,
                "words": " ".join(words_of(given)),
            }
        )
        left -= len(content)
    most = sum(map(len, puzzle.texts(prompt).values()))
    return {
        "id": id_,
        "parts": drawn,
        "comes": text("beat.comes", step=puzzle.arrivals[place]),
        "answer": text.count("beat.answer", len(prompt.output)),
        "found": text("beat.found", hits=found.hits.get(id_, 0), of=found.num_tokens[id_]),
        "room": text("beat.room", n=found.num_tokens[id_], most=most),
        "preempted": text.count("beat.preempted_here", times) if times else "",
    }
