"""Blocks and tables: who holds what, where a token lives, how much of it is empty."""

from engine.trace.entries import RequestState
from engine.trace.events import BlocksTaken, HolesMade
from engine.trace.state import NULL_BLOCK_ID, State
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.happenings import events_of
from lessons.places import find_place


def state_at(trace: Trace, at: str) -> State:
    return trace.at(find_place(trace, at))


def request_at(trace: Trace, request: str, at: str) -> RequestState:
    found = state_at(trace, at).requests.get(request)
    if found is None:
        raise FactError.of(
            "fact.no_request", "this run has no request {request} at {at}", request=request, at=at
        )
    return found


def table_at(trace: Trace, request: str, *, at: str, group: int) -> list[int]:
    tables = request_at(trace, request, at).block_tables
    if group >= len(tables) or not tables[group]:
        raise FactError.of(
            "fact.no_table",
            "{request} holds no block of group {group} at {at}",
            request=request,
            group=group,
            at=at,
        )
    return tables[group]


def cdiv(number: int, size: int) -> int:
    return -(-number // size)


# What lessons ask ------------------------------------------------------------------------------


def block_table(
    trace: Trace, *, request: str, at: str = "after last RequestScheduled", group: int = 0
) -> tuple[int, ...]:
    """The physical block ids of a request, in logical order."""
    at = f"{at} about {request}" if at == "after last RequestScheduled" else at
    return tuple(table_at(trace, request, at=at, group=group))


def num_blocks_held(trace: Trace, *, request: str, at: str) -> int:
    """How many blocks the request's tables name, all groups together, without null blocks."""
    tables = request_at(trace, request, at).block_tables
    return sum(id_ != NULL_BLOCK_ID for table in tables for id_ in table)


def block_table_entry(trace: Trace, *, request: str, index: int, at: str, group: int = 0) -> int:
    """The physical block at a logical index (from 0) of the request's table."""
    table = table_at(trace, request, at=at, group=group)
    if index >= len(table):
        raise FactError.of(
            "fact.short_table",
            "{request} has {n} blocks at {at}, and index {index} is asked for",
            request=request,
            n=len(table),
            at=at,
            index=index,
        )
    return table[index]


def logical_block(trace: Trace, *, token: int) -> int:
    """The logical block of a token's position (from 0): token // block_size."""
    return token // state_at(trace, "start").block_size


def offset_in_block(trace: Trace, *, token: int) -> int:
    """The place of a token inside its block: token % block_size."""
    return token % state_at(trace, "start").block_size


def block_of_token(trace: Trace, *, request: str, token: int, at: str) -> int:
    """The physical block in which the token at this position (from 0) lives."""
    index = logical_block(trace, token=token)
    return block_table_entry(trace, request=request, index=index, at=at)


def slot_of_token(trace: Trace, *, request: str, token: int, at: str) -> int:
    """The token's slot: table[token // block_size] * block_size + token % block_size."""
    size = state_at(trace, at).block_size
    return block_of_token(trace, request=request, token=token, at=at) * size + token % size


def blocks_taken(
    trace: Trace, *, request: str, step: int | None = None, group: int = 0
) -> tuple[int, ...]:
    """The new blocks that the request was given, in the order of taking; in one step, or ever."""
    return tuple(
        id_
        for _, event in events_of(trace, BlocksTaken, request, step)
        if event.group_id == group
        for id_ in event.block_ids
    )


def num_blocks_taken(trace: Trace, *, request: str, group: int = 0) -> int:
    """How many new blocks the request was given in the whole run; hits do not count."""
    return len(blocks_taken(trace, request=request, group=group))


def nth_block_taken(trace: Trace, *, request: str, nth: int) -> int:
    """The request's first (nth = 1), second, .. new block."""
    taken = blocks_taken(trace, request=request)
    if nth > len(taken):
        raise FactError.of(
            "fact.few_taken",
            "{request} takes {n} blocks in this run, and the {nth}th is asked for",
            request=request,
            n=len(taken),
            nth=nth,
        )
    return taken[nth - 1]


def first_block_taken(trace: Trace) -> int:
    """The first block that anybody was given."""
    for _, event in events_of(trace, BlocksTaken):
        return event.block_ids[0]
    raise FactError.of("fact.none_taken", "nobody is given a block in this run")


def steps_of_taking(trace: Trace, *, request: str) -> tuple[int, ...]:
    """The steps, counted from 0 as on the page, in which the request took new blocks."""
    steps = dict.fromkeys(happening.step for happening, _ in events_of(trace, BlocksTaken, request))
    return tuple(steps)


def holes_made(trace: Trace, *, request: str, step: int | None = None) -> tuple[int, ...]:
    """The blocks that left the request's window and became the null block; in one step, or ever."""
    return tuple(
        id_ for _, event in events_of(trace, HolesMade, request, step) for id_ in event.block_ids
    )


def nth_hole(trace: Trace, *, request: str, nth: int) -> int:
    """The first (nth = 1), second, .. block that left the request's window."""
    holes = holes_made(trace, request=request)
    if nth > len(holes):
        raise FactError.of(
            "fact.few_holes",
            "{n} blocks leave the window of {request} in this run",
            n=len(holes),
            request=request,
        )
    return holes[nth - 1]


def window_of_group(trace: Trace, *, group: int) -> int:
    """The window of a sliding-window group, in tokens."""
    window = state_at(trace, "start").groups[group].get("window")
    if window is None:
        raise FactError.of("fact.no_window", "group {group} has no window", group=group)
    return int(window)


def step_of_hole(trace: Trace, *, request: str, block: int) -> int:
    """The step, counted from 0, in which this block's place in the table became the null block."""
    for happening, event in events_of(trace, HolesMade, request):
        if block in event.block_ids:
            return happening.step
    raise FactError.of(
        "fact.no_hole",
        "block {block} never leaves the window of {request} in this run",
        block=block,
        request=request,
    )


def num_tokens(trace: Trace, *, request: str, at: str) -> int:
    """Prompt and outputs of the request that are known at a place."""
    return request_at(trace, request, at).num_tokens


def num_prompt_tokens(trace: Trace, *, request: str) -> int:
    """Tokens of the prompt."""
    return request_at(trace, request, "end").num_prompt_tokens


def num_blocks_for_prompt(trace: Trace, *, request: str) -> int:
    """Blocks that hold the prompt: cdiv(prompt tokens, block_size)."""
    size = state_at(trace, "start").block_size
    return cdiv(num_prompt_tokens(trace, request=request), size)


def num_full_prompt_blocks(trace: Trace, *, request: str) -> int:
    """Blocks that the prompt fills: prompt tokens // block_size."""
    return num_prompt_tokens(trace, request=request) // state_at(trace, "start").block_size


def num_tokens_in_last_prompt_block(trace: Trace, *, request: str) -> int:
    """Prompt tokens in the last of the prompt's blocks; block_size when it is full."""
    size = state_at(trace, "start").block_size
    return (num_prompt_tokens(trace, request=request) - 1) % size + 1


def start_of_last_prompt_block(trace: Trace, *, request: str) -> int:
    """The position (from 0) of the prompt token with which the last of its blocks begins."""
    in_last = num_tokens_in_last_prompt_block(trace, request=request)
    return num_prompt_tokens(trace, request=request) - in_last


def last_prompt_block(trace: Trace, *, request: str, at: str) -> int:
    """The physical block that holds the last of the prompt's tokens."""
    index = num_blocks_for_prompt(trace, request=request) - 1
    return block_table_entry(trace, request=request, index=index, at=at)


def prompt_text(trace: Trace, *, request: str) -> str:
    """The prompt, as its script or its author wrote it."""
    added = request_at(trace, request, "end").added
    return added.prompt_text or b"".join(added.prompt_token_bytes).decode(errors="replace")


def prompt_token_text(trace: Trace, *, request: str, token: int) -> str:
    """What the prompt's token at this position (from 0) stands for."""
    pieces = request_at(trace, request, "end").added.prompt_token_bytes
    if token >= len(pieces):
        raise FactError.of(
            "fact.no_token",
            "the prompt of {request} has no text at position {token}",
            request=request,
            token=token,
        )
    return pieces[token].decode(errors="replace").strip()


def first_text_of_last_prompt_block(trace: Trace, *, request: str) -> str:
    """What the token stands for with which the last of the prompt's blocks begins."""
    start = start_of_last_prompt_block(trace, request=request)
    return prompt_token_text(trace, request=request, token=start)


def num_empty_slots(trace: Trace, *, at: str) -> int:
    """Slots of held blocks without a token whose K and V are there, or come in this step.

    Ask after_schedule or after_update: in between, some of the step is not counted yet.
    """
    state = state_at(trace, at)
    held = {
        id_
        for request in state.requests.values()
        for table in request.block_tables
        for id_ in table
    } - {NULL_BLOCK_ID}
    filled: dict[int, int] = {}
    for request in state.requests.values():
        for table, size in zip(request.block_tables, state.group_block_sizes, strict=False):
            for index, id_ in enumerate(table):
                in_block = max(0, min(size, request.num_computed_tokens - index * size))
                filled[id_] = max(filled.get(id_, 0), in_block)
    return sum(state.block_size - filled[id_] for id_ in held)


def setting(trace: Trace, *, name: str) -> int | bool | str | None:
    """A setting of the run, by its name in the configuration."""
    config = state_at(trace, "start").config
    if name not in config:
        raise FactError.of(
            "fact.no_setting",
            "{name} is no setting; there are {known}",
            name=name,
            known=", ".join(sorted(config)),
        )
    value: int | bool | str | None = config[name]
    return value


def num_table_entries(trace: Trace, *, at: str) -> int:
    """The lengths of all block tables added up: the blocks that would be in use without sharing."""
    requests = state_at(trace, at).requests.values()
    return sum(id_ != NULL_BLOCK_ID for r in requests for table in r.block_tables for id_ in table)


def num_slots(trace: Trace) -> int:
    """Slots of each layer's cache tensor: num_blocks * block_size, with those of the null block."""
    state = state_at(trace, "start")
    return state.num_blocks * state.block_size


def num_usable_blocks(trace: Trace) -> int:
    """num_blocks - 1: block 0 is the null block and never handed out."""
    return state_at(trace, "start").num_blocks - 1
