"""Text that grows and is never taken back."""

import pytest

from engine.runner.detokenizer import Detokenizer
from engine.runner.tokenizer import Tokenizer
from tests.runner.builders import VOCAB_SIZE, build_tokenizer

END = 256  # <|end|>


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(build_tokenizer(), vocab_size=VOCAB_SIZE)


def ids_of(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    return tokenizer.encode(text, "raw").token_ids


def stream(
    tokenizer: Tokenizer, token_ids, stop=(), *, ends: bool = True
) -> tuple[list[str], bool]:
    detokenizer = Detokenizer(tokenizer, stop)
    pieces, last = [], len(token_ids) - 1
    for index, token_id in enumerate(token_ids):
        new = detokenizer.append(token_id, is_last=ends and index == last)
        pieces.append(new.text)
        if new.stopped:
            return pieces, True
    return pieces, False


@pytest.mark.parametrize(
    "text", ["plain", "né", "你好", "👨‍👩‍👧‍👦", "🇯🇵", "שלום", "Z̸͓͝a", "a\x00b", "\n\t "]
)
def test_every_byte_is_a_token_and_no_character_shows_before_it_is_whole(tokenizer, text):
    pieces, _ = stream(tokenizer, ids_of(tokenizer, text))
    assert "".join(pieces) == text
    assert "\ufffd" not in "".join(pieces)
    assert max(len(piece) for piece in pieces) == 1


def test_bytes_that_are_no_character_become_one_replacement_each_and_stay(tokenizer):
    broken = ids_of(tokenizer, "你")[:2]
    pieces, _ = stream(tokenizer, (*broken, *ids_of(tokenizer, "ab")))
    assert pieces == ["", "", "\ufffda", "b"]


def test_a_character_that_never_gets_complete_is_not_shown(tokenizer):
    pieces, _ = stream(tokenizer, (*ids_of(tokenizer, "a"), *ids_of(tokenizer, "你")[:2]))
    assert pieces == ["a", "", ""]


def test_control_tokens_write_nothing(tokenizer):
    pieces, stopped = stream(tokenizer, (*ids_of(tokenizer, "ab"), END, *ids_of(tokenizer, "c")))
    assert pieces == ["a", "b", "", "c"]
    assert not stopped


@pytest.mark.parametrize(
    ("text", "stop", "pieces", "stopped"),
    [
        ("the END", ("END",), ["t", "h", "e", " ", "", "", ""], True),
        ("a ENd", ("END",), ["a", " ", "", "", "ENd"], False),
        ("aEEND", ("END",), ["a", "", "E", "", ""], True),
        ("abc", ("abcd",), ["", "", "abc"], False),  # held back to the end, then shown
        ("ab", ("a",), [""], True),
        ("xaab", ("aab",), ["x", "", "", ""], True),
        ("xaaab", ("aab",), ["x", "", "", "a", ""], True),
        ("one. two", (". ", "tw"), ["o", "n", "e", "", ""], True),
        ("你好", ("好",), ["", "", "你", "", "", ""], True),
        ("plain", (), ["p", "l", "a", "i", "n"], False),
    ],
)
def test_text_that_may_become_a_stop_string_waits(tokenizer, text, stop, pieces, stopped):
    found, has_stopped = stream(tokenizer, ids_of(tokenizer, text), stop)
    assert (found, has_stopped) == (pieces, stopped)


def test_what_was_held_back_comes_with_the_last_token(tokenizer):
    pieces, _ = stream(tokenizer, ids_of(tokenizer, "aEN"), ("END",), ends=False)
    assert pieces == ["a", "", ""]
    pieces, _ = stream(tokenizer, ids_of(tokenizer, "aEN"), ("END",))
    assert pieces == ["a", "", "EN"]


def test_a_stream_taken_up_elsewhere_goes_on_where_it_was(tokenizer):
    token_ids = ids_of(tokenizer, "x你好 EN")
    for cut in range(len(token_ids)):
        whole, half = Detokenizer(tokenizer, ("END",)), Detokenizer(tokenizer, ("END",))
        for token_id in token_ids[:cut]:
            whole.append(token_id)
        half.replay(token_ids[:cut])
        assert half.num_tokens == cut
        rest = [whole.append(token_id) for token_id in token_ids[cut:]]
        assert [half.append(token_id) for token_id in token_ids[cut:]] == rest


def test_what_a_token_stands_for_is_the_text_that_its_tokenizer_decodes(bfloat16):
    tokenizer = bfloat16.tokenizer
    decode = tokenizer.pretrained.decode
    for token_id in range(17, tokenizer.vocab_size, 97):
        expected = decode([token_id], clean_up_tokenization_spaces=False)
        assert tokenizer.bytes_of(token_id).decode(errors="replace") == expected
