"""Readers of TikZ and forest sources that know nothing of how they are made: they follow names and brackets."""

import re

from discotree import Node
from discotree.drawing.tex import SPECIAL

_NODE = re.compile(r"\\node\[(word|phrase)[^\]]*\] \(([\w-]+)\) at \(-?\d+,-?\d+\) \{(.*)\};")
_STEM = re.compile(r"\(([\w-]+) \|- ([\w-]+)-bar\) -- \(([\w-]+?)(?:-tag|-function|)(?:\.north|-tip)\);")
_SLANTED = re.compile(r"\(([\w-]+)\.south\) --.* \(([\w-]+?)(?:-tag|-function|)(?:\.north|-tip)\);")
_ROOF = re.compile(r"\(([\w-]+?)\.south\) -- \(([\w-]+)\.north west\) -- \(\2\.north east\) -- cycle;")


def plain(text):
    """Return a text without TeX's escapes."""
    for sign, escaped in SPECIAL.items():
        text = text.replace(escaped, sign)
    return text.replace("\\kern0pt{}", "")


def in_order(roots):
    """Return what hangs on a hidden root, from left to right."""
    return sorted(roots, key=lambda root: root if isinstance(root, int) else root.first)


def read_tikz(source):
    """Return the root and the words of a picture, by following its lines from name to name."""
    texts, words = {}, []
    for kind, name, text in _NODE.findall(source):
        assert name not in texts, "two nodes with one name"
        texts[name] = plain(text)
        if kind == "word":
            words.append(name)
    below = {}
    for line in source.splitlines():
        if not line.startswith("\\draw"):
            continue
        if (found := _ROOF.search(line)) or (found := _SLANTED.search(line)):
            below.setdefault(found[1], []).append(found[2])
        elif (found := _STEM.search(line)) and not line.startswith("\\draw[passage"):
            assert found[1] == found[3], "a stem is vertical"
            below.setdefault(found[2], []).append(found[3])
    children = [child for found in below.values() for child in found]
    assert len(children) == len(set(children)), "two lines to one node"
    tops = [name for name in texts if name not in children]

    def node(name):
        if name in words:
            return words.index(name)
        return Node(texts[name], [node(child) for child in below[name]])

    roots = in_order([node(name) for name in tops])
    return (roots[0] if len(roots) == 1 else roots), [texts[name] for name in words]


def read_forest(source):
    """Return the root and the words of brackets, with moved parts where their lines begin."""
    body = source[source.index("  [") :]
    stack, root, words, named, moved = [], None, [], {}, set()
    for line in body.splitlines():
        if line.strip().startswith("\\draw[moved"):
            parent, child = re.search(r"\(([\w-]+)\.south\).*?\(?(?:\[yshift=6pt\])?([\w-]+)\.north\)", line).groups()
            cell = named[child]
            cell["parent"]["children"].remove(cell)
            named[parent]["children"].append(cell)
            moved.add(child)
        if not line.strip().startswith("["):
            continue
        line = line.strip()
        while line.startswith("[, phantom"):
            stack.append({"parent": stack[-1] if stack else None, "children": [], "text": None})
            if stack[-1]["parent"]:
                stack[-1]["parent"]["children"].append(stack[-1])
            root = root or stack[-1]
            line = line.removeprefix("[, phantom").strip()
        if not line:
            continue
        text, options, closed = re.fullmatch(r"\[\{(.*?)\}((?:, [^\]]*)?)(\]*)", line).groups()
        cell = {"parent": stack[-1] if stack else None, "children": [], "text": plain(text), "word": None}
        if cell["parent"]:
            cell["parent"]["children"].append(cell)
        root = root or cell
        if name := re.search(r"name=([\w-]+)", options):
            named[name[1]] = cell
        stack.append(cell)
        if closed:
            cell["word"] = len(words)
            words.append(plain(text.split("\\\\")[-1]))
        del stack[len(stack) - len(closed) :]
    assert not stack, "brackets that do not close"

    def node(cell):
        if cell.get("word") is not None:
            return cell["word"]
        below = [inner for child in cell["children"] for inner in _shown(child)]
        return Node(cell["text"], [node(child) for child in below])

    tops = in_order([node(top) for top in _shown(root)])
    return (tops[0] if len(tops) == 1 else tops), words


def _shown(cell):
    """Return a cell, or in place of an invisible one those below it."""
    return [cell] if cell["text"] is not None else [inner for child in cell["children"] for inner in _shown(child)]
