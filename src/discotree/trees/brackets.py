"""A tree as one line of brackets, disco-dop's discbracket: leaves are ``position=word``.

    (ROOT (S (NP (PPER 0=Es) (NP (PIAT 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))

Brackets in words are ``#LRB#`` and ``#RRB#``; in labels they become ``[`` and ``]``. The tag ``$[`` is read as ``$(``.
disco-dop's reader splits at any Unicode whitespace and knows no way to write it, so it goes by its number, which
disco-dop takes for the word: ``#U+00A0#``. In a word that holds such a code itself, ``#HASH#`` stands for every ``#``.
Lemmas, morphology, functions and secondary edges have no place in a line.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from discotree.errors import TreeError
from discotree.trees.node import NONE, Node, Token

# An opening bracket, a whole leaf, a closing bracket, or anything else, which is an error.
_ITEM = re.compile(r"\(([^ ()]+) *(?:([0-9]{1,9})=([^ ()]+)\))?|(\))|([^ ]+)")
_ODD_SPACE = re.compile(r"[^\S \t\r\n]")  # whitespace that does not end a word here, but does in disco-dop
_CHARACTERS = {"#LRB#": "(", "#RRB#": ")", "#HASH#": "#"}
_CHARACTERS |= {f"#U+{ord(space):04X}#": space for space in _ODD_SPACE.findall("".join(map(chr, range(0x3001))))}
_CODE = re.compile("|".join(map(re.escape, _CHARACTERS)))


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
                word = _decoded(word)
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
            if not form.isalnum():
                form = _encoded(form)
            pieces.append(f" ({_label(tag)} {item}={form})")
        else:
            pieces.append(f" ({_label(item.label)}")  # type: ignore[union-attr]
            stack.append(None)
            stack.extend(reversed(item.children))  # type: ignore[union-attr]
    return "".join(pieces)[1:]


@lru_cache(maxsize=1 << 12)
def _encoded(form: str) -> str:
    """Return a form as it stands in a line."""
    text = _with_codes(form)
    return text if "#" not in form or _decoded(text) == form else _with_codes(form.replace("#", "#HASH#"))


def _with_codes(form: str) -> str:
    form = form.replace("(", "#LRB#").replace(")", "#RRB#")
    return _ODD_SPACE.sub(lambda match: f"#U+{ord(match[0]):04X}#", form)


def _decoded(word: str) -> str:
    return _CODE.sub(lambda match: _CHARACTERS[match[0]], word)


@lru_cache(maxsize=1 << 12)
def _label(label: str) -> str:
    if "(" in label or ")" in label:
        return label.replace("(", "[").replace(")", "]")
    return label or NONE
