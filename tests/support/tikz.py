"""Reader of TikZ sources that follows the names of nodes and knows nothing of the code that writes them."""

import re

from discotree import Node
from discotree.drawing.latex import SPECIAL

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
