"""Tiny random models, a byte-level tokenizer of 260 tokens, and batches over a scattered cache."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from engine.config import EngineConfig, GroupConfig, SamplingParams
from engine.engine import Engine
from engine.runner.attention.backend import GroupBatch
from engine.runner.model_loader import LoadedModel, assemble
from engine.runner.model_runner import ModelRunner
from engine.trace.events import TokensSampled

SPECIAL = ("<|end|>", "<|user|>", "<|bot|>", "<|tool|>")
VOCAB_SIZE = 256 + len(SPECIAL)
TEMPLATE = (
    "{% for m in messages %}<|user|>\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|bot|>\n{% endif %}"
)


def build_tokenizer() -> Any:
    """Every byte is a token; the four control tokens follow."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(text, normalized=False) for text in SPECIAL])
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="<|end|>", chat_template=TEMPLATE
    )


def build_stock(architecture: str = "Llama", **config: Any) -> Any:
    """A random model of two layers, four heads of size 8 on two KV heads, in float32."""
    torch.manual_seed(7)
    settings: dict[str, Any] = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 256,
        "initializer_range": 0.3,
        "eos_token_id": 256,
        "bos_token_id": None,
        "pad_token_id": 0,
    }
    settings |= config
    built = getattr(transformers, f"{architecture}Config")(**settings)
    suffix = "LMHeadModel" if architecture == "GPT2" else "ForCausalLM"
    return getattr(transformers, architecture + suffix)(built).eval()


def build_loaded(stock: Any) -> LoadedModel:
    """Takes `stock` over: build another one to compare with."""
    return assemble(stock, build_tokenizer(), name="tiny")


def build_engine(loaded: LoadedModel, **settings: Any) -> tuple[Engine, list[Any]]:
    """An engine on its own cache, and the events that it emits."""
    groups: tuple[GroupConfig, ...] | None = None
    layers: list[list[int]] | None = None
    windows = sorted({window for window in loaded.windows if window is not None})
    if windows:
        kinds: list[int | None] = [*([None] if None in loaded.windows else []), *windows]
        layers = [[i for i, own in enumerate(loaded.windows) if own == kind] for kind in kinds]
        groups = tuple(
            GroupConfig(type="full") if kind is None else GroupConfig(type="sliding", window=kind)
            for kind in kinds
        )
    options: dict[str, Any] = {"num_blocks": 200, "max_num_batched_tokens": 512}
    options |= {"max_num_seqs": 32, "max_model_len": 200, "recompute_invalid_hits": True}
    options |= settings
    config = EngineConfig(**options, kv_groups=groups)
    runner = ModelRunner(
        loaded, num_blocks=config.num_blocks, block_size=config.block_size, groups=layers
    )
    events: list[Any] = []
    return Engine(config, runner, emit=events.append), events


def generate(engine: Engine, *, max_steps: int = 10_000) -> dict[str, list[int]]:
    """Step until nobody is left; the tokens by request id."""
    tokens: dict[str, list[int]] = {id_: [] for id_ in engine.scheduler.requests}
    for _ in range(max_steps):
        if not engine.has_unfinished_requests:
            return tokens
        for output in engine.step():
            tokens[output.request_id].extend(output.token_ids)
    raise AssertionError(f"not finished after {max_steps} steps")


def answers(
    loaded: LoadedModel, prompts: Sequence[Sequence[int]], **options: Any
) -> list[list[int]]:
    """The tokens of all prompts served together; `sampling` and engine settings as options."""
    sampling = options.pop("sampling", SamplingParams(max_tokens=12, ignore_eos=True))
    engine, _ = build_engine(loaded, **options)
    for index, prompt in enumerate(prompts):
        engine.add_request(str(index), prompt, sampling=sampling)
    return list(generate(engine).values())


def stock_answer(stock: Any, prompt: Sequence[int], num_tokens: int = 12) -> list[int]:
    """What transformers' own generate() says, greedy and past any end-of-text token."""
    stock.generation_config.eos_token_id = None  # it would stand in for what `config` leaves out
    config = transformers.GenerationConfig(
        do_sample=False, max_new_tokens=num_tokens, pad_token_id=0
    )
    ids = torch.tensor([list(prompt)])
    with torch.inference_mode():
        out = stock.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    answer: list[int] = out[0, len(prompt) :].tolist()
    return answer


