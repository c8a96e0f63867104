"""Which rows of a batch are drawn, and how: ends of each request, all around the chosen one.

0  A  ..
1  B  ..            first rows of B
2  B  ..
   58 rows more     choosing this line chooses row 3, and the rows around it are drawn
61 B  ..            last row
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from engine.trace.entries import RequestState, ScheduledRow
from engine.trace.state import State
from views.figures.cache.requests import drawn_runs
from views.figures.cache.tokens import request_pieces
from views.figures.moment import block_state, num_sharing
from views.text import Text

FEW_REQUESTS = 8  # up to that many, more rows of each are drawn
ROWS_OF_FEW, ROWS_OF_MANY = (5, 2), (2, 1)  # first and last rows of a request that are drawn
OPENED_BEFORE, OPENED_AFTER = 24, 24  # rows around the chosen one
REQUESTS_HEAD, REQUESTS_TAIL, REQUESTS_AROUND = 24, 4, 4
CONTEXT = 3  # neighbours of a token that may share a character with it


class Share(NamedTuple):
    """One request's rows: `first_row` to `first_row + stop - start - 1` of the batch."""

    request: RequestState
    row: ScheduledRow
    first_row: int
    table: Sequence[int]

    @property
    def start(self) -> int:
        """Position of the first row."""
        return self.row.num_computed_tokens

    @property
    def stop(self) -> int:
        """One after the position of the last row."""
        return self.row.num_computed_tokens + self.row.num_scheduled_tokens

    @property
    def samples(self) -> bool:
        """Whether the last known token is among the rows, so that a new one is drawn."""
        return self.stop >= self.request.num_tokens


class Place(NamedTuple):
    """What a learner chose, and the row that is shown for it."""

    share: Share
    position: int
    is_chosen: bool


def shares_of(state: State, group_id: int) -> list[Share]:
    """All requests of the batch in scheduled order, with the table of one KV-cache group."""
    shares, first_row = [], 0
    for row in state.scheduled.values():
        request = state.requests[row.request_id]
        shares.append(Share(request, row, first_row, request.block_tables[group_id]))
        first_row += row.num_scheduled_tokens
    return shares


class DrawnRows:
    """Which requests and rows are drawn, and how. `now` colours the blocks, as everywhere else."""

    def __init__(self, now: State, shares: Sequence[Share], size: int, place: Place) -> None:
        self.now, self.shares, self.size, self.place = now, shares, size, place
        self.ends = ROWS_OF_FEW if len(shares) <= FEW_REQUESTS else ROWS_OF_MANY

    def sequences(self, text: Text) -> list[dict[str, Any]]:
        """Requests with their rows, and in place of many requests one line that opens them."""
        drawn: list[dict[str, Any]] = []
        chosen = self.shares.index(self.place.share)
        for index, hidden in _kept(len(self.shares), self._kept_requests(chosen)):
            share = self.shares[index]
            if hidden:
                key = text.count("batch.more_requests", hidden, first=share.first_row)
                drawn.append({"items": [_fold(key, share, share.start)]})
            else:
                drawn.append(self._sequence(share, text))
        return drawn

    def _kept_requests(self, chosen: int) -> set[int]:
        last = len(self.shares)
        around = range(chosen - REQUESTS_AROUND, chosen + REQUESTS_AROUND + 1)
        return {*range(REQUESTS_HEAD), *range(last - REQUESTS_TAIL, last), *around}

    def _sequence(self, share: Share, text: Text) -> dict[str, Any]:
        row = share.row
        return {
            "request": row.request_id,
            "kind": text.named("batch_kind", row.kind),
            "note": text.count(
                "batch.share",
                row.num_scheduled_tokens,
                request=row.request_id,
                first=share.first_row,
                last=share.first_row + row.num_scheduled_tokens - 1,
                computed=row.num_computed_tokens,
                length=share.stop,
            ),
            "items": list(self._items(share, text)),
        }

    def _items(self, share: Share, text: Text) -> Iterable[list[Any] | dict[str, Any]]:
        drawn: dict[int, list[Any]] = {}
        kept = self._kept_rows(share)
        for offset, hidden in _kept(share.row.num_scheduled_tokens, kept):
            position = share.start + offset
            if hidden:
                yield _fold(text.count("batch.more_rows", hidden), share, position)
                continue
            if position not in drawn:
                stop = position + 1
                while stop < share.stop and stop - share.start in kept:
                    stop += 1
                drawn = dict(enumerate(tokens_of(share, position, stop), position))
            yield self._row(share, position, drawn[position])

    def _kept_rows(self, share: Share) -> set[int]:
        head, tail = self.ends
        last = share.row.num_scheduled_tokens
        kept = {*range(head), *range(last - tail, last)}
        if share is self.place.share and self.place.is_chosen:
            at = self.place.position - share.start
            kept |= {*range(at - OPENED_BEFORE, at + OPENED_AFTER)}
        return kept

    def _row(self, share: Share, position: int, token: list[Any]) -> list[Any]:
        """[row, position, drawn, token id, kind, place in the table, block, its state, who share
        it, offset, slot, mark]"""
        index, offset = divmod(position, self.size)
        block_id = share.table[index]
        known = share.request.num_tokens
        is_sampled = share.samples and position == known - 1
        mark = "draft" if position >= known else "sample" if is_sampled else ""
        row = share.first_row + position - share.start
        slot = block_id * self.size + offset
        shown = [block_id, block_state(self.now, block_id), num_sharing(self.now, block_id)]
        return [row, position, *token, index, *shown, offset, slot, mark]


