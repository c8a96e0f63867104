"""The fused decoder says what the stock one says, token by token and logit by logit."""

import pytest
import torch
from torch import Tensor, nn

from engine.runner.attention import triton_backend
from engine.runner.attention.backend import GroupBatch
from engine.runner.attention.triton_backend import PagedPlan, TritonAttention
from engine.runner.decode_graph import CudaRecorder, DecodeGraphs
from engine.runner.decode_step import DecodeStep
from engine.runner.fused_kernels import Norm, silu_mul
from engine.runner.fused_model import FusedModel, fused_model, is_supported
from engine.runner.step_buffer import DecodeRow
from tests.kernels.gate import DEVICE
from tests.kernels.models import NUM_POSITIONS, Repeated, stock, stock_answer

pytestmark = pytest.mark.kernels

BLOCK_SIZE = 4
MOST_BLOCKS = NUM_POSITIONS // BLOCK_SIZE
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 3e-2}
if DEVICE == "cuda":  # three TF32 products stand for one of float32
    TOLERANCES[torch.float32] = 1e-4
FAMILIES = {
    "Llama": {},
    "Llama with biases": {"attention_bias": True, "mlp_bias": True},
    "Llama 3": {
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 4.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        }
    },
    "Qwen2": {"tie_word_embeddings": True, "num_attention_heads": 4, "num_key_value_heads": 2},
}


def build(family: str):
    return stock(family.split()[0], **FAMILIES[family])


def empty_caches(model, num_blocks: int = 3 * MOST_BLOCKS) -> list[Tensor]:
    config = model.config
    size = config.hidden_size // config.num_attention_heads
    shape = (2, num_blocks, BLOCK_SIZE, config.num_key_value_heads, size)
    dtype = model.lm_head.weight.dtype
    return [
        torch.full(shape, float("nan"), dtype=dtype, device=DEVICE)
        for _ in range(config.num_hidden_layers)
    ]


def tables(num_requests: int) -> list[list[int]]:
    order = torch.randperm(3 * MOST_BLOCKS, generator=torch.Generator().manual_seed(2))
    return [order[n * MOST_BLOCKS :][:MOST_BLOCKS].tolist() for n in range(num_requests)]


