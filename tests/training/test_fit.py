"""The training loop: schedules, averages, the best weights, seeds, and resuming after an interruption."""

import dataclasses
import itertools
import math
import threading
from functools import cache

import numpy as np
import pytest
import torch
from support.networks import CALM, HEADS, TINY, TREES, corpus_for, parser_of, tensors

from discotree.config.schema import Training
from discotree.errors import ConfigError, ModelError
from discotree.network.batch import by_length
from discotree.training import fit as fit_module
from discotree.training.distributed import ProcessGroup
from discotree.training.fit import (
    CHECKPOINT,
    Run,
    Trainer,
    TrainingState,
    by_clock,
    cosine,
    fit,
    is_over,
    one_ahead,
    seed_torch,
    validate_epoch,
)
from discotree.training.run import network_in

FEW = TREES[:6]
SMALLER = dict.fromkeys(HEADS, 0.0) | {"tag_weight": 0.3, "lstm_layers": 1}
TINY, CALM = (dataclasses.replace(network, **SMALLER) for network in (TINY, CALM))


class Rehearsal:
    """A network in training, with prescribed metrics on dev, that records its weights on the way."""

    def __init__(self, metrics=(), network=TINY, weights_seed=1, **settings):
        parser = parser_of(FEW, network, seed=weights_seed)
        self.settings = Training(**{"epochs": 3, "batch_words": 12} | settings)
        self.device = torch.device(self.settings.device or "cpu")
        self.network, self.corpus = network_in(parser).to(self.device), corpus_for(parser, FEW)
        self.metrics = list(metrics)
        self.validated, self.after_step, self.epochs, self.steps = [], [], [], []
        self.state = None

    def weights(self):
        return {name: value.detach().clone() for name, value in self.network.named_parameters()}

    def validate(self):
        self.validated.append(self.weights())
        epoch = len(self.validated)
        return {"las": self.metrics[epoch - 1] if self.metrics else float(epoch), "uas": 0.0}

    def report(self, event, metrics):
        if event == "step":
            self.after_step.append(self.weights())
            self.steps.append(metrics)
        else:
            self.epochs.append(metrics)

    def go(self, folder=None, fingerprint="same"):
        run = Run(self.settings, ProcessGroup(device=self.device), folder, fingerprint, self.report)
        self.state = fit(self.network, self.corpus, self.validate, "las", run)
        return self

    @property
    def learning_rates(self):
        return [epoch["learning_rate"] for epoch in self.state.history]


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# What is learned


