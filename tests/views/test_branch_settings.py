"""What the form of settings says at the moment shown, and what is made with it."""

from tests.views.branches import branch, go_to_end_of, names, run_steps, said, two_prompts
from tests.views.page import notice, open_own, prompt, send, set_number, setting
from views.drafts import Branch


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


def test_a_pool_that_does_not_fit_is_refused_at_its_field_which_says_what_fits(app):
    open_own(app)
    assert setting(app, "num_blocks")["hint"].endswith("Up to 67,108 fit here.")
    for given in ("4000000", "5000000"):
        set_number(app, "num_blocks", given)
        assert setting(app, "num_blocks")["problem"] == (
            f"num_blocks={given} of 8 tokens is more than fits here, beside your other runs: "
            "lower it to 67108 or less."
        )
        assert app.button(key="apply").disabled
    set_number(app, "num_blocks", 67108)
    assert setting(app, "num_blocks")["problem"] is None
    app.button(key="apply").click().run()
    assert notice(app, "error") is None
    assert app.session_state["desks"]["playground"].run.config.num_blocks == 67108


def test_a_branch_whose_pool_a_prompt_outgrows_is_refused_before_it_is_offered(app):
    open_own(app)
    send(app, "added", prompt("One two three", max_tokens="60"))
    run_steps(app, 2)
    set_number(app, "num_blocks", 3)
    refused = said(app, "No branch can be made with these")
    assert "need 12 blocks of 8 tokens, but the pool has 2: raise num_blocks to 13" in refused
    assert app.button(key="branch").disabled
    set_number(app, "num_blocks", 13)
    assert said(app, "Branching loses nothing") is not None
    assert not app.button(key="branch").disabled


def test_a_branch_with_a_wrong_setting_is_not_offered_and_whoever_asks_for_it_gets_a_sentence(app):
    two_prompts(app)
    go_to_end_of(app, 1)
    before = app.session_state["desks"]["playground"].run
    set_number(app, "block_size", 0)
    assert app.button(key="branch").disabled
    send(app, "branched", Branch({"block_size": "0"}))
    assert "block_size=0 is out of range" in notice(app, "error")
    assert app.session_state["desks"]["playground"].run is before
