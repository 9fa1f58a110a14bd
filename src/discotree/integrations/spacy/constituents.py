"""DocConstituent: a node of a tree with the spaCy tokens it covers, in one span or in several."""

from bisect import bisect_right
from dataclasses import dataclass, field

from spacy.tokens import Span, Token

from discotree.integrations.spacy.storage import StoredParse
from discotree.trees.tree import GAP, Node, Tree


@dataclass(frozen=True, slots=True, repr=False)
class DocConstituent:
    """A constituent of a sentence in a Doc."""

    sent: Span
    number: int  # in the order of Tree.nodes
    parse: StoredParse = field(compare=False)

    @property
    def _node(self) -> Node:
        return self.parse.nodes[self.number]

    @property
    def label(self) -> str:
        return self._node.label

    @property
    def function(self) -> str:
        """Its grammatical function in the parent, ``--`` if unknown."""
        return self._node.function

    @property
    def confidence(self) -> float | None:
        """The parser's probability of this constituent, None if unknown."""
        confidences = self.parse.tree.confidences
        return confidences[self.number] if confidences else None

    @property
    def is_discontinuous(self) -> bool:
        return self._node.is_discontinuous

    @property
    def spans(self) -> list[Span]:
        """Its continuous blocks from left to right; whitespace tokens do not interrupt a block."""
        blocks: list[tuple[int, int]] = []
        for start, end in self._node.spans:
            first, last = self._token_at(self.parse.starts[start]), self._token_at(self.parse.ends[end - 1] - 1)
            if blocks and first <= blocks[-1][1] + 1:  # retokenising has closed the gap
                first = blocks.pop()[0]
            blocks.append((first, last))
        return [self.sent.doc[first : last + 1] for first, last in blocks]

    @property
    def tokens(self) -> list[Token]:
        """Its tokens, without whitespace tokens."""
        return [token for span in self.spans for token in span if not token.is_space]

    @property
    def text(self) -> str:
        """Its text, with `` … `` for every gap."""
        return GAP.join([span.text for span in self.spans])

    @property
    def parent(self) -> "DocConstituent | None":
        number = self.parse.node_parents[self.number]
        return None if number < 0 else DocConstituent(self.sent, number, self.parse)

    @property
    def children(self) -> "list[DocConstituent | Token]":
        """Its constituents and tokens, in the order of their first words."""
        number = self.number + 1
        children: list[DocConstituent | Token] = []
        seen = set()  # a spaCy token may be several tokens of the tree
        for child in self._node.children:
            if isinstance(child, int):
                index = self._token_at(self.parse.starts[child])
                if index not in seen:
                    children.append(self.sent.doc[index])
                seen.add(index)
            else:
                while self.parse.nodes[number] is not child:
                    number += 1
                children.append(DocConstituent(self.sent, number, self.parse))
        return children

    @property
    def tree(self) -> Tree:
        """The subtree of this constituent; its words are renumbered from 0."""
        return self.parse.tree if self.number == 0 else _subtree(self.parse.tree, self._node)

    def _token_at(self, offset: int) -> int:
        """Return the index in the Doc of the token at an offset in the sentence."""
        doc, start, end = self.sent.doc, self.sent.start, self.sent.end
        in_doc = self.sent.start_char + offset
        return max(start, start + bisect_right(range(start, end), in_doc, key=lambda i: doc[i].idx) - 1)

    def __repr__(self) -> str:
        return f"<{self.label}: {self.text}>"


def _subtree(tree: Tree, top: Node) -> Tree:
    """Return a node as a tree of its own; gaps close."""
    new = {position: k for k, position in enumerate(top.positions)}
    done: list[Node] = []
    for node in reversed(list(top.nodes())):  # children before parents, so a node's children are on top of ``done``
        children = [new[child] if isinstance(child, int) else done.pop() for child in node.children]
        done.append(Node(node.label, children, node.function))
    return Tree(tuple([tree.tokens[position] for position in new]), done[0])
