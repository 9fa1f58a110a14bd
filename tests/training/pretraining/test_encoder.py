"""Our BERT computes what the library's does, and its weights have the same names and shapes."""

import pytest
import torch
from transformers import BertConfig, BertForMaskedLM, BertModel

from discotree.network.transformer import EncoderConfig
from discotree.training.pretraining.encoder import IGNORED, Bert, MaskedPieces, fill, guessing_loss

SIZES = {"vocab_size": 50, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 40,
         "max_position_embeddings": 20}  # fmt: skip


def pair(**settings):
    """The library's and ours, with the same weights."""
    torch.manual_seed(1)
    theirs = BertForMaskedLM(BertConfig(**SIZES | settings)).eval()
    config = EncoderConfig.from_settings({"model_type": "bert"} | SIZES | settings)
    ours = MaskedPieces(Bert(config), 0.2, 4, [0, 1, 2, 3, 4]).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(0.1 * torch.randn_like(weight))  # biases and norms are no longer 0 and 1
    named = ours.named_weights()
    fill(named, theirs.state_dict())
    assert set(named) == {name for name, _ in theirs.named_parameters()}
    return theirs, ours.encoder, ours.head


@pytest.mark.parametrize("activation", ["gelu", "relu", "gelu_new"])
def test_vectors_and_logits_are_those_of_the_library(activation):
    theirs, ours, head = pair(hidden_act=activation)
    pieces = torch.randint(50, (3, 17))
    with torch.no_grad():
        vectors = ours(pieces)
        torch.testing.assert_close(vectors, theirs.bert(pieces).last_hidden_state, rtol=0, atol=1e-5)
        logits = head(vectors, ours.embeddings.words.weight)
        torch.testing.assert_close(logits, theirs(pieces).logits, rtol=0, atol=1e-5)


def test_names_and_shapes_are_those_that_the_parser_expects():
    config = EncoderConfig.from_settings({"model_type": "bert"} | SIZES)
    assert {name: tuple(weight.shape) for name, weight in Bert(config).named_weights().items()} == config.shapes()


def test_dropout_is_for_training_only():
    bert = Bert(EncoderConfig.from_settings({"model_type": "bert"} | SIZES), 0.5)
    pieces = torch.randint(50, (2, 9))
    assert not torch.equal(bert(pieces), bert(pieces))
    bert.eval()
    assert torch.equal(bert(pieces), bert(pieces))


def test_fresh_weights_are_drawn_as_the_library_draws_them():
    config = EncoderConfig.from_settings({"model_type": "bert"} | SIZES)
    theirs = BertModel(BertConfig(**SIZES), add_pooling_layer=False).state_dict()
    for name, weight in Bert(config).named_weights().items():
        assert weight.mean().item() == pytest.approx(theirs[name].mean().item(), abs=0.01)
        assert weight.std().item() == pytest.approx(theirs[name].std().item(), abs=0.01)


CONFIG = EncoderConfig.from_settings(
    {"model_type": "bert", "vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
     "intermediate_size": 32, "max_position_embeddings": 64}
)  # fmt: skip
MASK, SPECIAL = 4, (0, 1, 2, 3, 4)


def objective(share=0.2):
    torch.manual_seed(0)
    return MaskedPieces(Bert(CONFIG), share, MASK, SPECIAL)


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
    assert not torch.isin(gold, torch.tensor(SPECIAL)).any()
    assert all(len(set(columns)) == 10 for columns in where.tolist())
    elsewhere = torch.ones_like(rows, dtype=torch.bool).scatter(1, where, False)
    assert (changed[elsewhere] == rows[elsewhere]).all()
    shown = changed.gather(1, where)
    assert (shown == 4).float().mean().item() == pytest.approx(0.8, abs=0.06)
    assert (shown == gold).float().mean().item() == pytest.approx(0.1, abs=0.05)


def test_a_sequence_of_special_pieces_counts_for_nothing():
    rows = torch.full((2, 12), 3)
    rows[0, 5] = 17
    model = objective(share=0.5)
    changed, _, gold = model.draw(rows)
    assert (gold != IGNORED).sum() == 1
    assert (changed[1] == rows[1]).all()
    loss = model.loss(*model.draw(rows[1:]))
    assert loss.item() == 0
    assert torch.isfinite(model.loss(changed, *model.draw(rows)[1:]))


def test_the_loss_is_the_mean_over_the_pieces_that_count():
    torch.manual_seed(2)
    logits, gold = torch.randn(2, 3, 7), torch.tensor([[1, IGNORED, 2], [IGNORED, 6, IGNORED]])
    expected = [-logits.log_softmax(-1)[row, column, gold[row, column]] for row, column in ((0, 0), (0, 2), (1, 1))]
    assert guessing_loss(logits, gold).item() == pytest.approx(sum(expected).item() / 3)


def test_what_is_kept_is_the_encoder_under_its_usual_names():
    kept = objective().named_weights()
    body = {key.removeprefix("bert.") for key in kept if key.startswith("bert.")}
    assert body == set(CONFIG.shapes())
    assert {key.split(".")[0] for key in kept} == {"bert", "cls"}
