"""What the GPU's benchmark does around its kernels: no GPU is needed."""

import datetime
import importlib.util
import json
import subprocess
import sys
from typing import Any

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from bench import gpu, gpu_attention, gpu_machine
from bench.gpu_attention import group_batch
from bench.gpu_clock import Clock
from bench.gpu_logits import Float32Step, complaint, off_by
from bench.gpu_model import PATHS, ModelBench
from bench.gpu_report import Report, number
from engine.runner.fused_model import FusedModel
from engine.runner.step_buffer import StepBuffer
from tests.source_tree import ROOT

pytestmark = pytest.mark.kernels  # no GPU, but triton


def test_what_was_measured_survives_the_failure_of_a_later_part():
    report = Report()
    rows = report.rows("decode_step")
    for batch in (1, 8, 32):
        with report.attempt(f"decode_step {batch}"):
            assert batch != 8, "logits are off\nby far"
            rows.append({"batch": batch})
    assert json.loads(json.dumps(report.found)) == {
        "errors": [{"part": "decode_step 8", "error": "AssertionError: logits are off"}],
        "decode_step": [{"batch": 1}, {"batch": 32}],
    }


def test_a_share_of_a_floor_that_was_not_measured_is_no_number_and_costs_no_row():
    assert number(3 / Clock(dry=True).bytes_s) is None
    assert number(0.12345) == 0.123


STOPPED = """
import os, signal, sys
import bench.gpu as gpu
def measure(options, report):
    report.rows("prefill_step").append({"ms": 3.0})
    os.kill(os.getpid(), signal.SIGTERM)
gpu.measure, gpu.why_not = measure, lambda **_: None
sys.argv = ["bench.gpu"]
sys.exit(gpu.main())
"""


def test_a_run_that_is_stopped_says_what_it_had():
    done = subprocess.run([sys.executable, "-c", STOPPED], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["prefill_step"] == [{"ms": 3.0}]
    assert found["errors"] == [{"part": "all", "error": "stopped before its end"}]


def test_the_fused_model_may_be_as_far_from_float32_as_the_stock_model_and_a_little_more():
    assert complaint(stock=0.03, fused=0.040) is None
    assert complaint(stock=0.03, fused=0.045) == (
        "the fused model's logits are 0.045 off float32's, and 0.041 is allowed where the stock "
        "model's are 0.03 off"
    )


@pytest.mark.parametrize("error", [0.2, float("nan")])
def test_logits_that_are_wrong_in_both_are_not_taken_for_rounding(error):
    assert "the stock model's logits are" in (complaint(stock=error, fused=error) or "")
    assert "the fused model's logits are" in (complaint(stock=0.03, fused=error) or "")


def test_a_distance_is_relative_and_over_all_rows():
    exact = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert off_by(torch.tensor([[3.0, 0.5], [0.0, 4.0]]).half(), exact) == pytest.approx(0.1)


@torch.inference_mode()
def test_the_float32_step_says_what_the_stock_model_says_and_leaves_the_cache_alone():
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=3, num_key_value_heads=1, pad_token_id=0,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    ids = torch.tensor([[7, 3, 9, 1, 4, 8]])
    stock = model(input_ids=ids, use_cache=True)
    caches = []
    for layer in stock.past_key_values.layers:
        seen = torch.stack([layer.keys[0], layer.values[0]]).transpose(1, 2)  # [2, 6, 1, 8]
        cache = torch.full((2, 8, 1, 8), float("nan"))
        cache[:, 4:], cache[:, :1] = seen[:, :4], seen[:, 4:5]  # the sixth is the step's to write
        caches.append(cache.view(2, 2, 4, 1, 8))
    before = [cache.clone() for cache in caches]
    group = group_batch(Clock(dry=True), [[1, 0]], 6, block_size=4, query_len=1)
    logits = Float32Step(model).logits(ids[0, -1:], group, caches)
    torch.testing.assert_close(logits, stock.logits[:, -1])
    for cache, then in zip(caches, before, strict=True):
        assert torch.equal(cache.nan_to_num(9), then.nan_to_num(9))


def test_a_python_without_pytest_is_refused_by_the_check_alone(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "pytest" else find(name)
    )
    reason = gpu.why_not(dry=True, check=True) or ""
    assert "lacks pytest, which the tests are run by: name another Python with PYTHON=" in reason
    assert gpu.why_not(dry=True) is None


def test_the_driver_is_asked_for_its_version_and_may_be_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(gpu_machine, "ASK_DRIVER", ("echo", "570.86.15"))
    assert gpu_machine.driver_version() == "570.86.15"
    for absent in (("false",), (str(tmp_path / "nvidia-smi"),)):
        monkeypatch.setattr(gpu_machine, "ASK_DRIVER", absent)
        assert gpu_machine.driver_version() is None


def test_a_record_names_date_card_driver_and_versions(monkeypatch):
    class Card:
        name, major, minor = "NVIDIA H200", 9, 0
        multi_processor_count, total_memory = 132, 139 * 2**30

    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Card)
    monkeypatch.setattr(gpu_machine, "ASK_DRIVER", ("echo", "570.86.15"))
    found = gpu_machine.facts(dry=False)
    then = datetime.datetime.fromisoformat(found["date"])
    assert abs(datetime.datetime.now(datetime.UTC) - then) < datetime.timedelta(minutes=1)
    assert found["torch"] == torch.__version__
    found |= {"cuda": "12.8", "torch": "2.12.0", "triton": "3.7.1", "transformers": "5.24.0"}
    assert gpu_machine.sentence({**found, "date": "2026-11-30T12:00:00+00:00"}) == (
        "NVIDIA H200 (sm_90, 132 processors, 139.0 GiB), driver 570.86.15, CUDA 12.8; "
        "torch 2.12.0, triton 3.7.1, transformers 5.24.0; 2026-11-30T12:00:00+00:00"
    )


