"""The loop: schedules, limits, and a run that is interrupted anywhere goes on to the same weights."""

import itertools
import json
import math

import numpy as np
import pytest
import torch
from support.texts_raw import tiny

from discotree.config.pretraining import PretrainingSettings
from discotree.errors import ModelError
from discotree.network.encoder_config import EncoderConfig
from discotree.training.pretraining import loop as module
from discotree.training.pretraining.bert import Bert
from discotree.training.pretraining.loop import Length, PretrainingLoop, PretrainingState, learning_rate
from discotree.training.pretraining.objectives import OBJECTIVES, PieceKinds
from discotree.training.pretraining.sequences import Sequences

KINDS = PieceKinds(4, [0, 1, 2, 3, 4], [number >= 30 for number in range(40)])
CPU = torch.device("cpu")


def sequences(length=20):
    draw = np.random.default_rng(0)
    return Sequences([draw.integers(5, 40, 700).astype(np.uint16)], [1], length, 2, 3, 1)


def new_loop(checkpoint=None, *settings, report=lambda *_: None, identity="one"):
    config = tiny(*settings)
    sizes = EncoderConfig.of(
        {"model_type": "bert", "vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
         "intermediate_size": 24, "max_position_embeddings": 20}
    )  # fmt: skip
    torch.manual_seed(5)
    objective = OBJECTIVES[config.objective.name](Bert(sizes, config.network.dropout), config.objective, KINDS)
    return PretrainingLoop(objective, sequences(), config.training, CPU, checkpoint, identity, report)


def weights_after(loop):
    loop.run()
    return {name: weight.detach().clone() for name, weight in loop.objective.named_parameters()}


# Schedules


def test_the_learning_rate_rises_and_falls_to_nothing():
    for schedule, middle in (("linear", 0.5), ("cosine", 0.5)):
        settings = PretrainingSettings(learning_rate=1.0, warmup=0.2, schedule=schedule)
        assert learning_rate(settings, 0.1) == pytest.approx(0.5)
        assert learning_rate(settings, 0.2) == pytest.approx(1.0)
        assert learning_rate(settings, 0.6) == pytest.approx(middle)
        assert learning_rate(settings, 1.0) == pytest.approx(0.0)
        assert 0 < learning_rate(settings, 0.0) < 0.01
        falling = [learning_rate(settings, share) for share in np.linspace(0.2, 1, 30)]
        assert falling == sorted(falling, reverse=True)
    assert learning_rate(PretrainingSettings(learning_rate=1.0, warmup=0.0), 0.0) == 1.0


def test_a_run_has_steps_or_passes_or_seconds():
    made = sequences()  # 39 sequences of a pass
    assert Length.of(PretrainingSettings(steps=7), made) == Length(7, 0.0)
    assert Length.of(PretrainingSettings(passes=2.5, batch=8), made) == Length(13, 0.0)
    assert Length.of(PretrainingSettings(passes=1e-9), made) == Length(1, 0.0)
    assert Length.of(PretrainingSettings(max_seconds=9), made) == Length(0, 9.0)


def test_compiling_takes_time_from_the_run_but_none_of_its_schedule():
    length = Length(0, 100.0)
    assert length.progress(PretrainingState(5, 40.0, 40.0)) == 0
    assert length.progress(PretrainingState(5, 70.0, 40.0)) == pytest.approx(0.5)
    assert length.progress(PretrainingState(5, 100.0, 40.0)) == 1
    assert length.progress(PretrainingState(5, 130.0, 120.0)) == 1


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


# Runs


@pytest.mark.parametrize("optimizer", ["muon", pytest.param("adamw", marks=pytest.mark.slow)])
@pytest.mark.parametrize("objective", ["masked", pytest.param("replaced", marks=pytest.mark.slow)])
def test_the_loss_falls(objective, optimizer):
    loop = new_loop(None, f"objective.name={objective}", f"training.optimizer={optimizer}", "training.steps=40")
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


REPLACED = ("objective.name=replaced", "training.optimizer=adamw", "network.dropout=0.1")


@pytest.mark.parametrize(
    "settings",
    [("objective.whole_words=true", "training.optimizer=muon"), pytest.param(REPLACED, marks=pytest.mark.slow)],
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
    with pytest.raises(ModelError, match="a checkpoint of another run"):
        new_loop(path, identity="two").run()
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ModelError, match="cannot be read; remove it"):
        new_loop(path).run()


def test_checkpoints_come_by_the_clock_too(tmp_path):
    path = tmp_path / "checkpoint"
    new_loop(path, "training.checkpoint_steps=0").run()
    assert not path.exists()
    new_loop(path, "training.checkpoint_steps=0", "training.checkpoint_seconds=0.000001").run()
    assert path.exists()


def test_a_run_that_diverges_says_so():
    loop = new_loop(None, "training.learning_rate=1e30", "training.warmup=0", "training.clip=0")
    with pytest.raises(ModelError, match=r"pretraining diverged before step .*, lower training\.learning_rate"):
        loop.run()


def test_reports_can_be_written_as_json():
    (row, *_) = new_loop().run().history
    assert json.loads(json.dumps(row)) == row
    assert math.isfinite(row["loss"])
    assert row["passes"] == pytest.approx(3 * 8 / 39)
