"""Runs inside an environment that has vLLM 0.17.1 with its CPU backend, not in ours.

Reads the workloads as one JSON object from standard input (see apart.py), runs them in this
process and prints one JSON object as its last line. Imports nothing of Pagewalk.
"""

import dataclasses
import json
import os
import statistics
import sys
import time
from typing import Any

os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"  # the engine core in this process
os.environ["VLLM_CPU_KVCACHE_SPACE"] = "2"  # GiB
WORK = json.load(sys.stdin)
os.environ["OMP_NUM_THREADS"] = str(WORK["num_threads"])

import vllm  # noqa: E402  (reads the environment when it is imported)
from vllm.v1.outputs import ModelRunnerOutput  # noqa: E402
from vllm.v1.request import Request  # noqa: E402


def load() -> Any:
    llm = vllm.LLM(
        model=WORK["model"],
        skip_tokenizer_init=True,  # token ids in, token ids out
        dtype=WORK["dtype"],
        enforce_eager=True,
        block_size=16,
        max_model_len=2048,
        max_num_seqs=256,
        max_num_batched_tokens=16384,
        enable_prefix_caching=True,
    )
    return llm.llm_engine


def params(num_new_tokens: int) -> Any:
    return vllm.SamplingParams(
        temperature=0.0, max_tokens=num_new_tokens, ignore_eos=True, detokenize=False
    )


def run(engine: Any, prompts: list[list[int]], num_new_tokens: int) -> tuple[float, list[float]]:
    """Start, and when each step had returned."""
    engine.reset_prefix_cache()
    start_s = time.perf_counter()
    for number, prompt in enumerate(prompts):
        engine.add_request(str(number), {"prompt_token_ids": prompt}, params(num_new_tokens))
    step_times_s = []
    while engine.has_unfinished_requests():
        engine.step()
        step_times_s.append(time.perf_counter())
    return start_s, step_times_s


def decode_tok_s(engine: Any, prompts: list[list[int]]) -> float:
    """The budget takes all prompts in the first step, so every later one is a token for each."""
    _, times_s = run(engine, prompts, WORK["num_new_tokens"])
    return len(prompts) * (len(times_s) - 1) / (times_s[-1] - times_s[0])


def total_s(engine: Any, prompts: list[list[int]], num_new_tokens: int) -> float:
    start_s, times_s = run(engine, prompts, num_new_tokens)
    return times_s[-1] - start_s


def smaller_scheduler(scheduler: Any, num_blocks: int) -> Any:
    """A new scheduler like that one, over a pool of `num_blocks`."""
    pool = dataclasses.replace(scheduler.kv_cache_config, num_blocks=num_blocks)
    return type(scheduler)(
        vllm_config=scheduler.vllm_config,
        kv_cache_config=pool,
        structured_output_manager=scheduler.structured_output_manager,
        block_size=scheduler.block_size,
    )


def scheduler_steps_s(scheduler: Any, block_hasher: Any) -> float:
    """schedule() and update_from_output() alone, 256 requests decoding, made-up tokens."""
    work = WORK["scheduler"]
    for number, prompt in enumerate(work["prompts"]):
        request = Request(
            request_id=f"s{number}",
            prompt_token_ids=prompt,
            sampling_params=params(work["num_warm_up_steps"] + work["num_steps"] + 1),
            pooling_params=None,
            block_hasher=block_hasher,
        )
        scheduler.add_request(request)
    times_s = []
    for step in range(work["num_warm_up_steps"] + work["num_steps"]):
        start_s = time.perf_counter()
        output = scheduler.schedule()
        scheduled_s = time.perf_counter() - start_s
        ids = list(output.num_scheduled_tokens)
        whole = [scheduler.requests[id_] for id_ in ids]
        sampled = ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={id_: index for index, id_ in enumerate(ids)},
            sampled_token_ids=[
                [1000 + step] if request.num_computed_tokens >= request.num_tokens else []
                for request in whole
            ],
        )
        start_s = time.perf_counter()
        scheduler.update_from_output(output, sampled)
        times_s.append(scheduled_s + time.perf_counter() - start_s)
    return work["num_steps"] / sum(times_s[work["num_warm_up_steps"] :])


def measure_scheduler(core: Any) -> dict[str, float]:
    """Each on a new scheduler with the pool of Pagewalk's workload; median of the rounds."""

    def median(num_blocks: int) -> float:
        return statistics.median(
            scheduler_steps_s(
                smaller_scheduler(core.scheduler, num_blocks), core.request_block_hasher
            )
            for _ in range(WORK["num_rounds"])
        )

    pools = WORK["scheduler"]["num_blocks"]
    return {
        "scheduler_steps_s": median(pools["decoding"]),
        "scheduler_pressure_steps_s": median(pools["pressure"]),
    }


def main() -> None:
    engine = load()
    run(engine, WORK["decode"]["1"], 4)
    rounds = range(WORK["num_rounds"])
    found = {
        "version": vllm.__version__,
        "decode_tok_s": {
            batch: statistics.median(decode_tok_s(engine, prompts) for _ in rounds)
            for batch, prompts in WORK["decode"].items()
        },
        "prefill_512_tok_s": statistics.median(
            len(WORK["prefill"]) / total_s(engine, [WORK["prefill"]], 1) for _ in rounds
        ),
        "shared_prefix_s": statistics.median(
            total_s(engine, WORK["shared_prefix"], WORK["num_shared_new_tokens"]) for _ in rounds
        ),
        **measure_scheduler(engine.engine_core.engine_core),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
