"""Text to token ids with exact bytes, chat template or raw; typed control tokens stay text.

Control tokens (`<|im_end|>`) steer a model, so a user's text must not contain any unless somebody
asks for it. Two copies of the tokenizer do this: one reads them, the other takes them as letters.
"""

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from engine.checks import check_token_ids, one_of
from engine.errors import ConfigError
from engine.runner.token_bytes import missing_bytes, vocabulary_bytes

Turns = Sequence[tuple[str, str]]  # role and text of what was said before
MODES = ("chat", "raw")
_STAND_IN = "\u2063user text\u2063"  # a text that no template contains


class Tokenized(NamedTuple):
    """A text as the model would get it."""

    token_ids: tuple[int, ...]
    token_bytes: tuple[bytes, ...]  # one per token; may be part of a character
    special_token_ids: tuple[int, ...]  # which of the ids are control tokens, each once


class Tokenizer:
    """A transformers fast tokenizer behind the few questions that Pagewalk asks.

    Nothing here changes after construction, so threads may share it.
    """

    def __init__(self, pretrained: Any, *, vocab_size: int) -> None:
        """`pretrained` is a transformers tokenizer with a `tokenizers` backend."""
        self.pretrained = pretrained
        self.vocab_size = vocab_size  # of the model: an id below it is valid
        serialised = pretrained.backend_tokenizer.to_str()
        backend_class = type(pretrained.backend_tokenizer)
        self._reads_special = backend_class.from_str(serialised)
        self._takes_as_text = backend_class.from_str(serialised)
        for backend in (self._reads_special, self._takes_as_text):
            backend.no_truncation()
            backend.no_padding()
        self._takes_as_text.encode_special_tokens = True
        self.tokenizer_id = "sha256:" + hashlib.sha256(serialised.encode()).hexdigest()[:16]
        added = pretrained.added_tokens_decoder
        self._special = {id_: str(token) for id_, token in added.items() if token.special}
        self._missing_bytes = missing_bytes(self._reads_special)
        self._bytes = vocabulary_bytes(
            self._reads_special, {id_: str(token) for id_, token in added.items()}
        )

    @property
    def has_chat_template(self) -> bool:
        return bool(self.pretrained.chat_template)

    @property
    def special_token_ids(self) -> frozenset[int]:
        return frozenset(self._special)

    def encode(
        self, text: str, mode: str, *, allow_special: bool = False, before: Turns = ()
    ) -> Tokenized:
        """`text` as the model gets it. ConfigError for an unknown mode, an empty raw prompt or a
        character that no token stands for.

        In chat mode the template's own control tokens are always read; `allow_special` is about
        those that the user typed. `before`: a chat's earlier turns, which its client sends again.
        """
        one_of("mode", mode, MODES)
        for said in (*(earlier for _, earlier in before), text):
            _check_text(said, self._missing_bytes)
        if mode == "raw":
            assert not before, "a raw prompt has no turns"
            return self._tokenized(self._encode_raw(text, allow_special))
        return self._tokenized(self._encode_chat(text, allow_special, before))

    def check_token_ids(self, token_ids: object) -> tuple[int, ...]:
        """The prompt given as ids, if all are ids of this vocabulary; ConfigError else."""
        return check_token_ids(token_ids, self.vocab_size)

    def from_token_ids(self, token_ids: object) -> Tokenized:
        """A prompt given as ids; raises ConfigError as `check_token_ids` does."""
        return self._tokenized(self.check_token_ids(token_ids))

    def bytes_of(self, token_id: int) -> bytes:
        """What the token stands for; empty for ids beyond the tokenizer's own vocabulary."""
        return self._bytes[token_id] if token_id < len(self._bytes) else b""

    def _tokenized(self, token_ids: Sequence[int]) -> Tokenized:
        special = dict.fromkeys(id_ for id_ in token_ids if id_ in self._special)
        token_bytes = tuple(self.bytes_of(id_) for id_ in token_ids)
        return Tokenized(tuple(token_ids), token_bytes, tuple(special))

    def _encode_raw(self, text: str, allow_special: bool) -> list[int]:
        if not text:
            raise ConfigError.of(
                "prompt.empty", "the prompt cannot be empty: type at least one character"
            )
        backend = self._reads_special if allow_special else self._takes_as_text
        token_ids: list[int] = backend.encode(text).ids
        if not token_ids:
            raise ConfigError.of(
                "prompt.no_token",
                "the prompt {text!r} cannot be empty: no token is left of it",
                text=text,
            )
        return token_ids

    def _encode_chat(self, text: str, allow_special: bool, before: Turns) -> list[int]:
        if not self.has_chat_template:
            raise ConfigError.of(
                "prompt.no_template", "this model has no chat template: send the prompt in raw mode"
            )
        rendered = self._render(text, before)
        token_ids: list[int] = self._encode_rendered(rendered).ids
        if allow_special or self._num_special(token_ids) == self._num_template_special(before):
            return token_ids
        return self._encode_turns(text, before) if before else self._encode_around(rendered)

    def _encode_around(self, rendered: str) -> list[int]:
        """The template's halves with control tokens read, the user's text between without.

            <|im_start|>user\\n ..typed <|im_end|> text.. <|im_end|>\\n<|im_start|>assistant\\n
            read ──────┤├─────── taken as text ─────────┤├─ read ──────────────────────────

        The cuts are at the template's control tokens and not at the user's text, because ordinary
        tokens may merge across the seam ("\\n" and a typed "\\n" are one token).
        """
        before, after = self._render(_STAND_IN).split(_STAND_IN)
        head = before[: self._end_of_last_special(before)]
        tail = after[self._start_of_first_special(after) :]
        if not (rendered.startswith(head) and rendered.endswith(tail)):
            raise _rewritten()
        middle = rendered[len(head) : len(rendered) - len(tail)]
        return [*self._read(head), *self._take(middle), *self._read(tail)]

    def _encode_turns(self, text: str, before: Turns) -> list[int]:
        """The same for several turns: what stands between two of them is the template's."""
        pieces = self._render(_STAND_IN, _stood_in(before)).split(_STAND_IN)
        said = [*(earlier for _, earlier in before), text]
        together = "".join(map("".join, itertools.zip_longest(pieces, said, fillvalue="")))
        if len(pieces) != len(said) + 1 or together != self._render(text, before):
            raise _rewritten()
        token_ids, seam = [], ""  # `seam`: the template's text behind its last control token
        for place, piece in enumerate(pieces):
            start = self._start_of_first_special(piece) if place else 0
            is_last = place == len(said)
            end = len(piece) if is_last else max(start, self._end_of_last_special(piece))
            if place:
                token_ids += self._take(seam + said[place - 1] + piece[:start])
            token_ids += self._read(piece[start:end])
            seam = piece[end:]
        return token_ids

    def _read(self, text: str) -> list[int]:
        token_ids: list[int] = self._encode_rendered(text).ids
        return token_ids

    def _take(self, text: str) -> list[int]:
        token_ids: list[int] = self._takes_as_text.encode(text, add_special_tokens=False).ids
        return token_ids

    def _render(self, text: str, before: Turns = ()) -> str:
        turns = [*before, ("user", text)]
        rendered: str = self.pretrained.apply_chat_template(
            [{"role": role, "content": said} for role, said in turns],
            add_generation_prompt=True,
            tokenize=False,
        )
        return rendered

    def _encode_rendered(self, rendered: str) -> Any:
        return self._reads_special.encode(rendered, add_special_tokens=False)

    def _num_template_special(self, before: Turns) -> int:
        """How many control tokens the template itself puts around these turns."""
        if not before:
            return self._num_around_one
        rendered = self._render(_STAND_IN, _stood_in(before))
        return self._num_special(self._encode_rendered(rendered).ids)

    @cached_property
    def _num_around_one(self) -> int:
        return self._num_special(self._encode_rendered(self._render(_STAND_IN)).ids)

    def _num_special(self, token_ids: Iterable[int]) -> int:
        return sum(id_ in self._special for id_ in token_ids)

    def _end_of_last_special(self, text: str) -> int:
        return max((end for _, end in self._special_spans(text)), default=0)

    def _start_of_first_special(self, text: str) -> int:
        return min((start for start, _ in self._special_spans(text)), default=len(text))

    def _special_spans(self, text: str) -> list[tuple[int, int]]:
        """Where the control tokens of `text` stand, in characters."""
        encoding = self._encode_rendered(text)
        pairs = zip(encoding.ids, encoding.offsets, strict=True)
        return [span for id_, span in pairs if id_ in self._special]


def _stood_in(turns: Turns) -> list[tuple[str, str]]:
    return [(role, _STAND_IN) for role, _ in turns]


def _rewritten() -> ConfigError:
    return ConfigError.of(
        "prompt.rewritten",
        "this model's chat template rewrites the prompt, so the control tokens typed in it "
        "cannot be told from its own: remove them or use raw mode",
    )


def _check_text(text: object, missing_bytes: frozenset[int]) -> None:
    """ConfigError for what no token can stand for."""
    if not isinstance(text, str):
        raise ConfigError.of(
            "prompt.not_text", "the prompt {given} is not a text", given=f"{text!r:.80}"
        )
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError.of(
            "prompt.half_character",
            "the prompt holds half a character (a lone surrogate) at index {index}: remove it",
            index=error.start,
        ) from error
    if missing_bytes.isdisjoint(encoded):
        return
    index = next(i for i, c in enumerate(text) if not missing_bytes.isdisjoint(c.encode()))
    raise ConfigError.of(
        "prompt.no_token_for",
        "the prompt holds the character {char!r} at index {index}, for which this model has no "
        "token: remove it",
        char=text[index],
        index=index,
    )
