"""Alpino XML (Alpino, Lassy, and the treebanks parsed with them).

An ``alpino_ds`` element holds nested ``node`` elements and the ``sentence``. A file may hold many of them inside any
other element, each optionally in a ``tree`` element with its id. Label = ``cat``, function = ``rel``, tag = ``pt``
(else ``pos``), morphology = ``postag``; the root, whose category is ``top``, becomes ``ROOT``. ``begin`` is the
position of a word. A node with only an ``index`` repeats the node of that index: it becomes a secondary edge.

In ``lemma``, ``_`` joins the parts of a compound or particle verb: *speeltuin_gebouw*, *op_bellen*. They are read as in
a dictionary: *speeltuingebouw*, *opbellen*. The writer doubles a ``_`` that is part of a lemma.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import count, pairwise

from discotree.errors import TreeError
from discotree.files.writing import quoted
from discotree.treebanks.source import Handler, RunningNumber, Source, stream_xml
from discotree.treebanks.writer import XmlWriter
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, ROOT, Node, SecondaryEdge, Token, Tree

DOCUMENT = "alpino_ds"
TOP = "top"
VERSION = "1.3"
VERB = "ww"
JOINER = "_"  # between the parts of a lemma
MIN_LETTERS = 3  # of the last part of a compound, by which it is found in a word


def read_alpino(source: Source) -> Iterator[Tree]:
    return stream_xml(source, AlpinoHandler(source))


@dataclass(slots=True)
class _Element:
    """A ``node`` element."""

    attributes: dict[str, str]
    line: int
    parent: int  # index among the elements of the tree; -1 for none
    has_words: bool = False


class AlpinoHandler(Handler):
    """Builds a tree of every ``alpino_ds``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.elements: list[_Element] = []
        self.open: list[int] = []  # the elements that enclose the current one
        self.tree_id = self.sentence_id = self.comment = self.outermost = ""
        self.in_comment = False
        self.line = 0

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.outermost = self.outermost or name
        if name == "node":
            self.elements.append(_Element(attributes, line, self.open[-1] if self.open else -1))
            self.open.append(len(self.elements) - 1)
        elif name == DOCUMENT:
            self.seen += 1
            self.elements.clear()
            self.open.clear()
            self.sentence_id = attributes.get("id", "")
            self.comment = ""
            self.line = line
        elif name == "sentence":
            self.sentence_id = attributes.get("sentid", self.sentence_id)
        elif name == "tree":
            self.tree_id = attributes.get("id", "")
        elif name == "comment":
            self.in_comment = True

    def text(self, data: str) -> None:
        if self.in_comment:
            self.comment += data

    def end(self, name: str) -> None:
        if name == "node" and self.open:
            self.open.pop()
        elif name == "comment":
            self.in_comment = False
        elif name == "tree":
            self.tree_id = ""
        elif name == DOCUMENT:
            try:
                self.ready.append(self.tree())
            except TreeError as error:
                at = self.line if error.node is None else self.elements[error.node].line
                self.ready.append(self.source.error(at, f"{self.identity and f'sentence {self.identity}: '}{error}"))
            self.elements.clear()

    @property
    def identity(self) -> str:
        """The id of the sentence; a file of one tree may leave it to the name of the file."""
        return self.tree_id or self.sentence_id or (RunningNumber(self.seen) if self.outermost != DOCUMENT else "")

    def tree(self) -> Tree:
        words = []  # (begin, element)
        for k, element in enumerate(self.elements):
            if "word" in element.attributes:
                begin = element.attributes.get("begin", "")
                if not (begin.isascii() and begin.isdecimal() and len(begin) < 10):
                    raise TreeError(f"the word {element.attributes['word']!r} has no position (begin={begin!r})", k)
                if not element.attributes["word"]:
                    raise TreeError("a word is empty", k)
                words.append((int(begin), k))
                up = element.parent
                while up >= 0 and not self.elements[up].has_words:
                    self.elements[up].has_words = True
                    up = self.elements[up].parent
        if not any(element.has_words for element in self.elements):
            raise TreeError("the sentence has no words")
        words.sort()
        for (left, _), (right, k) in pairwise(words):
            if left == right:
                raise TreeError(f"two words begin at {left}", k)
        phrases = [k for k, element in enumerate(self.elements) if element.has_words]
        index = {-1: -1}
        if self.elements[phrases[0]].attributes.get("cat") == TOP:
            index[phrases.pop(0)] = -1  # the root itself
        index |= {k: n for n, k in enumerate(phrases)}
        nodes = []
        for k in phrases:
            element = self.elements[k]
            cat, rel = element.attributes.get("cat"), element.attributes.get("rel")
            nodes.append((cat or NONE, rel or NONE, index[element.parent]))
        tokens, token_parents = [], []
        for _, k in words:
            a = self.elements[k].attributes
            if self.elements[k].has_words:
                raise TreeError(f"the word {a['word']!r} has children", k)
            tag = a.get("pt") or a.get("pos") or NONE
            lemma = dictionary_form(a["word"], tag, a.get("lemma") or NONE)
            tokens.append(Token(a["word"], tag, lemma, a.get("postag") or NONE, a.get("rel") or NONE))
            token_parents.append(index[self.elements[k].parent])
        return Tree.from_parents(
            tokens,
            token_parents,
            nodes,
            id=self.identity,
            comment=self.comment.strip(),
            secondary=self.secondary(index, {k: position for position, (_, k) in enumerate(words)}),
        )

    def secondary(self, index: dict[int, int], position: dict[int, int]) -> list[SecondaryEdge]:
        """Return the elements that repeat another one by its index, if that one and their parent have words."""
        address = {k: len(position) + 1 + n for k, n in index.items()} | position
        repeated = {
            e.attributes["index"]: k for k, e in enumerate(self.elements) if "index" in e.attributes and k in address
        }
        edges = []
        for k, element in enumerate(self.elements):
            if k not in address and element.parent in address:
                child = repeated.get(element.attributes.get("index", ""))
                if child is not None:
                    label = element.attributes.get("rel") or NONE
                    edges.append(SecondaryEdge(label, address[child], address[element.parent]))
        return edges


