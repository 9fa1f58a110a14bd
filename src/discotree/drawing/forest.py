"""Trees for the LaTeX package forest: nested brackets, one constituent or word per line, to be edited by hand.

forest arranges the nodes itself, and draws no line across another. So a part of a discontinuous constituent that stands
apart from the rest moves up, to the lowest constituent in which its words are neighbours of the others: there it has
``no edge``, and a line by names, behind the brackets, connects it with its true parent. Invisible nodes (``phantom``)
keep it below that parent. All words keep their order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from discotree.drawing.figure import Figure
from discotree.drawing.glyphs import clean
from discotree.drawing.highlights import Highlight, Highlights
from discotree.drawing.latex import DASHES
from discotree.drawing.layout import layout
from discotree.drawing.look import WHOLE, Look
from discotree.drawing.tex import PROVIDED, RIGHT_TO_LEFT_MACRO, Names, color_definitions, document, tex
from discotree.trees.tree import NONE, Node, Tree

HEAD = "\\documentclass[border=6pt,multi=forest]{standalone}\n\\usepackage[edges,linguistics]{forest}\n"
SHAPES = {"square": ", forked edge, fork sep=8pt", "slanted": ""}
STYLES = r"""  for tree={parent anchor=south, child anchor=north, align=center, base=bottom,
    inner ysep=2pt, l sep=16ptSHAPE},
  where n children=0{tier=word}{},
  function/.style={edge label={node[pos=1, anchor=south, fill=white, inner sep=1pt, font=\tiny]{#1}}},
  marked/.style={draw=#1, text=#1, font=\bfseries, rounded corners=2pt, for children={edge={#1, thick}}},"""
MOVED = r"\tikzset{moved/.style={preaction={draw=white, line width=3pt}}}"  # the lines below are interrupted
MIN_LINE = 220  # points that a line of a translation may have


def draw_forest(
    tree: Tree,
    *,
    standalone: bool = True,
    functions: bool = True,
    highlight: Highlight = True,
    look: Look = WHOLE,
) -> str:
    """Draw a tree as a document that compiles as it is, or for a document that loads forest.

    Such a document has ``\\usepackage[edges,linguistics]{forest}``. ``highlight`` and ``look`` are as in ``draw_svg``.
    """
    figure = Figure.of(tree, look)
    highlights = Highlights.of(figure.tree, figure.highlight(highlight))
    picture = _ForestTree(figure, highlights, functions).source()
    return forest_pages([picture]) if standalone else picture


def forest_pages(pictures: Sequence[str]) -> str:
    """Return one document with a page for each picture of ``draw_forest(…, standalone=False)``."""
    return document(HEAD, pictures)


@dataclass(slots=True)
class _ForestTree:
    """Tree with its cells where the brackets have them. Lists are indexed by address."""

    figure: Figure
    highlights: Highlights
    functions: bool
    nodes: list[Node] = field(init=False)
    parents: list[int] = field(init=False)
    brackets: list[list[int]] = field(init=False)  # children of each node in the brackets, from left to right
    moved: list[int] = field(init=False)  # cells whose parent in the brackets is not their own
    names: dict[int, str] = field(init=False)  # names for cells that lines lead to

    def __post_init__(self) -> None:
        self.nodes = [*self.figure.tree.nodes()]
        self.parents = [cell.parent for cell in layout(self.figure.tree).cells]
        self.brackets, self.moved = _continuous(self.figure.tree, self.parents)
        if not self.figure.look.root:
            self.moved = [cell for cell in self.moved if self.parents[cell] != len(self.figure.tree)]
        named = {*self.moved, *[self.parents[cell] for cell in self.moved]}
        for _, child, parent in self.figure.secondary:
            named |= {child, parent}
        names = Names()
        texts = [token.form for token in self.figure.tree.tokens] + [node.label for node in self.nodes]
        self.names = {cell: names.new(text, "node") for cell, text in enumerate(texts) if cell in named}

    def source(self) -> str:
        styles = STYLES.replace("SHAPE", SHAPES[self.figure.look.lines])
        lines = color_definitions(self.highlights.styles)
        body = [*self._bracketed(), *self._lines(), *self._below()]
        if self.moved:
            lines.append(MOVED)
        if any(RIGHT_TO_LEFT_MACRO in line for line in body):
            lines.append(PROVIDED)
        return "\n".join([*lines, "\\begin{forest}", styles, *body, "\\end{forest}\n"])

    def _bracketed(self) -> Iterator[str]:
        """Yield the brackets, a line for each node; words close the brackets that end behind them."""
        n = len(self.figure.tree)
        depths = self._depths()
        stack = [(n, 1)]
        lines: list[str] = []
        while stack:
            cell, indent = stack.pop()
            if cell < 0:
                lines[-1] += "]" * -cell
                continue
            lines.append(f"{'  ' * indent}[{self._content(cell)}")
            if cell < n:
                lines[-1] += "]"
                continue
            phantoms = max(0, depths[cell] - indent)
            if phantoms:
                lines[-1] = f"{'  ' * indent}{'[, phantom ' * phantoms}{lines[-1].lstrip()}"
            stack.append((-1 - phantoms, 0))
            stack += [(child, depths[cell] + 1) for child in reversed(self.brackets[cell - n])]
        yield from lines

    def _depths(self) -> list[int]:
        """Return the depth of each node in the brackets, by address: below its parent there, and below its own."""
        n = len(self.figure.tree)
        depths = [0] * n + [1] * len(self.nodes)
        above = {child: n + k for k, children in enumerate(self.brackets) for child in children}
        for cell in range(n + 1, len(depths)):
            depths[cell] = 1 + max(depths[above[cell]], depths[self.parents[cell]])
        return depths

    def _content(self, cell: int) -> str:
        """Return what a node shows, with its options."""
        tree, n = self.figure.tree, len(self.figure.tree)
        options = []
        if cell < n:
            token, rows = tree.tokens[cell], []
            if self.figure.look.tags and token.tag != NONE and cell not in self.figure.roofs:
                rows.append(f"\\small {tex(clean(token.tag))}")
            rows.append(tex(clean(token.form)))
            if self.figure.glosses:
                gloss = self.figure.glosses[cell]
                rows.append(f"\\small {tex(clean(gloss))}" if gloss else "\\strut")
            text, function = "\\\\".join(rows), token.function
            if cell in self.figure.roofs:
                options.append("roof")
        else:
            text, function = tex(clean(self.nodes[cell - n].label)), self.nodes[cell - n].function
        if cell == n and not self.figure.look.root:
            return ", phantom"
        if cell in self.names:
            options.append(f"name={self.names[cell]}")
        if cell in self.moved:
            options.append("no edge")
        elif self.functions and function != NONE:
            options.append(f"function={{{tex(clean(function))}}}")
        options += self._mark(self.highlights.styles[cell])
        return ", ".join([f"{{{text}}}", *options])

    def _mark(self, style: str) -> list[str]:
        hue, *dash = style.split() or [""]
        return [f"marked={hue}", *[DASHES[name] for name in dash]] if hue else []

    def _lines(self) -> Iterator[str]:
        """Yield the lines that brackets cannot draw: to moved parts, and secondary edges."""
        tree, n = self.figure.tree, len(self.figure.tree)
        for cell in self.moved:
            parent = self.parents[cell]
            function = tree.tokens[cell].function if cell < n else self.nodes[cell - n].function
            style = self.highlights.styles[parent]
            options = f"moved, {style.split()[0]}, thick" if style else "moved"
            label = ""
            if self.functions and function != NONE:
                label = f" node[pos=1, anchor=south, fill=white, inner sep=1pt, font=\\tiny]{{{tex(clean(function))}}}"
            corner = "--" if self.figure.look.is_slanted else "-- ++(0,-4pt) -|"
            name = self.names[cell]
            end = f"({name}.north)"
            if cell in self.figure.roofs:
                tip = f"([yshift=6pt]{name}.north)"
                end = f"{tip} -- ({name}.north west) -- ({name}.north east) -- {tip}"
            yield f"  \\draw[{options}] ({self.names[parent]}.south) {corner}{label} {end};"
        for role, child, parent in self.figure.secondary:
            label = f"node[midway, fill=white, inner sep=1pt, font=\\tiny]{{{tex(clean(role))}}}"
            bend = "left" if self._first(child) < self._first(parent) else "right"
            ends = f"({self.names[child]}.north) to[bend {bend}] {label} ({self.names[parent]})"
            yield f"  \\draw[->, dashed, black!65] {ends};"

    def _first(self, cell: int) -> int:
        n = len(self.figure.tree)
        return cell if cell < n else self.nodes[cell - n].first

    def _below(self) -> Iterator[str]:
        """Yield the legend and the translation, below the tree."""
        at = "at ([yshift=-4pt]current bounding box.south west)"
        if self.highlights.legend:
            names = [
                f"\\textcolor{{{style.split()[0]}}}{{{tex(clean(name))}}}" for name, style in self.highlights.legend
            ]
            together = " \\quad ".join(names)
            yield f"  \\node[anchor=north west] {at} {{{together}}};"
        if text := " ".join(map(clean, self.figure.look.translation.split())):
            yield f"  \\node[anchor=north west, align=left, text width={MIN_LINE}pt] {at} {{{tex(text)}}};"


def _continuous(tree: Tree, parents: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the children of each node in brackets without gaps, and the cells that have another parent there.

    Nodes are visited from below. Each keeps the run of neighbours that has most of its own children, or most words, and
    passes the others on to the node above it.
    """
    n = len(tree)
    nodes = [*tree.nodes()]
    spans = [(k, k + 1) for k in range(n)] + [(0, 0)] * len(nodes)  # in the brackets: first word, and the one behind
    waiting: list[list[int]] = [[] for _ in nodes]
    for cell in range(n):
        waiting[parents[cell] - n].append(cell)
    brackets: list[list[int]] = [[] for _ in nodes]
    moved: list[int] = []
    for k in reversed(range(len(nodes))):  # children come after their parents
        runs: list[list[int]] = []
        for cell in sorted(waiting[k], key=lambda cell: spans[cell]):
            if runs and spans[runs[-1][-1]][1] == spans[cell][0]:
                runs[-1].append(cell)
            else:
                runs.append([cell])
        own = [[spans[cell][1] - spans[cell][0] for cell in run if parents[cell] == n + k] for run in runs]
        kept = runs[max(range(len(runs)), key=lambda r: (len(own[r]), sum(own[r])))]
        brackets[k] = kept
        spans[n + k] = spans[kept[0]][0], spans[kept[-1]][1]
        moved += [cell for cell in kept if parents[cell] != n + k]
        if k:
            waiting[parents[n + k] - n] += [cell for run in runs if run is not kept for cell in run]
            waiting[parents[n + k] - n].append(n + k)
    return brackets, sorted(moved)
