"""The network: shapes, masks, gradients, its loss against a slow one, and that a seed decides everything."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from support.networks import CALM, HEADS, TINY, TREES, corpus_for, overfitted, parser_of, split_of, tensors

from discotree.config.recipes import DEFAULT
from discotree.config.schema import AUXILIARY_HEADS, Config
from discotree.errors import ModelError
from discotree.evaluation.parseval import evaluate
from discotree.network.batch import HEAD, IGNORED, LABEL, by_length
from discotree.network.pytorch.model import Decoder, PointerNetwork, label_scores
from discotree.parsing.parser import Parser
from discotree.training.data import load_splits, resolve
from discotree.training.run import build, network_in

ALL = np.arange(len(TREES))
SUBWORDS = DEFAULT.network.subwords


@pytest.fixture(scope="module", params=["plain", "tags", "subwords"])
def parser(request):
    """A network without dropout: with words only, with tags to look at, with sub-words."""
    network = dataclasses.replace(CALM, subwords=SUBWORDS) if request.param == "subwords" else CALM
    parser = parser_of(network=network, tags="gold" if request.param == "tags" else "none")
    network_in(parser).eval()
    return parser


def run(parser, sentences):
    with torch.no_grad():
        return network_in(parser)(tensors(corpus_for(parser), sentences))


def labels_of(scores, columns):
    """Log-probabilities of all labels, given the columns of the heads: (B, N) → (B, N, L)."""
    heads = torch.take_along_dim(scores.heads, columns[..., None], 1)
    return label_scores(scores.bilinear, scores.dependents, heads).log_softmax(-1)


def lengths_of(sentences):
    return torch.tensor([len(TREES[k]) for k in sentences])


# Shapes and masks


def test_shapes(parser):
    scores = run(parser, [0, 3, 6])
    vocab, n = parser.vocab, 9
    assert [len(TREES[k]) for k in (0, 3, 6)] == [5, n, 1]
    assert scores.arcs.shape == (3, n, n + 1)
    assert scores.dependents.shape == (3, n, CALM.label_size + 1)
    assert scores.heads.shape == (3, n + 1, CALM.label_size + 1)
    assert scores.bilinear.shape == (len(vocab.labels), CALM.label_size + 1, CALM.label_size + 1)
    assert {head: values.shape for head, values in scores.auxiliary.items()} == {
        head: (3, n, len(vocab.outputs[head])) for head in AUXILIARY_HEADS
    }
    labels = labels_of(scores, torch.zeros(3, n, dtype=torch.long))
    assert labels.shape == (3, n, len(vocab.labels))


def test_everything_said_is_a_log_probability(parser):
    scores = run(parser, [0, 3, 6])
    lengths = lengths_of([0, 3, 6])[:, None]
    mask = torch.arange(9) < lengths
    labels = labels_of(scores, torch.ones(3, 9, dtype=torch.long))
    for values in (scores.arcs, labels, *scores.auxiliary.values()):
        inside = values[mask]
        torch.testing.assert_close(inside.exp().sum(-1), torch.ones(len(inside)))
    beyond = torch.arange(10) > lengths
    assert torch.equal(scores.arcs == -torch.inf, beyond[:, None].expand_as(scores.arcs))


def test_padding_changes_no_score(parser):
    together = run(parser, ALL)
    columns = torch.zeros(len(TREES), together.arcs.shape[1], dtype=torch.long)
    with torch.no_grad():
        labels = labels_of(together, columns)
        best, which = together.best_labels()
    for k, tree in enumerate(TREES):
        n = len(tree)
        alone = run(parser, [k])
        with torch.no_grad():
            pairs = [
                (together.arcs[k, :n, : n + 1], alone.arcs[0]),
                (together.dependents[k, :n], alone.dependents[0]),
                (together.heads[k, : n + 1], alone.heads[0]),
                (labels[k, :n], labels_of(alone, columns[:1, :n])[0]),
                (best[k, :n, : n + 1], alone.best_labels()[0][0]),
                *((together.auxiliary[head][k, :n], alone.auxiliary[head][0]) for head in AUXILIARY_HEADS),
            ]
            assert torch.equal(which[k, :n, : n + 1], alone.best_labels()[1][0])
        for found, expected in pairs:
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_the_loss_of_a_batch_is_the_sum_over_its_sentences(parser):
    corpus = corpus_for(parser)
    with torch.no_grad():
        together = network_in(parser).loss(tensors(corpus, ALL))
        alone = [network_in(parser).loss(tensors(corpus, [k])) for k in ALL]
    assert list(together) == [HEAD, LABEL, *AUXILIARY_HEADS]
    for name, value in together.items():
        torch.testing.assert_close(value, sum(losses[name] for losses in alone), atol=1e-3, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_the_cross_entropy_of_the_scores(smoothing):
    network = dataclasses.replace(CALM, label_smoothing=smoothing, tag_weight=0.25)
    parser = parser_of(network=network)
    corpus = corpus_for(parser)
    sentences = [0, 3, 6, 12]
    batch = tensors(corpus, sentences)
    batch.gold[LABEL][0, 2] = batch.gold["tag"][1, 1] = IGNORED  # as if training had never seen them
    scores = run(parser, sentences)
    labels = labels_of(scores, batch.gold[HEAD].clamp_min(0)).detach()
    expected = dict.fromkeys([HEAD, LABEL, *AUXILIARY_HEADS], 0.0)
    for b, length in enumerate(batch.lengths.tolist()):
        for k in range(length):
            rows = {HEAD: scores.arcs[b, k, : length + 1], LABEL: labels[b, k]}
            rows |= {head: values[b, k] for head, values in scores.auxiliary.items()}
            for name, row in rows.items():
                gold = int(batch.gold[name][b, k])
                if gold != IGNORED:
                    expected[name] -= (1 - smoothing) * float(row[gold]) + smoothing * float(row.mean())
    expected["tag"] *= 0.25
    found = {name: value.item() for name, value in network_in(parser).loss(batch).items()}
    assert found == pytest.approx(expected, rel=1e-4)


# Gradients


@pytest.mark.parametrize("subwords", ["", SUBWORDS])
@pytest.mark.parametrize("tags", ["none", "gold"])
@pytest.mark.parametrize("network", [TINY, CALM], ids=["dropout", "calm"])
def test_gradients_reach_every_weight(network, tags, subwords):
    parser = parser_of(network=dataclasses.replace(network, subwords=subwords, label_smoothing=0.1), tags=tags)
    torch.manual_seed(0)
    network_in(parser).train()
    losses = network_in(parser).loss(tensors(corpus_for(parser), ALL))
    sum(losses.values()).backward()
    grads = {name: weight.grad for name, weight in network_in(parser).named_parameters()}
    assert [name for name, grad in grads.items() if grad is None or not grad.any()] == []
    assert all(torch.isfinite(grad).all() for grad in grads.values())
    rows = network_in(parser).label_bilinear.grad.flatten(1).any(1)
    assert rows.all()  # every label is there


def test_each_loss_alone_reaches_the_encoder():
    parser = parser_of()
    corpus = corpus_for(parser)
    for name in (HEAD, LABEL, *AUXILIARY_HEADS):
        network_in(parser).zero_grad()
        network_in(parser).loss(tensors(corpus, ALL))[name].backward()
        assert network_in(parser).encoder.words.weight.grad.any(), name


def test_a_batch_without_a_single_known_class_has_no_loss():
    parser = parser_of()
    batch = tensors(corpus_for(parser), [0, 1])
    for values in batch.gold.values():
        values.fill_(IGNORED)
    losses = network_in(parser).loss(batch)
    assert {value.item() for value in losses.values()} == {0.0}
    sum(losses.values()).backward()


# Its parts


def test_the_decoder_reads_each_word_with_its_neighbours():
    torch.manual_seed(0)
    decoder = Decoder(4, 3, 0.0, 0.0)
    vectors, summary, lengths = torch.randn(2, 6, 4), torch.randn(2, 4), torch.tensor([5, 2])
    vectors[1, 3:] = 0  # as an encoder leaves them
    found = decoder(vectors, summary, lengths)
    assert found.shape == (2, 5, 3)
    for b, length in enumerate(lengths.tolist()):
        words = [torch.zeros(4), *vectors[b, 1 : length + 1], torch.zeros(4)]  # the root is no neighbour
        x = torch.stack([words[k - 1] + words[k] + words[k + 1] for k in range(1, length + 1)])
        cell = decoder.start(summary[b])[None, None]
        expected, _ = decoder.lstm(x[None], (cell.tanh(), cell))
        torch.testing.assert_close(found[b, :length], expected[0])


def test_auxiliary_heads_are_there_where_they_have_a_weight():
    assert dataclasses.replace(CALM, **dict.fromkeys(HEADS, 0.0)).auxiliary_heads == {}
    network = dataclasses.replace(CALM, **dict.fromkeys(HEADS, 0.0) | {"tag_weight": 0.5})
    assert network.auxiliary_heads == {"tag": 0.5}
    parser = parser_of(network=network)
    assert list(run(parser, [0]).auxiliary) == list(network_in(parser).auxiliary) == ["tag"]
    assert list(network_in(parser).loss(tensors(corpus_for(parser), ALL))) == [HEAD, LABEL, "tag"]


def test_a_network_that_needs_sub_words_says_so():
    parser = parser_of()
    with pytest.raises(ModelError, match="name sub-word vectors or a Transformer, and none is given"):
        PointerNetwork(dataclasses.replace(CALM, subwords=SUBWORDS), parser.vocab, False, None)


def test_the_network_begins_without_a_preference():
    parser = parser_of()
    network = network_in(parser)
    for bilinear in (network.arc_bilinear, network.label_bilinear):
        assert not bilinear[..., -1, :].any()
        assert not bilinear[..., :, -1].any()
        assert bilinear[..., :-1, :-1].all()
    bound = math.sqrt(6 / (CALM.label_size * (CALM.label_size + len(parser.vocab.labels))))
    assert network.label_bilinear.abs().max() <= bound


def test_dropout_is_for_training_only():
    parser = parser_of(network=TINY)
    corpus = corpus_for(parser)
    batch = tensors(corpus, ALL)
    torch.manual_seed(0)
    network_in(parser).train()
    assert network_in(parser).loss(batch)[HEAD].item() != network_in(parser).loss(batch)[HEAD].item()
    network_in(parser).eval()
    assert network_in(parser).loss(batch)[HEAD].item() == network_in(parser).loss(batch)[HEAD].item()


# Seeds


def weights(seed):
    return {name: value.clone() for name, value in network_in(parser_of(network=TINY, seed=seed)).state_dict().items()}


def test_the_same_seed_gives_the_same_weights_and_another_one_others():
    one, same, other = weights(1), weights(1), weights(2)
    assert all(torch.equal(one[name], same[name]) for name in one)
    # Zeros are how some begin, whatever the seed.
    assert [name for name in one if one[name].any() and torch.equal(one[name], other[name])] == []


# Twenty sentences by heart


@pytest.mark.slow
def test_twenty_sentences_are_learned_by_heart():
    folder, results = overfitted()
    scores = results["scores"]["dev"]
    assert scores["all"]["f1"] == scores["discontinuous"]["f1"] == 100.0
    assert scores["all"]["exact_match"] == 100.0
    assert scores["all"]["gold"] > 50
    assert scores["discontinuous"]["gold"] >= 10
    parser = Parser.from_pretrained(folder / "run" / "model")
    gold = load_splits(resolve(parser.config.data))["dev"].trees
    assert max(tree.gap_degree for tree in gold) == 2
    assert len(gold) == 20
    parsed = parser._parse_tokens([[token._replace(tag="--", morph="--", function="--") for token in tree.tokens]
                           for tree in gold], ids=[tree.id for tree in gold])  # fmt: skip
    assert evaluate(gold, parsed).f1 == 100.0
    for found, tree in zip(parsed, gold, strict=True):
        assert found == tree  # all of it: tags, morphology and functions, too


def test_the_trees_by_heart_have_everything():
    nodes = [node for tree in TREES for node in tree.nodes() if node is not tree.root]
    assert any(len(node.children) == 1 and isinstance(node.children[0], int) for node in nodes)
    assert any(len(node.children) == 1 and not isinstance(node.children[0], int) for node in nodes)
    assert sum(tree.is_discontinuous for tree in TREES) >= 10
    assert len({node.function for node in nodes}) > 8


def test_building_twice_gives_the_same_vocabulary_and_batches():
    one, other = (build(Config(network=CALM), {"train": split_of(TREES)}) for _ in range(2))
    assert one.vocab.to_json() == other.vocab.to_json()
    batches = [[batch.tolist() for batch in by_length(corpus_for(p).lengths, 30)] for p in (one, other)]
    assert batches[0] == batches[1]
