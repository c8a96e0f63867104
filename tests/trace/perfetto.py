"""What a Chrome-trace file must keep to, and what its tracks hold: read back as a viewer would."""

import json
from typing import Any, NamedTuple

from engine.trace.perfetto import encode_perfetto
from engine.trace.trace import Trace

Entry = dict[str, Any]
PLACED = ("B", "E", "X", "i", "C")  # entries with a time


class Slice(NamedTuple):
    name: str
    start: float
    end: float
    depth: int
    args: dict[str, Any]


class Picture(NamedTuple):
    """`tracks`: (group, track) -> its slices in the order of their starts."""

    about: dict[str, Any]
    tracks: dict[tuple[str, str], list[Slice]]
    instants: dict[tuple[str, str], list[tuple[float, str]]]
    counters: dict[str, list[tuple[float, dict[str, float]]]]


def picture(trace: Trace) -> Picture:
    """The export, checked against the rules of the format."""
    return read(encode_perfetto(trace))


def read(content: bytes) -> Picture:
    file = json.loads(content)
    assert set(file) == {"displayTimeUnit", "otherData", "traceEvents"}
    entries = file["traceEvents"]
    check_fields(entries)
    times = [entry["ts"] for entry in entries if entry["ph"] in PLACED]
    assert times == sorted(times)
    names = track_names(entries)
    tracks: dict[tuple[str, str], list[Slice]] = {}
    instants: dict[tuple[str, str], list[tuple[float, str]]] = {}
    counters: dict[str, list[tuple[float, dict[str, float]]]] = {}
    for entry in entries:
        if entry["ph"] == "C":
            counters.setdefault(entry["name"], []).append((entry["ts"], entry["args"]))
        elif entry["ph"] == "i":
            where = names[entry["pid"], entry["tid"]]
            instants.setdefault(where, []).append((entry["ts"], entry["name"]))
    for place, where in names.items():
        own = [e for e in entries if e["ph"] in "BEX" and (e["pid"], e["tid"]) == place]
        tracks[where] = slices(own)
    return Picture(file["otherData"], tracks, instants, counters)


def check_fields(entries: list[Entry]) -> None:
    """The fields that the format asks of each kind of entry, and no number that JSON lacks."""
    for entry in entries:
        assert entry["ph"] in {*PLACED, "M"}, entry
        assert isinstance(entry["pid"], int), entry
        assert isinstance(entry["tid"], int), entry
        if entry["ph"] != "E":
            assert isinstance(entry["name"], str), entry
            assert isinstance(entry["args"], dict), entry
        if entry["ph"] in PLACED:
            assert entry["ts"] >= 0, entry
        if entry["ph"] == "X":
            assert entry["dur"] >= 0, entry
        if entry["ph"] == "C":
            assert all(isinstance(value, int | float) for value in entry["args"].values()), entry


def track_names(entries: list[Entry]) -> dict[tuple[int, int], tuple[str, str]]:
    """(pid, tid) -> names of group and track. A name comes before whatever stands on its track."""
    groups: dict[int, str] = {}
    names: dict[tuple[int, int], tuple[str, str]] = {}
    for entry in entries:
        place = entry["pid"], entry["tid"]
        if entry["ph"] == "M" and entry["name"] == "process_name":
            groups[entry["pid"]] = entry["args"]["name"]
        elif entry["ph"] == "M" and entry["name"] == "thread_name":
            assert place not in names
            names[place] = groups[entry["pid"]], entry["args"]["name"]
        elif entry["ph"] in PLACED:
            assert place in names, entry
    assert len(set(names.values())) == len(names)
    return names


def slices(own: list[Entry]) -> list[Slice]:
    """Every slice ends, and lies inside of the one under it."""
    found: list[Slice] = []
    stack: list[tuple[float, int]] = []  # of open slices: latest end of what is inside, place
    whole: list[float] = []  # ends of complete slices around
    for entry in own:
        ts = entry["ts"]
        while whole and whole[-1] <= ts:
            whole.pop()
        if entry["ph"] == "E":
            latest, place = stack.pop()
            assert latest <= ts, (found[place], ts)
            found[place] = found[place]._replace(end=ts)
            if stack:
                stack[-1] = (max(stack[-1][0], ts), stack[-1][1])
            continue
        depth = len(stack) + len(whole)
        if entry["ph"] == "B":
            assert not whole, entry
            stack.append((ts, len(found)))
            found.append(Slice(entry["name"], ts, ts, depth, entry["args"]))
        else:
            end = round(ts + entry["dur"], 3)
            assert not whole or end <= whole[-1], entry
            if stack:
                stack[-1] = (max(stack[-1][0], end), stack[-1][1])
            whole.append(end)
            found.append(Slice(entry["name"], ts, end, depth, entry["args"]))
    assert not stack, found
    return found
