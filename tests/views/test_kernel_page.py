"""The kernel's page: a row of the playground's run, with scores where K and V still are."""

import pytest
import torch
from streamlit.util import calc_hash

from engine.config import EngineConfig, SamplingParams
from engine.runner.attention.choice import explain_backend, why_no_kernels
from engine.runner.attention.reference import ReferenceAttention
from engine.trace.header import TraceHeader
from tests.runner.builders import build_loaded, build_stock
from tests.views.page import load, payload, prompt, send
from tests.views.runs import golden_trace
from views.choices import Choices
from views.figures.block.kv import Place
from views.figures.kernel.engine_path import engine_path
from views.figures.kernel.kernel import walk_of
from views.figures.kernel.kernel_numbers import numbers_of
from views.figures.selection import Selection
from views.runs import Run
from views.text import Text
from views.widgets.kernel import kernel_payload

TEXT = Text("en")


def opened(app, **params):
    app.query_params.update(params)
    app._page_hash = calc_hash("kernel")
    return app.run()


# The page --------------------------------------------------------------------------------------------


def test_the_page_walks_the_row_that_the_link_names(app):
    opened(app, step="3", request="request1", token="10")
    page = payload(app, "kernel")
    assert page["chosen"] == ["request1", 10]
    assert page["step"] == {"number": 3, "back": 2, "forward": 4, "run": None}
    assert page["no_numbers"].startswith("The scores stay words")
    assert page["as_if"].startswith("No model ran here")
    assert not app.error


def test_another_row_and_another_step_are_a_click_away(app):
    opened(app)
    send(app, "selected", {"request": "request0", "token": 6})
    assert payload(app, "kernel")["chosen"] == ["request0", 6]
    send(app, "target", {"step": 5})
    page = payload(app, "kernel")
    assert page["title"] == "The kernel in step 5"
    assert page["chosen"][0] in {"request0", "request1"}
    send(app, "kv", {"layer": 0, "head": 2})
    assert payload(app, "kernel")["kv_heads"] == [3, 2]


def test_ones_own_prompt_is_walked_once_it_has_run(app):
    opened(app, example="own")
    load(app)
    assert payload(app, "kernel")["empty"].startswith("Step 0 has chosen no batch yet")
    send(app, "added", prompt("Hello there"))
    wanted = payload(app, "kernel")["step"]["run"]
    assert wanted == 0
    send(app, "target", {"step": wanted})
    page = payload(app, "kernel")
    assert page["chosen"][0] == "r0"
    assert page["visits"]


# Numbers ---------------------------------------------------------------------------------------------


class Noting(ReferenceAttention):
    """Keeps what every call gave: one for each layer, in order."""

    name = "noting"

    def __init__(self):
        self.outputs = []

    def forward(self, *given, **options):
        self.outputs.append(super().forward(*given, **options))
        return self.outputs[-1]


def live_run(architecture="Llama", num_blocks=40, **model):
    live = pytest.importorskip("engine.sources.live")
    config = EngineConfig(
        block_size=4, num_blocks=num_blocks, max_num_batched_tokens=64, max_model_len=40
    )
    source = live.LiveSource(build_loaded(build_stock(architecture, **model)), config)
    source.runner.backend, source.runner.one_row = Noting(), None
    for first in (1, 60):
        source.add_request(
            list(range(first, first + 11)), sampling=SamplingParams(max_tokens=9, ignore_eos=True)
        )
    return Run(source.trace, source.config, live=source)


@pytest.mark.parametrize("options", [{}, {"architecture": "Mistral", "sliding_window": 5}])
def test_the_result_of_a_walk_is_what_attention_gave(options):
    run = live_run(**options)
    run.live.step()
    outputs = run.live.runner.backend.outputs
    for layer in (0, 1):
        for kv_head in (0, 1):
            chosen = Choices(
                selection=Selection(request_id="r1", token=7), place=Place(layer, kv_head)
            )
            page = kernel_payload(run, chosen, TEXT)
            assert page["layers"] == [[0, 1], layer]
            for place, head in enumerate(page["heads"]):
                expected = outputs[layer][11 + 7, head, :4].tolist()
                assert page["numbers"]["out"][place] == pytest.approx(expected, rel=1e-3, abs=1e-4)
    visits = [[row for row in visit["rows"] if isinstance(row, list)] for visit in page["visits"]]
    assert [len(fold[0]["scores"]) for fold in page["numbers"]["folds"]] == list(map(len, visits))


