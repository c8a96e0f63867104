"""Which nodes of the prefix trees are drawn, and where.

    NONE_HASH --[the quick]--[brown fox]--[jumps]      the first branch goes straight on,
                       |-----[red fox]--(x12)          each other one gets a row of its own
                       '-----(3 branches, 40 hashes)

What the lens has room for is drawn whole. Where the trees are deeper, the longest runs of hashes without a
branch fold; in a large forest each run is one node, and branches that nobody asked for are counted
instead of drawn.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from views.figures.tree.prefix_forest import Node, PrefixForest, Root

MAX_PLAIN_NODES = 500  # a larger forest is condensed
MAX_COLUMNS = 17  # that the middle of a screen of 1440 pixels has room for, as slim nodes
PLAIN_RUNS = (MAX_COLUMNS - 1, 12, 8, 5)  # nodes of one run, tried in turn until all fit
MAX_DRAWN = 120  # nodes of a condensed forest
MAX_BRANCHES = 12  # at one node of a condensed forest
GAP_X, GAP_Y = 18, 8  # px
NARROW_GAP_X = 10  # where the wide nodes do not fit
SLIM_GAP = 6  # both ways

ROOT, HASH, FOLD, REST = "root", "hash", "fold", "rest"


class Drawn(NamedTuple):
    """One node of the picture: a root, a hash, a folded run of hashes, or what is not drawn."""

    kind: str
    nodes: tuple[Node, ...]  # from left to right; of a REST the branches that begin there
    parent: int  # place of the one in front of it; -1 for a root
    num_hashes: int = 1


class Wish(NamedTuple):
    """What the picture must show."""

    order: Callable[[Node], tuple[int | str, ...]]  # of branches, from top to bottom
    kept: Collection[Node] = ()  # never counted away: the paths that somebody asked about
    alone: Collection[Node] = ()  # never in a fold: the chosen hash, where the lookup stopped
    ends: Collection[Node] = ()  # a run ends here: the last hash of a request


def drawn_nodes(forest: PrefixForest, wish: Wish) -> list[Drawn]:
    """In the order of rows, each behind its parent."""
    is_condensed = forest.graph.number_of_nodes() > MAX_PLAIN_NODES
    stretches = _stretches(forest, wish, is_condensed=is_condensed)
    if is_condensed:
        return _drawn(stretches, forest, wish, plain_run=1)
    for plain_run in PLAIN_RUNS:
        drawn = _drawn(stretches, forest, wish, plain_run)
        if max(columns_of_nodes(drawn), default=0) < MAX_COLUMNS:
            break
    return drawn


def columns_of_nodes(drawn: Sequence[Drawn]) -> list[int]:
    """How far each stands from its root, which stands at 0."""
    columns: list[int] = []
    for node in drawn:
        columns.append(columns[node.parent] + 1 if node.parent >= 0 else 0)
    return columns


class Stretch(NamedTuple):
    """A run of nodes, or the branches behind one that are not drawn."""

    nodes: tuple[Node, ...]
    parent: int  # place of the stretch in front of it; -1 for a root
    is_rest: bool = False


def _stretches(forest: PrefixForest, wish: Wish, *, is_condensed: bool) -> list[Stretch]:
    """In the order of rows, each behind its parent."""
    roots = sorted(forest.roots(), key=wish.order)
    opened = _opened(forest, roots, wish) if is_condensed else None
    found: list[Stretch] = []
    ahead = [Stretch((root,), -1) for root in roots[::-1]]
    while ahead:
        stretch = ahead.pop()
        if stretch.is_rest:
            found.append(stretch)
            continue
        run = _run(forest, stretch.nodes[0], wish)
        found.append(Stretch(tuple(run), stretch.parent))
        parent, every = len(found) - 1, _branches(forest, run[-1], wish)
        shown = every if opened is None else opened.get(run[-1], [])
        if len(shown) < len(every):
            hidden = tuple(node for node in every if node not in shown)
            ahead.append(Stretch(hidden, parent, is_rest=True))
        ahead.extend(Stretch((node,), parent) for node in reversed(shown))
    return found


def _drawn(
    stretches: Iterable[Stretch], forest: PrefixForest, wish: Wish, plain_run: int
) -> list[Drawn]:
    drawn: list[Drawn] = []
    ends: list[int] = []  # of each stretch: place of its last node
    for nodes, before, is_rest in stretches:
        parent = ends[before] if before >= 0 else -1
        if is_rest:
            num_hashes = sum(forest.sizes[node] for node in nodes)
            drawn.append(Drawn(REST, nodes, parent, num_hashes))
        else:
            for kind, part in _parts(nodes, wish, plain_run):
                drawn.append(Drawn(kind, part, parent, len(part)))
                parent = len(drawn) - 1
        ends.append(parent)
    return drawn


def _branches(forest: PrefixForest, node: Node, wish: Wish) -> list[Node]:
    """From top to bottom."""
    found = list(forest.graph.successors(node))
    return sorted(found, key=wish.order) if len(found) > 1 else found


def _run(forest: PrefixForest, first: Node, wish: Wish) -> list[Node]:
    """From `first` on as long as nothing branches and nobody's chain ends; a root stands alone."""
    run = [first]
    while not isinstance(run[-1], Root) and run[-1] not in wish.ends:
        after = list(forest.graph.successors(run[-1]))
        if len(after) != 1:
            break
        run.append(after[0])
    return run


