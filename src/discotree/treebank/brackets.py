"""Penn brackets: PTB (.mrg), CRAFT (.tree), and the parsed historical corpora (.psd: IcePaHC).

Two dialects, one reader. In ``penn``, empty elements have the tag ``-NONE-``. In ``psd``, a leaf is ``word-lemma``,
an empty element is a leaf that begins with ``*`` or is ``0``, and the sentence's id stands in an ``ID`` node
beside the tree; ``CODE`` and other mark-up is left out.

A label is its category up to the first ``-`` or ``=``; the rest, without indices, is the function. Empty elements
disappear, but the traces of movement that crosses branches (``*T*``, ``*ICH*``, ``*EXP*``, ``*RNR*``) first take
in their filler: the phrase with their index moves to the nearest of its traces (after Evang and Kallmeyer
2011). A filler that dominates its trace stays where it is, and so do NP movement and control.

The writer goes the other way: what does not fit between its sisters is written where its words are, and
an ``*ICH*`` trace tells where it belongs, so that any tree can be written and comes back. In ``penn``, an id that
is not just the tree's number goes into a comment line before it: ``; sent_id = cdb/28``.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import count

from discotree.errors import TreebankError, TreeError
from discotree.tree import NONE, ROOT, Node, Token, Tree
from discotree.treebank.source import Source

EMPTY_TAG = "-NONE-"
MOVEMENT = frozenset({"*T*", "*ICH*", "*EXP*", "*RNR*"})
WRITTEN_TRACE = "*ICH*"
ID_COMMENT = "; sent_id = "
PSD_ID = "ID"
PSD_MARKUP = frozenset({"CODE", "ID", "LB", "METADATA"})  # LB: a line break
PSD_DASH = "<dash>"  # a hyphen inside a word, where - goes before the lemma

_PIECE = re.compile(r"[()]|[^ \t\r\n\f\v()]+")
_LABEL = re.compile(r"([^-=]+)(.*)", re.DOTALL)  # category and the rest
_INDEX = re.compile(r"-([0-9]+)(?=$|[-=])|=[0-9]+")
_PSD_EMPTY = re.compile(r"\*.*|0", re.DOTALL)
_INDEXED_TAG = re.compile(r"([^-].*)-([0-9]+)", re.DOTALL)
_TRACE = re.compile(r"(\*[^*]*\*|\*)(?:-([0-9]+))?", re.DOTALL)
_BETWEEN_TREES = ("*", ";", "%", "/*", "/~*")


class _Item:
    """A bracket while it is read: a phrase, or a leaf with its word."""

    __slots__ = ("children", "function", "index", "label", "line", "parent", "place", "trace", "word")

    def __init__(self, line: int, parent: "_Item | None") -> None:
        self.line = line
        self.parent = parent
        self.label = ""
        self.function = NONE
        self.index = ""  # what co-indexes it with a trace or a filler
        self.word: str | None = None
        self.children: list[_Item] = []
        self.trace = ""  # for an empty leaf: its kind
        self.place = 0  # its first leaf, empty ones counted


def read_penn(source: Source) -> Iterator[Tree]:
    return _read(source, psd=False)


def read_psd(source: Source) -> Iterator[Tree]:
    return _read(source, psd=True)


def _read(source: Source, psd: bool) -> Iterator[Tree]:
    for number, (top, identity) in enumerate(_brackets(source), 1):
        try:
            tree = _tree(top, identity or str(number), psd)
        except TreeError as error:
            source.broken(top.line, str(error))
        else:
            if tree is not None:
                yield tree


def _brackets(source: Source) -> Iterator[tuple[_Item, str]]:
    """The outermost brackets of a file, each with the id from the comment before it."""
    current: _Item | None = None
    identity = ""
    for number, line in source.lines():
        if current is None and line.startswith(_BETWEEN_TREES):
            if line.startswith(ID_COMMENT):
                identity = line[len(ID_COMMENT) :].strip()
            continue
        for piece in _PIECE.findall(line):
            if piece == "(":
                item = _Item(number, current)
                if current is not None:
                    current.children.append(item)
                current = item
            elif current is None:
                source.broken(number, f"expected '(', got {piece!r}")
            elif piece == ")":
                if current.parent is None:
                    yield current, identity
                    identity = ""
                current = current.parent
            elif not current.label and not current.children:
                current.label = piece
            elif current.word is None and not current.children:
                current.word = piece
            else:
                # Remembered until the tree is complete, so that one broken tree can be skipped.
                current.word = f"{current.word or ''} {piece}"
    if current is not None:
        while current.parent is not None:
            current = current.parent
        source.broken(current.line, "the file ends inside this tree: ')' expected")


def _tree(top: _Item, identity: str, psd: bool) -> Tree | None:
    """A tree, or None where nothing is left without empty elements and mark-up."""
    if psd:
        for child in top.children:
            if child.label == PSD_ID and child.word:
                identity = child.word
    leaves = _leaves(top, psd)
    words = [leaf for leaf in leaves if not leaf.trace]
    if not words:
        return None
    _move_fillers(leaves, top)
    return _finished(top, words, identity, psd)


def _leaves(top: _Item, psd: bool) -> list[_Item]:
    """Check and label every bracket; the leaves in order, their kind of trace noted."""
    leaves: list[_Item] = []
    stack = [top]
    while stack:
        item = stack.pop()
        item.place = len(leaves)
        if item.word is None:
            if psd:
                item.children = [child for child in item.children if child.label not in PSD_MARKUP]
            if item.label:
                _split_label(item)
            stack.extend(reversed(item.children))
        elif item.children or " " in item.word:
            raise TreeError(f"expected (TAG WORD), got the word {item.word!r} in {item.label!r} on line {item.line}")
        else:
            _leaf(item, psd)
            leaves.append(item)
    return leaves


def _leaf(item: _Item, psd: bool) -> None:
    assert item.word is not None
    if _PSD_EMPTY.fullmatch(item.word) if psd else item.label == EMPTY_TAG:
        if psd:
            _split_label(item)
        match = _TRACE.match(item.word)
        item.trace = match[1] if match else item.word
        item.index = (match and match[2]) or ""
    elif match := _INDEXED_TAG.fullmatch(item.label):
        item.label, item.index = match.groups()


def _split_label(item: _Item) -> None:
    if item.label.startswith("-"):
        return
    match = _LABEL.match(item.label)
    if match is None:
        return
    item.label, rest = match.groups()
    if rest:
        indices = [found[1] for found in _INDEX.finditer(rest) if found[1]]
        item.index = indices[-1] if indices else ""
        item.function = _INDEX.sub("", rest).strip("-") or NONE


def _move_fillers(leaves: list[_Item], top: _Item) -> None:
    """Put every overt filler in the place of the nearest of its traces."""
    traces: dict[str, list[_Item]] = {}
    for leaf in leaves:
        if leaf.trace in MOVEMENT:
            phrase = _sole_ancestor(leaf)
            index = leaf.index or phrase.index
            if index:
                traces.setdefault(index, []).append(phrase)
    if not traces:
        return
    targets = {id(phrase) for phrases in traces.values() for phrase in phrases}
    for filler in _fillers(top, traces, targets):
        candidates = [phrase for phrase in traces[filler.index] if not _dominates(filler, phrase)]
        if not candidates:
            continue
        target = min(candidates, key=lambda phrase: abs(phrase.place - filler.place))
        assert target.parent is not None  # a trace or a filler is never the outermost bracket
        assert filler.parent is not None
        if filler.function == NONE:
            filler.function = target.function
        filler.parent.children.remove(filler)
        filler.parent = target.parent
        target.parent.children.append(filler)
        traces[filler.index] = []


def _dominates(item: _Item, other: _Item) -> bool:
    """Asked of the tree as it is by now: two fillers may hold each other's traces, and only one can move."""
    up: _Item | None = other
    while up is not None and up is not item:
        up = up.parent
    return up is item


