"""Tokens as a reader can tell them apart (B47 of data/cases.json)."""

import pytest

from tests.hand_over import of_area
from views.figures.cache.tokens import BYTES, CODE, PLAIN, SIGN, pieces, request_pieces, text_runs

PROMPTS = {id_: case for id_, case in of_area("prompt").items() if "text" in case["given"]}
TEXTS = {id_: case["given"]["text"] for id_, case in PROMPTS.items() if case["given"]["text"]}
SIGNED = {"␣": " ", "↵": "\n", "⇥": "\t", "␍": "\r"}


def labels(*token_bytes):
    return [piece.label for piece in pieces(tuple(token_bytes))]


def test_spaces_newlines_and_tabs_have_signs():
    assert labels(b" the", b"\n", b"\t ", b"\r") == ["␣the", "↵", "⇥␣", "␍"]
    assert pieces((b" the",))[0].runs == (("␣", SIGN), ("the", ""))


def test_many_equal_signs_are_counted():
    assert labels(b" " * 12, b"     ") == ["␣×12", "␣␣␣␣␣"]


def test_a_piece_of_a_character_shows_its_bytes_and_knows_the_whole():
    man = "👨".encode()
    drawn = pieces((man[:2], man[2:3], man[3:]))
    assert [piece.label for piece in drawn] == ["F0 9F", "91", "A8"]
    assert {piece.shared for piece in drawn} == {"👨"}
    assert {piece.runs[0][1] for piece in drawn} == {BYTES}


def test_a_border_inside_a_character_leaves_the_rest_of_the_token_readable():
    text = "a吾b".encode()
    drawn = pieces((text[:2], text[2:]))
    assert [piece.label for piece in drawn] == ["aE5", "90 BEb"]
    assert [piece.shared for piece in drawn] == ["吾", "吾"]


def read_back(drawn):
    """The bytes that a reader of the pieces would write down."""
    return b"".join(read_run(text, kind) for piece in drawn for text, kind in piece.runs)


def read_run(text, kind):
    if kind == SIGN:
        sign, _, count = text.partition("×")
        return (SIGNED[sign] * int(count) if count else "".join(map(SIGNED.get, text))).encode()
    if kind == BYTES:
        return bytes.fromhex(text)
    if kind == CODE:
        return "".join(chr(int(point[2:], 16)) for point in text.split()).encode()
    return text.removeprefix("◌").encode()


@pytest.mark.parametrize("text", [*TEXTS.values(), "שלום", "\u202eabc"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_nothing_is_replaced_lost_or_empty(text, size):
    raw = text.encode()
    cut = tuple(raw[start : start + size] for start in range(0, len(raw), size))
    drawn = pieces(cut)
    assert len(drawn) == len(cut)
    assert all(piece.label for piece in drawn)
    assert not any("\ufffd" in piece.label for piece in drawn)
    assert read_back(drawn) == raw


@pytest.fixture(scope="module")
def tokenizer(bfloat16):
    return bfloat16.tokenizer


@pytest.mark.model
@pytest.mark.parametrize("case_id", TEXTS)
def test_a_case_in_the_models_tokens_gives_its_text_back(case_id, tokenizer):
    """And every token that is no text alone shows bytes."""
    found = tokenizer.encode(TEXTS[case_id], "raw")
    drawn = request_pieces(found.token_ids, found.token_bytes)
    assert read_back(drawn) == TEXTS[case_id].encode()
    assert all(piece.label and "\ufffd" not in piece.label for piece in drawn)
    in_bytes = [any(kind == BYTES for _, kind in piece.runs) for piece in drawn]
    alone = ["\ufffd" in bytes_.decode(errors="replace") for bytes_ in found.token_bytes]
    assert in_bytes == alone
    assert sum(alone) == PROMPTS[case_id].get("undecodable_alone", 0)


def test_what_cannot_be_seen_is_written_as_its_code_point():
    assert labels("\u202e".encode(), "\u200d".encode(), b"\x00", "\ufe0f".encode()) == [
        *("U+202E", "U+200D", "U+0000", "U+FE0F")
    ]
    assert pieces((b"\x00",))[0].runs[0][1] == CODE


def drawn_text(text):
    found = text_runs(text)
    return found if isinstance(found, str) else "".join(run for run, _ in found)


def test_an_answer_of_white_space_can_be_seen():
    assert text_runs(" ") == [["␣", SIGN]]
    assert text_runs("\n") == [["↵", SIGN]]
    assert text_runs("\u3000") == [["U+3000", CODE]], "the wide space of CJK"
    assert text_runs("") == ""


def test_ordinary_prose_stays_as_it_is():
    assert text_runs("The blocks are full, he said.") == "The blocks are full, he said."
    assert text_runs("全角　空白") == "全角　空白"
    assert text_runs("👩\u200d👩\u200d👦 e\u0301") == "👩\u200d👩\u200d👦 e\u0301", (
        "one family, one é"
    )


def test_white_space_around_words_and_lines_is_drawn_and_lines_still_end():
    assert text_runs(" This ") == [["␣", SIGN], ["This", PLAIN], ["␣", SIGN]]
    assert drawn_text("if a:\n    b \n\tc") == "if a:↵\n␣␣␣␣b␣↵\n⇥c"
    assert drawn_text("two  spaces, a\x00control") == "two␣␣spaces, aU+0000control"
    assert drawn_text("\r\n\n") == "␍↵\n↵", "the last one ends nothing that is shown"


def test_a_mark_without_its_letter_gets_a_circle_to_sit_on():
    assert labels("\u0338".encode()) == ["◌\u0338"]
    assert labels("e\u0301".encode()) == ["e\u0301"]


def test_bytes_that_make_no_character_are_shown_as_they_are():
    assert labels(b"\xff\xfe", b"\xf0\x9f") == ["FF FE", "F0 9F"]


def test_without_bytes_a_token_is_its_number():
    assert [piece.label for piece in request_pieces([7, 8], [])] == ["7", "8"]
    assert [piece.label for piece in request_pieces([7, 8], [b"a", b"b"])] == ["a", "b"]
