"""The way out of a standstill leads to the end: with so many blocks, everybody finishes."""

import random

import pytest

from engine.config import EngineConfig, GroupConfig, SamplingParams
from engine.engine import Engine
from engine.questions.stuck import Need, why_stuck
from engine.trace.header import TraceHeader
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from tests.core.test_state_machine import AnyTokenRunner
from tests.questions.builders import request, run

GROUPS = (None, None, (GroupConfig(type="full"), GroupConfig(type="sliding", window=6)))


def run_of(num_blocks, requests, **settings):
    """The engine and its trace, when all are done, nothing moves, or far more steps than it takes."""
    config = EngineConfig(num_blocks=num_blocks, refuse_oversized=False, **settings)
    trace = Trace(TraceHeader(config=config.to_mapping()))
    engine = Engine(config, AnyTokenRunner(), emit=trace.append)
    for number, (prompt, max_tokens) in enumerate(requests):
        engine.add_request(f"r{number}", prompt, sampling=SamplingParams(max_tokens=max_tokens))
    while engine.has_unfinished_requests and not engine.is_stuck and engine.step_index < 400:
        engine.step()
    return engine, trace


@pytest.mark.parametrize("seed", range(60))
def test_with_as_many_blocks_as_it_says_all_finish_and_with_one_less_never(seed):
    rng = random.Random(seed)
    settings = {
        "block_size": rng.randint(1, 4),
        "max_num_batched_tokens": rng.randint(4, 24),
        "max_num_seqs": rng.randint(1, 4),
        "max_model_len": 40,
        "enable_prefix_caching": rng.random() < 0.7,
        "kv_groups": rng.choice(GROUPS),
    }
    requests = [
        ([rng.randint(0, 1) for _ in range(rng.randint(1, 20))], rng.randint(1, 24))
        for _ in range(rng.randint(1, 6))
    ]
    num_blocks = rng.randint(2, 8)
    engine, trace = run_of(num_blocks, requests, **settings)
    if not engine.is_stuck:
        return
    autopsy = why_stuck(trace.at(trace.last))
    assert autopsy is not None
    assert autopsy.outgrows_pool
    assert autopsy.largest.num_blocks >= autopsy.to_finish.num_blocks
    enough = autopsy.largest.num_blocks + 1
    assert not run_of(enough, requests, **settings)[0].has_unfinished_requests
    if settings["kv_groups"] is None:  # a window's blocks are counted at the most
        one_less, _ = run_of(enough - 1, requests, **settings)
        assert one_less.has_unfinished_requests  # it waits, or computes the same again for ever


def test_a_standstill_counts_what_the_request_needs_by_its_end():
    """32 tokens and 16 new ones, of which the last has no K and V: 47 slots in 6 blocks of 8."""
    settings = {"block_size": 8, "refuse_oversized": False, "max_num_batched_tokens": 64}
    long = request("long", range(32), output=[1] * 16)
    for num_blocks, needed_now in ((5, 5), (6, 6)):
        trace = run(long, num_blocks=num_blocks, **settings)
        autopsy = why_stuck(trace.at(trace.last))
        assert autopsy is not None
        assert (autopsy.cause, autopsy.num_blocks_needed) == ("oversized", needed_now)
        assert autopsy.to_finish == Need("long", 48, 6)
    state = (trace := run(long, num_blocks=7, **settings)).at(trace.last)
    assert why_stuck(state) is None
    assert state.requests["long"].is_finished


def test_who_stands_behind_the_head_and_needs_more_is_named():
    trace = run(
        request("head", range(12), output=[1] * 6),
        request("behind", range(100, 108), output=[1] * 14),
        num_blocks=4,
        refuse_oversized=False,
    )
    autopsy = why_stuck(trace.at(trace.last))
    assert autopsy is not None
    assert (autopsy.request_id, autopsy.is_deadlock) == ("head", True)
    assert autopsy.to_finish == Need("head", 18, 5)
    assert autopsy.largest == Need("behind", 22, 6)


def test_who_can_be_admitted_but_never_finish_is_known_before_it_stands_still():
    long = request("long", range(8), output=[1] * 10)
    trace = run(long, num_blocks=4, refuse_oversized=False)
    autopsy = why_stuck(trace.at(Cursor(0, 1)))
    assert autopsy is not None
    assert (autopsy.cause, autopsy.outgrows_pool) == ("nothing", True)
    assert (autopsy.to_finish.num_blocks, autopsy.num_usable_blocks) == (5, 3)
