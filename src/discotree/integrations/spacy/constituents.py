"""Constituent: a node of the tree with the spaCy tokens that it covers, in one piece or in several."""

from bisect import bisect_right
from dataclasses import dataclass, field

from spacy.tokens import Span, Token

from discotree.integrations.spacy.storage import Parse
from discotree.treebanks.dataframes import GAP
from discotree.trees.tree import Node, Tree


@dataclass(frozen=True, slots=True, repr=False)
class Constituent:
    """A constituent of a sentence."""

    sent: Span
    number: int  # in the order of Tree.nodes
    parse: Parse = field(compare=False)

    @property
    def _node(self) -> Node:
        return self.parse.nodes[self.number]

    @property
    def label(self) -> str:
        return self._node.label

    @property
    def function(self) -> str:
        """What it is in its parent, -- where nobody said."""
        return self._node.function

    @property
    def confidence(self) -> float | None:
        """How sure the parser is of it."""
        sure = self.parse.tree.confidences
        return sure[self.number] if sure else None

    @property
    def is_discontinuous(self) -> bool:
        return self._node.is_discontinuous

    @property
    def spans(self) -> list[Span]:
        """Its unbroken stretches, from left to right; spaces alone break nothing."""
        ends: list[tuple[int, int]] = []
        for start, end in self._node.blocks:
            first, last = self._token_at(self.parse.starts[start]), self._token_at(self.parse.ends[end - 1] - 1)
            if ends and first <= ends[-1][1] + 1:  # tokens have been merged since
                first = ends.pop()[0]
            ends.append((first, last))
        return [self.sent.doc[first : last + 1] for first, last in ends]

    @property
    def tokens(self) -> list[Token]:
        """Its tokens, without those that are spaces."""
        return [token for span in self.spans for token in span if not token.is_space]

    @property
    def text(self) -> str:
        return GAP.join([span.text for span in self.spans])

    @property
    def parent(self) -> "Constituent | None":
        above = self.parse.above[self.number]
        return None if above < 0 else Constituent(self.sent, above, self.parse)

    @property
    def children(self) -> "list[Constituent | Token]":
        """What is directly below it, in the order of the first words; a token of several words once."""
        number = self.number + 1
        children: list[Constituent | Token] = []
        seen = set()
        for child in self._node.children:
            if isinstance(child, int):
                place = self._token_at(self.parse.starts[child])
                if place not in seen:
                    children.append(self.sent.doc[place])
                seen.add(place)
            else:
                while self.parse.nodes[number] is not child:
                    number += 1
                children.append(Constituent(self.sent, number, self.parse))
        return children

    @property
    def tree(self) -> Tree:
        """The part of the tree that begins here, with its words alone."""
        return self.parse.tree if self.number == 0 else _part(self.parse.tree, self._node)

    def _token_at(self, character: int) -> int:
        doc, start, end = self.sent.doc, self.sent.start, self.sent.end
        place = self.sent.start_char + character
        return max(start, start + bisect_right(range(start, end), place, key=lambda i: doc[i].idx) - 1)

    def __repr__(self) -> str:
        return f"<{self.label}: {self.text}>"


def _part(tree: Tree, top: Node) -> Tree:
    """A node as a tree of its own: its words are counted anew, gaps close."""
    new = {position: k for k, position in enumerate(top.positions)}
    done: list[Node] = []
    for node in reversed(list(top.nodes())):  # so that the children of a node are the last that were done
        children = [new[child] if isinstance(child, int) else done.pop() for child in node.children]
        done.append(Node(node.label, children, node.function))
    return Tree(tuple([tree.tokens[position] for position in new]), done[0])
