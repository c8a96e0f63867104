"""Runs inside an environment that has vLLM 0.17.1, not in ours: what its scheduler does with workloads.

    /path/to/vllm/python tests/against_vllm/record.py OUT_DIR < paths of workloads, one a line

Writes OUT_DIR/NAME.jsonl.gz in the form of tests/data/golden/traces, one for each workload, and prints
each name as soon as its file is whole. What vLLM itself fails at is written as a last line with
`raised`. Tokens are scripted, no model is loaded, and nothing of Pagewalk is imported.
"""

import gzip
import json
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

os.environ["VLLM_LOGGING_LEVEL"] = "ERROR"

import vllm
from pictures import event_of, scheduled_rows, snapshot
from vllm.lora.request import LoRARequest
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import get_hash_fn_by_name
from vllm.v1.core import kv_cache_utils
from vllm.v1.outputs import DraftTokenIds, ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm_scheduler import scheduler_of

DEFAULTS: dict[str, Any] = {
    "block_size": 4,
    "num_blocks": 64,
    "max_num_batched_tokens": 64,
    "max_num_seqs": 8,
    "max_model_len": 256,
    "enable_prefix_caching": True,
    "enable_chunked_prefill": True,
    "long_prefill_token_threshold": 0,
    "policy": "fcfs",
    "hash_algo": "sha256",
    "hash_seed": "0",
    "max_loras": None,
    "kv_groups": None,
    "spec": None,
    "int_event_hashes": False,
}
DRAFT_ERROR = 7  # a wrong draft is the right token plus this


