"""Look: what of a tree is drawn, and with which lines."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from discotree.errors import TreeError
from discotree.trees.tree import NONE, Tree

Lines = Literal["square", "slanted"]
TokenGloss = Literal["lemma", "morph"]  # glosses that treebanks have


@dataclass(frozen=True, slots=True)
class Look:
    """What of a tree is drawn, and how: everything, with square lines, unless you say otherwise.

    Nodes have the addresses of secondary edges: the k-th node in the order of ``Tree.nodes`` is ``len(tree) + k``.
    """

    punctuation: bool = True
    root: bool = True
    tags: bool = True
    triangles: Collection[int] = ()  # addresses of constituents that become a triangle over their words
    depth: int | None = None  # constituents so far below the root become triangles, too
    glosses: Sequence[str] | TokenGloss = ()  # a text under each word, or the name of what its token has
    translation: str = ""  # below everything
    lines: Lines = "square"

    def __post_init__(self) -> None:
        if self.lines not in get_args(Lines):
            raise ValueError(f"lines are {' or '.join(get_args(Lines))}, not {self.lines!r}")
        if self.depth is not None and self.depth < 0:
            raise ValueError(f"a depth is counted from the root, which has 0; got {self.depth}")
        if isinstance(self.glosses, str) and self.glosses not in get_args(TokenGloss):
            raise ValueError(f"glosses are {', '.join(get_args(TokenGloss))} or a list, not {self.glosses!r}")

    def glosses_of(self, tree: Tree) -> tuple[str, ...]:
        """Return a gloss for each word, empty where it has none; nothing where no word has one."""
        if isinstance(self.glosses, str):
            found = tuple([token.lemma if self.glosses == "lemma" else token.morph for token in tree.tokens])
        else:
            found = tuple(self.glosses)
        if found and len(found) != len(tree):
            raise TreeError(f"{len(found)} glosses for the {len(tree)} words of tree {tree.id!r}")
        found = tuple(["" if gloss == NONE else gloss for gloss in found])
        return found if any(found) else ()

    @property
    def is_slanted(self) -> bool:
        return self.lines == "slanted"


WHOLE = Look()
