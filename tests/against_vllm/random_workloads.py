"""Random workloads, each from its seed alone: small pools, prompts that share and part, and whatever
settings vLLM 0.17.1 takes together."""

import math
from random import Random
from typing import Any

SALTS = ((None,), (None,), (None, None, "a", "b"))  # of a workload
POOLS = (0.6, 1.05, 1.05, 1.3, 1.6, 2.5, 5.0)  # slots of the pool, in max_model_len
GROUP_BLOCKS = (1, 1, 1, 2, 3)  # of a group, in block_size
VOCABULARY = (60, 300, 70_000)  # few ids repeat by chance; large ones take more bytes in a hash


def random_workload(seed: int) -> dict[str, Any]:
    """In the form of `tests/data/golden/workloads`."""
    random = Random(seed)
    config = _config(random)
    requests = _requests(random, config)
    last = max(request["arrival_step"] for request in requests)
    return {
        "name": f"random_{seed}",
        "about": f"random, seed {seed}",
        "config": config,
        "requests": requests,
        "ops": _resets(random, last),
        "max_steps": 160,
    }


def _config(random: Random) -> dict[str, Any]:
    block_size = random.choice((1, 2, 3, 4, 4, 5, 8, 16))
    max_model_len = random.choice((3, 6, 12, 20)) * max(block_size, 4) + random.randrange(9)
    max_num_seqs = random.choice((1, 2, 3, 5, 8, 8))
    is_chunked = random.random() < 0.85
    budget = max(max_num_seqs, random.choice((4, 9, 16, 33, 64, 200)))
    config = {
        "block_size": block_size,
        "num_blocks": 2 + math.ceil(max_model_len / block_size * random.choice(POOLS)),
        "max_num_batched_tokens": budget if is_chunked else max(budget, max_model_len),
        "max_num_seqs": max_num_seqs,
        "max_model_len": max_model_len,
        "enable_chunked_prefill": is_chunked,
        "enable_prefix_caching": random.random() < 0.92,
        "policy": random.choice(("fcfs", "priority")),
        "hash_algo": random.choice(("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")),
        "hash_seed": random.choice(("0", "0", "42")),
        "int_event_hashes": random.random() < 0.2,
    }
    if random.random() < 0.25:
        config["long_prefill_token_threshold"] = random.randrange(1, 24)
    if random.random() < 0.3:
        config["max_loras"] = random.choice((1, 2))
    if random.random() < 0.3:
        config["spec"] = _spec(random)
    if random.random() < 0.5:
        config["kv_groups"] = _groups(random, config)
        config["num_blocks"] *= len(config["kv_groups"])
    return config


def _groups(random: Random, config: dict[str, Any]) -> list[dict[str, Any]]:
    """Drawn until vLLM 0.17.1 takes them."""
    while True:
        groups = [_group(random, config["block_size"]) for _ in range(random.choice((1, 2, 2, 3)))]
        if not config["enable_prefix_caching"] or _are_taken(groups, config):
            return groups


def _are_taken(groups: list[dict[str, Any]], config: dict[str, Any]) -> bool:
    """The assertions of vLLM's kv_cache_coordinator.py and single_type_kv_cache_manager.py."""
    sizes = [group.get("block_size", config["block_size"]) for group in groups]
    if len(groups) == 1 and sizes[0] != config["block_size"]:
        return False
    if len(groups) > 1 and all(group == groups[0] for group in groups):
        return False
    has_eagle = config.get("spec", {}).get("method") == "eagle"
    for group, size in zip(groups, sizes, strict=True):
        is_aligned = size == math.lcm(*sizes)
        if group["type"] == "chunked_local" and (has_eagle or not is_aligned):
            return False
        if group["type"] == "sliding" and has_eagle and not is_aligned:
            return False
    return True


def _group(random: Random, block_size: int) -> dict[str, Any]:
    group: dict[str, Any] = {
        "type": random.choice(("full", "full", "sliding", "sliding", "chunked_local"))
    }
    if group["type"] == "sliding":
        group["window"] = random.choice(
            (1, 2, block_size, block_size + 1, 3 * block_size - 1, 13, 30)
        )
    elif group["type"] == "chunked_local":
        group["chunk"] = random.choice((block_size, 2 * block_size, 3 * block_size, 8))
    if (times := random.choice(GROUP_BLOCKS)) > 1:
        group["block_size"] = block_size * times
    return group


def _spec(random: Random) -> dict[str, Any]:
    num = random.choice((1, 2, 3, 5))
    return {
        "method": random.choice(("eagle", "draft_model", "ngram")),
        "num_speculative_tokens": num,
        "accept": [random.randrange(num + 1) for _ in range(random.randrange(1, 5))],
    }


def _requests(random: Random, config: dict[str, Any]) -> list[dict[str, Any]]:
    most = max(1, int((config["max_model_len"] - 1) * random.choice((0.2, 0.4, 0.7, 1.0))))
    vocabulary = random.choice(VOCABULARY)
    salts = random.choice(SALTS)
    gap = random.choice((0, 1, 1, 3, 8))
    known: list[list[int]] = []
    requests, step = [], 0
    for number in range(random.randrange(2, 16)):
        prompt = _prompt(random, known, most, vocabulary)
        output = _tokens(random, random.choice((1, 3, 8, 20, 40)), vocabulary)
        known += [prompt, (prompt + output)[:most]]
        requests.append(
            {"id": f"r{number}", "arrival_step": step, "prompt": prompt, "output": output}
            | _extras(random, config, step, salts)
        )
        step += random.randrange(gap + 1)
    return requests


def _prompt(random: Random, known: list[list[int]], most: int, vocabulary: int) -> list[int]:
    """It goes on from an earlier one or a part of it, is the same once more, or begins anew."""
    prompt: list[int] = []
    if known and random.random() < 0.85:
        prompt = random.choice(known)
        if random.random() < 0.25:
            return prompt
        if random.random() < 0.6:
            prompt = prompt[: random.randrange(len(prompt) + 1)]
    return (prompt + _tokens(random, random.randrange(1, most + 1), vocabulary))[:most]


def _tokens(random: Random, count: int, vocabulary: int) -> list[int]:
    return [random.randrange(vocabulary) for _ in range(count)]


def _extras(
    random: Random, config: dict[str, Any], step: int, salts: tuple[str | None, ...]
) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    if salt := random.choice(salts):
        extras["cache_salt"] = salt
    if config.get("max_loras") and random.random() < 0.6:
        extras["lora"] = random.choice(("x", "y", 3))
    if config["policy"] == "priority":
        extras["priority"] = random.randrange(-2, 3)
        if random.random() < 0.2:
            extras["arrival_time"] = float(random.randrange(3))
    if random.random() < 0.12:
        extras["abort_step"] = step + random.randrange(8)
        extras["abort_phase"] = random.choice(("before", "mid"))
    if random.random() < 0.08:
        extras["skip_reading_prefix_cache"] = True
    return extras


def _resets(random: Random, last_step: int) -> list[dict[str, Any]]:
    resets: list[dict[str, Any]] = []
    for _ in range(random.choice((0, 0, 0, 1, 2))):
        reset: dict[str, Any] = {
            "step": random.randrange(last_step + 8),
            "op": "reset_prefix_cache",
        }
        if random.random() < 0.6:
            reset["reset_running_requests"] = random.random() < 0.7
        resets.append(reset)
    return resets
