"""The same requests in three allocators: what each memory looks like in every step, and its waste.

Waste is a share of what nobody else can get: of the slots that requests hold and of the free ones in
holes too short for the piece that is asked for next.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from engine.core.contiguous import (
    Allocator,
    GrowingAllocator,
    Life,
    PagedAllocator,
    ReservedAllocator,
    Usage,
)
from engine.core.contiguous_replay import Frame, Replay
from views.figures.fragmentation.lives import MAX_MODEL_LEN, TABLES, Lengths
from views.text import Text, quoted

RUN = "run"
SOURCES = (*TABLES, RUN)
KINDS = ("reserved", "growing", "paged")
BLOCK_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MAX_STEPS = 2_000  # that are drawn
SERIES = ("used", "internal", "external", "free")
WORDS = (
    *("step", "play", "pause", "first", "back", "forward", "last", "slider", "verdict"),
    *("live", "waste", "no_waste", "internal", "external", "remainder", "nobody_next"),
    *("copied", "preempted", "used", "held_empty", "too_short", "free"),
    *("region", "block", "hole", "pointer", "requests", "requests_hint", "chosen"),
    *("is_live", "is_waiting", "is_away", "is_refused", "picture"),
    *("chart_internal", "chart_external", "chart_live", "chart_axis", "unknown"),
)


class Setting(NamedTuple):
    """What a learner may turn."""

    source: str
    block_size: int
    reservation: str

    def address(self) -> dict[str, str]:
        return {
            "lengths": self.source,
            "block_size": str(self.block_size),
            "reserve": self.reservation,
        }


def block_sizes(lengths: Lengths) -> list[int]:
    """What the slider offers: sizes of which the memory holds at least one, and the run's own."""
    sizes = {size for size in BLOCK_SIZES if size <= lengths.capacity}
    return sorted(sizes | {lengths.block_size})


def asked_for(
    params: Mapping[str, str], name: str, offered: Iterable[object], text: Text
) -> tuple[str | None, str]:
    """What the address asks for by this name, and a sentence where that is not offered."""
    given, words = params.get(name), [str(each) for each in offered]
    if given is None or given in words:
        return given, ""
    return None, text("frag.unknown", name=name, given=quoted(given), offered=", ".join(words))


def asked_step(params: Mapping[str, str], num_steps: int, text: Text) -> tuple[int | None, str]:
    """The step that the address asks for, and a sentence where there is none such."""
    given = params.get("at")
    if given is None:
        return None, ""
    if re.fullmatch(r"[0-9]{1,9}", given) and int(given) < max(1, num_steps):
        return int(given), ""
    return None, text("frag.no_step", given=quoted(given), last=max(0, num_steps - 1))


def _allocators(capacity: int, block_size: int) -> tuple[Allocator, ...]:
    return (
        ReservedAllocator(capacity),
        GrowingAllocator(capacity),
        PagedAllocator(capacity, block_size),
    )


@lru_cache(maxsize=8)
def _replays(lives: tuple[Life, ...], capacity: int, block_size: int) -> tuple[Replay, ...]:
    """Shared by all visitors, and read only."""
    allocators = _allocators(capacity, block_size)
    return tuple(Replay(allocator, lives).run(MAX_STEPS) for allocator in allocators)


def fragmentation(lengths: Lengths, setting: Setting, text: Text) -> dict[str, Any]:
    """Per allocator: `changes` holds [start, size, tokens, request number] for each step, with size 0
    where a region is gone; the series hold one number for each step."""
    lives = lengths.lives(setting.reservation)
    replays = _replays(lives, lengths.capacity, setting.block_size)
    num_steps = max((len(replay.frames) for replay in replays), default=0)
    is_cut = any(not replay.is_over for replay in replays)
    return {
        "title": text("frag.title"),
        "empty": "" if lives else text("frag.empty"),
        "note": _note(lengths, setting, text, is_cut),
        "capacity": lengths.capacity,
        "num_steps": num_steps,
        "block_size": setting.block_size,
        "start": _fullest(replays[-1].frames),
        "requests": [_request(lengths, setting, number, text) for number in range(len(lives))],
        "allocators": [
            _allocator(kind, replay, lives, text)
            | {"how": text.named("frag_how", kind).format(**_amounts(lengths, setting, text))}
            for kind, replay in zip(KINDS, replays, strict=True)
        ],
        "words": {name: text.named("frag_word", name) for name in WORDS},
        "address": setting.address(),
    }


