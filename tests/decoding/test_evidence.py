"""ConfidenceFeatures is what its definition says, and nothing breaks it."""

import math

import numpy as np
import pytest
from support.networks import TREES, parser_of
from support.scores import KINDS, random_scores

from discotree import Token
from discotree.decoding import trees as module
from discotree.decoding.decode import decode
from discotree.decoding.trees import (
    LEAST,
    LOGARITHMS,
    NAMES,
    ConfidenceFeatures,
    Prediction,
    arc_probabilities,
    confidence_features,
    is_counted,
)

PARSER = parser_of()
WORDS = [[Token(token.form) for token in tree.tokens] for tree in TREES]


def parsed():
    ((numbers, scores),) = PARSER._scores(PARSER._corpus(WORDS), 10_000)
    decoded = PARSER._decode(scores)
    trees = [
        PARSER._tree_builder.tree(WORDS[number], decided)
        for number, decided in zip(numbers, Prediction.for_batch(decoded, scores), strict=True)
    ]
    return trees, decoded, scores


def log(probability):
    return math.log(min(max(probability, LEAST), 1.0))


def by_definition(tree, row, decoded, scores):
    """Word by word, of every node but the root: closed, held, head, and whether there is a gap."""
    arcs = arc_probabilities(scores)[row]
    heads = decoded.heads[row, : len(tree)].tolist()
    counted = [k for k, token in enumerate(tree.tokens) if is_counted(token)]
    for node in list(tree.nodes())[1:]:
        inside = node.positions
        head = next(word for word in inside if heads[word] not in inside)
        mass = [sum(arcs[word, other + 1] for other in inside) for word in range(len(tree))]
        higher = {word: arcs[word, head + 1] for word in counted if heads[word] == head}
        closed = [0.0, *(log(1 - mass[word] + higher.get(word, 0)) for word in set(counted) - set(inside))]
        held = [0.0, *(log(mass[word]) for word in set(inside) & set(counted) - {head})]
        kept = sorted(set(inside) & set(counted))
        gap = bool(kept) and any(kept[0] < word < kept[-1] for word in set(counted) - set(inside))
        yield min(closed), sum(closed), min(held), sum(held), log(1 - mass[head]), float(gap)


def test_it_is_what_the_definition_says():
    trees, decoded, scores = parsed()
    found = confidence_features(trees, decoded, scores, PARSER._levels)
    expected = [values for row, tree in enumerate(trees) for values in by_definition(tree, row, decoded, scores)]
    columns = [NAMES.index(name) for name in ("closed", "closed_all", "held", "held_all", "head", "gap")]
    assert found.values[:, columns] == pytest.approx(np.array(expected), abs=1e-9)
    assert found.labels == [node.label for tree in trees for node in list(tree.nodes())[1:]]
    assert found.counts.tolist() == [sum(1 for _ in tree.nodes()) - 1 for tree in trees]
    assert len(found.labels) > 50
    assert any(row[-1] for row in expected)


def test_many_constituents_are_looked_at_in_parts(monkeypatch):
    trees, decoded, scores = parsed()
    whole = confidence_features(trees, decoded, scores, PARSER._levels)
    monkeypatch.setattr(module, "MAX_CELLS", 40)
    assert confidence_features(trees, decoded, scores, PARSER._levels).values == pytest.approx(whole.values, abs=1e-12)


def test_parts_join():
    trees, decoded, scores = parsed()
    whole = confidence_features(trees, decoded, scores, PARSER._levels)
    twice = ConfidenceFeatures.concatenate([whole, whole])
    assert twice.tree.tolist() == [*whole.tree, *(whole.tree + len(trees))]
    assert (len(twice.labels), len(twice.counts)) == (2 * len(whole.labels), 2 * len(trees))


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_scores_give_numbers(kind):
    lengths = [3, 8, 1]
    scores = random_scores(lengths, 2, kind, labels=len(PARSER.vocab.labels))
    decoded = decode(scores)
    words = [[Token(f"w{k}") for k in range(n)] for n in lengths]
    trees = list(map(PARSER._tree_builder.tree, words, Prediction.for_batch(decoded, scores)))
    values = confidence_features(trees, decoded, scores, PARSER._levels).values
    assert np.isfinite(values).all()
    assert (values[:, : len(LOGARITHMS)] <= 0).all()
