"""The encoder: what it says against a plain LSTM run sentence by sentence, and what it is fed."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from support.networks import CALM, TINY, TREES, corpus_for, parser_of, split_of, tensors
from torch import nn

from discotree import Node, Token, Tree
from discotree.config.schema import Config, Data, Training
from discotree.errors import ConfigError
from discotree.network.batch import Corpus
from discotree.network.pytorch import model
from discotree.network.pytorch.model import BiLSTM, CharacterCNN, drop_features, drop_vectors, embedding
from discotree.network.vocab import UNKNOWN
from discotree.training.data import resolve, words_of
from discotree.training.run import build, network_in, with_vectors

ALL = np.arange(len(TREES))


def encoder_of(network=CALM, tags="none"):
    parser = parser_of(network=network, tags=tags)
    return network_in(parser).encoder, corpus_for(parser)


def sentence_by_sentence(lstm, x, lengths):
    """What torch's own LSTMs, stacked by hand, say of every sentence by itself, and their final cells."""
    outputs, cells = [], []
    for row, length in zip(x, lengths.tolist(), strict=True):
        values = row[None, :length]
        for layer in lstm.layers:
            plain = nn.LSTM(layer.input_size, layer.hidden_size, bidirectional=True, batch_first=True)
            plain.load_state_dict(layer.state_dict())
            values, (_, cell) = plain(values)
        outputs.append(values[0])
        cells.append(cell[:, 0].flatten())
    return outputs, torch.stack(cells)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
def test_without_dropout_the_lstm_is_that_of_torch_run_sentence_by_sentence(layers, training):
    torch.manual_seed(0)
    lstm = BiLSTM(4, 3, layers, 0.0, 0.0).train(training)
    lengths = torch.tensor([2, 5, 1, 5, 3])
    x = torch.randn(5, 5, 4)
    output, cells = lstm(x, lengths)
    expected, expected_cells = sentence_by_sentence(lstm, x, lengths)
    assert output.shape == (5, 5, 6)
    for row, wanted in zip(output, expected, strict=True):
        torch.testing.assert_close(row[: len(wanted)], wanted)
        assert not row[len(wanted) :].any()
    torch.testing.assert_close(cells, expected_cells)


@pytest.mark.parametrize(("dropout", "recurrent"), [(0.5, 0.0), (0.0, 0.5), (0.5, 0.5)])
def test_dropout_of_the_lstm_is_for_training_only_and_drawn_anew_every_time(dropout, recurrent):
    torch.manual_seed(0)
    lstm = BiLSTM(4, 8, 2, dropout, recurrent)
    x, lengths = torch.randn(3, 4, 4), torch.tensor([4, 2, 3])
    calm, drawn, again = lstm.eval()(x, lengths)[0], lstm.train()(x, lengths)[0], lstm.train()(x, lengths)[0]
    torch.testing.assert_close(calm[0], sentence_by_sentence(lstm, x[:1], lengths[:1])[0][0])
    assert not torch.allclose(calm, drawn)
    assert not torch.allclose(drawn, again)


def test_recurrent_dropout_drops_the_same_features_of_the_state_at_every_word():
    torch.manual_seed(0)
    lstm = BiLSTM(2, 40, 1, 0.0, 0.5)
    (layer,) = lstm.layers
    with torch.no_grad():  # what is dropped of the state does not come back through the recurrent weights
        for name, weight in layer.named_parameters():
            weight.zero_()
            if name.startswith("bias_ih"):
                weight.fill_(1.0)
            if name.startswith("weight_hh"):
                weight.copy_(torch.eye(40).repeat(4, 1))
    x = torch.zeros(2, 6, 2)
    first, second, third = lstm.train()(x, torch.tensor([6, 6]))[0][0, :3, :40]
    dropped = torch.isclose(second, second.min())
    assert 5 < dropped.sum() < 35
    assert torch.equal(torch.isclose(third, third.min()), dropped)
    assert first.unique().numel() == 1  # there was no state before the first word


def test_gradients_reach_the_weights_through_recurrent_dropout():
    lstm = BiLSTM(3, 4, 2, 0.3, 0.3).train()
    lstm(torch.randn(2, 3, 3), torch.tensor([3, 2]))[0].sum().backward()
    assert all(weight.grad is not None and weight.grad.any() for weight in lstm.parameters())


# Dropout of inputs


def test_dropping_vectors_takes_whole_words_and_keeps_the_mean():
    torch.manual_seed(0)
    x = torch.ones(50, 40, 6)
    dropped = drop_vectors(x, 0.25, True)
    assert torch.equal(dropped.amin(-1), dropped.amax(-1))
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.75])
    assert dropped.mean() == pytest.approx(1.0, abs=0.1)
    assert len({tuple(row) for row in dropped[..., 0].tolist()}) == 50


