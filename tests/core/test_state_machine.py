"""Random requests, aborts, resets and tiny pools: the invariants hold and the fold agrees."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.config import EngineConfig, GroupConfig, SamplingParams, SpecConfig
from engine.core.output import ModelOutput
from engine.core.request import SampledTokens
from engine.engine import Engine
from engine.trace.codec import without_times
from engine.trace.header import TraceHeader
from engine.trace.invariants import check
from engine.trace.trace import Trace

GROUPS = (
    None,
    (GroupConfig(type="sliding", window=5),),
    (GroupConfig(type="full"), GroupConfig(type="sliding", window=6)),
    (GroupConfig(type="full"), GroupConfig(type="chunked_local", chunk=8)),
)


class AnyTokenRunner:
    """Two letters, so that prompts and answers meet again and again."""

    eos_token_ids = frozenset({9})
    vocab_size = 10

    def execute(self, output, block_tables, forced=None):
        return ModelOutput(
            {
                row.request.request_id: SampledTokens((self.letter(row.request),))
                for row in output.scheduled
                if row.samples
            }
        )

    def letter(self, request):
        return (sum(request.token_ids) + request.num_tokens) % 3

    def forget(self, request_id):
        pass


class EngineMachine(RuleBasedStateMachine):
    @initialize(
        block_size=st.integers(1, 4),
        num_blocks=st.integers(2, 14),
        budget=st.integers(4, 24),
        max_num_seqs=st.integers(1, 4),
        policy=st.sampled_from(["fcfs", "priority"]),
        caching=st.booleans(),
        threshold=st.sampled_from([0, 0, 3]),
        groups=st.sampled_from(GROUPS),
        recompute=st.booleans(),
        max_loras=st.sampled_from([None, 1]),
        spec=st.sampled_from([None, SpecConfig(method="ngram", num_speculative_tokens=2)]),
        unhashed_first=st.booleans(),
        counted_once=st.booleans(),
    )
    def begin(
        self, block_size, num_blocks, budget, max_num_seqs, policy, caching, threshold, groups,
        recompute, max_loras, spec, unhashed_first, counted_once,
    ):  # fmt: skip
        config = EngineConfig(
            block_size=block_size,
            num_blocks=num_blocks,
            max_num_batched_tokens=budget,
            max_num_seqs=max_num_seqs,
            max_model_len=40,
            policy=policy,
            enable_prefix_caching=caching,
            long_prefill_token_threshold=threshold,
            kv_groups=groups,
            recompute_invalid_hits=recompute,
            max_loras=max_loras,
            spec=spec,
            reuse_unhashed_first=unhashed_first,
            count_lookups_once=counted_once,
        )
        self.trace = Trace(TraceHeader(config=config.to_mapping()))
        self.engine = Engine(config, AnyTokenRunner(), emit=self.trace.emit)
        self.count = 0

    @rule(
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=20),
        max_tokens=st.integers(1, 12),
        priority=st.integers(0, 2),
        salt=st.sampled_from([None, None, "s"]),
        lora=st.sampled_from([None, None, "x", "y"]),
        skip=st.booleans(),
    )
    def add(self, prompt, max_tokens, priority, salt, lora, skip):
        self.engine.add_request(
            f"r{self.count}",
            prompt,
            sampling=SamplingParams(max_tokens=max_tokens),
            priority=priority,
            cache_salt=salt,
            lora_name=lora,
            skip_reading_prefix_cache=skip,
        )
        self.count += 1

    @rule(which=st.integers(0, 30))
    def abort(self, which):
        self.engine.abort(f"r{which}")

    @rule(forced=st.booleans())
    def reset(self, forced):
        self.engine.reset_prefix_cache(reset_running_requests=forced)

    @rule(budget=st.integers(4, 24))
    def change_budget(self, budget):
        self.engine.change_setting("max_num_batched_tokens", budget)

    @rule(abort_mid=st.one_of(st.none(), st.integers(0, 8)))
    def step(self, abort_mid):
        engine = self.engine
        engine.schedule()
        engine.run()
        if abort_mid is not None:
            engine.abort(f"r{abort_mid}", phase="mid")
        engine.update(end_step=False)
        if engine.config.spec is not None:
            for output in engine.outputs:
                if output.finish_reason is None:
                    drafts = (0, 1)
                    engine.scheduler.set_drafts(output.request_id, drafts)
        engine.end_step()

    @precondition(lambda self: hasattr(self, "engine"))
    @invariant()
    def the_fold_equals_the_engine(self):
        state = self.trace.at(self.trace.last)
        assert state.snapshot() == self.engine.snapshot()
        check(state)

    def teardown(self):
        """Whatever was asked, a new engine that gets the same inputs does the same."""
        if not hasattr(self, "engine"):
            return
        again = Trace(self.trace.header)
        first_config = EngineConfig.from_mapping(self.trace.header.config)
        copy = Engine(first_config, AnyTokenRunner(), emit=again.emit)
        copy.replay(self.trace.events_from(0))
        ours, theirs = self.trace.events_from(0), again.events_from(0)
        assert [without_times(event) for event in ours] == [without_times(e) for e in theirs]


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
