"""What a visitor has chosen and what belongs to them: the only module that touches Streamlit's state.

Shared by all visitors: the loaded model and the recorded example. Each session's own: its desks, one
for each page that has a stage, with its choices and its run, so that nothing is lost when the page
changes. Callbacks only note what was asked; `settle` does it inside the frame of the page, so that
a failure is shown there and costs nothing.
"""

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import PagewalkError
from engine.sources.prompt import Tokenized
from engine.sources.saved import SavedRuns
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from views import actions, beating, beginning, bringing_back, links, practising, side_runs, studying
from views.asked import Heard
from views.choices import Choices
from views.compared import SIDE_ACTIONS
from views.drafts import Branch, Draft, Restart
from views.examples import DOC_EXAMPLE, EXAMPLES, Example
from views.figures.time import address
from views.leaving import Belongings
from views.limits import Sessions, server_limits
from views.loading import Loader, load_default_model, other_form
from views.runs import Run
from views.share import Share
from views.text import LANGUAGES, Text, best_language, quoted

PLAYGROUND, LEARN, ALLOCATOR, BEAT, INSPECT = "playground", "learn", "allocator", "beat", "inspect"
_DESKS, _HERE, _HEARD, _LANGUAGE, _EXAMPLE = "desks", "desk", "heard", "language", "example"
_ASKED, _TOLD = "asked_language", "told_desks"  # what a link wrongly asked for, and who was told
_DRAWN = "drawn_language"  # of the page as a whole


def enter(desk: str) -> None:
    """Sit down at the desk of a page; what lay there when its visitor left still does."""
    st.session_state[_HERE] = desk
    if (said := about_language()) and desk not in st.session_state[_TOLD]:
        st.session_state[_TOLD].append(desk)
        choices().say_also(said)


def choices(desk: str | None = None) -> Choices:
    """What lies on a desk (None: of the page that is open)."""
    desks, name = _desks(), desk or st.session_state.get(_HERE, PLAYGROUND)
    if name not in desks:
        share = next((desk.share for desk in desks.values()), None) or Share(saved_runs(), loader())
        desks[name] = Choices(language=language(), share=share)
    return desks[name]


def _desks() -> dict[str, Choices]:
    if _DESKS not in st.session_state:
        st.session_state[_DESKS] = {}
        here = get_script_run_ctx()
        if here is not None and st.runtime.exists():
            belongings().keep(here.session_id, st.session_state[_DESKS])
    desks: dict[str, Choices] = st.session_state[_DESKS]
    return desks


def text() -> Text:
    return Text(language())


def language() -> str:
    """What the visitor chose, else what the link says, else the browser's own."""
    if _LANGUAGE not in st.session_state:
        given = st.query_params.get("lang")
        known = given if given in LANGUAGES else best_language(st.context.locale)
        st.session_state[_LANGUAGE] = known
        if given is not None and given not in LANGUAGES:
            st.session_state[_ASKED], st.session_state[_TOLD] = given, []
    return str(st.session_state[_LANGUAGE])


def about_language() -> str:
    """What is to be said where the link asked for a language that is not there, until one is chosen."""
    given = st.session_state.get(_ASKED)
    return text()("notice.language", given=quoted(given)) if given else ""


def take_language(key: str) -> None:
    """Speak it everywhere from now on. Nothing else changes."""
    st.session_state[_ASKED], st.session_state[_LANGUAGE] = None, st.session_state[key]
    for desk in st.session_state.get(_DESKS, {}).values():
        desk.language = language()


def keep_language_in_link() -> None:
    """A page change empties the address; English needs no word there unless another was asked for."""
    st.session_state[_DRAWN] = language()
    if st.query_params.get("lang", LANGUAGES[0]) != language():
        st.query_params["lang"] = language()


def page_speaks_another() -> bool:
    """Whether one was chosen in a tick in which a part asked, so that its fragment alone was drawn."""
    return bool(st.session_state.get(_DRAWN, language()) != language())


# The server and its model -----------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def saved_runs() -> SavedRuns:
    return SavedRuns(server_limits().runs, server_limits().space)


@st.cache_resource(show_spinner=False)
def sessions() -> Sessions:
    return Sessions(server_limits().max_sessions, st.runtime.get_instance().is_active_session)


@st.cache_resource(show_spinner=False)
def belongings() -> Belongings:
    """The desks of all sessions; those of a session that is over are cleared."""
    seconds = st.get_option("server.disconnectedSessionTTL")
    kept = Belongings(st.runtime.get_instance().is_active_session, seconds)
    kept.look_after()
    return kept


def no_room() -> str | None:
    """One sentence where this server has no place left for one more session."""
    here = get_script_run_ctx()
    if here is None or not st.runtime.exists():
        return None
    try:
        sessions().check(here.session_id, text())
    except PagewalkError as error:
        return text().error(error)
    return None


