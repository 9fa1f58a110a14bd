"""Match: where a query was found, and the nodes that its variables stand for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discotree.queries.predicates import confidence
from discotree.queries.tree_view import TreeView
from discotree.trees.node import lowest_bit, mask_spans
from discotree.trees.tree import GAP, Node, Tree


@dataclass(frozen=True, slots=True)
class FoundNode:
    """A node of a tree, word or constituent, that a variable stands for. Features that it lacks are None."""

    view: TreeView
    address: int  # a token's position; beyond the tokens, nodes in the order of Tree.nodes

    @property
    def tree(self) -> Tree:
        return self.view.tree

    @property
    def node(self) -> Node | None:
        """The constituent; None for a word."""
        return self.view.nodes[self.address - self.view.terminals] if self.address >= self.view.terminals else None

    @property
    def word(self) -> str | None:
        return self.view.value(self.address, "word")

    @property
    def lemma(self) -> str | None:
        return self.view.value(self.address, "lemma")

    @property
    def pos(self) -> str | None:
        return self.view.value(self.address, "pos")

    @property
    def morph(self) -> str | None:
        return self.view.value(self.address, "morph")

    @property
    def cat(self) -> str | None:
        return self.view.value(self.address, "cat")

    @property
    def edge(self) -> str | None:
        return self.view.value(self.address, "edge")

    @property
    def text(self) -> str:
        """The words, with an ellipsis for gaps."""
        words = self.view.words
        return GAP.join([" ".join(words[start:end]) for start, end in self.spans])

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of all words."""
        return tuple(position for start, end in self.spans for position in range(start, end))

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The unbroken stretches of words, as (start, end) with the end excluded."""
        return mask_spans(self.view.mask(self.address))

    @property
    def gap_degree(self) -> int:
        return len(self.spans) - 1

    @property
    def confidence(self) -> float | None:
        """The parser's confidence of a constituent, if the tree has confidences."""
        return confidence(self.view, self.address)

    def __repr__(self) -> str:
        return f"<{self.cat or self.pos or 'word'}: {self.text}>"


@dataclass(frozen=True, slots=True)
class Match(Mapping[str, "FoundNode | str | None"]):
    """One way in which a query fits a tree: its variables, and what each stands for.

    A variable of an alternative that was not taken stands for None. Names may be written with or without their #.
    """

    view: TreeView
    bindings: dict[str, int | str | None]
    node_variables: tuple[str, ...] = ()  # those that stand for nodes, bound or not

    @property
    def tree(self) -> Tree:
        return self.view.tree

    def __getitem__(self, name: str) -> "FoundNode | str | None":
        bound = self.bindings[name if name in self.bindings else f"#{name}"]
        return FoundNode(self.view, bound) if isinstance(bound, int) else bound

    def __iter__(self) -> Iterator[str]:
        return iter(self.bindings)

    def __len__(self) -> int:
        return len(self.bindings)

    def __repr__(self) -> str:
        return f"Match({self.tree!r}, {self.bindings!r})"

    @property
    def nodes(self) -> dict[str, tuple[int, ...]]:
        """The addresses of the nodes that the variables stand for, as drawings highlight them; values are left out."""
        bound = {name: value for name, value in self.bindings.items() if not isinstance(value, str)}
        return {name: () if address is None else (address,) for name, address in bound.items()}

    @property
    def focus(self) -> FoundNode:
        """The first node of the query that is bound; the root where the variables stand for values alone."""
        root = FoundNode(self.view, self.view.terminals)
        return next((node for node in self.values() if isinstance(node, FoundNode)), root)

    def found(self, focus: str = "") -> FoundNode:
        """Return the node of a variable, or the first one where that is not bound."""
        found = self[focus] if focus else None
        return found if isinstance(found, FoundNode) else self.focus

    def context(self, width: int = 40, focus: str = "") -> tuple[str, list[tuple[str, bool]], str]:
        """Return the words before a node, its own, and those behind it, at most ``width`` characters on both sides.

        Its own words are pieces of text, each with a flag that is True for a gap.
        """
        found = self.found(focus)
        words = self.view.words
        pieces: list[tuple[str, bool]] = []
        end = found.spans[0][0]
        for start, stop in found.spans:
            if start > end:
                pieces.append((" ".join(words[end:start]), True))
            pieces.append((" ".join(words[start:stop]), False))
            end = stop
        left = " ".join(words[: lowest_bit(self.view.mask(found.address))])
        right = " ".join(words[end:])
        left = left if len(left) <= width else f"…{left[len(left) - width + 1 :]}"
        right = right if len(right) <= width else f"{right[: max(0, width - 1)]}…"
        return left, pieces, right

    def concordance(self, width: int = 40, focus: str = "") -> str:
        """Return a line with the words of a node in brackets, and ``width`` characters of its sentence around it.

        The node is the one of the variable ``focus``, or the first one where that is not bound.
        """
        left, pieces, right = self.context(width, focus)
        shown = " ".join([text if is_gap else f"[{text}]" for text, is_gap in pieces])
        return f"{left:>{width}} {shown} {right}".rstrip()
