"""Decode steps in C say what torch says, whatever lies where; without a compiler torch goes on."""

import stat
import sys
import threading

import pytest
import torch

from engine.config import SamplingParams
from engine.runner.architecture import AttentionShape, StockAnswer, ask_stock, deviation
from engine.runner.attention.reference import ReferenceAttention
from engine.runner.four_bit import keep_stored_weights
from engine.runner.model_runner import ModelRunner
from engine.runner.native import library as library_module
from engine.runner.native.library import library
from engine.runner.native.model import FEW_ROWS, MAX_ROWS, NativeDecode, NativeModel
from engine.runner.native.trial import NativeForm, is_supported, native_form, says_the_same
from tests.runner.builders import (
    FAMILIES,
    VOCAB_SIZE,
    answers,
    build_engine,
    build_loaded,
    build_stock,
    generate,
    random_prompt,
    stock_answer,
)
from tests.runner.test_four_bit import Q4_0, Q4_1, SHAPE, write_gguf

HAS_LIBRARY = library().loaded is not None
needs_library = pytest.mark.skipif(not HAS_LIBRARY, reason=str(library().reason))
SHAPES = [
    *FAMILIES,
    ("Llama", {"hidden_size": 36, "num_attention_heads": 9, "num_key_value_heads": 3}),
    ("Llama", {"hidden_size": 42, "num_attention_heads": 7, "num_key_value_heads": 1}),
    ("Llama", {"hidden_size": 68, "intermediate_size": 70, "head_dim": 22}),
]
TWELVE = SamplingParams(max_tokens=12, ignore_eos=True)


def with_native(stock, **settings):
    """An engine on the native form of `stock`, in any dtype, with a cache full of NaN; or the same
    without it."""
    model = NativeModel(stock)
    loaded = build_loaded(stock)
    engine, _ = build_engine(loaded, **settings)
    runner = engine.runner
    for tensor in runner.tensors:
        tensor.fill_(float("nan"))
    runner.native = NativeDecode(model, runner.kv_caches, runner.kinds)
    return engine


def ask(engine, prompts, sampling=TWELVE):
    for index, prompt in enumerate(prompts):
        engine.add_request(str(index), prompt, sampling=sampling)
    return list(generate(engine).values())


@needs_library
@pytest.mark.parametrize(("architecture", "config"), SHAPES)
@pytest.mark.parametrize("block_size", [1, 4, 7])
def test_float32_tokens_equal_generate_and_unwritten_slots_do_not_leak(
    architecture, config, block_size
):
    prompts = [random_prompt(n) for n in (11, 1, 40, MAX_ROWS + 9)]
    expected = [stock_answer(build_stock(architecture, **config), p) for p in prompts]
    engine = with_native(build_stock(architecture, **config), block_size=block_size)
    assert [ask(engine, [prompt])[0] for prompt in prompts] == expected
    engine = with_native(build_stock(architecture, **config), block_size=block_size)
    assert ask(engine, prompts) == expected


@needs_library
def test_tokens_are_the_same_when_requests_are_cut_and_preempted():
    prompts = [random_prompt(n, seed) for seed, n in enumerate((9, 17, 25, 12, 30, 8))]
    expected = [stock_answer(build_stock(), prompt) for prompt in prompts]
    engine = with_native(
        build_stock(),
        block_size=4,
        num_blocks=24,
        max_model_len=64,
        max_num_batched_tokens=16,
        max_num_seqs=8,
    )
    assert ask(engine, prompts) == expected


@needs_library
def test_positions_beyond_those_that_are_turned_at_once(monkeypatch):
    monkeypatch.setattr("engine.runner.native.model.TURNS_AT_ONCE", 4)
    engine = with_native(build_stock())
    assert ask(engine, [random_prompt(7)]) == [stock_answer(build_stock(), random_prompt(7))]
    assert len(engine.runner.native.model.cosines) == 20


class Recording(ModelRunner):
    def forward(self, batch):
        self.logits = [*getattr(self, "logits", ()), super().forward(batch).float()]
        return self.logits[-1]


