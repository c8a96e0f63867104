"""A lesson's run on the real model, as its reader changed it: ordered now, run once the model is there."""

import importlib

import msgspec

from engine.config import EngineConfig, SamplingParams
from engine.errors import ConfigError, PagewalkError
from engine.trace.codec import without_times
from engine.trace.trace import Trace
from lessons.changed import MAX_BLOCKS, MAX_TOKENS, Change
from lessons.conversation import is_due, turns_before
from lessons.scenario import whole_scenario
from lessons.schema import Prompt, Scenario
from views.choices import Choices
from views.limits import server_limits
from views.runs import Run
from views.share import Share
from views.text import Text

MAX_STEPS = 300  # of a lesson's run on the model


def order(chosen: Choices) -> None:
    """Begin to load the model, unless it is there; once more where that failed."""
    chosen.model_is_seen = False
    if not chosen.share.loader.is_ready:
        chosen.share.loader.start()
        chosen.share.loader.retry()


def waits(chosen: Choices) -> bool:
    """Whether the page changes once the model is there."""
    return chosen.study is not None and chosen.study.ordered is not None


def can_run(chosen: Choices) -> bool:
    """Whether what was ordered need not wait any longer: the model is there, or will never be."""
    loader = chosen.share.loader
    return waits(chosen) and (loader.is_ready or loader.failure is not None)


def run_ordered(chosen: Choices) -> None:
    """The run takes the place of the recorded one; if that fails its reader is told why. Takes
    seconds: whoever calls says so on the page before."""
    study, share, text = chosen.study, chosen.share, Text(chosen.language)
    if study is None or study.ordered is None:
        return
    change, study.ordered = study.ordered, None
    try:
        if share.loader.failure is not None:
            raise ConfigError(text("model.failed", reason=text.said(share.loader.failure)))
        whole = whole_scenario(study.loaded.lesson, study.scenario)
        study.put_own({study.scenario: run_on_model(whole, change, share, text)})
    except PagewalkError as error:
        study.change_complaint = text.error(error)
    chosen.cursor = study.place(study.here.at)


def run_on_model(whole: Scenario, change: Change, share: Share, text: Text) -> Trace:
    """The changed prompts on the model of the server, each from its step on, to the end.

    ConfigError says what cannot be. The model is there: `share.loader.is_ready`.
    """
    run = _engine(whole, change, share, text)
    prompts = [
        msgspec.structs.replace(each, text=change.prompts.get(f"r{index}", each.text))
        for index, each in enumerate(whole.prompts)
    ]
    waiting, num_tokens = list(prompts), 0
    for step in range(MAX_STEPS):
        while waiting and is_due(waiting[0], run.trace, step, can_go_on=run.can_go_on):
            prompt = waiting.pop(0)
            server_limits().check_prompt(prompt.text, text)
            id_ = _add(run, prompt, turns_before(prompts, prompt, run.trace))
            num_tokens += run.num_prompt_tokens(id_) + prompt.max_tokens
            _check_size(num_tokens)
        if not run.advance():
            break
    trace = Trace(run.trace.header)
    trace.extend(without_times(event) for event in run.trace.events_from(0))
    return trace


def _add(run: Run, prompt: Prompt, before: list[tuple[str, str]]) -> str:
    assert run.live is not None, "it was made with an engine"
    return run.live.add_request(
        prompt.text,
        mode=prompt.mode,
        sampling=SamplingParams(max_tokens=prompt.max_tokens),
        before=before,
    )


def _engine(whole: Scenario, change: Change, share: Share, text: Text) -> Run:
    config = EngineConfig.from_mapping({**whole.config, **change.settings})
    if config.num_blocks > MAX_BLOCKS:
        raise ConfigError.of(
            "lesson.num_blocks",
            "num_blocks={given}: a lesson shows at most {most}",
            given=config.num_blocks,
            most=MAX_BLOCKS,
        )
    live, model = importlib.import_module("engine.sources.live"), share.loader.model
    bytes_per_block = live.plan_for(model, config.block_size).bytes_per_block
    share.check_pool(config, bytes_per_block, text)
    source = live.LiveSource(model, config)
    return Run(source.trace, source.config, live=source, lock=share.loader.lock)


def _check_size(num_tokens: int) -> None:
    if num_tokens > MAX_TOKENS:
        raise ConfigError.of(
            "lesson.too_long",
            "the texts have {n} tokens together, and a lesson shows at most {most}: shorten them",
            n=num_tokens,
            most=MAX_TOKENS,
        )
