"""The fastest layout with the usual one's numbers is chosen, kept, and held to them again."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn.functional import linear

from engine.runner import layout_choice, onednn
from engine.runner.layout_choice import Piece, choose_layout, measure, pieces_of
from engine.runner.onednn import AS_IT_IS, LAYOUTS, USUAL
from tests.runner.builders import build_stock

NUM_WEIGHTS = 3 + 5  # three to measure with, and one of every shape


class Workbench:
    """Multiplications by torch whose seconds, and whose mistakes, are given."""

    def __init__(self, **seconds: float) -> None:
        """By layout, `as_it_is`, `rows_32`, ..; `usual_again`: the usual one's second turn."""
        self.seconds = {"usual": 1.0, "usual_again": seconds.get("usual", 1.0)} | seconds
        self.now = 0.0
        self.num_built = self.num_read = 0
        self.wrong_at: dict[int, int] = {}  # rows by layout

    def build(self, weight, layout):
        self.num_built += 1
        if layout not in self.names():
            raise RuntimeError("no such layout here")
        is_again = layout == USUAL and self.num_built > NUM_WEIGHTS
        took = self.seconds["usual_again" if is_again else self.names()[layout]]

        def multiply(x):
            self.now += took
            out = linear(x, weight)
            return out + 1e-6 if self.wrong_at.get(layout) == x.shape[1] else out

        return multiply

    def names(self):
        names = {USUAL: "usual", 1: "rows_1", 32: "rows_32", 256: "rows_256", AS_IT_IS: "as_it_is"}
        return {layout: name for layout, name in names.items() if name in self.seconds}

    def clock(self):
        self.num_read += 1
        return self.now

    def choose(self, folder: Path, stock=None) -> int:
        self.num_built = self.num_read = 0
        stock = build_stock() if stock is None else stock
        return choose_layout(stock, folder=folder, build=self.build, clock=self.clock)


@pytest.fixture(autouse=True)
def _every_model_is_measured_in_every_layout(monkeypatch):
    monkeypatch.setattr(layout_choice, "WORTH_MEASURING", 1)
    monkeypatch.setattr(onednn, "unlike_layouts", lambda weights: LAYOUTS)


def kept_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def test_the_fastest_layout_wins(tmp_path):
    assert Workbench(as_it_is=0.5, rows_32=0.8).choose(tmp_path) == AS_IT_IS
    assert Workbench(as_it_is=0.8, rows_32=0.5).choose(tmp_path / "other") == 32
    assert Workbench(as_it_is=1.5, rows_32=1.2).choose(tmp_path / "third") == USUAL


def test_a_layout_that_is_faster_by_no_more_than_noise_does_not_win(tmp_path):
    assert Workbench(as_it_is=0.96).choose(tmp_path) == USUAL
    assert Workbench(as_it_is=0.94).choose(tmp_path / "other") == AS_IT_IS


@pytest.mark.parametrize("rows", [1, 2, 8, 13, 32, 256])
def test_a_layout_with_another_number_at_any_number_of_rows_does_not_win(tmp_path, rows):
    bench = Workbench(as_it_is=0.1, rows_32=0.8)
    bench.wrong_at[AS_IT_IS] = rows
    assert bench.choose(tmp_path) == 32


def test_a_layout_that_cannot_be_had_does_not_win(tmp_path):
    assert Workbench().choose(tmp_path) == USUAL


def test_where_all_others_give_other_numbers_nothing_is_timed(tmp_path):
    bench = Workbench(as_it_is=0.1)
    bench.wrong_at[AS_IT_IS] = 1
    assert bench.choose(tmp_path) == USUAL
    assert bench.num_read == 0
    assert len(kept_files(tmp_path)) == 1


