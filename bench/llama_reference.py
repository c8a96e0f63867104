"""Runs inside an environment that has llama-cpp-python, not in ours.

Reads the workloads as one JSON object from standard input (see apart.py), runs them on each GGUF
file named there and prints one JSON object as its last line. Imports nothing of Pagewalk.
"""

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

WORK = json.load(sys.stdin)
BATCH_TOKENS = 512


def load(path: str) -> llama_cpp.Llama:
    return llama_cpp.Llama(
        path,
        n_ctx=2 * BATCH_TOKENS,
        n_batch=BATCH_TOKENS,
        n_ubatch=BATCH_TOKENS,
        n_threads=WORK["num_threads"],
        n_threads_batch=WORK["num_threads"],
        verbose=False,
    )


def next_token(llama: llama_cpp.Llama) -> int:
    """The most likely one after what was evaluated last."""
    logits = llama_cpp.llama_get_logits(llama.ctx)
    return int(np.argmax(np.ctypeslib.as_array(logits, (llama.n_vocab(),))))


def decode_tok_s(llama: llama_cpp.Llama, prompt: list[int]) -> float:
    """Greedy tokens of one request, counted after its first."""
    llama.reset()
    llama.eval(prompt)
    token = next_token(llama)
    num_steps = WORK["num_new_tokens"] - 1
    start_s = time.perf_counter()
    for _ in range(num_steps):
        llama.eval([token])
        token = next_token(llama)
    return num_steps / (time.perf_counter() - start_s)


def prefill_tok_s(llama: llama_cpp.Llama, prompt: list[int]) -> float:
    llama.reset()
    start_s = time.perf_counter()
    llama.eval(prompt)
    next_token(llama)
    return len(prompt) / (time.perf_counter() - start_s)


def figures(path: str) -> dict[str, Any]:
    llama = load(path)
    rounds = range(WORK["num_rounds"])
    decode_tok_s(llama, WORK["decode"]["1"][0])  # warm up
    return {
        "decode_1_tok_s": statistics.median(
            decode_tok_s(llama, WORK["decode"]["1"][0]) for _ in rounds
        ),
        "prefill_512_tok_s": statistics.median(
            prefill_tok_s(llama, WORK["prefill"]) for _ in rounds
        ),
    }


def main() -> None:
    found = {Path(path).name: figures(path) for path in WORK["llama_models"]}
    print(json.dumps({"version": llama_cpp.__version__, "models": found}))


if __name__ == "__main__":
    main()
