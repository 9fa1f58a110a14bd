"""Decisions about words → trees: the last arrow, with tags, functions and the confidence of every node."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discotree.encoding.spines import DUMMY_ROOT, heads_first, spine_phrases
from discotree.network.arc_weights import ArcWeights, log_of
from discotree.network.calibration import ROOT_CONFIDENCE, Calibration
from discotree.network.decode import Decoded
from discotree.network.evidence import Evidence, evidence
from discotree.network.gap_prices import GapPrices
from discotree.network.k_best import Candidate
from discotree.network.scores import Scores
from discotree.network.vocab import Vocab
from discotree.text.conventions import Convention
from discotree.text.symbols import tag_of
from discotree.trees.labels import split_chain, split_level
from discotree.trees.tree import NONE, Node, Token, Tree

# A phrase on the spine of a word: its label, the dependents that join it, its confidence. The word itself, or the
# next lower phrase, is its head child.
Phrase = tuple[str, Sequence[int], float]

_new = tuple.__new__  # makes a Token from its fields without the detour through Python that a NamedTuple takes


@dataclass(frozen=True)
class Decisions:
    """What was decided about the words of one sentence."""

    heads: list[int]  # positions, -1 for the dummy root
    labels: list[int]
    arc_probabilities: list[float]  # probability of each word's arc with its label
    auxiliary: dict[str, list[int]]  # by auxiliary head: a class for every word
    unary_probabilities: list[float]  # probability of the class that the auxiliary head "unary" chose for each word

    @classmethod
    def of(cls, decoded: Decoded, scores: Scores) -> Iterator["Decisions"]:
        """Yield the decisions about every sentence of a batch."""
        classes = {head: found.classes.tolist() for head, found in scores.auxiliary.items()}
        unary = scores.auxiliary.get("unary")
        probabilities = None if unary is None else np.exp(unary.log_probability).tolist()
        heads, labels = decoded.heads.tolist(), decoded.labels.tolist()
        arcs = (decoded.arc_probability * decoded.label_probability).tolist()
        for row, n in enumerate(scores.lengths.tolist()):
            unaries = [1.0] * n if probabilities is None else probabilities[row][:n]
            yield cls(
                heads[row][:n],
                labels[row][:n],
                arcs[row][:n],
                {head: rows[row][:n] for head, rows in classes.items()},
                unaries,
            )


def decoded_candidates(candidates: Sequence[Candidate], scores: Scores) -> Iterator[Decoded]:
    """Yield each of the best trees of one sentence as decoded; ``scores`` are those of this sentence alone."""
    weights = ArcWeights(scores)
    word = np.arange(scores.lengths[0])
    wanted = np.zeros(scores.arcs.shape, bool)
    for candidate in candidates:
        wanted[0, word, candidate.heads + 1] = True
    weights.rows(*np.nonzero(wanted))  # all at once
    for candidate in candidates:
        column = candidate.heads + 1
        named = weights.rows(np.zeros_like(word), word, column)[word, candidate.labels]
        yield Decoded(
            candidate.heads[None],
            candidate.labels[None],
            np.exp(log_of(weights.arcs[0, word, column]))[None],
            np.exp(log_of(named))[None],
            np.array([candidate.log_probability]),
        )


def ranked(decoded: Sequence[Decoded], prices: GapPrices) -> list[Decoded]:
    """Sort the trees of one sentence by their probability with what gaps cost, best first."""

    def cost(one: Decoded) -> float:
        return prices.paid(one.heads[0].tolist(), one.labels[0].tolist()) - float(one.log_probability[0])

    return sorted(decoded, key=cost)


class Assembler:
    """Makes the trees that a model's decisions mean.

    They are those of ``to_tree`` and come from the same steps; on the way every node gets its function and its
    confidence, which a calibration makes one that comes true.
    """

    def __init__(
        self,
        vocab: Vocab,
        keeps_tags: bool = False,
        calibration: Calibration | None = None,
        convention: Convention | None = None,
    ) -> None:
        """``keeps_tags`` leaves the words the tags that they come with, whatever is predicted.

        With the ``convention`` of its language, what is no word of it, such as an emoji or a URL, gets the tag that
        the language has for it, if the model knows that tag: treebanks have too few of them to learn from.
        """
        self.keeps_tags = keeps_tags
        self.calibration = calibration
        self.convention = convention
        self.known_tags = frozenset(vocab.outputs["tag"].symbols) if "tag" in vocab.outputs else frozenset()
        self.label_levels = np.array(vocab.levels)
        self.root = vocab.root
        self.levels = [split_level(label, vocab.root) for label in vocab.labels.symbols]
        self.names = {head: alphabet.symbols for head, alphabet in vocab.outputs.items()}
        self.unaries = [split_chain(chain, vocab.root) if chain else () for chain in self.names.get("unary", ())]
        self.head_functions = {tuple(pair.split(" ", 1)): name for pair, name in vocab.head_functions.items()}

    def trees(
        self, sentences: Sequence[Sequence[Token]], decoded: Decoded, scores: Scores, ids: Sequence[str] = ()
    ) -> list[Tree]:
        """Return the trees of a batch of sentences."""
        names = ids or [""] * len(sentences)
        found = list(map(self.tree, sentences, Decisions.of(decoded, scores), names))
        if self.calibration is None:
            return found
        return with_confidences(found, evidence(found, decoded, scores, self.label_levels), self.calibration)

    def tree(self, tokens: Sequence[Token], decisions: Decisions, sentence_id: str = "") -> Tree:
        """Return the tree of one sentence, with confidences that are not calibrated.

        Confidence: a phrase has the product of the probabilities of the arcs, with their labels, that join its
        children to its head; a phrase over a single word has the probability of its unary. A chain of phrases is one
        label, so all of it has the confidence of the lowest one. The root has that of the arcs that end at it. Arcs
        count with the labels that were decided for them, also where others outvoted them. The tree has the mean of its
        constituents.
        """
        forms, tags, lemmas, morphs, functions = self._columns(tokens, decisions)
        has_functions = "function" in decisions.auxiliary
        usual = self.head_functions if has_functions else {}
        chains = self._chains(decisions)
        levels = [self.levels[k] for k in decisions.labels]
        heads, arcs, unaries = decisions.heads, decisions.arc_probabilities, decisions.unary_probabilities
        dependents, order = heads_first(heads)
        confidences: dict[int, float] = {}  # by id of the node
        parts: list[list[Node | int]] = [[k] for k in range(len(heads))]  # several where a root label dissolved
        uncounted = [1.0] * len(heads)  # probability of the arcs inside these parts that no node has counted yet
        for position in reversed(order):
            if not dependents[position] and not chains[position] and heads[position] != DUMMY_ROOT:
                continue  # most words are the head of nothing
            phrases = spine_phrases(dependents[position], levels)
            spine, rest, uncounted[position] = _spine(chains[position], unaries[position], phrases, arcs, uncounted)
            top = NONE  # function of the largest phrase, or of a word without phrases
            if has_functions:
                if heads[position] != DUMMY_ROOT:
                    top = functions[position]
                elif position == order[0]:
                    top = usual.get((self.root, spine[-1][0] if spine else tags[position]), NONE)
                functions[position] = usual.get((spine[0][0], tags[position]), NONE) if spine else top
            parts[position] = _grow(position, spine, top, usual, parts, confidences)
            for dependent in rest:
                parts[position] += parts[dependent]
        tops = dependents[DUMMY_ROOT]
        root = Node(self.root, [part for position in tops for part in parts[position]])
        confidences[id(root)] = math.prod(arcs[position] * uncounted[position] for position in tops)
        words = tuple([_new(Token, row) for row in zip(forms, tags, lemmas, morphs, functions, strict=True)])
        by_node = tuple([confidences[id(node)] for node in root.nodes()])
        return Tree(words, root, sentence_id, confidence=mean_confidence(by_node), confidences=by_node)

    def _columns(
        self, tokens: Sequence[Token], decisions: Decisions
    ) -> tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str], list[str]]:
        """Return the words column by column, with what was predicted in place of what they came with."""
        forms, tags, lemmas, morphs, functions = zip(*tokens, strict=True)
        predicted_tags = None if self.keeps_tags else self._named(decisions, "tag")
        predicted_morphs = self._named(decisions, "morph")
        if predicted_tags and self.convention:
            for k, form in enumerate(forms):
                if (tag := tag_of(form, self.convention)) in self.known_tags and tag != predicted_tags[k]:
                    predicted_tags[k] = tag
                    if predicted_morphs:
                        predicted_morphs[k] = NONE  # it would fit the other tag
        return (
            forms,
            predicted_tags or tags,
            lemmas,
            predicted_morphs or morphs,
            self._named(decisions, "function") or list(functions),
        )

    def _named(self, decisions: Decisions, head: str) -> list[str] | None:
        """Name the classes of an auxiliary head, if the model has it."""
        classes = decisions.auxiliary.get(head)
        if classes is None:
            return None
        names = self.names[head]
        return [names[k] for k in classes]

    def _chains(self, decisions: Decisions) -> Sequence[tuple[str, ...]]:
        """Return for every word the labels, from top to bottom, of the phrases over this word alone."""
        classes = decisions.auxiliary.get("unary")
        return [()] * len(decisions.heads) if classes is None else [self.unaries[k] for k in classes]


def with_confidences(trees: Sequence[Tree], found: Evidence, calibration: Calibration) -> list[Tree]:
    """Return trees with the confidences that a calibration gives them for the evidence that was found."""
    values = calibration.constituents(found)
    expected = calibration.trees(found, values).tolist()
    ends = np.cumsum(found.counts).tolist()
    starts = [0, *ends]
    inner = values.tolist()
    return [
        replace(tree, confidence=whole, confidences=(ROOT_CONFIDENCE, *inner[start:end]))
        for tree, whole, start, end in zip(trees, expected, starts, ends, strict=False)
    ]


def mean_confidence(confidences: Sequence[float]) -> float:
    """Return the mean confidence of a tree's constituents without its root, or that of the root if it is alone."""
    inner = confidences[1:] or confidences
    return sum(inner) / len(inner)


