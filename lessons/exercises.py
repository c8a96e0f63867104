"""Endless exercises: a random run, a moment in it, and what the KV-cache manager did next.

Level and seed decide everything, so that a link brings the same exercise back. The run is the
engine's own; what counts as right is read off its events and stands nowhere else.
"""

import functools
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.config import EngineConfig
from engine.trace.events import (
    BlocksFreed,
    BlocksTaken,
    BlocksTouched,
    Event,
    PrefixLookedUp,
    RequestPreempted,
)
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from engine.workload import ScriptedRequest, ScriptedRun, Workload
from lessons.happenings import happenings
from lessons.vocabulary import Vocabulary

LEVELS = (1, 2, 3, 4, 5)  # allocate, free, hit, evict, preempt and resume
TOUCH, TAKE, FREE, PREEMPT, DONE = "touch", "take", "free", "preempt", "done"
BLOCK_SIZE = 4
MAX_SEED = 10**9
MOST_DEEDS = 10
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Deed(NamedTuple):
    """One thing that the manager did. `before` is the last place of the run that says nothing of
    it, `after` the first at which it has happened. `for_request_id`: of a preemption, who needs
    the room."""

    verb: str
    target: int | str | None  # a block, the request of a preemption, nothing for DONE
    request_id: str
    before: int
    after: int
    for_request_id: str | None = None


class Exercise(NamedTuple):
    """`deeds` in the order of the engine; the last one is DONE."""

    level: int
    seed: int
    trace: Trace
    deeds: tuple[Deed, ...]

    @property
    def about(self) -> str | None:
        """Whose turn it is, which gives no victim away: for a preemption whoever needs the room,
        and nobody where that one gives way itself."""
        first = self.deeds[0]
        if first.verb != PREEMPT:
            return first.request_id
        return None if first.for_request_id == first.request_id else first.for_request_id

    @property
    def begin(self) -> Cursor:
        return self.trace.cursor_at(self.deeds[0].before)

    @property
    def end(self) -> Cursor:
        return self.trace.cursor_at(self.deeds[-1].after)


@functools.lru_cache(maxsize=256)
def exercise(level: int, seed: int) -> Exercise:
    """The same for everybody who asks for it."""
    chance = random.Random(f"{level}/{seed}")
    while True:
        trace = _run(_workload(level, chance))
        found = [deeds for deeds in _windows(trace, level) if 2 <= len(deeds) - 1 <= MOST_DEEDS]
        if found:
            return Exercise(level, seed, trace, chance.choice(found))


# The run ----------------------------------------------------------------------------------------


def _workload(level: int, chance: random.Random) -> Workload:
    """A few requests in a small pool; the higher the level, the more they have in common, and the
    less room there is."""
    num_blocks = {1: 14, 2: 15, 3: 14, 4: 11, 5: 9}[level] + chance.randrange(3)
    shares = {1: 0.0, 2: 0.5, 3: 0.9, 4: 0.6, 5: 0.4}[level]
    vocabulary = Vocabulary("letters")
    requests: list[ScriptedRequest] = []
    prompts: list[str] = []
    arrival = 0
    for index in range(chance.randint(3, 5)):
        prompt = _prompt(prompts, shares, chance)
        prompts.append(prompt)
        answer = "".join(chance.choices(LETTERS.upper(), k=chance.randint(2, 9)))
        requests.append(
            ScriptedRequest(
                id=f"r{index}",
                arrival_step=arrival,
                prompt=vocabulary.encode(prompt),
                output=vocabulary.encode(answer),
            )
        )
        arrival += chance.randint(0, 4)
    config = EngineConfig(block_size=BLOCK_SIZE, num_blocks=num_blocks, max_num_seqs=8)
    return Workload(name="exercise", requests=tuple(requests), config=config, max_steps=200)


