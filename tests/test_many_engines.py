"""One model, many engines: a step of one visitor's run changes nothing of another's."""

import random
import threading

import msgspec
import pytest

from engine.sources.live import LiveSource
from tests.runner.builders import build_loaded, build_stock
from tests.test_branch import CONFIG, GREEDY, WARM, rounded

NUM_VISITORS, NUM_STEPS = 5, 12


@pytest.fixture(scope="module")
def model():
    return build_loaded(build_stock())


def visit(model, number):
    """Each with prompts and a pool of its own, so that one that is mixed up would be seen."""
    source = LiveSource(model, msgspec.structs.replace(CONFIG, num_blocks=20 + number))
    for sampling in (GREEDY, WARM):
        source.add_request(f"Visitor {number} asks for a story.", mode="raw", sampling=sampling)
    return source


def step(source, number, at):
    if at == number:
        source.add_request("And another one?", mode="raw", sampling=WARM)
    if at == number + 3:
        source.reset_prefix_cache()
    source.step()


def keys_and_values(source):
    blocks = range(source.config.num_blocks)
    return [source.peek_kv(block_id, 0, 0) for block_id in blocks]


@pytest.fixture(scope="module")
def alone(model):
    runs = []
    for number in range(NUM_VISITORS):
        source = visit(model, number)
        for at in range(NUM_STEPS):
            step(source, number, at)
        runs.append(source)
    return runs


def check_same(runs, alone):
    for run, other in zip(runs, alone, strict=True):
        assert rounded(run.trace) == rounded(other.trace)
        assert str(keys_and_values(run)) == str(keys_and_values(other)), "nan is not nan"


def test_steps_that_take_turns_are_those_of_runs_alone(model, alone):
    runs = [visit(model, number) for number in range(NUM_VISITORS)]
    turns = [number for number in range(NUM_VISITORS) for _ in range(NUM_STEPS)]
    random.Random(7).shuffle(turns)
    done = [0] * NUM_VISITORS
    for number in turns:
        step(runs[number], number, done[number])
        done[number] += 1
    check_same(runs, alone)


def test_threads_that_share_the_model_under_its_lock_get_the_runs_they_would_have_alone(
    model, alone
):
    runs = [visit(model, number) for number in range(NUM_VISITORS)]
    lock, start = threading.Lock(), threading.Barrier(NUM_VISITORS)

    def go(number):
        start.wait()
        for at in range(NUM_STEPS):
            with lock:
                step(runs[number], number, at)

    visitors = [threading.Thread(target=go, args=(number,)) for number in range(NUM_VISITORS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    check_same(runs, alone)
