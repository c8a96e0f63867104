"""Pictures that more than one visitor asks for: a recorded example is the same for a whole class."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from views import session
from views.choices import NO_DRAFT
from views.runs import Run

Parts = dict[str, bytes]  # key of a part of the stage -> its payload, encoded
MAX_BYTES = 32 << 20


class Pictures:
    """The latest ones, up to `max_bytes`. Shared by all sessions and their threads."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._num_bytes = 0
        self._kept: OrderedDict[Hashable, Parts] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, draw: Callable[[], Parts]) -> Parts:
        """The picture of `key`; two who ask at the same time may both draw it."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        parts = draw()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = parts
                self._num_bytes += _num_bytes(parts)
            while self._num_bytes > self._max_bytes:
                _, gone = self._kept.popitem(last=False)
                self._num_bytes -= _num_bytes(gone)
        return parts


def _num_bytes(parts: Parts) -> int:
    return sum(map(len, parts.values()))


def key_of(run: Run) -> Hashable | None:
    """All that a picture of the stage is drawn from; None where it is this visitor's alone."""
    chosen = session.choices()
    if run.live is not None or run.saving is not None or chosen.refused is not None:
        return None
    return (
        run.run_id,
        session.language(),
        chosen.example,
        chosen.cursor,
        chosen.selection,
        chosen.lens,
        frozenset(chosen.unfolded),
        chosen.questions.get(chosen.example, NO_DRAFT),
        (chosen.group_id, chosen.zoom, chosen.place),
        tuple(chosen.notices.items()),
    )
