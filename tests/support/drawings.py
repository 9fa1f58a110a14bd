"""Reader of text drawings that knows nothing of how they are made: it follows the lines from each label down to its
children, and from one panel to the next."""

import re
import unicodedata

from discotree import Node, Tree
from discotree.drawing import draw_text
from discotree.trees.tree import NONE

STYLES = {
    False: ("│", "┌┬┐├┼┤", "…"),
    True: ("|", "+", ".."),
}  # by ascii: stem, joints that lead down to a child, continuation


def cells(line):
    """Return the cells of a line in a terminal: a character two cells wide is followed by an empty one."""
    shown = []
    for sign in line:
        if unicodedata.combining(sign):
            shown[-1] += sign
        else:
            shown += [sign, ""] if unicodedata.east_asian_width(sign) in "WF" else [sign]
    return shown


def runs(line):
    """Return the texts between spaces as (start, end, text)."""
    found, start = [], None
    for x, cell in enumerate([*line, " "]):
        if cell == " " and start is not None:
            found.append((start, x, "".join(line[start:x])))
        start = None if cell == " " else x if start is None else start
    return found


def bars_of(panel, ascii, tagged, first_word):
    """Yield the bars of a panel: label if it is there, children, and the names at both edges.

    A label is identified by the first word of its panel, its line and its first cell.
    """
    stem, downs, continued = STYLES[ascii]
    lines = [cells(line) for line in panel.split("\n")]
    height = len(lines) - 1 - tagged
    names = []
    for line in lines[:height]:
        text = "".join(line)
        comes = re.match(rf"\s*(\w\S*?){re.escape(continued)}(?=[^\w\s])", text)
        goes = re.search(rf"{re.escape(continued)}([^\W\d]\S*|)$", text)
        names.append((comes and comes[1], goes and goes[1]))
        if goes:
            del line[len(cells(text[: goes.start()])) :]
        if comes:
            line[: len(cells(comes[0]))] = [" "] * len(cells(comes[0]))
    found = [runs(line) for line in lines]
    has_labels = [any(cell[:1].isalpha() for cell in line) for line in lines[:height]]

    def follow(row, x):
        while row < height and lines[row][x] == stem:
            row += 1
        ((start, end, text),) = [run for run in found[row] if run[0] <= x < run[1]]
        assert (start + end - 1) // 2 == x, "a line leads to the middle of a text"
        if row == height:
            return first_word + found[row].index((start, end, text))
        assert has_labels[row], f"a line leads to {text}"
        return first_word, row, start

    for row in range(height):
        above = [run for run in found[row - 1] if run[2] != stem] if row and has_labels[row - 1] else []
        for start, end, text in [] if has_labels[row] else found[row]:
            labels = [label for label in above if label[0] < end and start < label[1]]
            if text == stem and not labels:
                continue  # passes
            assert len(labels) < 2, "two labels over one bar"
            yield {
                "node": [((first_word, row - 1, label[0]), label[2]) for label in labels],
                "children": [follow(row + 1, x) for x in range(start, end) if lines[row][x] in downs or text == stem],
                "comes": names[row][0] if start == found[row][0][0] else None,
                "goes": names[row][1] if end == len(lines[row]) else None,
            }


def read_drawing(text, ascii=False, tagged=True):
    """Return the root node and the words."""
    leaving, found, words = [], [], []
    for panel in text.split("\n\n"):
        entering = iter(leaving)
        leaving = []
        for bar in bars_of(panel, ascii, tagged, len(words)):
            assert bar["node"] or bar["comes"] or bar["goes"], "a bar without a name"
            whole = bar
            if bar["comes"]:
                whole = next(entering)
                whole["node"] += bar["node"]
                whole["children"] += bar["children"]
            else:
                found.append(bar)
                whole["names"] = set()
            whole["names"] |= {bar["comes"], bar["goes"]} - {None, ""}
            if bar["goes"] is not None:
                leaving.append(whole)
        assert next(entering, None) is None
        words += [text for _, _, text in runs(cells(panel.split("\n")[-1]))]
    assert not leaving
    inside = {}
    for bar in found:
        ((x, label),) = bar["node"]
        assert bar["names"] <= {label}
        inside[x] = label, bar["children"]
    (root,) = set(inside) - {child for _, children in inside.values() for child in children}

    def node(x):
        label, children = inside[x]
        return Node(label, [child if isinstance(child, int) else node(child) for child in children])

    return node(root), words


def as_drawn(tree, functions=False):
    """Return the root with only the labels that the drawing shows."""
    tokens, nodes = tree.parents()
    named = [(f"{a}-{b}" if functions and b != NONE else a, NONE, parent) for a, b, parent in nodes]
    return Tree.from_parents(tree.tokens, tokens, named, root=(tree.root.label, NONE)).root


def assert_reads_back(tree, **options):
    drawing = draw_text(tree, **options)
    tagged = any(t.tag != NONE or (options.get("functions") and t.function) for t in tree.tokens)
    root, words = read_drawing(drawing, options.get("ascii", False), tagged)
    assert words == list(tree.words)
    assert root == as_drawn(tree, options.get("functions", False)), drawing