def _kept(count: int, kept: set[int]) -> Iterable[tuple[int, int]]:
    """(index, 0) for what is drawn, (first index, how many) for what is not; no gap of one."""
    index = 0
    while index < count:
        gap = index
        while gap < count and gap not in kept:
            gap += 1
        if gap - index > 1:
            yield index, gap - index
            index = gap
        else:
            yield index, 0
            index += 1


def _fold(words: str, share: Share, position: int) -> dict[str, Any]:
    """A line in place of rows; choosing it chooses the first of them."""
    return {"fold": words, "request": share.request.request_id, "token": position}


def tokens_of(share: Share, start: int, stop: int) -> list[list[Any]]:
    """[drawn, token id, kind] of the positions `start` to `stop - 1`, drafts among them."""
    request = share.request
    known = min(stop, request.num_tokens)
    first, last = max(0, start - CONTEXT), min(known + CONTEXT, request.num_tokens)
    pieces = request_pieces(
        request.tokens_between(first, last), _bytes_between(request, first, last)
    )
    special = request.added.special_token_ids
    tokens: list[list[Any]] = []
    ids = request.tokens_between(start, known)
    for position, token_id in enumerate(ids, start):
        is_output = position >= request.num_prompt_tokens
        kind = "special" if token_id in special else "output" if is_output else ""
        tokens.append([drawn_runs(pieces[position - first]), token_id, kind])
    drafts = share.row.spec_token_ids[max(0, start - request.num_tokens) :]
    for token_id in drafts[: stop - max(known, start)]:
        tokens.append([drawn_runs(request_pieces([token_id], [])[0]), token_id, "draft"])
    return tokens


def _bytes_between(request: RequestState, start: int, stop: int) -> list[bytes]:
    """Of the tokens at these positions; [] where the source does not know them."""
    found = list(request.added.prompt_token_bytes[start:stop])
    made: list[bytes] = []
    end, index = request.num_tokens, request.num_samples
    first = max(start, request.num_prompt_tokens)
    while end > first and index > 0:
        index -= 1
        sample = request.sample_log[index]
        end -= len(sample.token_ids)
        made[:0] = sample.token_bytes
    return [*found, *made[max(0, first - end) : max(0, stop - end)]]
