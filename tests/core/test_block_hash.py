"""Hashes, byte for byte, against what is written in SEMANTICS 3."""

import hashlib
import pickle

import cbor2
import pytest
import xxhash

from engine.core.block_hash import (
    cache_key,
    event_hash,
    extra_keys,
    hash_block,
    merge_hashes,
    none_hash,
)
from tests.core.builders import build_request


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("sha256", "1973e23848344dc43a988a9b478663803cfffe1243480253f9a3cf004b14aa7c"),
        ("sha256_cbor", "4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e"),
        ("xxhash", "6fb31cc38bba6066183f7f2104b9c051"),
        ("xxhash_cbor", "1ebe36576dcb573f26b99533a20aaeca"),
    ],
)
def test_the_none_hash_of_seed_0(algorithm, expected):
    assert none_hash(algorithm, "0").hex() == expected


def test_without_a_seed_the_none_hash_is_random():
    assert none_hash("sha256", None) != none_hash("sha256", None)
    assert len(none_hash("xxhash", None)) == 32


def test_the_pickle_that_is_hashed():
    parent = b"p" * 32
    body = (
        b"C\x20"
        + parent
        + b"\x94"
        + b"(K\x01M\xe8\x03J\x70\x11\x01\x00K\x02t\x94"
        + b"N"
        + b"\x87\x94."
    )
    data = b"\x80\x05\x95" + len(body).to_bytes(8, "little") + body
    assert pickle.dumps((parent, (1, 1000, 70000, 2), None), protocol=5) == data
    assert hash_block("sha256", parent, [1, 1000, 70000, 2]) == hashlib.sha256(data).digest()


def test_the_cbor_that_is_hashed():
    parent = b"p" * 16
    data = cbor2.dumps((parent, (1, 2), ("l", "s")), canonical=True)
    assert data[:2] == b"\x83\x50"
    assert hash_block("xxhash_cbor", parent, [1, 2], ("l", "s")) == xxhash.xxh3_128_digest(data)


def test_the_salt_is_in_the_first_block_and_the_adapter_in_every_one():
    assert extra_keys(0, cache_salt="s") == ("s",)
    assert extra_keys(1, cache_salt="s") is None
    assert extra_keys(0, cache_salt="") is None
    assert extra_keys(0, lora_name="l", cache_salt="s") == ("l", "s")
    assert extra_keys(5, lora_name="l", cache_salt="s") == ("l",)


@pytest.mark.parametrize(("place", "num_equal"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (11, 2)])
def test_a_changed_token_changes_its_block_and_all_behind_it(place, num_equal):
    tokens = list(range(12))
    changed = [99 if i == place else token for i, token in enumerate(tokens)]
    ours, theirs = build_request(tokens).block_hashes, build_request(changed).block_hashes
    assert [a == b for a, b in zip(ours, theirs, strict=True)] == [i < num_equal for i in range(3)]


@pytest.mark.parametrize(("num_tokens", "num_hashes"), [(1, 0), (3, 0), (4, 1), (5, 1), (8, 2)])
def test_only_full_blocks_have_a_hash(num_tokens, num_hashes):
    assert len(build_request(range(num_tokens)).block_hashes) == num_hashes


def test_larger_blocks_concatenate_hashes():
    assert merge_hashes([b"a", b"b", b"c", b"d", b"e"], 2) == [b"ab", b"cd"]


def test_keys_carry_the_group_and_events_the_last_eight_bytes():
    assert cache_key(b"h" * 32, 3) == b"h" * 32 + b"\x00\x00\x00\x03"
    assert event_hash(b"\xff" * 24 + b"\x00" * 7 + b"\x05") == 5