def _spine(
    chain: tuple[str, ...],
    unary_probability: float,
    phrases: Sequence[tuple[tuple[str, ...], list[int]]],
    arcs: Sequence[float],
    uncounted: Sequence[float],
) -> tuple[list[Phrase], list[int], float]:
    """Return the phrases that a word heads, lowest first: those over the word alone, then those of its dependents.

    Also returns the dependents that are left, because the label of their level dissolved, and the probability of their
    arcs.
    """
    spine: list[Phrase] = [(label, (), unary_probability) for label in reversed(chain)] if chain else []
    joining: list[int] = []
    probability = 1.0
    for labels, group in phrases:
        joining += group
        for dependent in group:
            probability *= arcs[dependent] * uncounted[dependent]
        if labels:
            spine.append((labels[-1], joining, probability))
            if len(labels) > 1:
                spine += [(label, (), probability) for label in labels[-2::-1]]
            joining, probability = [], 1.0
    return spine, joining, probability


def _grow(
    position: int,
    spine: Sequence[Phrase],
    function: str,
    usual: Mapping[tuple[str, ...], str],
    parts: Sequence[list[Node | int]],
    confidences: dict[int, float],
) -> list[Node | int]:
    """Make the nodes of a spine, bottom up.

    The largest has the given function; a head child has the one that training mostly showed below such a parent.
    """
    grown: list[Node | int] = [position]
    largest = len(spine) - 1
    for height, (label, joining, confidence) in enumerate(spine):
        for dependent in joining:
            grown += parts[dependent]
        role = function if height == largest else usual.get((spine[height + 1][0], label), NONE)
        node = Node(label, grown, role)
        confidences[id(node)] = confidence
        grown = [node]
    return grown
