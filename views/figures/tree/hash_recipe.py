"""A hash recomputed by hand: what goes in, the bytes that are hashed, the digest, and a script.

The script holds the inputs written out, and nothing of ours, so that it can be run anywhere.
"""

import textwrap
from collections.abc import Sequence
from typing import Any

from engine.trace.header import TraceHeader
from engine.trace.state import State, cache_key
from views.figures.moment import short_hash
from views.figures.tree.hash_inputs import (
    Ingredients,
    digest_of,
    find_link,
    hash_of_seed,
    ingredients,
    parts,
    serialised,
)
from views.figures.tree.node_label import NodeLabels
from views.text import Text

MAX_HEAD_BYTES, MAX_TAIL_BYTES = 48, 16  # of one part, when it is long
CODE_COLUMNS = 76
EVENT_DIGITS = 16  # vLLM's integer hashes are the last 8 bytes

PARTS = {
    "start": "recipe.part_start",
    "parent": "recipe.part_parent",
    "tokens": "recipe.part_tokens",
    "extra": "recipe.part_extra",
    "end": "recipe.part_end",
}
DIGEST_NAMES = {"hashlib": "SHA-256", "xxhash": "XXH3-128"}
# How the value becomes bytes, how the bytes become a digest, and what both need.
SERIALISERS = {
    "pickle": "pickle.dumps(value, protocol=5)",
    "cbor2": "cbor2.dumps(value, canonical=True)",
}
DIGESTS = {"hashlib": "hashlib.sha256(data).digest()", "xxhash": "xxhash.xxh3_128_digest(data)"}


def recipe(state: State, header: TraceHeader, block_hash: str, text: Text) -> dict[str, Any] | None:
    """The payload; None for a hash that nobody has at this moment."""
    link = find_link(state, block_hash)
    if link is None:
        return None
    algorithm = header.config["hash_algo"]
    made = ingredients(state, header, link)
    is_joined, words = len(made) > 1, NodeLabels(state).text(link)
    is_known = all(one.parent is not None for one in made)
    return {
        "hash": block_hash,
        "title": text("recipe.title", hash=short_hash(block_hash)),
        "place": text("recipe.place", index=link.place, request=link.request.request_id),
        "how": _how(algorithm, text),
        "steps": [
            _step(algorithm, one, text, words="" if is_joined else words, is_numbered=is_joined)
            for one in made
        ],
        "joined": text("recipe.joined", n=len(made)) if is_joined else "",
        "facts": _facts(block_hash, link.group_id, text),
        "script": script(header, made) if is_known else "",
        "script_word": text("recipe.script"),
        "copy": text("recipe.copy"),
        "copied": text("recipe.copied"),
        "unknown": "" if is_known else text("recipe.unknown"),
    }


def _modules(algorithm: str) -> tuple[str, str]:
    """What makes bytes of a value, and what makes a digest of the bytes."""
    return (
        "cbor2" if algorithm.endswith("cbor") else "pickle",
        "hashlib" if algorithm.startswith("sha256") else "xxhash",
    )


def _how(algorithm: str, text: Text) -> str:
    serialiser, digest = _modules(algorithm)
    how = "recipe.how_pickle" if serialiser == "pickle" else "recipe.how_cbor"
    return text(how, algorithm=algorithm, digest=DIGEST_NAMES[digest])


