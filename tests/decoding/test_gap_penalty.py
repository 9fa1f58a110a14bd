"""The second look at gaps against a dumb one, which tries every step on whole trees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scores import KINDS, bilinear_labeler, random_scores

from discotree.decoding import gap_penalty as module
from discotree.decoding.decode import METHODS, acyclic, decode
from discotree.decoding.gap_penalty import GapPenalties, has_gap
from discotree.encoding.dependencies import Dependencies, to_tree
from discotree.network.scores import finite, legal_arcs
from discotree.trees.tree import Token

LABELS = ["A#1", "B#1", "A#2", "B+C#2", "ROOT#3", "B#3"]
ROOT = "ROOT"
LEVELS = np.array([1, 1, 2, 2, 3, 3])
PENALTIES = {"A": 1.0, "B": 0.25, "C": 2.5}


def tree_of(heads, labels):
    """The tree that heads and labels mean, through the encoding's own way back."""
    tokens = tuple(Token(f"w{k}") for k in range(len(heads)))
    return to_tree(Dependencies(tokens, tuple(heads), tuple(LABELS[k] for k in labels), root=ROOT))


def naive_penalty(heads, labels, prices=PENALTIES) -> float:
    """The prices of all discontinuous nodes of the tree."""
    positions = [(node.label, sorted(node.positions)) for node in tree_of(heads, labels).nodes()]
    return sum(prices.get(label, 0.0) for label, words in positions if words[-1] - words[0] >= len(words))


def below(heads, word) -> set[int]:
    found = {word}
    while more := {k for k, head in enumerate(heads) if head in found} - found:
        found |= more
    return found


def phrase_label(heads, labels, head, level):
    """The label of the phrase in a place, or None: the most frequent phrases, then the leftmost dependent's."""
    members = [labels[k] for k, h in enumerate(heads) if h == head and LEVELS[labels[k]] == level]
    names = [LABELS[label].split("#")[0].replace("ROOT", "") for label in members]
    return members[max(range(len(names)), key=lambda k: (names.count(names[k]), -k))] if members else None


def options(arcs, rows, heads, labels, word):
    """(loss, word, head, level, label) of every other place for a word."""
    own = arcs[word, heads[word] + 1] + rows[word, heads[word] + 1, labels[word]]
    best = sorted(range(len(heads)), key=lambda head: (-arcs[word, head + 1], head))[: module.MAX_HEADS]
    found = []
    for head in sorted({*best, heads[word]} - below(heads, word)):
        for level in sorted(set(LEVELS.tolist())):
            if (head, level) == (heads[word], LEVELS[labels[word]]):
                continue
            label = phrase_label(heads, labels, head, level)
            if label is None:
                label = max(np.flatnonzero(level == LEVELS).tolist(), key=lambda k: rows[word, head + 1, k])
            found.append((own - arcs[word, head + 1] - rows[word, head + 1, label], word, head, level, label))
    return sorted(found)


def phrases(heads, labels):
    """(head, level, words) of every phrase, also of those whose label dissolves."""
    for head in range(len(heads)):
        levels = sorted({int(LEVELS[labels[k]]) for k, h in enumerate(heads) if h == head})
        for level in levels:
            members = [k for k, h in enumerate(heads) if h == head and LEVELS[labels[k]] <= level]
            yield head, level, {head}.union(*(below(heads, k) for k in members))


def fills(arcs, rows, heads, labels):
    """The steps in which several words fill the gaps of a phrase that has a price."""
    for head, level, words in phrases(heads, labels):
        label = phrase_label(heads, labels, head, level)
        gaps = set(range(min(words), max(words))) - words
        holders = [k for k in sorted(gaps) if heads[k] not in gaps]
        price = sum(PENALTIES.get(name, 0.0) for name in LABELS[label].split("#")[0].split("+"))
        whole = all(heads[k] >= 0 and below(heads, k) <= gaps for k in holders)
        if len(holders) < 2 or not whole or not price:
            continue
        inside = [
            [o for o in options(arcs, rows, heads, labels, k) if o[2] in words and (o[2] != head or o[3] <= level)]
            for k in holders
        ]
        if all(inside):
            yield [places[0] for places in inside]


def dumb_climb(arcs, rows, heads, labels):
    """Try every step on the whole tree, take the best, and again."""
    heads, labels = list(heads), list(labels)
    while True:
        paid = naive_penalty(heads, labels)
        if not paid:
            return heads, labels
        words = [k for k in range(len(heads)) if heads[k] >= 0]
        steps = sorted([option] for word in words for option in options(arcs, rows, heads, labels, word))
        best, most = None, module.MIN_GAIN
        for step in [*steps, *fills(arcs, rows, heads, labels)]:
            after = list(heads), list(labels)
            for _, word, head, _, label in step:
                after[0][word], after[1][word] = head, label
            saved = paid - naive_penalty(*after)
            gain = saved - sum(option[0] for option in step)
            if saved > module.MIN_GAIN and gain > most:
                best, most = after, gain
        if best is None:
            return heads, labels
        heads, labels = best


def tables(scores):
    """Finite log-probabilities of arcs (n, n+1) and of their labels (n, n+1, L)."""
    n = int(scores.lengths[0])
    columns = [finite(scores.labels_of(np.full((1, n), column)))[0] for column in range(n + 1)]
    return legal_arcs(scores)[0], np.stack(columns, 1)


