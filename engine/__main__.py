"""Runs prompts on a real model.

python -m engine run --prompt "Hello" --prompt "Hello there" --max-tokens 20
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from engine.checks import MAX_DIGITS
from engine.config import EngineConfig, SamplingParams
from engine.errors import ConfigError, PagewalkError, SourceError
from engine.trace.codec import write_trace
from engine.trace.state import RequestState, State

MAX_CHARACTERS = 50_000  # of a prompt
AUTO = "auto"
DEFAULTS = EngineConfig(
    block_size=16,
    num_blocks=513,
    max_num_batched_tokens=512,
    max_num_seqs=64,
    max_model_len=2048,
)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine", description=__doc__)
    run = parser.add_subparsers(dest="command", required=True).add_parser(
        "run", help="run prompts on a real model and print outputs, block tables and hits"
    )
    run.add_argument("--prompt", action="append", required=True, metavar="TEXT")
    run.add_argument("--model", help="a local folder, a .gguf file or a hub id")
    run.add_argument("--dtype", help="float32, bfloat16, float16, or 4bit: as a GGUF stores it")
    run.add_argument("--device", help="cpu, or cuda: the first that CUDA_VISIBLE_DEVICES shows")
    run.add_argument("--raw", action="store_true", help="no chat template around the prompts")
    run.add_argument("--max-tokens", type=int, default=32)
    run.add_argument("--ignore-eos", action="store_true")
    run.add_argument("--temperature", type=float, default=0.0, help="0: greedy")
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--block-size", type=int, default=DEFAULTS.block_size)
    pool = run.add_mutually_exclusive_group()
    pool.add_argument("--num-blocks", type=int, default=DEFAULTS.num_blocks)
    pool.add_argument(
        "--kv-cache-memory-bytes",
        metavar="BYTES",
        help="as many blocks as this memory buys; auto: a share of what the device has free",
    )
    run.add_argument(
        "--max-model-len",
        type=int,
        help=f"tokens of a prompt and its answer; {DEFAULTS.max_model_len}, or what the model takes",
    )
    run.add_argument("--max-num-batched-tokens", type=int, default=DEFAULTS.max_num_batched_tokens)
    run.add_argument("--max-num-seqs", type=int, default=DEFAULTS.max_num_seqs)
    run.add_argument("--no-prefix-caching", action="store_true")
    run.add_argument("--trace", metavar="FILE", help="write the events (.gz: compressed)")
    run.add_argument("--json", action="store_true", help="end with one JSON object")
    return parser


def _settings(options: argparse.Namespace) -> EngineConfig:
    given = {
        "block_size": options.block_size,
        "num_blocks": options.num_blocks,
        "max_num_batched_tokens": options.max_num_batched_tokens,
        "max_num_seqs": options.max_num_seqs,
        "max_model_len": DEFAULTS.max_model_len
        if options.max_model_len is None
        else options.max_model_len,
        "enable_prefix_caching": not options.no_prefix_caching,
        "refuse_oversized": True,
    }
    return EngineConfig.from_mapping({**DEFAULTS.to_mapping(), **given})


def run_prompts(options: argparse.Namespace) -> dict[str, Any]:
    """Run all prompts to their end; what was generated, as the object that --json prints."""
    sampling = SamplingParams(
        max_tokens=options.max_tokens,
        temperature=options.temperature,
        seed=options.seed,
        ignore_eos=options.ignore_eos,
    )
    config = _settings(options)
    _check_prompts(options.prompt)
    given = options.kv_cache_memory_bytes
    kv_bytes = None if given in (None, AUTO) else _num_bytes(given)
    # torch, only once it is needed
    from engine.sources.live import MAX_POOL_BYTES, LiveSource, load_model

    if kv_bytes is not None and kv_bytes > MAX_POOL_BYTES:
        raise ConfigError(f"--kv-cache-memory-bytes {given}: at most {MAX_POOL_BYTES} are taken")
    model = load_model(options.model, dtype=options.dtype, device=options.device)
    config = _fitted(config, options, model, kv_bytes)
    source = LiveSource(model, config)
    mode = "raw" if options.raw or not model.has_chat_template else "chat"
    for prompt in options.prompt:
        source.add_request(prompt, mode=mode, sampling=sampling)
    tables: dict[str, list[list[int]]] = {}
    while source.has_unfinished_requests:
        source.step()
        if source.stuck_reason is not None:
            raise SourceError(source.stuck_reason)
        state = source.trace.at(source.trace.after_schedule(source.engine.step_index - 1))
        tables.update({id_: state.requests[id_].block_tables for id_ in state.running})
    state = source.trace.at(source.trace.last)
    _print_run(state, tables)
    if options.trace:
        write_trace(options.trace, source.trace)
    return {
        "requests": [_summary(request) for request in state.requests.values()],
        "steps": source.engine.step_index,
        "num_blocks": config.num_blocks,
    }


def _fitted(
    config: EngineConfig, options: argparse.Namespace, model: Any, kv_bytes: int | None
) -> EngineConfig:
    """What the options leave to the model and to the memory."""
    from engine.sources.live import num_blocks_for

    if options.max_model_len is None:
        longest = min(config.max_model_len, model.max_model_len)
        config = msgspec.structs.replace(config, max_model_len=longest)
    if options.kv_cache_memory_bytes is not None:
        config = msgspec.structs.replace(config, num_blocks=num_blocks_for(model, config, kv_bytes))
    return config


def _num_bytes(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) <= MAX_DIGITS and int(given)):
        raise ConfigError(
            f"--kv-cache-memory-bytes {given[:MAX_DIGITS]} is no number of bytes: give one such as "
            f"268435456, or {AUTO}"
        )
    return int(given)


def _check_prompts(prompts: Sequence[str]) -> None:
    """Before a tokenizer spends minutes on what no context holds."""
    for prompt in prompts:
        if len(prompt) > MAX_CHARACTERS:
            raise ConfigError(
                f"the prompt has {len(prompt):,} characters, but at most {MAX_CHARACTERS:,} are "
                "taken: shorten it"
            )


def _summary(request: RequestState) -> dict[str, Any]:
    return {
        "id": request.request_id,
        "prompt_token_ids": list(request.added.prompt_token_ids),
        "output_token_ids": list(request.output_token_ids),
        "text": request.output_text,
        "num_cached_tokens": request.num_cached_tokens or 0,
        "finish_reason": request.finish_reason,
    }


def _print_run(state: State, tables: dict[str, list[list[int]]]) -> None:
    for request_id, request in state.requests.items():
        print(f"{request_id}  {request.added.prompt_text!r}")
        print(f"    {request.output_text!r}")
        print(
            f"    {request.num_prompt_tokens} prompt tokens, "
            f"{request.num_cached_tokens or 0} of them from the cache; "
            f"{len(request.output_token_ids)} generated; finished: {request.finish_reason}"
        )
        for group_id, table in enumerate(tables.get(request_id, [])):
            name = "block table" if len(tables[request_id]) == 1 else f"block table {group_id}"
            print(f"    {name} at the end: {table}")


def main(arguments: Sequence[str] | None = None) -> int:
    options = build_parser().parse_args(arguments)
    try:
        result = run_prompts(options)
    except (PagewalkError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
