"""Prompts for the real model: when each one comes, and what was said before it.

They come in the order of the file, so that the n-th is the request rN. One that continues another is
the next turn of the same chat: it waits for the answer, and goes with all that was said so far, as
the client of a chat sends it.
"""

from collections.abc import Sequence

from engine.trace.trace import Trace
from lessons.schema import Prompt


def is_due(prompt: Prompt, trace: Trace, step: int, *, can_go_on: bool) -> bool:
    """Whether it comes before this step; a run that cannot go on waits for no arrival_step."""
    if prompt.continues is not None:
        earlier = trace.at(trace.last).requests.get(prompt.continues)
        if earlier is None or not earlier.is_finished:
            return False
    return prompt.arrival_step <= step or not can_go_on


def turns_before(prompts: Sequence[Prompt], prompt: Prompt, trace: Trace) -> list[tuple[str, str]]:
    """Role and text of each turn in front of this one, the model's as it wrote them."""
    if prompt.continues is None:
        return []
    earlier = prompts[int(prompt.continues[1:])]
    answer = trace.at(trace.last).requests[prompt.continues].output_text
    before = turns_before(prompts, earlier, trace)
    return [*before, ("user", earlier.text), ("assistant", answer)]
