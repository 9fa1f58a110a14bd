"""The tree_builder makes the trees of the slow and obvious way, whatever was decided."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.assembly import Prediction, assembled, built
from support.scores import random_scores

from discotree.decoding.decode import decode
from discotree.decoding.k_best import k_best
from discotree.decoding.trees import TreeBuilder
from discotree.network.scores import Auxiliary
from discotree.network.vocab import Alphabet, Vocab
from discotree.text import convention
from discotree.trees.tree import NONE, Token

LABELS = ["A#1", "B#1", "A#2", "B+C#1", "ROOT#1", "ROOT+A#2", "ROOT#2", "A", "ROOT", "#3", "A#9"]
UNARIES = ["", "X", "X+Y", "ROOT", "Y+ROOT"]
USUAL = {"A T": "a-t", "B U": "b-u", "A B": "a-b", "A A": "a-a", "ROOT A": "root-a", "X T": "x-t", "C X": "c-x"}
HEADS = {"tag": ["T", "U"], "morph": ["m", "n"], "function": ["f", "g", NONE], "unary": UNARIES}


def vocab_of(heads):
    return Vocab(
        words=Alphabet([], 1),
        singletons=frozenset(),
        chars=Alphabet([], 2),
        tags=Alphabet([], 1),
        labels=Alphabet(LABELS),
        outputs={head: Alphabet(HEADS[head]) for head in heads},
        head_functions=USUAL,
        root="ROOT",
    )


@st.composite
def decisions(draw):
    """Any arcs that form a tree or several, with any labels, from a model with any auxiliary heads."""
    n = draw(st.integers(1, 9))
    order = draw(st.permutations(range(n)))
    heads = [-1] * n
    for place, word in enumerate(order):
        heads[word] = draw(st.sampled_from([-1, *order[:place]])) if place else -1
    auxiliary = draw(st.lists(st.sampled_from(sorted(HEADS)), unique=True))
    probabilities = st.lists(st.floats(0.01, 1), min_size=n, max_size=n)

    def of(count):
        return draw(st.lists(st.integers(0, count - 1), min_size=n, max_size=n))

    classes = {head: of(len(HEADS[head])) for head in auxiliary}
    unaries = draw(probabilities) if "unary" in auxiliary else [1.0] * n
    return Prediction(heads, of(len(LABELS)), draw(probabilities), classes, unaries)


@given(decisions())
def test_one_walk_makes_the_same_tree_as_all_the_steps(decided):
    vocab = vocab_of(decided.auxiliary)
    words = [Token(f"w{k}", "T" if k % 2 else "U", "lemma", "morph", "function") for k in range(len(decided.heads))]
    found, expected = built(TreeBuilder(vocab), words, decided, "7"), assembled(words, decided, vocab, "7")
    assert found == expected
    assert found.confidence == pytest.approx(expected.confidence)
    assert all(abs(a - b) < 1e-9 for a, b in zip(found.confidences, expected.confidences, strict=True))


@given(decisions())
def test_a_tree_without_nodes_has_the_same_texts_as_one_with_nodes(decided):
    vocab = vocab_of(decided.auxiliary)
    words = [Token(f"w({k}", "T") for k in range(len(decided.heads))]
    expected = assembled(words, decided, vocab)
    tree = built(TreeBuilder(vocab), words, decided)
    assert (str(tree), tree.parents()) == (str(expected), expected.parents())
    assert tree._outline is not None
    assert pickle.loads(pickle.dumps(tree)) == expected == tree
    assert tree._outline is None
    assert (str(tree), tree.parents()) == (str(expected), expected.parents())
    with pytest.raises(AttributeError, match="'Tree' object has no attribute 'roots'"):
        _ = tree.roots


def with_auxiliary(scores):
    """The same scores with an auxiliary head for tags and one for unaries."""
    classes = np.arange(scores.mask.size).reshape(scores.mask.shape) % 2
    tag, unary = Auxiliary(classes, np.log(0.5 + classes / 4)), Auxiliary(1 - classes, np.log(0.9 - classes / 4))
    return replace(scores, auxiliary={"tag": tag, "unary": unary})


def test_every_sentence_gets_its_own_decisions():
    scores = with_auxiliary(random_scores([3, 1, 2], labels=len(LABELS)))
    decoded = decode(scores)
    vocab = vocab_of(["tag", "unary"])
    words = [[Token(f"w{k}") for k in range(n)] for n in (3, 1, 2)]
    found = TreeBuilder(vocab).trees(words, decoded, scores, ["a", "b", "c"])
    predictions = Prediction.for_batch(decoded, scores)
    expected = list(map(assembled, words, predictions, [vocab] * 3, "abc"))
    assert found == expected
    assert [tree.confidence for tree in found] == pytest.approx([tree.confidence for tree in expected])
    assert found[2].heads == tuple(decoded.heads[2, :2].tolist())


def test_candidates_are_decisions_with_probabilities_of_their_own():
    calls = []

    def labeler(dependents, heads):
        calls.append(len(dependents))
        return plain.labeler(dependents, heads)

    plain = with_auxiliary(random_scores([7], seed=2))
    decoded = k_best(replace(plain, labeler=labeler), 6)
    assert len(calls) == 2
    found = [next(Prediction.for_batch(one, plain)) for one in decoded]
    best = next(Prediction.for_batch(decode(plain), plain))
    assert (found[0].heads, found[0].labels, found[0].auxiliary) == (best.heads, best.labels, best.auxiliary)
    assert found[0].arc_probabilities == pytest.approx(best.arc_probabilities)
    for candidate, decided in zip(decoded, found, strict=True):
        assert np.log(decided.arc_probabilities).sum() == pytest.approx(candidate.log_probability[0], abs=1e-5)


def test_what_is_no_word_gets_the_tag_of_its_language():
    """Whatever the network says, if it knows that tag; and no morphology, which would be that of another tag."""
    rules = replace(convention("nl"), picture_tag="U", address_tag="unknown")
    words = [Token(form) for form in ("Hoi", "😀", "www.voorbeeld.nl", "😀")]
    decided = Prediction([-1, 0, 0, 0], [0] * 4, [1.0] * 4, {"tag": [0, 0, 0, 1], "morph": [0] * 4}, [1.0] * 4)
    vocab = vocab_of(decided.auxiliary)
    tree = built(TreeBuilder(vocab, convention=rules), words, decided)
    assert [(token.tag, token.morph) for token in tree.tokens] == [("T", "m"), ("U", None), ("T", "m"), ("U", "m")]
    assert [token.tag for token in built(TreeBuilder(vocab), words, decided).tokens] == ["T", "T", "T", "U"]
    kept = built(TreeBuilder(vocab, keeps_tags=True, convention=rules), words, decided)
    assert [token.tag for token in kept.tokens] == [NONE] * 4
    bare = replace(decided, auxiliary={})
    assert built(TreeBuilder(vocab_of({}), convention=rules), words, bare).tokens == tuple(words)
