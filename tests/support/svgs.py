"""Reader of SVG pictures that knows nothing of how they are made: it follows the lines down from each label."""

import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

from discotree import Node
from discotree.drawing.measure import ems

SVG = "{http://www.w3.org/2000/svg}"
_STEP = re.compile(r"([MVHLZ])(-?[\d.]+)?(?: (-?[\d.]+))?")
SIZES = {"label": 14, "tag": 12, "form": 15, "function": 11, "gloss": 12}


class Line(NamedTuple):
    """Straight line, horizontal or vertical, with its upper or left end first."""

    x1: float
    y1: float
    x2: float
    y2: float


def parsed(svg):
    """Return the picture as XML; one that is not well-formed is an error."""
    return ET.fromstring(svg.encode())


def groups(picture, kind):
    return [group for group in picture.iter(f"{SVG}g") if kind in group.get("class").split()]


def text_of(group, kind):
    found = [text for text in group.findall(f"{SVG}text") if text.get("class") == kind]
    return found[0] if found else None


def segments(group, kind="line"):
    """Yield the pieces of a group's paths of one class, each with its beginning first."""
    for path in group.findall(f"{SVG}path"):
        if kind in path.get("class").split():
            x = y = 0.0
            start = x, y
            for step, first, second in _STEP.findall(path.get("d")):
                if step == "M":
                    start = x, y = float(first), float(second)
                    continue
                to = {
                    "V": lambda first=first, x=x: (x, float(first)),
                    "H": lambda first=first, y=y: (float(first), y),
                    "L": lambda first=first, second=second: (float(first), float(second)),
                    "Z": lambda start=start: start,
                }[step]()
                yield Line(x, y, *to)
                x, y = to


def lines_of(group, kind="line"):
    """Yield the straight lines of a group's paths of one class."""
    for x1, y1, x2, y2 in segments(group, kind):
        yield Line(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))


def boxes(picture):
    """Yield every text with its rectangle: left, top, right, bottom."""
    for text in picture.iter(f"{SVG}text"):
        kind = text.get("class")
        if kind in SIZES:
            x, baseline, size = float(text.get("x")), float(text.get("y")), SIZES[kind]
            half = ems(text.text) * size / 2
            yield text.text, (x - half, baseline - 0.72 * size, x + half, baseline + 0.2 * size)


def read_svg(svg):
    """Return the root and the words of a drawing, by following its lines."""
    picture = parsed(svg)
    tops = {}  # topmost text of each group, where a line from above may end, by column
    words = groups(picture, "word")
    for position, group in enumerate(words):
        tops.setdefault(float(text_of(group, "form").get("x")), []).append((_top(group), position))
    nodes = groups(picture, "node")
    for k, group in enumerate(nodes):
        tops.setdefault(float(text_of(group, "label").get("x")), []).append((_top(group), len(words) + k))
    below = {}
    for k, group in enumerate(nodes):
        ends = [(x, y) for *_, x, y in _ends(group)]
        below[len(words) + k] = [_end(x, y, tops) for x, y in ends] or [_roofed(group, words)]
    children = {child for found in below.values() for child in found}

    def node(address):
        if address < len(words):
            return address
        label = text_of(nodes[address - len(words)], "label").text
        return Node(label, [node(child) for child in below[address]])

    roots = [node(address) for address in range(len(words) + len(nodes)) if address not in children]
    roots.sort(key=lambda root: root if isinstance(root, int) else root.first)  # those below a hidden root
    return (roots[0] if len(roots) == 1 else roots), [text_of(group, "form").text for group in words]


def _ends(group):
    """Yield the last piece of every edge."""
    for path in group.findall(f"{SVG}path"):
        if "edge" in path.get("class").split():
            alone = ET.Element("g")
            alone.append(path)
            yield [*segments(alone)][-1]


def _roofed(group, words):
    """Return the word below the triangle of a node."""
    tip, base, _ = segments(group, "roof")
    (found,) = [k for k, word in enumerate(words) if base.x1 < float(text_of(word, "form").get("x")) < base.x2]
    assert tip.x1 == float(text_of(words[found], "form").get("x"))
    return found


def _top(group):
    """Return about the middle of the topmost text."""
    return min(float(text.get("y")) for text in group.findall(f"{SVG}text")) - 5


def _end(x, y, tops):
    """Return the address of the text right below the end of a line, or below the triangle there."""
    nearest = [(top - y, address) for top, address in tops[x] if 0 < top - y < 13]
    if not nearest:  # a triangle is between them
        nearest = [(top - y, address) for top, address in tops[x] if 0 < top - y < 36]
    ((_, address),) = nearest
    return address
