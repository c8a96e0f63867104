"""What the form of settings says at the moment shown, and what is made with it."""

from tests.views.branches import branch, go_to_end_of, names, run_steps, said, two_prompts
from tests.views.page import send, set_number, setting


def test_the_form_shows_what_holds_at_the_moment_shown_and_a_branch_begins_with_it(app):
    two_prompts(app, num_steps=8)
    budget = setting(app, "max_num_batched_tokens")["value"]
    go_to_end_of(app, 4)
    set_number(app, "max_num_batched_tokens", 32)
    branch(app)
    run_steps(app, 7)
    assert setting(app, "max_num_batched_tokens")["value"] == "32"
    go_to_end_of(app, 2)
    assert setting(app, "max_num_batched_tokens")["value"] == budget
    send(app, "typed", {"num_blocks": "40", "max_num_batched_tokens": budget})
    assert "Changes max_num_batched_tokens, num_blocks" in said(app, "Changes")
    assert said(app, "Branching").count("max_num_batched_tokens") == 0
    branch(app)
    assert names(app)[2][1] == "from run 2 at step 3, num_blocks=40, past done again"
    config = app.session_state["desks"]["playground"].run.config
    assert (config.num_blocks, str(config.max_num_batched_tokens)) == (40, budget)
