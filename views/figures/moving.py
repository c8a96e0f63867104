"""A run as a moving picture: one frame for each sub-step, small enough for a page's first look."""

from typing import Any

from engine.trace.trace import Trace
from views.figures.moment import block_state, moment_at
from views.figures.time.narration import sentence
from views.text import Text


def moving(trace: Trace, text: Text) -> dict[str, Any]:
    """Frames of blocks (state, how often referenced, touched), the free queue and what happened.

    Only changes are worth a frame: a sub-step that leaves pool and queue alone adds its sentence to
    the frame before.
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
            "touched": sorted(moment.touched_blocks),
            "step": text("home.step", step=cursor.step),
            "sentence": sentence(trace.events(cursor.step, cursor.sub_step - 1), text),
        }
        if not frames or any(frame[name] != frames[-1][name] for name in ("blocks", "queue")):
            frames.append(frame)
    return {
        "frames": frames,
        "words": {name: text.named("home_word", name) for name in WORDS},
    }


WORDS = ("picture", "pause", "play", "pool", "queue", "head", "tail")
