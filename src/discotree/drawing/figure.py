"""Figure: the part of a tree that a look leaves to draw. It is a tree again, so there is one layout for all looks.

Hidden words are gone. A triangle is a constituent whose words are one leaf, or one leaf for each block where it is
discontinuous. A hidden root stays in the tree, and renderers leave it out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from discotree.drawing.highlights import Highlight
from discotree.drawing.look import WHOLE, Look
from discotree.errors import TreeError
from discotree.trees.punctuation import is_punctuation
from discotree.trees.tree import Node, SecondaryEdge, Token, Tree


@dataclass(frozen=True, slots=True)
class Figure:
    """Tree to draw, and where its cells come from. Leaves are the tokens of the tree that is drawn."""

    tree: Tree
    look: Look
    origins: Sequence[int]  # address of each cell in the whole tree; for a triangle's leaf, its first word's
    positions: Sequence[tuple[int, ...]]  # words of each leaf, as positions in the whole tree
    roofs: frozenset[int]  # leaves under a triangle
    glosses: tuple[str, ...]  # by leaf; none at all where there are no glosses
    whole_words: int  # words of the whole tree
    whole_nodes: int

    @classmethod
    def of(cls, tree: Tree, look: Look = WHOLE) -> "Figure":
        """Leave out what is hidden, and make leaves of triangles."""
        nodes = [*tree.nodes()]
        n = len(tree)
        glosses = look.glosses_of(tree)
        for address in look.triangles:
            if not n <= address < n + len(nodes):
                what = "is a word" if 0 <= address < n else "is not in the tree"
                raise TreeError(f"tree {tree.id!r} cannot have a triangle over {address}, which {what}")
        hidden = {k for k, token in enumerate(tree.tokens) if not look.punctuation and is_punctuation(token)}
        if len(hidden) == n:
            hidden = set()  # there has to be something to draw
        collapsed = _collapsed(tree, nodes, look)
        if not hidden and not collapsed:
            words = [(k,) for k in range(n)]
            return cls(tree, look, range(n + len(nodes)), words, frozenset(), glosses, n, len(nodes))
        leaves = _leaves(tree, nodes, hidden, collapsed)
        reduced, origins = _rebuilt(tree, nodes, leaves)
        if glosses:
            glosses = tuple([" ".join([glosses[k] for k in leaf.positions if glosses[k]]) for leaf in leaves])
        roofs = frozenset([k for k, leaf in enumerate(leaves) if leaf.roofed])
        return cls(reduced, look, origins, [leaf.positions for leaf in leaves], roofs, glosses, n, len(nodes))

    def highlight(self, highlight: Highlight) -> Highlight:
        """Turn addresses in the whole tree into those of the cells that are drawn."""
        if isinstance(highlight, bool):
            return highlight
        cells = {origin: cell for cell, origin in enumerate(self.origins) if cell not in self.roofs}
        if not self.look.root:
            cells.pop(self.origins[len(self.tree)], None)
        for name, addresses in highlight.items():
            for address in addresses:
                if not 0 <= address < self.whole_words + self.whole_nodes:
                    raise TreeError(f"{name} stands for {address}, outside the tree")
        return {name: [cells[k] for k in addresses if k in cells] for name, addresses in highlight.items()}

    @property
    def secondary(self) -> tuple[SecondaryEdge, ...]:
        """The secondary edges between cells that are drawn."""
        root = -1 if self.look.root else len(self.tree)
        return tuple([edge for edge in self.tree.secondary if root not in (edge.child, edge.parent)])

    def has_triangle(self, children: Sequence[int]) -> bool:
        """Whether a node with these children is a triangle with its tip at the label: one over a single leaf."""
        return len(children) == 1 and children[0] in self.roofs


class _Leaf(NamedTuple):
    """Word, or block of a triangle's words, with the index of its parent among the nodes."""

    positions: tuple[int, ...]
    parent: int
    roofed: bool


