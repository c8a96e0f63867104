"""What a learner did in the KV-cache manager's place, held against the engine's next deed."""

from typing import NamedTuple

from engine.trace.state import NULL_BLOCK_ID, State
from lessons.exercises import DONE, FREE, PREEMPT, TAKE, TOUCH, Deed, Exercise

Target = int | str | None


class Judgement(NamedTuple):
    """`reason` names the sentence of a wrong action; its values are `request`, `target`, `answer`
    and what else the sentence may need."""

    is_right: bool
    reason: str
    values: dict[str, object]


def judge(exercise: Exercise, num_done: int, verb: str, target: Target) -> Judgement:
    """The action after `num_done` right ones."""
    deed = exercise.deeds[num_done]
    if (verb, target) == (deed.verb, deed.target):
        return Judgement(True, "right", {})
    state = exercise.trace.at(exercise.trace.cursor_at(deed.before))
    reason = _reason(exercise, num_done, verb, target)
    values: dict[str, object] = {
        "request": deed.request_id,
        "target": "" if target is None else target,
        "answer": "" if deed.target is None else deed.target,
        "free": state.num_free_blocks,
    }
    return Judgement(False, reason, values)


def _reason(exercise: Exercise, num_done: int, verb: str, target: Target) -> str:
    """Which sentence; the rule behind it is the engine's, named in the sentence."""
    deed = exercise.deeds[num_done]
    if deed.verb == DONE:
        return "enough_free" if exercise.deeds[-2].verb == FREE else "enough"
    if verb == DONE:
        return f"more_{deed.verb}"
    if verb != deed.verb:
        return _wrong_verb(deed, verb)
    rest = [each.target for each in exercise.deeds[num_done:] if each.verb == deed.verb]
    if verb == TAKE:
        state = exercise.trace.at(exercise.trace.cursor_at(deed.before))
        return _wrong_take(target, state, rest)
    if verb == FREE:
        return "free_order" if target in rest else "free_other"
    if verb == TOUCH:
        state = exercise.trace.at(exercise.trace.cursor_at(deed.before))
        return "touch_order" if target in rest else _wrong_touch(target, state)
    return "victim"


def _wrong_verb(deed: Deed, verb: str) -> str:
    if deed.verb == PREEMPT:
        return "no_room"
    if verb == PREEMPT:
        return "has_room"
    if deed.verb == TOUCH and verb == TAKE:
        return "touch_first"
    if verb == TOUCH:
        return "not_touch" if deed.verb == FREE else "no_hit"
    return f"not_{verb}"


def _wrong_touch(target: Target, state: State) -> str:
    if target == NULL_BLOCK_ID:
        return "touch_null"
    has_hash = isinstance(target, int) and state.is_cached(target)
    return "touch_other" if has_hash else "touch_no_hash"


def _wrong_take(target: Target, state: State, rest: list[Target]) -> str:
    if target == NULL_BLOCK_ID:
        return "take_null"
    block = state.blocks.get(target) if isinstance(target, int) else None
    if block is not None and block.ref_cnt > 0 and target not in rest:
        return "take_in_use"
    return "take_head"
