"""The same requests, one after the other, in one allocator: who runs, who waits, what is wasted.

First come, first served; memory is the only limit. A request that waits is not shortened: its life
begins when it is placed. Whoever cannot grow makes the last one placed give up its memory and come
back to the head of the line, as in vLLM; what that one had computed, it computes again at once.
"""

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from engine.core.contiguous import Allocator, Life, Region, Usage


class Next(NamedTuple):
    """Who asks for room next, and for how many slots in a row."""

    request_id: str
    piece: int


class Frame(NamedTuple):
    """How things are in one step, when everybody has room and before the finished ones leave."""

    running: tuple[str, ...]  # in the order in which they were placed
    waiting: tuple[str, ...]  # the head first
    next: Next | None  # the head of the line, or who comes next; None: nobody
    usage: Usage
    changed: dict[int, Region | None]  # start -> region, since the frame before
    num_tokens_copied: int  # since the beginning, as the two below
    num_compactions: int
    num_preemptions: int


class Replay:
    """`frames` grows by one with each `step`."""

    def __init__(self, allocator: Allocator, lives: Iterable[Life]) -> None:
        self.allocator = allocator
        self.frames: list[Frame] = []
        ordered = sorted(lives, key=lambda life: life.arrival_step)  # stable: then as they came
        fits = {life: allocator.can_ever_hold(life) for life in ordered}
        self.refused = tuple(life.request_id for life in ordered if not fits[life])
        self._to_come = deque(life for life in ordered if fits[life])
        self._waiting: deque[Life] = deque()
        self._running: list[Life] = []
        self._age: dict[str, int] = {}  # steps that a request has had room for
        self._num_preemptions = 0
        self._has_moved = True  # the last step was not like the one before

    def run(self, max_steps: int) -> "Replay":
        """All steps until nothing can change any more, or `max_steps` of them; at least one."""
        self.step()
        while not self.is_over and len(self.frames) < max_steps:
            self.step()
        return self

    @property
    def is_over(self) -> bool:
        nobody = not (self._waiting or self._running)
        return not self._to_come and (nobody or not self._has_moved)

    def step(self) -> None:
        self._has_moved = False
        self._let_go()
        self._arrive()
        num_preempted_before = self._num_preemptions
        self._grow()
        if self._num_preemptions == num_preempted_before:
            self._admit()
        self.frames.append(self._frame())

    def _let_go(self) -> None:
        """The finished leave. Whoever's record ends before it finished stays as it is."""
        for life in [life for life in self._running if life.is_finished and self._is_through(life)]:
            self.allocator.free(life.request_id)
            self._running.remove(life)
            self._has_moved = True

    def _is_through(self, life: Life) -> bool:
        return self._age[life.request_id] >= len(life.lengths)

    def _arrive(self) -> None:
        while self._to_come and self._to_come[0].arrival_step <= len(self.frames):
            self._waiting.append(self._to_come.popleft())
            self._has_moved = True

    def _grow(self) -> None:
        """In the order of placing, so that the first always comes on."""
        for life in tuple(self._running):
            if life not in self._running or self._is_through(life):
                continue
            while not self.allocator.grow(life.request_id, self._length(life)):
                victim = self._running[-1]
                self._preempt()
                if victim is life:
                    break
            else:
                self._advance(life)

    def _preempt(self) -> None:
        victim = self._running.pop()
        self.allocator.free(victim.request_id)
        self._waiting.appendleft(victim)
        self._num_preemptions += 1

    def _admit(self) -> None:
        while self._waiting and self.allocator.place(
            self._waiting[0], self._length(self._waiting[0])
        ):
            life = self._waiting.popleft()
            self._running.append(life)
            self._advance(life)

    def _advance(self, life: Life) -> None:
        self._age[life.request_id] = min(self._age.get(life.request_id, 0) + 1, len(life.lengths))
        self._has_moved = True

    def _length(self, life: Life) -> int:
        """The tokens that the request holds in its next step."""
        return life.lengths[min(self._age.get(life.request_id, 0), len(life.lengths) - 1)]

    def _frame(self) -> Frame:
        allocator, head = self.allocator, next(iter((*self._waiting, *self._to_come)), None)
        asks = head and Next(head.request_id, allocator.piece(head, self._length(head)))
        return Frame(
            tuple(life.request_id for life in self._running),
            tuple(life.request_id for life in self._waiting),
            asks,
            allocator.usage(asks and asks.piece),
            allocator.take_changes(),
            allocator.num_tokens_copied,
            allocator.num_compactions,
            self._num_preemptions,
        )
