"""What is chosen on the page on comparing, kept as typed: a workload, two settings, and their link."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from engine.trace.state import Cursor
from engine.trace.trace import Trace

LEFT, RIGHT = "left", "right"
SIDES = (LEFT, RIGHT)
NUMBERS = ("block_size", "num_blocks", "max_num_batched_tokens", "max_num_seqs")
SWITCHES = {
    "enable_prefix_caching": ("on", "off"),
    "policy": ("fcfs", "priority"),
    "order": ("given", "reversed", "shortest", "together"),
}
FIELDS = (*NUMBERS, *SWITCHES)
LETTERS, RUN = "letters", "run"
MAX_TYPED = 40  # characters of a field
MAX_LETTERS = 600  # characters of own requests


class Setting(NamedTuple):
    """One side of the form. None: as the workload has it."""

    block_size: str | None = None
    num_blocks: str | None = None
    max_num_batched_tokens: str | None = None
    max_num_seqs: str | None = None
    enable_prefix_caching: str | None = None
    policy: str | None = None
    order: str | None = None

    def over(self, start: "Setting") -> "Setting":
        """What is typed here, and from `start` what is not."""
        return Setting(*(own if own is not None else old for own, old in zip(self, start)))

    def beyond(self, start: "Setting") -> "Setting":
        """Only what is not already in `start`."""
        return Setting(*(own if own != old else None for own, old in zip(self, start)))


class Half(NamedTuple):
    """One side: its setting as it stands in the form, and what came of it.

    `trace`: its run from start to end; None where a field is wrong, and `errors` says which.
    `stuck_reason`: why it never ends; `is_cut`: it goes on behind the last step that is drawn.
    """

    setting: Setting
    trace: Trace | None = None
    errors: Mapping[str, str] = MappingProxyType({})
    stuck_reason: str | None = None
    is_cut: bool = False


class Choice(NamedTuple):
    """The page's own choices. The step is the browser's: it moves without asking the server."""

    workload: str = "doc_example"
    letters: str | None = None  # own requests, where `workload` is LETTERS
    left: Setting = Setting()
    right: Setting = Setting()

    @classmethod
    def from_browser(cls, sent: Any) -> "Choice":
        """Whatever comes from a form or a link: unknown names are left out, long texts cut."""
        given = sent if isinstance(sent, Mapping) else {}

        def typed(name: str, most: int = MAX_TYPED) -> str | None:
            found = given.get(name)
            return None if found is None else str(found)[: most + 1]

        left, right = (
            Setting(**{field: typed(f"{side}_{field}") for field in FIELDS}) for side in SIDES
        )
        workload = typed("workload") or cls().workload
        return cls(workload, typed("letters", MAX_LETTERS), left, right)

    def address(
        self,
        starts: Mapping[str, Setting],
        letters: str,
        run: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, str]:
        """What a link says: the workload, and what is not as the workload comes.

        `run`: what finds the run of the playground, where that is the workload.
        """
        said = {"workload": self.workload}
        if self.workload == RUN:
            said |= run
        if self.workload == LETTERS and self.letters not in (None, letters):
            said["letters"] = str(self.letters)
        for side, setting in ((LEFT, self.left), (RIGHT, self.right)):
            typed = setting.beyond(starts[side])._asdict().items()
            said |= {f"{side}_{field}": value for field, value in typed if value is not None}
        return said


class Closer(NamedTuple):
    """The closer look: which side is on the stage, if one is.

    `at`: the step at which the comparison stood when that was chosen, or went back to; None: the
    first that differs. `cursor`: the moment of the side, where a link says it.
    """

    side: str = ""
    at: int | None = None
    number: int = 0  # of the choices so far: each is followed once
    cursor: Cursor | None = None


BESIDE = Closer()  # both sides beside each other
