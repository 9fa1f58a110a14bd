"""Objectives: what is masked and guessed, what is replaced and told, and which gradients reach whom."""

import dataclasses

import pytest
import torch

from discotree.config.pretraining import ObjectiveSettings
from discotree.network.encoder_config import EncoderConfig
from discotree.training.pretraining.bert import Bert
from discotree.training.pretraining.objectives import (
    IGNORED,
    OBJECTIVES,
    Masked,
    PieceKinds,
    Replaced,
    generator_config,
    guessing_loss,
    sample,
)

CONFIG = EncoderConfig.of(
    {"model_type": "bert", "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
     "intermediate_size": 32, "max_position_embeddings": 64}
)  # fmt: skip
KINDS = PieceKinds(4, [0, 1, 2, 3, 4], [number >= 40 for number in range(60)])  # the last twenty continue a word


def objective(kind=Masked, **settings):
    torch.manual_seed(0)
    return kind(Bert(CONFIG), ObjectiveSettings(**settings), KINDS)


def rows_of(count=64, length=52):
    torch.manual_seed(1)
    rows = torch.randint(5, 60, (count, length))
    rows[:, 0], rows[:, -1], rows[:, 20] = 2, 3, 3
    return rows


def test_a_share_of_the_pieces_is_masked_and_special_ones_never():
    rows = rows_of()
    changed, where, gold = objective(share=0.2).draw(rows)
    assert where.shape == gold.shape == (64, 10)
    assert (rows.gather(1, where) == gold).all()
    assert not torch.isin(gold, torch.tensor(KINDS.special)).any()
    assert all(len(set(columns)) == 10 for columns in where.tolist())
    elsewhere = torch.ones_like(rows, dtype=torch.bool).scatter(1, where, False)
    assert (changed[elsewhere] == rows[elsewhere]).all()
    shown = changed.gather(1, where)
    assert (shown == 4).float().mean().item() == pytest.approx(0.8, abs=0.06)
    assert (shown == gold).float().mean().item() == pytest.approx(0.1, abs=0.05)


def test_whole_words_are_masked_together():
    rows = rows_of()
    _, where, _ = objective(whole_words=True).draw(rows)
    chosen = torch.zeros_like(rows, dtype=torch.bool).scatter(1, where, True)
    inside = rows >= 40
    torn = 0
    for row in range(len(rows)):
        words = []
        for column in range(rows.shape[1]):
            if inside[row, column] and words:
                words[-1].append(column)
            else:
                words.append([column])
        parts = [chosen[row, [c for c in word if rows[row, c] > 4]] for word in words]
        torn += sum(1 for part in parts if len(part) and part.any() and not part.all())
    assert torn <= len(rows)  # at most the last word of each: the number of masked pieces is fixed
    _, single, _ = objective().draw(rows)
    assert not torch.equal(where, single)


def test_a_sequence_of_special_pieces_counts_for_nothing():
    rows = torch.full((2, 12), 3)
    rows[0, 5] = 17
    model = objective(share=0.5)
    changed, _, gold = model.draw(rows)
    assert (gold != IGNORED).sum() == 1
    assert (changed[1] == rows[1]).all()
    loss = model.losses(*model.draw(rows[1:]))["loss"]
    assert loss.item() == 0
    assert torch.isfinite(model.losses(changed, *model.draw(rows)[1:])["loss"])


def test_the_loss_is_the_mean_over_the_pieces_that_count():
    torch.manual_seed(2)
    logits, gold = torch.randn(2, 3, 7), torch.tensor([[1, IGNORED, 2], [IGNORED, 6, IGNORED]])
    expected = [-logits.log_softmax(-1)[row, column, gold[row, column]] for row, column in ((0, 0), (0, 2), (1, 1))]
    assert guessing_loss(logits, gold).item() == pytest.approx(sum(expected).item() / 3)


def test_sampling_follows_the_probabilities():
    torch.manual_seed(3)
    probabilities = torch.tensor([0.5, 0.0, 0.3, 0.2])
    drawn = sample(probabilities.log().clamp_min(-100).expand(1, 20000, 4), torch.rand(1, 20000))
    shares = torch.bincount(drawn.flatten(), minlength=4) / 20000
    torch.testing.assert_close(shares, probabilities, rtol=0, atol=0.015)
    assert sample(torch.zeros(1, 2, 4), torch.tensor([[0.0, 1.0]])).tolist() == [[0, 3]]


def test_the_generator_is_narrower():
    small = generator_config(CONFIG, 0.33)
    assert (small.hidden, small.heads, small.layers) == (8, 1, 2)
    assert generator_config(dataclasses.replace(CONFIG, heads=1), 0.1).hidden == 24


def test_replaced_pieces_teach_the_encoder_and_the_guesses_teach_the_generator():
    model = objective(Replaced, replaced_weight=1.0)
    losses = model.losses(*model.draw(rows_of(4)))
    assert losses["loss"].item() == pytest.approx((losses["generator"] + losses["replaced"]).item(), rel=1e-5)
    parts = {"head.dense.weight": losses["generator"], "judge.weight": losses["replaced"]}
    layer = "layers.1.narrow.weight"
    weights = dict(model.named_parameters())
    for name, loss in parts.items():
        names = [name, layer, f"encoder.{layer}"]
        found = torch.autograd.grad(loss, [weights[n] for n in names], retain_graph=True, allow_unused=True)
        is_generator = name.startswith("head")
        assert [gradient is not None for gradient in found] == [True, is_generator, not is_generator]


def test_a_replaced_piece_that_is_right_by_luck_is_not_replaced():
    """A generator that knows the answer leaves nothing to tell."""
    model = objective(Replaced)
    rows = torch.full((3, 20), 9)
    with torch.no_grad():
        model.head.bias[9] = 1000.0
        model.judge.weight.zero_()
        model.judge.bias.fill_(-50.0)
    losses = model.losses(*model.draw(rows))
    assert losses["replaced"].item() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_is_kept_is_the_encoder_under_its_usual_names(name):
    kept = objective(OBJECTIVES[name]).named_weights()
    body = {key.removeprefix("bert.") for key in kept if key.startswith("bert.")}
    assert body == set(CONFIG.shapes())
    assert {key.split(".")[0] for key in kept} == ({"bert", "cls"} if name == "masked" else {"bert"})
