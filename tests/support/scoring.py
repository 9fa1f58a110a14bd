"""Pairs of gold and predicted trees with known or random errors."""

import random

from discotree import Node, Token, Tree

GOLD = [
    Tree.parse("(ROOT (S (NP (NN 0=a) (NN 2=b)) (VP (VV 1=c) (VV 3=d))))", "1"),
    Tree.parse("(ROOT (S (NP (NN 0=a) (NN 1=b)) (VV 2=c)))", "2"),
]
PREDICTED = [
    Tree.parse("(ROOT (S (PP (NN 0=a) (NN 2=b)) (VP (VV 1=c) (VV 3=d))))", "1"),
    Tree.parse("(ROOT (S (NN 0=a) (NP (NN 1=b) (VV 2=c))))", "2"),
]


def noisy(rng: random.Random, tree: Tree) -> Tree:
    """Return a prediction: the tree with some labels changed and some nodes spliced out or doubled."""
    token_parents, nodes = tree.parents()
    into = {-1: -1}
    kept: list[tuple[str, str, int]] = []
    for k, (label, function, parent) in enumerate(nodes):
        chance = rng.random()
        if chance < 0.2:
            into[k] = into[parent]
            continue
        kept.append((rng.choice(["NP", "PRT"]) if chance < 0.4 else label, function, into[parent]))
        if chance > 0.8:
            kept.append((label, function, len(kept) - 1))
        into[k] = len(kept) - 1
    return Tree.from_parents(tree.tokens, [into[p] for p in token_parents], kept, id=tree.id)


def tree(identity: str, *words: str) -> Tree:
    return Tree(tuple(Token(word, "NN") for word in words), Node("ROOT", [Node("S", range(len(words)))]), identity)