def logits_of(loaded, prompt, *, native):
    """[12, vocab_size]: of the prompt, and of each token after it, the same ones for both."""
    engine, _ = build_engine(loaded, block_size=4)
    engine.runner = Recording(
        loaded, num_blocks=200, block_size=4, groups=engine.runner.layout.groups
    )
    assert engine.runner.native is not None
    if not native:
        engine.runner.native = None
    ask(engine, [prompt], SamplingParams(max_tokens=1))
    for token in random_prompt(11, seed=5):
        prompt = [*prompt, token]
        ask(engine, [prompt], SamplingParams(max_tokens=1))
    return torch.cat(engine.runner.logits)


@needs_library
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.bfloat16, 0.05), (torch.float16, 0.005)])
@pytest.mark.parametrize(("architecture", "config"), SHAPES)
def test_half_precision_differs_from_torch_by_rounding(architecture, config, dtype, tolerance):
    loaded = build_loaded(build_stock(architecture, **config).to(dtype))
    found = logits_of(loaded, random_prompt(30), native=True)
    expected = logits_of(loaded, random_prompt(30), native=False)
    assert deviation(found, expected) < tolerance


@needs_library
@pytest.mark.parametrize("kind", [Q4_0, Q4_1])
def test_stored_bits_say_what_their_dequantised_values_say(tmp_path, kind):
    stock = build_stock(**SHAPE)
    write_gguf(tmp_path / "a.gguf", stock, kind)
    keep_stored_weights(stock, tmp_path / "a.gguf")
    model = NativeModel(stock)
    assert model.name == "native-four_bit"
    answer = ask_stock(stock, VOCAB_SIZE)
    close = StockAnswer(answer.input_ids, answer.logits)
    shape = AttentionShape(2, 8, (None, None))
    assert says_the_same(model, close, shape)  # of float32: to a thousandth
    wrong = StockAnswer(answer.input_ids, answer.logits + 0.1 * answer.logits.flip(-1))
    assert not says_the_same(model, wrong, shape)


@needs_library
def test_every_number_of_threads_gives_the_same_bits():
    found = []
    try:
        for num_threads in (1, 2, 5, 3, 1):
            torch.set_num_threads(num_threads)
            loaded = build_loaded(build_stock().bfloat16())
            found.append(logits_of(loaded, random_prompt(30), native=True))
    finally:
        torch.set_num_threads(1)
    assert all(torch.equal(each, found[0]) for each in found)


@needs_library
def test_prompts_take_more_threads_where_somebody_gives_them_and_say_the_same():
    loaded, prompts = build_loaded(build_stock().bfloat16()), [random_prompt(n) for n in (30, 3)]
    expected = answers(loaded, prompts)
    engine, _ = build_engine(loaded)
    native, asked = engine.runner.native, []
    step = native.decode_step
    native.decode_step = lambda model, given: (
        asked.append((given.num_rows, given.num_threads)),
        step(model, given),
    )[1]
    loaded.native.model.prompt_threads = 3
    assert ask(engine, prompts) == expected
    assert {threads for rows, threads in asked if rows > FEW_ROWS} == {3}
    assert {threads for rows, threads in asked if rows <= FEW_ROWS} == {torch.get_num_threads()}
    assert torch.get_num_threads() == 1


@needs_library
@pytest.mark.parametrize("token_id", [-1, 128, 10**12])
def test_a_token_that_the_model_does_not_know_is_refused_and_nothing_is_read(token_id):
    stock = build_stock("Llama", vocab_size=128)
    engine = with_native(stock)
    request_id = engine.add_request("0", [1, 2, 3], sampling=TWELVE)
    engine.scheduler.requests[request_id or "0"].token_ids[1] = token_id
    with pytest.raises(IndexError, match="not all are among 128 tokens"):
        engine.step()
    assert all(tensor.isnan().all() for tensor in engine.runner.tensors)