def _prompt(earlier: Sequence[str], shares: float, chance: random.Random) -> str:
    """Perhaps with the beginning of one that was there before."""
    head = ""
    if earlier and chance.random() < shares:
        other = chance.choice(earlier)
        head = other[: chance.randint(min(4, len(other)), len(other))]
    length = chance.randint(3, 9) if head else chance.randint(6, 18)
    return head + "".join(chance.choices(LETTERS, k=length))


def _run(workload: Workload) -> Trace:
    trace = Trace(TraceHeader(config=workload.config.to_mapping(), title=workload.name))
    names = Vocabulary("letters")
    for request in workload.requests:
        for id_ in (*request.prompt, *request.output):
            names.names[id_] = chr(id_).encode()
    run = ScriptedRun(workload, emit=names.naming(trace.append))
    while not run.is_over and run.engine.stuck_reason is None:
        run.step()
    return trace


# What the manager did ---------------------------------------------------------------------------


def _windows(trace: Trace, level: int) -> Iterator[tuple[Deed, ...]]:
    """The stretches of the run that make an exercise of this level."""
    gave_way: set[str] = set()
    for deeds in _stretches(trace):
        verbs = {deed.verb for deed in deeds}
        evicts = any(_evicts(trace, deed) for deed in deeds)
        fits = {
            1: verbs == {TAKE} and not evicts,
            2: verbs == {FREE},
            3: verbs == {TOUCH, TAKE} and not evicts,
            4: evicts and PREEMPT not in verbs,
            5: PREEMPT in verbs or (TAKE in verbs and deeds[0].request_id in gave_way),
        }[level]
        gave_way -= {deed.request_id for deed in deeds if deed.verb == TAKE}
        gave_way |= {deed.request_id for deed in deeds if deed.verb == PREEMPT}
        if fits:
            last = deeds[-1]
            yield (*deeds, Deed(DONE, None, last.request_id, last.after, last.after))


def _stretches(trace: Trace) -> Iterator[list[Deed]]:
    """Deeds that belong together: one request's admission or growth, with everybody who gives way
    to it, or one release."""
    lookup: tuple[str, int] | None = None  # of whom, and where nothing of it is known yet
    stretch: list[Deed] = []
    owner, victims, step = "", set[str](), -1
    for happening in happenings(trace):
        event, position = happening.event, happening.position
        if isinstance(event, PrefixLookedUp):
            lookup = (event.request_id, position - 1)
        found = _deeds(event, position, lookup)
        if not found:
            continue
        who = found[0].request_id
        if isinstance(event, RequestPreempted):
            who = event.for_request_id or who
        gives_way = isinstance(event, BlocksFreed) and who in victims
        if stretch and not gives_way:
            is_release = isinstance(event, BlocksFreed)
            if who != owner or happening.step != step or is_release:
                yield stretch
                stretch, victims = [], set()
        if not gives_way:
            owner = who
        if isinstance(event, RequestPreempted):
            victims.add(event.request_id)
        step = happening.step
        stretch += found
    if stretch:
        yield stretch


def _deeds(event: Event, position: int, lookup: tuple[str, int] | None) -> list[Deed]:
    """The clicks that an event stands for, with the place before it."""
    match event:
        case BlocksTouched(request_id=request_id, block_ids=block_ids):
            verb = TOUCH
        case BlocksTaken(request_id=request_id, block_ids=block_ids):
            verb = TAKE
        case BlocksFreed(request_id=request_id, block_ids=block_ids):
            verb = FREE
        case RequestPreempted(request_id=request_id, for_request_id=needs):
            return [Deed(PREEMPT, request_id, request_id, position - 1, position, needs)]
        case _:
            return []
    before = position - 1
    if verb == TOUCH and lookup is not None and lookup[0] == request_id:
        before = lookup[1]
    return [Deed(verb, id_, request_id, before, position) for id_ in block_ids if id_]


def _evicts(trace: Trace, deed: Deed) -> bool:
    """Whether a block that is taken was remembered until then."""
    block = trace.at(trace.cursor_at(deed.before)).blocks.get(deed.target)  # type: ignore[arg-type]
    return deed.verb == TAKE and block is not None and block.block_hash is not None