def _collapsed(tree: Tree, nodes: Sequence[Node], look: Look) -> dict[int, int]:
    """Return the triangle that each node is, or is in, by index; of triangles in triangles the outermost counts."""
    if not look.triangles and look.depth is None:
        return {}
    wanted = {address - len(tree) for address in look.triangles}
    index = {id(node): k for k, node in enumerate(nodes)}
    depths = [0] * len(nodes)
    found: dict[int, int] = {}
    for k, node in enumerate(nodes):
        is_word = len(node.children) == 1 and isinstance(node.children[0], int)  # there is nothing to leave out
        if k not in found and not is_word and (k in wanted or depths[k] == look.depth):
            found[k] = k
        for child in node.children:
            if not isinstance(child, int):
                depths[index[id(child)]] = depths[k] + 1
                if k in found:
                    found[index[id(child)]] = found[k]
    return found


def _leaves(tree: Tree, nodes: Sequence[Node], hidden: set[int], collapsed: dict[int, int]) -> list[_Leaf]:
    """Return what is in the lowest row, from left to right."""
    shown = [k for k in range(len(tree)) if k not in hidden]
    parents = [-1] * len(tree)
    for k, node in enumerate(nodes):
        for child in node.children:
            if isinstance(child, int):
                parents[child] = k
    leaves: list[_Leaf] = []
    blocks: list[list[int]] = []
    for position in shown:
        triangle = collapsed.get(parents[position])
        if blocks and triangle is not None and triangle == collapsed.get(parents[blocks[-1][-1]]):
            blocks[-1].append(position)
        else:
            blocks.append([position])
    for block in blocks:
        parent = parents[block[0]]
        triangle = collapsed.get(parent)
        roofed = triangle is not None and (len(block) > 1 or parent != triangle)
        leaves.append(_Leaf(tuple(block), parent if triangle is None else triangle, roofed))
    return leaves


def _rebuilt(tree: Tree, nodes: Sequence[Node], leaves: Sequence[_Leaf]) -> tuple[Tree, list[int]]:
    """Return the tree over these leaves, without nodes in triangles and empty ones, and the origins of its cells."""
    n = len(tree)
    _, records = tree.parents()
    parents = [-1, *[parent + 1 for _, _, parent in records]]  # counting the root, which is node 0
    kept: set[int] = {0}
    for leaf in leaves:
        up = leaf.parent
        while up not in kept:
            kept.add(up)
            up = parents[up]
    order = sorted(kept)
    index = {k: new - 1 for new, k in enumerate(order)}  # the root is -1, as from_parents has it
    tokens = [tree.tokens[leaf.positions[0]] if not leaf.roofed else _joined(tree, leaf) for leaf in leaves]
    # Siblings may change their order where their first words are hidden. Secondary edges tell the new addresses.
    probes = [SecondaryEdge("", len(leaves) + new, len(leaves)) for new in range(len(order))]
    rebuilt = Tree.from_parents(
        tokens,
        [index[leaf.parent] for leaf in leaves],
        [(nodes[k].label, nodes[k].function, index[parents[k]]) for k in order[1:]],
        root=(tree.root.label, tree.root.function),
        id=tree.id,
        secondary=probes,
        comment=tree.comment,
    )
    cells = {leaf.positions[0]: new for new, leaf in enumerate(leaves) if not leaf.roofed}
    cells |= {n + k: edge.child for k, edge in zip(order, rebuilt.secondary, strict=True)}
    secondary = [
        SecondaryEdge(label, cells[child], cells[parent])
        for label, child, parent in tree.secondary
        if child in cells and parent in cells
    ]
    origins = [leaf.positions[0] for leaf in leaves] + [0] * len(order)
    for origin, cell in cells.items():
        origins[cell] = origin
    confidences: tuple[float, ...] = ()
    if len(tree.confidences) == len(nodes):
        confidences = tuple([tree.confidences[origin - n] for origin in origins[len(leaves) :]])
    return replace(rebuilt, secondary=tuple(secondary), confidences=confidences), origins


def _joined(tree: Tree, leaf: _Leaf) -> Token:
    return Token(" ".join([tree.tokens[k].form for k in leaf.positions]))