def test_losses_fall():
    run = Rehearsal(network=CALM, epochs=5, learning_rate=0.02).go()
    losses = [epoch["loss"] for epoch in run.state.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.8 * losses[0]


def test_the_reported_loss_is_the_mean_over_the_words():
    run = Rehearsal(network=CALM, epochs=1, learning_rate=0.0).go()
    whole = run.network.loss(tensors(run.corpus, range(len(FEW))))
    words = sum(map(len, FEW))
    (epoch,) = run.state.history
    expected = {f"loss/{name}": value.item() / words for name, value in whole.items()}
    assert {name: value for name, value in epoch.items() if name.startswith("loss/")} == pytest.approx(expected)
    assert epoch["loss"] == pytest.approx(sum(expected.values()))
    assert (epoch["epoch"], epoch["dev/las"], epoch["dev/uas"]) == (1, 1.0, 0.0)
    assert epoch["seconds"] > 0 < epoch["validation_seconds"]


def test_every_step_and_every_epoch_is_reported():
    run = Rehearsal(epochs=3).go()
    batches = sum(1 for _ in by_length(run.corpus.lengths, 12))
    assert batches > 1
    assert [step["step"] for step in run.steps] == list(range(1, 3 * batches + 1))
    assert {step["steps"] for step in run.steps} == {batches}
    assert run.epochs == run.state.history
    assert run.state.step == 3 * batches


def test_a_step_is_one_of_adam_after_clipping(monkeypatch):
    monkeypatch.setattr(fit_module, "MAX_NORM", 0.25)
    run = Rehearsal(network=CALM, learning_rate=0.1, epsilon=1e-2)
    trainer = Trainer(run.network, run.settings, ProcessGroup())
    before = run.weights()
    trainer.step(trainer.share(run.corpus, np.arange(3)))
    after = run.weights()
    other = Rehearsal(network=CALM)
    total = sum(other.network.loss(tensors(other.corpus, range(3))).values()) / sum(map(len, FEW[:3]))
    total.backward()
    grads = {name: value.grad for name, value in other.network.named_parameters()}
    norm = math.sqrt(sum(float(grad.square().sum()) for grad in grads.values()))
    assert norm > 0.25
    for name, grad in grads.items():
        grad = grad * 0.25 / norm
        expected = before[name] - 0.1 * grad / (grad.abs() + 1e-2)
        torch.testing.assert_close(after[name], expected, atol=1e-5, rtol=1e-4)


def test_a_process_without_sentences_contributes_gradients_of_zero():
    run = Rehearsal(network=CALM)
    trainer = Trainer(run.network, run.settings, ProcessGroup(rank=2, size=4))
    share = trainer.share(run.corpus, np.arange(2))
    assert (share.counts, len(share.batch), share.words) == (False, 1, sum(map(len, FEW[:2])))
    assert all(loss.requires_grad and not loss for loss in trainer.losses(share).values())
    assert trainer.share(run.corpus, np.arange(3)).counts


def test_batches_are_made_in_order_and_one_ahead():
    begun = [threading.Event() for _ in range(4)]

    def make(item):
        begun[item].set()
        return -item

    items = one_ahead(make, range(4))
    assert next(items) == 0
    assert begun[1].wait(60)  # while the loop is still busy with the first one
    assert not begun[2].is_set()
    assert list(items) == [-1, -2, -3]
    assert list(one_ahead(make, [])) == []


def test_an_error_in_the_thread_that_makes_batches_is_raised_in_the_loop():
    items = one_ahead(lambda item: 1 // item, [1, 0, 2])
    assert next(items) == 1
    with pytest.raises(ZeroDivisionError):
        next(items)


def test_a_loop_may_end_before_all_batches_are_made():
    made = []
    items = one_ahead(made.append, range(1000))
    next(items)
    items.close()
    assert made == [0, 1]


def test_the_network_ends_up_with_the_weights_of_the_best_epoch():
    run = Rehearsal([10, 30, 20, 30], epochs=4).go()
    assert (run.state.best, run.state.best_epoch) == (30, 2)
    assert same(run.weights(), run.validated[1])
    assert not same(run.weights(), run.validated[3])


def test_without_epochs_nothing_happens():
    run = Rehearsal(epochs=0)
    before = run.weights()
    run.go()
    assert same(run.weights(), before)
    assert (run.state.epoch, run.state.history, run.validated) == (0, [], [])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="half precision is for GPUs, and there is none")
def test_half_precision_trains_too():
    run, full = (Rehearsal(epochs=2, device="cuda", precision=precision).go() for precision in ("auto", "float32"))
    assert {value.dtype for value in run.network.parameters()} == {torch.float32}
    assert run.state.history[0]["loss"] == pytest.approx(full.state.history[0]["loss"], rel=0.1)
    assert run.state.history[0]["loss"] != full.state.history[0]["loss"]


# Schedules


def test_a_plateau_decays_the_rate_and_goes_back_to_the_best_weights():
    run = Rehearsal([10, 20, 15, 20, 25, 1, 2], epochs=7, patience=2, plateau_factor=0.5, learning_rate=0.01).go()
    assert run.learning_rates == pytest.approx([0.01, 0.01, 0.01, 0.005, 0.005, 0.005, 0.0025])
    assert (run.state.decays, run.state.best_epoch) == (2, 5)
    batches = len(run.after_step) // 7
    first_after = run.after_step[4 * batches]  # one step of Adam away from the best weights, not from the last ones
    far = {name: float((first_after[name] - run.validated[3][name]).abs().max()) for name in first_after}
    near = {name: float((first_after[name] - run.validated[1][name]).abs().max()) for name in first_after}
    assert max(near.values()) < 1.5 * 0.005
    assert max(far.values()) > 0.02


def test_with_rounded_weights_to_come_every_epoch_is_scored_with_them():
    """Otherwise the last epoch with exact weights may win, and its weights are rounded without having learned it."""
    run = Rehearsal(epochs=2, weight_bits=3, quantize_from=0.5, ema_decay=0.0).go()
    exact = Rehearsal(epochs=2, weight_bits=3, ema_decay=0.0).go()
    for weights in run.validated:
        rounded = weights["arc_bilinear"]
        assert max(len(row.unique()) for row in rounded) < len(rounded[0])  # few values
    assert not same(run.validated[0], exact.validated[0])
    first = [one.state.history[0]["loss"] for one in (run, exact)]
    assert first[0] == first[1]  # nothing is rounded yet where the network learns


def test_adam_remembers_nothing_after_a_plateau():
    run = Rehearsal(patience=1)
    trainer = Trainer(run.network, run.settings, ProcessGroup())
    trainer.step(trainer.share(run.corpus, np.arange(3)))
    assert any(value.any() for name, value in trainer.tensors().items() if name.startswith("adam/"))
    trainer.state.best = 50.0
    validate_epoch(trainer, lambda: {"las": 40.0}, "las")
    assert not any(value.any() for name, value in trainer.tensors().items() if name.startswith("adam/"))
    assert same(run.weights(), trainer.best)


def test_training_stops_after_the_last_decay():
    run = Rehearsal([5] * 50, epochs=50, patience=2, max_decays=1).go()
    assert run.state.decays == 2
    assert run.state.epoch == 5  # the best one, and twice two without a better one
    assert run.state.best_epoch == 1


def test_a_cosine_rises_in_a_line_and_falls_to_zero():
    settings = Training(learning_rate=2.0, warmup=4)
    rates = [cosine(settings, step, 24) for step in range(25)]
    assert rates[:5] == pytest.approx([0.5, 1.0, 1.5, 2.0, 2.0])
    assert rates[14] == pytest.approx(1.0)
    assert rates[24] == pytest.approx(0.0)
    assert rates[4:] == sorted(rates[4:], reverse=True)
    assert cosine(settings, 1000, 24) == 0.0
    assert cosine(Training(learning_rate=2.0, warmup=0), 0, 24) == 2.0
    assert [cosine(Training(warmup=10), step, 5) for step in range(5)] == pytest.approx(
        [0.0001, 0.0002, 0.0003, 0.0004, 0.0005]
    )


def test_the_cosine_is_followed_step_by_step():
    run = Rehearsal(
        [1, 1, 1, 1], epochs=4, schedule="cosine", warmup=3, learning_rate=0.02, patience=1, max_decays=0
    ).go()
    steps = len(run.steps)
    every = steps // 4
    expected = [cosine(run.settings, every * epoch - 1, steps) for epoch in (1, 2, 3, 4)]
    assert run.learning_rates == pytest.approx(expected)
    assert (run.state.decays, run.state.epoch) == (0, 4)  # it knows no plateau


def test_by_the_clock_the_learning_rate_is_zero_when_the_time_is_over():
    settings = Training(schedule="clock", max_seconds=100, learning_rate=2.0, warmup=4)
    rates = [by_clock(settings, step, share) for step, share in ((0, 0.0), (1, 0.0), (9, 0.0), (9, 0.5), (9, 1.0))]
    assert rates == pytest.approx([0.5, 1.0, 2.0, 1.0, 0.0])
    assert by_clock(settings, 9, 1.5) == 0.0
    assert by_clock(Training(schedule="clock", max_seconds=1, learning_rate=2.0, warmup=0), 0, 0.0) == 2.0


def test_a_run_by_the_clock_stops_within_an_epoch(monkeypatch: pytest.MonkeyPatch):
    ticks = itertools.count()
    monkeypatch.setattr("discotree.training.fit.time.perf_counter", lambda: float(next(ticks)))
    whole = Rehearsal(epochs=1).go()
    ticks = itertools.count()
    run = Rehearsal(epochs=50, schedule="clock", max_seconds=4, warmup=0, learning_rate=0.02).go()
    assert 0 < len(run.steps) < len(whole.steps)
    assert run.state.epoch == 1
    assert 0 < run.learning_rates[-1] < 0.01
    assert math.isfinite(run.state.history[0]["loss"])


def test_a_run_by_the_clock_needs_a_limit():
    with pytest.raises(ConfigError, match=r"'clock' requires training\.max_seconds"):
        Run(Training(schedule="clock"))


def test_the_time_limit_stops_after_an_epoch():
    assert Rehearsal(epochs=50, max_seconds=1e-9).go().state.epoch == 1
    assert Rehearsal(epochs=3, max_seconds=1e9).go().state.epoch == 3
    state = TrainingState(epoch=2, history=[{"seconds": 1.0, "validation_seconds": 0.5}] * 2)
    assert is_over(state, Training(max_seconds=2.9))
    assert not is_over(state, Training(max_seconds=3.1))
    assert not is_over(state, Training(max_seconds=0.0))


# The average


def test_the_average_is_what_is_validated_and_kept():
    run = Rehearsal([1, 3, 2], epochs=3, ema_decay=0.8, learning_rate=0.01)
    average = run.weights()
    run.go()
    batches = len(run.after_step) // 3
    for step, weights in enumerate(run.after_step):
        keep = min(0.8, (1 + step) / (10 + step))
        average = {name: keep * average[name] + (1 - keep) * weights[name] for name in average}
        if (step + 1) % batches == 0:
            validated = run.validated[step // batches]
            for name, value in average.items():
                torch.testing.assert_close(validated[name], value, atol=1e-6, rtol=1e-5)
            assert not same(validated, weights)
    assert same(run.weights(), run.validated[1])


def test_training_itself_does_not_see_the_average():
    plain, averaged = Rehearsal().go(), Rehearsal(ema_decay=0.9).go()
    assert all(same(one, other) for one, other in zip(plain.after_step, averaged.after_step, strict=True))


# Seeds


def test_the_same_seed_gives_the_same_weights_to_the_last_bit():
    one, again, other = Rehearsal(seed=1).go(), Rehearsal(seed=1).go(), Rehearsal(seed=2).go()
    assert same(one.weights(), again.weights())
    assert not same(one.weights(), other.weights())
    assert [epoch["loss"] for epoch in one.state.history] == [epoch["loss"] for epoch in again.state.history]


def test_what_was_drawn_before_training_does_not_matter():
    one = Rehearsal().go()
    torch.manual_seed(99)
    np.random.seed(99)
    assert same(Rehearsal().go().weights(), one.weights())


def test_every_epoch_and_process_draws_something_else():
    drawn = set()
    for run, epoch, rank in [(1, 1, 0), (1, 1, 1), (1, 2, 0), (2, 1, 0), (0, 0, 0), (2**40, 1, 0)]:
        seed_torch(run, epoch, rank)
        drawn.add(float(torch.rand(())))
    assert len(drawn) == 6


# Resuming


class Interrupted(Exception):
    pass


SETTINGS = {
    "plateau": {"patience": 1, "plateau_factor": 0.5},
    "cosine": {"schedule": "cosine", "warmup": 5},
    "average": {"schedule": "cosine", "warmup": 2, "ema_decay": 0.9},
}


METRICS = [5, 4, 3, 8, 7]


@cache
def undisturbed(name):
    return Rehearsal(METRICS, epochs=5, **SETTINGS[name]).go()


@pytest.mark.parametrize(
    ("name", "after"),
    [("plateau", 2), pytest.param("plateau", 4, marks=pytest.mark.slow), ("cosine", 1), ("average", 3)],
)
def test_an_interrupted_run_resumes_to_the_same_numbers(tmp_path, name, after):
    whole, first = undisturbed(name), Rehearsal(METRICS, epochs=5, **SETTINGS[name])

    def interrupt(event, numbers):
        if event == "step" and numbers["epoch"] == after + 1:
            raise Interrupted

    first.report = interrupt
    with pytest.raises(Interrupted):
        first.go(tmp_path)
    second = Rehearsal(METRICS[after:], epochs=5, weights_seed=2, **SETTINGS[name]).go(tmp_path)
    assert len(second.validated) == 5 - after
    assert same(second.weights(), whole.weights())

    def timeless(history):
        return [{name: value for name, value in epoch.items() if "seconds" not in name} for epoch in history]

    assert timeless(second.state.history) == timeless(whole.state.history)
    one, other = vars(second.state), vars(whole.state)
    assert {k: v for k, v in one.items() if k != "history"} == {k: v for k, v in other.items() if k != "history"}


def test_a_run_that_is_over_is_not_trained_again(tmp_path):
    run = Rehearsal([1, 3, 2]).go(tmp_path)
    again = Rehearsal(weights_seed=2).go(tmp_path)
    assert again.validated == []
    assert same(again.weights(), run.weights())


def test_checkpoints_are_written_as_often_as_set(tmp_path):
    Rehearsal(epochs=3, checkpoint_epochs=0).go(tmp_path)
    assert list(tmp_path.iterdir()) == []
    Rehearsal(epochs=3, checkpoint_epochs=2).go(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
    again = Rehearsal(epochs=3, checkpoint_epochs=2).go(tmp_path)
    assert len(again.validated) == 1  # the third epoch, once more


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    Rehearsal(epochs=1).go(tmp_path, "one")
    with pytest.raises(ModelError, match="written with different settings or data"):
        Rehearsal(epochs=1).go(tmp_path, "other")
