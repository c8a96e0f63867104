"""What one visitor has chosen on a page: `session.py` keeps it, the trace holds the facts."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from engine.trace.state import Cursor
from views.asked import Asked
from views.beat import Beat
from views.brought import Brought
from views.drafts import Draft, Restart
from views.examples import DOC_EXAMPLE, OWN
from views.figures.block.kv import FIRST, Place
from views.figures.compare.compare_inputs import BESIDE, Choice, Closer
from views.figures.selection import NOTHING, Selection
from views.figures.sizing.sizing_inputs import Inputs
from views.figures.time.timeline import ZOOMS
from views.figures.time.until import BRANCHED, RETURNED, Until
from views.origin import Origin
from views.practice import Practice
from views.runs import Run
from views.share import Share
from views.shelf import Left, Shelf
from views.study import Study

START, NO_DRAFT = Cursor(0, 0), Draft()
LENSES = ("tree", "batch", "timeline", "why", "block")
PROMPTS, SETTINGS = "prompts", "settings"  # the panels of the playground


class Pursuit(NamedTuple):
    """A run on its way; `since`: what is in front of it has been searched."""

    until: Until
    since: Cursor


@dataclass
class Choices:
    """Plain values; whoever changes them is a function of `session.py`."""

    language: str = "en"
    share: Share = field(default_factory=Share)  # the same on all desks of a visitor
    example: str = DOC_EXAMPLE
    cursor: Cursor = START
    selection: Selection = NOTHING
    lens: str = LENSES[0]
    unfolded: set[str] = field(default_factory=set)  # requests of which every block is drawn
    questions: dict[str, Draft] = field(
        default_factory=dict
    )  # lens "why": example -> a text to try
    group_id: int = 0  # lens "batch"
    zoom: str = ZOOMS[0]  # lens "timeline"
    place: Place = FIRST  # lens "block": layer and KV head
    sizing: Inputs | None = None  # the form of the calculator; None: the address says it
    compare: Choice | None = None  # what is compared; None: the address says it
    closer: Closer = BESIDE  # which side of it is on the stage
    study: Study | None = None  # the lesson that is read
    practice: Practice | None = None  # the exercise of the allocator's page
    beat: Beat | None = None  # the puzzle of "Beat the pool"
    done: set[int] = field(default_factory=set)  # numbers of lessons read to their end
    left_at: tuple[str, int] | None = None  # the lesson and the text that were read last
    panel: str = ""  # the one that is open over the stage
    draft: Draft = NO_DRAFT
    typed: dict[str, Any] = field(default_factory=dict)  # settings in the form, not applied yet
    run: Run | None = None  # what is looked at; None while the model that it needs is not there
    shelf: Shelf = field(default_factory=Shelf)  # the run that is on and those beside it
    left: dict[str, Left] = field(default_factory=dict)  # example -> the runs that wait there
    pursuit: Pursuit | None = None  # the run goes on until something happens
    num_shares: int = 0  # of that work, so that the browser asks once for each
    asked: Asked = field(default_factory=Asked)  # by the browser, not done yet
    sequence: int = 0  # of the latest target that was reached
    num_cleared: int = 0  # prompts that were added, so that the form empties itself
    notices: dict[str, str] = field(default_factory=dict)  # kind -> sentence
    refused: Restart | None = None  # where waiting for ever is a way out of the error
    put_away: dict[str, str] | None = None  # the link of the run that a notice offers to bring back
    told_link: dict[str, str] = field(default_factory=dict)  # which the page around the stage knows
    awaited: Until | None = None  # what a notice offers to go on to
    beside: Run | None = None  # the saved run that a lab was asked for, not on this desk
    waiting: list[Brought] = field(default_factory=list)  # runs that came back, without an engine
    address_is_seen: bool = False  # which example and run it names
    address_is_read: bool = False  # all of it
    num_looks: int = 0  # at how far the model is
    model_is_seen: bool = False  # ready or failed, and the page was drawn with that

    def put(self, begun: Run, cursor: Cursor, origin: Origin | None = None) -> None:
        """Look at this run from here on; it takes the place of the one that was on."""
        self.shelf.restart(self.run, begun, cursor, origin)
        self.run, self.cursor, self.selection = begun, cursor, NOTHING
        self.typed.clear()
        self.follow(begun)

    def turn_to(self, begun: Run, cursor: Cursor) -> None:
        """Look at another run of the shelf. What is selected stays selected, to be compared."""
        self.run, self.cursor = begun, cursor
        self.typed.clear()
        self.notices.clear()
        self.follow(begun)

    def follow(self, begun: Run | None) -> None:
        """A run that still repeats its past goes on its way at once; any other waits to be asked."""
        is_on_its_way = begun is not None and begun.branch_step is not None
        kind = RETURNED if begun is not None and begun.came_back else BRANCHED
        self.pursuit = Pursuit(Until(kind), self.cursor) if is_on_its_way else None
        self.num_shares += is_on_its_way

    @property
    def branch_on_its_way(self) -> int | None:
        """The step at which the branch that is on begins, while it is on its way there."""
        is_on_its_way = self.pursuit is not None and self.pursuit.until.kind == BRANCHED
        return self.run.branch_step if is_on_its_way and self.run is not None else None

    def say_also(self, sentence: str) -> None:
        """A note beside the one that stands there."""
        self.say("note", " ".join(filter(None, (self.notices.get("note"), sentence))))

    def say_away(self, sentence: str, link: dict[str, str]) -> None:
        """A run left its place: with a way back, if it was saved."""
        if "run" in link:
            self.say("away", sentence)
            self.put_away = link

    def offer(self, until: Until, sentence: str) -> None:
        """Beside what is said: to go on to what a run that came back was on its way to."""
        self.notices["pending"] = sentence
        self.awaited = until

    def clear_draft(self) -> None:
        """The prompt was taken: the form empties itself, and keeps how it was meant."""
        self.draft = self.draft._replace(text="")
        self.num_cleared += 1

    def say(self, kind: str, sentence: str) -> None:
        """A new sentence takes the place of all that were said before."""
        self.notices = {kind: sentence}


def panel_of(example: str, run: Run | None) -> str:
    """What an example opens with: the form, where nothing runs before a prompt is typed."""
    return PROMPTS if example == OWN and not (run is not None and run.asked) else ""
