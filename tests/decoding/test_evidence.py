"""ConfidenceFeatures is what its definition says, and nothing breaks it."""

import copy
import math
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest
from support.calibrations import CALIBRATION
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
    TreeBuilder,
    arc_probabilities,
    confidence_features,
    counted_words,
)

PARSER = parser_of()
WORDS = [[Token(token.form) for token in tree.tokens] for tree in TREES]


def parsed():
    ((numbers, scores),) = PARSER._scores(PARSER._corpus(WORDS), 10_000)
    decoded = PARSER._decode(scores)
    trees = PARSER._tree_builder.trees([WORDS[number] for number in numbers], decoded, scores)
    return trees, decoded, scores


def log(probability):
    return math.log(min(max(probability, LEAST), 1.0))


def by_definition(tree, row, decoded, scores):
    """Word by word, of every node but the root: closed, held, head, and whether there is a gap."""
    arcs = arc_probabilities(scores)[row]
    heads = decoded.heads[row, : len(tree)].tolist()
    counted = [k for k, is_counted in enumerate(counted_words([tree])) if is_counted]
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
    trees = PARSER._tree_builder.trees(words, decoded, scores)
    values = confidence_features(trees, decoded, scores, PARSER._levels).values
    assert np.isfinite(values).all()
    assert (values[:, : len(LOGARITHMS)] <= 0).all()


def rated_trees():
    """Trees whose confidences have not been asked for, and the confidences by definition."""
    ((numbers, scores),) = PARSER._scores(PARSER._corpus(WORDS), 10_000)
    decoded = PARSER._decode(scores)
    builder = TreeBuilder(PARSER.vocab, calibration=CALIBRATION)
    trees = builder.trees([WORDS[number] for number in numbers], decoded, scores)
    features = confidence_features(trees, decoded, scores, PARSER._levels)
    of_nodes = CALIBRATION.constituents(features)
    parts = np.split(of_nodes, features.counts.cumsum()[:-1])
    return trees, CALIBRATION.trees(features, of_nodes).tolist(), [[1.0, *part] for part in parts]


@pytest.mark.parametrize("longest", [0, 1000])
def test_confidences_are_the_same_at_once_and_when_they_are_asked_for(monkeypatch, longest):
    monkeypatch.setattr(module, "MAX_KEPT", longest)
    trees, expected, of_nodes = rated_trees()
    assert all((tree._evidence is None) == (longest == 0) for tree in trees)
    assert [tree.confidence for tree in trees] == pytest.approx(expected, abs=1e-12)
    assert all(tree.confidences == pytest.approx(of, abs=1e-12) for tree, of in zip(trees, of_nodes, strict=True))
    assert all(tree._evidence is None for tree in trees)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree)), replace])
def test_a_copy_of_a_tree_has_its_confidences(copied):
    trees, expected, of_nodes = rated_trees()
    copies = [copied(tree) for tree in trees]
    assert copies == trees
    assert [tree.confidence for tree in copies] == pytest.approx(expected, abs=1e-12)
    assert all(tree.confidences == pytest.approx(of, abs=1e-12) for tree, of in zip(copies, of_nodes, strict=True))


def test_a_tree_does_not_keep_the_evidence_for_others():
    trees, expected, _ = rated_trees()
    last, references = trees[-1], [weakref.ref(tree._evidence[1]) for tree in trees]
    del trees
    assert [reference() is not None for reference in references] == [False] * (len(references) - 1) + [True]
    assert last.confidence == pytest.approx(expected[-1], abs=1e-12)
    assert references[-1]() is None


def test_two_threads_may_ask_for_confidences():
    trees, expected, _ = rated_trees()
    rate = trees[0]._evidence[0]  # a second thread has looked it up …
    assert trees[0].confidence == pytest.approx(expected[0], abs=1e-12)
    rate()  # … and calls it when the first one is done
    assert trees[0].confidence == pytest.approx(expected[0], abs=1e-12)
