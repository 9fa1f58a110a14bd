"""The loop: schedules, limits, and a run that is interrupted anywhere goes on to the same weights."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from support.texts_raw import tiny
from torch import nn

from discotree.config.pretraining import PretrainingSettings
from discotree.errors import ModelError
from discotree.network.transformer import EncoderConfig
from discotree.training.pretraining import loop as module
from discotree.training.pretraining.encoder import Bert, MaskedPieces
from discotree.training.pretraining.loop import (
    EncoderOptimizer,
    PretrainingLoop,
    PretrainingState,
    Sequences,
    learning_rate,
    orthogonal,
)

CPU = torch.device("cpu")


def sequences(length=20):
    draw = np.random.default_rng(0)
    return Sequences([draw.integers(5, 40, 700).astype(np.uint16)], [1], length, 2, 3, 1)


def new_loop(checkpoint=None, *settings, report=lambda *_: None, fingerprint="one"):
    config = tiny(*settings)
    sizes = EncoderConfig.from_settings(
        {"model_type": "bert", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 24, "max_position_embeddings": 20}
    )  # fmt: skip
    torch.manual_seed(5)
    objective = MaskedPieces(Bert(sizes, config.network.dropout), config.training.mask_share, 4, [0, 1, 2, 3, 4])
    return PretrainingLoop(objective, sequences(), config.training, CPU, checkpoint, fingerprint, report)


def weights_after(loop):
    loop.run()
    return {name: weight.detach().clone() for name, weight in loop.objective.named_parameters()}


# Schedules


def test_the_learning_rate_rises_and_falls_to_nothing():
    settings = PretrainingSettings(learning_rate=1.0, warmup=0.2)
    assert learning_rate(settings, 0.1) == pytest.approx(0.5)
    assert learning_rate(settings, 0.2) == pytest.approx(1.0)
    assert learning_rate(settings, 0.6) == pytest.approx(0.5)
    assert learning_rate(settings, 1.0) == pytest.approx(0.0)
    assert 0 < learning_rate(settings, 0.0) < 0.01
    falling = [learning_rate(settings, share) for share in np.linspace(0.2, 1, 30)]
    assert falling == sorted(falling, reverse=True)
    assert learning_rate(PretrainingSettings(learning_rate=1.0, warmup=0.0), 0.0) == 1.0


def test_a_run_has_steps_or_passes_or_seconds():
    steps = "training.steps=0"  # 39 sequences of a pass
    assert new_loop(None, "training.steps=7").steps == 7
    assert new_loop(None, steps, "training.passes=2.5").steps == 13
    assert new_loop(None, steps, "training.passes=1e-9").steps == 1
    assert new_loop(None, steps, "training.max_seconds=9").steps == 0


def test_compiling_takes_time_from_the_run_but_none_of_its_schedule():
    loop = new_loop(None, "training.steps=0", "training.max_seconds=100")
    for seconds, startup, progress in ((40.0, 40.0, 0), (70.0, 40.0, 0.5), (100.0, 40.0, 1), (130.0, 120.0, 1)):
        loop.state = PretrainingState(5, seconds, startup)
        assert loop.progress == pytest.approx(progress)


def test_a_run_by_the_clock_follows_it_to_the_end(monkeypatch):
    """Every look at the clock is a tenth of a second after the last one."""
    ticks = itertools.count()
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(ticks) / 10)
    rates = []
    settings = ("training.steps=0", "training.max_seconds=5", "training.report_steps=1", "training.warmup=0.1")
    loop = new_loop(None, *settings, report=lambda _, metrics: rates.append(metrics["learning_rate"]))
    state = loop.run()
    assert 5 <= state.seconds <= 5.3
    assert max(rates) == pytest.approx(0.01, rel=0.1)
    assert rates[-1] < 0.001
    assert state.history[-1]["progress"] > 0.95


def test_a_network_that_cannot_be_compiled_is_trained_without(caplog):
    def fail(*_):
        raise RuntimeError("there is no compiler")

    expected = weights_after(new_loop())
    loop = new_loop()
    loop.is_compiled, loop.loss = True, fail
    found = weights_after(loop)
    assert "training without torch.compile, which failed: there is no compiler" in caplog.text
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert loop.state.startup > 0


# Runs


@pytest.mark.parametrize("optimizer", ["muon", pytest.param("adamw", marks=pytest.mark.slow)])
def test_the_loss_falls(optimizer):
    loop = new_loop(None, f"training.optimizer={optimizer}", "training.steps=40")
    made = np.tile(np.arange(5, 25, dtype=np.uint16), 30)  # half of the pieces, always in the same order
    loop.sequences.pieces = [made]
    history = loop.run().history
    losses = [row["loss"] for row in history]
    assert losses[-1] < 0.9 * losses[0]
    assert [row["step"] for row in history] == [*range(3, 40, 3), 40]


def test_a_run_is_the_same_again_and_a_seed_makes_another():
    once, again = (weights_after(new_loop()) for _ in range(2))
    other = weights_after(new_loop(None, "training.seed=2"))
    assert all(torch.equal(once[name], again[name]) for name in once)
    assert not all(torch.equal(once[name], other[name]) for name in once)


class Stop(Exception):
    """An interruption."""


ADAMW = ("training.optimizer=adamw", "network.dropout=0.1")


@pytest.mark.parametrize(
    "settings",
    [("training.optimizer=muon",), pytest.param(ADAMW, marks=pytest.mark.slow)],
    ids=",".join,
)
def test_an_interrupted_run_goes_on_to_the_same_weights(tmp_path, settings):
    path = tmp_path / "checkpoint"
    whole = new_loop(None, *settings)
    expected = weights_after(whole)

    def stop(event, metrics):
        if event == "step" and metrics["step"] == 9:
            raise Stop

    with pytest.raises(Stop):
        new_loop(path, *settings, report=stop).run()
    events = []
    resumed = new_loop(path, *settings, report=lambda *event: events.append(event))
    found = weights_after(resumed)
    assert events[0] == ("resume", {"step": 6, "progress": 0.5})
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    timeless = [[{k: v for k, v in row.items() if "second" not in k} for row in loop.state.history]
                for loop in (whole, resumed)]  # fmt: skip
    assert timeless[0] == timeless[1]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "checkpoint"
    new_loop(path).run()
    with pytest.raises(ModelError, match="written with different settings or data"):
        new_loop(path, fingerprint="two").run()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelError, match="cannot read the checkpoint; remove it"):
        new_loop(path).run()


def test_checkpoints_are_some_seconds_apart(tmp_path):
    path = tmp_path / "checkpoint"
    new_loop(path, "training.checkpoint_seconds=99").run()
    assert not path.exists()
    new_loop(path, "training.checkpoint_seconds=0.000001").run()
    assert path.exists()


def test_a_run_that_diverges_says_so():
    loop = new_loop(None, "training.learning_rate=1e30", "training.warmup=0")
    with pytest.raises(ModelError, match=r"pretraining diverged before step .*; lower training\.learning_rate"):
        loop.run()


def test_reports_can_be_written_as_json():
    (row, *_) = new_loop().run().history
    assert json.loads(json.dumps(row)) == row
    assert math.isfinite(row["loss"])
    assert row["passes"] == pytest.approx(3 * 8 / 39)


def weights_of(*shapes):
    torch.manual_seed(0)
    names = ["layers.0.a", "layers.1.a", "layers.0.wide", "words", "layers.0.bias"]
    return {name: nn.Parameter(torch.randn(shape)) for name, shape in zip(names, shapes, strict=True)}


SHAPES = ((6, 6), (6, 6), (4, 9), (20, 6), (6,))


def gradients(weights, seed):
    torch.manual_seed(seed)
    for weight in weights.values():
        weight.grad = torch.randn_like(weight)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 5, 20), (2, 20, 5)])
def test_singular_values_become_about_one_and_their_vectors_stay(shape):
    torch.manual_seed(1)
    matrices = torch.randn(shape) * 7
    found = orthogonal(matrices)
    left, _, right = torch.linalg.svd(matrices, full_matrices=False)
    middle = left.mT @ found @ right.mT
    values = torch.diagonal(middle, dim1=1, dim2=2)
    assert ((values > 0.5) & (values < 1.4)).all()
    torch.testing.assert_close(middle, torch.diag_embed(values), rtol=0, atol=1e-3)


def test_matrices_of_layers_get_muon_and_all_else_adamw(monkeypatch):
    monkeypatch.setattr(module, "WEIGHT_DECAY", 0.0)
    weights = weights_of(*SHAPES)
    optimizer = EncoderOptimizer(weights, muon=True)
    assert sorted(optimizer.adam_weights) == ["layers.0.bias", "words"]
    before = {name: weight.detach().clone() for name, weight in weights.items()}
    gradients(weights, 1)
    optimizer.step(0.01)
    steps = {name: (weight - before[name]).detach() for name, weight in weights.items()}
    sizes = {name: step.square().mean().sqrt().item() for name, step in steps.items()}
    assert sizes["words"] == pytest.approx(0.01, rel=0.01)  # AdamW's first step
    assert sizes["layers.0.a"] == pytest.approx(0.2 * 0.01, rel=0.4)
    assert sizes["layers.0.wide"] == pytest.approx(0.2 * 0.01, rel=0.4)
    assert all(weight.grad is None for weight in weights.values())


def test_matrices_of_one_shape_do_not_mix(monkeypatch):
    monkeypatch.setattr(module, "MAX_NORM", math.inf)
    both = weights_of(*SHAPES)
    gradients(both, 1)
    alone = {name: nn.Parameter(both[name].detach().clone()) for name in ("layers.1.a", "words")}
    for name, weight in alone.items():
        weight.grad = both[name].grad.clone()
    for weights in (both, alone):
        EncoderOptimizer(weights, muon=True).step(0.01)
    torch.testing.assert_close(both["layers.1.a"], alone["layers.1.a"])


def test_without_muon_it_is_torchs_adamw():
    ours, theirs = weights_of(*SHAPES), weights_of(*SHAPES)
    optimizer = EncoderOptimizer(ours, muon=False)
    matrices = [weight for weight in theirs.values() if weight.ndim > 1]
    groups = [{"params": matrices, "weight_decay": 0.01}, {"params": [theirs["layers.0.bias"]], "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, 0.02, (0.9, 0.98), 1e-6)
    for seed in range(4):
        gradients(ours, seed)
        gradients(theirs, seed)
        optimizer.step(0.02)
        nn.utils.clip_grad_norm_(theirs.values(), 1.0)
        adam.step()
    for name, weight in ours.items():
        torch.testing.assert_close(weight, theirs[name])


@pytest.mark.parametrize("muon", [True, False])
def test_loading_its_tensors_resumes_it(muon):
    one, two = weights_of(*SHAPES), weights_of(*SHAPES)
    first, second = EncoderOptimizer(one, muon), EncoderOptimizer(two, muon)
    for seed in range(3):
        gradients(one, seed)
        first.step(0.01)
    for name, value in second.tensors().items():
        value.copy_(first.tensors()[name])
    for weights, optimizer in ((one, first), (two, second)):
        gradients(weights, 9)
        optimizer.step(0.01)
    assert all(torch.equal(one[name], two[name]) for name in one)


CLS, SEP = 1000, 1001


def sequences_of_files(*sizes, repeats=None, length=10, seed=1):
    ends = np.cumsum(sizes)
    pieces = [np.arange(end - size, end).astype(np.uint16) for size, end in zip(sizes, ends, strict=True)]
    return Sequences(pieces, repeats or [1] * len(sizes), length, CLS, SEP, seed)


def test_a_pass_reads_every_piece_as_often_as_its_file_is_repeated():
    made = sequences_of_files(80, 40, repeats=[1, 3])
    assert made.per_pass == 10 + 3 * 5
    rows = made.rows(0, made.per_pass)
    assert (rows[:, 0] == CLS).all()
    assert (rows[:, -1] == SEP).all()
    counts = np.bincount(rows[:, 1:-1].ravel(), minlength=120)
    assert counts.tolist() == [1] * 80 + [3] * 40


def test_the_order_of_the_text_is_kept_and_its_end_is_followed_by_its_beginning():
    rows = sequences_of_files(37, 25).rows(0, 9)[:, 1:-1]
    for row in rows.astype(int):
        low, size = (0, 37) if row[0] < 37 else (37, 25)
        assert ((row[1:] - low) % size == (row[:-1] - low + 1) % size).all()


def test_each_pass_is_cut_and_ordered_differently_and_a_seed_decides():
    made = sequences_of_files(300)
    one, two = made.rows(0, made.per_pass), made.rows(made.per_pass, made.per_pass)
    assert {row[1] % 8 for row in one.tolist()} != {row[1] % 8 for row in two.tolist()}
    assert one[:, 1].tolist() != sorted(one[:, 1].tolist())
    assert (sequences_of_files(300).rows(0, 5) == one[:5]).all()
    assert (sequences_of_files(300, seed=2).rows(0, 5) != one[:5]).any()


def test_a_batch_across_passes_is_made_from_its_number():
    made = sequences_of_files(60, 30, repeats=[1, 2])
    whole = made.rows(0, 40)
    fresh = sequences_of_files(60, 30, repeats=[1, 2])
    for first in (30, 12, 3):  # backwards, too
        assert (fresh.rows(first, 8) == whole[first : first + 8]).all()


def test_a_text_shorter_than_a_sequence_is_repeated_and_an_empty_one_left_out():
    made = sequences_of_files(3, 0)
    assert made.per_pass == 1
    assert set(made.rows(0, 1)[0, 1:-1].tolist()) == {0, 1, 2}
