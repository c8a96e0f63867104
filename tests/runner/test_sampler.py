"""Which token comes out of a row of logits."""

import math

import pytest
import torch

from engine.config import SamplingParams
from engine.runner.sampler import NUM_TOP_LOGPROBS, Row, draw, sample, truncate, uniform


def logits_of(*probabilities: float) -> torch.Tensor:
    return torch.tensor(probabilities).log()


def test_greedy_takes_the_first_of_the_largest():
    rows = torch.tensor([[0.0, 3.0, 1.0, 3.0], [5.0, 3.0, 1.0, 2.0]])
    drawn = sample(rows, [Row(SamplingParams(), 0)] * 2)
    assert [one.token_id for one in drawn] == [1, 0]


@pytest.mark.parametrize("vocab_size", [3, 100, 128, 256, 1024])
def test_of_equal_logits_greedy_takes_the_first_in_any_vocabulary(vocab_size):
    torch.manual_seed(0)
    logits = torch.randint(0, 3, (20, vocab_size)).float()
    rows = [Row(SamplingParams(temperature=0.0), 0)] * 20
    expected = [row.index(max(row)) for row in logits.tolist()]
    assert [found.token_id for found in sample(logits, rows)] == expected


@pytest.mark.parametrize(
    ("u", "token_id"), [(0.0, 0), (0.49, 0), (0.51, 1), (0.79, 1), (0.81, 2), (1 - 2**-53, 2)]
)
def test_a_draw_is_where_the_cumulated_probability_passes_u(u, token_id):
    assert draw(logits_of(0.5, 0.3, 0.2), SamplingParams(temperature=1.0), u) == token_id


def test_a_token_without_probability_is_never_drawn():
    logits = torch.tensor([float("-inf"), 0.0, float("-inf"), 0.0, float("-inf")])
    drawn = {draw(logits, SamplingParams(temperature=1.0), u / 50) for u in range(50)}
    assert drawn == {1, 3}
    assert draw(logits, SamplingParams(temperature=1.0), 1 - 2**-53) == 3


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, [True, True, True, True]),
        ({"top_k": 1}, [False, True, False, False]),
        ({"top_k": 2}, [False, True, True, False]),
        ({"top_k": 3}, [True, True, True, False]),
        ({"top_k": 4}, [True, True, True, True]),
        ({"top_k": 99}, [True, True, True, True]),
        ({"top_p": 0.39}, [False, True, False, False]),
        ({"top_p": 0.41}, [False, True, True, False]),
        ({"top_p": 0.71}, [True, True, True, False]),
        ({"top_p": 0.91}, [True, True, True, True]),
        ({"top_p": 1e-9}, [False, True, False, False]),
        # of the two that top-k leaves, the first alone makes up 4/7
        ({"top_k": 2, "top_p": 0.5}, [False, True, False, False]),
        ({"top_k": 2, "top_p": 0.6}, [False, True, True, False]),
    ],
)
def test_top_k_comes_before_top_p(options, kept):
    scaled = logits_of(0.2, 0.4, 0.3, 0.1).double()
    assert truncate(scaled, SamplingParams(temperature=1.0, **options)).tolist() == kept


def test_top_k_keeps_what_ties_with_its_last():
    scaled = logits_of(0.3, 0.3, 0.3, 0.1).double()
    assert truncate(scaled, SamplingParams(temperature=1.0, top_k=1)).tolist() == [True] * 3 + [
        False
    ]


def nucleus_by_definition(scaled, top_p):
    """Every token in falling order, of equal ones the first, until those before it reach p."""
    order = sorted(range(len(scaled)), key=lambda token: (-scaled[token], token))
    weights = [math.exp(scaled[token] - scaled[order[0]]) for token in order]
    before, kept = 0.0, {order[0]}
    for token, weight in zip(order, weights):
        if before < top_p * sum(weights):
            kept.add(token)
        before += weight
    return kept


