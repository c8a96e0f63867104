"""Tiny random models on the device of the kernels, with no tokenizer and no engine around them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import transformers
from torch import Tensor

from tests.kernels.gate import DEVICE

NUM_POSITIONS = 64


def stock(architecture: str = "Llama", **config: Any) -> Any:
    """Two layers, in float32; biases, where there are any, are not zero."""
    torch.manual_seed(7)
    settings: dict[str, Any] = {
        "vocab_size": 90,
        "hidden_size": 24,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "num_key_value_heads": 1,
        "max_position_embeddings": NUM_POSITIONS,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": 0,
    }
    settings |= config
    built = getattr(transformers, f"{architecture}Config")(**settings)
    model = getattr(transformers, f"{architecture}ForCausalLM")(built).eval()
    for name, parameter in model.named_parameters():
        if name.endswith(".bias"):
            torch.nn.init.normal_(parameter)
    return model.to(DEVICE)


@torch.inference_mode()
def stock_answer(model: Any, prompt: Sequence[int], num_tokens: int) -> list[int]:
    """What transformers' own generate() says, greedy."""
    config = transformers.GenerationConfig(
        do_sample=False, max_new_tokens=num_tokens, pad_token_id=0
    )
    ids = torch.tensor([list(prompt)], device=DEVICE)
    out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=config)
    answer: list[int] = out[0, len(prompt) :].tolist()
    return answer


class Repeated:
    """Stands in for a captured graph: does the work again, into the same output."""

    def __init__(self, work: Callable[[], Tensor]) -> None:
        self.work = work
        self.output = work()

    def replay(self) -> None:
        self.output.copy_(self.work())
