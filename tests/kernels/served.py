"""An engine on the kernels that answers a few prompts."""

from typing import Any

from engine.config import SamplingParams
from engine.runner.decode_path import cuda_decode_path
from engine.runner.loaded_model import LoadedModel
from tests.runner.builders import build_engine, build_stock, generate, random_prompt, stock_answer

PROMPTS = [random_prompt(n) for n in (1, 3, 9)]
NUM_NEW = 4
GREEDY = SamplingParams(max_tokens=NUM_NEW, ignore_eos=True)


def serve_on(loaded: LoadedModel, recorder: Any) -> tuple[Any, list[list[int]]]:
    """The runner, and what it said to PROMPTS; `recorder` None: without graphs on a CPU."""
    engine, _ = build_engine(loaded, block_size=4, num_blocks=40, max_model_len=32)
    runner: Any = engine.runner
    assert runner.backend.name == "triton"
    if recorder is not None:
        runner.decode_path = cuda_decode_path(
            loaded.model,
            kv_caches=runner.kv_caches,
            kinds=runner.kinds,
            block_sizes=runner.layout.block_sizes,
            max_model_len=runner.max_model_len,
            recorder=recorder,
        )
    for index, prompt in enumerate(PROMPTS):
        engine.add_request(str(index), prompt, sampling=GREEDY)
    return runner, list(generate(engine).values())


def expected(architecture: str = "Llama", **config: Any) -> list[list[int]]:
    stock = build_stock(architecture, **config)
    return [stock_answer(stock, prompt, NUM_NEW) for prompt in PROMPTS]
