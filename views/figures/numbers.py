"""Few numbers, each with what it is a share of and what vLLM calls it."""

from typing import Any

from engine.trace.state import State
from views.figures.moment import Moment
from views.text import Text


def numbers(moment: Moment, text: Text) -> dict[str, Any]:
    """[key, value, share or None, sentence] for each."""
    state = moment.state
    scheduled = sum(row.num_scheduled_tokens for row in state.scheduled.values())
    return {
        "title": text("numbers.title"),
        "numbers": [
            _usage(state, text),
            _hit_rate(state, text),
            _number(
                text,
                "tokens",
                f"{scheduled} / {state.token_budget}",
                share=scheduled / max(1, state.token_budget),
            ),
            _number(text, "requests", f"{len(state.running)} / {len(state.waiting)}"),
            _number(text, "preemptions", str(state.num_preemptions)),
        ],
    }


def _usage(state: State, text: Text) -> dict[str, Any]:
    usable = state.num_blocks - 1
    return _number(
        text,
        "usage",
        f"{state.usage:.0%}",
        share=state.usage,
        beside=text("numbers.of", n=state.num_used_blocks, total=usable),
    )


def _hit_rate(state: State, text: Text) -> dict[str, Any]:
    """Counted when a step ends; vLLM forgets all but the last 1000 requests, a lesson shows."""
    queries, hits = state.stats.queries, state.stats.hits
    value = f"{hits / queries:.0%}" if queries else text("numbers.none")
    share = hits / queries if queries else 0.0
    beside = text("numbers.of", n=hits, total=queries)
    return _number(text, "hit_rate", value, share=share, beside=beside)


def _number(
    text: Text, name: str, value: str, *, share: float | None = None, beside: str = ""
) -> dict[str, Any]:
    return {
        "name": text.named("number", name),
        "value": value,
        "share": share,
        "beside": beside,
        "hint": text.named("number_hint", name),
    }
