"""Decisions about words → trees: the last arrow, with tags, functions and how sure the parser is of each node."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from discotree.encoding.spines import DUMMY_ROOT
from discotree.network.decode import Candidate, Decoded
from discotree.network.scores import Scores
from discotree.network.vocab import Vocab
from discotree.trees.labels import split_chain, split_level
from discotree.trees.tree import NONE, Node, Token, Tree

_new = tuple.__new__  # a Token from its fields, without the detour through Python that a NamedTuple takes


@dataclass(frozen=True)
class Decisions:
    """What was decided about the words of one sentence."""

    heads: list[int]
    labels: list[int]
    arcs: list[float]  # the probability of each word's arc with its label
    small: dict[str, list[int]]  # of each small head, a class for every word
    unaries: list[float]  # the probability of what was said about the phrases over each single word
    confidence: float

    @classmethod
    def of(cls, decoded: Decoded, scores: Scores) -> Iterator["Decisions"]:
        """Those of every sentence of a batch."""
        small, sure = {}, {}
        for head, values in scores.small.items():
            best = values.max(-1)
            small[head], sure[head] = best.indices.tolist(), best.values.exp().tolist()
        heads, labels = decoded.heads.tolist(), decoded.labels.tolist()
        arcs = (decoded.arc_probability * decoded.label_probability).tolist()
        whole = np.exp(decoded.log_probability)
        for row, n in enumerate(scores.lengths.tolist()):
            unaries = sure["unary"][row][:n] if "unary" in sure else [1.0] * n
            yield cls(
                heads[row][:n],
                labels[row][:n],
                arcs[row][:n],
                {head: rows[row][:n] for head, rows in small.items()},
                unaries,
                float(whole[row]) * math.prod(unaries),
            )


def of_candidates(candidates: Sequence[Candidate], scores: Scores) -> Iterator[Decisions]:
    """What each of the best trees of one sentence decides; ``scores`` are those of this sentence alone."""
    for candidate in candidates:
        heads = torch.from_numpy(candidate.heads[None] + 1).to(scores.arcs.device)  # (1, n) columns
        labels = torch.from_numpy(candidate.labels[None]).to(scores.arcs.device)
        arcs = torch.take_along_dim(scores.arcs, heads[..., None], 2)[..., 0]
        named = torch.take_along_dim(scores.labels(heads), labels[..., None], 2)[..., 0]
        decoded = Decoded(
            candidate.heads[None],
            candidate.labels[None],
            arcs.double().exp().cpu().numpy(),
            named.double().exp().cpu().numpy(),
            np.array([candidate.log_probability]),
        )
        yield from Decisions.of(decoded, scores)


class Assembler:
    """Makes the trees that a model's decisions mean.

    They are those of ``to_tree``, with a function for every node and how sure the parser is of it; made in one walk,
    because a fast parser spends much of its time here.
    """

    def __init__(self, vocab: Vocab, keeps_tags: bool = False) -> None:
        """``keeps_tags``: those that the words come with stay, whatever is predicted."""
        self.keeps_tags = keeps_tags
        self.root = vocab.root
        self.levels = [split_level(label, vocab.root) for label in vocab.labels.symbols]
        self.names = {head: alphabet.symbols for head, alphabet in vocab.outputs.items()}
        self.unaries = [split_chain(chain, vocab.root) if chain else () for chain in self.names.get("unary", ())]
        self.head_functions = {tuple(pair.split(" ", 1)): name for pair, name in vocab.head_functions.items()}

    def tree(self, tokens: Sequence[Token], said: Decisions, name: str = "") -> Tree:
        """The tree of one sentence.

        The largest phrase of a word has the function that was predicted for the word; a head child has the one that
        training mostly showed there.

        How sure the parser is of a phrase is the product of the probabilities of the arcs, with their labels, that
        join its children to its head; of a phrase over a single word, the probability of the unary. A chain of phrases
        is one label, so all of it is as sure as the lowest one. The root, which is always there, is as sure as the
        arcs that end at it. Arcs count with the labels that were decided for them, also where others outvoted them.
        """
        forms, own_tags, lemmas, own_morphs, own_roles = zip(*tokens, strict=True)
        functions = self._said(said, "function")
        tags = own_tags if self.keeps_tags else self._said(said, "tag") or own_tags
        morphs = self._said(said, "morph") or own_morphs
        roles = [*(functions or own_roles)]  # of the words
        chains = [self.unaries[k] for k in said.small["unary"]] if "unary" in said.small else [()] * len(tokens)
        heads, root, usual, arcs = said.heads, self.root, self.head_functions, said.arcs
        below, order = _downwards(heads)
        sure: dict[int, float] = {}  # by id of the node
        finished: list[list[Node | int]] = [[k] for k in range(len(tokens))]  # several where a root label dissolved
        loose = [1.0] * len(tokens)  # of the arcs inside these parts that no node has counted yet
        for position in reversed(order):
            steps: list[tuple[str, Sequence[int], float]] = []  # from bottom to top: label, what joins there, how sure
            if chains[position]:
                steps = [(label, (), said.unaries[position]) for label in reversed(chains[position])]
            elif not below[position] and heads[position] != DUMMY_ROOT:  # most words
                continue
            product, joining = 1.0, []
            for chain, group in self._phrases(below[position], said.labels):
                joining += group
                for dependent in group:
                    product *= arcs[dependent] * loose[dependent]
                if chain:
                    steps.append((chain[-1], joining, product))
                    if len(chain) > 1:
                        steps += [(label, (), product) for label in chain[-2::-1]]
                    product, joining = 1.0, []
            steps.append(("", joining, product))  # what joins a label that dissolved
            parts, inner, value = finished[position], "", 1.0  # the phrase that is being made; "": it is just the word
            child = tags[position]
            for label, joined, probability in steps:
                role = NONE
                if functions is not None:
                    if label or position == order[0]:
                        role = usual.get((label or root, child), NONE)
                    elif heads[position] != DUMMY_ROOT:
                        role = functions[position]
                if inner:
                    node = Node(inner, parts, role)
                    sure[id(node)] = value
                    parts = [node]
                elif functions is not None:
                    roles[position] = role
                for dependent in joined:
                    parts += finished[dependent]
                inner = child = label
                value = probability
            finished[position], loose[position] = parts, product
        tops = below[DUMMY_ROOT]
        whole = Node(root, [part for position in tops for part in finished[position]])
        sure[id(whole)] = math.prod(arcs[position] * loose[position] for position in tops)
        confidences = tuple([sure[id(node)] for node in whole.nodes()])
        words = tuple([_new(Token, row) for row in zip(forms, tags, lemmas, morphs, roles, strict=True)])
        return Tree(words, whole, name, confidence=said.confidence, confidences=confidences)

    def _said(self, said: Decisions, head: str) -> list[str] | None:
        """What a small head says about every word, if it is there."""
        classes = said.small.get(head)
        if classes is None:
            return None
        names = self.names[head]
        return [names[k] for k in classes]

    def _phrases(self, dependents: list[int], labels: list[int]) -> list[tuple[tuple[str, ...], list[int]]]:
        """The phrases of one spine, lowest first: their chain of labels and the dependents that join there."""
        if not dependents:
            return []
        first = labels[dependents[0]]
        if len(dependents) == 1 or len({labels[dependent] for dependent in dependents}) == 1:
            return [(self.levels[first][0], dependents)]
        groups: dict[int, list[int]] = {}
        for dependent in dependents:
            groups.setdefault(self.levels[labels[dependent]][1], []).append(dependent)
        found = []
        for level in sorted(groups):
            group = groups[level]
            names = [self.levels[labels[dependent]][0] for dependent in group]
            chain = names[0]
            if any(name != chain for name in names):
                chain = Counter(names).most_common(1)[0][0]  # ties: the first seen, the leftmost
            found.append((chain, group))
        return found


def _downwards(heads: list[int]) -> tuple[list[list[int]], list[int]]:
    """The dependents of every word, the last list that of the dummy root; and all words, heads before dependents."""
    below: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for position, head in enumerate(heads):
        below[head].append(position)
    order = list(below[DUMMY_ROOT])
    for position in order:  # grows while we walk it
        order += below[position]
    return below, order
