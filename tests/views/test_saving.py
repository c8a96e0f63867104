"""A page's runs are saved and come back: with their trace, their drafts and where they came from."""

import contextlib
import gc
import sys
import weakref

import msgspec
import pytest

from engine.config import EngineConfig
from engine.errors import SourceError
from engine.sources.saved import SavedRuns, Space
from engine.trace.codec import without_times
from engine.trace.events import RequestAdded, StepBegan
from engine.trace.seal import seal
from tests.views import fake_live
from views.branching import branch_of, scripted_run
from views.brought import bring_back, go_on
from views.drafts import Branch, Draft
from views.examples import DOC_EXAMPLE, EXAMPLES, OWN
from views.origin import Origin
from views.runs import Run
from views.saving import Saving
from views.text import Text

WORDS = Text()
HELLO = Draft(text="Hello there", mode="raw", allow_special=True, max_tokens="9", temperature="0.0")
HELP = Draft(text="Help!", max_tokens=" 7 ", seed="007")
CONFIG = msgspec.structs.replace(EXAMPLES[OWN].config, num_blocks=40)


@pytest.fixture
def runs(tmp_path):
    return SavedRuns(tmp_path)


@pytest.fixture(autouse=True)
def letters(monkeypatch):
    monkeypatch.setitem(sys.modules, "engine.sources.live", fake_live)


def live_run():
    source = fake_live.LiveSource("fake", CONFIG)
    return Run(source.trace, CONFIG, live=source)


def ask(run, *drafts):
    for draft in drafts:
        run.add(draft, draft.sampling(WORDS))


def plain(trace):
    return [without_times(event) for event in trace.events_from(0)]


def finish(run):
    while run.advance():
        pass


def test_a_run_that_was_killed_in_the_middle_comes_back_and_goes_on(runs):
    run = live_run()
    saving = Saving(runs, run, OWN)
    assert saving.run_id is None
    ask(run, HELLO, HELP)
    saving.keep()
    for _ in range(4):
        run.advance()
        saving.keep()
    saved_id, num_events = saving.run_id, run.trace.num_events
    finish(run)

    brought = bring_back(runs, saved_id, WORDS)
    back = brought.run
    assert plain(back.trace) == plain(run.trace)[:num_events]
    assert back.drafts == {"r0": HELLO, "r1": HELP}, "as typed, not as read"
    assert (brought.example, brought.origin, back.config) == (OWN, None, CONFIG)
    assert brought.words(WORDS).endswith("saved: 4 finished steps.")
    assert not back.can_go_on

    go_on(brought, "fake", contextlib.nullcontext())
    again = Saving(runs, back, OWN, came_from=brought.saved)
    assert (back.can_go_on, back.branch_step) == (True, 4)
    for _ in range(4):
        assert again.run_id == saved_id
        back.advance()
        again.keep()
    assert back.branch_step is None
    assert back.trace.num_events == num_events
    while back.advance():
        again.keep()
    assert again.run_id != saved_id
    assert plain(back.trace) == plain(run.trace)
    assert plain(bring_back(runs, again.run_id, WORDS).run.trace) == plain(run.trace)
    assert bring_back(runs, again.run_id, WORDS).run.drafts == run.drafts
    assert bring_back(runs, saved_id, WORDS).run.trace.num_events == num_events


def test_a_prompt_that_was_typed_but_never_ran_comes_back(runs):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    assert brought.run.drafts == {"r0": HELLO}
    go_on(brought, "fake", contextlib.nullcontext())
    finish(run)
    finish(brought.run)
    assert plain(brought.run.trace) == plain(run.trace)


def test_after_going_on_more_can_be_asked(runs):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    finish(run)
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    go_on(brought, "fake", contextlib.nullcontext())
    finish(brought.run)
    assert brought.run.is_idle
    for each in (run, brought.run):
        ask(each, HELP)
        finish(each)
    assert plain(brought.run.trace) == plain(run.trace)
    assert list(brought.run.drafts) == ["r0", "r1"]


def test_a_branch_comes_back_with_its_origin_and_all_that_it_had_to_repeat(runs):
    run = live_run()
    ask(run, HELLO)
    for _ in range(5):
        run.advance()
    ask(run, HELP)
    finish(run)
    begun = branch_of(
        run, run.trace.after_update(2), Branch({"block_size": "4"}, keep_later=True), WORDS
    )
    origin = begun.origin(1)
    saving = Saving(runs, begun.run, OWN, origin=origin)
    begun.run.advance()
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    assert brought.origin == origin == Origin(1, 3, {"block_size": 4}, redone=True)
    assert brought.run.config.block_size == 4
    assert brought.run.drafts == {"r0": HELLO, "r1": HELP}
    go_on(brought, "fake", contextlib.nullcontext())
    finish(begun.run)
    finish(brought.run)
    assert plain(brought.run.trace) == plain(begun.run.trace)
    added = [e.step for e in plain(brought.run.trace) if isinstance(e, RequestAdded)]
    assert added == [0, 5]


