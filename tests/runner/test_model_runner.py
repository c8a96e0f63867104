"""A runner under a real scheduler, on tiny random models: nothing may change what a request says."""

import threading

import pytest
import torch

from engine.config import SamplingParams
from engine.core.output import ModelOutput, ScheduledRequest, SchedulerOutput
from engine.core.request import Request
from engine.runner.model_runner import ModelRunner
from engine.trace.events import RequestFinished, TokensSampled
from tests.runner.builders import (
    answers,
    build_engine,
    build_loaded,
    build_stock,
    generate,
    random_prompt,
    stock_answer,
    streamed_text,
)

PROMPTS = [random_prompt(n) for n in (1, 2, 3, 7, 15, 16, 17, 40)]
SEEDED = SamplingParams(
    max_tokens=12, temperature=0.9, top_k=50, top_p=0.95, seed=5, ignore_eos=True
)


@pytest.fixture(scope="module")
def tiny():
    return build_loaded(build_stock())


@pytest.fixture(scope="module")
def expected():
    stock = build_stock()
    return [stock_answer(stock, prompt) for prompt in PROMPTS]


@pytest.mark.parametrize("block_size", [1, 3, 4, 16, 32])
@pytest.mark.parametrize("budget", [7, 64])
def test_tokens_equal_generate_at_any_block_size_and_budget(tiny, expected, block_size, budget):
    settings = {"block_size": block_size, "max_num_batched_tokens": budget, "max_num_seqs": 7}
    assert answers(tiny, PROMPTS, **settings) == expected


def test_a_request_says_the_same_alone(tiny, expected):
    assert [answers(tiny, [prompt])[0] for prompt in PROMPTS] == expected


def test_through_preemption_and_resume(tiny, expected):
    engine, events = build_engine(tiny, block_size=4, num_blocks=19, max_model_len=70)
    for index, prompt in enumerate(PROMPTS):
        engine.add_request(
            str(index), prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True)
        )
    assert list(generate(engine).values()) == expected
    assert sum(type(event).__name__ == "RequestPreempted" for event in events) > 1


def test_with_prefix_hits(tiny):
    shared = random_prompt(33, seed=9)
    prompts = [shared, [*shared, 5, 6], [*shared[:20], 9], shared[:17]]
    stock = build_stock()
    expected = [stock_answer(stock, prompt) for prompt in prompts]
    assert (
        answers(tiny, prompts, block_size=4) == expected
    )  # hits in the step that fills the blocks
    engine, _ = build_engine(tiny, block_size=4)
    for index, prompt in enumerate(prompts):
        engine.add_request(
            str(index), prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True)
        )
        assert generate(engine)[str(index)] == expected[index]


