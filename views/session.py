"""What a visitor has chosen and what belongs to them: the only module that touches Streamlit's state.

Shared by all visitors: the loaded model and the recorded example. Each session's own: its desks, one
for each page that has a stage, with its choices and its run, so that nothing is lost when the page
changes. Callbacks only note what was asked; `settle` does it inside the frame of the page, so that
a failure is shown there and costs nothing.
"""

import importlib
from typing import Any

import streamlit as st

from engine.config import EngineConfig
from engine.errors import PagewalkError
from engine.sources.source import Tokenized
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views import actions, practising, side_runs, studying
from views.branching import scripted_run
from views.choices import LENSES, Choices
from views.drafts import Branch, Draft, Restart, numbers_of
from views.examples import DOC_EXAMPLE, EXAMPLES, Example
from views.figures import address
from views.figures.selection import NOTHING
from views.loading import Loader, load_default_model
from views.runs import Run
from views.text import LANGUAGES, Text, best_language, quoted

PLAYGROUND, LEARN, ALLOCATOR = "playground", "learn", "allocator"
_DESKS, _HERE, _LANGUAGE, _EXAMPLE = "desks", "desk", "language", "example"


def enter(desk: str) -> None:
    """Sit down at the desk of a page; what lay there when its visitor left still does."""
    st.session_state[_HERE] = desk


def choices(desk: str | None = None) -> Choices:
    """What lies on a desk (None: of the page that is open)."""
    return _desk(desk or st.session_state.get(_HERE, PLAYGROUND))


def _desk(name: str) -> Choices:
    desks: dict[str, Choices] = st.session_state.setdefault(_DESKS, {})
    if name not in desks:
        desks[name] = Choices(language=language())
    return desks[name]


def text() -> Text:
    return Text(language())


def language() -> str:
    """What the visitor chose, else what the link says, else the browser's own."""
    if _LANGUAGE not in st.session_state:
        given = st.query_params.get("lang")
        st.session_state[_LANGUAGE] = (
            given if given in LANGUAGES else best_language(st.context.locale)
        )
        if given is not None and given not in LANGUAGES:
            choices().say_also(text()("notice.language", given=quoted(given)))
    return str(st.session_state[_LANGUAGE])


def take_language(key: str) -> None:
    """Speak it everywhere from now on. Nothing else changes."""
    st.session_state[_LANGUAGE] = st.session_state[key]
    for desk in st.session_state.get(_DESKS, {}).values():
        desk.language = language()


def keep_language_in_link() -> None:
    """A page change empties the address; English needs no word there unless another was asked for."""
    if st.query_params.get("lang", LANGUAGES[0]) != language():
        st.query_params["lang"] = language()


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
    begun = scripted_run(EXAMPLES[name], EXAMPLES[name].config)
    begun.link = {"example": name}
    return begun


def recorded_example() -> Trace:
    """The documentation's example, from start to end."""
    return _recorded(DOC_EXAMPLE).trace


def example() -> Example:
    return EXAMPLES[choices().example]


def run(desk: str | None = None) -> Run | None:
    """The run of a desk (None: of this page); None while the model that it needs is not there."""
    return (choices() if desk is None else _desk(desk)).run


def put_run(begun: Run, cursor: Cursor) -> None:
    """Look at this run from here on; it takes the place of the one that was on."""
    chosen = choices()
    chosen.shelf.restart(chosen.run, begun, cursor)
    chosen.run, chosen.cursor, chosen.selection, chosen.pursuit = begun, cursor, NOTHING, None
    chosen.typed.clear()


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
    cursor = begun.trace.last if chosen.needs_model else begun.first_sight()
    put_run(begun, cursor)


def _read_example() -> None:
    given = st.query_params.get("example")
    if given in EXAMPLES:
        choices().example = given
    elif given is not None:
        choices().say_also(text()("notice.example", given=quoted(given)))
    if address.LIVE in st.query_params:
        kind = "live" if example().needs_model else "changed"
        choices().say_also(text().named("notice_ended", kind))


def _read_step() -> None:
    begun = run()
    assert begun is not None
    params = dict(st.query_params)
    chosen = address.read_choice(params, LENSES, begun.trace, text())
    choices().selection, choices().lens, complaint = chosen
    if complaint:
        choices().say_also(complaint)
    given = st.query_params.get("step")
    if begun.live is not None:
        if given is not None:
            choices().say_also(text()("notice.live_step", given=quoted(given)))
        return
    cursor, complaint = address.read_cursor(params, begun.trace, text())
    choices().cursor = cursor or choices().cursor
    if complaint:
        choices().say_also(complaint)


# What the browser asks for ----------------------------------------------------------------------


def note(piece: str, what: str) -> None:
    """A callback's only work: remember what a component sent until `settle` does it."""
    choices().asked[what] = st.session_state[piece][what]


def settle() -> bool:
    """Do what was asked; True if something outside of the stage has changed as well.

    Streamlit may end a run wherever its state is touched, so that happens before the first action:
    once something was taken from the list, it is done to the end.
    """
    chosen, changed = choices(), False
    while chosen.asked:
        begun = run()
        what = next(iter(chosen.asked))
        sent = chosen.asked.pop(what)
        try:
            if what not in actions.HARMLESS:
                chosen.pursuit = None
            changed |= ACTIONS[what](chosen, begun, sent)
        except PagewalkError as error:
            prompts = [*begun.asked, chosen.draft] if begun else []
            refused = sent if isinstance(sent, Restart) else Restart({}, prompts)
            has_way_out = error.code == "oversized" and what not in ("branched", "added_here")
            chosen.refused = refused if has_way_out else None
            chosen.say("error", str(error))
            changed = True
    return changed


def _wait(chosen: Choices, begun: Run | None, _: Any) -> bool:
    """Begin again with what was refused, and let what can never fit wait for ever."""
    if chosen.refused is not None:
        settings, drafts = chosen.refused
        _restart(chosen, begun, Restart({**settings, "refuse_oversized": False}, drafts))
        if chosen.draft in (drafts or ()):
            chosen.clear_draft()
    return True


def _restart(chosen: Choices, begun: Run | None, restart: Restart) -> bool:
    if begun is not None:
        settings = numbers_of(restart.settings, Text(chosen.language))
        config = EngineConfig.from_mapping({**begun.config.to_mapping(), **settings})
        _begin(config, begun.asked if restart.drafts is None else restart.drafts)
        chosen.notices.clear()
    return True


ACTIONS: dict[str, actions.Action] = {
    **actions.ACTIONS,
    **side_runs.ACTIONS,
    **studying.ACTIONS,
    **practising.ACTIONS,
    "waited": _wait,
    "applied": _restart,
}


# What the page's own controls ask for -----------------------------------------------------------


def take_example(key: str) -> None:
    side_runs.open_example(choices(), st.session_state[key])


def example_field() -> str:
    """The key of the field that chooses an example; it shows the one that is open."""
    st.session_state[_EXAMPLE] = choices().example
    return _EXAMPLE


def retry_model() -> None:
    choices().notices.pop("error", None)
    choices().model_is_seen = False
    loader().retry()


def toggle_panel() -> None:
    choices().panel_is_open = not choices().panel_is_open


def ask(what: str, wanted: Restart | Branch) -> None:
    choices().asked[what] = wanted


def tokenize(draft: Draft) -> Tokenized | None:
    """The draft as the model would get it; None where nothing can say."""
    begun = run()
    return None if begun is None or begun.live is None else begun.tokenize(draft)
