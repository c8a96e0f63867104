"""What a browser asks for: each of it done once and in order, whatever got lost on the way.

Streamlit (1.67) loses a click where a newer one of the same part overtakes it, where two parts send
in one tick of the browser, and while there is no connection. So a browser numbers what it asks for
and repeats it, all that is open in one letter, until a payload says that it was answered
(components/asking.js); here a number counts once.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple


class Wish(NamedTuple):
    """`number` 0: of a part that counts nothing. `desk` None: of the page that is open."""

    number: int
    what: str
    sent: Any
    desk: str | None = None


class Asked:
    """Of one desk, not done yet; the oldest first."""

    def __init__(self) -> None:
        self._wishes: list[Wish] = []

    def __bool__(self) -> bool:
        return bool(self._wishes)

    def __contains__(self, what: str) -> bool:
        return any(wish.what == what for wish in self._wishes)

    def __setitem__(self, what: str, sent: Any) -> None:
        self._wishes.append(Wish(0, what, sent))

    def add(self, wish: Wish) -> None:
        self._wishes.append(wish)

    def next(self, but: Collection[str] = ()) -> Wish | None:
        """The oldest, which is done now; what is in `but` waits for somebody else."""
        wish = next((each for each in self._wishes if each.what not in but), None)
        if wish is not None:
            self._wishes.remove(wish)
        return wish

    def has_more(self, but: Collection[str]) -> bool:
        return any(wish.what not in but for wish in self._wishes)

    def pop(self, what: str) -> Any:
        """The oldest of its kind, done by somebody else than `settle`."""
        wish = next(each for each in self._wishes if each.what == what)
        self._wishes.remove(wish)
        return wish.sent

    @property
    def first_number(self) -> int | None:
        """Of what is still to do; None where a browser waits for nothing."""
        return min((wish.number for wish in self._wishes if wish.number), default=None)


@dataclass
class Heard:
    """How far a browser was heard: the page that counts there, and its highest number."""

    page: str = ""
    number: int = 0

    def read(self, what: str, sent: Any) -> Iterable[Wish]:
        """What is new in a letter; what is none is a wish by itself."""
        wishes = _of_letter(sent)
        if wishes is None:
            return [Wish(0, what, sent)]
        if self.page != sent["page"]:
            self.page, self.number = sent["page"], 0
        new = sorted((wish for wish in wishes if wish.number > self.number), key=_number)
        self.number = max((wish.number for wish in new), default=self.number)
        return new


def _number(wish: Wish) -> int:
    return wish.number


def _of_letter(sent: Any) -> list[Wish] | None:
    """`{"page": .., "asked": [[number, what, value, desk], ..]}`; None for anything else."""
    if not isinstance(sent, dict) or sent.keys() != {"page", "asked"}:
        return None
    if not isinstance(sent["page"], str) or not isinstance(sent["asked"], list):
        return None
    return [wish for each in sent["asked"] if (wish := _wish(each)) is not None]


def _wish(given: Any) -> Wish | None:
    match given:
        case [int(number), str(what), value, str(desk)] if number > 0:
            return Wish(number, what, value, desk)
    return None
