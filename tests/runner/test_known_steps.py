"""A step that was computed once for exactly this history is taken over; any other is computed."""

import threading
from dataclasses import replace

import pytest
import torch

from engine.config import SamplingParams
from engine.core.output import ScheduledRequest, SchedulerOutput
from engine.core.request import Request
from engine.runner.attention.backend import GroupBatch
from engine.runner.input_batch import InputBatch
from engine.runner.known_steps import KnownSteps
from engine.runner.model_runner import ModelRunner
from tests.runner.builders import (
    FAMILIES,
    answers,
    build_engine,
    build_loaded,
    build_stock,
    generate,
    random_prompt,
    stock_answer,
)

ROOM = 16 << 20
WARM = SamplingParams(max_tokens=9, temperature=1.0, seed=5, ignore_eos=True)
GREEDY = SamplingParams(max_tokens=9, ignore_eos=True)
PROMPTS = [random_prompt(n) for n in (3, 17, 40)]


@pytest.fixture(scope="module")
def plain():
    return build_loaded(build_stock())


@pytest.fixture
def sharing(plain):
    return replace(plain, known_steps=KnownSteps(ROOM))


class Counted:
    """How many steps a runner computed itself."""

    def __init__(self, runner):
        self.runner, self.compute, self.num = runner, runner._forward, 0
        runner._forward = self

    def __call__(self, batch):
        self.num += 1
        return self.compute(batch)


