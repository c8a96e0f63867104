"""What can be compared: scripts, requests written as letters, and the run of the playground."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.trace import events
from engine.trace.trace import Trace
from engine.workload import Operation, ScriptedRequest, Workload
from views.examples import DOC_EXAMPLE, EXAMPLES
from views.figures.compare.compare_inputs import LETTERS, MAX_LETTERS, RUN, Setting
from views.text import Text, quoted

MAX_STEPS = 600  # of a comparison; what is longer is cut, and says so
MAX_REQUESTS = 24
MAX_ARRIVAL = 200
UNNAMED_ANSWER = "."
UNKNOWN = "…".encode()
LINE = re.compile(
    r"\s*(?:@(?P<step>[0-9]{1,9})\s+)?(?P<prompt>[^>]*?)\s*(?:>\s*(?P<answer>.*?)\s*)?"
)


class Material(NamedTuple):
    """A workload, with its own settings on the left, and what the right changes at first."""

    workload: Workload
    names: tuple[tuple[int, bytes], ...] = ()  # token id -> what is drawn for it
    right: Setting = Setting()
    num_left_out: int = 0  # requests of a run that have no token to be repeated
    unended: tuple[str, ...] = ()  # requests of a run that are repeated only as far as they are


def _lettered(
    name: str, config: EngineConfig, lines: str, right: Setting, *, priorities: tuple[int, ...] = ()
) -> Material:
    material = letters(lines, Text(), config=config)
    requests = tuple(
        msgspec.structs.replace(request, priority=priority)
        for request, priority in zip(
            material.workload.requests, priorities or (0,) * MAX_REQUESTS, strict=False
        )
    )
    workload = msgspec.structs.replace(material.workload, name=name, requests=requests)
    return material._replace(workload=workload, right=right)


def _documentation() -> Material:
    example = EXAMPLES[DOC_EXAMPLE]
    workload = example.workload(example.config)
    names = tuple(sorted(example.token_names.items()))
    return Material(workload, names, Setting(enable_prefix_caching="off"))


def letters(lines: str, text: Text, *, config: EngineConfig | None = None) -> Material:
    """One request a line: `@step prompt > answer`, each character a token. ConfigError names the line.

    Without a step the line's place among the requests is its step; without an answer it makes one
    token, which is drawn as a dot.
    """
    if len(lines) > MAX_LETTERS:
        raise ConfigError(text("compare.letters_long", most=MAX_LETTERS))
    written = [line for line in lines.splitlines() if line.strip()]
    if not written:
        raise ConfigError(text("compare.letters_none"))
    if len(written) > MAX_REQUESTS:
        raise ConfigError(text("compare.letters_many", n=len(written), most=MAX_REQUESTS))
    requests = tuple(_request(line, place, text) for place, line in enumerate(written))
    characters = {char for line in written for char in line} | {UNNAMED_ANSWER}
    names = tuple((ord(char), char.encode(errors="replace")) for char in sorted(characters))
    given = config or EngineConfig(block_size=4, num_blocks=13)
    return Material(
        Workload(name=LETTERS, requests=requests, config=given),
        names,
        Setting(enable_prefix_caching="off"),
    )


def _request(line: str, place: int, text: Text) -> ScriptedRequest:
    found = LINE.fullmatch(line)
    if found is None or not found["prompt"]:
        raise ConfigError(text("compare.letters_line", line=place + 1, given=quoted(line.strip())))
    step = place if found["step"] is None else int(found["step"])
    if step > MAX_ARRIVAL:
        raise ConfigError(
            text("compare.letters_step", line=place + 1, given=step, most=MAX_ARRIVAL)
        )
    answer = found["answer"] or UNNAMED_ANSWER
    return ScriptedRequest(
        id=f"r{place}",
        arrival_step=step,
        prompt=tuple(map(ord, found["prompt"])),
        output=tuple(map(ord, answer)),
    )


NOTHING = Material(Workload(name="nothing", requests=()))


# The run of the playground ------------------------------------------------------------------------


def material_of(trace: Trace, config: EngineConfig) -> Material:
    """A run as a script: its requests, aborts and resets at their steps, its tokens as answers.

    Each request ends after the tokens that it has by now; one without any is left out. One that was
    aborted would have made more: where it lives longer than it did, it gets one that nobody knows.
    """
    every = trace.events_from(0)
    sampled: dict[str, list[int]] = {}
    names: dict[int, bytes] = {}
    for event in every:
        if isinstance(event, events.TokensSampled):
            sampled.setdefault(event.request_id, []).extend(event.token_ids)
            names.update(zip(event.token_ids, event.token_bytes))
        elif isinstance(event, events.RequestAdded):
            names.update(zip(event.prompt_token_ids, event.prompt_token_bytes))
    aborted = {e.request_id: e for e in every if isinstance(e, events.RequestAborted) and e.ok}
    added = {e.request_id: e for e in every if isinstance(e, events.RequestAdded)}
    unknown = max(names, default=0) + 1
    names[unknown] = UNKNOWN
    answers = {id_: tuple(sampled.get(id_, ())) + (unknown,) * (id_ in aborted) for id_ in added}
    requests = tuple(
        _repeated(event, answers[id_], aborted.get(id_))
        for id_, event in added.items()
        if answers[id_]
    )
    workload = Workload(name=RUN, requests=requests, config=config, ops=_resets(every))
    state = trace.at(trace.last)
    return Material(
        workload,
        tuple(sorted(names.items())),
        Setting(enable_prefix_caching="off"),
        len(added) - len(requests),
        tuple(each.id for each in requests if not state.requests[each.id].is_finished),
    )


def _repeated(
    added: events.RequestAdded, output: tuple[int, ...], aborted: events.RequestAborted | None
) -> ScriptedRequest:
    return ScriptedRequest(
        id=added.request_id,
        arrival_step=added.step,
        prompt=added.prompt_token_ids,
        output=output,
        arrival_time=added.arrival_time,
        cache_salt=added.cache_salt,
        lora=added.lora_name,
        priority=added.priority,
        abort_step=None if aborted is None else aborted.step,
        abort_phase="before" if aborted is None else aborted.phase,
        skip_reading_prefix_cache=added.skip_reading_prefix_cache,
    )


def _resets(every: Iterable[events.Event]) -> tuple[Operation, ...]:
    return tuple(
        Operation(
            step=event.step,
            op="reset_prefix_cache",
            reset_running_requests=event.reset_running_requests or None,
        )
        for event in every
        if isinstance(event, events.CacheReset)
    )


# The order of arrival -----------------------------------------------------------------------------


def arranged(workload: Workload, order: str) -> Workload:
    """The same requests come at the same steps, but in another order; or all in step 0."""
    requests = sorted(workload.requests, key=lambda request: request.arrival_step)
    steps = [request.arrival_step for request in requests]
    if order == "together":
        steps = [0] * len(steps)
    elif order == "reversed":
        requests = requests[::-1]
    elif order == "shortest":
        requests.sort(key=lambda request: len(request.prompt))
    else:
        return workload
    moved = tuple(_moved(request, step) for request, step in zip(requests, steps, strict=True))
    return msgspec.structs.replace(workload, requests=moved)


def _moved(request: ScriptedRequest, step: int) -> ScriptedRequest:
    abort = request.abort_step
    if abort is not None:
        abort += step - request.arrival_step
    return msgspec.structs.replace(request, arrival_step=step, abort_step=abort, arrival_time=None)


_SMALL = EngineConfig(block_size=4, num_blocks=9)
MATERIALS: Mapping[str, Material] = {
    DOC_EXAMPLE: _documentation(),
    "shared": _lettered(
        "shared",
        EngineConfig(block_size=4, num_blocks=15),
        "@0 YOUAREAHELPFULBOTWHY > bcde\n@0 YOUAREAHELPFULBOTHOW > fghi\n"
        "@0 YOUAREAHELPFULBOTWHO > jklm\n@0 YOUAREAHELPFULBOTAND > nopq",
        Setting(enable_prefix_caching="off"),
    ),
    "cliff": _lettered(
        "cliff",
        _SMALL,
        "AAAABBBBC\nDDDDEEEEF\nGGGGHHHHI\nAAAABBBBC\nDDDDEEEEF\nGGGGHHHHI",
        Setting(num_blocks="7"),
    ),
    "pressure": _lettered(
        "pressure",
        EngineConfig(block_size=4, num_blocks=7),
        "@0 ABCDEFGH > ijklmnopq\n@0 STUVWXYZ > abcdefghrstu",
        Setting(num_blocks="10"),
    ),
    "line": _lettered(
        "line",
        EngineConfig(block_size=4, num_blocks=13, max_num_batched_tokens=8, max_num_seqs=1),
        "@0 ABCDEFGHIJKLMNOPQRSTUVWX > abcd\n@0 12345 > e\n@0 67890 > f",
        Setting(policy="priority"),
        priorities=(1, 0, 0),
    ),
}
OWN_LETTERS = "ABCDEFGHIJ > klm\nABCDEFGHXY > z\n@5 ABCDEFGHIJklmQ > r"
WORKLOADS = (*MATERIALS, LETTERS, RUN)