@st.cache_resource(show_spinner=False)
def loader() -> Loader:
    return Loader(load_default_model, other_form)


def waits_for_model() -> bool:
    """Whether the page changes once the model is there."""
    return run() is None or bringing_back.waits_for_engine(choices())


def why_no_engine() -> str | None:
    """Why the run that is on can be looked at and nothing else; None for every other run."""
    return bringing_back.why_no_engine(choices())


# The run ----------------------------------------------------------------------------------------


def recorded_example() -> Trace:
    """The documentation's example, from start to end."""
    return beginning.recorded(DOC_EXAMPLE).trace


def example() -> Example:
    return EXAMPLES[choices().example]


def run(desk: str | None = None) -> Run | None:
    """The run of a desk (None: of this page); None while the model that it needs is not there."""
    return choices(desk).run


def put_run(begun: Run, cursor: Cursor) -> None:
    choices().put(begun, cursor)


def prepare() -> None:
    """Read the address once; begin a run, or go on with one that came back, once that is possible."""
    chosen = choices()
    if not chosen.address_is_seen:
        chosen.address_is_seen = True
        if not chosen.address_is_read:
            links.read_source(chosen, dict(st.query_params))
    if chosen.run is None:
        beginning.begin_example(chosen)
    if not chosen.address_is_read and chosen.run is not None:
        links.read_moment(chosen, dict(st.query_params))
    bringing_back.engage(chosen)


def prepare_lesson() -> None:
    if not choices().address_is_read:
        links.read_lesson(choices(), dict(st.query_params))


def forget_moment() -> None:
    """A page without a run has no moment in its address; the language and what is done stay."""
    for name in {*address.MOMENT, "lesson", "chunk"} & set(st.query_params):
        del st.query_params[name]


def lesson_run() -> Run | None:
    """The run of the lesson that is read, as far as its reader may see it."""
    return studying.show(choices())


# What the browser asks for ----------------------------------------------------------------------


def note(piece: str, what: str) -> None:
    """A callback's only work: remember what a component sent until `settle` does it, each once."""
    here = st.session_state.get(_HERE, PLAYGROUND)
    for wish in _heard().read(what, st.session_state[piece][what]):
        desk = wish.desk if wish.desk in _desks() else here
        if wish.what in FROM_BROWSERS or (desk == INSPECT and wish.what in BY_PAGE):
            choices(desk).asked.add(wish)


def answered() -> tuple[int, str, str]:
    """For each payload: the number up to which the browser's wishes are done, and by whom (the
    session, the desk). One that lies on the desk of another page is done when that is opened."""
    chosen = choices()
    first = chosen.asked.first_number
    number = _heard().number if first is None else first - 1
    return number, chosen.share.name, st.session_state.get(_HERE, PLAYGROUND)


def _heard() -> Heard:
    heard: Heard = st.session_state.setdefault(_HEARD, Heard())
    return heard


def settle() -> bool:
    """Do what was asked; True if something outside of the stage has changed as well.

    Streamlit may end a run wherever its state is touched, so that happens before the first action:
    once something was taken from the list, it is done to the end.
    """
    chosen, changed = choices(), False
    while (wish := chosen.asked.next(but=BY_PAGE + actions.waiting(chosen))) is not None:
        begun, what, sent = run(), wish.what, wish.sent
        try:
            actions.interrupt(chosen, what)
            changed |= ACTIONS[what](chosen, begun, sent)
            changed |= bringing_back.remember(chosen, begun)
        except PagewalkError as error:
            prompts = [*begun.asked, chosen.draft] if begun else []
            refused = sent if isinstance(sent, Restart) else Restart({}, prompts)
            has_way_out = error.code == "oversized" and what not in ("branched", "added_here")
            chosen.refused = refused if has_way_out else None
            chosen.say("error", error.sentence)
            changed = True
    return changed or page_speaks_another() or chosen.asked.has_more(but=actions.waiting(chosen))


BY_PAGE = ("uploaded", "example_wanted")  # done by the page of files, when all of it is drawn
ACTIONS: dict[str, actions.Action] = {
    **actions.ACTIONS,
    **side_runs.ACTIONS,
    **studying.ACTIONS,
    **practising.ACTIONS,
    **beating.ACTIONS,
    **beginning.ACTIONS,
    **SIDE_ACTIONS,
}
FROM_BROWSERS = ACTIONS.keys() - {"applied", "branched"}  # those are asked for by `ask` alone


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


def toggle_panel(name: str) -> None:
    choices().panel = "" if choices().panel == name else name


def ask(what: str, wanted: Restart | Branch) -> None:
    choices().asked[what] = wanted


def tokenize(draft: Draft) -> Tokenized | None:
    """The draft as the model would get it; None where nothing can say."""
    begun = run()
    if begun is None or begun.live is None:
        return None
    server_limits().check_prompt(draft.text, text())
    return begun.tokenize(draft)
