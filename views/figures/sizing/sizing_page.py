"""The calculator's page: the form, and what is drawn of its result."""

from typing import Any

from views.figures.sizing.known_models import MODELS
from views.figures.sizing.model_config import MAX_CHARACTERS
from views.figures.sizing.model_weights import WEIGHT_DTYPES
from views.figures.sizing.sizing import Sizing, size
from views.figures.sizing.sizing_inputs import GIB, KNOWN_EXAMPLE, KV_DTYPES, OWN, Inputs
from views.figures.sizing.sizing_steps import kind_of, number, steps
from views.text import Text

UNITS = {
    "gpu": "GiB",
    "util": "",
    "weights": "GiB",
    "rest": "GiB",
    "kv": "B",
    "block_size": "sizing.unit_tokens",
    "max_len": "sizing.unit_tokens",
    "batched": "sizing.unit_tokens",
}
CHOICES = {"dtype": WEIGHT_DTYPES, "kv_dtype": KV_DTYPES}
FIELDS = (
    ("memory", ("gpu", "util", "rest", "kv")),
    ("model", ("weights", "dtype")),
    ("cache", ("kv_dtype", "block_size", "max_len", "batched")),
)
MAX_ROWS, MAX_COLUMNS = 16, 8  # tokens and heads that the unfolded block shows
FAST_BLOCK = 16  # tokens: block sizes that vLLM's CUDA kernels take are multiples of it
WORDS = ("title", "lead", "model", "config", "config_hint", "open", "example", "too_large", "fresh")


def sizing_page(inputs: Inputs, text: Text) -> dict[str, Any]:
    """The form with its sentences, and the result (None where a sentence stands in its way)."""
    sizing, errors = size(inputs, text)
    words = {name: text.named("sizing_word", name) for name in WORDS}
    return {
        "words": words,
        "inputs": inputs._asdict(),
        "example": KNOWN_EXAMPLE._asdict(),
        "fresh": Inputs()._asdict(),
        "own": OWN,
        "models": [[OWN, text("sizing.own"), ""], *([name, *_named(name)] for name in MODELS)],
        "form": [_part(name, fields, sizing, text) for name, fields in FIELDS],
        "errors": errors,
        "remarks": {} if sizing is None else remarks(sizing, text),
        "address": inputs.address(),
        "most": MAX_CHARACTERS,
        "result": None if sizing is None else result(sizing, text),
        "waiting": text("sizing.waiting"),
    }


def _named(name: str) -> tuple[str, str]:
    owner, short = name.split("/")
    return short, owner


def _part(name: str, fields: tuple[str, ...], sizing: Sizing | None, text: Text) -> dict[str, Any]:
    return {
        "title": text.named("sizing_part", name),
        "fields": [
            {
                "name": field,
                "label": text.named("sizing_field", field),
                "hint": text.named("sizing_hint", field),
                "unit": text(unit) if "." in (unit := UNITS.get(field, "")) else unit,
                "choices": CHOICES.get(field),
                "placeholder": _placeholder(field, sizing, text),
            }
            for field in fields
        ],
    }


def _placeholder(field: str, sizing: Sizing | None, text: Text) -> str:
    """What an empty field stands for."""
    if field == "kv":
        return text("sizing.computed")
    if sizing is None:
        return ""
    if field == "weights" and sizing.weights is not None:
        return f"{sizing.weight_bytes / GIB:.3f}"
    if field == "max_len" and sizing.model.max_positions is not None:
        return number(sizing.model.max_positions)
    return ""


def result(sizing: Sizing, text: Text) -> dict[str, Any]:
    return {
        "numbers": _numbers(sizing, text),
        "warnings": warnings(sizing, text),
        "bar": bar(sizing, text),
        "page": unfolded(sizing, text),
        "groups": _dealt(sizing, text) if len(sizing.plan.groups) > 1 else None,
        "steps": steps(sizing, text),
        "steps_title": text("sizing.steps_title"),
    }


def _numbers(sizing: Sizing, text: Text) -> list[dict[str, str]]:
    plan = sizing.plan
    shown = {
        "page": (number(plan.page_size_bytes), "B"),
        "blocks": (number(sizing.num_blocks), ""),
        "tokens": (number(sizing.num_tokens), ""),
        "concurrency": (f"{sizing.concurrency:,.2f}", "×"),
    }
    a_token = plan.page_size_bytes // sizing.question.block_size * len(sizing.model.kinds)
    usable, longest = max(0, sizing.num_blocks - 1), sizing.max_model_len
    tokens = "sizing.tokens_beside" if len(plan.groups) == 1 else "sizing.tokens_shared"
    beside = {
        "page": text("sizing.page_beside", n=number(a_token, "B")),
        "blocks": text("sizing.blocks_beside", n=number(usable))
        if sizing.num_blocks
        else text("sizing.no_block_beside"),
        "tokens": text(tokens, gib=f"{sizing.pool_bytes / GIB:,.3f}", n=len(plan.groups)),
        "concurrency": text.count("sizing.concurrency_beside", longest, length=number(longest)),
    }
    return [
        {
            "key": key,
            "value": value,
            "unit": unit,
            "label": text.named("sizing_number", key),
            "beside": beside[key],
        }
        for key, (value, unit) in shown.items()
    ]


