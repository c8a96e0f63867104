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


def test_the_95th_of_a_hundred_values_is_the_95th():
    assert percentile(list(range(100, 0, -1)), 0.95) == 95
    assert percentile([7.0], 0.95) == 7.0
