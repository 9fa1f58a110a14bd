"""Every decoder against a dumb one: all labelled trees of short sentences, a beam of Python lists, a vote by hand."""

import heapq
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scores import KINDS, bilinear_labeler, random_scores

from discotree.decoding import decode as module
from discotree.decoding.decode import METHODS, acyclic, agree, decode
from discotree.decoding.k_best import k_best
from discotree.errors import ConfigError
from discotree.network.scores import ArcWeights, Scores


def alone(scores: Scores, b: int) -> Scores:
    """One sentence of a batch as a batch of its own."""
    n = int(scores.lengths[b])
    return Scores(
        scores.lengths[b : b + 1],
        scores.arcs[b : b + 1, :n, : n + 1],
        scores.dependents[b : b + 1, :n],
        scores.heads[b : b + 1, : n + 1],
        scores.labeler,
        {},
    )


def tables(scores: Scores, b: int = 0):
    """Log-probabilities of a sentence's arcs (n, n+1) and their labels (n, n+1, L); what is none is -inf."""
    n = int(scores.lengths[b])
    arcs = scores.arcs[b, :n, : n + 1].astype(float)
    columns = [scores.labels_of(np.full(scores.arcs.shape[:2], column))[b, :n] for column in range(n + 1)]
    labels = np.stack(columns, 1).astype(float)
    return np.where(np.isnan(arcs), -np.inf, arcs), np.where(np.isnan(labels), -np.inf, labels)


@lru_cache
def all_trees(n: int) -> np.ndarray:
    """(trees, n): the heads, as columns, of all trees, however many words hang on the root."""

    def leads_to_root(heads, head) -> bool:
        for _ in heads:
            head = heads[head - 1] if head else 0
        return head == 0

    candidates = product(range(n + 1), repeat=n)
    return np.array([heads for heads in candidates if all(leads_to_root(heads, head) for head in heads)])


def trees_with_one_root_child(n: int) -> np.ndarray:
    trees = all_trees(n)
    return trees[(trees == 0).sum(1) == 1]


def dumb_beam(arcs, labels, width) -> list[int]:
    """The paper's search, word by word and candidate by candidate."""
    hypotheses: list[tuple[float, list[int]]] = [(0.0, [])]
    for word in range(len(arcs)):
        candidates = []
        for rank, (score, heads) in enumerate(hypotheses):
            for head in range(len(arcs) + 1):
                up = head
                while 0 < up <= word:  # words that have a head already
                    up = heads[up - 1]
                if up != word + 1:
                    candidates.append((-(score + arcs[word, head]), rank, head))
        kept = heapq.nsmallest(width, candidates)
        hypotheses = [
            (-negative + labels[word, head].max(), [*hypotheses[rank][1], head]) for negative, rank, head in kept
        ]
    return hypotheses[0][1]


cases = given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
short_cases = given(st.integers(1, 4), st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
decent_cases = given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from(KINDS[:3]))


def test_there_are_as_many_trees_as_cayley_counted() -> None:
    assert [len(all_trees(n)) for n in range(1, 7)] == [(n + 1) ** (n - 1) for n in range(1, 7)]


@cases
def test_exact_finds_the_best_of_all_trees(n, seed, kind) -> None:
    scores = random_scores([n], seed, kind)
    arcs, labels = tables(scores)
    weights = arcs + labels.max(2)
    trees = trees_with_one_root_child(n)
    totals = weights[np.arange(n), trees].sum(1)
    decoded = decode(scores)
    assert decoded.log_probability[0] == pytest.approx(totals.max(), abs=1e-5)
    heads = decoded.heads[0] + 1
    assert heads.tolist() in trees.tolist()
    impossible = np.isinf(weights[np.arange(n), trees]).sum(1)
    assert np.isinf(weights[np.arange(n), heads]).sum() == impossible.min()


def with_all_labels(scores: Scores) -> Scores:
    """The same scores from an engine that scores the labels of all arcs."""
    best, which = scores.top_labels(1)

    def refuse(*_) -> None:
        raise AssertionError("labels were scored again")

    return replace(scores, best=(best[..., 0], which[..., 0]), labeler=refuse)


def nearly_tied(lengths, seed: int) -> Scores:
    """Arcs that differ less than labels do, so that labels decide nearly everywhere."""
    scores = random_scores(lengths, seed, features=3)
    scores.arcs[:] *= np.random.default_rng(seed).choice([1e-6, 1e-2, 0.1])
    return scores


