"""Memory: what one reserved row for each request wastes, and how bytes become blocks."""

from engine.core.kv_cache_spec import FullAttentionSpec
from engine.core.sizing import KVCachePlan, plan_kv_cache
from engine.trace.events import RequestAdded
from engine.trace.trace import Trace
from lessons.errors import FactError
from lessons.facts.tables import num_empty_slots, state_at
from lessons.happenings import events_of

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}


def num_tokens_held(trace: Trace, *, at: str) -> int:
    """Tokens of all requests that hold blocks, computed or being computed; shared ones count twice."""
    requests = state_at(trace, at).requests.values()
    return sum(r.num_computed_tokens for r in requests if any(r.block_tables))


def reserved_slots(trace: Trace, *, at: str) -> int:
    """What one row of max_model_len slots for each request that holds blocks would reserve."""
    state = state_at(trace, at)
    num_holding = sum(any(r.block_tables) for r in state.requests.values())
    longest: int = state.config["max_model_len"]
    return num_holding * longest


def reserved_waste(trace: Trace, *, at: str) -> float:
    """The share of reserved_slots without a token, 0 to 1."""
    reserved = reserved_slots(trace, at=at)
    return 1 - num_tokens_held(trace, at=at) / reserved if reserved else 0.0


def used_slots(trace: Trace, *, at: str) -> int:
    """Slots of all blocks that somebody holds."""
    state = state_at(trace, at)
    return state.num_used_blocks * state.block_size


def paged_waste(trace: Trace, *, at: str) -> float:
    """The share of used_slots without a token, 0 to 1."""
    used = used_slots(trace, at=at)
    return num_empty_slots(trace, at=at) / used if used else 0.0


def row_length(trace: Trace, *, request: str) -> int:
    """Prompt and max_tokens: what a request would ask for in one piece."""
    for _, event in events_of(trace, RequestAdded, request):
        return len(event.prompt_token_ids) + event.max_tokens
    return 0


def holes_in_row(trace: Trace, *, at: str) -> tuple[int, ...]:
    """The gaps, in slots, if the requests had been laid side by side in one row, each in one piece of
    row_length, in the order of their first run, and never moved. Those that ran before `at` count."""
    gaps, gap = [], 0
    for request in state_at(trace, at).requests.values():
        if request.first_scheduled_step is None:
            continue
        length = row_length(trace, request=request.request_id)
        if request.is_finished:
            gap += length
        elif gap:
            gaps.append(gap)
            gap = 0
    return (*gaps, gap) if gap else tuple(gaps)


def largest_hole_in_row(trace: Trace, *, at: str) -> int:
    """The largest of holes_in_row."""
    return max(holes_in_row(trace, at=at), default=0)


def free_in_row(trace: Trace, *, at: str) -> int:
    """All of holes_in_row together."""
    return sum(holes_in_row(trace, at=at))


def free_slots(trace: Trace, *, at: str) -> int:
    """Slots of all free blocks."""
    state = state_at(trace, at)
    return state.num_free_blocks * state.block_size


# Sizes: of a model with full attention, and the block size of the run ---------------------------


def _plan(
    trace: Trace, num_layers: int, num_kv_heads: int, head_size: int, *, dtype_bytes: int
) -> KVCachePlan:
    size = state_at(trace, "start").block_size
    spec = FullAttentionSpec(size, num_kv_heads, head_size, dtype_bytes)
    return plan_kv_cache([spec] * num_layers)


def page_size_bytes(
    trace: Trace, *, num_kv_heads: int, head_size: int, dtype_bytes: int = 2
) -> int:
    """Bytes of one block of one layer: 2 * block_size * num_kv_heads * head_size * dtype_bytes."""
    return _plan(trace, 1, num_kv_heads, head_size, dtype_bytes=dtype_bytes).page_size_bytes


def tensor_bytes(trace: Trace, *, num_kv_heads: int, head_size: int, dtype_bytes: int = 2) -> int:
    """Bytes of one layer's cache tensor with the num_blocks of the run."""
    plan = _plan(trace, 1, num_kv_heads, head_size, dtype_bytes=dtype_bytes)
    return plan.tensor_bytes(state_at(trace, "start").num_blocks)


def pool_bytes(
    trace: Trace, *, num_layers: int, num_kv_heads: int, head_size: int, dtype_bytes: int = 2
) -> int:
    """Bytes of all layers' cache tensors with the num_blocks of the run."""
    plan = _plan(trace, num_layers, num_kv_heads, head_size, dtype_bytes=dtype_bytes)
    return plan.pool_bytes(state_at(trace, "start").num_blocks)


def block_bytes(
    trace: Trace,
    *,
    num_layers: int,
    num_kv_heads: int,
    head_size: int,
    dtype_bytes: int = 2,
    model: str = "",
) -> int:
    """Bytes of one block in all layers. With `model` only in a run of this model, and of a dtype of
    so many bytes."""
    if model:
        _check_model(trace, model, dtype_bytes)
    plan = _plan(trace, num_layers, num_kv_heads, head_size, dtype_bytes=dtype_bytes)
    return plan.bytes_per_block


def _check_model(trace: Trace, model: str, dtype_bytes: int) -> None:
    header = trace.header
    if header.model != model or DTYPE_BYTES.get(header.dtype or "") != dtype_bytes:
        raise FactError.of(
            "fact.other_model",
            "the sizes are those of {model} with {n} bytes a number, and {other} ran in {dtype}",
            model=model,
            n=dtype_bytes,
            other=str(header.model),
            dtype=str(header.dtype),
        )


def num_blocks_for_bytes(
    trace: Trace,
    *,
    available_bytes: int,
    num_layers: int,
    num_kv_heads: int,
    head_size: int,
    dtype_bytes: int = 2,
) -> int:
    """num_blocks that so many bytes buy: available // page_size_bytes // num_layers."""
    plan = _plan(trace, num_layers, num_kv_heads, head_size, dtype_bytes=dtype_bytes)
    return plan.num_blocks(available_bytes)


def max_concurrency(trace: Trace, *, max_model_len: int) -> float:
    """How many requests of this length fit at once, as vLLM prints it at start-up."""
    state = state_at(trace, "start")
    plan = _plan(trace, 1, 1, 1, dtype_bytes=2)
    return plan.max_concurrency(state.num_blocks, max_model_len, max_model_len)
