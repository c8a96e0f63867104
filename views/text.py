"""Every word on a page comes from the catalogue of a language through one `Text`."""

import functools
import importlib
import pkgutil
import unicodedata
from collections.abc import Iterable
from types import ModuleType

from engine.errors import PagewalkError, Sentence

LANGUAGES: tuple[str, ...] = ("en", "ja", "zh")
TAGS = {"en": "en", "ja": "ja", "zh": "zh-Hans"}  # as a browser knows them: BCP 47
MAX_LISTED = 8
MAX_QUOTED = 40
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"  # Unicode's bidirectional algorithm, UAX 9
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Text:
    """The catalogue of one language. A missing key is our mistake and fails loudly.

    Values are put in as they are: what a user typed is never read as a template.
    """

    def __init__(self, language: str = "en") -> None:
        self.language = language if language in LANGUAGES else LANGUAGES[0]
        self.messages = catalogue(self.language)

    def __call__(self, key: str, /, **values: object) -> str:
        return self.messages[key].format(**values) if values else self.messages[key]

    def count(self, key: str, number: int, /, **values: object) -> str:
        """The sentence for this number: `key.one` or `key.other`, with `{n}` in it."""
        one = self.messages.get(f"{key}.one") if number == 1 else None  # not every language has it
        return (one or self.messages[f"{key}.other"]).format(n=number, **values)

    def named(self, family: str, name: str) -> str:
        """The word of a family of keys, chosen by a name from the trace (a status, a reason)."""
        return self.messages[f"{family}.{name}"]

    def said(self, sentence: str) -> str:
        """What the engine says, in this language; in its own English where there is nothing else."""
        if not isinstance(sentence, Sentence):
            return sentence
        template = self.messages.get(f"error.{sentence.code}", sentence.template)
        return template.format(
            **{
                name: self.said(value) if isinstance(value, str) else value
                for name, value in sentence.values.items()
            }
        )

    def error(self, error: PagewalkError) -> str:
        """What went wrong, in this language."""
        return self.said(error.sentence)

    def sentence(self, said: str) -> str:
        """A clause of the engine as a sentence of its own: a capital in front, a full stop behind.

        The name of a setting stays as it is: num_blocks=64.
        """
        first, _, _ = said.partition(" ")
        begun = said if "=" in first or "_" in first else f"{said[:1].upper()}{said[1:]}"
        return begun if said.endswith((".", "。", "？", "?")) else f"{begun}{self('list.stop')}"

    def ids(self, numbers: Iterable[int]) -> str:
        """`1, 2, 3`; a long list keeps its ends."""
        shown = list(numbers)
        if len(shown) <= MAX_LISTED:
            return ", ".join(map(str, shown))
        head, tail = shown[: MAX_LISTED - 2], shown[-1]
        return self("list.long", head=", ".join(map(str, head)), tail=tail, n=len(shown))

    def listed(self, words: Iterable[str]) -> str:
        """Words of ours one behind the other, with this language's comma; empty ones are left out."""
        return self("list.comma").join(filter(None, words))

    def in_quotes(self, words: str) -> str:
        """Words that are not ours, as a part of a sentence of ours."""
        return self("list.quotes", words=words)

    def told(self, sentences: Iterable[str]) -> str:
        """Whole sentences one behind the other: with a space between them where a language has one."""
        return self("list.space").join(filter(None, sentences))


@functools.cache
def catalogue(language: str) -> dict[str, str]:
    """Key -> message, of all its modules."""
    return {key: text for module in catalogues(language) for key, text in module.MESSAGES.items()}


def catalogues(language: str) -> list[ModuleType]:
    """The modules of a language: those of its package, or the one module that it is."""
    whole = importlib.import_module(f"views.i18n.{language}")
    names = [module.name for module in pkgutil.iter_modules(getattr(whole, "__path__", ()))]
    return [importlib.import_module(f"{whole.__name__}.{name}") for name in names] or [whole]


def best_language(locale: str | None) -> str:
    """Of ours, for what a browser asks for (`ja-JP`); English for all others."""
    asked = (locale or "").replace("_", "-").split("-")[0].lower()
    return asked if asked in LANGUAGES else LANGUAGES[0]


def quoted(given: str) -> str:
    """The start of what somebody gave, letter by letter, as a part of a sentence of ours.

    What cannot be seen stands as its code point, so that no control turns our words around, and
    letters that run from right to left stay among themselves.
    """
    shown = "".join(map(visible, given[:MAX_QUOTED])) + ("…" if len(given) > MAX_QUOTED else "")
    is_plain = all(unicodedata.bidirectional(char) not in ("R", "AL", "AN") for char in shown)
    return shown if is_plain else f"{FIRST_STRONG_ISOLATE}{shown}{POP_ISOLATE}"


def visible(char: str) -> str:
    """A character, or `U+202E` for one that is a control or has no shape."""
    return f"U+{ord(char):04X}" if unicodedata.category(char) in UNSEEN else char
