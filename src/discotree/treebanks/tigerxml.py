"""TigerXML: TIGER 2.1 and 2.2, SPMRL, PCC, SQUOIA and the output of annotation tools.

``s/graph`` holds ``terminals/t`` and ``nonterminals/nt`` with ``edge`` elements to their children. The root of a graph
is virtual (category VROOT) or an ordinary phrase; words outside it, mostly punctuation, have no parent. The reader
puts ``ROOT`` on top of every tree and attaches everything without a parent to it. A ``secedge`` belongs to the child
and names the other parent. A few nodes of the SPMRL files have two parents, one by an edge without a label: the
labelled edge counts.
"""

import re
from collections.abc import Iterator

from discotree.errors import TreebankError, TreeError
from discotree.files.writing import quoted
from discotree.treebanks.export import FIRST_NODE
from discotree.treebanks.source import Handler, RunningNumber, Source, stream_xml
from discotree.treebanks.writer import XmlWriter
from discotree.trees.transforms import add_root
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, SecondaryEdge, Token, Tree

VIRTUAL_ROOT = "VROOT"


def read_tigerxml(source: Source) -> Iterator[Tree]:
    return stream_xml(source, TigerXmlHandler(source))


class TigerXmlHandler(Handler):
    """Builds a tree of every ``s``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.inside = False
        self.begin({}, 0)

    def begin(self, attributes: dict[str, str], line: int) -> None:
        self.id = attributes.get("id") or RunningNumber(self.seen)
        self.line = line
        self.root = ""
        self.words: dict[str, tuple[Token, int]] = {}  # by id: the token and its line
        self.phrases: dict[str, tuple[str, int]] = {}  # by id: the category and its line
        self.edges: list[tuple[str, str, str, int]] = []  # parent, child, label, line
        self.extra: list[tuple[str, str, str, int]] = []  # the same for secondary edges
        self.current = ""  # id of the element whose edges are being read
        self.twice: tuple[str, int] | None = None  # an id that is used twice, and its second line

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        if name == "s":
            self.seen += 1
            self.begin(attributes, line)
            self.inside = True
        elif not self.inside:
            return
        elif name == "edge":
            self.edges.append((self.current, attributes.get("idref", ""), attributes.get("label", NONE), line))
        elif name == "t":
            self.enter(attributes, line)
            token = Token(
                attributes.get("word", ""),
                attributes.get("pos") or NONE,
                attributes.get("lemma") or NONE,
                attributes.get("morph") or NONE,
            )
            self.words[self.current] = (token, line)
        elif name == "nt":
            self.enter(attributes, line)
            self.phrases[self.current] = (attributes.get("cat") or NONE, line)
        elif name == "secedge":
            self.extra.append((attributes.get("idref", ""), self.current, attributes.get("label", NONE), line))
        elif name == "graph":
            self.root = attributes.get("root", "")

    def enter(self, attributes: dict[str, str], line: int) -> None:
        """Begin a terminal or nonterminal; the edges that follow belong to it."""
        self.current = attributes.get("id", "")
        if not self.twice and (self.current in self.words or self.current in self.phrases):
            self.twice = (self.current, line)

    def end(self, name: str) -> None:
        if name == "s" and self.inside:
            self.inside = False
            try:
                self.ready.append(self.tree())
            except TreebankError as error:
                self.ready.append(error)

    def error(self, line: int, message: str) -> TreebankError:
        return self.source.error(line, f"sentence {self.id}: {message}")

    def tree(self) -> Tree:
        if not self.words:
            raise self.error(self.line, "the sentence has no words")
        if self.twice:
            raise self.error(self.twice[1], f"the id {self.twice[0]!r} is used twice")
        for token, line in self.words.values():
            if not token.form:
                raise self.error(line, "a terminal has no word")
        virtual = self.root if self.phrases.get(self.root, ("",))[0] == VIRTUAL_ROOT else ""
        names = [identity for identity in self.phrases if identity != virtual]
        index = {identity: k for k, identity in enumerate(names)}
        if virtual:
            index[virtual] = -1
        parent: dict[str, tuple[int, str]] = {}
        for up, down, label, line in self.edges:
            if up not in index:
                raise self.error(line, f"an edge starts at {up!r}, which is not a nonterminal")
            if down not in self.words and down not in index:
                raise self.error(line, f"an edge leads to the unknown node {down!r}")
            if down == virtual:
                raise self.error(line, f"the virtual root {down!r} has a parent")
            if down in parent and NONE not in (label, parent[down][1]):
                raise self.error(line, f"{down!r} has two parents")
            if down not in parent or label != NONE:
                parent[down] = (index[up], label)
        tokens, token_parents = [], []
        for identity, (token, _) in self.words.items():
            up_index, label = parent.get(identity, (-1, NONE))
            token_parents.append(up_index)
            tokens.append(token if label == NONE else token._replace(function=label))
        nodes = []
        for identity in names:
            up_index, label = parent.get(identity, (-1, NONE))
            nodes.append((self.phrases[identity][0], label, up_index))
        try:
            return Tree.from_parents(
                tokens, token_parents, nodes, id=self.id, secondary=list(self.secondary(index)) if self.extra else ()
            )
        except TreeError as error:
            line = self.line if error.node is None else self.phrases[names[error.node]][1]
            raise self.error(line, str(error)) from None

    def secondary(self, index: dict[str, int]) -> Iterator[SecondaryEdge]:
        n = len(self.words)
        position = {identity: k for k, identity in enumerate(self.words)}
        for up, down, label, line in self.extra:
            if up not in index or (down not in position and down not in index):
                raise self.error(line, f"a secondary edge leads to {up!r}, which is not a nonterminal")
            child = position[down] if down in position else n + 1 + index[down]
            yield SecondaryEdge(label, child, n + 1 + index[up])


class TigerXmlWriter(XmlWriter):
    name = "tigerxml"
    header = '<corpus id="discotree">\n<body>\n'
    footer = "</body>\n</corpus>\n"

    def element(self, tree: Tree, number: int) -> str:
        identity = tree.id or str(number)
        tree = add_root(tree)
        n = len(tree)
        token_parents, nodes = tree.parents()
        prefix = re.sub(r"[^\w.-]", "_", f"s{identity}" if identity[:1].isdigit() else identity)
        first = max(FIRST_NODE, n + 1)
        names = [f"{prefix}_{first + k}" for k in range(len(nodes))] + [f"{prefix}_{VIRTUAL_ROOT}"]

        def name(address: int) -> str:
            return f"{prefix}_{address + 1}" if address < n else names[address - n - 1]

        edges: list[list[tuple[str, int]]] = [[] for _ in names]  # the root's are the last, [-1]
        for position, parent in enumerate(token_parents):
            edges[parent].append((tree.tokens[position][FUNCTION], position))
        for k, (_, function, parent) in enumerate(nodes):
            edges[parent].append((function, n + 1 + k))
        extra: dict[int, str] = {}
        for label, child, parent in tree.secondary:
            extra[child] = extra.get(child, "") + f"<secedge label={quoted(label)} idref={quoted(name(parent))}/>"
        lines = [f"<s id={quoted(identity)}>", f"<graph root={quoted(names[-1])}>", "<terminals>"]
        for position, token in enumerate(tree.tokens):
            attributes = (
                f"id={quoted(name(position))} word={quoted(token.form)} lemma={quoted(token[LEMMA])} "
                f"pos={quoted(token.tag)} morph={quoted(token[MORPH])}"
            )
            inside = extra.get(position)
            lines.append(f"<t {attributes}>{inside}</t>" if inside else f"<t {attributes}/>")
        lines += ["</terminals>", "<nonterminals>"]
        for k in [*range(len(nodes)), -1]:
            category = nodes[k][0] if k >= 0 else VIRTUAL_ROOT
            lines.append(f"<nt id={quoted(names[k])} cat={quoted(category)}>")
            lines += [f"<edge label={quoted(label)} idref={quoted(name(child))}/>" for label, child in edges[k]]
            lines.append(f"{extra.get(n + 1 + k, '')}</nt>")
        lines += ["</nonterminals>", "</graph>", "</s>\n"]
        return "\n".join(lines)
