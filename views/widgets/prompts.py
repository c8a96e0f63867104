"""The form for a prompt: what is typed is tokenised at once, and stays until it is accepted."""

from functools import partial
from typing import Any

from engine.errors import PagewalkError
from views import session
from views.components.piece import piece
from views.drafts import Draft
from views.figures.prompt import MAX_LIVE_CHARACTERS, prompt_form, prompt_tokens
from views.limits import server_limits
from views.runs import Run
from views.text import Text
from views.widgets.branch import prompt_places


def prompts(run: Run | None) -> None:
    """The form; without a model it already takes text."""
    text, chosen = session.text(), session.choices()
    payload = prompt_form(text) | {
        "draft": chosen.draft._asdict(),
        "cleared": chosen.num_cleared,
        "problems": chosen.draft.problems(text),
        "can_add": run is not None and run.live is not None,
    }
    payload |= _tokens(run, chosen.draft, text)
    if run is not None:
        payload |= prompt_places(run)
    piece(
        "prompt",
        payload,
        on_draft_change=partial(session.note, "prompt", "draft"),
        on_added_change=partial(session.note, "prompt", "added"),
        on_added_here_change=partial(session.note, "prompt", "added_here"),
    )


def _tokens(run: Run | None, draft: Draft, text: Text) -> dict[str, Any]:
    if run is None:
        is_ready = session.loader().is_ready
        return {"count": text("prompt.no_run" if is_ready else "prompt.waiting")}
    if (reason := session.why_no_engine()) is not None:
        return {"count": reason}
    try:
        server_limits().check_prompt(draft.text, text)
    except PagewalkError as error:  # as it is refused when it is added
        return {"count": text.error(error), "error": True}
    if len(draft.text) > MAX_LIVE_CHARACTERS:
        return {"count": text("prompt.long", n=len(draft.text))}
    if not draft.text and draft.mode == "raw":
        return {"count": text.count("prompt.count", 0)}
    try:
        tokenized = session.tokenize(draft)
    except PagewalkError as error:
        return {"count": text.error(error), "error": True}
    if tokenized is None:
        return {}
    is_wrong = bool(draft.problems(text))  # said at the field
    warning = "" if is_wrong else run.why_refused(draft, len(tokenized.token_ids), text)
    return {"warning": warning} | prompt_tokens(
        tokenized.token_ids,
        tokenized.token_bytes,
        text,
        special=tokenized.special_token_ids,
        block_size=run.config.block_size,
    )
