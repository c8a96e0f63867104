"""Runs whose packed batches were kept as the engine's runner gets them."""

import torch

from engine.runner.input_batch import build_input_batch
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, ScriptedRunner
from views.figures.batch.attention import seen_block

CPU = torch.device("cpu")
READ = ("read", "now", "never")  # of the states of a slot: what attention reads, computed or not


def read_slots(state, query):
    """The slots that are drawn as read by the row, position by position."""
    size = state.group_block_sizes[query.group_id]
    slots = []
    for index in range(len(state.requests[query.request_id].block_tables[query.group_id])):
        seen = seen_block(state, query, index)
        slot = seen.block_id * size
        for name, count in seen.runs:
            slots += range(slot, slot + count) if name in READ else ()
            slot += count
    return slots


class Packing(ScriptedRunner):
    """The scripted tokens, and beside them what a model would have been given."""

    def __init__(self, workload):
        super().__init__(workload)
        groups = workload.config.kv_groups or ()
        default = workload.config.block_size
        self.block_sizes = [group.block_size or default for group in groups] or [default]
        self.batches = {}  # by step; a step without tokens, or with drafts, has none

    def execute(self, output, block_tables, forced=None):
        if not any(share.spec_token_ids for share in output.scheduled):  # no model here takes any
            step = self.engine.step_index
            self.batches[step] = build_input_batch(
                output,
                lambda request_id: [list(table) for table in block_tables(request_id)],
                self.block_sizes,
                CPU,
            )
        return super().execute(output, block_tables, forced)


def packed_run(workload):
    """A trace, and the engine's own InputBatch of every step."""
    trace = Trace(TraceHeader(config=workload.config.to_mapping()))
    run = ScriptedRun(workload, emit=trace.append)
    run.runner = run.engine.runner = packing = Packing(workload)
    packing.engine = run.engine
    for _ in run.run():
        pass
    return trace, packing.batches