@given(
    st.lists(st.integers(1, 25), min_size=1, max_size=6), st.integers(0, 2**32 - 1), st.sampled_from([*KINDS, "near"])
)
def test_labels_that_were_not_scored_would_have_changed_nothing(lengths, seed, kind) -> None:
    scores = nearly_tied(lengths, seed) if kind == "near" else random_scores(lengths, seed, kind)
    pruned, full = decode(scores), decode(with_all_labels(scores))
    assert pruned.log_probability == pytest.approx(full.log_probability, abs=1e-5)
    if kind in ("plain", "peaked"):
        mask = scores.mask
        assert np.array_equal(pruned.heads, full.heads)
        assert np.array_equal(pruned.labels[mask], full.labels[mask])
        assert np.allclose(pruned.arc_probability[mask], full.arc_probability[mask], rtol=1e-5)
        assert np.allclose(pruned.label_probability[mask], full.label_probability[mask], rtol=1e-4)


def test_few_labels_are_scored_in_few_calls() -> None:
    scores = random_scores([9, 30, 20] * 20, kind="peaked")
    asked = []

    def labeler(dependents, heads):
        asked.append(len(dependents))
        return scores.labeler(dependents, heads)

    words = int(scores.lengths.sum())
    decode(replace(scores, labeler=labeler), "greedy")
    assert asked == [words]
    asked.clear()
    decode(replace(scores, labeler=labeler), levels=np.array([1, 1, 2]))
    assert sum(asked) < 3 * words  # of about 23 arcs a word
    assert len(asked) <= module.MAX_SEARCHES + 3


def test_a_sentence_of_guesses_is_soon_scored_as_a_whole() -> None:
    """Every label is impossible, so every guess was wrong."""
    scores = random_scores([60])
    scores.heads[:] = np.nan
    asked = []

    def labeler(dependents, heads):
        asked.append(len(dependents))
        return scores.labeler(dependents, heads)

    decoded = decode(replace(scores, labeler=labeler))
    assert len(asked) <= module.MAX_SEARCHES + 3
    assert decoded.log_probability == [-np.inf]
    assert np.array_equal(decoded.heads, decode(with_all_labels(scores)).heads)


@cases
def test_probabilities_are_those_of_what_was_chosen(n, seed, kind) -> None:
    scores = random_scores([n], seed, kind)
    arcs, labels = tables(scores)
    for method in METHODS:
        decoded = decode(scores, method)
        chosen = np.arange(n), decoded.heads[0] + 1
        assert decoded.arc_probability[0] == pytest.approx(np.exp(arcs[chosen]))
        assert decoded.label_probability[0] == pytest.approx(np.exp(labels[chosen].max(1)), abs=1e-5)
        best = labels[(*chosen, decoded.labels[0])]
        assert best == pytest.approx(labels[chosen].max(1), abs=1e-5)
        assert decoded.log_probability[0] == pytest.approx((arcs[chosen] + best).sum(), abs=1e-4)


@decent_cases
def test_a_beam_that_keeps_everything_misses_only_the_last_label(n, seed, kind) -> None:
    """Its tree is the best of all, whatever hangs on the root, if the last word's label does not count."""
    scores = random_scores([n], seed, kind)
    arcs, labels = tables(scores)
    weights = arcs + labels.max(2)
    weights[-1] = arcs[-1]
    found = weights[np.arange(n), decode(scores, "beam", beam=10**6).heads[0] + 1].sum()
    assert found == pytest.approx(weights[np.arange(n), all_trees(n)].sum(1).max(), abs=1e-5)


@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from(KINDS[:3]), st.integers(1, 12))
def test_beam_is_the_search_of_the_paper(n, seed, kind, width) -> None:
    scores = random_scores([n], seed, kind)
    assert (decode(scores, "beam", width).heads[0] + 1).tolist() == dumb_beam(*tables(scores), width)


def test_a_bad_beginning_costs_the_end_no_digits() -> None:
    scores = random_scores([3])
    scores.arcs[0] = np.array([[-900, -900, -800, -900], [-900, -800, -900, -900], [-3e-20, -1e-20, -2e-20, -9]])
    assert decode(scores, "greedy").heads.tolist() == [[1, -1, 0]]