def test_seconds_are_the_shortest_of_a_step_times_the_steps_after_a_prompt_and_all_the_weights():
    now = 0.0
    num_calls = 0

    def multiply(x):
        nonlocal now, num_calls
        num_calls += 1
        took = {1: 1.0, 8: 2.0, 32: 3.0, 256: 5.0}[x.shape[1]]
        now += took if num_calls > 4 else took + 9

    weight = torch.randn(4, 2)
    pieces = [Piece(weight, (1, 8, 32), 10.0), Piece(weight, (256,), 20.0)]
    found = measure(pieces, {USUAL: [multiply, multiply]}, lambda: now)
    assert found == {USUAL: 10 * (64 * 1 + 24 * 2 + 8 * 3) + 20 * 5}
    assert num_calls == 8


def test_on_a_busy_machine_the_usual_one_is_used_and_the_next_loading_measures_again(tmp_path):
    busy = Workbench(as_it_is=0.5, usual_again=1.2)
    assert busy.choose(tmp_path) == USUAL
    assert kept_files(tmp_path) == []
    assert Workbench(as_it_is=0.5).choose(tmp_path) == AS_IT_IS


def test_what_was_chosen_is_read_and_nothing_is_timed(tmp_path):
    Workbench(as_it_is=0.5).choose(tmp_path)
    later = Workbench(as_it_is=2.0)
    assert later.choose(tmp_path) == AS_IT_IS
    assert later.num_read == 0


def test_the_usual_layout_is_read_without_a_multiplication(tmp_path):
    Workbench(as_it_is=2.0).choose(tmp_path)
    later = Workbench(as_it_is=0.5)
    assert later.choose(tmp_path) == USUAL
    assert (later.num_read, later.num_built) == (0, 0)


def test_a_kept_layout_that_gives_other_numbers_by_now_is_measured_anew(tmp_path):
    Workbench(as_it_is=0.5, rows_32=0.8).choose(tmp_path)
    later = Workbench(as_it_is=0.5, rows_32=0.8)
    later.wrong_at[AS_IT_IS] = 1
    assert later.choose(tmp_path) == 32
    assert Workbench(rows_32=1.0).choose(tmp_path) == 32


def test_the_file_says_what_was_measured_and_where(tmp_path):
    Workbench(as_it_is=0.5).choose(tmp_path)
    (file,) = kept_files(tmp_path)
    said = json.loads(file.read_text())
    assert said["layout"] == AS_IT_IS
    assert said["machine"]["dtype"] == "float32"
    assert said["machine"]["num_threads"] == torch.get_num_threads()
    assert said["machine"]["torch"] == torch.__version__
    assert [4, 48, 32] in said["machine"]["weights"]  # gate and up of two layers
    assert said["seconds"]["0"] == pytest.approx(said["seconds"]["8"] / 2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: "[1, 2]",
        lambda text: text.replace("float32", "float\xff"),  # no UTF-8
        lambda text: text.replace('"layout": 0', '"layout": 7'),
        lambda text: text.replace('"layout": 0', '"layout": "0"'),
        lambda text: text.replace('"num_threads": ', '"num_threads": 10'),
        lambda text: text.replace('"processor": "', '"processor": "another '),
    ],
)
def test_a_damaged_or_foreign_file_is_ignored_and_written_anew(tmp_path, damage):
    Workbench(as_it_is=0.5).choose(tmp_path)
    (file,) = kept_files(tmp_path)
    whole = file.read_text()
    file.write_text(damage(whole), encoding="latin-1")
    later = Workbench(as_it_is=0.5)
    assert later.choose(tmp_path) == AS_IT_IS
    assert later.num_read > 0
    assert kept_files(tmp_path) == [file]
    assert json.loads(file.read_text())["layout"] == AS_IT_IS


