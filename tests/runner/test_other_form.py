"""The same model in a second dtype beside the first: when it is on offer, and what both share."""

import threading

import gguf
import pytest
import torch

from engine.config import SamplingParams
from engine.errors import ConfigError
from engine.runner import other_form
from engine.runner.four_bit import keep_stored_weights, kernel_works
from engine.runner.model_folder import say_nothing
from engine.runner.model_loader import load_model
from engine.runner.other_form import dtypes_on_offer, load_beside, stores_four_bits
from engine.trace.events import TokensSampled
from tests.runner.builders import (
    answers,
    build_engine,
    build_loaded,
    build_stock,
    build_tokenizer,
    generate,
    random_prompt,
)
from tests.runner.test_four_bit import SHAPE, write_gguf

F32, Q4_0, Q4_1, Q8_0 = (
    gguf.GGMLQuantizationType[name] for name in ("F32", "Q4_0", "Q4_1", "Q8_0")
)
DRAWN = SamplingParams(max_tokens=12, temperature=1.0, seed=3, ignore_eos=True)
needs_kernel = pytest.mark.skipif(not kernel_works(), reason="torch has no 4-bit kernel here")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tiny")
    build_stock().save_pretrained(place)
    build_tokenizer().save_pretrained(place)
    return str(place)


@pytest.mark.parametrize(
    ("kind", "found"), [(Q4_0, True), (Q4_1, True), (Q8_0, False), (F32, False)]
)
def test_a_file_says_whether_it_stores_4_bits(tmp_path, kind, found):
    write_gguf(tmp_path / "a.gguf", build_stock(**SHAPE), kind)
    assert stores_four_bits(tmp_path / "a.gguf") is found


