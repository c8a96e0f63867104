"""The query that is shown is the one that attention got, and showing it changes nothing."""

import pytest
import torch

from engine.config import SamplingParams
from engine.runner.attention.reference import ReferenceAttention
from tests.runner.builders import build_engine, build_loaded, build_stock

PROMPT = [65, 66, 67, 68, 69, 70, 71, 72, 73]


class Noting(ReferenceAttention):
    """Keeps the query of every call: one for each layer, in order."""

    name = "noting"

    def __init__(self):
        self.queries = []

    def forward(self, query, key, value, kv_cache, *, plan, scale):
        self.queries.append(query.clone())
        return super().forward(query, key, value, kv_cache, plan=plan, scale=scale)


def computed(loaded):
    """An engine that has computed a prompt of nine in blocks of four, and what its layers asked."""
    engine, _ = build_engine(loaded, block_size=4)
    engine.runner.backend, engine.runner.one_row = Noting(), None
    engine.add_request("other", [1, 2, 3], sampling=SamplingParams(max_tokens=4))
    engine.add_request("a", PROMPT, sampling=SamplingParams(max_tokens=4))
    engine.schedule()
    engine.run()
    return engine, [query[3:] for query in engine.runner.backend.queries]


@pytest.mark.parametrize(
    ("architecture", "options"),
    [
        ("Llama", {}),
        ("Qwen2", {}),
        ("Mistral", {"sliding_window": 4}),
    ],
)
def test_the_query_is_what_attention_got(architecture, options):
    engine, asked = computed(build_loaded(build_stock(architecture, **options)))
    tables = engine.scheduler.kv_cache_manager.get_block_tables("a")
    for layer in (0, 1):
        for position in (0, 3, 4, 8):
            query, scale = engine.runner.peek_query(PROMPT[position], position, tables, layer=layer)
            assert torch.allclose(torch.tensor(query), asked[layer][position], atol=1e-4)
            assert scale == pytest.approx(8**-0.5)


def test_looking_writes_nothing():
    engine, _ = computed(build_loaded(build_stock()))
    tables = engine.scheduler.kv_cache_manager.get_block_tables("a")
    before = [tensor.clone() for tensor in engine.runner.tensors]
    engine.runner.peek_query(PROMPT[5], 5, tables, layer=1)
    for tensor, old in zip(engine.runner.tensors, before, strict=True):
        assert torch.equal(tensor, old)


def test_the_sizes_are_the_models_and_the_strides_those_of_its_cache():
    engine, _ = computed(build_loaded(build_stock()))
    sizes = engine.runner.attention_sizes
    assert sizes == (4, 2, 8, 4, 0)
    assert sizes.group == 2
    assert engine.runner.kv_caches[0].stride()[1:4] == sizes.strides(4)
    assert engine.runner.path_reason is None
