"""The visitors of `make bench-classroom`: each walks to its own place, as in a browser."""

import asyncio

import pytest

from bench.app_server import WITH_POOL, server
from bench.measure import percentile
from bench.visitor import Visitor


@pytest.mark.slow
def test_two_visitors_walk_each_to_their_own_place():
    async def walk(url: str) -> list[int]:
        one, other = Visitor(url), Visitor(url)
        await one.open()
        await other.open()
        places = []
        for visitor, position in ((one, 12), (other, 40), (one, 13)):
            assert 0 < await visitor.go(position) < 30
            assert visitor.shown is not None
            places.append(visitor.shown.data["position"])
        assert other.shown is not None
        places.append(other.shown.data["position"])
        assert one.errors == other.errors == []
        await one.close()
        await other.close()
        return places

    with server(WITH_POOL, "64") as served:
        assert asyncio.run(walk(served.url)) == [12, 40, 13, 40]


@pytest.mark.slow
def test_a_move_sends_one_message_with_the_data_of_all_parts():
    async def walk(url: str) -> tuple[dict, dict, dict]:
        one, other = Visitor(url), Visitor(url)
        moments = []
        for visitor, position in ((one, 40), (one, 12), (other, 12)):
            if visitor.shown is None:
                await visitor.open()
            await visitor.go(position)
            assert visitor.shown is not None
            moments.append(visitor.shown.data["parts"])
        assert one.errors == other.errors == []
        await one.close()
        await other.close()
        return moments[0], moments[1], moments[2]

    with server(WITH_POOL, "64") as served:
        at_40, at_12, others = asyncio.run(walk(served.url))
    assert {"narration", "requests", "pool", "queue", "tables", "tree", "numbers"} < set(at_12)
    assert at_40["numbers"] != at_12["numbers"]
    assert others == at_12


def test_the_95th_of_a_hundred_values_is_the_95th():
    assert percentile(list(range(100, 0, -1)), 0.95) == 95
    assert percentile([7.0], 0.95) == 7.0