def _sole_ancestor(leaf: _Item) -> _Item:
    """The phrase that consists of this empty leaf alone and stands for it: (NP-SBJ (-NONE- *T*-1))."""
    if leaf.parent is not None and len(leaf.parent.children) == 1 and leaf.label == EMPTY_TAG:
        return leaf.parent
    return leaf


def _fillers(top: _Item, traces: dict[str, list[_Item]], targets: set[int]) -> list[_Item]:
    found = []
    stack = [top]
    while stack:
        item = stack.pop()
        if item.index in traces and not item.trace and id(item) not in targets:
            found.append(item)
        stack.extend(reversed(item.children))
    return found


def _finished(top: _Item, words: list[_Item], identity: str, psd: bool) -> Tree:
    position = {id(word): k for k, word in enumerate(words)}
    overt: set[int] = set()
    for word in words:
        up = word.parent
        while up is not None and id(up) not in overt:
            overt.add(id(up))
            up = up.parent
    has_root = not top.label or top.label in (ROOT, "TOP", "VROOT")
    nodes: list[tuple[str, str, int]] = []
    token_parents = [-1] * len(words)
    stack = [(top, -1)]
    while stack:
        item, parent = stack.pop()
        index = parent
        if item is not top or not has_root:
            index = len(nodes)
            nodes.append((item.label or NONE, item.function, parent))
        for child in reversed(item.children):
            if id(child) in position:
                token_parents[position[id(child)]] = index
            elif id(child) in overt:
                stack.append((child, index))
    return Tree.from_parents([_token(word, psd) for word in words], token_parents, nodes, id=identity)