def prompt_logits(fused: FusedModel, caches: list[Tensor], prompt: list[int]) -> Tensor:
    """[len(prompt), vocab_size], in one prefill."""

    def numbers(values) -> Tensor:
        return torch.tensor(values, dtype=torch.int32, device=DEVICE)

    (table,) = tables(1)
    positions = range(len(prompt))
    plan = PagedPlan(
        slot_mapping=numbers([table[p // BLOCK_SIZE] * BLOCK_SIZE + p % 4 for p in positions]),
        block_table=numbers([table]),
        seq_lens=numbers([len(prompt)]),
        query_start=numbers([0, len(prompt)]),
        max_seq_len=len(prompt),
        query_starts=[0, len(prompt)],
    )
    return fused(numbers(prompt), numbers(list(positions)), caches, [plan] * len(caches))


@pytest.mark.parametrize("dtype", list(TOLERANCES))
@pytest.mark.parametrize("family", FAMILIES)
@torch.inference_mode()
def test_the_logits_of_a_prompt_are_those_of_the_stock_model(family, dtype):
    model, prompt = build(family).to(dtype), [3, 1, 4, 1, 5, 9, 2, 6, 5]
    expected = model(torch.tensor([prompt], device=DEVICE)).logits[0].float()
    fused = fused_model(model)
    assert fused is not None
    logits = prompt_logits(fused, empty_caches(model), prompt).float()
    error = (logits - expected).square().mean().sqrt() / expected.std()
    assert error < TOLERANCES[dtype], f"off by {error} standard deviations"


LONG = 150  # tokens: three tiles of KV, so that a split finds more than one
WINDOWED = {"use_sliding_window": True, "sliding_window": 70, "max_window_layers": 1}


@pytest.mark.parametrize(
    ("architecture", "config", "windows"),
    [("Llama", {}, (None, None)), ("Qwen2", WINDOWED, (None, 70))],
)
@torch.inference_mode()
def test_windows_and_splits_change_no_logits(architecture, config, windows, monkeypatch):
    """A prompt in one prefill, and two more tokens that decode."""
    monkeypatch.setattr(triton_backend, "num_processors", lambda device: 64)
    model = stock(architecture, max_position_embeddings=256, **config)
    drawn = torch.randint(0, 90, (LONG + 2,), generator=torch.Generator().manual_seed(4))
    input_ids = drawn.to(DEVICE)
    expected = model(input_ids[None]).logits[0]
    fused, caches = fused_model(model), empty_caches(model, num_blocks=40)
    assert fused is not None
    found = []
    for start, end in ((0, LONG), (LONG, LONG + 1), (LONG + 1, LONG + 2)):
        plans = [in_a_row(start, end, window) for window in windows]
        positions = torch.arange(start, end, device=DEVICE)
        found.append(fused(input_ids[start:end], positions, caches, plans))
    error = (torch.cat(found) - expected).abs().amax(1) / expected.std()
    assert error.max() < 5 * TOLERANCES[torch.float32], error


def in_a_row(start: int, end: int, window: int | None) -> PagedPlan:
    """One sequence's tokens from `start` on; its blocks are 1, 2, 3 .."""
    batch = GroupBatch(
        block_size=BLOCK_SIZE,
        query_start=(0, end - start),
        seq_lens=(end,),
        block_tables=(tuple(range(1, 1 + -(-end // BLOCK_SIZE))),),
        slot_mapping=torch.arange(start, end, device=DEVICE) + BLOCK_SIZE,
    )
    return TritonAttention().plan(batch, window=window, dtype=torch.float32)


@pytest.mark.parametrize("family", ["Llama", "Qwen2"])
@pytest.mark.parametrize("fuse", [True, False])
def test_graphs_of_either_model_generate_what_generate_does(family, fuse, monkeypatch):
    """Three requests, fed token by token from the first on; each leaves when it has its tokens."""
    prompts, num_new = [[5, 6], [9], [1, 2, 3, 4]], 3
    model = build(family)
    expected = [stock_answer(model, prompt, num_new) for prompt in prompts]
    caches = empty_caches(model)
    if not fuse:
        from engine.runner.attention.plug import ATTENTION_NAME

        model.set_attn_implementation(ATTENTION_NAME)
    step = DecodeStep(
        model, kv_caches=caches, kinds=[(0, None)] * 2, max_seq_len=NUM_POSITIONS, fuse=fuse
    )
    assert step.name == ("fused" if fuse else "stock")
    graphs = DecodeGraphs(
        step,
        block_sizes=[BLOCK_SIZE],
        most_blocks=[MOST_BLOCKS],
        device=torch.device(DEVICE),
        recorder=CudaRecorder() if DEVICE == "cuda" else Repeated,
        buckets=(1, 2, 4),
    )
    texts = [list(prompt) for prompt in prompts]
    goals = [len(prompt) + num_new for prompt in prompts]
    for position in range(max(goals) - 1):
        live = [n for n, goal in enumerate(goals) if position < goal - 1]
        rows = [DecodeRow(texts[n][position], position, [tables(3)[n]]) for n in live]
        drawn = graphs.run(rows).argmax(-1).tolist()
        for n, token_id in zip(live, drawn):
            if position + 1 == len(texts[n]):
                texts[n].append(token_id)
    assert [text[len(prompt) :] for text, prompt in zip(texts, prompts)] == expected
    assert sorted(graphs.captured) == [1, 2, 4]


def test_the_stock_model_goes_on_as_a_view_of_the_fused_weights():
    model = build("Qwen2")
    prompt = torch.tensor([[3, 1, 4, 1, 5]], device=DEVICE)
    before = model(prompt).logits
    fused = fused_model(model)
    attention = model.model.layers[1].self_attn
    assert torch.equal(model(prompt).logits, before)
    assert attention.q_proj.weight.data_ptr() == fused.layers[1].qkv.weight.data_ptr()
    assert fused_model(model) is fused


@pytest.mark.parametrize("family", ["Llama", "Qwen2"])
def test_these_are_supported(family):
    assert is_supported(build(family))


@pytest.mark.parametrize(
    ("architecture", "config"),
    [("Mistral", {}), ("Qwen3", {"head_dim": 8}), ("Llama", {"hidden_act": "gelu"})],
)
def test_these_are_not_and_get_no_fused_form(architecture, config):
    model = stock(architecture, **config)
    assert not is_supported(model)
    assert fused_model(model) is None


def test_a_linear_layer_of_another_kind_is_not_supported():
    class Adapted(nn.Linear):
        """As an adapter puts it there."""

    model = build("Llama")
    model.model.layers[1].mlp.up_proj = Adapted(24, 40, bias=False)
    assert not is_supported(model)


def test_norm_adds_into_the_residual_before_it_norms():
    residual = torch.tensor([[3.0, 0.0, 0.0, 1.0]], device=DEVICE)
    added = torch.tensor([[0.0, 4.0, 0.0, -1.0]], device=DEVICE)
    weight = torch.tensor([1.0, 2.0, 1.0, 1.0], device=DEVICE)
    out = Norm(weight, 0.0)(residual, added)
    assert residual.tolist() == [[3.0, 4.0, 0.0, 0.0]]
    torch.testing.assert_close(out.cpu(), torch.tensor([[1.2, 3.2, 0.0, 0.0]]))


def test_silu_mul_is_right_past_one_tile():
    x = torch.linspace(-4, 4, 2 * 2 * 1500, device=DEVICE).view(2, -1)
    gate, up = x.chunk(2, -1)
    torch.testing.assert_close(silu_mul(x), nn.functional.silu(gate) * up)
