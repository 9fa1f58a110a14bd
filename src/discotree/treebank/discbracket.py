"""disco-dop's discbracket format: one tree a line, leaves as ``position=word``.

    (ROOT (S (NP (PPER 0=Es) (NP (PIAT 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))

Brackets in words are ``#LRB#`` and ``#RRB#``, in labels they become ``[`` and ``]`` (so ``$(`` is ``$[``, which is
turned back). After a tab a line may carry a comment; a comment of one word is taken for the sentence's
id, and an id that is not just the tree's number is kept there. Lemmas, morphology, functions and
secondary edges have no place in this format.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import count

from discotree.errors import TreebankError, TreeError
from discotree.tree import Node, Token, Tree
from discotree.treebank.source import Source

_ITEM = re.compile(r"\(([^ ()]+) *(?:([0-9]{1,9})=([^ ()]+)\))?|\)")
_SPACE = re.compile(r"[ \t\r\n]")


def read_discbracket(source: Source) -> Iterator[Tree]:
    seen = 0
    for number, line in source.lines():
        text, _, comment = line.partition("\t")
        text = text.strip(" ")
        if not text:
            continue
        seen += 1
        identity = comment if comment and " " not in comment else str(seen)
        try:
            yield parse_discbracket(text, identity, "" if identity == comment else comment)
        except TreeError as error:
            source.broken(number, str(error))


def parse_discbracket(text: str, id: str = "", comment: str = "") -> Tree:
    """The tree of one line."""
    tokens: dict[int, Token] = {}
    labels: list[str] = []
    children: list[list[Node | int]] = [[]]
    end = 0
    for match in _ITEM.finditer(text):
        if text[end : match.start()].strip(" "):
            break
        end = match.end()
        label, position, word = match.groups()
        if position is not None:
            index = int(position)
            if index in tokens or index > len(text):
                raise TreeError(
                    f"position {index} is used twice" if index in tokens else f"position {index} is too high"
                )
            if "#" in word:
                word = word.replace("#LRB#", "(").replace("#RRB#", ")")
            tokens[index] = Token(word, "$(" if label == "$[" else label)
            children[-1].append(index)
        elif label is not None:
            labels.append(label)
            children.append([])
        elif not labels:
            raise TreeError("a bracket closes that was never opened")
        else:
            below = children.pop()
            children[-1].append(Node(labels.pop(), below))
    return _finished(text, end, labels, children, tokens, id, comment)


def _finished(
    text: str,
    end: int,
    labels: list[str],
    children: list[list[Node | int]],
    tokens: dict[int, Token],
    id: str,
    comment: str,
) -> Tree:
    if text[end:].strip(" "):
        raise TreeError(f"expected '(LABEL', 'POSITION=WORD)' or ')', got {text[end : end + 30]!r}")
    if tokens and max(tokens) != len(tokens) - 1:
        missing = min(set(range(len(tokens))).difference(tokens))
        raise TreeError(f"position {missing} is missing")
    if labels:
        raise TreeError(f"{len(labels)} brackets are not closed")
    if len(children[0]) != 1 or not isinstance(children[0][0], Node):
        raise TreeError("expected one tree on the line")
    return Tree(tuple([tokens[k] for k in range(len(tokens))]), children[0][0], id, comment=comment)


def write_discbracket(trees: Iterable[Tree]) -> Iterator[str]:
    for number, tree in zip(count(1), trees, strict=False):
        for word in tree.words:
            if not word or _SPACE.search(word):
                raise TreebankError(f"sentence {tree.id}: the word {word!r} has a space, which discbracket cannot hold")
        note = _SPACE.sub(" ", tree.id if tree.id != str(number) else tree.comment)
        yield format_discbracket(tree) + (f"\t{note}\n" if note else "\n")


def format_discbracket(tree: Tree) -> str:
    """The tree as one line, without an id."""
    tokens = tree.tokens
    pieces: list[str] = []
    stack: list[Node | int | None] = [tree.root]
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


def _label(label: str) -> str:
    if "(" in label or ")" in label or " " in label:
        return label.replace("(", "[").replace(")", "]").replace(" ", "_")
    return label
