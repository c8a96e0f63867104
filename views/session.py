"""What a visitor has chosen and what belongs to them: the only module that touches Streamlit's state.

Shared by all visitors: the loaded model and the recorded example. Each session's own: its choices,
its run with the engine behind it. Callbacks only note what was asked; `settle` does it inside the
frame of the page, so that a failure is shown there and costs nothing.
"""

import importlib
from typing import Any

import streamlit as st

from engine.config import EngineConfig
from engine.errors import PagewalkError
from engine.sources.source import Tokenized
from views.choices import LENSES, START, Choices
from views.examples import EXAMPLES, OWN, Example
from views.figures import address
from views.figures.selection import NOTHING, Selection
from views.loading import Loader, load_default_model
from views.runs import Draft, Left, Restart, Run, numbers_of, remarks, scripted_run
from views.text import Text

_CHOICES, _RUN = "choices", "run"


def choices() -> Choices:
    if _CHOICES not in st.session_state:
        st.session_state[_CHOICES] = Choices()
    chosen: Choices = st.session_state[_CHOICES]
    return chosen


def text() -> Text:
    return Text(choices().language)


# The model --------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def loader() -> Loader:
    return Loader(load_default_model)


def _live_run(config: EngineConfig) -> Run:
    live = importlib.import_module("engine.sources.live")
    source = live.LiveSource(loader().model, config)
    return Run(source.trace, source.config, live=source, lock=loader().lock)


# The run ----------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def _recorded(name: str) -> Run:
    """The example as it comes, run once for everybody: nothing in it changes any more."""
    return scripted_run(EXAMPLES[name], EXAMPLES[name].config)


def example() -> Example:
    return EXAMPLES[choices().example]


def run() -> Run | None:
    """The session's run; None while the model that it needs is not there."""
    found: Run | None = st.session_state.get(_RUN)
    return found


def prepare() -> None:
    """Read the address once, and begin the chosen run as soon as that is possible."""
    if not choices().address_is_read:
        _read_example()
    if run() is None and (not example().needs_model or loader().is_ready):
        _begin(example().config, [Draft(text=prompt) for prompt in example().prompts])
    if not choices().address_is_read and run() is not None:
        _read_step()
        choices().address_is_read = True


def _begin(config: EngineConfig, drafts: list[Draft]) -> None:
    """A new run with these settings and prompts; the old one stays if that fails."""
    chosen = example()
    if chosen.needs_model:
        begun = _live_run(config)
        for draft in drafts:
            begun.add(draft, draft.sampling(text()))
    else:
        is_known = config == chosen.config
        begun = _recorded(choices().example) if is_known else scripted_run(chosen, config)
    st.session_state[_RUN] = begun
    choices().selection = NOTHING
    choices().typed.clear()
    choices().cursor = begun.trace.last if chosen.needs_model else begun.first_sight()


def _read_example() -> None:
    given = st.query_params.get("example")
    if given in EXAMPLES:
        choices().example = given
    elif given is not None:
        choices().say("note", text()("notice.example", given=address.quoted(given)))
    if address.LIVE in st.query_params and example().needs_model:
        choices().say("note", text()("notice.live_ended"))


def _read_step() -> None:
    begun = run()
    assert begun is not None
    choices().selection = Selection.from_browser(dict(st.query_params))
    choices().lens = address.read_lens(st.query_params, LENSES)
    given = st.query_params.get("step")
    if begun.live is not None:
        if given is not None:
            choices().say("note", text()("notice.live_step", given=address.quoted(given)))
        return
    cursor, complaint = address.read_cursor(st.query_params, begun.trace, text())
    choices().cursor = cursor or choices().cursor
    if complaint:
        choices().say("note", complaint)


# What the browser asks for ----------------------------------------------------------------------


def note(piece: str, what: str) -> None:
    """A callback's only work: remember what a component sent until `settle` does it."""
    sent = st.session_state[piece][what]
    choices().asked[what] = sent


def settle() -> bool:
    """Do what was asked; True if something outside of the stage has changed as well.

    Streamlit may end a run wherever its state is touched, so that happens before the first action:
    once something was taken from the list, it is done to the end.
    """
    chosen, begun, changed = choices(), run(), False
    while chosen.asked:
        what = next(iter(chosen.asked))
        sent = chosen.asked.pop(what)
        try:
            changed |= ACTIONS[what](chosen, begun, sent)
        except PagewalkError as error:
            prompts = [*begun.asked, chosen.draft] if begun else []
            refused = sent if isinstance(sent, Restart) else Restart({}, prompts)
            chosen.refused = refused if error.code == "oversized" else None
            chosen.say("error", str(error))
            changed = True
    return changed