def warnings(sizing: Sizing, text: Text) -> list[str]:
    """Where the memory does not suffice, a sentence each."""
    said = []
    needed = sizing.plan.pool_bytes(sizing.blocks_per_request)
    if sizing.available_bytes <= 0:
        short = number(-sizing.available_bytes, "B")
        said.append(text("sizing.nothing_left", short=short))
    elif sizing.num_blocks < sizing.blocks_per_request:
        values = {"needed": number(needed, "B"), "given": number(sizing.available_bytes, "B")}
        values |= {"n": number(sizing.max_model_len)}
        said.append(text("sizing.too_small", **values))
        if sizing.longest:
            said.append(text("sizing.longest", longest=number(sizing.longest)))
    return said


def remarks(sizing: Sizing, text: Text) -> dict[str, str]:
    """Beside a field: what vLLM would refuse or its kernels would not take, though it can be counted."""
    said = {}
    positions, length = sizing.model.max_positions, sizing.max_model_len
    if positions is not None and length > positions:
        said["max_len"] = text("sizing.beyond", n=number(length), most=number(positions))
    if sizing.question.block_size % FAST_BLOCK:
        said["block_size"] = text("sizing.odd_block", n=sizing.question.block_size)
    return said


def bar(sizing: Sizing, text: Text) -> dict[str, Any]:
    """The GPU's memory to scale. More than it has is drawn beyond its end."""
    question, is_given = sizing.question, sizing.question.kv_bytes is not None
    taken = sizing.weight_bytes + question.rest_bytes + sizing.pool_bytes
    budget = question.total_bytes if is_given else sizing.requested_bytes
    sizes = {
        "weights": sizing.weight_bytes,
        "rest": question.rest_bytes,
        "kv": sizing.pool_bytes,
        "spare": max(0, budget - taken),
        "outside": question.total_bytes - max(budget, min(taken, question.total_bytes)),
    }
    whole = max(sum(sizes.values()), question.total_bytes)
    parts = [
        {
            "key": key,
            "share": num_bytes / whole,
            "label": text("sizing.not_used")
            if is_given and key == "spare"
            else text.named("sizing_bar", key),
            "gib": f"{num_bytes / GIB:,.3f} GiB",
            "bytes": number(num_bytes, "B"),
        }
        for key, num_bytes in sizes.items()
        if num_bytes or key == "kv"
    ]
    over = taken - question.total_bytes
    return {
        "title": text("sizing.bar_title"),
        "beside": f"{question.total_bytes / GIB:,.3f} GiB = {number(question.total_bytes, 'B')}",
        "parts": parts,
        "end": question.total_bytes / whole,
        "over": text("sizing.over", n=number(over, "B")) if over > 0 else "",
        "budget": None if is_given else sizing.requested_bytes / whole,
        "budget_label": text("sizing.budget", share=f"{question.utilization:g}"),
    }


def unfolded(sizing: Sizing, text: Text) -> dict[str, Any]:
    """One block of one layer: K and V, a row a token, a column a head, head_size numbers a cell."""
    spec = sizing.plan.specs[0]
    is_latent = kind_of(spec) == "mla"
    cell = number(spec.head_size * spec.dtype_bytes, "B")
    panels = [text("sizing.latent")] if is_latent else ["K", "V"]
    values = {"numbers": number(spec.head_size), "each": spec.dtype_bytes, "cell": cell}
    token = number(spec.page_size_bytes // spec.block_size, "B")
    return {
        "title": text("sizing.page_title"),
        "beside": number(spec.page_size_bytes, "B"),
        "panels": panels,
        "rows": _ends(spec.block_size, MAX_ROWS),
        "columns": [""] if is_latent else _ends(spec.num_kv_heads, MAX_COLUMNS),
        "row": text("sizing.row"),
        "column": "" if is_latent else text("sizing.column"),
        "cell": text("sizing.cell", **values),
        "token": text("sizing.token", n=token),
    }


def _ends(count: int, most: int) -> list[str]:
    """0, 1, 2 … last: a long row keeps its ends."""
    if count <= most:
        return [str(i) for i in range(count)]
    return [*(str(i) for i in range(most - 2)), "…", str(count - 1)]


def _dealt(sizing: Sizing, text: Text) -> dict[str, Any]:
    """Which layers share a tensor: a row a group, a column a tensor; an empty place is padding."""
    plan = sizing.plan
    rows = []
    for group_id, (spec, layers) in enumerate(zip(plan.specs, plan.groups, strict=True)):
        empty = plan.group_size - len(layers)
        kind = kind_of(spec)
        rows.append(
            {
                "name": text("sizing.group", n=group_id, kind=text.named("sizing_kind", kind)),
                "kind": kind,
                "layers": [*map(str, layers), *([""] * empty)],
            }
        )
    return {
        "title": text("sizing.groups_title"),
        "beside": text("sizing.groups_beside", n=plan.group_size),
        "rows": rows,
        "tensors": [str(i) for i in range(plan.group_size)],
        "tensor": text("sizing.tensor_short"),
        "padding": text("sizing.padding"),
    }
