"""Many engines on one model: who computes next."""

import threading
import time

from views.turns import PATIENCE_S, Turns


def order(*came: tuple[str, float, bool]) -> list[str]:
    """Who computes in which order, where all of them came while another one computed."""
    now, done, threads = [0.0], [], []
    turns = Turns(clock=lambda: now[0])

    def step(name: str, is_long: bool) -> None:
        with turns.turn(is_long=is_long):
            done.append(name)

    with turns.turn(is_long=True):
        for number, (name, at, is_long) in enumerate(came):
            now[0] = at
            threads.append(threading.Thread(target=step, args=(name, is_long)))
            threads[-1].start()
            until = time.monotonic() + 10
            while turns.num_waiting <= number:
                assert time.monotonic() < until
                time.sleep(0.001)
        assert done == []
    for thread in threads:
        thread.join(10)
    return done


def test_equal_steps_go_as_they_came():
    assert order(("a", 0, False), ("b", 0.1, False), ("c", 0.2, False)) == ["a", "b", "c"]


def test_a_step_of_single_tokens_goes_before_prompts_that_came_just_before():
    assert order(("prompt", 0, True), ("token", 1, False)) == ["token", "prompt"]


def test_a_prompt_does_not_wait_for_ever():
    late = PATIENCE_S + 0.1
    assert order(("prompt", 0, True), ("token", late, False)) == ["prompt", "token"]


def test_a_step_that_fails_lets_the_next_one_in():
    turns = Turns()
    try:
        with turns.turn(is_long=False):
            raise ValueError
    except ValueError:
        pass
    with turns.turn(is_long=True):
        assert turns.num_waiting == 0