def test_sdpa_gets_as_many_sets_of_keys_and_values_as_the_kernel(monkeypatch):
    clock = Clock(dry=True)
    given: list[list[Any]] = []
    monkeypatch.setattr(clock, "num_sets", lambda num_bytes: 5)
    monkeypatch.setattr(clock, "kernel_s", lambda calls: given.append(list(calls)) or 1.0)
    gpu_attention.measure_decode(clock, Report())
    sdpa, *ours = given
    assert [len(sdpa), *map(len, ours)] == [5] * 5
    assert len({call.args[1].data_ptr() for call in sdpa}) == 5
    own_blocks = [set(call.__self__.plan.block_table.flatten().tolist()) for call in ours[0]]
    assert len(set.union(*own_blocks)) == sum(map(len, own_blocks)), "no set reads another's"


@pytest.fixture
def bench(monkeypatch) -> ModelBench:
    """The smallest of models and one wait for each path."""
    monkeypatch.setattr("bench.gpu_model.NUM_HEADS", 3)
    monkeypatch.setattr("bench.gpu_model.NUM_KV_HEADS", 1)
    monkeypatch.setattr("bench.gpu_model.HEAD_SIZE", 16)
    built = ModelBench(Clock(dry=True), Report())
    built.model.set_attn_implementation("pagewalk")
    return built


def test_every_path_of_a_decode_step_fills_its_inputs_each_time(bench, monkeypatch):
    fill, filled = StepBuffer.fill, []
    monkeypatch.setattr(
        StepBuffer,
        "fill",
        lambda buffer, rows: filled.append(len(rows)) or fill(buffer, rows),
    )
    bench.decode()
    assert bench.report.errors == []
    per_path = [0, 2, 2]  # captured without rows, checked, timed
    assert filled == per_path * len(PATHS)


def test_a_path_that_fails_is_named_and_the_others_keep_their_times(bench, monkeypatch):
    def refuse(*_: Any) -> torch.Tensor:
        raise RuntimeError("out of registers")

    monkeypatch.setattr(FusedModel, "__call__", refuse)
    bench.decode()
    (row,) = bench.report.found["decode_step"]
    assert min(row["graph"], row["stock"]) > 0
    assert row["fused"] is row["fused_served"] is row["served_of_floor"] is None
    assert row["fused_off_by"] is None
    assert bench.report.errors[0] == {
        "part": "decode_step 2 x 20, fused", "error": "RuntimeError: out of registers"
    }  # fmt: skip


def test_a_fused_model_that_says_something_else_is_reported_beside_its_time(bench, monkeypatch):
    inner = FusedModel.__call__
    monkeypatch.setattr(FusedModel, "__call__", lambda *given: inner(*given) * 1.5)
    bench.decode()
    (row,) = bench.report.found["decode_step"]
    assert row["fused"] > 0
    assert row["fused_off_by"] == pytest.approx(0.5, abs=1e-3)
    assert bench.report.errors[0]["error"].startswith("the fused model's logits are 0.5 off")


def test_the_kernel_is_also_timed_as_a_graph_has_it_split_for_the_longest_request(monkeypatch):
    clock = Clock(dry=True)
    lengths: list[int] = []
    monkeypatch.setattr(
        clock,
        "kernel_s",
        lambda calls: (
            lengths.extend(call.__self__.plan.max_seq_len for call in calls[:1])
            or float(len(lengths))
        ),
    )
    row = gpu_attention._decode_row(clock, 2, 20, 16, sdpa_s=1.0)
    assert lengths == [20, 64]
    assert (row["us"], row["served_us"]) == (1e6, 2e6)


def test_a_served_step_is_captured_for_more_tokens_than_its_context_has(bench):
    caches = bench.caches(4)
    longest = {
        name: bench._graphs(caches, 2, 20, path).step.max_seq_len for name, path in PATHS.items()
    }
    assert longest == {"stock": 20, "graph": 20, "fused": 20, "fused_served": 64}
