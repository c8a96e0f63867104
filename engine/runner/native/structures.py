"""decode.h as ctypes sees it. A change here or there raises INTERFACE in both."""

import ctypes
from enum import IntEnum

import torch

INTERFACE = 4
NO_SUCH_TOKEN = 2  # what decode_step() says

Pointer = ctypes.c_void_p
Int = ctypes.c_int32
Long = ctypes.c_int64
Float = ctypes.c_float


class Kind(IntEnum):
    """How numbers are stored."""

    FLOAT32 = 0
    BFLOAT16 = 1
    FLOAT16 = 2
    FOUR_BIT = 3
    EIGHT_BIT = 4


KINDS = {
    torch.float32: Kind.FLOAT32,
    torch.bfloat16: Kind.BFLOAT16,
    torch.float16: Kind.FLOAT16,
}


class Matrix(ctypes.Structure):
    _fields_ = (
        ("kind", Int),
        ("num_outputs", Int),
        ("num_inputs", Int),
        ("panels", Pointer),
        ("bias", Pointer),
    )


class Layer(ctypes.Structure):
    _fields_ = (
        ("norm", Pointer),
        ("norm_again", Pointer),
        ("qkv", Matrix),
        ("o", Matrix),
        ("gate", Matrix),
        ("up", Matrix),
        ("down", Matrix),
    )


class Model(ctypes.Structure):
    _fields_ = (
        ("num_layers", Int),
        ("hidden_size", Int),
        ("num_heads", Int),
        ("num_kv_heads", Int),
        ("head_size", Int),
        ("epsilon", Float),
        ("scale", Float),
        ("layers", ctypes.POINTER(Layer)),
        ("last_norm", Pointer),
        ("head", Matrix),
    )


class Places(ctypes.Structure):
    _fields_ = (
        ("block_size", Int),
        ("slots", Pointer),
        ("block_tables", Pointer),
        ("table_starts", Pointer),
        ("first_tokens", Pointer),
        ("num_tokens", Pointer),
    )


class Step(ctypes.Structure):
    _fields_ = (
        ("num_rows", Int),
        ("num_samples", Int),
        ("num_threads", Int),
        ("cache_kind", Int),
        ("embedding_kind", Int),
        ("vocab_size", Int),
        ("value_offset", Long),
        ("kv_caches", ctypes.POINTER(Pointer)),
        ("places", ctypes.POINTER(ctypes.POINTER(Places))),
        ("input_ids", Pointer),
        ("positions", Pointer),
        ("sample_rows", Pointer),
        ("embeddings", Pointer),
        ("cosines", Pointer),
        ("sines", Pointer),
        ("logits", Pointer),
    )


class Likeliest(ctypes.Structure):
    _fields_ = (
        ("num_rows", Int),
        ("vocab_size", Int),
        ("num_threads", Int),
        ("count", Int),
        ("logits", Pointer),
        ("ids", Pointer),
        ("logprobs", Pointer),
        ("normalisers", Pointer),
    )
