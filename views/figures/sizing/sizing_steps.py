"""The formula step by step: every term a number with its name under it.

A term is `[number, name]`, an operator a plain text. The results come from the plan; that the terms
come to them is what tests/views/test_sizing_page.py computes.
"""

from typing import Any

from engine.core.kv_cache_spec import (
    ChunkedLocalAttentionSpec,
    KVCacheSpec,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from views.figures.sizing.sizing import Sizing
from views.text import Text

TIMES, DIVIDED, WHOLE, PLUS, MINUS, EQUALS = "×", "÷", "//", "+", "−", "="  # //: rounded down
UP, END = "⌈", "⌉"  # rounded up
Part = str | list[str]


def steps(sizing: Sizing, text: Text) -> list[dict[str, Any]]:
    """In the order in which vLLM does them; `source` is its function."""
    found = []
    if sizing.question.kv_bytes is None:
        found += [_requested(sizing, text), _weights(sizing, text), _available(sizing, text)]
    else:
        found += [_given(sizing, text)]
    found += [_page(sizing, text)]
    if len(sizing.plan.groups) > 1:
        found += [_groups(sizing, text)]
    if sizing.available_bytes < 0:
        return found  # nothing is divided
    return [
        *found,
        _blocks(sizing, text),
        _tensors(sizing, text),
        _tokens(sizing, text),
        *_requests(sizing, text),
        _concurrency(sizing, text),
    ]


def number(value: int, unit: str = "") -> str:
    return f"{value:,} {unit}".rstrip()


def _step(
    key: str, text: Text, *lines: list[Part], source: str = "", note: str = ""
) -> dict[str, Any]:
    title = text.named("sizing_step", key)
    return {"key": key, "title": title, "lines": list(lines), "source": source, "note": note}


def _requested(sizing: Sizing, text: Text) -> dict[str, Any]:
    question = sizing.question
    line: list[Part] = [
        UP,
        [number(question.total_bytes, "B"), "total_memory"],
        TIMES,
        [f"{question.utilization}", "gpu_memory_utilization"],
        END,
        EQUALS,
        [number(sizing.requested_bytes, "B"), "requested_memory"],
    ]
    return _step("requested", text, line, source="request_memory")


def _weights(sizing: Sizing, text: Text) -> dict[str, Any]:
    result: list[Part] = [EQUALS, [number(sizing.weight_bytes, "B"), "weights"]]
    if sizing.weights is None:
        note = text("sizing.weights_typed")
        return _step("weights", text, result[1:], source="GPUModelRunner.load_model", note=note)
    line: list[Part] = []
    for parameters, bits in sizing.weights.parts:
        kind = text("sizing.matrices") if bits < 16 else text("sizing.parameters")
        line += [PLUS, [number(parameters), kind], TIMES, [f"{bits / 8:g} B", text("sizing.each")]]
    bits = sizing.weights.parts[0][1]
    note = text("sizing.weights_eight_bits") if bits == 8 else ""
    note = text("sizing.weights_four_bits") if bits < 8 else note
    if parts := sizing.model.other_parts:
        note = text.told(
            (*filter(None, (text("sizing.weights_of_language", keys=", ".join(parts)), note)),)
        )
    lines = [*line[1:], *result]
    return _step("weights", text, lines, source="GPUModelRunner.load_model", note=note)


def _available(sizing: Sizing, text: Text) -> dict[str, Any]:
    line: list[Part] = [
        [number(sizing.requested_bytes, "B"), "requested_memory"],
        MINUS,
        [number(sizing.weight_bytes, "B"), "weights"],
        MINUS,
        [number(sizing.question.rest_bytes, "B"), text("sizing.rest")],
        EQUALS,
        [number(sizing.available_bytes, "B"), "available_kv_cache_memory"],
    ]
    source = "Worker.determine_available_memory"
    return _step("available", text, line, source=source, note=text("sizing.available_note"))


def _given(sizing: Sizing, text: Text) -> dict[str, Any]:
    line: list[Part] = [[number(sizing.available_bytes, "B"), "kv_cache_memory_bytes"]]
    source = "Worker.determine_available_memory"
    return _step("available", text, line, source=source, note=text("sizing.given_note"))


def _page(sizing: Sizing, text: Text) -> dict[str, Any]:
    spec = sizing.plan.specs[0]
    size, dtype = [number(spec.block_size), "block_size"], [f"{spec.dtype_bytes} B", "dtype"]
    result: list[Part] = [EQUALS, [number(spec.page_size_bytes, "B"), "page_size_bytes"]]
    if isinstance(spec, MLAAttentionSpec):
        latent = [number(spec.head_size), "kv_lora_rank + qk_rope_head_dim"]
        line: list[Part] = [size, TIMES, latent, TIMES, dtype, *result]
        return _step("page", text, line, source=_source(spec), note=text("sizing.mla_note"))
    both = ["2", "K, V"]
    heads, head = (
        [number(spec.num_kv_heads), "num_kv_heads"],
        [number(spec.head_size), "head_size"],
    )
    line = [both, TIMES, size, TIMES, heads, TIMES, head, TIMES, dtype, *result]
    return _step("page", text, line, source=_source(spec))


def _source(spec: KVCacheSpec) -> str:
    return f"{type(spec).__name__}.page_size_bytes"


def _groups(sizing: Sizing, text: Text) -> dict[str, Any]:
    """How many layers each kind has, the size of a group, and what that leaves empty."""
    counts: dict[str, int] = {}
    for kind in sizing.model.kinds:
        counts[kind] = counts.get(kind, 0) + 1
    plan, fewest, most = sizing.plan, min(counts.values()), max(counts.values())
    padded = plan.group_size * len(plan.groups) - len(sizing.model.kinds)
    parts: list[Part] = []
    for kind, count in counts.items():
        parts += [PLUS, [number(count), text.named("sizing_kind", kind)]]
    line = [*parts[1:], "→", [number(len(plan.groups)), "kv_cache_groups"]]
    line += [TIMES, [number(plan.group_size), "group_size"]]
    rule = "sizing.group_max" if most < 1.25 * fewest else "sizing.group_min"
    said = [text(rule, most=most, least=fewest, size=plan.group_size)]
    if padded:
        said.append(text.count("sizing.padded", padded))
    source = "_get_kv_cache_groups_uniform_page_size"
    return _step("groups", text, line, source=source, note=text.told(said))


def _blocks(sizing: Sizing, text: Text) -> dict[str, Any]:
    plan = sizing.plan
    in_groups = "group_size" if len(plan.groups) > 1 else text("sizing.layers")
    line: list[Part] = [
        [number(sizing.available_bytes, "B"), text("sizing.available")],
        WHOLE,
        [number(plan.page_size_bytes, "B"), "page_size_bytes"],
        WHOLE,
        [number(plan.group_size), in_groups],
        EQUALS,
        [number(sizing.num_blocks), "num_blocks"],
    ]
    note = text("sizing.blocks_note") if sizing.num_blocks else ""
    return _step("blocks", text, line, source="get_num_blocks", note=note)


def _tensors(sizing: Sizing, text: Text) -> dict[str, Any]:
    plan, blocks = sizing.plan, sizing.num_blocks
    has_groups = len(plan.groups) > 1
    one = text("sizing.tensor") if has_groups else text("sizing.layer_bytes")
    tensor = [number(plan.tensor_bytes(blocks), "B"), one]
    made: list[Part] = [
        [number(plan.page_size_bytes, "B"), "page_size_bytes"],
        TIMES,
        [number(blocks), "num_blocks"],
        EQUALS,
        tensor,
    ]
    count = [number(plan.group_size), text("sizing.tensors" if has_groups else "sizing.layers")]
    whole = [number(sizing.pool_bytes, "B"), text("sizing.kv_cache")]
    note = text("sizing.tensor_note") if has_groups else ""
    total: list[Part] = [tensor, TIMES, count, EQUALS, whole]
    return _step("tensors", text, made, total, source="KVCacheTensor.size", note=note)


def _tokens(sizing: Sizing, text: Text) -> dict[str, Any]:
    groups = len(sizing.plan.groups)
    line: list[Part] = [[number(sizing.num_blocks), "num_blocks"]]
    if groups > 1:
        line += [WHOLE, [number(groups), "kv_cache_groups"]]
    line += [TIMES, [number(sizing.question.block_size), "block_size"], EQUALS]
    line += [[number(sizing.num_tokens), text("sizing.tokens")]]
    note = text("sizing.tokens_note") if groups > 1 else ""
    return _step("tokens", text, line, source="_report_kv_cache_config", note=note)


def _requests(sizing: Sizing, text: Text) -> list[dict[str, Any]]:
    """One line a kind of layer, and their sum over the groups where there are several."""
    counts: dict[KVCacheSpec, int] = {}
    for spec in sizing.plan.specs:
        counts[spec] = counts.get(spec, 0) + 1
    lines = [_longest(sizing, spec, text) for spec in counts]
    if len(sizing.plan.specs) > 1:
        total: list[Part] = []
        for spec, count in counts.items():
            total += [PLUS, [number(count), _groups_of(spec, text)], TIMES]
            total += [[number(_blocks_of(sizing, spec)), text("sizing.blocks_each")]]
        total += [EQUALS, [number(sizing.blocks_per_request), text("sizing.blocks_request")]]
        lines.append(total[1:])
    return [_step("request", text, *lines, source="max_memory_usage_bytes")]


def _blocks_of(sizing: Sizing, spec: KVCacheSpec) -> int:
    return spec.max_blocks_per_request(sizing.max_model_len, sizing.question.max_num_batched_tokens)


def _groups_of(spec: KVCacheSpec, text: Text) -> str:
    return text("sizing.groups_of", kind=text.named("sizing_kind", kind_of(spec)))


def kind_of(spec: KVCacheSpec) -> str:
    if isinstance(spec, SlidingWindowSpec):
        return "sliding"
    if isinstance(spec, ChunkedLocalAttentionSpec):
        return "chunked_local"
    return "mla" if isinstance(spec, MLAAttentionSpec) else "full"


def _longest(sizing: Sizing, spec: KVCacheSpec, text: Text) -> list[Part]:
    """⌈tokens kept ÷ block_size⌉ of one group; a window has an edge inside a block."""
    length, batched = sizing.max_model_len, sizing.question.max_num_batched_tokens
    parts: list[Part] = [[number(length), "max_model_len"]]
    reach = None
    if isinstance(spec, SlidingWindowSpec):
        reach = [[number(spec.window - 1), "window − 1"]]
    elif isinstance(spec, ChunkedLocalAttentionSpec):
        reach = [[number(spec.chunk), "chunk"]]
    if reach:
        budget = [number(batched), "max_num_batched_tokens"]
        parts = ["min (", *reach, PLUS, budget, ",", *parts, ")"]
    parts = [UP, *parts, DIVIDED, [number(spec.block_size), "block_size"], END]
    if isinstance(spec, SlidingWindowSpec):
        parts += [PLUS, ["1", text("sizing.edge")]]
    many = len(sizing.plan.specs) > 1
    unit = _groups_one(spec, text) if many else text("sizing.blocks_request")
    return [*parts, EQUALS, [number(_blocks_of(sizing, spec)), unit]]


def _groups_one(spec: KVCacheSpec, text: Text) -> str:
    return text("sizing.blocks_of", kind=text.named("sizing_kind", kind_of(spec)))


def _concurrency(sizing: Sizing, text: Text) -> dict[str, Any]:
    line: list[Part] = [
        [number(sizing.num_blocks), "num_blocks"],
        DIVIDED,
        [number(sizing.blocks_per_request), text("sizing.blocks_request")],
        EQUALS,
        [f"{sizing.concurrency:,.2f}", text("sizing.at_once")],
    ]
    source = "get_max_concurrency_for_kv_cache_config"
    return _step("concurrency", text, line, source=source)
