"""`python -m engine run`: prompts on the real default model."""

import functools
import json
from collections.abc import Iterator

import pytest

from engine.__main__ import main
from engine.sources import live
from engine.trace.codec import read_trace
from engine.trace.invariants import check

QUESTIONS = ["What is the capital of France?", "What is the capital of Spain?"]


@pytest.fixture(autouse=True, scope="module")
def _each_model_is_loaded_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "load_model", functools.cache(live.load_model))
        yield


def prompts(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--prompt", text)]


def test_two_prompts_share_the_system_prompt_and_leave_a_trace(tmp_path, capsys):
    file = tmp_path / "run.jsonl.gz"
    arguments = ["run", *prompts(*QUESTIONS), "--max-tokens", "6", "--dtype", "float32"]
    assert main([*arguments, "--block-size", "8", "--json", "--trace", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "The capital of France" in printed
    assert "block table at the end: [1, 2, 3, 4, 5, " in printed
    result = json.loads(printed.splitlines()[-1])
    first, second = result["requests"]
    assert result["steps"] == 6
    assert [first["num_cached_tokens"], second["num_cached_tokens"]] == [0, 24]
    assert first["output_token_ids"][:4] == [504, 3575, 282, 4649]  # The capital of France
    assert first["finish_reason"] == "length"
    assert first["prompt_token_ids"][:20] == second["prompt_token_ids"][:20]

    loaded = read_trace(file)
    assert loaded.problem is None
    state = loaded.trace.at(loaded.trace.last)
    check(state)
    assert state.requests["r0"].output_text == first["text"]
    assert state.requests["r0"].added.prompt_text == QUESTIONS[0]
    assert list(state.requests["r1"].output_token_ids) == second["output_token_ids"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--prompt", "", "--raw"], "cannot be empty"),
        (["--prompt", "x", "--max-tokens", "0"], "max_tokens=0"),
        (["--prompt", "x", "--temperature", "nan"], "temperature=nan"),
        (["--prompt", "x", "--temperature", "-1"], "temperature=-1.0 is negative"),
        (["--prompt", "x", "--block-size", "0"], "block_size=0"),
        (["--prompt", "x", "--num-blocks", "1"], "num_blocks=1"),
        (["--prompt", "x", "--max-num-batched-tokens", "3"], "below max_num_seqs=64"),
        (["--prompt", "x", "--seed", "-1"], "seed=-1"),
        (["--prompt", "x", "--model", "/nowhere/at/all"], "/nowhere/at/all"),
        (["--prompt", "x", "--device", "abacus"], "abacus"),
        (["--prompt", "x", "--dtype", "float3"], "float3"),
        (["--prompt", "x" * 60_000], "60,000 characters"),
        (["--prompt", "word " * 3000], "max_model_len=2048"),
        (["--prompt", "hi", "--num-blocks", "3"], "the pool has 2"),
        (["--prompt", "hi", "--kv-cache-memory-bytes", "1 GB"], "1 GB is no number of bytes"),
        (["--prompt", "hi", "--kv-cache-memory-bytes", "0"], "268435456, or auto"),
        (
            ["--prompt", "hi", "--kv-cache-memory-bytes", "4294967297"],
            "--kv-cache-memory-bytes 4294967297: at most 4294967296 are taken",
        ),
        (["--prompt", "hi", "--kv-cache-memory-bytes", "9000000"], "max_model_len=2048 needs 128"),
        (["--prompt", "hi", "--max-model-len", "0"], "max_model_len=0"),
        (["--prompt", "hi", "--max-model-len", "9000"], "exceeds the 8192 positions"),
        (["--prompt", "hi", "--max-model-len", "20"], "max_model_len=20"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_1(arguments, said, capsys):
    assert main(["run", *arguments]) == 1
    captured = capsys.readouterr()
    assert said in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(
    ("given", "num_blocks"),
    [
        ("100000000", 271),  # 30 layers, K and V, 16 tokens, 3 heads of 64 in bfloat16: 368,640
        ("auto", None),
    ],
)
def test_a_pool_is_as_large_as_its_memory(given, num_blocks, capsys):
    options = ["--max-tokens", "1", "--dtype", "bfloat16", "--kv-cache-memory-bytes", given]
    assert main(["run", *prompts("Hi"), *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])["num_blocks"]
    assert found == num_blocks if num_blocks else found > 271
