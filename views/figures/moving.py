"""A run as a moving picture: one frame for each change, small enough for a page's first look."""

from typing import Any

from engine.trace.entries import RequestState
from engine.trace.state import State
from engine.trace.trace import Trace
from views.figures.cache.request_tokens import blocks
from views.figures.moment import block_state, moment_at
from views.figures.time.narration import sentence
from views.text import Text


def moving(trace: Trace, text: Text) -> dict[str, Any]:
    """Frames of requests with their tables, of blocks (state, how often referenced, touched), of the
    free queue and of what happened.

    Only changes are worth a frame: a sub-step that moves nothing has none.
    """
    frames: list[dict[str, Any]] = []
    for position in range(1, trace.num_positions):
        cursor = trace.cursor_at(position)
        moment = moment_at(trace, cursor)
        state = moment.state
        frame = {
            "blocks": [
                [block_state(state, id_), block.ref_cnt if (block := state.blocks.get(id_)) else 0]
                for id_ in range(state.num_blocks)
            ],
            "queue": list(state.free_queue()),
            "requests": [_row(state, request, text) for request in state.requests.values()],
            "touched": sorted(moment.touched_blocks),
            "step": text("home.step", step=cursor.step),
            "sentence": sentence(trace.events(cursor.step, cursor.sub_step - 1), text),
        }
        if not frames or any(frame[name] != frames[-1][name] for name in CHANGING):
            frames.append(frame)
    return {
        "frames": frames,
        "names": list(trace.at(trace.last).requests),
        "words": {name: text.named("home_word", name) for name in WORDS},
    }


def _row(state: State, request: RequestState, text: Text) -> list[Any]:
    """[status, its word, [[block or None, letters, state of each letter, empty slots], ...]]."""
    table = []
    if not request.is_finished:
        for block in blocks(state, request, text):
            letters = [_letters(drawn) for drawn, *_ in block["tokens"]]
            states = [name for _, name, *_ in block["tokens"]]
            table.append([block["block"], letters, states, block["empty"]])
    return [request.status, text.named("status", request.status), table]


def _letters(drawn: str | list[list[str]]) -> str:
    """A token as plain text, without what marks its signs and bytes."""
    return drawn if isinstance(drawn, str) else "".join(run for run, _ in drawn)


CHANGING = ("requests", "blocks", "queue")
WORDS = ("picture", "pause", "play", "requests", "pool", "queue", "head", "tail")
