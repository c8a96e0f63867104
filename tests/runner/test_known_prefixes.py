"""Compiled steps compute row by row, so the first tokens of a prompt may come from another run."""

from dataclasses import replace

import pytest
import torch

from engine.config import SamplingParams
from engine.runner.known_prefixes import PIECE, share_steps
from engine.runner.known_steps import KnownSteps
from engine.runner.native.library import library
from engine.runner.native.trial import is_row_by_row
from tests.runner.builders import (
    FAMILIES,
    build_engine,
    build_loaded,
    build_stock,
    generate,
    random_prompt,
)

pytestmark = pytest.mark.skipif(library().loaded is None, reason="needs the compiled steps")
ROOM = 16 << 20
GREEDY = SamplingParams(max_tokens=5, ignore_eos=True)
SYSTEM = random_prompt(24, seed=3)


class Counted:
    """How many rows went through the compiled steps of a runner."""

    def __init__(self, native):
        self.native, self.num_rows = native, []

    def step(self, batch):
        self.num_rows.append(batch.input_ids.shape[1])
        return self.native.step(batch)


def served(loaded, prompts, **settings):
    """Tokens and logprobs, cache tensors, rows by step."""
    engine, events = build_engine(loaded, **{"block_size": 4, "num_blocks": 60, **settings})
    counted = Counted(engine.runner.native)
    engine.runner.native = counted
    for index, prompt in enumerate(prompts):
        engine.add_request(str(index), prompt, sampling=GREEDY)
    generate(engine)
    sampled = [event for event in events if type(event).__name__ == "TokensSampled"]
    return sampled, engine.runner.tensors, counted.num_rows


def check_same(found, expected):
    assert found[0] == expected[0]
    for ours, theirs in zip(found[1], expected[1], strict=True):
        assert torch.equal(ours, theirs)


@pytest.fixture(scope="module")
def plain():
    return build_loaded(build_stock().bfloat16())


@pytest.fixture
def sharing(plain):
    return share_steps(plain, ROOM)


def test_another_prompt_with_the_same_beginning_computes_what_is_its_own(sharing, plain):
    mine, yours = [*SYSTEM, *random_prompt(9, 1)], [*SYSTEM, *random_prompt(14, 2)]
    first, second = served(sharing, [mine]), served(sharing, [yours])
    check_same(first, served(plain, [mine]))
    check_same(second, served(plain, [yours]))
    assert first[2][0] == 33
    assert second[2][0] == 14


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(("architecture", "config"), FAMILIES)
def test_what_comes_out_is_the_same_bits_in_every_batch_and_in_other_blocks(
    architecture, config, dtype
):
    plain = build_loaded(build_stock(architecture, **config).to(dtype))
    sharing = share_steps(plain, ROOM)
    rooms = [
        ([SYSTEM], {}),
        ([random_prompt(5), [*SYSTEM, 7, 8], SYSTEM[:17]], {}),
        ([[*SYSTEM[:20], 9, 9, 9], [*SYSTEM, 7, 8, 9], random_prompt(11)], {"block_size": 8}),
        ([[*SYSTEM, 1], random_prompt(30), [*SYSTEM, 2]], {"max_num_batched_tokens": 32}),
        ([[*SYSTEM, 3]], {"enable_prefix_caching": False, "block_size": 16}),
    ]
    for prompts, settings in rooms:
        check_same(served(sharing, prompts, **settings), served(plain, prompts, **settings))
    assert sharing.known_steps.num_found >= 8


@pytest.mark.parametrize(
    ("length", "num_computed"), [(1, 1), (8, 8), (9, 9), (10, 2), (17, 9), (18, 2), (26, 2)]
)
def test_whole_pieces_are_taken_and_two_rows_at_least_are_computed(sharing, length, num_computed):
    prompt = random_prompt(26, seed=4)
    served(sharing, [[*prompt, 1, 2]])
    assert served(sharing, [prompt[:length]])[2][0] == num_computed
    assert PIECE == 8


def test_a_token_that_differs_ends_what_is_taken(sharing):
    served(sharing, [SYSTEM])
    other = [*SYSTEM[:10], 99, *SYSTEM[11:]]
    assert served(sharing, [other])[2][0] == 16


def test_a_chunk_in_the_middle_of_a_prompt_is_computed(sharing, plain):
    prompt = random_prompt(40, seed=5)
    settings = {"max_num_batched_tokens": 16, "max_num_seqs": 4}
    served(sharing, [[*prompt, 1]])
    found = served(sharing, [prompt], **settings)
    check_same(found, served(plain, [prompt], **settings))
    assert found[2][:3] == [8, 16, 8]


def test_a_long_step_goes_through_torch_and_takes_no_prefix(sharing, plain):
    prompts = [[*SYSTEM, *random_prompt(60, seed)] for seed in (1, 2)]
    served(sharing, [SYSTEM])
    found = served(sharing, prompts)
    check_same(found, served(plain, prompts))


def test_a_library_whose_rows_depend_on_each_other_shares_no_prefix(plain, monkeypatch):
    trial = {"cache_shape": (2, 8), "dtype": torch.bfloat16}
    assert is_row_by_row(plain.native.model, plain.windows, **trial)
    assert share_steps(plain, ROOM).known_steps.has_prefixes

    def step(decode, input_ids, positions, sample_rows, groups):
        return compute(decode, input_ids, positions, sample_rows, groups) + len(input_ids) / 1024

    compute = type(build_engine(plain)[0].runner.native).__call__
    monkeypatch.setattr("engine.runner.native.model.NativeDecode.__call__", step)
    assert not is_row_by_row(plain.native.model, plain.windows, **trial)
    shared = share_steps(plain, ROOM)
    assert not shared.known_steps.has_prefixes
    assert build_engine(shared)[0].runner.prefixes is None


def test_without_compiled_steps_there_are_known_steps_and_no_known_prefixes():
    shared = share_steps(build_loaded(build_stock()), ROOM)
    engine, _ = build_engine(shared)
    assert engine.runner.steps is not None
    assert engine.runner.prefixes is None


def test_pieces_and_steps_share_one_room(plain):
    small = replace(plain, known_steps=KnownSteps(20_000, has_prefixes=True))
    for seed in range(6):
        prompt = [*SYSTEM, *random_prompt(9, seed)]
        check_same(served(small, [prompt]), served(plain, [prompt]))
    assert 0 < small.known_steps.num_bytes <= 20_000