def _fullest(frames: list[Frame]) -> int:
    """The first step in which most tokens are stored."""
    return max(range(len(frames)), key=lambda step: frames[step].usage.used, default=0)


def _amounts(lengths: Lengths, setting: Setting, text: Text) -> dict[str, object]:
    most = {life.most_tokens for life in lengths.lives(setting.reservation)}
    named = text.named("frag_reserve", setting.reservation)
    low, high = min(most, default=0), max(most, default=0)
    span = f"{low:,}" if low == high else f"{low:,}–{high:,}"
    return {"reserve": named, "span": span, "block_size": setting.block_size}


def _note(lengths: Lengths, setting: Setting, text: Text, is_cut: bool) -> str:
    """What the pictures leave out, in sentences."""
    said = []
    if setting.reservation == MAX_MODEL_LEN and lengths.max_model_len > lengths.capacity:
        said.append(text("frag.too_long", most=lengths.max_model_len, capacity=lengths.capacity))
    if lengths.num_left_out:
        said.append(text.count("frag.left_out", lengths.num_left_out))
    if is_cut:
        said.append(text("frag.cut", n=MAX_STEPS))
    return text.told(said)


def _request(lengths: Lengths, setting: Setting, number: int, text: Text) -> dict[str, Any]:
    request = lengths.requests[number]
    return {
        "id": request.request_id,
        "label": text(
            "frag.request",
            prompt=request.num_prompt_tokens,
            more=max(0, request.lengths[-1] - request.num_prompt_tokens),
        ),
        "hint": text(
            "frag.request_hint",
            arrival=request.arrival_step,
            prompt=request.num_prompt_tokens,
            last=request.lengths[-1],
            most=lengths.most_tokens(request, setting.reservation),
        ),
        "arrival": request.arrival_step,
    }


def _allocator(kind: str, replay: Replay, lives: tuple[Life, ...], text: Text) -> dict[str, Any]:
    frames = replay.frames
    numbers = {life.request_id: number for number, life in enumerate(lives)}
    return {
        "kind": kind,
        "name": text.named("frag_kind", kind),
        "changes": [_changes(frame, numbers) for frame in frames],
        "usage": {name: [getattr(frame.usage, name) for frame in frames] for name in SERIES},
        "live": [len(frame.running) for frame in frames],
        "waiting": [[numbers[id_] for id_ in frame.waiting] for frame in frames],
        "next": [
            frame.next and [numbers[frame.next.request_id], frame.next.piece] for frame in frames
        ],
        "copied": [frame.num_tokens_copied for frame in frames],
        "preempted": [frame.num_preemptions for frame in frames],
        "internal": [share(frame.usage.internal, frame.usage) for frame in frames],
        "external": [share(frame.usage.external, frame.usage) for frame in frames],
        "refused": [numbers[id_] for id_ in replay.refused],
        "total": _total(replay, lives, text),
    }


def _changes(frame: Frame, numbers: Mapping[str, int]) -> list[int]:
    flat: list[int] = []
    for start, region in frame.changed.items():
        flat += (
            (start, 0, 0, 0)
            if region is None
            else (start, region.size, region.num_tokens, numbers[region.request_id])
        )
    return flat


def share(wasted: int, usage: Usage) -> float | None:
    """Per cent of what nobody else can get; None where that is nothing."""
    return round(100 * wasted / usage.taken, 2) if usage.taken else None


def _total(replay: Replay, lives: tuple[Life, ...], text: Text) -> list[str]:
    """The whole replay in a few words each."""
    if not lives:
        return []
    frames, refused = replay.frames, set(replay.refused)
    wasted = sum(frame.usage.internal + frame.usage.external for frame in frames)
    taken = sum(frame.usage.taken for frame in frames)
    said = [text("frag.most", n=max((len(frame.running) for frame in frames), default=0))]
    if taken:
        said.append(text("frag.mean", percent=f"{100 * wasted / taken:.1f}"))
    if isinstance(replay.allocator, GrowingAllocator):
        stored = sum(life.lengths[-1] for life in lives if life.request_id not in refused)
        copied = replay.allocator.num_tokens_copied
        said.append(text("frag.copied", copied=f"{copied:,}", stored=f"{stored:,}"))
        said.append(text.count("frag.compactions", replay.allocator.num_compactions))
    if refused:
        said.append(text.count("frag.refused", len(refused)))
    if frames and replay.is_over and not (frames[-1].running or frames[-1].waiting):
        said.append(text("frag.done", n=len(frames) - 1))
    return said
