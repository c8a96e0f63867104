"""A published Mooncake trace, as a scripted workload: lengths and the ids of prefix blocks, no text.

    {"timestamp": 27482, "input_length": 1100, "output_length": 52, "hash_ids": [46, 47, 103]}

An id stands for BLOCK_TOKENS tokens and for everything before them; the last one of a row for what
is left, and it is no hit even where it occurs twice, because a block that is not full is never
cached. Rows are made smaller so that they can be looked at: SCALE tokens become one, and a block of
the trace becomes one block here. A second of the trace is a step.

Source of the format: kvcache-ai/Mooncake, FAST25-release/traces (README and *.jsonl).
"""

from typing import NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.core.kv_cache_spec import cdiv
from engine.errors import Sentence, SourceError
from engine.malformed import reason_of
from engine.trace.header import UNREADABLE
from engine.trace.packed import unpack
from engine.workload import ScriptedRequest, Workload

BLOCK_TOKENS = 512  # of one id in the published traces
SCALE = 32
BLOCK_SIZE = BLOCK_TOKENS // SCALE
MAX_ROWS = 64
MAX_INPUT_TOKENS = 1 << 18
MAX_OUTPUT_TOKENS = 1 << 16
MAX_STEPS = 4_000
MAX_ARRIVAL_STEP = 2_000
MS_PER_STEP = 1_000
FIRST_ANSWER_ID = 1_000_000_000  # of tokens that no prompt holds


class _Row(msgspec.Struct, frozen=True):
    """Further fields are passed over."""

    timestamp: float
    input_length: int
    output_length: int
    hash_ids: tuple[int, ...]


class Mooncake(NamedTuple):
    """`problem`: one sentence about rows that were left out and a file that ends too early."""

    workload: Workload
    num_rows: int  # of the file; the workload has at most MAX_ROWS of them
    problem: str | None = None


def is_mooncake(content: bytes) -> bool:
    """Whether one of the first lines is a row of such a trace, be it a wrong one."""
    start = unpack(content[:1_000_000], 1_000_000)[0]
    return any(map(_is_row, start.split(b"\n", MAX_ROWS)[:MAX_ROWS]))


def _is_row(line: bytes) -> bool:
    try:
        row = msgspec.json.decode(line)
    except UNREADABLE:
        return False
    return isinstance(row, dict) and "hash_ids" in row and "input_length" in row


def read_mooncake(content: bytes, *, max_bytes: int) -> Mooncake:
    """The rows that can be, as a workload: one does not hang on another. SourceError without any."""
    text, damage = unpack(content, max_bytes)
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    rows: list[_Row] = []
    refused: list[tuple[int, str]] = []
    for number, line in lines[:MAX_ROWS]:
        try:
            rows.append(_row(line))
        except (SourceError, *UNREADABLE) as error:
            refused.append((number, reason_of(error)))
    if damage is not None and refused and refused[-1][0] == lines[-1][0]:
        refused.pop()  # cut by the damage
    problem = _problem(refused, damage)
    if not rows:
        raise SourceError.of(
            "mooncake.nothing",
            "nothing of this Mooncake trace can be run: {problem}",
            problem=problem,
        )
    return Mooncake(_workload(rows), len(lines), problem)


def _problem(refused: list[tuple[int, str]], damage: str | None) -> str | None:
    if not refused:
        return damage
    (number, reason), *others = refused
    first = Sentence.of("mooncake.line", "line {line}: {reason}", line=number, reason=reason)
    if not others:
        return first
    return Sentence.of(
        "mooncake.lines", "{first} (others that cannot be read: {n})", first=first, n=len(others)
    )


def _row(line: bytes) -> _Row:
    row = msgspec.json.decode(line, type=_Row)
    if not 0 <= row.timestamp <= 1e12:
        raise SourceError.of(
            "mooncake.timestamp",
            "timestamp={given} is no number of milliseconds",
            given=row.timestamp,
        )
    if row.input_length < 1:
        raise SourceError.of(
            "mooncake.empty",
            "input_length={given}: an empty prompt cannot run",
            given=row.input_length,
        )
    if row.input_length > MAX_INPUT_TOKENS or not 1 <= row.output_length <= MAX_OUTPUT_TOKENS:
        raise SourceError.of(
            "mooncake.length",
            "input_length={given} may be at most {most}, and output_length={output} must be from 1 "
            "to {most_output}",
            given=row.input_length,
            most=MAX_INPUT_TOKENS,
            output=row.output_length,
            most_output=MAX_OUTPUT_TOKENS,
        )
    needed = cdiv(row.input_length, BLOCK_TOKENS)
    if len(row.hash_ids) != needed:
        raise SourceError.of(
            "mooncake.ids",
            "{tokens} tokens need {needed} ids of {size}, there are {found}",
            tokens=row.input_length,
            needed=needed,
            size=BLOCK_TOKENS,
            found=len(row.hash_ids),
        )
    if min(row.hash_ids) < 0 or max(row.hash_ids) * BLOCK_SIZE >= FIRST_ANSWER_ID:
        raise SourceError.of(
            "mooncake.hash_ids",
            "hash_ids must be from 0 to {last}",
            last=FIRST_ANSWER_ID // BLOCK_SIZE - 1,
        )
    return row


def _workload(rows: list[_Row]) -> Workload:
    start, answer_id = min(row.timestamp for row in rows), FIRST_ANSWER_ID
    requests = []
    for number, row in enumerate(rows):
        prompt, num_answer = _prompt(row), max(1, row.output_length // SCALE)
        requests.append(
            ScriptedRequest(
                id=f"m{number}",
                arrival_step=min(int(row.timestamp - start) // MS_PER_STEP, MAX_ARRIVAL_STEP),
                prompt=prompt,
                output=tuple(range(answer_id, answer_id + num_answer)),
            )
        )
        answer_id += num_answer
    return Workload(
        name="mooncake",
        requests=tuple(requests),
        config=_config(requests),
        max_steps=MAX_STEPS,
    )


def _prompt(row: _Row) -> tuple[int, ...]:
    """Each id as its own BLOCK_SIZE tokens; what is left never fills a block that was not full."""
    left = row.input_length - BLOCK_TOKENS * (len(row.hash_ids) - 1)
    last = max(1, left // SCALE)
    *whole, tail = row.hash_ids
    tokens = [id_ * BLOCK_SIZE + place for id_ in whole for place in range(BLOCK_SIZE)]
    return (*tokens, *range(tail * BLOCK_SIZE, tail * BLOCK_SIZE + last))


def _config(requests: list[ScriptedRequest]) -> EngineConfig:
    """A pool that the longest request fits into twice: small enough that blocks are evicted."""
    longest = max(len(request.prompt) + len(request.output) for request in requests)
    needed = cdiv(longest, BLOCK_SIZE)
    return EngineConfig(
        block_size=BLOCK_SIZE,
        num_blocks=max(128, 2 * needed) + 1,
        max_num_batched_tokens=512,
        max_num_seqs=16,
        max_model_len=max(256, needed * BLOCK_SIZE),
    )
