"""Reader of SVG pictures that knows nothing of how they are made: it follows the lines down from each label."""

import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

from discotree import Node
from discotree.drawing.glyphs import ems

SVG = "{http://www.w3.org/2000/svg}"
_STEP = re.compile(r"([MVH])(-?[\d.]+)(?: (-?[\d.]+))?")
SIZES = {"label": 14, "tag": 12, "form": 15, "function": 11}


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


def lines_of(group, kind="line"):
    """Yield the straight lines of a group's paths of one class."""
    for path in group.findall(f"{SVG}path"):
        if kind in path.get("class").split():
            x = y = 0.0
            for step, first, second in _STEP.findall(path.get("d")):
                if step == "M":
                    x, y = float(first), float(second)
                    continue
                to = (x, float(first)) if step == "V" else (float(first), y)
                yield Line(min(x, to[0]), min(y, to[1]), max(x, to[0]), max(y, to[1]))
                x, y = to


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
        below[len(words) + k] = [_end(line, tops) for line in lines_of(group, "edge")]
    (root,) = set(below) - {child for children in below.values() for child in children}

    def node(address):
        label = text_of(nodes[address - len(words)], "label").text
        return Node(label, [child if child < len(words) else node(child) for child in below[address]])

    return node(root), [text_of(group, "form").text for group in words]


def _top(group):
    """Return about the middle of the topmost text."""
    return min(float(text.get("y")) for text in group.findall(f"{SVG}text")) - 5


def _end(line, tops):
    """Return the address of the text right below the end of a line."""
    assert line.x1 == line.x2, "a stem is vertical"
    nearest = [(top - line.y2, address) for top, address in tops[line.x1] if 0 < top - line.y2 < 13]
    ((_, address),) = nearest
    return address
