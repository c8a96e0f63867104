"""A run on the real model: what a page asks of it, and what it repeats."""

import pytest

from engine.config import EngineConfig, SamplingParams
from engine.engine import Engine
from engine.errors import ConfigError
from engine.runner.model_runner import ModelRunner
from engine.sources.live import LiveSource, load_model
from engine.trace.codec import without_times
from engine.trace.events import TokensSampled
from engine.trace.trace import Trace

CONFIG = EngineConfig(block_size=8, num_blocks=40, max_num_batched_tokens=32, max_model_len=200)


@pytest.fixture(scope="module")
def model():
    return load_model(dtype="float32", num_threads=1)


def finish(source: LiveSource) -> None:
    while source.has_unfinished_requests and source.stuck_reason is None:
        source.step()


def start(model, *prompts: str, **settings) -> LiveSource:
    config = EngineConfig.from_mapping({**CONFIG.to_mapping(), **settings})
    source = LiveSource(model, config)
    for prompt in prompts:
        source.add_request(prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True))
    return source


def test_the_folded_trace_equals_the_engine_after_every_step(model):
    source = start(model, "Name a colour.", "Name a city.", num_blocks=9)
    while source.has_unfinished_requests:
        source.step()
        assert source.trace.at(source.trace.last).snapshot() == source.engine.snapshot()
    state = source.trace.at(source.trace.last)
    assert state.requests["r1"].num_cached_tokens == 24
    assert state.num_preemptions > 0


def test_a_replay_rebuilds_k_and_v_and_goes_on_as_the_original(model):
    source = start(model, "Name a colour.", "Count to ten.")
    finish(source)
    events = source.trace.events_from(0)
    half = source.engine.step_index // 2
    again = Trace(source.trace.header)
    runner = ModelRunner(model, num_blocks=40, block_size=8, max_model_len=200)
    engine = Engine(source.config, runner, emit=again.emit)
    engine.replay(events, until=half)
    assert engine.step_index == half
    while engine.has_unfinished_requests:
        engine.step()

    def comparable(trace: Trace) -> list[object]:
        plain = [without_times(event) for event in trace.events_from(0)]
        return [e.token_ids if isinstance(e, TokensSampled) else e for e in plain]

    assert comparable(again) == comparable(source.trace)
    for block_id in (1, 2, 3):
        assert runner.peek_kv(block_id, 5, 1)[0][0] == pytest.approx(
            source.peek_kv(block_id, 5, 1)[0][0], abs=1e-4
        )


def test_a_sampled_run_repeats_itself_through_preemption(model):
    def texts(num_blocks: int) -> list[str]:
        source = LiveSource(
            model, EngineConfig.from_mapping({**CONFIG.to_mapping(), "num_blocks": num_blocks})
        )
        for seed in (1, 2):
            sampling = SamplingParams(max_tokens=12, temperature=0.8, seed=seed, ignore_eos=True)
            source.add_request("Tell me a story.", sampling=sampling)
        finish(source)
        state = source.trace.at(source.trace.last)
        assert (state.num_preemptions > 0) == (num_blocks < 20)
        return [request.output_text for request in state.requests.values()]

    assert texts(8) == texts(40)


def test_wrong_input_is_refused_and_the_run_goes_on(model):
    source = start(model, "Name a colour.")
    source.step()
    before = source.trace.num_events
    for text, mode in (("", "raw"), ("word " * 300, "chat"), ("x" * 100_000, "raw")):
        with pytest.raises(ConfigError):
            source.add_request(text, mode=mode)
    for ids in ([], [-1], [model.vocab_size], [True], [1.0], ["7"], [[1]]):
        with pytest.raises(ConfigError):
            source.add_request(ids)
    assert source.trace.num_events == before
    finish(source)
    assert source.trace.at(source.trace.last).requests["r0"].finish_reason in ("stop", "length")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_model_len": 9000}, "8192 positions"),
        ({"num_blocks": 100_000}, "lower num_blocks to"),
        ({"kv_groups": [{"type": "sliding", "window": 4}]}, "come from the model"),
    ],
)
def test_settings_that_do_not_fit_the_model_are_refused(model, settings, said):
    with pytest.raises(ConfigError, match=said):
        start(model, **settings)


def test_a_standstill_is_said_and_an_abort_ends_it(model):
    source = start(model, "Name a colour.", num_blocks=4)
    finish(source)
    assert source.stuck_reason is not None
    assert "r0" in source.stuck_reason
    assert source.abort("r0")
    assert not source.has_unfinished_requests
    assert source.reset_prefix_cache()
