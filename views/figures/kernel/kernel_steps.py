"""The walk through the kernels in steps: for each its lines of source and a sentence."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from views.figures.kernel.kernel_source import Lines, kernel_source
from views.figures.kernel.kernel_walk import Launch, Program, spots
from views.text import Text

COLUMNS = ("position", "token", "logical", "block", "offset", "slot", "at", "score", "weight")
ENDS = 3  # tiles at both ends of a walk that are shown


class Step(NamedTuple):
    """`visit` counts the shown tiles; `filled` columns of its table are known by then, those of
    `lit` are what this step is about; `folded`: top, fade and total that are new by then."""

    stage: str
    visit: int
    lines: Lines
    words: str
    filled: int = 0
    lit: tuple[str, ...] = ()
    folded: int = 0

    def to_payload(self) -> list[Any]:
        return [*self[:2], list(self.lines), self.words, self.filled, list(self.lit), self.folded]


# Of each tile: stage -> places in the source, columns that are filled then, columns in focus, fold.
TILE_STAGES: dict[str, tuple[tuple[str, ...], int, tuple[str, ...], int]] = {
    "positions": (("walk.positions", "walk.is_seen"), 2, ("position",), 0),
    "logical": (("find_rows.logical_blocks",), 3, ("logical",), 0),
    "table": (("find_rows.blocks",), 4, ("block",), 0),
    "address": (("find_rows.return",), 7, ("offset", "slot", "at"), 0),
    "load": (("walk.mask", "walk.value"), 7, ("at",), 0),
    "scores": (("walk.scores",), 8, ("score",), 0),
    "mask": (("walk.distance", "walk.scores#2"), 8, ("score",), 0),
    "top": (("fold_in.new_top", "fold_in.base"), 8, ("score",), 1),
    "weights": (("fold_in.weights", "fold_in.fade"), 9, ("weight",), 2),
    "sum": (("fold_in.acc", "fold_in.return"), 9, ("weight",), 3),
}


def shown_visits(program: Program) -> list[int]:
    """Which tiles of a walk are shown: all, or both ends of a long one."""
    count = len(program.visits)
    if count <= 2 * ENDS + 1:
        return list(range(count))
    return [*range(ENDS), *range(count - ENDS, count)]


def steps_of(launch: Launch, program: Program, text: Text, *, num_blocks: int) -> list[Step]:
    shown = shown_visits(program)
    found = list(_before(launch, program, text))
    for place, visit in enumerate(shown):
        hidden = visit - shown[place - 1] - 1 if place else 0
        if hidden:
            words = text.count("kernel.skipped", hidden)
            found.append(Step("skipped", place - 1, _lines("walk.tile"), words, len(COLUMNS)))
        tile = program.visits[visit][1]
        values = _values(launch, program, tile, num_blocks)
        for stage, (places, filled, lit, folded) in TILE_STAGES.items():
            words = text.named("kernel_stage", _variant(stage, launch)).format(**values)
            found.append(Step(stage, place, _lines(*places), words, filled, lit, folded))
    return [*found, *_after(launch, program, text, last=len(shown) - 1)]


def _lines(*places: str) -> Lines:
    return kernel_source().span(*places)


def _variant(stage: str, launch: Launch) -> str:
    return "mask_window" if stage == "mask" and launch.window else stage


def _before(launch: Launch, program: Program, text: Text) -> Iterator[Step]:
    """From the slot of the row to the first tile."""
    share, size = program.share, launch.block_size
    index, offset = divmod(program.position, size)
    block = share.table[index]
    row = share.first_row + program.own_query
    slot = {"row": row, "slot": block * size + offset, "block": block, "offset": offset}
    words = text("kernel.write", size=size, **slot)
    yield Step("write", 0, _lines("write_kernel.slot", "write_kernel.store#2"), words)
    yield _grid(launch, program, text)
    who = {
        "tile": program.tile,
        "seq": launch.tiles[program.tile][0],
        "request": share.request.request_id,
    }
    if launch.one_query_each:
        yield Step("who", 0, _lines("attention_kernel.seq"), text("kernel.who_each", **who))
    else:
        words = text.count(
            "kernel.who_tiles", program.num_queries, first_query=program.first_query, **who
        )
        lines = _lines("attention_kernel.seq#2", "attention_kernel.num_queries#2")
        yield Step("who", 0, lines, words)
    words = text.count(
        "kernel.before", program.num_queries, length=share.stop, before=program.num_before
    )
    yield Step("before", 0, _lines("attention_kernel.num_before"), words)
    yield _rows(launch, program, text)
    yield _bounds(launch, program, text)
    yield _tiles(launch, program, text)


def _grid(launch: Launch, program: Program, text: Text) -> Step:
    across, heads = launch.num_programs
    words = text(
        "kernel.grid_split" if launch.num_splits > 1 else "kernel.grid",
        across=across,
        heads=heads,
        program=program.tile * launch.num_splits,
        tile=program.tile,
        kv_head=program.kv_head,
        splits=launch.num_splits,
    )
    return Step("grid", 0, _lines("attention_kernel.tile", "attention_kernel.kv_head"), words)


def _rows(launch: Launch, program: Program, text: Text) -> Step:
    group = launch.sizes.group
    first = (program.own_query - program.first_query) * group
    words = text.count(
        "kernel.rows",
        group,
        first=first,
        last=first + group - 1,
        position=program.position,
        kv_head=program.kv_head,
    )
    return Step("rows", 0, _lines("attention_kernel.i", "attention_kernel.query"), words)


def _bounds(launch: Launch, program: Program, text: Text) -> Step:
    words = text(
        "kernel.bounds_window" if launch.window else "kernel.bounds",
        last=program.end - 1,
        begin=program.begin,
        end=program.end,
        first=program.num_before + program.first_query,
        window=launch.window,
    )
    return Step("bounds", 0, _lines("attention_kernel.end", "attention_kernel.begin"), words)


def _tiles(launch: Launch, program: Program, text: Text) -> Step:
    words = text.count(
        "kernel.tiles_split" if launch.num_splits > 1 else "kernel.tiles",
        len(program.visits),
        begin=program.begin,
        end=program.end,
        tile_kv=launch.tiling.kv,
        size=launch.block_size,
        splits=launch.num_splits,
    )
    return Step("tiles", 0, _lines("walk.first_tile", "walk.tile"), words)


def _values(launch: Launch, program: Program, tile: int, num_blocks: int) -> dict[str, Any]:
    """What the sentences about a tile say: of the row's own position, or of the last one loaded."""
    loaded = spots(launch, program, tile)
    own = [spot for spot in loaded if spot.position == program.position]
    spot = (own or loaded)[-1]
    stride_block, stride_slot, stride_head = launch.sizes.strides(launch.block_size)
    return spot._asdict() | {
        "tile": tile,
        "own": program.position,
        "first": tile * launch.tiling.kv,
        "last": (tile + 1) * launch.tiling.kv - 1,
        "begin": program.begin,
        "end": program.end,
        "size": launch.block_size,
        "window": launch.window,
        "stride_block": stride_block,
        "stride_slot": stride_slot,
        "kv_head": program.kv_head,
        "head_at": program.kv_head * stride_head,
        "key_at": spot.row_at + program.kv_head * stride_head,
        "head_size": launch.sizes.head_size,
        "num_blocks": num_blocks,
        "values_at": num_blocks * stride_block,
    }


def _after(launch: Launch, program: Program, text: Text, *, last: int) -> Iterator[Step]:
    filled, splits = len(COLUMNS), launch.num_splits
    if splits == 1:
        words = text.count("kernel.out", launch.sizes.group, position=program.position)
        lines = _lines("attention_kernel.out", "attention_kernel.store")
        yield Step("out", last, lines, words, filled, (), 3)
        return
    lines = _lines("attention_kernel.part", "attention_kernel.store#4")
    yield Step("parts", last, lines, text("kernel.parts"), filled, (), 3)
    lines = _lines("combine_kernel.part", "combine_kernel.store")
    yield Step("out", last, lines, text("kernel.combine", splits=splits), filled, (), 3)
