"""What a visitor can start with one click."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from engine.config import EngineConfig
from engine.workload import Workload, parse_workload

DOC_EXAMPLE, SHARED_PROMPT, OWN = "doc_example", "shared_prompt", "own"
DEFAULT_MAX_TOKENS = 16


class Example(NamedTuple):
    """A scripted workload, or prompts for the model, with the settings that make it speak."""

    config: EngineConfig
    prompts: tuple[str, ...] = ()  # for the model, as chat
    script: dict[str, Any] | None = None
    token_names: Mapping[int, bytes] = MappingProxyType({})  # what a script's numbers stand for

    @property
    def needs_model(self) -> bool:
        return self.script is None

    def workload(self, config: EngineConfig) -> Workload:
        return parse_workload({**(self.script or {}), "config": config.to_mapping()})


def _letters(first_id: int, letters: str) -> dict[int, bytes]:
    return {first_id + place: letter.encode() for place, letter in enumerate(letters)}


# vLLM 0.17.1's design page on prefix caching; its block k is k + 1 here, as 0 is the null block.
_DOC = Example(
    EngineConfig(block_size=4, num_blocks=11),
    script={
        "name": "doc_example",
        "requests": [
            {
                "id": "request0",
                "arrival_step": 0,
                "prompt": list(range(1, 16)),
                "output": list(range(101, 106)),
            },
            {
                "id": "request1",
                "arrival_step": 3,
                "prompt": [*range(1, 11), *range(201, 205)],
                "output": list(range(301, 304)),
            },
            {
                "id": "request2",
                "arrival_step": 6,
                "prompt": [*range(1, 13), *range(401, 418)],
                "output": [501, 502],
            },
        ],
    },
    token_names={
        **_letters(1, "ABCDEFGHIJKLMNO"),
        **_letters(101, "PQRST"),
        **_letters(201, "klmn"),
        **_letters(301, "opq"),
        **_letters(401, "αβγδεζηθικλμνξοπρ"),
        **_letters(501, "στ"),
    },
)

_LIVE = EngineConfig(
    block_size=8,
    num_blocks=64,
    max_num_batched_tokens=64,
    max_num_seqs=4,
    max_model_len=2048,
    recompute_invalid_hits=True,
    refuse_oversized=True,
)

EXAMPLES: dict[str, Example] = {
    DOC_EXAMPLE: _DOC,
    SHARED_PROMPT: Example(
        _LIVE,
        prompts=(
            "What is the capital of France?",
            "Name three colors of the rainbow.",
            "Why is the sky blue?",
            "Tell me a short joke.",
        ),
    ),
    OWN: Example(_LIVE),
}