@pytest.mark.parametrize("top_p", [1e-9, 0.3, 0.8, 0.95, 0.999])
@pytest.mark.parametrize("spread", [0.0, 0.3, 2.0, 20.0])
def test_the_nucleus_is_what_a_sort_of_the_whole_vocabulary_finds(spread, top_p):
    torch.manual_seed(6)
    scaled = torch.randn(701).double() * spread
    for logits in (scaled, scaled.round(), scaled.masked_fill(scaled > 0, float("-inf"))):
        keep = truncate(logits, SamplingParams(temperature=1.0, top_p=top_p))
        assert set(keep.nonzero()[:, 0].tolist()) == nucleus_by_definition(logits.tolist(), top_p)


def test_frequencies_follow_the_probabilities():
    logits = logits_of(0.5, 0.3, 0.2)
    sampling = SamplingParams(temperature=1.0, seed=4)
    drawn = [draw(logits, sampling, uniform(4, n)) for n in range(2000)]
    for token_id, expected in enumerate((0.5, 0.3, 0.2)):
        assert abs(drawn.count(token_id) / 2000 - expected) < 0.04


def test_temperature_flattens_and_sharpens():
    logits = logits_of(0.6, 0.4)
    hot, cold = SamplingParams(temperature=100.0), SamplingParams(temperature=0.01)
    assert draw(logits, hot, 0.51) == 1
    assert draw(logits, cold, 0.999) == 0
    assert all(0 <= draw(torch.randn(50) * 1e4, hot, u / 9) < 50 for u in range(9))


def test_a_draw_depends_on_seed_and_index_alone():
    assert uniform(0, 0) == uniform(0, 0)
    numbers = {uniform(seed, n) for seed in range(30) for n in range(30)}
    assert len(numbers) == 900
    assert all(0 <= number < 1 for number in numbers)
    assert abs(sum(numbers) / 900 - 0.5) < 0.03


def test_a_row_draws_the_same_in_any_batch():
    torch.manual_seed(1)
    logits = torch.randn(5, 300)
    rows = [Row(SamplingParams(temperature=0.9, top_k=20, seed=seed), seed) for seed in range(5)]
    together = [one.token_id for one in sample(logits, rows)]
    alone = [sample(logits[i : i + 1], [rows[i]])[0].token_id for i in range(5)]
    assert together == alone


def test_a_recorded_token_is_taken_and_judged():
    logits = logits_of(0.5, 0.3, 0.2)[None]
    (drawn,) = sample(logits, [Row(SamplingParams(), 3, forced_token_id=2)])
    assert drawn.token_id == 2
    assert math.isclose(drawn.logprob, math.log(0.2), rel_tol=1e-5)
    assert drawn.top_logprobs[0][0] == 0


def test_logprobs_are_of_the_raw_logits():
    logits = logits_of(0.5, 0.3, 0.2)[None] + 7
    (drawn,) = sample(logits, [Row(SamplingParams(temperature=0.01, top_k=1), 0)])
    assert math.isclose(drawn.logprob, math.log(0.5), rel_tol=1e-5)
    ids, logprobs = zip(*drawn.top_logprobs)
    assert ids == (0, 1, 2)
    assert [round(math.exp(value), 4) for value in logprobs] == [0.5, 0.3, 0.2]


@pytest.mark.parametrize("vocab_size", [6, 300, 128 * 4, 128 * 6, 128 * 40])
def test_the_top_five_are_the_largest_in_any_vocabulary(vocab_size):
    torch.manual_seed(vocab_size)
    logits = torch.randn(3, vocab_size)
    for row, drawn in zip(logits, sample(logits, [Row(SamplingParams(), 0)] * 3)):
        expected = row.log_softmax(-1).topk(NUM_TOP_LOGPROBS)
        assert [id_ for id_, _ in drawn.top_logprobs] == expected.indices.tolist()
        found = torch.tensor([value for _, value in drawn.top_logprobs])
        assert (found - expected.values).abs().max() < 1e-5
        assert abs(drawn.logprob - float(expected.values[0])) < 1e-5


def test_nobody_to_sample_for_is_no_work():
    assert sample(torch.empty(0, 9), []) == []