class Recording:
    """One workload on a scheduler of vLLM's own."""

    def __init__(self, workload: dict[str, Any]) -> None:
        self.workload = workload
        self.config = DEFAULTS | workload["config"]
        self.scripts = {request["id"]: request["output"] for request in workload["requests"]}
        os.environ["PYTHONHASHSEED"] = self.config["hash_seed"]
        os.environ["VLLM_KV_EVENTS_USE_INT_BLOCK_HASHES"] = str(
            int(self.config["int_event_hashes"])
        )
        hash_fn = get_hash_fn_by_name(self.config["hash_algo"])
        kv_cache_utils.init_none_hash(hash_fn)
        self.block_hasher = (
            kv_cache_utils.get_request_block_hasher(self.config["block_size"], hash_fn)
            if self.config["enable_prefix_caching"]
            else None
        )
        self.scheduler = scheduler_of(self.config)
        self.events: list[Any] = []
        self.scheduler.kv_event_publisher = SimpleNamespace(
            publish=lambda batch: self.events.extend(batch.events), shutdown=lambda: None
        )
        self.preempted: list[str] = []
        self._note_preemptions()
        self.lora_ids: dict[str, int] = {}
        self.num_drafted: dict[str, int] = {}

    def _note_preemptions(self) -> None:
        """vLLM reports a set; the order is that of the calls."""
        preempt = self.scheduler._preempt_request

        def noted(request: Request, timestamp: float) -> None:
            self.preempted.append(request.request_id)
            preempt(request, timestamp)

        self.scheduler._preempt_request = noted

    # Steps ---------------------------------------------------------------------------------------

    def lines(self) -> Iterator[dict[str, Any]]:
        yield {
            "type": "header",
            "workload": self.workload,
            "config": self.config,
            "vllm_version": vllm.__version__,
            "python": sys.version.split()[0],
            "none_hash": bytes(kv_cache_utils.NONE_HASH).hex(),
            "null_block_id": self.scheduler.kv_cache_manager.block_pool.null_block.block_id,
        }
        step = 0
        while not self._is_over(step):
            yield self._step(step)
            step += 1

    def _is_over(self, step: int) -> bool:
        if step >= self.workload.get("max_steps", 400):
            return True
        requests = self.workload["requests"]
        inputs = [request["arrival_step"] for request in requests]
        inputs += [r["abort_step"] for r in requests if r.get("abort_step") is not None]
        inputs += [op["step"] for op in self.workload.get("ops", ())]
        return step > max(inputs, default=-1) and not self.scheduler.requests

    def _step(self, step: int) -> dict[str, Any]:
        record: dict[str, Any] = {"type": "step", "step": step, "ops": self._before(step)}
        self.preempted.clear()
        output = self.scheduler.schedule()
        record["scheduled"] = scheduled_rows(output)
        record["total_num_scheduled_tokens"] = output.total_num_scheduled_tokens
        record["preempted"] = list(self.preempted)
        record["num_common_prefix_blocks"] = list(output.num_common_prefix_blocks)
        record["after_schedule"] = snapshot(self.scheduler)
        sampled = self._sampled(output)
        record["mid_ops"] = self._aborts(step, "mid")
        self.events.clear()
        found = self.scheduler.update_from_output(output, sampled).get(0)
        outputs = [] if found is None else found.outputs
        record["outputs"] = [
            {
                "id": each.request_id,
                "tokens": list(each.new_token_ids),
                "finish_reason": None if each.finish_reason is None else str(each.finish_reason),
                "num_cached_tokens": each.num_cached_tokens,
            }
            for each in outputs
        ]
        record["finished"] = [each["id"] for each in record["outputs"] if each["finish_reason"]]
        record["after_update"] = snapshot(self.scheduler)
        stats = found.scheduler_stats
        counted = stats.prefix_cache_stats
        record["prefix_cache_stats"] = {
            name: getattr(counted, name)
            for name in (
                "reset",
                "requests",
                "queries",
                "hits",
                "preempted_requests",
                "preempted_queries",
                "preempted_hits",
            )
        }
        record["kv_cache_usage"] = stats.kv_cache_usage
        record["events"] = [event_of(each) for each in self.events]
        if self.config["spec"] is not None:
            record["drafts"] = self._draft(outputs)
        return record

    # Inputs --------------------------------------------------------------------------------------

    def _before(self, step: int) -> list[dict[str, Any]]:
        done = []
        for op in self.workload.get("ops", ()):
            if op["step"] == step:
                self.preempted.clear()
                ok = self.scheduler.reset_prefix_cache(bool(op.get("reset_running_requests")))
                done.append({**op, "ok": ok, "preempted": list(self.preempted)})
        done += self._aborts(step, "before")
        for place, request in enumerate(self.workload["requests"]):
            if request["arrival_step"] == step:
                self.scheduler.add_request(self._request(request, place))
                done.append({"op": "add", "id": request["id"]})
        return done

    def _aborts(self, step: int, phase: str) -> list[dict[str, Any]]:
        done = []
        for request in self.workload["requests"]:
            if request.get("abort_step") == step and request.get("abort_phase", "before") == phase:
                gone = self.scheduler.finish_requests(request["id"], RequestStatus.FINISHED_ABORTED)
                done.append({"op": "abort", "id": request["id"], "phase": phase, "ok": bool(gone)})
        return done

    def _request(self, given: dict[str, Any], place: int) -> Request:
        params = SamplingParams(
            max_tokens=len(given["output"]),
            ignore_eos=True,
            detokenize=False,
            skip_reading_prefix_cache=given.get("skip_reading_prefix_cache") or None,
        )
        arrival = given.get("arrival_time")
        return Request(
            request_id=given["id"],
            prompt_token_ids=list(given["prompt"]),
            sampling_params=params,
            pooling_params=None,
            arrival_time=given["arrival_step"] + 1e-6 * place if arrival is None else arrival,
            lora_request=self._lora(given.get("lora")),
            cache_salt=given.get("cache_salt"),
            priority=given.get("priority", 0),
            block_hasher=self.block_hasher,
        )

    def _lora(self, lora: str | int | None) -> LoRARequest | None:
        if lora is None:
            return None
        name = f"lora-{lora}" if isinstance(lora, int) else lora
        number = self.lora_ids.setdefault(name, len(self.lora_ids) + 1)
        return LoRARequest(lora_name=name, lora_int_id=number, lora_path="/none")

    # The model's stand-in --------------------------------------------------------------------------

    def _sampled(self, output: Any) -> ModelRunnerOutput:
        ids = list(output.num_scheduled_tokens)
        return ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={id_: index for index, id_ in enumerate(ids)},
            sampled_token_ids=[
                self._tokens(
                    self.scheduler.requests[id_],
                    output.scheduled_spec_decode_tokens.get(id_, ()),
                )
                for id_ in ids
            ],
        )

    def _tokens(self, request: Request, drafts: Any) -> list[int]:
        """schedule() has counted this step's tokens as computed already."""
        known = request.num_tokens + len(drafts)
        if request.num_computed_tokens < known:
            return []
        place, tokens = request.num_output_tokens, []
        for draft in drafts:
            tokens.append(self._scripted(request.request_id, place))
            place += 1
            if draft != tokens[-1]:
                return tokens
        return [*tokens, self._scripted(request.request_id, place)]

    def _scripted(self, id_: str, place: int) -> int:
        script = self.scripts[id_]
        return script[place] if place < len(script) else 0

    def _draft(self, outputs: list[Any]) -> dict[str, list[int]]:
        spec = self.config["spec"]
        num, accept = spec["num_speculative_tokens"], spec.get("accept")
        accept = accept or [num]
        drafts = {}
        for output in outputs:
            request = self.scheduler.requests.get(output.request_id)
            if output.finish_reason is not None or request is None:
                continue
            nth = self.num_drafted.get(output.request_id, 0)
            self.num_drafted[output.request_id] = nth + 1
            right = accept[nth % len(accept)]
            place = request.num_output_tokens
            drafts[output.request_id] = [
                self._scripted(output.request_id, place + i) + (0 if i < right else DRAFT_ERROR)
                for i in range(num)
            ]
        self.scheduler.update_draft_token_ids(
            DraftTokenIds(list(drafts), [list(each) for each in drafts.values()])
        )
        return drafts


def main() -> None:
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for path in sys.stdin.read().split("\n"):
        if not path:
            continue
        workload = json.loads(Path(path).read_text(encoding="utf-8"))
        with gzip.open(out / f"{workload['name']}.jsonl.gz", "wt", compresslevel=1) as file:
            try:
                for line in Recording(workload).lines():
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
            except Exception as error:  # vLLM's own: told beside ours
                told = {"type": "raised", "raised": repr(error), "at": traceback.format_exc()}
                file.write(json.dumps(told) + "\n")
        print(workload["name"], flush=True)


if __name__ == "__main__":
    main()
