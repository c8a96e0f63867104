"""What one visitor may take: each limit is a setting of the server, and says itself in a sentence."""

import threading
import tomllib

import pytest

from engine.config import EngineConfig
from engine.errors import ConfigError
from tests.source_tree import ROOT
from tests.views.page import notice, open_own, payload
from views.limits import VARIABLES, Limits, Sessions, read_limits, server_limits
from views.text import Text
from views.theme import PAGE_STYLE

WORDS = Text()


def test_without_variables_the_limits_are_those_of_the_table():
    limits = read_limits({"HOME": "/root", "PAGEWALK_MODELS": "/models"})
    assert limits == Limits()
    assert limits.runs == ROOT / "data" / "runs"


def test_every_limit_is_a_variable_of_its_own_name():
    assert set(VARIABLES) == {
        "PAGEWALK_DATA",
        "PAGEWALK_MAX_SESSIONS",
        "PAGEWALK_MAX_POOL_BYTES",
        "PAGEWALK_MAX_PROMPT_BYTES",
        "PAGEWALK_MAX_UPLOAD_BYTES",
        "PAGEWALK_MAX_TRACE_BYTES",
        "PAGEWALK_MAX_RUN_BYTES",
        "PAGEWALK_MAX_SAVED_BYTES",
        "PAGEWALK_MAX_SAVED_DAYS",
        "PAGEWALK_MAX_KNOWN_STEPS_BYTES",
    }