@pytest.mark.parametrize(
    ("architecture", "config"),
    [
        ("Qwen2", {}),
        ("Qwen3", {"head_dim": 8}),
        ("Llama", {"num_key_value_heads": 1}),
        ("Llama", {"num_attention_heads": 6, "num_key_value_heads": 2, "hidden_size": 48}),
        ("Mistral", {"sliding_window": 5}),
        ("Qwen2", {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}),
        ("GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}),
        ("OPT", {"ffn_dim": 48, "word_embed_proj_dim": 32}),
        ("GPTNeoX", {}),
    ],
)
@pytest.mark.parametrize("budget", [9, 64])
def test_other_architectures_windows_and_hybrids(architecture, config, budget):
    stock = build_stock(architecture, **config)
    prompts = [random_prompt(n) for n in (1, 6, 23, 40)]
    expected = [stock_answer(stock, prompt) for prompt in prompts]
    loaded = build_loaded(build_stock(architecture, **config))
    settings = {"block_size": 4, "max_num_batched_tokens": budget, "max_num_seqs": 4}
    assert answers(loaded, prompts, **settings) == expected
    tight = {**settings, "num_blocks": 34, "max_model_len": 60}
    assert answers(loaded, prompts, **tight) == expected


def test_a_seeded_draw_is_the_same_alone_in_a_batch_and_through_preemption(tiny):
    alone = [answers(tiny, [prompt], sampling=SEEDED)[0] for prompt in PROMPTS]
    assert len({tuple(tokens) for tokens in alone}) > 1
    assert answers(tiny, PROMPTS, sampling=SEEDED) == alone
    assert (
        answers(tiny, PROMPTS, sampling=SEEDED, block_size=4, num_blocks=19, max_model_len=70)
        == alone
    )
    other = SamplingParams(max_tokens=12, temperature=0.9, top_k=50, seed=6, ignore_eos=True)
    assert answers(tiny, PROMPTS[:1], sampling=other) != alone[:1]


def test_two_engines_on_one_model_take_turns_without_a_trace(tiny, expected):
    first, _ = build_engine(tiny, block_size=4)
    second, _ = build_engine(tiny, block_size=16, max_num_batched_tokens=32)
    for index, prompt in enumerate(PROMPTS):
        sampling = SamplingParams(max_tokens=12, ignore_eos=True)
        (first if index % 2 else second).add_request(str(index), prompt, sampling=sampling)
    tokens: dict[str, list[int]] = {str(index): [] for index in range(len(PROMPTS))}
    while first.has_unfinished_requests or second.has_unfinished_requests:
        for engine in (first, second):
            for output in engine.step():
                tokens[output.request_id].extend(output.token_ids)
    assert list(tokens.values()) == expected


def test_engines_in_threads_share_a_model(tiny, expected):
    found: dict[int, list[list[int]]] = {}

    def serve(number: int) -> None:
        found[number] = answers(tiny, PROMPTS, block_size=(1, 4, 16, 32)[number])

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(4), expected)


def test_a_replay_with_recorded_tokens_rebuilds_k_and_v(tiny):
    prompt = PROMPTS[5]
    sampling = SamplingParams(max_tokens=12, ignore_eos=True)
    first, events = build_engine(tiny, block_size=4)
    first.add_request("a", prompt, sampling=sampling)
    tokens = generate(first)["a"]
    recorded = [event for event in events if isinstance(event, TokensSampled)]
    again, replayed = build_engine(tiny, block_size=4)
    again.add_request("a", prompt, sampling=sampling)
    for event in recorded[:6]:
        again.step({"a": event.token_ids})
    assert [e.logprobs for e in replayed if isinstance(e, TokensSampled)] == [
        event.logprobs for event in recorded[:6]
    ]
    rest = [token for output in iter_outputs(again) for token in output.token_ids]
    assert rest == tokens[6:]
    for ours, theirs in zip(again.runner.tensors, first.runner.tensors):
        assert torch.equal(ours, theirs)


def iter_outputs(engine):
    while engine.has_unfinished_requests:
        yield from engine.step()


def test_a_recorded_token_that_greedy_would_not_take_is_followed(tiny):
    engine, events = build_engine(tiny, block_size=4)
    engine.add_request("a", [1, 2, 3], sampling=SamplingParams(max_tokens=3, ignore_eos=True))
    engine.step({"a": (77,)})
    generate(engine)
    assert events_tokens(events)[:1] == [77]
    assert events_tokens(events)[1:] == stock_answer(build_stock(), [1, 2, 3, 77], 2)


def events_tokens(events):
    return [t for event in events if isinstance(event, TokensSampled) for t in event.token_ids]


