"""The likeliest tokens of a row: compiled and in torch they are the same, for all that logits may be."""

import math

import pytest
import torch

from engine.config import SamplingParams
from engine.runner import likeliest as module
from engine.runner.likeliest import compiled, in_torch, likeliest
from engine.runner.native.library import Library, library
from engine.runner.native.model import NativeDecode
from engine.runner.sampler import Row, sample
from tests.runner.builders import build_engine, build_loaded, build_stock, generate, random_prompt

needs_library = pytest.mark.skipif(library().loaded is None, reason=str(library().reason))
WAYS = [pytest.param(compiled, marks=needs_library), in_torch]
INFINITY = float("inf")


def by_definition(row, count):
    """Pairs of id and logprob of a list of logits: falling, of equal ones the lower id first."""
    largest = max(row)
    normaliser = math.log(sum(math.exp(x - largest) for x in row)) + largest
    ids = sorted(range(len(row)), key=lambda token: (-row[token], token))[:count]
    return [(token, row[token] - normaliser) for token in ids], normaliser


def assert_by_definition(way, logits, count=5):
    found = way(logits, count)
    for row, top, normaliser in zip(logits.tolist(), found.tops, found.normalisers, strict=True):
        expected, expected_normaliser = by_definition(row, count)
        assert [token for token, _ in top] == [token for token, _ in expected]
        assert [value for _, value in top] == pytest.approx([x for _, x in expected], abs=4e-6)
        assert normaliser == pytest.approx(expected_normaliser, abs=4e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("num_rows", [1, 2, 33])
@pytest.mark.parametrize("vocab_size", [5, 7, 8, 127, 128, 129, 300, 640, 1000, 5003])
def test_random_logits_in_any_vocabulary(way, vocab_size, num_rows):
    torch.manual_seed(vocab_size)
    assert_by_definition(way, torch.randn(num_rows, vocab_size) * 6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("vocab_size", [6, 130, 1024, 5003])
def test_of_equal_logits_the_lower_id_comes_first(way, vocab_size):
    torch.manual_seed(0)
    assert_by_definition(way, torch.randint(0, 3, (8, vocab_size)).float())
    assert_by_definition(way, torch.zeros(2, vocab_size))
    signed_zeros = torch.zeros(1, vocab_size)
    signed_zeros[0, ::2] = -0.0
    assert [token for token, _ in way(signed_zeros, 5).tops[0]] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("way", WAYS)
def test_one_of_five_equal_ones_may_stand_in_the_last_chunk(way):
    logits = torch.zeros(1, 1000)
    logits[0, [10, 20, 500, 501, 999]] = 7.0
    assert_by_definition(way, logits)
    logits[0, 998] = 7.0  # six now: the last has no place
    assert [token for token, _ in way(logits, 5).tops[0]] == [10, 20, 500, 501, 998]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("falls", [True, False])
def test_logits_that_rise_or_fall_from_the_first_to_the_last(way, falls):
    logits = torch.linspace(-30, 30, 900)[None]
    assert_by_definition(way, logits.flip(-1) if falls else logits)


@pytest.mark.parametrize("way", WAYS)
def test_impossible_tokens_take_the_last_places_and_no_share(way):
    logits = torch.full((2, 700), -INFINITY)
    logits[0, [3, 600, 77]] = torch.tensor([1.0, 2.0, 1.0])
    logits[1, 699] = -4.0
    found = way(logits, 5)
    assert [token for token, _ in found.tops[0]] == [600, 3, 77, 0, 1]
    assert found.tops[1] == ((699, 0.0), *((token, -INFINITY) for token in range(4)))
    assert found.normalisers == pytest.approx([2 + math.log(1 + 2 / math.e), -4.0])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shift", [-1e4, 3e4])
def test_large_logits_neither_overflow_nor_vanish(way, shift):
    logits = torch.arange(300.0)[None] / 100 + shift
    (top,) = way(logits, 5).tops
    assert [token for token, _ in top] == [299, 298, 297, 296, 295]
    (near_zero,) = way(logits - shift, 5).tops
    assert top[0][1] == pytest.approx(near_zero[0][1], abs=0.005)  # float32 at 30 000


@needs_library
def test_a_large_vocabulary_is_summed_up_as_exactly_as_by_torch():
    torch.manual_seed(1)
    logits = torch.randn(4, 49152) * 4
    exact = logits.double().logsumexp(-1)
    found = torch.tensor(compiled(logits, 5).normalisers, dtype=torch.float64)
    assert (found - exact).abs().max() < 2e-6
    assert [[token for token, _ in top] for top in compiled(logits, 5).tops] == [
        [token for token, _ in top] for top in in_torch(logits, 5).tops
    ]


@needs_library
@pytest.mark.parametrize("place", [0, 131, 299])
@pytest.mark.parametrize("odd", [float("nan"), INFINITY])
def test_a_row_without_a_softmax_is_left_to_torch(odd, place):
    logits = torch.randn(3, 300)
    logits[1, place] = odd
    assert compiled(logits, 5) is None
    assert likeliest(logits, 5).tops[1][0][0] == place
    assert compiled(torch.full((1, 300), -INFINITY), 5) is None
    assert compiled(logits[[0, 2]], 5) is not None


@needs_library
def test_every_number_of_threads_gives_the_same_bits():
    torch.manual_seed(2)
    logits, found = torch.randn(9, 3000), []
    try:
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            found.append(compiled(logits, 5))
    finally:
        torch.set_num_threads(1)
    assert found[1:] == found[:1] * 2
    assert [compiled(row[None], 5).tops[0] for row in logits] == found[0].tops


@needs_library
def test_logits_that_do_not_lie_in_one_piece_are_no_others():
    torch.manual_seed(3)
    logits = torch.randn(300, 4).T
    assert likeliest(logits, 5) == in_torch(logits, 5)
    assert [one.token_id for one in sample(logits, [Row(SamplingParams(), 0)] * 4)] == [
        row.index(max(row)) for row in logits.tolist()
    ]


def test_without_the_library_torch_samples(monkeypatch):
    monkeypatch.setattr(module, "library", lambda: Library(None, "There is no C compiler."))
    logits = torch.randn(2, 300)
    assert compiled(logits, 5) is None
    assert likeliest(logits, 5) == in_torch(logits, 5)


@needs_library
def test_a_step_asks_the_library_and_torch_nothing(monkeypatch):
    engine, _ = build_engine(build_loaded(build_stock().bfloat16()))
    asked = []
    monkeypatch.setattr(module, "in_torch", None)
    monkeypatch.setattr(
        module,
        "compiled",
        lambda logits, count: (asked.append(tuple(logits.shape)), compiled(logits, count))[1],
    )
    assert isinstance(engine.runner.native, NativeDecode)
    for name in "ab":
        engine.add_request(name, random_prompt(4), sampling=SamplingParams(max_tokens=3))
    generate(engine)
    assert asked
    assert {vocab_size for _, vocab_size in asked} == {engine.runner.vocab_size}
    assert max(num_rows for num_rows, _ in asked) == 2


@pytest.mark.parametrize("way", WAYS)
def test_a_token_that_is_not_the_likeliest_has_a_logprob_too(way, monkeypatch):
    monkeypatch.setattr(module, "compiled", way)
    logits = torch.tensor([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]).log()
    rows = [Row(SamplingParams(), 0, forced_token_id=token) for token in (2, 0)]
    found = sample(logits, rows)
    assert [one.token_id for one in found] == [2, 0]
    assert [math.exp(one.logprob) for one in found] == pytest.approx([0.2, 0.1])
    assert [one.top_logprobs[0][0] for one in found] == [0, 2]
