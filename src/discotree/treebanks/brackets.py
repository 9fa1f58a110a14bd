"""Penn brackets: PTB (.mrg), CRAFT (.tree), and the parsed historical corpora (.psd: IcePaHC).

Two dialects, one reader. In ``penn``, empty elements have the tag ``-NONE-``. In ``psd``, a leaf is ``word-lemma``, an
empty element is a leaf that begins with ``*`` or is ``0``, and an ``ID`` node beside the tree holds the sentence's id;
``CODE`` and other mark-up is left out. How each writes its words: bracket_words.py.

A label is its category up to the first ``-`` or ``=``; the rest, without indices, is the function. Empty elements
disappear, but first the filler of movement across branches moves to the nearest of its traces (after Evang and
Kallmeyer 2011). A filler that dominates its trace does not move, and neither do fillers of NP movement and control.

The writer inverts this (see traces.py), so any tree can be written and read again. In ``penn``, a comment line before
the tree holds an id that is not just the tree's number: ``; sent_id = cdb/28``.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from discotree.errors import TreeError
from discotree.treebanks.bracket_words import from_penn, from_psd, to_penn, to_psd, without_brackets
from discotree.treebanks.limits import CONTROL_SPACE, WHITE_SPACE, check, labels_of, refusal
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.traces import EMPTY_TAG, WRITTEN_TRACE, Item, move_fillers, raise_discontinuous
from discotree.treebanks.writer import Writer
from discotree.trees.tree import NONE, ROOT, ROOT_LABELS, Node, Token, Tree

ID_COMMENT = "; sent_id = "
PSD_ID = "ID"
PSD_MARKUP = frozenset({"CODE", "ID", "LB", "METADATA"})  # LB: a line break
BETWEEN_TREES = ("*", ";", "%", "/*", "/~*")  # beginnings of lines outside trees

_PIECE = re.compile(r"[()]|[^ \t\r\n\f\v\x1c-\x1f()]+")
_NEW_TREE = re.compile(r"\((?: ?\(|(?:ROOT|TOP|VROOT|S1)\b)")  # in the first column
_LABEL = re.compile(r"(-[^-=]*-?|[^-=]+)(.*)", re.DOTALL)  # category and the rest; -LRB- and -- are categories
_INDEX = re.compile(r"-([0-9]+)(?=$|[-=])|=[0-9]+")
_INDEXED_TAG = re.compile(r"(.+)-([0-9]+)", re.DOTALL)
_PSD_EMPTY = re.compile(r"\*.*|0", re.DOTALL)
_TRACE = re.compile(r"(\*[^*]*\*|\*)(?:-([0-9]+))?", re.DOTALL)


def read_penn(source: Source) -> Iterator[Tree]:
    return _read(source, psd=False)


def read_psd(source: Source) -> Iterator[Tree]:
    return _read(source, psd=True)


def _read(source: Source, psd: bool) -> Iterator[Tree]:
    for top, identity in _brackets(source):
        if source.is_damaged():
            continue
        try:
            tree = _tree(top, identity, psd)
        except TreeError as error:
            source.broken(top.line, str(error))
        else:
            if tree is not None:
                yield tree


def _brackets(source: Source) -> Iterator[tuple[Item, str]]:
    """Return the outermost brackets of a file, each with the id from the comment before it, or its number."""
    current: Item | None = None
    identity = ""
    seen = source.seen
    for number, line in source.lines():
        if current is None and line.startswith(BETWEEN_TREES):
            if line.startswith(ID_COMMENT):
                identity = line[len(ID_COMMENT) :].strip()
            continue
        if current is not None and line[:1] == "(" and current.children and _NEW_TREE.match(line):
            source.broken(_outermost(current).line, f"')' expected before the next tree on line {number}")
            current, identity = None, ""
        for piece in _PIECE.findall(line):
            if piece == "(":
                item = Item(number, current)
                if current is None:
                    seen += 1
                else:
                    current.children.append(item)
                current = item
            elif current is None:
                source.broken(number, f"expected '(', got {piece!r}")
                break
            elif piece == ")":
                if current.parent is None:
                    yield current, identity or RunningNumber(seen)
                    identity = ""
                current = current.parent
            elif not current.label and not current.children:
                current.label = piece
            elif current.word is None and not current.children:
                current.word = piece
            elif " " not in (current.word or ""):
                # Reported when the tree is complete, so that one broken tree can be skipped.
                current.word = f"{current.word or ''} {piece}"
    if current is not None:
        source.broken(_outermost(current).line, "the file ends inside this tree: ')' expected")


def _outermost(item: Item) -> Item:
    while item.parent is not None:
        item = item.parent
    return item


def _tree(top: Item, identity: str, psd: bool) -> Tree | None:
    """Return a tree, or None where only empty elements and mark-up were."""
    if psd:
        for child in top.children:
            if child.label == PSD_ID and child.word:
                identity = child.word
    leaves = _leaves(top, psd)
    words = [leaf for leaf in leaves if not leaf.trace]
    if not words:
        return None
    move_fillers(leaves, top)
    return _finished(top, words, identity, psd)


def _leaves(top: Item, psd: bool) -> list[Item]:
    """Check and label every bracket; return the leaves in order, each with its kind of trace."""
    leaves: list[Item] = []
    stack = [top]
    while stack:
        item = stack.pop()
        item.first_leaf = len(leaves)
        if item.word is None:
            if not item.children:
                raise TreeError(f"there is nothing in ({item.label}) on line {item.line}")
            if psd:
                item.children = [child for child in item.children if child.label not in PSD_MARKUP]
            if item.label:
                item.label, item.function, item.index = split_label(item.label)
            stack.extend(reversed(item.children))
        elif item.children or " " in item.word:
            raise TreeError(
                f"expected (TAG WORD), got the word {item.word[:40]!r} in {item.label!r} on line {item.line}"
            )
        else:
            _leaf(item, psd)
            leaves.append(item)
    return leaves


def _leaf(item: Item, psd: bool) -> None:
    assert item.word is not None
    if _PSD_EMPTY.fullmatch(item.word) if psd else item.label == EMPTY_TAG:
        index = ""
        if psd:
            item.label, item.function, index = split_label(item.label)
        match = _TRACE.match(item.word)
        item.trace = match[1] if match else item.word
        item.index = (match[2] or "") if match else index  # a zero has its index in the label
    elif match := _INDEXED_TAG.fullmatch(item.label):
        item.label, item.index = match.groups()


@lru_cache(maxsize=10_000)
def split_label(text: str) -> tuple[str, str, str]:
    """Split NP-SBJ-1 into category, function and index."""
    match = _LABEL.match(text)
    if match is None:
        return text, NONE, ""
    label, rest = match.groups()
    indices = [found[1] for found in _INDEX.finditer(rest) if found[1]]
    return label, _INDEX.sub("", rest).strip("-") or NONE, indices[-1] if indices else ""


def _finished(top: Item, words: list[Item], identity: str, psd: bool) -> Tree:
    position = {id(word): k for k, word in enumerate(words)}
    with_words: set[int] = set()
    for word in words:
        up = word.parent
        while up is not None and id(up) not in with_words:
            with_words.add(id(up))
            up = up.parent
    nodes: list[tuple[str, str, int]] = []
    token_parents = [-1] * len(words)
    stack = [(top, -1)]
    while stack:
        item, parent = stack.pop()
        index = parent
        if item is not top or (top.label and top.label not in ROOT_LABELS):
            index = len(nodes)
            nodes.append((item.label or NONE, item.function, parent))
        for child in reversed(item.children):
            if id(child) in position:
                token_parents[position[id(child)]] = index
            elif id(child) in with_words:
                stack.append((child, index))
    return Tree.from_parents([_token(word, psd) for word in words], token_parents, nodes, id=identity)


def _token(leaf: Item, psd: bool) -> Token:
    word, tag = leaf.word or "", leaf.label or NONE
    if not psd:
        return Token(from_penn(word), tag)
    form, lemma = from_psd(word)
    return Token(form, tag, lemma or NONE)


class PennWriter(Writer):
    """One tree a line, in an outer bracket without a label."""

    def tree(self, tree: Tree, number: int) -> str:
        _check(tree, psd=False)
        comment = f"{ID_COMMENT}{tree.id}\n" if tree.id and tree.id != str(number) else ""
        return f"{comment}( {_text(tree, psd=False)})\n"


class PsdWriter(Writer):
    def tree(self, tree: Tree, number: int) -> str:
        _check(tree, psd=True)
        return f"( {_text(tree, psd=True)} ({PSD_ID} {tree.id or number}))\n\n"


def _check(tree: Tree, psd: bool) -> None:
    """Refuse a tree that could not be read again."""
    format = "psd" if psd else "penn"
    check(tree, format, "word", tree.words)
    check(tree, format, "label", labels_of(tree))
    check(tree, format, "id", [tree.id or NONE], re.compile(f"{WHITE_SPACE.pattern}|[()]"))
    check(tree, format, "tag", [token.tag or NONE for token in tree.tokens])
    if psd:
        check(tree, format, "lemma", [token.lemma or NONE for token in tree.tokens], CONTROL_SPACE)
    for token in tree.tokens:
        if _INDEXED_TAG.fullmatch(token.tag) or (token.tag in PSD_MARKUP if psd else token.tag == EMPTY_TAG):
            raise refusal(tree, format, "tag", token.tag)
        if token.form.startswith("*") if psd else not token.form.strip() == token.form:
            raise refusal(tree, format, "word", token.form)
    for node in tree.nodes():
        text = without_brackets(_label(node.label, node.function, 1))
        expected = (without_brackets(node.label), without_brackets(node.function), "1")
        if split_label(text) != expected or (psd and node.label in PSD_MARKUP) or WHITE_SPACE.search(text):
            raise refusal(tree, format, "label", text)


def _text(tree: Tree, psd: bool) -> str:
    children, traces, indices = raise_discontinuous(tree)
    tokens, root = tree.tokens, tree.root
    pieces: list[str] = []
    stack: list[Node | int | str] = [root] if root.label != ROOT else list(reversed(children[id(root)]))
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
        elif isinstance(item, int):
            tag = _label(tokens[item].tag or NONE, NONE, indices.get(~item))
            word = to_psd(tokens[item]) if psd else to_penn(tokens[item].form)
            pieces.append(f" ({without_brackets(tag)} {word})")
        else:
            pieces.append(f" ({without_brackets(_label(item.label, item.function, indices.get(id(item))))}")
            stack.append(")")
            stack += [_trace(child, tokens, indices, psd) for child in traces.get(id(item), [])]
            stack.extend(reversed(children[id(item)]))
    return "".join(pieces)[1:]


def _trace(child: Node | int, tokens: tuple[Token, ...], indices: dict[int, int], psd: bool) -> str:
    if isinstance(child, int):
        text, key = tokens[child].tag or NONE, ~child
    else:
        text, key = _label(child.label, child.function, None), id(child)
    trace = f"{WRITTEN_TRACE}-{indices[key]}"
    return f" ({without_brackets(text)} {trace if psd else f'({EMPTY_TAG} {trace})'})"


def _label(label: str, function: str, index: int | None) -> str:
    return label + (f"-{function}" if function != NONE else "") + (f"-{index}" if index else "")
