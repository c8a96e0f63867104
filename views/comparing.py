"""One workload under two settings: read, checked, and run from start to end without a model."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from engine.config import EngineConfig
from engine.errors import ConfigError
from engine.trace.trace import Trace
from engine.workload import Workload
from views.branching import scripted_run
from views.drafts import whole_number
from views.examples import Example
from views.figures.compare.compare_inputs import NUMBERS, SWITCHES, Half, Setting
from views.text import Text, quoted
from views.workloads import MAX_STEPS, Material, arranged

MAX_BLOCKS = 4096  # of a pool that is typed here: each block costs memory, used or not
SWITCH = {"on": True, "off": False}


class Played(NamedTuple):
    """A run that is over, or never will be (see Half)."""

    trace: Trace
    stuck_reason: str | None
    is_cut: bool


def start_of(material: Material) -> Setting:
    """The form of the left side as the workload comes."""
    config = material.workload.config
    numbers = {name: str(getattr(config, name)) for name in NUMBERS}
    caching = "on" if config.enable_prefix_caching else "off"
    return Setting(
        **numbers, enable_prefix_caching=caching, policy=config.policy, order=SWITCHES["order"][0]
    )


def half(material: Material, typed: Setting, start: Setting, text: Text) -> Half:
    """One side on its own: what is wrong with it costs the other nothing."""
    setting = typed.over(start)
    config, errors = _config(material.workload.config, setting, text)
    if config is None:
        return Half(setting, errors=errors)
    workload = arranged(material.workload, setting.order or "")
    try:
        played = _played(workload, material.names, config)
    except ConfigError as error:  # a request that these settings can never serve
        return Half(setting, errors={"num_blocks": text.error(error)})
    return Half(setting, played.trace, {}, played.stuck_reason, played.is_cut)


@lru_cache(maxsize=24)
def _played(
    workload: Workload, names: tuple[tuple[int, bytes], ...], config: EngineConfig
) -> Played:
    """Shared by all visitors, and read only."""
    fields = msgspec.to_builtins(msgspec.structs.replace(workload, max_steps=MAX_STEPS))
    script = {name: value for name, value in fields.items() if name != "config"}
    run = scripted_run(Example(config, script=script, token_names=dict(names)), config)
    state = run.trace.at(run.trace.last)
    is_cut = run.stuck_reason is None and bool(state.live_requests())
    return Played(run.trace, run.stuck_reason, is_cut)


def _config(
    base: EngineConfig, setting: Setting, text: Text
) -> tuple[EngineConfig | None, dict[str, str]]:
    """The settings, or what is wrong with which field: each is tried alone, then all together."""
    errors: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, typed in setting._asdict().items():
        try:
            values[name] = _value(name, typed or "", base, text)
        except ConfigError as error:
            errors[name] = text.error(error)
    values.pop("order", None)
    if errors:
        return None, errors
    try:
        return msgspec.structs.replace(base, **values), {}
    except ConfigError as error:
        changed = [name for name in NUMBERS if values[name] != getattr(base, name)]
        return None, {_blamed(str(error), changed): text.error(error)}


def _value(name: str, typed: str, base: EngineConfig, text: Text) -> Any:
    if name in SWITCHES:
        if typed not in SWITCHES[name]:
            offered = ", ".join(SWITCHES[name])
            raise ConfigError(
                text("compare.unknown", name=name, given=quoted(typed), offered=offered)
            )
        return SWITCH.get(typed, typed)
    number = whole_number(name, typed, text)
    most = max(MAX_BLOCKS, base.num_blocks)
    if name == "num_blocks" and not 2 <= number <= most:
        raise ConfigError(text("compare.num_blocks", given=number, most=most))
    lone = {"max_num_seqs": 1} if name == "max_num_batched_tokens" else {}
    wide = {"max_num_batched_tokens": max(number, 1)} if name == "max_num_seqs" else {}
    free = {"enable_chunked_prefill": True, "kv_groups": None}
    msgspec.structs.replace(base, **{**free, **lone, **wide, name: number})
    return number


def _blamed(sentence: str, changed: Sequence[str]) -> str:
    """The field that a sentence about several settings stands beside: one that was changed."""
    found = [name for name in (*changed, *NUMBERS) if name in sentence]
    return found[0] if found else NUMBERS[0]
