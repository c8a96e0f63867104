"""A lesson being read: where its reader is, what was asked, and how far the run may be seen.

Nothing here knows a page. While a question is open the run ends, for its reader, at the moment the
question is about: whatever else is on the stage cannot give the answer away.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import ConfigError, PagewalkError
from engine.trace.state import Cursor
from engine.trace.trace import Trace
from lessons.changed import Change, later_of, run_changed
from lessons.errors import FactError
from lessons.grading import Grade, choices_of, grade
from lessons.library import LoadedLesson
from lessons.scenario import needs_model, whole_scenario
from lessons.schema import Chunk, Prediction
from views.changing import answered_number, graded_anew, read_change, without_answer
from views.horizon import beginning_of
from views.motion import Motion, next_motion
from views.text import Text, quoted

SKIPPED = "skipped"


@dataclass
class Study:
    """One visitor in one lesson. `chunk` is the index of the text that is read."""

    loaded: LoadedLesson
    chunk: int = 0
    furthest: int = 0  # the last text that was turned to
    answers: dict[str, Grade | str] = field(default_factory=dict)  # question -> grade or SKIPPED
    picks: list[int] = field(default_factory=list)  # blocks clicked for the open question
    typed: str = ""  # a number that was not one, as it stands in the field
    complaint: str = ""
    own: dict[str, Trace] = field(default_factory=dict)  # scenario -> the run of a changed one
    unanswered: set[str] = field(default_factory=set)  # questions to which an own run has no answer
    changes: dict[str, Any] = field(default_factory=dict)  # scenario -> the form of that run
    variants: set[str] = field(default_factory=set)  # badges whose later behaviour is shown
    typed_change: dict[str, Any] = field(default_factory=dict)  # as it stands in the form
    change_complaint: str = ""
    ordered: Change | None = None  # it waits for the real model
    motion: Motion | None = None
    is_over: bool = False  # the last text was left: the page sums up
    recalls: bool = False  # came back by a link: the browser may know the answers given before

    # Where the reader is ----------------------------------------------------------------------

    @property
    def here(self) -> Chunk:
        return self.loaded.lesson.chunks[self.chunk]

    @property
    def traces(self) -> Mapping[str, Trace]:
        """Scenario -> its run: the recorded one, or the reader's own."""
        return {**self.loaded.traces, **self.own}

    @property
    def scenario(self) -> str:
        return self._shown(self.loaded.lesson.scenario_of_chunk(self.here))

    def _shown(self, scenario: str) -> str:
        """The run with the later behaviour, where its reader switched to it."""
        for badge in self.loaded.lesson.badges:
            if badge.id in self.variants and badge.id in self.told and self.question is None:
                scenario = badge.later.get(scenario, scenario)
        return scenario

    @property
    def told(self) -> tuple[str, ...]:
        """The badges of which the reader may hear how it changed. Before their text that would answer
        a question; whoever has read it and answered may also go back to texts in front of it."""
        lesson = self.loaded.lesson
        places = [chunk.id for chunk in lesson.chunks]
        told = (each for each in lesson.badges if self._is_told(places.index(each.told_from)))
        return tuple(badge.id for badge in told)

    def _is_told(self, place: int) -> bool:
        asked = (chunk.predict for chunk in self.loaded.lesson.chunks[:place])
        is_answered = not any(map(self.waits_for, asked))
        return self.chunk >= place or (self.furthest >= place and is_answered)

    @property
    def can_switch(self) -> tuple[str, ...]:
        """The badges whose later behaviour this text's run can be seen with."""
        if self.question is not None:
            return ()
        badges = self.loaded.lesson.badges
        return tuple(b.id for b in badges if b.id in self.told and self._told in b.later)

    def place(self, text: str) -> Cursor:
        """A place in the run that is shown; its end where a changed run has no such place."""
        trace = self.traces[self.scenario]
        return self._place_in(trace, text)

    def _place_in(self, trace: Trace, text: str) -> Cursor:
        try:
            return self.loaded.place(self.here, text, {**self.traces, self._told: trace})
        except FactError:
            return trace.last

    @property
    def _told(self) -> str:
        """The scenario of which the chunk speaks, whichever is shown."""
        return self.loaded.lesson.scenario_of_chunk(self.here)

    # The question -----------------------------------------------------------------------------

    @property
    def question(self) -> str | None:
        """The one that this text asks, answered or not."""
        return self.here.predict

    @property
    def prediction(self) -> Prediction | None:
        return self.loaded.lesson.predictions[self.question] if self.question else None

    @property
    def is_open(self) -> bool:
        return self.waits_for(self.question) and not self.is_over

    def waits_for(self, question: str | None) -> bool:
        """Whether it is still to be answered; what a run does not hold is not asked."""
        return question is not None and question not in {*self.answers, *self.unanswered}

    @property
    def asks_for_blocks(self) -> bool:
        """Whether a hint at a block would answer the open question."""
        return self.is_open and self.prediction is not None and self.prediction.kind != "number"

    @property
    def asks_in_pool(self) -> bool:
        """Whether the answer is clicked in the pool."""
        return self.asks_for_blocks and not self.options

    @property
    def options(self) -> tuple[Any, ...]:
        """Names of a choice, or blocks to be put in order; none where they are clicked."""
        assert self.question is not None
        try:
            return choices_of(self.loaded.lesson, self.question, self.traces)
        except FactError:
            return ()

    def pick(self, block_id: int) -> None:
        """A block was clicked: the answer, or one more of an order; a second click takes it back."""
        if not self.is_open or self.prediction is None:
            return
        if self.prediction.kind == "block":
            self.picks = [] if self.picks == [block_id] else [block_id]
        elif self.prediction.kind == "order":
            if block_id in self.picks:
                self.picks.remove(block_id)
            else:
                self.picks.append(block_id)

    def answer(self, given: Any, text: Text) -> None:
        """Commit. `given` is what was typed or chosen; clicked blocks are known already."""
        self.complaint = ""
        if not self.is_open or self.question is None or self.prediction is None:
            return
        try:
            value = self._value(given, self.prediction, text)
            found = grade(
                self.loaded.lesson, self.question, value, self.traces, is_changed=self.is_changed
            )
        except PagewalkError as error:
            self.typed, self.complaint = str(given), text.error(error)
            return
        self.answers[self.question] = found
        self._go_on_looking()

    def _value(self, given: Any, prediction: Prediction, text: Text) -> Any:
        if prediction.kind == "number":
            number = answered_number(str(given), text)
            if not math.isfinite(number):
                raise ConfigError(text("learn.not_finite", given=quoted(str(given))))
            return int(number) if number == int(number) else number
        if prediction.kind == "choice":
            return str(given)
        if not self.picks:
            raise ConfigError(text("learn.nothing_clicked"))
        return self.picks[0] if prediction.kind == "block" else list(self.picks)

    def skip(self) -> None:
        if self.is_open and self.question is not None:
            self.answers[self.question] = SKIPPED
            self.complaint = ""
            self._go_on_looking()

    def _go_on_looking(self) -> None:
        """The stage plays to where the answer can be seen."""
        self.picks, self.typed = [], ""
        if self.prediction is not None and self.prediction.reveal:
            self._move(self.place(self.prediction.reveal))

    def _move(self, to: Cursor) -> None:
        self.motion = next_motion(to)

    # Its reader's own run ---------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """Whether the text, written for the recorded run, stands beside the reader's own."""
        asked = self.scenario_of(self.question) if self.question else None
        return bool({self._told, self.scenario, asked} & self.own.keys())

    def scenario_of(self, question: str) -> str:
        return self.loaded.lesson.scenario_of_prediction(question)

    @property
    def is_about_a_model(self) -> bool:
        return needs_model(whole_scenario(self.loaded.lesson, self.scenario))

    def change(self, sent: Any, text: Text) -> None:
        """Run the scenario live as its reader changed it; on the real model once that is there
        (ordering.py). If that fails nothing is lost."""
        self.typed_change, self.change_complaint = sent if isinstance(sent, dict) else {}, ""
        try:
            change = read_change(sent, text)
            if self.is_about_a_model:
                self.ordered = change
                return
            self.put_own(run_changed(self.loaded, self._told, change))
        except PagewalkError as error:
            self.change_complaint = text.error(error)

    def put_own(self, runs: Mapping[str, Trace], form: Any = None) -> None:
        """Read on in these runs: that of the changed scenario comes first."""
        self.own |= runs
        self.changes[next(iter(runs))] = self.typed_change if form is None else form
        self._grade_anew()

    def forget_own(self) -> None:
        """Back to the recorded run."""
        for name in (self._told, *later_of(self.loaded.lesson, self._told)):
            self.own.pop(name, None)
        self.changes.pop(self._told, None)
        self.typed_change, self.change_complaint = {}, ""
        self._grade_anew()

    def _grade_anew(self) -> None:
        self.answers.pop(self.question or "", None)
        self.unanswered = without_answer(self.loaded, self.traces, self.own)
        self.answers = graded_anew(self.loaded.lesson, self.answers, self.traces, self.own)
        self.motion = None

    def turn(self, chunk: int) -> Cursor:
        """Read another text; where the stage stands then. Behind the last one the lesson is over."""
        chunks = self.loaded.lesson.chunks
        before = self.scenario
        self.is_over = chunk >= len(chunks)
        self.chunk = max(0, min(chunk, len(chunks) - 1))
        self.furthest = max(self.furthest, self.chunk)
        self.picks, self.typed, self.complaint, self.ordered = [], "", "", None
        self.variants = set()  # the next text speaks of 0.17.1 again
        self.motion = None
        if self.scenario != before:
            self.typed_change, self.change_complaint = self.changes.get(self.scenario, {}), ""
        if self.is_over:
            return self.traces[self.scenario].last
        at = self.place(self.here.at)
        if self.here.play_from is None or self.scenario != before:
            return at
        self._move(at)
        return self.place(self.here.play_from)

    @property
    def selection(self) -> dict[str, Any]:
        try:
            return self.loaded.selection(self.here, self.traces)
        except FactError:
            return {}

    # How far the run may be seen ----------------------------------------------------------------

    @property
    def horizon(self) -> Cursor:
        """The moment of the next question that is not answered, in the run that is shown."""
        lesson, trace = self.loaded.lesson, self.traces[self.scenario]
        if self.is_over:
            return trace.last
        here = self._place_in(trace, self.here.at)
        if self.is_open:
            return here
        for chunk in lesson.chunks[self.chunk + 1 :]:
            is_same = self._shown(lesson.scenario_of_chunk(chunk)) == self.scenario
            if is_same and self.waits_for(chunk.predict):
                ahead = self._place_in(trace, chunk.at)
                seen = self.motion.to if self.motion else here
                return max(ahead, here, seen, key=trace.position)
        return trace.last

    @property
    def visible(self) -> Trace:
        return beginning_of(self.traces[self.scenario], self.horizon)
