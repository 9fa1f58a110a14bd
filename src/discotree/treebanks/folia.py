"""FoLiA XML (Format for Linguistic Annotation), which is used for Dutch corpora and by the annotation tool FLAT.

A sentence ``s`` holds words ``w`` and a ``syntax`` layer of nested ``su`` elements, whose ``wref`` elements name their
words. Label = class of ``su``, lemma = class of ``lemma``. The tag is the head of ``pos`` and the morphology its
class; without a head, the class is the tag. Functions are features of ``su`` and ``pos``. An outermost ``su`` that is
a virtual root becomes ``ROOT``. Hidden words, which stand for traces, are left out.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from discotree.errors import TreebankError
from discotree.files.writing import quoted
from discotree.treebanks.source import Handler, RunningNumber, Source, stream_xml
from discotree.treebanks.writer import OUTER_SPACE, XmlWriter, check_texts
from discotree.trees.transforms import add_root
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, ROOT_LABELS, Node, Token, Tree

VERSION = "2.5.1"
ID = "xml:id"
DOCUMENT = "discotree"  # the id of our documents, with which all ids in them begin
IGNORED = frozenset({"hiddenw", "original", "suggestion", "alt", "altlayers", "morphology", "phonology"})
CURRENT = "current"  # class of the text of a word, if it has several
DECLARATIONS = "".join(
    f"<{name}-annotation{'' if name in ('text', 'sentence', 'token', 'comment') else f' set={quoted(DOCUMENT)}'}/>\n"
    for name in ("text", "sentence", "token", "pos", "lemma", "syntax", "comment")
)


def read_folia(source: Source) -> Iterator[Tree]:
    return stream_xml(source, FoliaHandler(source))


class FoliaHandler(Handler):
    """Builds a tree of every ``s``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.open: list[str] = []  # names of the elements that enclose the current one
        self.ignored = 0  # depth inside an ignored element
        self.text_depth = 0  # of the text of a word that is being read, or 0
        self.inside = False
        self.begin({}, 0)

    def begin(self, attributes: dict[str, str], line: int) -> None:
        identity = attributes.get(ID, "")
        if identity.startswith(f"{DOCUMENT}."):
            identity = attributes.get("n", identity)
        self.id = identity or RunningNumber(self.seen)
        self.line = line
        self.words: dict[str, dict[str, Any]] = {}  # by id: the fields of a Token and the line
        self.word: dict[str, Any] = {}
        self.hidden: set[str] = set()
        self.units: list[tuple[str, str, int]] = []  # label, function, parent
        self.path = [-1]  # the units that enclose the current element
        self.references: list[tuple[str, int, int]] = []  # id of a word, unit, line
        self.comment = ""
        self.broken: TreebankError | None = None

    def fail(self, line: int, message: str) -> None:
        self.broken = self.broken or self.source.error(line, f"sentence {self.id}: {message}")

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        parent = self.open[-1] if self.open else ""
        self.open.append(name)
        if self.ignored or name in IGNORED:
            self.ignored += 1
            self.hidden.add(attributes.get(ID, ""))
        elif name == "s":
            self.seen += 1
            self.begin(attributes, line)
            self.inside = True
        elif not self.inside:
            return
        elif name == "w":
            identity = attributes.get(ID) or f"#{len(self.words)}"
            if identity in self.words:
                self.fail(line, f"the id {identity!r} is used twice")
            self.word = self.words[identity] = {"line": line}
        elif name == "t" and parent in ("w", "new") and attributes.get("class", CURRENT) == CURRENT:
            self.word["form"] = ""
            self.text_depth = len(self.open)
        elif name == "pos":
            head, tag = attributes.get("head"), attributes.get("class") or NONE
            self.word.update({"tag": head, "morph": tag} if head else {"tag": tag})
        elif name == "lemma":
            self.word["lemma"] = attributes.get("class") or NONE
        elif name == "su":
            self.units.append((attributes.get("class") or NONE, NONE, self.path[-1]))
            self.path.append(len(self.units) - 1)
        elif name == "feat":
            self.feature(attributes.get("subset"), attributes.get("class") or NONE, parent)
        elif name == "wref" and len(self.path) > 1:
            self.references.append((attributes.get("id", ""), self.path[-1], line))

    def feature(self, subset: str | None, value: str, parent: str) -> None:
        if subset == "function" and parent == "su":
            label, _, above = self.units[self.path[-1]]
            self.units[self.path[-1]] = (label, value, above)
        elif parent == "pos" and subset == "head":
            self.word |= {"tag": value, "morph": self.word["tag"]}
        elif parent == "pos" and subset == "function":
            self.word["function"] = value

    def text(self, data: str) -> None:
        if self.inside and not self.ignored:
            if self.text_depth:
                self.word["form"] += data
            elif self.open[-1] == "comment":
                self.comment += data

    def end(self, name: str) -> None:
        if len(self.open) == self.text_depth:
            self.text_depth = 0
        self.open.pop()
        if self.ignored:
            self.ignored -= 1
        elif name == "su" and len(self.path) > 1:
            self.path.pop()
        elif name == "s" and self.inside:
            self.inside = False
            try:
                self.ready.append(self.tree())
            except TreebankError as error:
                self.ready.append(error)

    def tree(self) -> Tree:
        if not self.words:
            self.fail(self.line, "the sentence has no words")
        for word in self.words.values():
            if not word.get("form"):
                self.fail(word["line"], "a word has no text")
        parents: dict[str, int] = {}
        for identity, unit, line in self.references:
            if identity in self.hidden:
                continue
            if identity not in self.words:
                self.fail(line, f"a wref names {identity!r}, which is not a word of the sentence")
            elif identity in parents:
                self.fail(line, f"the word {identity!r} belongs to two constituents")
            parents[identity] = unit
        if self.broken:
            raise self.broken
        filled = {-1}
        for unit in parents.values():
            while unit not in filled:
                filled.add(unit)
                unit = self.units[unit][2]
        kept = [k for k in range(len(self.units)) if k in filled]
        index = {-1: -1}
        tops = [k for k in kept if self.units[k][2] < 0]
        if len(tops) == 1 and self.units[tops[0]][0] in ROOT_LABELS:
            index[tops[0]] = -1  # the root itself
            kept.remove(tops[0])
        index |= {k: n for n, k in enumerate(kept)}
        nodes = [(label, function, index[parent]) for label, function, parent in (self.units[k] for k in kept)]
        tokens = [Token(**{name: word[name] for name in Token._fields if name in word}) for word in self.words.values()]
        token_parents = [index[parents.get(identity, -1)] for identity in self.words]
        return Tree.from_parents(tokens, token_parents, nodes, id=self.id, comment=self.comment.strip())