def _token(leaf: _Item, psd: bool) -> Token:
    word = leaf.word or ""
    if psd:
        form, separator, lemma = word.rpartition("-")
        if not (separator and form):
            form, lemma = word, ""
        return Token(form.replace(PSD_DASH, "-"), leaf.label, lemma.replace(PSD_DASH, "-") or NONE)
    return Token(word.strip() or word, leaf.label, function=leaf.function)


def write_penn(trees: Iterable[Tree]) -> Iterator[str]:
    """One tree a line, in an outer bracket without a label."""
    for number, tree in zip(count(1), trees, strict=False):
        if tree.id and tree.id != str(number):
            yield f"{ID_COMMENT}{' '.join(tree.id.split())}\n"
        yield f"( {_brackets_of(tree, psd=False)})\n"


def write_psd(trees: Iterable[Tree]) -> Iterator[str]:
    for number, tree in zip(count(1), trees, strict=False):
        yield f"( {_brackets_of(tree, psd=True)} (ID {_safe(tree.id or str(number))}))\n\n"


def _brackets_of(tree: Tree, psd: bool) -> str:
    children, indices = _raised(tree, psd)
    top = tree.root
    pieces: list[str] = []
    stack: list[Node | int | str] = [")", top]
    if top.label == ROOT:
        stack = list(reversed(children[id(top)]))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif isinstance(item, int):
            index = indices.get(("word", item))
            pieces.append(f" ({_label(tree.tokens[item].tag, NONE, index)} {_word(tree.tokens[item], psd)})")
        else:
            pieces.append(f" ({_label(item.label, item.function, indices.get(('node', id(item))))}")
            stack.append(")")
            stack.extend(reversed(children[id(item)]))
    text = "".join(pieces)[1:]
    return text.removesuffix(")") if top.label != ROOT else text


def _raised(tree: Tree, psd: bool) -> tuple[dict[int, list[Node | int | str]], dict[tuple[str, int], int]]:
    """What to write below each node so that words stay in order, and the indices of what was raised."""
    children: dict[int, list[Node | int | str]] = {}
    indices: dict[tuple[str, int], int] = {}
    spans: dict[int, tuple[int, int]] = {}
    order = list(tree.nodes())
    parents = {id(child): node for node in order for child in node.children if isinstance(child, Node)}
    raised: dict[int, list[Node | int]] = {}
    numbers = count(1)
    for node in reversed(order):
        members = sorted([*node.children, *raised.pop(id(node), [])], key=lambda c: _span(c, spans)[0])
        kept = [members[0]]
        traces: list[str] = []
        start, end = _span(members[0], spans)
        for child in members[1:]:
            child_start, child_end = _span(child, spans)
            if child_start == end:
                kept.append(child)
                end = child_end
                continue
            raised.setdefault(id(parents[id(node)]), []).append(child)
            key = ("word", child) if isinstance(child, int) else ("node", id(child))
            if key not in indices:
                indices[key] = next(numbers)
                label = tree.tokens[child].tag if isinstance(child, int) else child.label
                function = NONE if isinstance(child, int) else child.function
                trace = f"{WRITTEN_TRACE}-{indices[key]}"
                traces.append(f" ({_label(label, function, None)} {trace if psd else f'({EMPTY_TAG} {trace})'})")
        spans[id(node)] = (start, end)
        children[id(node)] = [*kept, *traces]
    return children, indices


def _span(child: Node | int, spans: dict[int, tuple[int, int]]) -> tuple[int, int]:
    return (child, child + 1) if isinstance(child, int) else spans[id(child)]


def _label(label: str, function: str, index: int | None) -> str:
    return _safe(label) + (f"-{_safe(function)}" if function != NONE else "") + (f"-{index}" if index else "")


def _word(token: Token, psd: bool) -> str:
    if not psd:
        return _safe(token.form)
    word, lemma = (_safe(text).replace("-", PSD_DASH) for text in (token.form, token.lemma.replace(" ", "_")))
    if word.startswith("*"):
        raise TreebankError(f"the word {token.form!r} would be an empty element in psd")
    return f"{word}-{lemma}" if token.lemma != NONE else "0-0" if word == "0" else word


def _safe(text: str) -> str:
    if not text or any(c in text for c in " \t\r\n\f\v"):
        raise TreebankError(f"{text!r} has a space, which Penn brackets cannot hold")
    return text.replace("(", "-LRB-").replace(")", "-RRB-")
