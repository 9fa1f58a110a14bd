"""Options of a drawing: hidden parts, triangles, glosses, line shapes, arrows and highlighted nodes.

``Figure`` applies the options to a tree. The result is a tree again, so all drawings share one layout: hidden words are
removed, and a triangle is a constituent whose words are one leaf, or one leaf for each block if it is discontinuous. A
hidden root stays in the tree, and renderers leave it out.

Addresses are those of secondary edges: a token's is its position, and that of the k-th node in the order of
``Tree.nodes`` is ``len(tree) + k``.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from discotree.drawing.layout import Arc, arc_levels
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError, TreeError
from discotree.files.reading import open_binary, readable
from discotree.trees.labels import HEAD_RULES, explain_tree, guess_scheme
from discotree.trees.punctuation import is_punctuation
from discotree.trees.tree import LEMMA, MORPH, NONE, Node, SecondaryEdge, Token, Tree

Lines = Literal["square", "slanted"]
TokenGloss = Literal["lemma", "morph"]  # glosses that treebanks contain
HUES = 4  # colours of highlighted nodes, used in turn
DASHES = 4  # line patterns of the box around a highlighted node; the first one is solid

# True: discontinuous constituents; or addresses by name.
Highlight = bool | Mapping[str, Collection[int]]


@dataclass(frozen=True, slots=True)
class DrawingOptions:
    """Parts of a tree to draw, and the shape of its lines. By default everything is drawn, with square lines."""

    punctuation: bool = True
    root: bool = True
    tags: bool = True
    triangles: Collection[int] = ()  # addresses of constituents to draw as a triangle over their words
    depth: int | None = None  # constituents this far below the root are also drawn as triangles
    glosses: Sequence[str] | TokenGloss = ()  # a text under each word, or the attribute of its token to show
    translation: str = ""  # below the tree
    lines: Lines = "square"
    legend: bool = False  # names of the labels, below the tree
    arrows: bool = False  # below the words, from the head of a discontinuous constituent to parts beyond a gap

    def __post_init__(self) -> None:
        if self.lines not in get_args(Lines):
            raise ValueError(f"lines: expected {' or '.join(get_args(Lines))}, got {self.lines!r}")
        if self.depth is not None and self.depth < 0:
            raise ValueError(f"depth: expected 0 (the root) or more, got {self.depth}")
        if isinstance(self.glosses, str) and self.glosses not in get_args(TokenGloss):
            raise ValueError(f"glosses: expected {', '.join(get_args(TokenGloss))} or a list, got {self.glosses!r}")

    def glosses_for(self, tree: Tree) -> tuple[str, ...]:
        """Return a gloss for each word, empty for a word without one; an empty tuple if no word has a gloss."""
        if isinstance(self.glosses, str):
            glosses = tuple([token[LEMMA if self.glosses == "lemma" else MORPH] for token in tree.tokens])
        else:
            glosses = tuple(self.glosses)
        if glosses and len(glosses) != len(tree):
            raise TreeError(f"tree {tree.id!r} has {len(tree)} words, but there are {len(glosses)} glosses")
        glosses = tuple(["" if gloss == NONE else gloss for gloss in glosses])
        return glosses if any(glosses) else ()

    @property
    def is_slanted(self) -> bool:
        return self.lines == "slanted"


DEFAULT = DrawingOptions()


@dataclass(frozen=True, slots=True)
class Highlights:
    """Styles and names of all cells, by address, and the legend: names with their styles.

    A style is one of four colours and a line pattern for the box, for readers who cannot tell the colours apart.
    """

    styles: list[str]  # empty for a plain cell
    names: list[tuple[str, ...]]
    legend: list[tuple[str, str]]

    @property
    def named(self) -> set[int]:
        """Addresses of the cells that have a name."""
        return {address for address, names in enumerate(self.names) if names}


def highlight_style(k: int) -> str:
    """Return the style of the k-th name. The first 16 styles differ."""
    dash = (k + k // HUES) % DASHES
    return f"hue{k % HUES} dash{dash}" if dash else f"hue{k % HUES}"


@dataclass(frozen=True, slots=True)
class Figure:
    """Tree to draw, and the origin of its cells. Leaves are the tokens of the tree that is drawn."""

    tree: Tree
    options: DrawingOptions
    origins: Sequence[int]  # address of each cell in the whole tree; for a triangle's leaf, that of its first word
    positions: Sequence[tuple[int, ...]]  # words of each leaf, as positions in the whole tree
    roofs: frozenset[int]  # leaves under a triangle
    glosses: tuple[str, ...]  # by leaf; empty if there are no glosses
    whole_words: int  # words of the whole tree
    whole_nodes: int

    @classmethod
    def from_tree(cls, tree: Tree, options: DrawingOptions = DEFAULT) -> "Figure":
        """Remove hidden words, and replace the words of triangles by leaves."""
        nodes = [*tree.nodes()]
        n = len(tree)
        glosses = options.glosses_for(tree)
        for address in options.triangles:
            if not n <= address < n + len(nodes):
                reason = "it is a word" if 0 <= address < n else "it is not in the tree"
                raise TreeError(f"cannot draw a triangle over address {address} of tree {tree.id!r}: {reason}")
        hidden = {k for k, token in enumerate(tree.tokens) if not options.punctuation and is_punctuation(token)}
        if len(hidden) == n:
            hidden = set()  # a sentence of punctuation is drawn
        token_parents, records = tree.parents()
        parents = [-1, *[parent + 1 for _, _, parent in records]]  # counting the root, which is node 0
        triangles = _find_triangles(nodes, parents, n, options)
        if not hidden and not triangles:
            words = [(k,) for k in range(n)]
            return cls(tree, options, range(n + len(nodes)), words, frozenset(), glosses, n, len(nodes))
        leaves = _leaves([parent + 1 for parent in token_parents], hidden, triangles)
        reduced, origins = _rebuild(tree, nodes, parents, leaves)
        if glosses:
            glosses = tuple([" ".join([glosses[k] for k in leaf.positions if glosses[k]]) for leaf in leaves])
        roofs = frozenset([k for k, leaf in enumerate(leaves) if leaf.roofed])
        return cls(reduced, options, origins, [leaf.positions for leaf in leaves], roofs, glosses, n, len(nodes))

    def highlights(self, highlight: Highlight) -> Highlights:
        """Choose styles, given addresses in the whole tree; a node with several names has the style of the first."""
        size = len(self.origins)
        styles = [""] * size
        names: list[tuple[str, ...]] = [()] * size
        legend: list[tuple[str, str]] = []
        if isinstance(highlight, bool):
            nodes = enumerate(self.tree.nodes(), len(self.tree))
            discontinuous = [address for address, node in nodes if highlight and node.is_discontinuous]
            for k, address in enumerate(discontinuous):
                styles[address] = f"hue{k % HUES}"
            return Highlights(styles, names, [])
        cells = {origin: cell for cell, origin in enumerate(self.origins) if cell not in self.roofs}
        if not self.options.root:
            cells.pop(self.origins[len(self.tree)], None)
        for k, (name, addresses) in enumerate(highlight.items()):
            for address in addresses:
                if not 0 <= address < self.whole_words + self.whole_nodes:
                    raise TreeError(f"highlight: address {address} of {name!r} is not in the tree")
            drawn = [cells[address] for address in addresses if address in cells]
            for cell in drawn:
                styles[cell] = styles[cell] or highlight_style(k)
                names[cell] += (name,)
            if drawn:
                legend.append((name, highlight_style(k)))
        return Highlights(styles, names, legend if len(legend) > 1 else [])

    @property
    def secondary(self) -> tuple[SecondaryEdge, ...]:
        """The secondary edges between cells that are drawn."""
        root = -1 if self.options.root else len(self.tree)
        return tuple([edge for edge in self.tree.secondary if root not in (edge.child, edge.parent)])

    def legend(self, functions: bool) -> list[str]:
        """Return the labels that are drawn with their names, such as "NP: noun phrase"."""
        kinds = ["constituent", *["function"] * functions, *["tag"] * self.options.tags]
        names = explain_tree(self.tree) if self.options.legend else {}
        return [f"{label}: {name}" for (label, kind), name in names.items() if kind in kinds]

    def arrows(self) -> list[tuple[Arc, int]]:
        """Return arrows, and their levels, from heads to the middle of each part that a gap separates from its head.

        A part of several constituents has one arrow, from the head of the lowest. Punctuation is not a gap.
        """
        if not self.options.arrows:
            return []
        arrows: dict[int, Arc] = {}  # by the first word of the part
        scheme = guess_scheme(self.tree)
        rules = HeadRules.of(HEAD_RULES[scheme] if scheme else None)
        heads = to_dependencies(self.tree, rules).heads
        for node in self.tree.nodes():
            words = set(node.positions)
            (head,) = [word for word in words if heads[word] not in words]
            gaps = [end for start, end in node.gaps if not all(map(is_punctuation, self.tree.tokens[start:end]))]
            for start, end in pairwise([node.positions[0], *gaps, node.positions[-1] + 1]):
                if not start <= head < end:
                    part = [word for word in range(start, end) if word in words]
                    arrows[start] = Arc.between(head, part[(len(part) - 1) // 2])
        return [*zip(arrows.values(), arc_levels([*arrows.values()]), strict=True)]

    def has_triangle(self, children: Sequence[int]) -> bool:
        """Return whether a node with these children is a triangle over a single leaf, with its tip at the label."""
        return len(children) == 1 and children[0] in self.roofs


class _Leaf(NamedTuple):
    """Word, or block of a triangle's words, with the index of its parent among the nodes."""

    positions: tuple[int, ...]
    parent: int
    roofed: bool