def _step(
    algorithm: str, one: Ingredients, text: Text, *, words: str, is_numbered: bool
) -> dict[str, Any]:
    """`words`: the tokens as text, where they are the tokens of this hash alone."""
    parent = one.parent.hex() if one.parent is not None else ""
    step: dict[str, Any] = {
        "title": text("recipe.step", index=one.place) if is_numbered else "",
        "inputs": [
            [text("recipe.parent"), parent or "?", parent if one.place else ""],
            [text("recipe.token_ids"), text.ids(one.token_ids), ""],
            [text("recipe.extra_keys"), _keys_words(one, text), ""],
        ],
        "notes": ["" if one.place else text("recipe.none_hash"), words, ""],
        "digest": [text("recipe.digest"), one.digest.hex()],
        "parts": [],
    }
    if one.parent is None:
        return step
    content = serialised(algorithm, one)
    step["bytes_word"] = text.count("recipe.bytes", len(content))
    step["parts"] = [
        [part.name, text(PARTS[part.name]), *_hex(part.content, text)]
        for part in parts(algorithm, one)
    ]
    is_equal = digest_of(algorithm, content) == one.digest
    step["verdict"] = [is_equal, text("recipe.equal" if is_equal else "recipe.different")]
    return step


def _keys_words(one: Ingredients, text: Text) -> str:
    return repr(one.keys) if one.keys else text("recipe.no_keys")


def _hex(content: bytes, text: Text) -> list[str]:
    """All of a short part; the two ends of a long one, and how much is left out between them."""
    hidden = len(content) - MAX_HEAD_BYTES - MAX_TAIL_BYTES
    if hidden <= MAX_TAIL_BYTES:
        return [content.hex(" "), "", ""]
    tail = content[len(content) - MAX_TAIL_BYTES :]
    return [content[:MAX_HEAD_BYTES].hex(" "), text("recipe.hidden", n=hidden), tail.hex(" ")]


def _facts(block_hash: str, group_id: int, text: Text) -> list[list[str]]:
    return [
        [text("recipe.key"), cache_key("", group_id), text("recipe.key_note", group=group_id)],
        [text("recipe.event"), str(int(block_hash[-EVENT_DIGITS:], 16)), text("recipe.event_note")],
    ]


def script(header: TraceHeader, made: Sequence[Ingredients]) -> str:
    """Python that prints the hash, from the values that this run had."""
    algorithm = header.config["hash_algo"]
    serialiser, digest = _modules(algorithm)
    hashing = "H((parent, token_ids, extra_keys))"
    lines = [
        *(f"import {name}" for name in sorted((serialiser, digest))),
        *("", "", "def H(value):"),
        f"    data = {SERIALISERS[serialiser]}",
        f"    return {DIGESTS[digest]}",
        *("", "", f"parent = {_parent_code(header, made[0])}"),
    ]
    if len(made) == 1:
        lines += [*_values_code(made[0]), f"print({hashing}.hex())"]
        return "\n".join(lines)
    lines.append('joined = b""')
    for one in made:
        lines += ["", *_values_code(one), f"parent = {hashing}", "joined += parent"]
    return "\n".join([*lines, "", "print(joined.hex())"])


def _parent_code(header: TraceHeader, one: Ingredients) -> str:
    assert one.parent is not None
    if one.place == 0 and one.parent == hash_of_seed(header):
        return f"H({header.config['hash_seed']!r})"
    return f'bytes.fromhex("{one.parent.hex()}")'


def _values_code(one: Ingredients) -> list[str]:
    numbers = ", ".join(map(str, one.token_ids))
    keys = one.keys
    if keys and len(keys) > 1 and keys[0] is keys[1]:
        keys_code = f"name = {keys[0]!r}\nextra_keys = (name, name)"
    elif keys and len(keys) > 1 and keys[0] == keys[1]:
        keys_code = f"extra_keys = ({keys[0]!r}, {keys[1].encode()!r}.decode())"
    else:
        keys_code = f"extra_keys = {keys!r}"
    if len(one.token_ids) == 1:
        return [f"token_ids = ({numbers},)", keys_code]
    if len(numbers) <= CODE_COLUMNS - len("token_ids = ()"):
        return [f"token_ids = ({numbers})", keys_code]
    wrapped = textwrap.wrap(numbers, CODE_COLUMNS - 4)
    return ["token_ids = (", *(f"    {line}" for line in wrapped), ")", keys_code]
