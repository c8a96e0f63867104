"""Why nothing moves: the head of the waiting queue, what it needs, what there is, who holds it."""

from typing import Any

from engine.questions.stuck import Autopsy, Holder, why_stuck
from engine.trace.state import State
from views.text import Text

MAX_HOLDERS = 8


def autopsy(state: State, text: Text) -> dict[str, Any] | None:
    """None when nobody waits."""
    found = why_stuck(state)
    if found is None:
        return None
    shown: dict[str, Any] = {
        "title": text("why.line"),
        "request": found.request_id,
        "head": _head(found, text),
        "cause": found.cause,
        "sentence": text.told((_sentence(state, found, text), _outlook(found, text))),
        "deadlock": text("why.deadlock") if found.is_deadlock else "",
    }
    if found.cause in ("blocks", "oversized"):
        shown["bar"] = _bar(found, text)
        shown["holders_title"] = text("why.holders") if found.holders else ""
        shown["holders"] = [_holder(holder, text) for holder in found.holders[:MAX_HOLDERS]]
    if found.cause == "blocks":
        shown["way_out"] = _way_out(found, text)
    return shown


def _head(found: Autopsy, text: Text) -> str:
    if not found.num_behind:
        return text("why.head_alone", request=found.request_id)
    return text.count("why.head", found.num_behind, request=found.request_id)


def _sentence(state: State, found: Autopsy, text: Text) -> str:
    config = state.config
    match found.cause:
        case "admitting":
            return text("why.cause.admitting")
        case "preempted":
            return text("why.cause.preempted")
        case "seqs":
            return text("why.cause.seqs", n=len(state.running))
        case "lora":
            return text("why.cause.lora", n=config["max_loras"])
        case "budget":
            return text("why.cause.budget", n=config["max_num_batched_tokens"])
        case "uncut":
            num_rest = found.num_tokens - found.num_hit_tokens
            return text("why.cause.uncut", n=num_rest, left=max(0, found.tokens_left))
        case "blocks":
            return text.count("why.cause.blocks", found.num_blocks_missing)
        case "oversized":
            return text("why.cause.oversized")
    return text("why.cause.nothing_now" if found.is_deciding else "why.cause.nothing")


def _outlook(found: Autopsy, text: Text) -> str:
    """What lets it finish, not merely begin again; empty where all blocks are enough for it."""
    if not found.outgrows_pool:
        return ""
    needed, tokens = found.to_finish.num_blocks, found.to_finish.num_tokens
    told = [text("why.outgrows", n=needed, tokens=tokens, usable=found.num_usable_blocks)]
    most = found.largest.num_blocks
    if most > needed:
        told.append(text("why.largest", request=found.largest.request_id, n=most, enough=most + 1))
    else:
        told.append(text("why.enough_for_all", enough=most + 1))
    return text.told(told)


def _bar(found: Autopsy, text: Text) -> dict[str, Any]:
    """Two bars on one scale: what is needed now and by its end, and what exists."""
    needed, finish = found.num_blocks_needed, found.to_finish
    needs = [text.count("why.need_of", found.num_scheduled_tokens, blocks=needed)]
    if found.num_queued_hits:
        needs.append(text.count("why.need_queued", found.num_queued_hits))
    if finish.num_blocks > needed:
        needs.append(text("why.to_finish", n=finish.num_blocks, tokens=finish.num_tokens))
    return {
        "scale": max(needed, finish.num_blocks, found.num_usable_blocks),
        "needed": needed,
        "later": max(0, finish.num_blocks - needed),
        "free": found.num_free_blocks,
        "used": found.num_usable_blocks - found.num_free_blocks,
        "need_word": text("why.need"),
        "need_words": text.listed(needs),
        "free_word": text("why.free"),
        "used_word": text("why.used"),
        "exist_word": text("why.exist"),
    }


def _holder(holder: Holder, text: Text) -> dict[str, Any]:
    own = ""
    if holder.num_own_blocks != holder.num_blocks:
        own = text("why.holder_own", own=holder.num_own_blocks)
    return {"request": holder.request_id, "num": holder.num_blocks, "own": own}


def _way_out(found: Autopsy, text: Text) -> str:
    enough = found.enough
    if enough is None:
        return text("why.not_enough")
    return text.count("why.enough", enough.num_own_blocks, request=enough.request_id)
