"""A hash recomputed by hand: the bytes, what they say, and a script that prints the digest."""

import subprocess
import sys

import pytest

from engine.trace.events import BlocksCached
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, parse_workload
from tests.views.runs import NAMES, golden_trace
from views.figures.tree.hash_inputs import (
    PARTS,
    digest_of,
    find_link,
    ingredients,
    parts,
    serialised,
)
from views.figures.tree.hash_recipe import recipe
from views.figures.tree.prefix_forest import Link, link_hash, num_links
from views.text import Text

TEXT = Text("en")
ALGORITHMS = ("sha256", "sha256_cbor", "xxhash", "xxhash_cbor")


def run(algorithm="sha256", *, requests, **config):
    """The picture at the end of a scripted run, and its header."""
    given = [
        {"id": name, "arrival_step": 0, "prompt": prompt, "output": [1], **options}
        for name, prompt, options in requests
    ]
    settings = {"hash_algo": algorithm, **config}
    workload = parse_workload({"name": "hashes", "config": settings, "requests": given})
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    for _ in ScriptedRun(workload, emit=trace.append).run():
        pass
    return trace.at(trace.last), trace.header


def printed(script):
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("name", NAMES)
def test_the_bytes_of_every_hash_of_a_recorded_run_give_that_hash(name):
    trace = golden_trace(name)
    state, algorithm = trace.at(trace.last), trace.header.config["hash_algo"]
    proven = set()
    for request in state.requests.values():
        for group_id in range(len(state.groups)):
            for index in range(num_links(state, request, group_id)):
                link = Link(request, group_id, index)
                made = ingredients(state, trace.header, link)
                for one in made:
                    content = serialised(algorithm, one)
                    assert digest_of(algorithm, content) == one.digest
                    cut = parts(algorithm, one)
                    assert b"".join(part.content for part in cut) == content
                    assert [part.name for part in cut] == list(PARTS[: len(cut)])
                assert b"".join(one.digest for one in made).hex() == link_hash(state, link)
                proven.add(link_hash(state, link))
    for event in trace.events_before(trace.last):
        if isinstance(event, BlocksCached):
            assert proven.issuperset(event.block_hashes)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_script_prints_the_hash_of_first_and_later_blocks_with_salt_and_adapter(algorithm):
    prompt = [65, 255, 256, 70_000, 1, 2, 3, 4, 5]
    requests = [
        ("plain", prompt, {}),
        ("salted", prompt, {"cache_salt": 'tenant "7"\n'}),
        ("adapted", prompt, {"lora": "sql"}),
        ("both", prompt, {"cache_salt": "ключ", "lora": "sql"}),
    ]
    state, header = run(algorithm, requests=requests)
    seen = set()
    for request in state.requests.values():
        for block_hash in request.block_hashes:
            made = recipe(state, header, block_hash, TEXT)
            assert printed(made["script"]) == block_hash
            seen.add(block_hash)
    assert len(seen) == 8, "every salt and every adapter makes hashes of its own"


def test_an_adapter_and_a_salt_of_one_name_are_one_object_or_two_as_they_were_hashed():
    """Pickle writes a back reference for one object; the text alone does not tell."""
    apart = [b"two words".decode(), b"two words".decode()]
    same = ["two words", "two words"]
    hashes = []
    for lora_name, cache_salt in (apart, same):
        options = {"lora": lora_name, "cache_salt": cache_salt}
        state, header = run(requests=[("r", [1, 2, 3, 4, 5], options)])
        (block_hash,) = state.requests["r"].block_hashes
        assert printed(recipe(state, header, block_hash, TEXT)["script"]) == block_hash
        hashes.append(block_hash)
    assert hashes[0] != hashes[1]


def test_a_long_block_is_cut_in_the_picture_and_whole_in_the_script():
    state, header = run(
        requests=[("r", [*range(60_000, 60_600)], {})],
        block_size=512,
        max_num_batched_tokens=1024,
        max_model_len=1024,
    )
    (block_hash,) = state.requests["r"].block_hashes
    made = recipe(state, header, block_hash, TEXT)
    name, word, shown, hidden, tail = made["steps"][0]["parts"][2]
    assert (name, word) == ("tokens", "token ids")
    assert (len(shown.split()), len(tail.split())) == (48, 16)
    assert hidden == "… 1475 bytes …"
    assert printed(made["script"]) == block_hash


def test_a_pickle_says_what_its_bytes_are():
    state, header = run(requests=[("r", [65, 256, 3, 4, 5], {"cache_salt": "s"})])
    made = recipe(state, header, state.requests["r"].block_hashes[0], TEXT)
    cut = {name: shown for name, _, shown, _, _ in made["steps"][0]["parts"]}
    assert cut["start"].startswith("80 05 95")
    assert cut["parent"].startswith("43 20 19 73 e2 38")
    assert cut["parent"].endswith("14 aa 7c 94")
    assert cut["tokens"] == "28 4b 41 4d 00 01 4b 03 4b 04 74 94"
    assert cut["extra"] == "8c 01 73 94 85 94"
    assert cut["end"] == "87 94 2e"
    assert made["steps"][0]["verdict"][0] is True


def test_cbor_says_what_its_bytes_are():
    state, header = run("sha256_cbor", requests=[("r", [65, 256, 3, 4, 5], {"cache_salt": "s"})])
    made = recipe(state, header, state.requests["r"].block_hashes[0], TEXT)
    cut = [(name, shown) for name, _, shown, _, _ in made["steps"][0]["parts"]]
    assert cut[0] == ("start", "83")
    assert cut[1][1].startswith("58 20 4e 11 95")
    assert cut[2:] == [("tokens", "84 18 41 19 01 00 03 04"), ("extra", "81 61 73")]


def test_a_larger_block_shows_each_of_the_hashes_that_stand_in_its_key():
    trace = golden_trace("hybrid_block_sizes")
    state = trace.at(trace.last)
    key = next(key for key in state.cached if key.endswith("00000000"))
    made = recipe(state, trace.header, key[:-8], TEXT)
    assert [step["digest"][1] for step in made["steps"]] == [key[:64], key[64:128]]
    assert made["joined"]
    assert printed(made["script"]) == key[:-8]


def test_a_random_none_hash_that_the_file_lacks_is_said_and_later_blocks_go_on_from_their_parent():
    state, header = run(requests=[("r", [1, 2, 3, 4, 5, 6, 7, 8], {})], hash_seed=None)
    first, second = state.requests["r"].block_hashes
    made = recipe(state, header, first, TEXT)
    assert made["script"] == ""
    assert made["unknown"]
    assert made["steps"][0]["parts"] == []
    assert printed(recipe(state, header, second, TEXT)["script"]) == second


def test_a_hash_that_nobody_has_has_no_recipe():
    state, header = run(requests=[("r", [1, 2, 3, 4, 5], {})])
    for unknown in ("", "00", "ab" * 32, state.requests["r"].block_hashes[0][:-2]):
        assert find_link(state, unknown) is None
        assert recipe(state, header, unknown, TEXT) is None
