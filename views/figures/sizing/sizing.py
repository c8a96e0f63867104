"""The calculator: from the memory of a GPU to blocks, tokens and requests, step by step.

The arithmetic of blocks is `engine.core.sizing`; what leads to its `available_bytes` is vLLM's
`request_memory` and `determine_available_memory`.
"""

import math
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, NamedTuple

from engine.core.sizing import KVCachePlan, plan_kv_cache
from engine.errors import ConfigError
from views.figures.sizing.known_models import MODELS
from views.figures.sizing.model_config import ModelConfig, parse_config, read_config
from views.figures.sizing.model_weights import BYTES, SIXTEEN_BIT, Weights, weigh
from views.figures.sizing.sizing_inputs import OWN, Inputs, Question, read_inputs
from views.text import Text


class Sizing(NamedTuple):
    """All that follows from a question and a model."""

    question: Question
    model: ModelConfig
    plan: KVCachePlan
    weights: Weights | None  # None: their bytes were typed
    weight_bytes: int
    requested_bytes: int  # gpu_memory_utilization of the GPU's memory
    available_bytes: int  # for the KV cache; below 0 where the rest does not even fit
    max_model_len: int
    kv_dtype_bytes: int

    @property
    def num_blocks(self) -> int:
        return max(0, self.plan.num_blocks(self.available_bytes))

    @property
    def pool_bytes(self) -> int:
        return self.plan.pool_bytes(self.num_blocks)

    @property
    def num_tokens(self) -> int:
        """As vLLM logs it: each group has its share of the blocks.

        vLLM 0.17.1: v1/core/kv_cache_utils.py _report_kv_cache_config
        """
        return self.num_blocks // len(self.plan.groups) * self.question.block_size

    @property
    def blocks_per_request(self) -> int:
        return self._blocks(self.max_model_len)

    @property
    def concurrency(self) -> float:
        return self.plan.max_concurrency(
            self.num_blocks, self.max_model_len, self.question.max_num_batched_tokens
        )

    @property
    def longest(self) -> int:
        """The longest max_model_len of which one request fits."""
        return bisect_right(range(1, self.max_model_len + 1), self.num_blocks, key=self._blocks)

    def _blocks(self, max_model_len: int) -> int:
        return self.plan.blocks_per_request(max_model_len, self.question.max_num_batched_tokens)


def size(inputs: Inputs, text: Text) -> tuple[Sizing | None, dict[str, str]]:
    """The result, or a sentence for each field (or "model") that stands in its way."""
    question, errors = read_inputs(inputs, text)
    model, where = None, "config" if inputs.model == OWN else "model"
    if "model" not in errors:
        try:
            model = read_config(_values(inputs, text), text)
        except ConfigError as error:
            errors[where] = text.error(error)
    if model is None or question is None:
        return None, errors
    weights = None
    if question.weight_bytes is None:
        try:
            weights = weigh(model.values, question.dtype, text)
        except ConfigError as error:
            return None, {"weights": text.error(error)}
    length = question.max_model_len or model.max_positions
    if length is None:
        return None, {"max_len": text("sizing_error.no_length")}
    return _sizing(question, model, weights, length), {}


def _sizing(question: Question, model: ModelConfig, weights: Weights | None, length: int) -> Sizing:
    dtype_bytes = _kv_dtype_bytes(question)
    plan = plan_kv_cache(model.specs(question.block_size, dtype_bytes))
    weight_bytes = weights.num_bytes if weights else question.weight_bytes or 0
    requested = math.ceil(question.total_bytes * question.utilization)
    available = requested - weight_bytes - question.rest_bytes
    if question.kv_bytes is not None:
        available = question.kv_bytes
    return Sizing(
        question, model, plan, weights, weight_bytes, requested, available, length, dtype_bytes
    )


def _kv_dtype_bytes(question: Question) -> int:
    """`auto` is the dtype of the model: of its weights, unless they are quantised."""
    if question.kv_dtype != "auto":
        return BYTES[question.kv_dtype]
    return BYTES[question.dtype] if question.dtype == "float32" else SIXTEEN_BIT


def _values(inputs: Inputs, text: Text) -> Mapping[str, Any]:
    return parse_config(inputs.config, text) if inputs.model == OWN else MODELS[inputs.model]
