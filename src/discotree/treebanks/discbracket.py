"""disco-dop's discbracket format: one tree a line, leaves as ``position=word``.

    (ROOT (S (NP (PPER 0=Es) (NP (PIAT 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))

Brackets in words are ``#LRB#`` and ``#RRB#``, in labels they become ``[`` and ``]`` (so ``$(`` is ``$[``, which is
turned back). After a tab a line may carry a comment; a comment of one word is taken for the sentence's
id, and an id that is not just the tree's number is kept there, instead of the comment. Lemmas, morphology,
functions and secondary edges have no place in this format.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from discotree.errors import TreeError
from discotree.treebanks.limits import check, labels_of
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import Writer
from discotree.trees.tree import NONE, Node, Token, Tree

# A bracket that opens, a whole leaf, a bracket that closes, or something that has no business here.
_ITEM = re.compile(r"\(([^ ()]+) *(?:([0-9]{1,9})=([^ ()]+)\))?|(\))|([^ ]+)")
_SEPARATOR = re.compile(r"[ \t\r\n]")
_ODD = re.compile(r"[\t\r\n]|=\)")  # the last: an empty word, perhaps


def read_discbracket(source: Source) -> Iterator[Tree]:
    seen = 0
    for number, line in source.lines():
        text, _, comment = line.partition("\t")
        text = text.strip(" ")
        if not text:
            continue
        seen += 1
        if source.is_damaged():
            continue
        identity = comment if comment and " " not in comment else RunningNumber(seen)
        try:
            yield parse_discbracket(text, identity, "" if identity == comment else comment)
        except TreeError as error:
            source.broken(number, str(error))


def parse_discbracket(text: str, id: str = "", comment: str = "") -> Tree:
    """The tree of one line."""
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
            below = children.pop()
            children[-1].append(Node(labels.pop(), below))
        else:
            raise TreeError("a bracket closes that was never opened")
    if labels:
        raise TreeError(f"{len(labels)} brackets are not closed")
    if len(children[0]) != 1 or not isinstance(children[0][0], Node):
        raise TreeError("expected one tree on the line")
    if max(tokens) != len(tokens) - 1:
        missing = min(set(range(len(tokens))).difference(tokens))
        raise TreeError(f"position {missing} is missing")
    return Tree(tuple([tokens[k] for k in range(len(tokens))]), children[0][0], id, comment=comment)


class DiscbracketWriter(Writer):
    def tree(self, tree: Tree, number: int) -> str:
        text = format_discbracket(tree)
        # A line with exactly the spaces that its brackets need, and nothing odd, needs no closer look.
        if text.count(" ") != text.count("(") - 1 + len(tree) or _ODD.search(text):
            check(tree, "discbracket", "word", tree.words, _SEPARATOR)
            check(tree, "discbracket", "tag", [token.tag or NONE for token in tree.tokens], _SEPARATOR)
            check(tree, "discbracket", "label", labels_of(tree), _SEPARATOR)
        note = tree.id if tree.id != str(number) else ""
        if note:
            check(tree, "discbracket", "id", [note], _SEPARATOR)
        elif " " in tree.comment.strip():  # one word would be taken for an id
            note = " ".join(tree.comment.split())
        return f"{text}\t{note}\n" if note else f"{text}\n"


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


@lru_cache(maxsize=1 << 12)
def _label(label: str) -> str:
    if "(" in label or ")" in label:
        return label.replace("(", "[").replace(")", "]")
    return label or NONE