def _parts(
    run: Sequence[Node], wish: Wish, plain_run: int
) -> Iterable[tuple[str, tuple[Node, ...]]]:
    """The run, cut where a node must stand alone, with what is long in between folded."""
    if isinstance(run[0], Root):
        yield ROOT, tuple(run)
        return
    between: list[Node] = []
    for node in run:
        if node in wish.alone:
            yield from _folded(between, plain_run)
            yield HASH, (node,)
            between = []
        else:
            between.append(node)
    yield from _folded(between, plain_run)


def _folded(nodes: Sequence[Node], plain_run: int) -> Iterable[tuple[str, tuple[Node, ...]]]:
    """As many of both ends as there is place for, and one fold between them."""
    ends = (plain_run - 1) // 2
    if len(nodes) <= plain_run:
        yield from ((HASH, (node,)) for node in nodes)
        return
    yield from ((HASH, (node,)) for node in nodes[:ends])
    yield FOLD, tuple(nodes[ends : len(nodes) - ends])
    yield from ((HASH, (node,)) for node in nodes[len(nodes) - ends :])


def _opened(forest: PrefixForest, roots: Iterable[Node], wish: Wish) -> dict[Node, list[Node]]:
    """End of a run -> the branches of it that are drawn: the kept ones, then from the left."""
    opened: dict[Node, list[Node]] = {}
    num_drawn = 0
    for only_kept in (True, False):
        ahead = deque(roots)
        while ahead:
            end = _run(forest, ahead.popleft(), wish)[-1]
            shown = opened.setdefault(end, [])
            for node in _branches(forest, end, wish):
                has_place = len(shown) < MAX_BRANCHES and num_drawn < MAX_DRAWN
                if node in shown or (only_kept and node not in wish.kept):
                    continue
                if has_place or node in wish.kept:
                    shown.append(node)
                    num_drawn += 1
            shown.sort(key=wish.order)
            ahead.extend(shown)
    return opened


class Box(NamedTuple):
    """Where a node stands, in px."""

    left: int
    top: int
    width: int


def boxes(
    drawn: Sequence[Drawn], sizes: Sequence[tuple[int, int]], gap: int = GAP_X, gap_y: int = GAP_Y
) -> list[Box]:
    """`sizes`: width and height of each. A column is as wide as the widest node in it."""
    columns = columns_of_nodes(drawn)
    widths = [0] * (max(columns, default=-1) + 1)
    for column, (width, _) in zip(columns, sizes, strict=True):
        widths[column] = max(widths[column], width)
    lefts = [sum(widths[:column]) + gap * column for column in range(len(widths))]
    placed: list[Box] = []
    has_child: set[int] = set()
    bottom = 0
    for node, column, (_, height) in zip(drawn, columns, sizes, strict=True):
        goes_on = node.parent >= 0 and node.parent not in has_child
        top = placed[node.parent].top if goes_on else bottom
        has_child.add(node.parent)
        bottom = max(bottom, top + height + gap_y)
        placed.append(Box(lefts[column], top, widths[column]))
    return placed
