"""Runs whose packed batches were kept as the engine's runner gets them."""

import torch

from engine.runner.input_batch import build_input_batch
from engine.trace.header import TraceHeader
from engine.trace.trace import Trace
from engine.workload import ScriptedRun, ScriptedRunner

CPU = torch.device("cpu")


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