def test_words_and_arrays_before_the_tensors_are_passed_over(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_array("words", ["one", "", "three \N{BLACK STAR}"])
    writer.add_array("numbers", [1, 2, 3])
    writer.add_bool("is", True)
    writer.add_float64("wide", 0.5)
    stored = gguf.quants.quantize(torch.ones(2, 32).numpy(), Q4_1)
    writer.add_tensor("weight", stored, raw_dtype=Q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert stores_four_bits(tmp_path / "a.gguf")
    content = (tmp_path / "a.gguf").read_bytes()
    for end in range(0, content.index(b"weight"), 7):
        (tmp_path / "cut.gguf").write_bytes(content[:end])
        assert not stores_four_bits(tmp_path / "cut.gguf")


@pytest.mark.parametrize(
    "content", [b"", b"GGU", b"no model at all", b"GGUF" + b"\xff" * 60, b"GGUF" + b"\0" * 60]
)
def test_what_is_no_gguf_file_stores_none(tmp_path, content):
    (tmp_path / "a.gguf").write_bytes(content)
    assert not stores_four_bits(tmp_path / "a.gguf")
    assert not stores_four_bits(tmp_path / "missing.gguf")


@needs_kernel
@pytest.mark.model
def test_the_packaged_model_and_a_file_with_4_bits_offer_them_and_nothing_else_does(
    tmp_path, monkeypatch
):
    loaded = build_loaded(build_stock())
    write_gguf(tmp_path / "a.gguf", build_stock(**SHAPE), Q4_1)
    write_gguf(tmp_path / "b.gguf", build_stock(**SHAPE), Q8_0)
    assert dtypes_on_offer(loaded, None) == ("float32", "4bit")
    assert dtypes_on_offer(loaded, str(tmp_path / "a.gguf")) == ("float32", "4bit")
    for other in (str(tmp_path / "b.gguf"), str(tmp_path), "Qwen/Qwen2-0.5B-Instruct"):
        assert dtypes_on_offer(loaded, other) == ()
    monkeypatch.setattr(other_form, "kernel_works", lambda: False)
    assert dtypes_on_offer(loaded, None) == ()


@needs_kernel
def test_a_server_that_runs_4_bits_offers_bfloat16_beside_them(tmp_path):
    stock = build_stock(**SHAPE)
    write_gguf(tmp_path / "a.gguf", stock, Q4_1)
    stock = stock.bfloat16()
    keep_stored_weights(stock, tmp_path / "a.gguf")
    assert dtypes_on_offer(build_loaded(stock), str(tmp_path / "a.gguf")) == ("4bit", "bfloat16")


def test_the_second_form_takes_the_tokenizer_and_shares_no_computed_step(folder):
    loaded = load_model(folder, dtype="float32", known_steps_bytes=1 << 20)
    prompts = [random_prompt(9), random_prompt(14)]
    before = answers(loaded, prompts)
    assert len(loaded.known_steps) > 0
    found = load_beside(
        loaded, folder, dtype="bfloat16", progress=say_nothing, known_steps_bytes=1 << 20
    )
    assert (found.dtype_name, loaded.dtype_name) == ("bfloat16", "float32")
    assert found.tokenizer is loaded.tokenizer
    assert len(found.known_steps) == 0
    num_found = loaded.known_steps.num_found
    answers(found, prompts)
    assert loaded.known_steps.num_found == num_found
    assert answers(loaded, prompts) == before


def test_while_the_second_form_loads_the_first_computes_what_it_computed_before(folder):
    loaded, prompts = load_model(folder, dtype="float32"), [random_prompt(9), random_prompt(14)]
    before, found = answers(loaded, prompts), []

    def load():
        found.append(load_beside(loaded, folder, dtype="bfloat16", progress=say_nothing))

    thread = threading.Thread(target=load)
    thread.start()
    num_rounds = 0
    while thread.is_alive() or num_rounds == 0:
        assert answers(loaded, prompts) == before
        num_rounds += 1
    thread.join()
    assert answers(found[0], prompts) == answers(load_model(folder, dtype="bfloat16"), prompts)


def loaded_in(form, folder, architecture="Llama"):
    if form != "4bit":
        return build_loaded(build_stock(architecture).to(getattr(torch, form)))
    stock = build_stock(architecture, **SHAPE)
    write_gguf(folder / "a.gguf", stock, Q4_1)
    stock = stock.bfloat16()
    keep_stored_weights(stock, folder / "a.gguf")
    return build_loaded(stock)


def drawn_under(default, loaded, *, in_torch):
    """What is sampled while torch's default dtype is another: the process has one, and transformers
    changes it while it reads a model."""
    engine, events = build_engine(loaded)
    if in_torch:
        engine.runner.native = None
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        for num_tokens in (9, 14, 40):
            engine.add_request(str(num_tokens), random_prompt(num_tokens), sampling=DRAWN)
        generate(engine)
    finally:
        torch.set_default_dtype(before)
    return [event for event in events if isinstance(event, TokensSampled)]


@pytest.mark.parametrize("in_torch", [False, True])
@pytest.mark.parametrize(
    ("architecture", "form"),
    [
        ("Llama", "float32"),
        ("Llama", "bfloat16"),
        ("Llama", "float16"),
        pytest.param("Llama", "4bit", marks=needs_kernel),
        ("Phi3", "bfloat16"),
    ],
)
def test_no_step_depends_on_torchs_default_dtype(tmp_path, architecture, form, in_torch):
    first, again = (loaded_in(form, tmp_path, architecture) for _ in range(2))
    expected = drawn_under(torch.float32, first, in_torch=in_torch)
    assert drawn_under(torch.bfloat16, again, in_torch=in_torch) == expected


def test_without_memory_for_both_it_is_refused_before_anything_is_read(monkeypatch):
    loaded = build_loaded(build_stock())
    monkeypatch.setattr(other_form, "free_bytes", lambda device: 100_000)
    monkeypatch.setattr(other_form, "load_model", lambda *_, **__: pytest.fail("it was read"))
    with pytest.raises(ConfigError) as refused:
        load_beside(loaded, None, dtype="bfloat16", progress=say_nothing)
    assert refused.value.code == "loading.no_memory"
    assert str(refused.value).startswith("0 MiB of memory are needed to load them, and 0 MiB are")