def _find_triangles(
    nodes: Sequence[Node], parents: Sequence[int], size: int, options: DrawingOptions
) -> dict[int, int]:
    """Map each node in a triangle to the node that the triangle replaces, by index; the outermost triangle counts."""
    depths: list[int] = []
    triangles: dict[int, int] = {}
    for k, (node, parent) in enumerate(zip(nodes, parents, strict=True)):
        depths.append(depths[parent] + 1 if k else 0)
        is_word = len(node.children) == 1 and isinstance(node.children[0], int)  # a triangle would hide nothing
        if parent in triangles:
            triangles[k] = triangles[parent]
        elif not is_word and (size + k in options.triangles or depths[k] == options.depth):
            triangles[k] = k
    return triangles


def _leaves(parents: Sequence[int], hidden: set[int], triangles: dict[int, int]) -> list[_Leaf]:
    """Return the leaves of the lowest row, from left to right, given the parents of all words."""
    leaves: list[_Leaf] = []
    for position, parent in enumerate(parents):
        if position in hidden:
            continue
        triangle = triangles.get(parent)
        if triangle is None:
            leaves.append(_Leaf((position,), parent, False))
        elif leaves and leaves[-1].parent == triangle and parents[leaves[-1].positions[-1]] in triangles:
            leaves[-1] = _Leaf((*leaves[-1].positions, position), triangle, True)
        else:
            leaves.append(_Leaf((position,), triangle, parent != triangle))
    return leaves


