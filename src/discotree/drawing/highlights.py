"""What stands out in a drawing: discontinuous constituents, or nodes with names, such as a query's variables.

A style has one of four colours and, for readers who do not see it, a box with a line pattern of its own.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from discotree.trees.tree import Tree

HUES = 4  # colours, in turn
DASHES = 4  # patterns of the box, the first one solid

# True: discontinuous constituents; or addresses by name: a token's position, len(tree) + k for the k-th of Tree.nodes.
Highlight = bool | Mapping[str, Collection[int]]


@dataclass(frozen=True, slots=True)
class Highlights:
    """Styles and names of all cells, by address, and the legend: names with their styles."""

    styles: list[str]  # empty for a plain cell
    names: list[tuple[str, ...]]
    legend: list[tuple[str, str]]

    @property
    def named(self) -> set[int]:
        """Addresses of the cells that have a name."""
        return {address for address, names in enumerate(self.names) if names}

    @classmethod
    def of(cls, tree: Tree, highlight: Highlight) -> "Highlights":
        """Choose styles; a node with several names has the style of the first one."""
        nodes = [*tree.nodes()]
        size = len(tree) + len(nodes)
        styles = [""] * size
        names: list[tuple[str, ...]] = [()] * size
        legend: list[tuple[str, str]] = []
        if isinstance(highlight, bool):
            found = [address for address, node in enumerate(nodes, len(tree)) if highlight and node.is_discontinuous]
            for k, address in enumerate(found):
                styles[address] = f"hue{k % HUES}"
            return cls(styles, names, [])
        for k, (name, addresses) in enumerate(highlight.items()):
            for address in addresses:
                styles[address] = styles[address] or style_of(k)
                names[address] += (name,)
            if addresses:
                legend.append((name, style_of(k)))
        return cls(styles, names, legend if len(legend) > 1 else [])


def style_of(k: int) -> str:
    """Return the style of the k-th name: the first 16 differ."""
    dash = (k + k // HUES) % DASHES
    return f"hue{k % HUES} dash{dash}" if dash else f"hue{k % HUES}"