def random_prompt(num_tokens: int, seed: int = 0, vocab_size: int = 256) -> list[int]:
    numbers = random.Random(f"{num_tokens} {seed}")
    return [numbers.randrange(vocab_size) for _ in range(num_tokens)]


def streamed_text(events: Sequence[Any], request_id: str) -> str:
    mine = (e for e in events if isinstance(e, TokensSampled) and e.request_id == request_id)
    return "".join(event.text for event in mine)


@dataclass
class Scattered:
    """Sequences whose K and V lie in a cache at random blocks; all other slots are NaN.

    `shares` are (tokens already in the cache, tokens of this step) by sequence.
    """

    shares: Sequence[tuple[int, int]]
    block_size: int
    num_kv_heads: int = 2
    group: int = 2
    head_size: int = 8
    dtype: torch.dtype = torch.float32
    tables: Sequence[list[int]] = ()  # at random if not given

    def __post_init__(self) -> None:
        generator = torch.Generator().manual_seed(3)
        self.lengths = [old + new for old, new in self.shares]
        tables_len = [-(-length // self.block_size) for length in self.lengths]
        order = torch.randperm(sum(tables_len) + 3, generator=generator) + 1
        if not self.tables:
            parts = order[: sum(tables_len)].split(tables_len)
            self.tables = [list(map(int, part)) for part in parts]

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator).to(self.dtype)

        heads, size = self.num_kv_heads, self.head_size
        self.keys = [draw(length, heads, size) for length in self.lengths]
        self.values = [draw(length, heads, size) for length in self.lengths]
        num_rows = sum(new for _, new in self.shares)
        self.query = draw(num_rows, heads * self.group, size)
        shape = (2, len(order) + 1, self.block_size, heads, size)
        self.kv_cache = torch.full(shape, float("nan"), dtype=self.dtype)
        for seq, (old, _) in enumerate(self.shares):
            slots = self.slots(seq)[:old]
            self.kv_cache.flatten(1, 2)[0, slots] = self.keys[seq][:old]
            self.kv_cache.flatten(1, 2)[1, slots] = self.values[seq][:old]

    def slots(self, seq: int) -> list[int]:
        table, size = self.tables[seq], self.block_size
        return [table[p // size] * size + p % size for p in range(self.lengths[seq])]

    def new(self, parts: Sequence[Tensor]) -> Tensor:
        """The rows of this step out of whole sequences."""
        return torch.cat([part[old:] for part, (old, _) in zip(parts, self.shares)])

    @property
    def batch(self) -> GroupBatch:
        starts = [0]
        slots: list[int] = []
        for seq, (old, new) in enumerate(self.shares):
            starts.append(starts[-1] + new)
            slots.extend(self.slots(seq)[old:])
        return GroupBatch(
            block_size=self.block_size,
            query_start=starts,
            seq_lens=self.lengths,
            block_tables=self.tables,
            slot_mapping=torch.tensor(slots, dtype=torch.int64),
        )

    def dense(self, window: int | None, scale: float) -> Tensor:
        """The same attention in float64 without any paging: [num_rows, num_heads, head_size]."""
        outs: list[Tensor] = []
        start = 0
        for keys, values, (old, new) in zip(self.keys, self.values, self.shares):
            query = self.query[start : start + new].double()
            start += new
            keys = keys.double().repeat_interleave(self.group, 1)
            values = values.double().repeat_interleave(self.group, 1)
            at = torch.arange(old, old + new)[:, None]
            seen = torch.arange(old + new)[None]
            visible = seen <= at
            if window is not None:
                visible &= at - seen < window
            scores = torch.einsum("qhd,khd->hqk", query, keys) * scale
            weights = scores.masked_fill(~visible, float("-inf")).softmax(-1)
            outs.append(torch.einsum("hqk,khd->qhd", weights, values))
        return torch.cat(outs)