def penalties_of(prices=PENALTIES) -> GapPenalties:
    return GapPenalties.for_labels(LABELS, ROOT, prices)


def random_trees(rng, n):
    order = rng.permutation(n)
    heads = [-1] * n
    for place, word in enumerate(order[1:].tolist(), 1):
        heads[word] = int(order[rng.integers(0, place)])
    return heads, rng.integers(0, len(LABELS), n).tolist()


@given(st.integers(3, 6), st.integers(0, 2**32 - 1), st.sampled_from(["plain", "peaked"]))
def test_the_second_look_takes_the_best_step_of_all(n, seed, kind):
    scores = random_scores([n], seed, kind, labels=len(LABELS))
    first = decode(scores, levels=LEVELS)
    found = decode(scores, levels=LEVELS, penalties=penalties_of())
    expected = dumb_climb(*tables(scores), first.heads[0].tolist(), first.labels[0].tolist())
    assert (found.heads[0].tolist(), found.labels[0].tolist()) == expected


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_prices_of_phrases_are_those_of_the_tree(n, seed):
    heads, labels = random_trees(np.random.default_rng(seed), n)
    assert penalties_of().total(heads, labels) == pytest.approx(naive_penalty(heads, labels))


@pytest.mark.parametrize("words", [0b1, 0b110, 0b101, 0b11011, 0b111000])
def test_a_gap_lies_between_words(words):
    assert has_gap(words) == ("0" in f"{words:b}".strip("0"))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("consistent", [True, False])
def test_a_second_look_never_lowers_the_value(method, consistent):
    scores = random_scores([12, 3, 1, 20] * 5, labels=len(LABELS), kind="peaked")
    levels = LEVELS if consistent else None
    first, found = (
        decode(scores, method, levels=levels),
        decode(scores, method, levels=levels, penalties=penalties_of()),
    )
    changed = 0
    for b, n in enumerate(scores.lengths.tolist()):
        before = naive_penalty(first.heads[b, :n], first.labels[b, :n])
        after = naive_penalty(found.heads[b, :n], found.labels[b, :n])
        assert found.log_probability[b] - after >= first.log_probability[b] - before - 1e-9
        changed += after < before
    assert changed > 3


def test_without_prices_nothing_changes():
    scores = random_scores([12, 3, 20], labels=len(LABELS))
    first = decode(scores, levels=LEVELS)
    for prices in ({}, {"A": 0.0}, {"unheard-of": 50.0}):
        found = decode(scores, levels=LEVELS, penalties=penalties_of(prices))
        assert np.array_equal(found.heads, first.heads)
        assert np.array_equal(found.labels, first.labels)
        assert np.array_equal(found.log_probability, first.log_probability)


@pytest.mark.parametrize("knows_labels", [pytest.param(False, marks=pytest.mark.slow), True])
@given(st.lists(st.integers(1, 15), min_size=4, max_size=8), st.integers(0, 2**32 - 1), st.sampled_from(KINDS[:2]))
def test_company_makes_no_difference_to_a_second_look(knows_labels, lengths, seed, kind):
    scores = random_scores(lengths, seed, kind, labels=len(LABELS))
    best, names = scores.top_labels(1)
    known = (best[..., 0], names[..., 0]) if knows_labels else None
    together = decode(replace(scores, best=known), levels=LEVELS, penalties=penalties_of())
    for b, n in enumerate(lengths):
        part = slice(b, b + 1)
        single = replace(
            scores,
            lengths=scores.lengths[part],
            arcs=scores.arcs[part, :n, : n + 1],
            dependents=scores.dependents[part, :n],
            heads=scores.heads[part, : n + 1],
        )
        alone = decode(single, levels=LEVELS, penalties=penalties_of())
        assert np.array_equal(alone.heads[0], together.heads[b, :n])
        assert np.array_equal(alone.labels[0], together.labels[b, :n])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [None, np.nan, -np.inf, np.inf, 1e38])
@pytest.mark.parametrize("part", ["arcs", "heads", "bilinear"])
def test_hostile_scores_get_a_tree_after_a_second_look(kind, value, part):
    scores = random_scores([5, 1, 9], kind=kind, labels=len(LABELS))
    if value is not None and part == "bilinear":
        scores = replace(scores, labeler=bilinear_labeler(np.full((len(LABELS), 2, 2), value, np.float32)))
    elif value is not None:
        getattr(scores, part)[:, ::2] = value
    high = penalties_of(dict.fromkeys("ABC", 100.0))
    found = decode(scores, levels=LEVELS, penalties=high)
    assert acyclic(found.heads + 1).all()
    assert ((found.heads == -1) & scores.mask).sum(1).tolist() == [1, 1, 1]
    assert not np.isnan(found.log_probability).any()
    possible = decode(scores, levels=LEVELS).log_probability > -np.inf
    assert (found.log_probability[possible] > -np.inf).all()  # no price makes up for an impossible arc


def test_a_network_that_knows_nothing_is_not_searched_for_ever(monkeypatch):
    scores = random_scores([80], kind="ties", labels=len(LABELS))
    scores.arcs[:] *= 1e-6
    tried = []
    saved = module._Climb._saved
    monkeypatch.setattr(module._Climb, "_saved", lambda *given: tried.append(1) or saved(*given))
    decode(scores, levels=LEVELS, penalties=penalties_of())
    assert 0 < len(tried) <= module.MAX_TRIES
