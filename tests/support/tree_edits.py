"""The operations of the web page's editor, defined as plainly as possible: a table of parents, and what changes in it.

Items have addresses: token i is i, constituent k is the number of tokens plus k, so the root is the number of tokens.
"""

from collections.abc import Sequence
from typing import Any

from discotree.trees.tree import NONE, Token, Tree

NEW = -1  # the address of a new constituent


class Table:
    """A tree as the parent of every item."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.root = tree, len(tree)
        token_parents, nodes = tree.parents()
        self.parent = {k: parent + self.root + 1 for k, parent in enumerate(token_parents)}
        self.parent |= {self.root + 1 + k: node[2] + self.root + 1 for k, node in enumerate(nodes)}
        self.labels = {self.root + k: (node.label, node.function) for k, node in enumerate(tree.nodes())}
        self.tokens: list[Token] = list(tree.tokens)

    def above(self, item: int) -> list[int]:
        found = []
        while item in self.parent:
            item = self.parent[item]
            found.append(item)
        return found

    def top(self, items: Sequence[int]) -> list[int]:
        return [item for item in items if not set(self.above(item)) & set(items)]

    def children(self, node: int) -> list[int]:
        return [item for item, parent in self.parent.items() if parent == node]

    def first(self, item: int) -> int:
        return item if item < self.root and item != NEW else min(map(self.first, self.children(item)))

    def common(self, items: Sequence[int]) -> int:
        return next(node for node in self.above(items[0]) if all(node in self.above(item) for item in items))

    def result(self) -> Tree:
        """Build the tree; constituents without words are left out."""
        filled = {node for word in range(self.root) for node in self.above(word)} - {self.root}
        order = sorted(filled)
        index = {node: k for k, node in enumerate(order)} | {self.root: -1}
        nodes = [(*self.labels[node], index[self.parent[node]]) for node in order]
        parents = [index[self.parent[word]] for word in range(self.root)]
        return Tree.from_parents(self.tokens, parents, nodes, root=self.labels[self.root], id=self.tree.id)


def expected(tree: Tree, name: str, items: Sequence[int], argument: Any) -> Tree:
    """Return the tree after an operation that the editor accepts."""
    table = Table(tree)
    top = table.top(items)
    if name == "join":
        table.parent[NEW], table.labels[NEW] = table.common(top), (argument, NONE)
        table.parent |= dict.fromkeys(top, NEW)
    elif name == "split":
        old = table.parent[top[0]]
        table.parent[NEW], table.labels[NEW] = table.parent[old], table.labels[old]
        table.parent |= dict.fromkeys(top, NEW)
    elif name == "dissolve":
        for node in items:
            table.parent |= dict.fromkeys(table.children(node), table.parent[node])
    elif name == "merge":
        kept = min(top, key=table.first)
        for node in top:
            table.parent |= dict.fromkeys(table.children(node), kept)
    elif name == "attach":
        table.parent |= dict.fromkeys(top, argument)
    elif name == "lift":
        table.parent |= {item: table.parent[table.parent[item]] for item in top}
    elif name == "lower":
        beside = [node for node in table.children(table.parent[top[0]]) if node >= table.root and node not in top]
        wanted = max(map(table.first, top)) if argument > 0 else min(map(table.first, top))
        beside = [node for node in beside if argument * (table.first(node) - wanted) > 0]
        table.parent |= dict.fromkeys(top, min(beside, key=lambda node: abs(table.first(node) - wanted)))
    elif name == "relabel":
        table.labels |= {node: (argument, table.labels[node][1]) for node in items}
    elif name == "retag":
        for word in items:
            old = table.tokens[word]
            is_same = old.tag == (argument or NONE)  # otherwise the morphology is that of another tag
            table.tokens[word] = old._replace(tag=argument or NONE, morph=old.morph if is_same else NONE)
    elif name in ("assignMorph", "assignLemma"):
        field = {"assignMorph": "morph", "assignLemma": "lemma"}[name]
        for word in items:
            table.tokens[word] = table.tokens[word]._replace(**{field: argument or NONE})
    else:
        for item in items:
            if item < table.root:
                table.tokens[item] = table.tokens[item]._replace(function=argument or NONE)
            else:
                table.labels[item] = (table.labels[item][0], argument or NONE)
    return table.result()