def _rebuild(
    tree: Tree, nodes: Sequence[Node], parents: Sequence[int], leaves: Sequence[_Leaf]
) -> tuple[Tree, list[int]]:
    """Return the tree over these leaves, without empty nodes and nodes in triangles, and the origins of its cells."""
    n = len(tree)
    remaining: set[int] = {0}
    for leaf in leaves:
        ancestor = leaf.parent
        while ancestor not in remaining:
            remaining.add(ancestor)
            ancestor = parents[ancestor]
    order = sorted(remaining)
    index = {k: new - 1 for new, k in enumerate(order)}  # from_parents numbers the root -1
    words = tree.words
    tokens = [
        Token(" ".join([words[k] for k in leaf.positions])) if leaf.roofed else tree.tokens[leaf.positions[0]]
        for leaf in leaves
    ]
    # Siblings may change their order if their first words are hidden. Secondary edges reveal the new addresses.
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


NO_GLOSS = "_"
ID = "#"


class GlossBlock(NamedTuple):
    """Glosses and translation of one tree, and the number of their first line."""

    number: int
    id: str | None
    glosses: tuple[str, ...]
    translation: str


@dataclass(slots=True)
class GlossFile:
    """File of glosses: a block of lines for each tree, with an empty line between blocks.

        # 17
        It  came  nothing  interesting
        ‘Nothing interesting came.’

    The first line is the tree's id. If no block has an id, the blocks belong to the trees in order. The next line has a
    gloss for each word, and the last one is an optional translation. Glosses are separated by tabs if the line has any,
    and by whitespace otherwise; ``_`` means no gloss. Punctuation may be left out.
    """

    path: str
    blocks: Sequence[GlossBlock]
    used: int = field(default=0, init=False)  # blocks without ids that were returned

    @classmethod
    def read(cls, path: str) -> "GlossFile":
        """Read a file; raise an InputError with the line number if it is malformed."""
        with readable(path), open_binary(path) as stream:
            data = stream.read()
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError(f"{path}: not a UTF-8 file; save the glosses as UTF-8") from None
        blocks: list[GlossBlock] = []
        start, lines = 0, list[str]()
        for number, line in enumerate([*text.splitlines(), ""], 1):
            if line.strip():
                start = start if lines else number
                lines.append(line)
            elif lines:
                blocks.append(_parse_block(path, start, lines))
                lines = []
        if len({block.id is None for block in blocks}) > 1:
            bare = next(block for block in blocks if block.id is None)
            raise InputError(f"{path}:{bare.number}: expected '# ID', because other blocks have an id")
        return cls(path, blocks)

    def glosses_for(self, tree: Tree) -> tuple[tuple[str, ...], str]:
        """Return the glosses and the translation of a tree. If no block has an id, ask for the trees in order."""
        if self.blocks and self.blocks[0].id is None:
            if self.used == len(self.blocks):
                count = len(self.blocks)
                raise InputError(f"{self.path}: the file has {count} blocks of glosses, but there are more trees")
            block = self.blocks[self.used]
            self.used += 1
        else:
            blocks = [block for block in self.blocks if block.id == tree.id]
            if not blocks:
                raise InputError(f"{self.path}: no glosses for tree {tree.id!r}; add a block that starts '# {tree.id}'")
            block = blocks[0]
        return _glosses_per_word(self.path, block, tree), block.translation