def test_a_folder_that_cannot_be_written_costs_a_measurement_each_time(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for _ in range(2):
        bench = Workbench(as_it_is=0.5)
        assert bench.choose(tmp_path / "file" / "models") == AS_IT_IS
        assert bench.num_read > 0


def test_a_folder_in_the_files_place_is_left_alone(tmp_path):
    Workbench(as_it_is=0.5).choose(tmp_path)
    (file,) = kept_files(tmp_path)
    file.unlink()
    (file / "inside").mkdir(parents=True)
    assert Workbench(as_it_is=0.5).choose(tmp_path) == AS_IT_IS
    assert kept_files(tmp_path) == [file]


def test_servers_that_start_at_once_leave_one_whole_file(tmp_path):
    stocks = [build_stock() for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        chosen = list(
            pool.map(lambda stock: Workbench(as_it_is=0.5).choose(tmp_path, stock), stocks)
        )
    assert chosen == [AS_IT_IS] * 6
    (file,) = kept_files(tmp_path)
    assert json.loads(file.read_text())["layout"] == AS_IT_IS


def test_dtype_threads_torch_processor_and_weights_each_have_a_choice_of_their_own(
    tmp_path, monkeypatch
):
    def files_after(stock=None) -> int:
        Workbench(as_it_is=0.5).choose(tmp_path, stock)
        return len(kept_files(tmp_path))

    assert files_after() == 1
    assert files_after() == 1
    assert files_after(build_stock().bfloat16()) == 2
    assert files_after(build_stock(num_hidden_layers=3)) == 3
    for name, found in (("get_num_threads", lambda: 77), ("__version__", "9.9")):
        with monkeypatch.context() as patch:
            patch.setattr(torch, name, found)
            files_after()
    assert len(kept_files(tmp_path)) == 5
    monkeypatch.setattr(layout_choice, "processor", lambda: "another")
    assert files_after() == 6


def test_a_small_model_is_not_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(layout_choice, "WORTH_MEASURING", 8_000_000)
    bench = Workbench(as_it_is=0.5)
    assert bench.choose(tmp_path) == USUAL
    assert (bench.num_built, kept_files(tmp_path)) == (0, [])


def test_the_pieces_stand_for_every_weight_of_the_model(monkeypatch):
    monkeypatch.setattr(layout_choice, "PIECE", 32 * 60)
    monkeypatch.setattr(layout_choice, "SMALL_PIECE", 32 * 10)
    stock = build_stock()
    layers = [layer for layer in stock.modules() if type(layer) is nn.Linear]
    found = [
        (len(piece.weight), piece.rows, piece.stands_for * piece.weight.numel())
        for piece in pieces_of(layers, stock.lm_head)
    ]
    inner = 2 * (2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32)
    assert found == [
        (60, (1, 8, 32), pytest.approx(inner)),  # the rows of one gate, and some of an up
        (10, (256,), pytest.approx(inner)),
        (60, (1, 8, 32), pytest.approx(260 * 32)),
    ]
    gate, up = stock.model.layers[0].mlp.gate_proj, stock.model.layers[0].mlp.up_proj
    assert torch.equal(pieces_of(layers, stock.lm_head)[0].weight[:48], gate.weight)
    assert torch.equal(pieces_of(layers, stock.lm_head)[0].weight[48:], up.weight[:12])


def test_a_layout_is_held_to_the_numbers_of_every_shape(tmp_path):
    for shape in ((32, 32), (16, 32), (48, 32), (32, 48), (260, 32)):
        bench = Workbench(as_it_is=0.1, rows_32=0.8)
        plain = bench.build

        def build(weight, layout, shape=shape, plain=plain):
            multiply = plain(weight, layout)
            is_wrong = layout == AS_IT_IS and weight.shape == shape
            return (lambda x: multiply(x) + 1e-6) if is_wrong else multiply

        bench.build = build
        assert bench.choose(tmp_path / str(shape)) == 32


def test_a_model_of_an_output_layer_alone_has_one_piece():
    head = nn.Linear(16, 40)
    (piece,) = pieces_of([head], head)
    assert (piece.weight.shape, piece.stands_for) == ((40, 16), 1)