class FoliaWriter(XmlWriter):
    name = "folia"
    header = (
        f'<FoLiA xmlns="http://ilk.uvt.nl/folia" version="{VERSION}" {ID}="{DOCUMENT}" generator="discotree">\n'
        f'<metadata type="native">\n<annotations>\n{DECLARATIONS}</annotations>\n</metadata>\n'
        f'<text {ID}="{DOCUMENT}.text">\n'
    )
    footer = "</text>\n</FoLiA>\n"

    def element(self, tree: Tree, number: int) -> str:
        check_texts(tree, self.name, "word", tree.words, OUTER_SPACE)
        tree = add_root(tree)
        sentence = f"{DOCUMENT}.s.{number}"
        lines = [f'<s {ID}="{sentence}" n={quoted(tree.id or str(number))}>']
        for position, token in enumerate(tree.tokens, 1):
            tag = f"<t>{escape(token.form, quote=False)}</t>{_pos(token)}"
            lemma = "" if token[LEMMA] == NONE else f"<lemma class={quoted(token[LEMMA])}/>"
            lines.append(f'<w {ID}="{sentence}.w.{position}">{tag}{lemma}</w>')
        lines.append("<syntax>")
        stack: list[Node | int | str] = [tree.root]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                lines.append(item)
            elif isinstance(item, int):
                lines.append(f'<wref id="{sentence}.w.{item + 1}" t={quoted(tree.tokens[item].form)}/>')
            else:
                lines.append(f"<su class={quoted(item.label)}>{_function(item.function)}")
                stack.append("</su>")
                stack.extend(reversed(item.children))
        lines.append("</syntax>")
        if tree.comment:
            lines.append(f"<comment>{escape(tree.comment, quote=False)}</comment>")
        return "\n".join([*lines, "</s>\n"])


def _pos(token: Token) -> str:
    tag, morph = token.tag or NONE, token[MORPH]
    function = _function(token[FUNCTION])
    if morph != NONE:
        attributes = f"class={quoted(morph)} head={quoted(tag)}"
    elif tag != NONE or function:
        attributes = f"class={quoted(tag)}"
    else:
        return ""
    return f"<pos {attributes}>{function}</pos>" if function else f"<pos {attributes}/>"


def _function(function: str) -> str:
    return "" if function == NONE else f'<feat subset="function" class={quoted(function)}/>'