@given(st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
def test_greedy_is_a_beam_of_one_in_which_only_arcs_count(n, seed, kind) -> None:
    scores = random_scores([n], seed, kind)
    arcs, labels = tables(scores)
    greedy = decode(scores, "greedy").heads
    assert np.array_equal(greedy, decode(scores, "beam", 1).heads)
    assert (greedy[0] + 1).tolist() == dumb_beam(np.maximum(arcs, -1e9), np.zeros_like(labels), 1)


def test_no_other_decoder_beats_exact_at_its_own_game() -> None:
    scores = random_scores([12] * 300, features=3)
    best = decode(scores).log_probability
    compared = 0
    for method in ("greedy", "beam"):
        decoded = decode(scores, method)
        single = (decoded.heads == -1).sum(1) == 1
        compared += single.sum()
        assert (decoded.log_probability <= best + 1e-9)[single].all()
    assert compared > 100


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_company_makes_no_difference(method, kind) -> None:
    lengths = np.random.default_rng(5).integers(1, 15, 1000).tolist()
    scores = random_scores(lengths, 1, kind)
    levels = np.array([1, 1, 2])
    together = decode(scores, method, levels=levels)
    for b, n in list(enumerate(lengths))[::40]:
        single = decode(alone(scores, b), method, levels=levels)
        assert np.array_equal(single.heads[0], together.heads[b, :n])
        assert np.array_equal(single.labels[0], together.labels[b, :n])
        assert np.allclose(single.label_probability[0], together.label_probability[b, :n], atol=1e-5)
        assert np.allclose(single.log_probability[0], together.log_probability[b], atol=1e-4)
        assert (together.heads[b, n:] == -1).all()


def test_exact_search_is_skipped_where_the_best_heads_are_trees(monkeypatch) -> None:
    scores = random_scores([9, 30, 20] * 100, kind="peaked")
    words = np.arange(30)
    scores.arcs[:, 0, 0] += 100  # the first word hangs on the root, all others on it
    scores.arcs[:, 1:, 1] += 100
    scores.arcs[:, words, words + 1] += 500  # nor do the words' own columns count, nor what is beyond a sentence
    scores.arcs[:, :, 0] += np.where(scores.mask, 0.0, 500.0)
    wanted = decode(scores)
    assert all(
        heads[:n].tolist() == [-1] + [0] * (n - 1) for heads, n in zip(wanted.heads, scores.lengths, strict=True)
    )

    def refuse(*_) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(module, "arborescence", refuse)
    assert np.array_equal(decode(scores).heads, wanted.heads)
    scores.arcs[7, 1, 3] = scores.arcs[7, 2, 2] = 200.0  # now two words of one sentence take each other
    with pytest.raises(AssertionError, match="searched"):
        decode(scores)


def test_acyclic_follows_heads_to_the_root() -> None:
    heads = np.random.default_rng(0).integers(0, 7, (2000, 6))
    trees = {tuple(tree) for tree in all_trees(6).tolist()}
    assert acyclic(heads).tolist() == [tuple(row) in trees for row in heads.tolist()]
    chain = np.arange(4096)[None]  # the longest way up that there is
    assert acyclic(chain).all()
    chain[0, 0] = 4096
    assert not acyclic(chain).any()


@short_cases
def test_k_best_are_the_first_of_all_labelled_trees(n, seed, kind) -> None:
    scores = random_scores([n], seed, kind)
    arcs, labels = tables(scores)
    weights = (arcs[:, :, None] + labels).reshape(n, -1)  # (n, arcs with labels)
    totals = np.concatenate(
        [
            weights[np.arange(n), tree * 3 + np.array(list(product(range(3), repeat=n)))].sum(1)
            for tree in trees_with_one_root_child(n)
        ]
    )
    possible = np.sort(totals[totals > -np.inf])[::-1]
    for k in (1, 2, 7, 50):
        found = k_best(scores, k)
        assert len({(*tree.heads[0].tolist(), *tree.labels[0].tolist()) for tree in found}) == len(found)
        assert all((tree.heads[0] + 1).tolist() in trees_with_one_root_child(n).tolist() for tree in found)
        values = [weights[np.arange(n), (tree.heads[0] + 1) * 3 + tree.labels[0]].sum() for tree in found]
        assert [tree.log_probability[0] for tree in found] == pytest.approx(values, abs=1e-5)
        assert values == pytest.approx(possible[:k] if len(possible) else [-np.inf], abs=1e-5)


def test_a_label_that_is_impossible_makes_its_arc_impossible() -> None:
    scores = random_scores([1], labels=2)
    scores.arcs[:] = 5.0  # scores that nobody normalised
    scores.heads[:] = np.nan
    (found,) = k_best(scores, 3)
    assert found.log_probability[0] == -np.inf


@pytest.mark.parametrize("n", [7, 1, 20, 12])
def test_the_first_of_the_k_best_is_the_exact_one(n) -> None:
    scores = random_scores([n], kind="peaked")
    decoded, found = decode(scores), k_best(scores, 5)
    assert np.array_equal(found[0].heads, decoded.heads)
    assert np.array_equal(found[0].labels, decoded.labels)
    assert len(found) == (5 if n > 1 else 3)


def test_k_best_of_one_word_with_one_label() -> None:
    (found,) = k_best(random_scores([1], labels=1), 10)
    assert (found.heads.tolist(), found.labels.tolist()) == ([[-1]], [[0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, 0.0, -1e38, 1e38])
@pytest.mark.parametrize("part", ["arcs", "dependents", "heads", "bilinear"])
def test_there_is_a_tree_whatever_the_scores(method, value, part) -> None:
    scores = random_scores([5, 1, 9])
    if part == "bilinear":
        scores = replace(scores, labeler=bilinear_labeler(np.full((3, 2, 2), value, np.float32)))
    else:
        getattr(scores, part)[:] = value
    decoded = decode(scores, method, levels=np.array([1, 2, 2]))
    assert acyclic(decoded.heads + 1).all()
    assert ((decoded.labels >= 0) & (decoded.labels < 3)).all()
    assert not any(np.isnan(x).any() for x in (decoded.arc_probability, decoded.log_probability))
    if method == "exact":
        assert ((decoded.heads == -1) & scores.mask).sum(1).tolist() == [1, 1, 1]
    assert all(k_best(alone(scores, b), 3) for b in range(3))


def test_an_impossible_arc_is_avoided_at_any_price() -> None:
    scores = random_scores([3], labels=1)
    scores.arcs[:] = -30.0
    scores.arcs[0, :, 0] = -1.0
    scores.arcs[0, 1] = -np.inf
    scores.arcs[0, 1, 1] = -5000.0
    assert decode(scores).heads.tolist() == [[-1, 0, 0]]
    assert decode(scores).log_probability == pytest.approx([-5031.0])


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_long_sentences(method) -> None:
    n = 2000 if method == "exact" else 500
    scores = random_scores([n], labels=2)
    words = np.arange(n)
    scores.arcs[0, words, (words ^ 1) + 1] += 20  # neighbours want each other
    decoded = decode(scores, method)
    assert acyclic(decoded.heads + 1).all()


@pytest.mark.parametrize("method", METHODS)
def test_the_same_again(method) -> None:
    scores = random_scores([10, 25, 17], kind="ties")
    before = scores.arcs.copy()
    first, second = decode(scores, method), decode(scores, method)
    assert np.array_equal(scores.arcs, before)
    for name in ("heads", "labels", "arc_probability", "label_probability", "log_probability"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    one = alone(scores, 1)
    assert [tree.heads.tolist() for tree in k_best(one, 4)] == [tree.heads.tolist() for tree in k_best(one, 4)]


def test_what_cannot_be_asked_for() -> None:
    with pytest.raises(ConfigError, match="unknown decoding method 'viterbi', expected one of greedy, beam, exact"):
        decode(random_scores([2]), "viterbi")
    with pytest.raises(ConfigError, match="beam: expected at least 1, got 0"):
        decode(random_scores([2]), "beam", 0)


def dumb_agree(scores, heads, labels, levels) -> np.ndarray:
    agreed = labels.copy()
    for b, n in enumerate(scores.lengths.tolist()):
        _, log_probabilities = tables(scores, b)
        phrases = defaultdict(list)
        for word in range(n):
            if heads[b, word] >= 0:
                phrases[heads[b, word], levels[labels[b, word]]].append(word)
        for (head, level), words in phrases.items():
            votes = log_probabilities[words, head + 1].sum(0)
            agreed[b, words] = max((label for label, at in enumerate(levels) if at == level), key=votes.__getitem__)
    return agreed


@given(st.lists(st.integers(1, 12), min_size=1, max_size=4), st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_agree_is_a_vote_in_every_phrase(lengths, seed, count) -> None:
    scores = random_scores(lengths, seed, labels=count)
    levels = np.random.default_rng(seed).integers(1, 4, count)
    decoded = decode(scores)
    wanted = dumb_agree(scores, decoded.heads, decoded.labels, levels.tolist())
    agreed = agree(ArcWeights(scores), decoded.heads, decoded.labels, levels)
    assert np.array_equal(agreed, wanted)


def test_agreed_labels_come_with_their_probabilities() -> None:
    scores = random_scores([12] * 20, labels=6)
    free, agreed = decode(scores), decode(scores, levels=np.array([1, 1, 1, 2, 2, 2]))
    assert np.array_equal(free.heads, agreed.heads)
    assert 10 < (free.labels != agreed.labels).sum() < 200
    given_heads = scores.labels_of(agreed.heads + 1).astype(float)
    wanted = np.take_along_axis(given_heads, agreed.labels[..., None], 2)[..., 0]
    assert np.log(agreed.label_probability) == pytest.approx(wanted, abs=1e-5)
    assert agreed.log_probability == pytest.approx((np.log(agreed.arc_probability) + wanted).sum(1), abs=1e-4)


def test_labels_on_the_dummy_root_are_left_alone() -> None:
    scores = random_scores([3], labels=2)
    heads, labels = np.full((1, 3), -1), np.array([[0, 1, 0]])
    assert agree(ArcWeights(scores), heads, labels, np.array([1, 1])).tolist() == [[0, 1, 0]]