def test_a_setting_that_changed_on_the_way_holds_when_the_run_is_back(runs):
    run = live_run()
    ask(run, HELLO)
    for _ in range(3):
        run.advance()
    begun = branch_of(run, run.trace.last, Branch({"max_num_batched_tokens": "5"}), WORDS)
    saving = Saving(runs, begun.run, OWN, origin=begun.origin(1))
    for _ in range(5):
        begun.run.advance()
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    assert brought.run.config.max_num_batched_tokens == 5
    go_on(brought, "fake", contextlib.nullcontext())
    finish(brought.run)
    budgets = [e.token_budget for e in plain(brought.run.trace) if isinstance(e, StepBegan)]
    assert budgets[:5] == [64, 64, 64, 5, 5]


def test_a_script_comes_back_whole_and_can_be_branched(runs):
    example = EXAMPLES[DOC_EXAMPLE]
    config = EngineConfig.from_mapping({**example.config.to_mapping(), "num_blocks": 9})
    run = scripted_run(example, config)
    begun = branch_of(run, run.trace.after_update(2), Branch({"max_num_seqs": "1"}), WORDS).run
    saving = Saving(runs, begun, DOC_EXAMPLE)
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    assert brought.example == DOC_EXAMPLE
    assert plain(brought.run.trace) == plain(begun.trace)
    assert brought.run.config == begun.config
    assert (brought.run.config.num_blocks, brought.run.config.max_num_seqs) == (9, 1)
    later = branch_of(brought.run, brought.run.trace.last, Branch({"block_size": "8"}), WORDS)
    assert later.run.config.block_size == 8


def test_without_its_record_a_run_has_the_prompts_of_its_events(runs, tmp_path):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO, HELP)
    saving.keep()
    (tmp_path / f"{saving.run_id}.about.json").unlink()
    back = bring_back(runs, saving.run_id, WORDS).run
    assert back.drafts == {
        "r0": HELLO._replace(allow_special=False, temperature="0"),
        "r1": HELP._replace(max_tokens="7", seed="7"),
    }


def test_a_link_that_finds_nothing_says_so(runs):
    for run_id in ("", "../x", "a" * 22, None):
        with pytest.raises(SourceError, match="The link names a saved run that is not here any"):
            bring_back(runs, run_id, WORDS)


def test_a_damaged_run_says_so_and_what_can_be_read_is_there(runs, tmp_path):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    for _ in range(4):
        run.advance()
        saving.keep()
    path = tmp_path / f"{saving.run_id}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:-4], b"?\n", *lines[-3:]]))
    brought = bring_back(runs, saving.run_id, WORDS)
    assert "A part of its file is damaged (line " in brought.words(WORDS)
    assert brought.run.trace.num_steps == 3
    path.write_bytes(b"?")
    with pytest.raises(SourceError, match="The saved run could not be opened: the saved run is"):
        bring_back(runs, saving.run_id, WORDS)


@pytest.mark.parametrize(
    "config", [{"block_size": 8, "num_blocks": 9, "max_num_batched_tokens": 1}]
)
def test_settings_of_another_version_are_told(runs, tmp_path, config):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    saving.keep()
    path = tmp_path / f"{saving.run_id}.jsonl"
    header, rest = path.read_bytes().split(b"\n", 1)
    known = msgspec.json.decode(header)
    known |= {"config": config}
    del known["crc"]
    path.write_bytes(seal([msgspec.json.encode(known)], 1) + rest)
    with pytest.raises(SourceError, match="are not understood: max_num_batched"):
        bring_back(runs, saving.run_id, WORDS)


def test_a_model_that_is_another_one_leaves_the_run_to_be_looked_at(runs):
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    run.advance()
    saving.keep()
    brought = bring_back(runs, saving.run_id, WORDS)
    with pytest.raises(SourceError, match="model='fake', and this server has 'other'"):
        go_on(brought, "other", contextlib.nullcontext())
    assert brought.run.live is None
    assert brought.run.trace.num_steps == 1


def test_when_nothing_more_is_saved_the_page_is_told_and_the_run_goes_on(tmp_path):
    runs = SavedRuns(tmp_path, Space(run_bytes=4_000))
    run = live_run()
    saving = Saving(runs, run, OWN)
    ask(run, HELLO)
    while run.advance():
        saving.keep()
    said = saving.complaint(WORDS)
    assert said is not None
    assert "filled the 4,000 bytes that a saved run may take here. It goes on" in said
    brought = bring_back(runs, saving.run_id, WORDS)
    assert 0 < brought.run.trace.num_steps < run.trace.num_steps
    assert f"with {brought.run.trace.num_steps} step" in said


def test_a_disk_that_cannot_be_written_on_is_told(tmp_path):
    (tmp_path / "file").write_text("x")
    run = live_run()
    saving = Saving(SavedRuns(tmp_path / "file"), run, OWN)
    assert saving.complaint(WORDS) is None
    ask(run, HELLO)
    saving.keep()
    said = saving.complaint(WORDS)
    assert said is not None
    assert "after 0 steps the server could not write (" in said
    assert str(tmp_path) not in said
    assert saving.run_id is None


def test_a_run_that_its_page_forgot_is_gone_at_once(runs):
    """Its cache tensors would wait for the next collection, if anything here held it in a circle."""
    run = live_run()
    ask(run, HELLO)
    run.saving = Saving(runs, run, OWN)
    run.saving.keep()
    was_there = weakref.ref(run)
    gc.disable()
    try:
        del run
        assert was_there() is None
    finally:
        gc.enable()
