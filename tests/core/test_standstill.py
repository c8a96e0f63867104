"""What can never run: refused at once when asked, else waited for as vLLM does, and said."""

import pytest

from engine.config import GroupConfig, SpecConfig
from engine.errors import ConfigError
from tests.core.builders import run_script

LONG = {"id": "long", "arrival_step": 0, "prompt": list(range(8)), "output": list(range(10))}
SHORT = {"id": "short", "arrival_step": 3, "prompt": [1], "output": [2]}


def test_vllm_lets_it_wait_for_ever_and_the_engine_says_so():
    run, _ = run_script([LONG, SHORT], block_size=4, num_blocks=4)
    assert run.engine.is_stuck
    reason = run.engine.stuck_reason
    assert reason is not None
    assert "long" in reason
    assert "13 tokens, which need 4 blocks or more while the pool has 3" in reason
    assert "1 more wait" in reason


def test_an_abort_of_the_head_ends_the_standstill():
    run, _ = run_script([LONG, SHORT], block_size=4, num_blocks=4)
    run.engine.abort("long")
    assert run.engine.stuck_reason is None
    run.engine.step()
    assert [output.request_id for output in run.engine.outputs] == ["short"]


@pytest.mark.parametrize(
    ("num_output", "fits"), [(4, True), (5, True), (6, False)], ids=["11 slots", "12", "13"]
)
def test_with_refuse_oversized_it_is_refused_at_once(num_output, fits):
    request = {**LONG, "output": list(range(num_output))}
    if fits:
        run, _ = run_script([request], block_size=4, num_blocks=4, refuse_oversized=True)
        assert not run.engine.has_unfinished_requests
        return
    with pytest.raises(ConfigError, match="need 4 blocks of 4 tokens, but the pool has 3"):
        run_script([request], block_size=4, num_blocks=4, refuse_oversized=True)


def test_a_prompt_without_room_for_an_answer_is_refused():
    request = {**LONG, "prompt": list(range(256))}
    with pytest.raises(ConfigError, match="256 tokens, but max_model_len=256"):
        run_script([request], block_size=4, num_blocks=200)


def test_what_finishes_is_never_called_stuck():
    run, _ = run_script([SHORT], block_size=4, num_blocks=4)
    assert run.engine.stuck_reason is None


WINDOWED = {
    "block_size": 4,
    "num_blocks": 60,
    "kv_groups": (GroupConfig(type="full", block_size=8), GroupConfig(type="sliding", window=5)),
    "spec": SpecConfig(method="eagle", num_speculative_tokens=1),
}


def test_a_window_beside_larger_blocks_under_eagle_runs_until_its_first_hit_as_in_vllm():
    strangers = [
        {
            "id": f"r{n}",
            "arrival_step": n,
            "prompt": list(range(40 * n, 40 * n + 20)),
            "output": [1],
        }
        for n in range(3)
    ]
    run, _ = run_script(strangers, **WINDOWED)
    assert not run.engine.has_unfinished_requests
    again = {**strangers[0], "id": "again", "arrival_step": 4}
    with pytest.raises(ConfigError, match=r"first prefix hit, which is here, vLLM 0\.17\.1 ends"):
        run_script([*strangers, again], **WINDOWED)
