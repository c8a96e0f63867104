"""`make bench-classroom`: thirty visitors on one server, each moving on once a second.

The visitors are websocket clients that speak Streamlit's protocol (thirty Chromiums would measure
themselves on two cores): the time is from the click's message to the last message of its picture.
What a browser adds to draw it is in `make bench-ui`. First all of them walk through a computed run
on a pool of 1,024 blocks, a step each second; then all of them have an engine of their own and ask
it for a step every two seconds: once with the prompts of one example, once each with a prompt that
nobody else typed. Memory is what the server's process holds (Linux).
"""

import argparse
import asyncio
import json
import random
import time
from typing import Any

from bench.app_server import WITH_POOL, Served, server
from bench.measure import OtherLoad, machine, percentile, print_table, rounded
from bench.typed import typed_by
from bench.visitor import LostError, Visitor

EVERY_S, LIVE_EVERY_S = 1.0, 2.0
COMPUTED, SHARED, OWN = "", "example=shared_prompt", "example=own"  # what a visitor's link opens
WHAT = {
    COMPUTED: "computed sub-steps",
    SHARED: "steps of the model, one example",
    OWN: "steps of the model, own prompts",
}
SECONDS_TO_FORGET = 60 + 5  # disconnectedSessionTTL of .streamlit/config.toml
SECONDS_TO_COLLECT = 50  # views/loading.py collects every 45 s


class Room:
    """What was found out about one way to spend a lesson."""

    def __init__(self) -> None:
        self.times_ms: list[float] = []
        self.errors: list[str] = []
        self.resident_mb = 0.0
        self.mb_per_session = 0.0

    def percentile(self, share: float) -> float:
        return rounded(percentile(self.times_ms, share)) if self.times_ms else 0.0

    @property
    def row(self) -> tuple[object, ...]:
        """In the table."""
        shares = self.percentile(0.5), self.percentile(0.95)
        return len(self.times_ms), *shares, rounded(self.mb_per_session), len(self.errors)

    def figures(self, name: str) -> dict[str, float]:
        """In the last line, of a room in which the model computes."""
        return {
            f"{name}_p50_ms": self.percentile(0.5),
            f"{name}_p95_ms": self.percentile(0.95),
            f"{name}_clicks": len(self.times_ms),
            f"{name}_mb_per_session_with_cache": rounded(self.mb_per_session),
        }


async def _walk(visitor: Visitor, room: Room, seed: int, seconds: float) -> None:
    """One sub-step a second, mostly forward, beginning anywhere in the run."""
    drawn = random.Random(seed)
    await asyncio.sleep(drawn.random() * EVERY_S)
    assert visitor.shown is not None
    last = visitor.shown.data["last"]
    at, until = drawn.randrange(last), time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        at = (at + (1 if drawn.random() < 0.8 else -1)) % (last + 1)
        room.times_ms.append(1000 * await visitor.go(at))
        await asyncio.sleep(max(0.0, EVERY_S - (time.monotonic() - began)))


async def _compute(visitor: Visitor, room: Room, seed: int, seconds: float) -> None:
    """A step of the model every two seconds, as long as the run has one to give."""
    await asyncio.sleep(random.Random(seed).random() * LIVE_EVERY_S)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        assert visitor.shown is not None
        data = visitor.shown.data
        if not data["can_go_on"]:
            return
        room.times_ms.append(1000 * await visitor.go(data["last"] + 1))
        await asyncio.sleep(max(0.0, LIVE_EVERY_S - (time.monotonic() - began)))


async def _spend(served: Served, num: int, seconds: float, *, link: str) -> Room:
    """`num` visitors come one after the other, work at the same time, and leave."""
    room, act = Room(), _walk if link == COMPUTED else _compute
    visitors = [Visitor(served.url, link) for _ in range(num)]
    before = 0.0
    try:
        for number, visitor in enumerate(visitors):
            await visitor.open()
            if link == OWN:
                await visitor.type(typed_by(number))
            if number == 0:  # what the first one brings is there for all of them
                before = served.resident_mb
        jobs = (act(visitor, room, seed, seconds) for seed, visitor in enumerate(visitors))
        failures = await asyncio.gather(*jobs, return_exceptions=True)
        room.errors += [repr(failure) for failure in failures if failure is not None]
        room.resident_mb = served.resident_mb
        room.mb_per_session = (room.resident_mb - before) / max(1, num - 1)
    except LostError as error:
        room.errors.append(str(error))
    finally:
        await asyncio.gather(*(visitor.close() for visitor in visitors), return_exceptions=True)
    room.errors += [sentence for visitor in visitors for sentence in visitor.errors]
    return room


async def _forgotten(served: Served) -> float:
    """What the server holds once nobody is there any more. Streamlit lets a session that is over
    its time go when the next one comes or leaves."""
    await asyncio.sleep(SECONDS_TO_FORGET)
    for _ in range(2):
        visitor = Visitor(served.url)
        await visitor.open()
        await visitor.close()
    await asyncio.sleep(SECONDS_TO_COLLECT)
    return served.resident_mb


async def _lesson(served: Served, options: argparse.Namespace) -> dict[str, Any]:
    guest = Visitor(served.url, SHARED if options.live else COMPUTED)
    await guest.open()  # imports, the recorded run and the model
    await guest.close()
    empty = served.resident_mb
    rooms = {link: Room() for link in WHAT}
    for link in WHAT if options.live else (COMPUTED,):
        rooms[link] = await _spend(served, options.sessions, options.seconds, link=link)
    left = await _forgotten(served)
    print_table(
        "Classroom",
        f"{options.sessions} websocket clients, {options.seconds:.0f} s each; {machine()}",
        ("what", "clicks", "p50 ms", "p95 ms", "MB a session", "errors"),
        [(what, *rooms[link].row) for link, what in WHAT.items()],
    )
    errors = [sentence for room in rooms.values() for sentence in room.errors]
    for sentence in errors[:5]:
        print(f"  {sentence}")
    walk = rooms[COMPUTED]
    return {
        "sessions": options.sessions,
        "p50_ms": walk.percentile(0.5),
        "p95_ms": walk.percentile(0.95),
        "mb_per_session": rounded(walk.mb_per_session),
        "mb_after_all_left": rounded(left),
        "errors": len(errors),
        "mb_before": rounded(empty),
        **rooms[SHARED].figures("live"),
        **rooms[OWN].figures("own"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.classroom", description=__doc__)
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30, help="how long each part lasts")
    parser.add_argument("--blocks", type=int, default=1024, help="the pool of the computed run")
    parser.add_argument("--no-live", dest="live", action="store_false", help="without the model")
    options = parser.parse_args()
    load = OtherLoad()
    with server(WITH_POOL, str(options.blocks)) as served:
        found = asyncio.run(_lesson(served, options))
    print(f"  {load.sentence()} (the server among them)")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
