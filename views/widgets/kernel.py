"""The kernel's walk: the row that is selected, and its numbers where a live run still has them."""

from contextlib import nullcontext
from typing import Any

from views import session
from views.choices import Choices
from views.figures.batch.attention import first_position
from views.figures.block.kv import Cache, Place, sight
from views.figures.kernel.engine_path import runs_kernels
from views.figures.kernel.kernel import (
    DEFAULT_SIZES,
    Look,
    Walk,
    first_read,
    kernel,
    numbers_payload,
    walk_of,
)
from views.figures.kernel.kernel_numbers import Matrix, numbers_of
from views.figures.moment import Moment
from views.figures.time.address import address
from views.figures.time.address import chosen as address_of_choice
from views.runs import Run
from views.text import Text
from views.widgets.linked import linked

MAX_NUMBERS = 1024  # positions of which scores are computed here


def kernel_walk(run: Run, moment: Moment, text: Text) -> None:
    payload = kernel_payload(run, session.choices(), text)
    linked("kernel", payload, moment, "target", "kv", "group")


def kernel_payload(run: Run, chosen: Choices, text: Text) -> dict[str, Any]:
    trace = run.trace
    step = trace.cursor_at(trace.position(chosen.cursor)).step
    sizes = None if run.live is None else run.live.attention_sizes
    walk = walk_of(
        trace,
        step,
        selection=chosen.selection,
        look=Look(chosen.group_id, chosen.place.head),
        sizes=sizes or DEFAULT_SIZES,
    )
    payload = kernel(trace, chosen.cursor, text, walk=walk, can_go_on=run.can_go_on)
    names = run.link or {"example": chosen.example}
    payload |= {
        "run": run.run_id,
        "as_if": _what_ran(run, text, has_model=sizes is not None),
        "address": address(names, trace, chosen.cursor, restores=bool(run.link))
        | address_of_choice(chosen.selection, None),
    }
    if walk is not None:
        payload |= _numbers(run, walk, chosen, text)
    return payload


def _what_ran(run: Run, text: Text, *, has_model: bool) -> str:
    header = run.trace.header
    if not has_model:
        return text("kernel.as_if")
    return text("kernel.triton_runs" if runs_kernels(header) else "kernel.torch_runs")


def _numbers(run: Run, walk: Walk, chosen: Choices, text: Text) -> dict[str, Any]:
    shape = run.kv_shape(walk.group_id)
    if run.live is None or shape is None:
        return {"no_numbers": text("kernel.no_numbers")}
    place = Cache(*shape).nearest(Place(chosen.place.layer, walk.program.kv_head))
    layers: dict[str, Any] = {"layers": [list(shape[0]), place.layer]}
    why_not = _why_no_numbers(run, walk, text)
    if why_not:
        return layers | {"no_numbers": why_not}
    return layers | {"numbers": _computed(run, walk, place)}


def _why_no_numbers(run: Run, walk: Walk, text: Text) -> str:
    """The row's query is computed once more, through all groups: what it reads must be there."""
    trace, step = run.trace, walk.state.step
    at = trace.after_update(step)
    if not trace.at(at).is_written:
        return text("kernel.not_run", step=step)
    if walk.place.position - first_read(walk) >= MAX_NUMBERS:
        return text("kernel.too_long", n=MAX_NUMBERS)
    for block_id in _blocks_read(walk):
        seen = sight(trace, at, block_id)
        if seen.overwritten_at is not None:
            return text("kv.overwritten", step=seen.overwritten_at.step)
    return ""


def _blocks_read(walk: Walk) -> list[int]:
    """Of all groups, and of the whole tile in the walk's own."""
    tables = walk.place.share.request.block_tables
    found: dict[int, None] = {}
    for group_id, (group, table) in enumerate(zip(walk.state.groups, tables, strict=True)):
        size = walk.state.group_block_sizes[group_id]
        first, last = first_position(group, walk.place.position), walk.place.position
        if group_id == walk.group_id:
            first, last = walk.program.begin, walk.program.end - 1
        found.update(dict.fromkeys(table[first // size : last // size + 1]))
    return list(found)


def _computed(run: Run, walk: Walk, place: Place) -> dict[str, Any]:
    """One forward pass of one row and the walk's own arithmetic, while nobody else computes."""
    request, position = walk.place.share.request, walk.place.position
    live = run.live
    assert live is not None, "a recorded run has no numbers"

    def read(block_id: int) -> tuple[Matrix, Matrix]:
        return live.peek_kv(block_id, place.layer, place.head)

    with run.lock or nullcontext():
        query, scale = live.peek_query(
            request.tokens_between(position, position + 1)[0],
            position,
            request.block_tables,
            layer=place.layer,
        )
        numbers = numbers_of(walk.launch, walk.program, query, scale=scale, read=read)
    return numbers_payload(walk, numbers)