def _parse_block(path: str, number: int, lines: Sequence[str]) -> GlossBlock:
    id = None
    if lines[0].startswith(ID):
        id, lines = lines[0][len(ID) :].strip(), lines[1:]
    if len(lines) > 2:
        raise InputError(f"{path}:{number}: expected a line of glosses and one translation, got {len(lines)} lines")
    line = lines[0] if lines else ""
    texts = [text.strip() for text in line.split("\t")] if "\t" in line else line.split()
    glosses = tuple(["" if text == NO_GLOSS else text for text in texts])
    return GlossBlock(number, id, glosses, lines[1].strip() if len(lines) > 1 else "")


def _glosses_per_word(path: str, block: GlossBlock, tree: Tree) -> tuple[str, ...]:
    """Return a gloss for each word, empty for punctuation that was left out."""
    if not block.glosses or len(block.glosses) == len(tree):
        return block.glosses
    words = [k for k, token in enumerate(tree.tokens) if not is_punctuation(token)]
    if len(block.glosses) != len(words):
        expected = f"{len(tree)} (or {len(words)} without punctuation) for tree {tree.id!r}"
        raise InputError(f"{path}:{block.number}: expected {expected}, got {len(block.glosses)} glosses")
    glosses = dict(zip(words, block.glosses, strict=True))
    return tuple([glosses.get(k, "") for k in range(len(tree))])
