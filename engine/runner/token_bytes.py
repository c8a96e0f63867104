"""The exact bytes that each token of a vocabulary stands for.

A token may hold a part of a character, so bytes say what text cannot. Two writings are in use:

    byte-level (GPT-2, Llama 3, Qwen, SmolLM)     every byte is a printable stand-in: "Ġcat" -> " cat"
    sentencepiece (Llama 2, Mistral, Gemma, Phi)  "▁" is a space, "<0xE2>" a single byte
"""

import re
from collections.abc import Mapping
from typing import Any

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def vocabulary_bytes(backend: Any, added_tokens: Mapping[int, str]) -> list[bytes]:
    """Bytes by token id; `backend` is a tokenizers.Tokenizer, `added_tokens` are taken as text."""
    vocabulary: dict[str, int] = backend.get_vocab(with_added_tokens=True)
    by_id = [b""] * (max(vocabulary.values(), default=-1) + 1)
    byte_level = _is_byte_level(backend)
    stand_ins = _stand_ins() if byte_level else {}
    for token, token_id in vocabulary.items():
        if token_id in added_tokens:
            by_id[token_id] = added_tokens[token_id].encode()
        elif byte_level:
            by_id[token_id] = _byte_level_bytes(token, stand_ins)
        else:
            by_id[token_id] = _piece_bytes(token)
    return by_id


def missing_bytes(backend: Any) -> frozenset[int]:
    """Bytes that a byte-level vocabulary has no token for; its tokenizer drops them silently."""
    if not _is_byte_level(backend):
        return frozenset()
    vocabulary = backend.get_vocab(with_added_tokens=False)
    return frozenset(byte for letter, byte in _stand_ins().items() if letter not in vocabulary)


def _is_byte_level(backend: Any) -> bool:
    parts = (backend.decoder, backend.pre_tokenizer)
    return any(part is not None and "ByteLevel" in repr(part) for part in parts)


def _byte_level_bytes(token: str, stand_ins: Mapping[str, int]) -> bytes:
    if all(letter in stand_ins for letter in token):
        return bytes(stand_ins[letter] for letter in token)
    return token.encode()


def _piece_bytes(token: str) -> bytes:
    single = _BYTE_PIECE.fullmatch(token)
    return bytes.fromhex(single[1]) if single else token.replace("▁", " ").encode()


def _stand_ins() -> dict[str, int]:
    """GPT-2's alphabet: printable Latin-1 stands for itself, other bytes for letters from 256 on."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    alphabet = {chr(byte): byte for byte in printable}
    return alphabet | {chr(256 + index): byte for index, byte in enumerate(others)}
