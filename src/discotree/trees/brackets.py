"""A tree as one line of brackets, disco-dop's discbracket: leaves are ``position=word``.

    (ROOT (S (NP (PPER 0=Es) (NP (PIAT 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))

Brackets in words are ``#LRB#`` and ``#RRB#``; in labels they become ``[`` and ``]``. The tag ``$[`` is read as ``$(``.
Lemmas, morphology, functions and secondary edges have no place in a line.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from discotree.errors import TreeError
from discotree.trees.node import NONE, Node, Token

# An opening bracket, a whole leaf, a closing bracket, or anything else, which is an error.
_ITEM = re.compile(r"\(([^ ()]+) *(?:([0-9]{1,9})=([^ ()]+)\))?|(\))|([^ ]+)")


def parse_brackets(text: str) -> tuple[tuple[Token, ...], Node]:
    """Return the tokens and the root of one line."""
    tokens: dict[int, Token] = {}
    labels: list[str] = []
    children: list[list[Node | int]] = [[]]
    for label, position, word, closes, junk in _ITEM.findall(text):
        if position:
            index = int(position)
            if index in tokens or index > len(text):
                raise TreeError(f"position {index} is " + ("used twice" if index in tokens else "too high"))
            if "#" in word:
                word = word.replace("#LRB#", "(").replace("#RRB#", ")")
            tokens[index] = Token(word, "$(" if label == "$[" else label)
            children[-1].append(index)
        elif label:
            labels.append(label)
            children.append([])
        elif junk:
            raise TreeError(f"expected '(LABEL', 'POSITION=WORD)' or ')', got {junk[:30]!r}")
        elif closes and labels:
            inner = children.pop()
            children[-1].append(Node(labels.pop(), inner))
        else:
            raise TreeError("a bracket closes that was never opened")
    if labels:
        raise TreeError(f"{len(labels)} brackets are not closed")
    if len(children[0]) != 1 or not isinstance(children[0][0], Node):
        raise TreeError("expected one tree on the line")
    if max(tokens) != len(tokens) - 1:
        missing = min(set(range(len(tokens))).difference(tokens))
        raise TreeError(f"position {missing} is missing")
    return tuple([tokens[k] for k in range(len(tokens))]), children[0][0]


def format_brackets(tokens: Sequence[Token], root: Node) -> str:
    """Return the line; words and labels with spaces in them make one that cannot be read again."""
    pieces: list[str] = []
    stack: list[Node | int | None] = [root]
    while stack:
        item = stack.pop()
        if item is None:
            pieces.append(")")
        elif item.__class__ is int:
            form, tag = tokens[item][:2]
            if "(" in form or ")" in form:
                form = form.replace("(", "#LRB#").replace(")", "#RRB#")
            pieces.append(f" ({_label(tag)} {item}={form})")
        else:
            pieces.append(f" ({_label(item.label)}")  # type: ignore[union-attr]
            stack.append(None)
            stack.extend(reversed(item.children))  # type: ignore[union-attr]
    return "".join(pieces)[1:]


@lru_cache(maxsize=1 << 12)
def _label(label: str) -> str:
    if "(" in label or ")" in label:
        return label.replace("(", "[").replace(")", "]")
    return label or NONE
