"""The slow and obvious way from prediction to a tree, step by step: what the tree_builder must agree with."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from discotree.decoding.trees import Prediction
from discotree.encoding.dependencies import DUMMY_ROOT, Dependencies, spines, to_tree
from discotree.network.vocab import Vocab
from discotree.trees.tree import NONE, Token, Tree


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