def _go_to(chosen: Choices, begun: Run | None, target: Any) -> bool:
    """A target that was meant for the run before is over; a note ends where one goes on."""
    if begun is not None and isinstance(target, dict):
        chosen.sequence = int(target.get("sequence", chosen.sequence))
        if target.get("run", begun.run_id) == begun.run_id:
            chosen.cursor = begun.reach(target)
            chosen.notices.pop("note", None)
    return False


def _go_to_position(chosen: Choices, begun: Run | None, position: Any) -> bool:
    return _go_to(chosen, begun, {"position": position})


def _select(chosen: Choices, _: Run | None, sent: Any) -> bool:
    wanted = Selection.from_browser(sent)  # what is selected already is deselected
    chosen.selection = NOTHING if wanted == chosen.selection else wanted
    return False


def _look_through(chosen: Choices, _: Run | None, lens: Any) -> bool:
    if lens in LENSES:
        chosen.lens = lens
    return False


def _close(chosen: Choices, _: Run | None, kind: Any) -> bool:
    return chosen.notices.pop(str(kind), None) is not None


def _keep_draft(chosen: Choices, _: Run | None, sent: Any) -> bool:
    chosen.draft = Draft.from_browser(sent)
    return False


def _add(chosen: Choices, begun: Run | None, sent: Any) -> bool:
    """Queue the prompt that stands in the form. If that fails the form keeps it."""
    draft = chosen.draft = Draft.from_browser(sent)
    words = Text(chosen.language)
    assert begun is not None, "the form was shown before the model was there"
    sampling = draft.sampling(words)
    request_id = begun.add(draft, sampling)
    chosen.draft = draft._replace(text="")
    chosen.num_cleared += 1
    chosen.cursor = begun.trace.last
    added = words("notice.added", request=request_id)
    said = remarks(draft, sampling, begun.num_prompt_tokens(request_id), words)
    chosen.say("note", " ".join((added, *said)))
    return True


def _abort(chosen: Choices, begun: Run | None, request_id: Any) -> bool:
    if begun is not None:
        chosen.cursor = begun.abort(str(request_id))
    return False


def _reset(chosen: Choices, begun: Run | None, _: Any) -> bool:
    if begun is not None:
        chosen.cursor = begun.reset_prefix_cache()
    return False


def _wait(chosen: Choices, begun: Run | None, _: Any) -> bool:
    """Begin again with what was refused, and let what can never fit wait for ever."""
    if chosen.refused is not None:
        settings, drafts = chosen.refused
        _restart(chosen, begun, Restart({**settings, "refuse_oversized": False}, drafts))
        if chosen.draft in (drafts or ()):
            chosen.draft = chosen.draft._replace(text="")
            chosen.num_cleared += 1
    return True


def _restart(chosen: Choices, begun: Run | None, restart: Restart) -> bool:
    if begun is not None:
        settings = numbers_of(restart.settings, Text(chosen.language))
        config = EngineConfig.from_mapping({**begun.config.to_mapping(), **settings})
        _begin(config, begun.asked if restart.drafts is None else restart.drafts)
        chosen.notices.clear()
    return True


ACTIONS = {
    "target": _go_to,
    "chosen": _go_to_position,
    "selected": _select,
    "lens": _look_through,
    "closed": _close,
    "draft": _keep_draft,
    "added": _add,
    "aborted": _abort,
    "reset": _reset,
    "waited": _wait,
    "applied": _restart,
}


# What the page's own controls ask for -----------------------------------------------------------


def open_example(name: str) -> None:
    """Leave the run that is on, and go on with the one that was left there, or begin it."""
    chosen, begun = choices(), run()
    if name not in EXAMPLES or name == chosen.example:
        return
    if begun is not None:
        chosen.left[chosen.example] = Left(begun, chosen.cursor)
    there = chosen.left.pop(name, Left(None, START))
    chosen.example, chosen.panel_is_open = name, name == OWN
    chosen.cursor, chosen.selection, chosen.address_is_read = there.cursor, NOTHING, True
    chosen.notices.clear()
    chosen.typed.clear()
    st.session_state[_RUN] = there.run


def take_example(key: str) -> None:
    open_example(st.session_state[key])


def retry_model() -> None:
    choices().notices.pop("error", None)
    choices().model_is_seen = False
    loader().retry()


def toggle_panel() -> None:
    choices().panel_is_open = not choices().panel_is_open


def setting_field(name: str, given: Any) -> str:
    """The key of a setting's field. What was typed there outlives a panel that was closed."""
    begun = run()
    key = f"setting-{name}-{begun.run_id if begun else 0}"
    if key not in st.session_state:
        st.session_state[key] = choices().typed.get(name, given)
    return key


def apply(restart: Restart) -> None:
    choices().asked["applied"] = restart


def tokenize(draft: Draft) -> Tokenized | None:
    """The draft as the model would get it; None where nothing can say."""
    begun = run()
    return None if begun is None or begun.live is None else begun.tokenize(draft)
