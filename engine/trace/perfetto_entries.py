"""The lines of a Chrome-trace file: slices, instants and counters on named tracks.

Slices that last are opened and closed (B, E) in the order of events, so that times never go back
from line to line; the last that was opened is the first to be closed.
"""

from typing import Any

ENGINE, REQUESTS, BLOCKS = 1, 2, 3  # pid
PROCESSES = {ENGINE: "Engine", REQUESTS: "Requests", BLOCKS: "Blocks"}
STEPS = 0  # tid of the engine's one track

Entry = dict[str, Any]


class Sheet:
    """Entries at the time `ts`, and the tracks on which they stand."""

    def __init__(self) -> None:
        self.ts = 0.0
        self.entries: list[Entry] = []
        self._tracks: dict[tuple[int, str | int], Track] = {}

    def take(self) -> list[Entry]:
        """What was written since the last time."""
        taken, self.entries = self.entries, []
        return taken

    def close(self) -> None:
        """End what still lasts."""
        for track in self._tracks.values():
            track.end()

    def engine(self) -> "Track":
        return self._track(ENGINE, STEPS, "steps")

    def request(self, request_id: str) -> "Track":
        return self._track(REQUESTS, request_id, request_id)

    def block(self, block_id: int) -> "Track":
        return self._track(BLOCKS, block_id, f"block {block_id}")

    def count(self, name: str, **values: float) -> None:
        track = self.engine()
        self.entries.append(
            {
                "ph": "C",
                "pid": ENGINE,
                "tid": track.tid,
                "ts": self.ts,
                "name": name,
                "args": values,
            }
        )

    def _track(self, pid: int, key: str | int, title: str) -> "Track":
        """Made and named when it is first needed. A block's number is its id."""
        track = self._tracks.get((pid, key))
        if track is None:
            tid = key if isinstance(key, int) else len(self._tracks) + 1
            track = self._tracks[pid, key] = Track(self, pid, tid)
            self.entries.append(about(pid, tid, "thread_name", {"name": title}))
            self.entries.append(about(pid, tid, "thread_sort_index", {"sort_index": tid}))
        return track


class Track:
    """One line of the picture, a thread in the words of the format."""

    def __init__(self, sheet: Sheet, pid: int, tid: int) -> None:
        self._sheet, self.pid, self.tid = sheet, pid, tid
        self._num_open = 0

    def slice(self, name: str, *, ends: float, **args: Any) -> None:
        """One whose end is known, on top of what is open."""
        lasts = round(max(0.0, ends - self._sheet.ts), 3)
        self._put("X", name=name, dur=lasts, args=args)

    def begin(self, name: str, **args: Any) -> None:
        self._num_open += 1
        self._put("B", name=name, args=args)

    def end(self) -> None:
        """Close every slice."""
        while self._num_open:
            self.end_inner()

    def end_inner(self) -> None:
        """Close the slice that was opened last."""
        self._num_open -= 1
        self._put("E")

    def instant(self, name: str, **args: Any) -> None:
        self._put("i", name=name, s="t", args=args)

    def _put(self, ph: str, **more: Any) -> None:
        ts = self._sheet.ts
        self._sheet.entries.append({"ph": ph, "pid": self.pid, "tid": self.tid, "ts": ts, **more})


def about(pid: int, tid: int, name: str, args: Entry) -> Entry:
    """What a track or a group of tracks is called, and where it stands."""
    return {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": args}


def introduction(label: str) -> list[Entry]:
    """Names and order of the groups; `label` stands beside the first."""
    entries = [about(ENGINE, STEPS, "process_labels", {"labels": label})]
    for pid, name in PROCESSES.items():
        entries.append(about(pid, 0, "process_name", {"name": name}))
        entries.append(about(pid, 0, "process_sort_index", {"sort_index": pid}))
    return entries
