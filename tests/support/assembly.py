"""The slow and obvious way from prediction to a tree, step by step: what the tree_builder must agree with."""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discotree.decoding.decode import Decoded
from discotree.decoding.trees import TreeBuilder
from discotree.encoding.dependencies import DUMMY_ROOT, Dependencies, spines, to_tree
from discotree.network.scores import Auxiliary, Scores
from discotree.network.vocab import Vocab
from discotree.trees.tree import NONE, Token, Tree


@dataclass(frozen=True)
class Prediction:
    """The predictions for the words of one sentence."""

    heads: list[int]  # positions, -1 for the dummy root
    labels: list[int]
    arc_probabilities: list[float]  # probability of each word's arc with its label
    auxiliary: dict[str, list[int]]  # by auxiliary head: a class for every word
    unary_probabilities: list[float]  # probability of the class that the auxiliary head "unary" chose for each word

    @classmethod
    def for_batch(cls, decoded: Decoded, scores: Scores) -> Iterator["Prediction"]:
        """Yield the predictions for every sentence of a batch."""
        unary = scores.auxiliary.get("unary")
        arcs = decoded.arc_probability * decoded.label_probability
        for row, n in enumerate(scores.lengths.tolist()):
            yield cls(
                decoded.heads[row, :n].tolist(),
                decoded.labels[row, :n].tolist(),
                arcs[row, :n].tolist(),
                {head: output.classes[row, :n].tolist() for head, output in scores.auxiliary.items()},
                [1.0] * n if unary is None else np.exp(unary.log_probability[row, :n]).tolist(),
            )

    def batch(self) -> tuple[Decoded, Scores]:
        """Return the predictions as a batch of one sentence."""
        n = len(self.heads)
        ones, logs = np.ones((1, n)), np.log([self.unary_probabilities])
        auxiliary = {head: Auxiliary(np.array([classes]), logs) for head, classes in self.auxiliary.items()}
        arcs, features = np.zeros((1, n, n + 1), np.float32), np.zeros((1, n + 1, 1), np.float32)
        decoded = Decoded(
            np.array([self.heads]), np.array([self.labels]), np.array([self.arc_probabilities]), ones, ones
        )
        scores = Scores(np.array([n]), arcs, features[:, 1:], features, lambda *_: features[0], auxiliary)
        return decoded, scores


def built(builder: TreeBuilder, tokens: Sequence[Token], prediction: Prediction, id: str = "") -> Tree:
    """The tree of one sentence as a builder makes it."""
    (tree,) = builder.trees([tokens], *prediction.batch(), [id])
    return tree


def assembled(tokens: Sequence[Token], prediction: Prediction, vocab: Vocab, id: str = "") -> Tree:
    """The tree of one sentence from what was decided about its words."""
    names = {head: [vocab.outputs[head][k] for k in classes] for head, classes in prediction.auxiliary.items()}
    tags, morphs = names.get("tag"), names.get("morph")
    words = [
        token._replace(tag=tags[k] if tags else token.tag, morph=morphs[k] if morphs else token.morph)
        for k, token in enumerate(tokens)
    ]
    dependencies = Dependencies(
        tuple(words),
        tuple(prediction.heads),
        tuple([vocab.labels[k] for k in prediction.labels]),
        unaries=tuple(names.get("unary", ())),
        root=vocab.root,
        id=id,
    )
    if "function" in names:
        dependencies = with_functions(dependencies, names["function"], vocab.head_functions)
    tree = to_tree(dependencies)
    values = confidences(tree, prediction)
    return replace(tree, confidence=statistics.mean(values[1:] or values), confidences=values)


def with_functions(tree: Dependencies, top: Sequence[str], head_functions: dict[str, str]) -> Dependencies:
    """Give every node and word its function: the largest phrase of a word the one that was predicted for the
    word, head children the one that training mostly showed there."""
    functions: list[tuple[str, ...]] = []
    words: list[Token] = []
    for position, labels in enumerate(spines(tree)):
        token = tree.tokens[position]
        children = [token.tag, *labels]
        found = [head_functions.get(f"{parent} {child}", NONE) for child, parent in zip(children, labels, strict=False)]
        found.append(NONE if tree.heads[position] == DUMMY_ROOT else top[position])
        words.append(token._replace(function=found[0]))
        functions.append(tuple(found[1:]))
    return Dependencies(tuple(words), tree.heads, tree.labels, tuple(functions), tree.unaries, tree.root, tree.id)


def confidences(tree: Tree, prediction: Prediction) -> tuple[float, ...]:
    """The confidence of every node, in the order of ``tree.nodes()``.

    Of a phrase: the product of the probabilities of the arcs, with their labels, that join its children to its
    head. Of a phrase over a single word: that of the class of its auxiliary head. A chain of phrases over a phrase
    is one label, so all of it has the confidence of the lowest one; the root has that of the arcs that end at it.
    Arcs count with the labels that were decided for them, also where others outvoted them.
    """
    nodes = list(tree.nodes())
    values: dict[int, float] = {}  # by id of the node
    head_word: dict[int, int] = {}
    for node in reversed(nodes):
        words = [child if isinstance(child, int) else head_word[id(child)] for child in node.children]
        if node is tree.root:
            values[id(node)] = math.prod(prediction.arc_probabilities[word] for word in words)
            continue
        if len(words) == 1:
            (child,) = node.children
            head_word[id(node)] = words[0]
            values[id(node)] = prediction.unary_probabilities[child] if isinstance(child, int) else values[id(child)]
            continue
        inside = set(words)
        head = next((word for word in words if prediction.heads[word] not in inside), words[0])
        head_word[id(node)] = head
        values[id(node)] = math.prod(prediction.arc_probabilities[word] for word in words if word != head)
    return tuple([values[id(node)] for node in nodes])
