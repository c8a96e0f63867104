"""Tiny random models, and a byte-level tokenizer of 260 tokens."""

import random
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from engine.config import EngineConfig, GroupConfig, SamplingParams
from engine.engine import Engine
from engine.runner.loaded_model import LoadedModel
from engine.runner.model_loader import assemble
from engine.runner.model_runner import ModelRunner
from engine.trace.events import TokensSampled

SPECIAL = ("<|end|>", "<|user|>", "<|bot|>", "<|tool|>")
VOCAB_SIZE = 256 + len(SPECIAL)
FAMILIES = [  # models whose decode steps have a path of their own
    ("Llama", {}),
    ("Llama", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    ("Llama", {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 10}),
    ("Qwen2", {}),
    ("Mistral", {"sliding_window": 5}),
    (
        "Qwen2",
        {
            "use_sliding_window": True,
            "sliding_window": 6,
            "layer_types": ["full_attention", "sliding_attention"],
        },
    ),
]
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
