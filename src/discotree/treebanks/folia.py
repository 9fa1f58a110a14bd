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
from discotree.treebanks.source import Handler, RunningNumber, Source, Span, stream_xml, tree_from_spans
from discotree.treebanks.writer import OUTER_SPACE, XmlWriter, check_texts
from discotree.trees.transforms import add_root
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, Node, Token, Tree

ID = "xml:id"
DOCUMENT = "discotree"  # the id of our documents, with which all ids in them begin
IGNORED = frozenset({"hiddenw", "original", "suggestion", "alt", "altlayers", "morphology", "phonology"})


def read_folia(source: Source) -> Iterator[Tree]:
    return stream_xml(source, FoliaHandler(source))


class FoliaHandler(Handler):
    """Builds a tree of every ``s``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.open: list[str] = []  # names of the elements that enclose the current one
        self.ignored = 0  # depth inside an ignored element
        self.text_depth = 0  # of the text of a word that is being read, or 0
        self.begin({}, 0)

    def begin(self, attributes: dict[str, str], line: int) -> None:
        identity = attributes.get(ID, "")
        if identity.startswith(f"{DOCUMENT}."):
            identity = attributes.get("n", identity)
        self.id = identity or RunningNumber(self.seen)
        self.line = line
        self.words: dict[str, dict[str, Any]] = {}  # by id: the fields of a Token, and its line and position
        self.word: dict[str, Any] = {}
        self.hidden: set[str] = set()
        self.units: list[Span] = []
        self.path: list[Span] = []  # the units that enclose the current element
        self.broken: TreebankError | None = None

    def fail(self, line: int, message: str) -> None:
        self.broken = self.broken or self.source.error(line, f"sentence {self.id}: {message}")

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        parent = self.open[-1] if self.open else ""
        self.open.append(name)
        value = attributes.get("class") or NONE
        if self.ignored or name in IGNORED:
            self.ignored += 1
            self.hidden.add(attributes.get(ID, ""))
        elif name == "s" and "s" not in self.open[:-1]:  # the words of a quoted sentence belong to the outer one
            self.seen += 1
            self.begin(attributes, line)
        elif name == "w":
            identity = attributes.get(ID) or f"#{len(self.words)}"
            if identity in self.words:
                self.fail(line, f"the id {identity!r} is used twice")
            self.word = self.words[identity] = {"line": line, "position": len(self.words)}
        elif name == "t" and parent in ("w", "new") and attributes.get("class") in (None, "current"):
            self.word["form"] = ""
            self.text_depth = len(self.open)
        elif name == "pos":
            head = attributes.get("head")
            self.word |= {"tag": head, "morph": value} if head else {"tag": value}
        elif name == "lemma":
            self.word["lemma"] = value
        elif name == "su":
            if not self.path and "s" not in self.open:
                self.ready.append(self.source.error(line, "a syntactic unit (su) is outside the sentences (s)"))
            self.path.append(Span(line, value))
            self.units.append(self.path[-1])
        elif name == "wref" and self.path:
            identity = attributes.get("id", "")
            if identity in self.words:
                self.path[-1].mask |= 1 << self.words[identity]["position"]
            elif identity not in self.hidden:
                self.fail(line, f"a wref refers to {identity!r}, which is not an earlier word of the sentence")
        elif name == "feat" and attributes.get("subset") == "function":
            (self.path[-1].values if parent == "su" and self.path else self.word)["function"] = value

    def text(self, data: str) -> None:
        if self.text_depth and not self.ignored:
            self.word["form"] = self.word.get("form", "") + data

    def end(self, name: str) -> None:
        if len(self.open) == self.text_depth:
            self.text_depth = 0
        self.open.pop()
        if self.ignored:
            self.ignored -= 1
        elif name == "su" and self.path:
            mask = self.path.pop().mask
            if self.path:
                self.path[-1].mask |= mask
        elif name == "s" and "s" not in self.open:
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
        if self.broken:
            raise self.broken
        tokens = [Token(**{name: word[name] for name in Token._fields if name in word}) for word in self.words.values()]
        return tree_from_spans(self.source, tokens, [unit for unit in self.units if unit.mask], self.id)


class FoliaWriter(XmlWriter):
    name = "folia"
    header = f"""<FoLiA xmlns="http://ilk.uvt.nl/folia" version="2.5.1" {ID}="{DOCUMENT}" generator="discotree">
<metadata type="native"><annotations><text-annotation/><sentence-annotation/><token-annotation/>
<pos-annotation set="discotree"/><lemma-annotation set="discotree"/><syntax-annotation set="discotree"/>
</annotations></metadata>
<text {ID}="{DOCUMENT}.text">
"""
    footer = "</text>\n</FoLiA>\n"

    def element(self, tree: Tree, number: int) -> str:
        check_texts(tree, self.name, "word", tree.words, OUTER_SPACE)
        tree = add_root(tree)
        sentence = f"{DOCUMENT}.s.{number}"
        lines = [f'<s {ID}="{sentence}" n={quoted(tree.id or str(number))}>']
        for position, token in enumerate(tree.tokens, 1):
            word = f"<t>{escape(token.form, quote=False)}</t>"
            if token[MORPH] != NONE:
                word += f"<pos class={quoted(token[MORPH])} head={quoted(token.tag or NONE)}>{_function(token)}</pos>"
            elif (token.tag, token[FUNCTION]) != (NONE, NONE):
                word += f"<pos class={quoted(token.tag)}>{_function(token)}</pos>"
            if token[LEMMA] != NONE:
                word += f"<lemma class={quoted(token[LEMMA])}/>"
            lines.append(f'<w {ID}="{sentence}.w.{position}">{word}</w>')
        lines.append("<syntax>")
        stack: list[Node | int | str] = [tree.root]
        while stack:
            item = stack.pop()
            if isinstance(item, str):
                lines.append(item)
            elif isinstance(item, int):
                lines.append(f'<wref id="{sentence}.w.{item + 1}" t={quoted(tree.tokens[item].form)}/>')
            else:
                lines.append(f"<su class={quoted(item.label)}>{_function(item)}")
                stack += ["</su>", *reversed(item.children)]
        return "\n".join([*lines, "</syntax>", "</s>\n"])


def _function(item: Token | Node) -> str:
    return f'<feat subset="function" class={quoted(item.function)}/>' if item.function not in (None, NONE) else ""