def test_the_scores_are_those_of_the_cache():
    run = live_run()
    run.live.step()
    walk = walk_of(
        run.trace,
        0,
        selection=Selection(request_id="r0", token=5),
        sizes=run.live.attention_sizes,
    )
    query, scale = run.live.peek_query(6, 5, walk.place.share.request.block_tables, layer=1)
    numbers = numbers_of(
        walk.launch, walk.program, query, scale=scale, read=lambda id_: run.live.peek_kv(id_, 1, 0)
    )
    table = walk.place.share.table
    keys = torch.tensor([run.live.peek_kv(table[p // 4], 1, 0)[0][p % 4] for p in range(6)])
    expected = torch.softmax(torch.tensor(query[0]) @ keys.T * scale, 0)
    fold = numbers.folds[0][0]
    shares = [weight / fold.total[1] for weight in fold.weights[:6]]
    assert shares == pytest.approx(expected.tolist(), abs=1e-5)
    assert fold.weights[6:] == (0.0,) * 5


def test_once_a_slot_was_overwritten_there_are_no_numbers():
    run = live_run(num_blocks=9)
    run.live.add_request(list(range(120, 148)), sampling=SamplingParams(max_tokens=2))
    while run.live.has_unfinished_requests:
        run.live.step()
    page = kernel_payload(run, Choices(selection=Selection(request_id="r1")), TEXT)
    assert page["no_numbers"].startswith("Overwritten at step")
    assert "numbers" not in page


# The path --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "reason", "words", "hint"),
    [
        (
            "torch-reference+fbgemm-fused",
            None,
            "computes with torch, bf16",
            "Attention in plain torch on cpu",
        ),
        (
            "torch-reference+torch",
            "Attention runs in plain torch: this GPU is an sm_75.",
            "computes with torch, bf16",
            "Attention runs in plain torch: this GPU is an sm_75.\nAttention in plain torch",
        ),
        (
            "triton+torch+graph-fused",
            None,
            "triton, bf16; CUDA graphs",
            "Attention in Triton",
        ),
        (
            "torch-reference+fbgemm-fused+native-bfloat16",
            None,
            "torch, bf16; decodes in C",
            "Attention in plain torch on cpu; linear layers: fbgemm-fused+native-bfloat16",
        ),
    ],
)
def test_the_path_of_a_run_in_a_few_words(kernel, reason, words, hint):
    header = TraceHeader(config={}, kernel=kernel, dtype="bfloat16", device="cpu")
    path = engine_path(header, reason, TEXT)
    assert path.words == words
    assert path.hint.startswith(hint)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "ja",
            "アテンションは通常の torch で計算しています：この GPU は sm_75 で、"
            "Triton カーネルには sm_80 以降が必要です。",
        ),
        ("zh", "注意力用普通的 torch 计算：这块 GPU 是 sm_75，而 Triton 内核需要 sm_80 或更新的。"),
    ],
)
def test_why_a_gpu_does_without_the_kernels_is_said_in_the_pages_language(
    language, said, monkeypatch
):
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    why_no_kernels.cache_clear()
    _, reason = explain_backend(torch.device("cuda", 0), "auto")
    why_no_kernels.cache_clear()
    header = TraceHeader(config={}, kernel="torch-reference+torch", dtype="float16", device="cuda")
    path = engine_path(header, reason, Text(language))
    assert path.hint.splitlines()[0] == said


def test_a_script_has_no_path():
    assert engine_path(golden_trace("doc_example").header, None, TEXT) is None