def batch(token_ids, *, start=0, table=(1, 2), sample=True, block_size=4):
    """One request's tokens from position `start` on, in the blocks of `table`."""
    end = start + len(token_ids)
    slots = [table[p // block_size] * block_size + p % block_size for p in range(start, end)]
    rows = [len(token_ids) - 1] if sample else []
    group = GroupBatch(block_size, [0, len(token_ids)], [end], [list(table)], torch.tensor(slots))
    return InputBatch(
        input_ids=torch.tensor([token_ids]),
        positions=torch.tensor([list(range(start, end))]),
        sample_rows=torch.tensor(rows, dtype=torch.int64),
        sampling=(),
        groups=(group,),
    )


def runner_of(loaded, **options):
    runner = ModelRunner(loaded, **{"num_blocks": 6, "block_size": 4, **options})
    return runner, Counted(runner)


@pytest.mark.parametrize(("architecture", "config"), FAMILIES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_taken_over_equals_bit_for_bit_what_is_computed(architecture, config, dtype):
    plain = build_loaded(build_stock(architecture, **config).to(dtype))
    sharing = replace(plain, known_steps=KnownSteps(ROOM))
    runs = []
    for loaded in (plain, sharing, sharing):
        settings = {"num_blocks": 36, "max_num_batched_tokens": 9, "max_num_seqs": 4}
        engine, events = build_engine(loaded, block_size=4, **settings)
        counted = Counted(engine.runner)
        for index, prompt in enumerate(PROMPTS):
            engine.add_request(str(index), prompt, sampling=(WARM, GREEDY, WARM)[index])
        tokens = generate(engine)
        sampled = [event for event in events if type(event).__name__ == "TokensSampled"]
        peeked = [str(engine.runner.peek_kv(block, 1, 1)) for block in range(36)]
        runs.append((tokens, sampled, peeked, engine.runner.tensors, counted.num))
    alone, first, second = runs
    assert alone[:3] == first[:3] == second[:3]
    for expected, computed, taken in zip(alone[3], first[3], second[3], strict=True):
        assert torch.equal(expected, computed)
        assert torch.equal(expected, taken)
    assert first[4] == alone[4] > 10
    assert second[4] == 0


def test_known_logits_are_the_same_bits_and_may_be_changed_by_whoever_got_them(sharing):
    first, _ = runner_of(sharing)
    second, counted = runner_of(sharing)
    expected = first.forward(batch([1, 2, 3, 4, 5])).clone()
    with torch.inference_mode():
        second.forward(batch([1, 2, 3, 4, 5])).fill_(0.0)
    third, _ = runner_of(sharing)
    assert torch.equal(third.forward(batch([1, 2, 3, 4, 5])), expected)
    assert counted.num == 0
    assert expected.dtype == torch.float32


@pytest.mark.parametrize(
    "other",
    [
        batch([1, 2, 3, 4, 6]),
        batch([1, 2, 3, 4]),
        batch([1, 2, 3, 4, 5], table=(2, 1)),
        batch([1, 2, 3, 4, 5], table=(1, 3)),
        batch([1, 2, 3, 4, 5], table=(1, 2, 3)),
        batch([1, 2, 3, 4, 5], sample=False),
        batch([1, 2, 3, 4, 5], start=1),
    ],
    ids=["token", "length", "blocks", "last block", "longer table", "no sample", "position"],
)
def test_another_batch_is_computed_and_so_is_all_that_follows(sharing, other):
    first, _ = runner_of(sharing)
    first.forward(batch([1, 2, 3, 4, 5]))
    first.forward(batch([6], start=5))
    second, counted = runner_of(sharing)
    second.forward(other)
    assert counted.num == 1
    second.forward(batch([6], start=5))
    assert counted.num == 2


@pytest.mark.parametrize(
    "options", [{"num_blocks": 7}, {"block_size": 8}, {"groups": [[0], [1]], "num_blocks": 6}]
)
def test_another_cache_has_another_history(sharing, options):
    sizes = {"block_size": 4, **options}
    first, _ = runner_of(sharing)
    first.forward(batch([1, 2, 3]))
    second, counted = runner_of(sharing, **sizes)
    same = batch([1, 2, 3], block_size=sizes["block_size"])
    groups = same.groups * len(options.get("groups", [0]))
    second.forward(replace(same, groups=groups))
    assert counted.num == 1


def test_another_number_of_threads_may_round_otherwise_and_computes(sharing):
    first, _ = runner_of(sharing)
    first.forward(batch([1, 2, 3]))
    second, counted = runner_of(sharing)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        second.forward(batch([1, 2, 3]))
    finally:
        torch.set_num_threads(before)
    assert counted.num == 1


def test_a_step_that_fails_leaves_a_runner_that_knows_nothing_and_tells_nothing(sharing):
    first, _ = runner_of(sharing)
    first.forward(batch([1, 2, 3]))
    first.forward(batch([4], start=3))
    second, counted = runner_of(sharing)
    second.forward(batch([1, 2, 3]))
    compute = counted.compute
    counted.compute = lambda given: torch.zeros(1)[5]
    with pytest.raises(IndexError):
        second.forward(batch([5], start=3))
    counted.compute, counted.num = compute, 0
    num_known = len(sharing.known_steps)
    second.forward(batch([4], start=3))
    assert counted.num == 1
    second.forward(batch([7], start=4))
    assert counted.num == 2
    assert len(sharing.known_steps) == num_known


def test_two_runs_with_a_common_start_part_where_they_differ(sharing, plain):
    stock = build_stock()
    later = {"one": [5, 6, 7], "other": [5, 6, 8]}
    expected = {name: stock_answer(stock, prompt, 9) for name, prompt in later.items()}
    both = stock_answer(stock, PROMPTS[1], 9)
    engines = {name: build_engine(sharing, block_size=4)[0] for name in later}
    counts = {name: Counted(engine.runner) for name, engine in engines.items()}
    tokens = {name: {"start": [], name: []} for name in later}
    for engine in engines.values():
        engine.add_request("start", PROMPTS[1], sampling=GREEDY)
    for step in range(30):
        for name, engine in engines.items():
            if step == 4:
                engine.add_request(name, later[name], sampling=GREEDY)
            for output in engine.step() if engine.has_unfinished_requests else ():
                tokens[name][output.request_id].extend(output.token_ids)
    assert tokens == {name: {"start": both, name: expected[name]} for name in later}
    assert counts["one"].num == counts["other"].num + 4, "the four steps of the common start"
    for name, engine in engines.items():
        alone, _ = build_engine(plain, block_size=4)
        alone.add_request("start", PROMPTS[1], sampling=GREEDY)
        for step in range(30):
            if step == 4:
                alone.add_request(name, later[name], sampling=GREEDY)
            if alone.has_unfinished_requests:
                alone.step()
        for ours, theirs in zip(engine.runner.tensors, alone.runner.tensors, strict=True):
            assert torch.equal(ours, theirs)


def test_another_draw_from_the_same_logits_is_drawn(sharing, plain):
    other = SamplingParams(max_tokens=9, temperature=1.0, seed=6, ignore_eos=True)
    found = [answers(sharing, PROMPTS[:1], sampling=sampling) for sampling in (WARM, other)]
    assert found == [answers(plain, PROMPTS[:1], sampling=sampling) for sampling in (WARM, other)]
    assert found[0] != found[1]
    assert sharing.known_steps.num_found >= 1, "the prompt at least"


def keep(known, name, num_bytes):
    half = torch.zeros(num_bytes // 2, dtype=torch.uint8)
    known.keep(name, half, half.clone())


def test_the_room_is_kept_and_what_was_not_used_for_the_longest_time_goes():
    known = KnownSteps(100)
    for name in (b"a", b"b", b"c"):
        keep(known, name, 30)
    assert known.find(b"a") is not None
    keep(known, b"d", 30)
    assert [known.find(name) is not None for name in (b"a", b"b", b"c", b"d")] == [
        True,
        False,
        True,
        True,
    ]
    assert known.num_bytes == 90
    keep(known, b"d", 30)
    assert known.num_bytes == 90, "the same step twice"
    keep(known, b"e", 102)
    assert (len(known), known.num_bytes) == (3, 90), "more than all the room"


def test_a_run_that_found_no_room_is_computed_again(plain, sharing):
    small = replace(plain, known_steps=KnownSteps(8_000))
    expected = answers(plain, PROMPTS, sampling=GREEDY)
    assert [answers(small, PROMPTS, sampling=GREEDY) for _ in range(3)] == [expected] * 3
    assert 0 < small.known_steps.num_bytes <= 8_000


def test_threads_that_share_what_they_compute_say_what_each_says_alone(sharing, plain):
    expected = [answers(plain, PROMPTS, block_size=size) for size in (4, 16)]
    found = {}

    def serve(number):
        found[number] = answers(sharing, PROMPTS, block_size=(4, 16)[number % 2])

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: expected[number % 2] for number in range(6)}


def test_it_is_off_unless_somebody_turns_it_on(plain):
    assert plain.known_steps is None
    runner = ModelRunner(plain, num_blocks=4, block_size=4)
    assert runner.steps is None
    request = Request("a", [1, 2, 3, 4], sampling=SamplingParams(), arrival_time=0.0)
    share = SchedulerOutput([ScheduledRequest(request, "new", 4, 0, ((1,),))], [], (0,), 4)
    assert list(runner.execute(share, {"a": ((1,),)}.__getitem__).sampled) == ["a"]