@needs_library
def test_engines_that_step_at_once_do_not_disturb_each_other():
    loaded = build_loaded(build_stock().bfloat16())
    prompts = [random_prompt(20, seed) for seed in range(4)]
    expected = [answers(loaded, [prompt]) for prompt in prompts]
    found = [[] for _ in prompts]

    def work(index):
        for _ in range(10):
            found[index].append(answers(loaded, [prompts[index]]))

    torch.set_num_threads(2)
    try:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(prompts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        torch.set_num_threads(1)
    assert found == [[each] * 10 for each in expected]


@needs_library
def test_a_runner_says_that_its_steps_are_native_and_long_prompts_go_through_torch():
    loaded = build_loaded(build_stock().bfloat16())
    runner = ModelRunner(loaded, num_blocks=9, block_size=4)
    assert runner.header_fields()["kernel_path"].endswith("+native-bfloat16")
    assert runner.path_reason is None

    class Other(ReferenceAttention):
        name = "other"

    assert ModelRunner(loaded, num_blocks=9, block_size=4, backend=Other()).native is None
    engine, _ = build_engine(loaded)
    native = engine.runner.native
    assert native.model is loaded.native.model
    steps, step = [], native.step
    native.step = lambda batch: (steps.append(batch.input_ids.shape[1]), step(batch))[1]
    ask(engine, [random_prompt(MAX_ROWS + 1), random_prompt(3)])
    assert set(steps) <= {1, 2}
    assert len(steps) >= 11


def test_float32_and_other_architectures_stay_with_torch():
    assert native_form(build_stock()) == (None, None)
    for architecture in ("Qwen3", "Olmo2", "GPT2"):
        assert native_form(build_stock(architecture).bfloat16()) == (None, None)
    assert not is_supported(build_stock(hidden_act="gelu"))
    odd = {"hidden_size": 33, "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 8}
    assert not is_supported(build_stock(**odd))
    assert is_supported(build_stock())


@needs_library
def test_a_form_that_says_something_else_is_not_taken():
    stock = build_stock().bfloat16()
    answer, form = ask_stock(stock, VOCAB_SIZE), native_form(stock)
    shape = AttentionShape(2, 8, (None, None))
    assert form.tried(answer, shape) is form
    wrong = StockAnswer(answer.input_ids, answer.logits.flip(-1))
    assert form.tried(wrong, shape) == NativeForm(
        None, "Decode steps run in torch: the compiled ones gave other logits."
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell script")
def test_without_a_working_compiler_there_is_a_sentence_and_torch(tmp_path, monkeypatch):
    monkeypatch.setattr(library_module, "BUILD", tmp_path / "build")
    monkeypatch.setenv("CC", "no-such-compiler")
    missing = library_module.library.__wrapped__()
    assert missing.loaded is None
    assert missing.reason.startswith("Decode steps run in torch: there is no C compiler")
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\necho 'x.c:1: error: unknown -march' >&2\nexit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(broken))
    reason = library_module.library.__wrapped__().reason
    assert reason.endswith("did not compile the faster ones (x.c:1: error: unknown -march).")
    assert list((tmp_path / "build").iterdir()) == []
    monkeypatch.setattr("engine.runner.native.trial.library", lambda: missing)
    loaded = build_loaded(build_stock().bfloat16())
    runner = ModelRunner(loaded, num_blocks=9, block_size=4)
    assert runner.native is None
    assert runner.path_reason == missing.reason
    assert len(answers(loaded, [random_prompt(9)])[0]) == 12


@needs_library
def test_another_version_of_the_sources_is_another_library(tmp_path, monkeypatch):
    before = library_module._identity()
    for file in library_module._files():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setattr(library_module, "SOURCES", tmp_path)
    assert library_module._identity() == before
    (tmp_path / "step.c").write_text("// another\n")
    assert library_module._identity() != before


def test_a_model_that_leaves_too_little_memory_stays_with_torch(monkeypatch):
    monkeypatch.setattr("engine.runner.native.trial.free_bytes", lambda device: 1 << 10)
    form = native_form(build_stock().bfloat16())
    assert form.model is None
    assert form.reason.endswith("need 0 MiB, and 0 MiB are free.")