def test_all_of_them_can_be_given(tmp_path):
    numbers = {name: str(place) for place, name in enumerate(VARIABLES) if name != "PAGEWALK_DATA"}
    limits = read_limits({**numbers, "PAGEWALK_DATA": str(tmp_path)})
    assert limits == Limits(tmp_path, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    assert limits.runs == tmp_path / "runs"
    assert (limits.space.run_bytes, limits.space.total_bytes, limits.space.days) == (6, 7, 8)


def test_they_are_read_once(monkeypatch):
    server_limits.cache_clear()
    monkeypatch.setenv("PAGEWALK_MAX_SESSIONS", "3")
    assert server_limits().max_sessions == 3
    monkeypatch.setenv("PAGEWALK_MAX_SESSIONS", "nonsense")
    assert server_limits().max_sessions == 3
    server_limits.cache_clear()


@pytest.mark.parametrize(
    ("given", "number"),
    [("64000", 64_000), ("2KiB", 2048), (" 3 MiB ", 3 << 20), ("1gib", 1 << 30), ("", 64 << 10)],
)
def test_bytes_may_have_a_unit(given, number):
    assert read_limits({"PAGEWALK_MAX_PROMPT_BYTES": given}).max_prompt_bytes == number


@pytest.mark.parametrize(
    "given",
    [
        "0",
        "-1",
        "1.5",
        "many",
        "1e6",
        "1_000",
        "٣",
        "9" * 17,
        "2000000GiB",
        "5 MB",
        "0x10",
        "1\u202e2",
    ],
)
@pytest.mark.parametrize("name", ["PAGEWALK_MAX_RUN_BYTES", "PAGEWALK_MAX_SESSIONS"])
def test_nonsense_gets_a_sentence(name, given):
    with pytest.raises(ConfigError) as refused:
        read_limits({name: given})
    said = str(refused.value)
    assert said.startswith(f"{name}=")
    such = "64000 or 64MiB" if name.endswith("BYTES") else "30"
    assert said.endswith(f"is out of range: give a whole number such as {such}.")
    assert "\u202e" not in said


def test_a_number_of_sessions_has_no_unit():
    with pytest.raises(ConfigError, match="such as 30"):
        read_limits({"PAGEWALK_MAX_SESSIONS": "1KiB"})


def test_only_of_known_steps_there_may_be_none():
    name = "PAGEWALK_MAX_KNOWN_STEPS_BYTES"
    assert read_limits({}).max_known_steps_bytes == 64 << 20
    assert read_limits({name: "0"}).max_known_steps_bytes == 0
    assert read_limits({name: "1MiB"}).max_known_steps_bytes == 1 << 20
    for given in ("none", "-1", "0.5"):
        with pytest.raises(ConfigError, match=f"{name}=.*such as 64000 or 64MiB"):
            read_limits({name: given})


def test_everything_that_is_wrong_is_said_at_once():
    with pytest.raises(ConfigError) as refused:
        read_limits({"PAGEWALK_MAX_SESSIONS": "x", "PAGEWALK_MAX_RUN_BYTES": "y"})
    assert "PAGEWALK_MAX_SESSIONS=x" in str(refused.value)
    assert "PAGEWALK_MAX_RUN_BYTES=y" in str(refused.value)


def test_a_limit_that_does_not_exist_is_no_limit_and_says_so():
    with pytest.raises(ConfigError, match=r"PAGEWALK_MAX_SESSION is no setting.*PAGEWALK_MAX_SESS"):
        read_limits({"PAGEWALK_MAX_SESSION": "5"})


def test_data_is_a_folder(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(ConfigError, match="is a file: name a folder"):
        read_limits({"PAGEWALK_DATA": str(file)})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read_limits({"PAGEWALK_DATA": "new"}).data == tmp_path / "new"
    assert read_limits({"PAGEWALK_DATA": "~/runs"}).data == tmp_path / "runs"


def test_a_data_folder_that_cannot_be_made_is_refused_at_the_start(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match=r"cannot be made \(Not a directory\): name a"):
        read_limits({"PAGEWALK_DATA": str(tmp_path / "file" / "below")})


# Sentences ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "num_bytes"), [("a" * 11, 11), ("éééééé", 12), ("漢字漢字", 12), ("\ud800" * 4, 12)]
)
def test_a_prompt_is_measured_in_bytes(given, num_bytes):
    Limits(max_prompt_bytes=num_bytes).check_prompt(given, WORDS)
    with pytest.raises(ConfigError, match=f"has {num_bytes} bytes, and this server takes 10: sh"):
        Limits(max_prompt_bytes=10).check_prompt(given, WORDS)


def test_a_file_is_measured_before_it_is_read():
    Limits(max_upload_bytes=300).check_upload(300, WORDS)
    with pytest.raises(ConfigError, match="301 bytes as it travels, and this server takes 300:"):
        Limits(max_upload_bytes=300).check_upload(301, WORDS)


def test_an_upload_may_not_be_longer_than_a_message():
    """Streamlit counts its megabytes in powers of ten; a message has a few bytes besides the file."""
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    carried = settings["server"]["maxMessageSize"] * 1_000_000
    most = read_limits({"PAGEWALK_MAX_UPLOAD_BYTES": "32MiB"}).max_upload_bytes
    assert most * 4 // 3 + 10_000 < carried
    with pytest.raises(ConfigError, match="whole number up to 32MiB such as 64000 or 32MiB"):
        read_limits({"PAGEWALK_MAX_UPLOAD_BYTES": "33MiB"})


def check_pool(num_blocks, held=0):
    config = EngineConfig(num_blocks=num_blocks, block_size=16)
    Limits(max_pool_bytes=100_000).check_pool(config, 1_000, WORDS, held=held)


def test_a_pool_that_takes_too_much_is_told_what_fits():
    check_pool(100)
    with pytest.raises(
        ConfigError,
        match=r"num_blocks=101 of 16 tokens take 101,000 bytes .* visitor 100,000: lower .* to 100.",
    ):
        check_pool(101)


def test_other_runs_of_the_visitor_count():
    check_pool(40, held=60_000)
    with pytest.raises(
        ConfigError, match="other runs hold 60,000: lower num_blocks to 40, or clos"
    ):
        check_pool(41, held=60_000)
    for held in (98_001, 100_000, 250_000):
        with pytest.raises(ConfigError, match=r"no room is left for .* 16 tokens: close a run\."):
            check_pool(2, held=held)


def test_a_pool_of_no_two_blocks_is_told_so():
    with pytest.raises(
        ConfigError, match=r"100,000 bytes for K and V, and two blocks of 16 tokens"
    ):
        Limits(max_pool_bytes=100_000).check_pool(EngineConfig(block_size=16), 60_000, WORDS)


def test_where_its_blocks_do_not_fit_the_page_begins_with_those_that_do(app, monkeypatch):
    monkeypatch.setenv("PAGEWALK_MAX_POOL_BYTES", "180000")
    open_own(app, "prompts")
    assert payload(app, "pool")["num_blocks"] == 22
    assert notice(app, "note").startswith("The run began with num_blocks=22 instead of 64: so many")
    assert payload(app, "prompt")["can_add"]


def test_where_no_pool_fits_the_form_does_not_wait_for_a_model_that_is_there(app, monkeypatch):
    monkeypatch.setenv("PAGEWALK_MAX_POOL_BYTES", "9000")
    open_own(app, "prompts")
    assert notice(app, "error").startswith("This server gives each visitor 9,000 bytes for K and V")
    assert payload(app, "prompt")["count"].startswith("No run could begin")


# Sessions ----------------------------------------------------------------------------------------


def test_who_leaves_makes_room():
    there = {"ada", "bob", "eve"}
    sessions = Sessions(2, there.__contains__)
    assert sessions.enter("ada")
    assert sessions.enter("bob")
    assert not sessions.enter("eve")
    assert sessions.enter("ada"), "who is in stays in"
    with pytest.raises(ConfigError, match="serves 2 visitors at a time, and all places are taken"):
        sessions.check("eve", WORDS)
    there.discard("bob")
    sessions.check("eve", WORDS)
    assert not sessions.enter("bob")
    there.clear()
    there |= {"bob", "kim", "lea"}
    assert [sessions.enter(name) for name in ("bob", "kim", "lea")] == [True, True, False]


def test_a_crowd_at_the_door_is_counted_right():
    sessions = Sessions(7, lambda _: True)
    entered = []

    def come(number):
        if sessions.enter(str(number)):
            entered.append(number)

    crowd = [threading.Thread(target=come, args=(number,)) for number in range(40)]
    for visitor in crowd:
        visitor.start()
    for visitor in crowd:
        visitor.join()
    assert len(entered) == 7


def test_a_full_server_says_so_in_the_page_s_own_style_and_one_click_tries_again(app, monkeypatch):
    sentence = WORDS.count("limit.sessions", 100)
    with monkeypatch.context() as full:
        full.setattr("views.session.no_room", lambda: sentence)
        app.run()
    assert [info.value for info in app.info] == [sentence]
    assert "try again in a minute" in sentence
    assert PAGE_STYLE in [html.proto.body for html in app.get("html")]
    assert payload(app, "transport") is None
    app.button(key="enter_again").click().run()
    assert not app.info
    assert payload(app, "transport") is not None