def test_dropping_features_takes_them_from_all_words_of_a_sentence():
    torch.manual_seed(0)
    x = torch.ones(30, 7, 40)
    dropped = drop_features(x, 0.25, True)
    assert torch.equal(dropped.amin(1), dropped.amax(1))
    assert dropped.mean() == pytest.approx(1.0, abs=0.1)
    assert len({tuple(row) for row in dropped[:, 0].tolist()}) == 30


@pytest.mark.parametrize("drop", [drop_vectors, drop_features])
def test_nothing_is_dropped_outside_training_or_without_a_share(drop):
    x = torch.randn(2, 3, 4)
    assert drop(x, 0.9, False) is x
    assert drop(x, 0.0, True) is x


# Characters


def windows(cnn, ids):
    """The maximum over all windows that touch a character, by hand."""
    size, width = cnn.table.weight.shape[1], cnn.window
    nothing = [torch.zeros(size)] * (width - 1)
    vectors = [*nothing, *(cnn.table.weight[k] for k in ids), *nothing]
    scores = []
    for at in range(max(1, len(vectors) - width + 1)):
        window = torch.stack(vectors[at : at + width], 1)  # (size, width)
        scores.append((cnn.convolution.weight * window).sum((1, 2)) + cnn.convolution.bias)
    return torch.stack(scores).amax(0).tanh()


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_characters_are_convolved_over_all_windows_that_touch_one(width):
    torch.manual_seed(0)
    cnn = CharacterCNN(9, 4, 5, width)
    words = [[3], [2, 8, 4], [5, 5, 5, 5, 5, 5, 6]]
    chars = torch.tensor([[*word, *[0] * (7 - len(word))] for word in words])
    for word, vector in zip(words, cnn(chars), strict=True):
        torch.testing.assert_close(vector, windows(cnn, word))
        torch.testing.assert_close(cnn(torch.tensor([word]))[0], vector)  # how far it is filled up does not matter


def test_words_without_characters_have_a_vector():
    assert torch.isfinite(CharacterCNN(4, 3, 2, 3)(torch.zeros(2, 1, dtype=torch.long))).all()
    assert torch.isfinite(CharacterCNN(4, 3, 2, 1)(torch.tensor([[0, 0], [2, 3]]))).all()


def test_embeddings_begin_within_their_bounds_and_padding_stays_zero():
    torch.manual_seed(0)
    table = embedding(1000, 12, 0)
    assert not table.weight[0].any()
    assert table.weight.abs().max() <= math.sqrt(3 / 12)
    assert table.weight.abs().max() > 0.49
    table(torch.tensor([0, 1])).sum().backward()
    assert not table.weight.grad[0].any()
    assert table.weight.grad[1].all()


# What goes in


@pytest.mark.parametrize("tags", ["none", "gold"])
def test_shapes(tags):
    encoder, corpus = encoder_of(tags=tags)
    batch = tensors(corpus, ALL)
    n = max(map(len, TREES))
    assert [part.shape[-1] for part in encoder.inputs(batch)] == [6, 4] + [3] * (tags == "gold")
    vectors, summary = encoder.eval()(batch)
    assert (vectors.shape, summary.shape, encoder.size) == ((20, n + 1, 10), (20, 10), 10)


def test_the_first_position_is_the_dummy_root():
    encoder, corpus = encoder_of()
    batch = tensors(corpus, [3])
    inputs = torch.cat([encoder.root[None], torch.cat(encoder.inputs(batch), -1)[0]])
    vectors, summary = encoder.eval()(batch)
    (expected,), cells = sentence_by_sentence(encoder.lstm, inputs[None], torch.tensor([len(inputs)]))
    torch.testing.assert_close(vectors[0], expected)
    torch.testing.assert_close(summary, cells)
    with torch.no_grad():
        encoder.root += 1
    assert not torch.allclose(encoder(batch)[0][0, 0], vectors[0, 0])


def test_words_seen_nowhere_have_the_vector_of_unknown_words():
    parser = parser_of()
    corpus = Corpus([[Token("Hund"), Token("Yeti")]], parser._forms())
    known, unknown = network_in(parser).encoder.inputs(tensors(corpus, [0]))[0][0]
    table = network_in(parser).encoder.words.weight
    assert torch.equal(known, table[parser.vocab.words.ids["Hund"]])
    assert torch.equal(unknown, table[UNKNOWN])


