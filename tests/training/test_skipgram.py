"""Skip-gram: its gradients are those of the definition, and its vectors know which words stand alike."""

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid

from discotree.config import VectorSettings
from discotree.training.skipgram import SkipGram, climb, kept_share

COUNTS = np.array([40, 30, 20, 10, 5, 5], np.int64)


def network(**settings: object) -> SkipGram:
    small = {"size": 4, "window": 2, "shared_negatives": 3, "subsample": 0.0, "batch": 5}
    return SkipGram(COUNTS, VectorSettings(**{**small, **settings}), torch.device("cpu"))  # type: ignore[arg-type]


@pytest.mark.parametrize("positions", [True, False])
def test_a_step_climbs_the_gradient_of_the_definition(positions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Autograd differentiates the loss, written down pair by pair; a step has to move along the same direction."""
    one = network(positions=positions)
    one.outputs.normal_(generator=one.random)
    words, near = torch.tensor([0, 1, 0]), torch.tensor([[3, 1, 2, 0], [0, 0, 2, 3], [1, 1, 4, 5]])
    inside = torch.tensor([[1, 1, 1, 0], [0, 1, 1, 0], [1, 1, 1, 1]]).bool()
    drawn = one.draw(3)
    monkeypatch.setattr(one, "draw", lambda _: drawn)

    inputs, outputs = one.inputs.clone().requires_grad_(), one.outputs.clone().requires_grad_()
    total = torch.zeros(())
    for b, o in inside.nonzero().tolist():
        table = o * len(COUNTS) if positions else 0
        total = total - logsigmoid(inputs[words[b]] @ outputs[table + near[b, o]])
        for word in drawn[o]:
            total = total - 5 / 3 * logsigmoid(-inputs[words[b]] @ outputs[table + word])
    torch.autograd.backward(total)

    before = one.inputs.clone(), one.outputs.clone()
    loss = one.step(words, near, inside, learning_rate=0.1)
    assert float(loss) == pytest.approx(float(total.detach()), rel=1e-5)
    for old, new, wanted in ((before[0], one.inputs, inputs.grad), (before[1], one.outputs, outputs.grad)):
        assert wanted is not None
        rate = 0.1 / wanted.square().mean(1, keepdim=True).sqrt().clamp(min=1e-8)  # Adagrad's first step
        assert torch.allclose(new - old, -rate * wanted, atol=1e-5)


def test_rows_that_repeat_are_added_up_before_a_step() -> None:
    matrix, squares = torch.zeros(3, 2), torch.zeros(3)
    climb(matrix, squares, torch.tensor([2, 0, 2]), torch.tensor([[1.0, 0], [0, 2], [2, 0]]), 0.5)
    assert squares.tolist() == [2, 0, 4.5]
    assert matrix[1].tolist() == [0, 0]
    assert torch.allclose(matrix[2], torch.tensor([3.0, 0]) * 0.5 / 4.5**0.5)


def test_neighbours_stay_inside_the_sentence_and_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences of one word have no neighbours, and no pair reaches over the end of a sentence."""
    one = network(window=3)
    found = set()
    step = one.step

    def watched(words: torch.Tensor, near: torch.Tensor, inside: torch.Tensor, *rest: float, **more: bool) -> object:
        for b, o in inside.nonzero().tolist():
            found.add((int(words[b]), int(one.offsets[o]), int(near[b, o])))
        return step(words, near, inside, *rest, **more)

    monkeypatch.setattr(one, "step", watched)
    block = np.array([0, 1, -1, 5, -1, -1, 2, -2, 3, 4], np.int32)  # -2 has no vector: 2 and 3 are neighbours
    for _ in range(50):
        one.learn_block(block, 0.1)
    assert found == {(0, 1, 1), (1, -1, 0), (2, 1, 3), (2, 2, 4), (3, -1, 2), (3, 1, 4), (4, -1, 3), (4, -2, 2)}


def test_words_are_drawn_by_their_frequency_to_a_power() -> None:
    one = network(power=0.5)
    counts = torch.bincount(one.draw(50_000).flatten(), minlength=6).double()
    wanted = torch.from_numpy(COUNTS).double().sqrt()
    assert torch.allclose(counts / counts.sum(), wanted / wanted.sum(), atol=0.01)


def test_frequent_words_are_left_out_now_and_then() -> None:
    share = kept_share(torch.tensor([0.1, 0.001, 1e-6]).double(), 1e-3)
    assert share.tolist() == pytest.approx([0.11, 1, 1])
    assert kept_share(torch.tensor([0.5]), 0.0).tolist() == [1]


def text_of_two_kinds(count: int) -> np.ndarray:
    """Sentences in which 0 and 1 stand before 2 and 3, never after them; 4 and 5 stand anywhere."""
    draw = np.random.default_rng(7)
    rows = [[draw.integers(0, 2), draw.integers(2, 4), draw.integers(4, 6), -1] for _ in range(count)]
    return np.array(rows, np.int32).ravel()


def test_words_that_stand_alike_get_similar_vectors() -> None:
    one = network(size=8, batch=64)
    for _ in range(10):
        one.learn_block(text_of_two_kinds(1000), 0.1)
    unit = torch.nn.functional.normalize(one.inputs, dim=1)
    similar = unit @ unit.T
    assert min(similar[0, 1], similar[2, 3], similar[4, 5]) > 0.8
    assert max(similar[0, 2], similar[0, 4], similar[2, 4]) < 0.5