@pytest.mark.parametrize("num_blocks", [200, 12])
def test_the_stream_is_the_text_of_the_tokens_through_preemptions(tiny, num_blocks):
    engine, events = build_engine(
        tiny, block_size=4, num_blocks=num_blocks, max_model_len=44, max_num_batched_tokens=64
    )
    for name in "abc":
        engine.add_request(
            name,
            random_prompt(9, ord(name)),
            sampling=SamplingParams(max_tokens=24, ignore_eos=True),
        )
    tokens = generate(engine)
    decode = tiny.tokenizer.pretrained.decode
    for name in "abc":
        whole = decode(tokens[name], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        assert whole.rstrip("\ufffd") == streamed_text(events, name).rstrip("\ufffd")
    assert engine.runner.detokenizers == {}


def test_a_stop_string_ends_a_request_and_is_cut_off(tiny):
    prompt, sampling = PROMPTS[3], {"max_tokens": 40, "ignore_eos": True}
    engine, events = build_engine(tiny)
    engine.add_request("a", prompt, sampling=SamplingParams(**sampling))
    whole_tokens = generate(engine)["a"]
    whole = streamed_text(events, "a")
    assert len(whole) > 9
    stop = whole[6:8]
    end = whole.index(stop)
    engine, events = build_engine(tiny)
    engine.add_request("a", prompt, sampling=SamplingParams(**sampling, stop=(stop,)))
    tokens = generate(engine)["a"]
    assert streamed_text(events, "a") == whole[:end]
    assert tokens == whole_tokens[: len(tokens)]
    assert len(tokens) < len(whole_tokens)
    assert [event.reason for event in events if isinstance(event, RequestFinished)] == ["stop"]


def test_end_of_text_ends_a_request_and_writes_nothing():
    stock = build_stock()
    answer = stock_answer(stock, PROMPTS[2], 12)
    eos = next(token for index, token in enumerate(answer) if index >= 3)
    loaded = build_loaded(build_stock(eos_token_id=eos))
    engine, _ = build_engine(loaded)
    engine.add_request("a", PROMPTS[2], sampling=SamplingParams(max_tokens=12))
    assert generate(engine)["a"] == answer[: answer.index(eos) + 1]


def test_logprobs_come_with_every_token(tiny):
    engine, events = build_engine(tiny)
    engine.add_request("a", PROMPTS[4], sampling=SamplingParams(max_tokens=5, ignore_eos=True))
    generate(engine)
    for event in (e for e in events if isinstance(e, TokensSampled)):
        assert event.top_logprobs[0][0] == (event.token_ids[0], event.logprobs[0])
        assert len(event.top_logprobs[0]) == 5
        assert event.token_bytes == (tiny.tokenizer.bytes_of(event.token_ids[0]),)


def test_garbage_in_a_reused_block_does_not_leak(tiny, expected):
    engine, _ = build_engine(tiny, block_size=16)
    for tensor in engine.runner.tensors:
        tensor.fill_(float("nan"))
    for index, prompt in enumerate(PROMPTS):
        engine.add_request(
            str(index), prompt, sampling=SamplingParams(max_tokens=12, ignore_eos=True)
        )
    assert list(generate(engine).values()) == expected


def test_an_empty_step_asks_the_model_nothing(tiny):
    runner = ModelRunner(tiny, num_blocks=4, block_size=4)
    assert runner.execute(SchedulerOutput([], [], (0,), 0), lambda _: ()) == ModelOutput()


def test_a_step_of_prefill_alone_samples_nothing(tiny):
    runner = ModelRunner(tiny, num_blocks=4, block_size=4)
    request = Request("a", [1, 2, 3, 4], sampling=SamplingParams(), arrival_time=0.0)
    step = SchedulerOutput([ScheduledRequest(request, "new", 3, 0, ((1,),))], [], (0,), 3)
    assert runner.execute(step, {"a": ((1,),)}.__getitem__).sampled == {}


def test_the_header_says_what_decides_the_numbers(tiny):
    fields = ModelRunner(tiny, num_blocks=4, block_size=4).header_fields()
    assert fields["model"] == "tiny"
    assert fields["dtype"] == "float32"
    assert fields["device"] == "cpu"
    assert fields["kernel_path"].startswith("torch-reference+")
    assert fields["tokenizer_id"].startswith("sha256:")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_runs_and_keeps_a_half_precision_cache(dtype):
    loaded = build_loaded(build_stock().to(dtype))
    assert loaded.dtype == dtype
    runner = ModelRunner(loaded, num_blocks=4, block_size=4)
    assert runner.tensors[0].dtype == dtype
    assert all(len(tokens) == 12 for tokens in answers(loaded, PROMPTS))
