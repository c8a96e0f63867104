"""The lens "why", with the field in which a text can be tried on the cache."""

from typing import Any

from engine.errors import PagewalkError
from views import session
from views.drafts import Draft
from views.figures.moment import Moment
from views.figures.prompt import MAX_LIVE_CHARACTERS
from views.figures.why.why import why
from views.figures.why.would_hit import (
    Typed,
    answer,
    ask_form,
    ask_hint,
    names_of,
    script_tokens,
)
from views.runs import Run
from views.text import Text
from views.widgets.linked import linked


def why_lens(run: Run, moment: Moment, text: Text, question: Draft) -> None:
    """`question`: the text that was typed into the lens, and whether it is meant as chat."""
    chosen = session.choices()
    cursor, selection = chosen.cursor, chosen.selection
    payload = why(run.trace, cursor, moment, text, request_id=selection.request_id)
    payload["ask"] = _form(run, question, text)
    typed = _typed(run, question, text)
    payload["ask"] |= answer(run.trace, cursor, typed, text)
    linked("why", payload, moment, "chosen", "asked")


def _form(run: Run, question: Draft, text: Text) -> dict[str, Any]:
    names = names_of(run.trace) if run.live is None else None
    mode = None if run.live is None else question.mode
    return ask_form(text, hint=ask_hint(names, text), typed=question.text, mode=mode)


def _typed(run: Run, question: Draft, text: Text) -> Typed:
    if not question.text:  # blanks are a text: a model has tokens for them
        return Typed()
    if len(question.text) > MAX_LIVE_CHARACTERS:
        most = MAX_LIVE_CHARACTERS
        return Typed(problem=text("why.ask_long", n=len(question.text), most=most))
    if run.live is None:
        return script_tokens(question.text, names_of(run.trace), text)
    try:
        tokenized = run.tokenize(question)
    except PagewalkError as error:
        return Typed(problem=text.error(error))
    return Typed(tokenized.token_ids, tokenized.token_bytes)
