"""The waiting queue, in the order in which it will be served.

vLLM 0.17.1: v1/core/sched/request_queue.py
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence

from engine.core.request import Request


class RequestQueue:
    """First come, first served; preempted requests return to the front."""

    def __init__(self) -> None:
        self._requests: list[Request] = []  # reversed: the head is the last, so pops are O(1)

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        """From the head on."""
        return reversed(self._requests)

    def add(self, request: Request) -> int:
        """Queue a new request. Its index (0 is served first)."""
        self._requests.insert(0, request)
        return len(self._requests) - 1

    def give_back(self, request: Request) -> int:
        """Queue a preempted request. Its index."""
        self._requests.append(request)
        return 0

    def put_aside_back(self, requests: Sequence[Request]) -> None:
        """Return requests that were passed over to the head, in their old order."""
        self._requests.extend(reversed(requests))

    def peek(self) -> Request:
        return self._requests[-1]

    def pop(self) -> Request:
        return self._requests.pop()

    def remove(self, request: Request) -> None:
        self._requests.remove(request)


class PriorityRequestQueue(RequestQueue):
    """Ordered by (priority, arrival time, id), smaller first; preemption earns no bonus."""

    @staticmethod
    def _key(request: Request) -> tuple[int, float, str]:
        return (request.priority, request.arrival_time, request.request_id)

    def __init__(self) -> None:
        super().__init__()
        self._requests = []  # head first: insertion is by binary search

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    def add(self, request: Request) -> int:
        index = bisect_left(self._requests, self._key(request), key=self._key)
        self._requests.insert(index, request)
        return index

    def give_back(self, request: Request) -> int:
        return self.add(request)

    def put_aside_back(self, requests: Sequence[Request]) -> None:
        for request in requests:
            insort(self._requests, request, key=self._key)

    def peek(self) -> Request:
        return self._requests[0]

    def pop(self) -> Request:
        return self._requests.pop(0)


REQUEST_QUEUES: dict[str, type[RequestQueue]] = {
    "fcfs": RequestQueue,
    "priority": PriorityRequestQueue,
}