def test_singletons_become_unknown_in_training_only_and_about_half_of_the_time():
    encoder, corpus = encoder_of(dataclasses.replace(CALM, unknown=0.5))
    torch.manual_seed(0)
    batch = tensors(corpus, ALL)
    inside = torch.arange(batch.words.shape[1]) < batch.lengths[:, None]
    words = [token.form for tree in TREES for token in tree.tokens]
    once = torch.tensor([words.count(word) == 1 for word in words])
    unknown = encoder.words.weight[UNKNOWN]

    def became_unknown():
        return (encoder.inputs(batch)[0] == unknown).all(-1)[inside]

    encoder.train()
    drawn = torch.stack([became_unknown() for _ in range(20)]).float()
    assert 40 < once.sum() < len(words)
    assert drawn[:, once].mean() == pytest.approx(0.5, abs=0.05)
    assert drawn[:, once].std(0).min() > 0  # drawn anew in every batch
    assert not drawn[:, ~once].any()
    encoder.eval()
    assert not became_unknown().any()
    encoder.train().settings = CALM
    assert not became_unknown().any()


def test_input_dropout_is_drawn_for_words_characters_and_tags_on_their_own():
    encoder, corpus = encoder_of(dataclasses.replace(TINY, unknown=0.0, embedding_dropout=0.5), "gold")
    torch.manual_seed(0)
    batch = tensors(corpus, ALL)
    parts = [(part != 0).any(-1) for part in encoder.train().inputs(batch)]
    patterns = torch.stack(parts).flatten(1).T.tolist()
    assert len({tuple(pattern) for pattern in patterns}) == 8
    assert all((part != 0).any(-1).all() for part in encoder.eval().inputs(batch))


def test_outputs_are_dropped_in_training():
    encoder, corpus = encoder_of(dataclasses.replace(CALM, lstm_dropout=0.5))
    torch.manual_seed(0)
    vectors, _ = encoder.train()(tensors(corpus, [3]))
    assert 0 < (vectors[0] == 0).all(0).sum() < 10


# Pretrained vectors


@pytest.fixture
def vectors(tmp_path):
    lines = ["9 3"]
    rows = {"Hund": 1, "hund": 2, "zug": 3, "Yeti": 4, "YAK": 5, "0000": 6, "19": 7, "<unk>": 8, "84": 9}
    lines += [f"{word} {value}.5 0.25 -{value}" for word, value in rows.items()]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    return Data(folder=str(tmp_path), vectors="vectors.txt")


def flat(*words):
    return Tree(tuple(map(Token, words)), Node("ROOT", range(len(words))))


def built(data, train, dev):
    settings = Config(network=CALM, data=data, training=Training(seed=3))
    splits = {"train": split_of(train), "dev": split_of(dev)}
    settings, found = with_vectors(settings, resolve(data).vectors, words_of(splits))
    parser = build(settings, splits, found)
    table = network_in(parser).encoder.words.weight
    return settings, parser, {word: table[number].tolist() for word, number in parser.vocab.words.ids.items()}


def vector(value):
    return [value + 0.5, 0.25, -value]


def test_pretrained_vectors_are_found_as_they_are_then_in_lower_case(vectors):
    settings, parser, table = built(vectors, [flat("Hund", "HUND", "Zug", "Katze")], [flat("Zug")])
    assert settings.network.word_size == parser.config.network.word_size == 3
    assert [table[word] for word in ("Hund", "HUND", "Zug")] == [vector(1), vector(2), vector(3)]
    assert all(abs(number) <= 1 for number in table["Katze"])
    assert all(abs(number) <= 1 for number in network_in(parser).encoder.words.weight[UNKNOWN].tolist())
    assert network_in(parser).encoder.words.weight.requires_grad


def test_words_of_dev_enter_with_their_vectors_only(vectors):
    _, parser, table = built(vectors, [flat("Hund", "Katze")], [flat("Yeti", "Yak", "Zug", "Hund")])
    assert set(table) == {"Hund", "Katze", "Yeti", "Zug"}
    assert (table["Yeti"], table["Zug"]) == (vector(4), vector(3))
    assert parser.vocab.singletons == {"Hund", "Katze"}


def test_numbers_share_the_vector_of_the_first_number_like_them(vectors):
    _, _, table = built(vectors, [flat("1984", "Hund")], [flat("84", "2024")])
    assert table == {"Hund": vector(1), "0000": vector(6), "00": vector(7)}


def test_a_file_without_any_of_the_words_is_refused(vectors):
    with pytest.raises(ConfigError, match="no word of the treebank has a vector in this file"):
        built(vectors, [flat("Katze", "Maus")], [])


def test_characters_in_chunks_give_the_same_vectors(monkeypatch):
    torch.manual_seed(0)
    network = CharacterCNN(20, 4, 6, 3)
    chars = torch.randint(0, 20, (50, 9))
    whole = network(chars)
    monkeypatch.setattr(model, "CONVOLUTION_CHUNK", 200)
    torch.testing.assert_close(network(chars), whole)