def dictionary_form(word: str, tag: str, lemma: str) -> str:
    """Return a lemma without ``_`` between its parts, with what the word has there: *rust_periode* for *rustperioden*.

    The parts leave out links and plurals: *personeelschef* has the lemma *personeel_chef*, and *zakenman* *zaak_man*.
    Therefore everything in front of the last part is taken from the word, except in verbs: *opgebeld*, *op_bellen*.
    """
    if JOINER * 2 in lemma:
        return lemma.replace(JOINER * 2, JOINER)
    first, *others = lemma.split(JOINER)
    if not all((first, *others)) or not others:
        return lemma
    last = others[-1]
    if tag != VERB:
        for length in range(len(last), min(len(last), MIN_LETTERS) - 1, -1):
            start = word.lower().rfind(last[:length].lower())
            if start > 0 and word[:2].lower() == first[:2].lower():
                front = word[:start].lower() if word.isupper() else word[:start]
                return (first[0] if front[0].lower() == first[0] else front[0]) + front[1:] + last
    return "".join((first, *others))


class AlpinoWriter(XmlWriter):
    name = "alpino"
    header = "<treebank>\n"
    footer = "</treebank>\n"

    def element(self, tree: Tree, number: int) -> str:
        identity = tree.id or str(number)
        n = len(tree)
        indices = {edge.child: str(k) for k, edge in enumerate(tree.secondary, 1)}
        repeats: dict[int, list[SecondaryEdge]] = {}
        for edge in tree.secondary:
            repeats.setdefault(edge.parent, []).append(edge)
        lines = [f"<tree id={quoted(identity)}>", f'<alpino_ds version="{VERSION}">']
        ids = count()
        next_node = count(n)
        stack: list[Node | int | str] = [tree.root]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                lines.append(item)
                continue
            address = item if isinstance(item, int) else next(next_node)
            attributes = {"id": str(next(ids))}
            if address in indices:
                attributes["index"] = indices[address]
            if isinstance(item, int):
                token = tree.tokens[item]
                attributes |= {"begin": str(item), "end": str(item + 1), "rel": token[FUNCTION], "word": token.form}
                attributes |= {
                    "pt": token.tag,
                    "lemma": token[LEMMA].replace(JOINER, JOINER * 2),
                    "postag": token[MORPH],
                }
                lines.append(_node(attributes) + "/>")
            else:
                is_root = item is tree.root and item.label == ROOT
                attributes |= {"begin": str(item.first), "end": str(item.mask.bit_length())}
                attributes |= {"cat": TOP if is_root else item.label, "rel": TOP if is_root else item.function}
                lines.append(_node(attributes) + ">")
                for label, child, _ in repeats.get(address, []):
                    lines.append(_node({"id": str(next(ids)), "index": indices[child], "rel": label}) + "/>")
                stack.append("</node>")
                stack.extend(reversed(item.children))
        lines.append(f"<sentence sentid={quoted(identity)}>{escape(' '.join(tree.words), quote=False)}</sentence>")
        if tree.comment:
            lines.append(f"<comments><comment>{escape(tree.comment, quote=False)}</comment></comments>")
        lines.append("</alpino_ds>\n</tree>\n")
        return "\n".join(lines)


def _node(attributes: dict[str, str]) -> str:
    written = {key: value for key, value in attributes.items() if value != NONE or key in ("cat", "rel", "word")}
    return "<node " + " ".join(f"{key}={quoted(value)}" for key, value in written.items())
