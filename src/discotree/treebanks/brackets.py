"""Penn brackets: PTB (.mrg), CRAFT (.tree), and the parsed historical corpora (.psd: IcePaHC).

Two dialects, one reader. In ``penn``, empty elements have the tag ``-NONE-``. In ``psd``, a leaf is ``word-lemma``, an
empty element is a leaf that begins with ``*`` or is ``0``, and an ``ID`` node beside the tree holds the sentence's id;
``CODE`` and other mark-up is left out. Corpora whose nouns have no case in their tag (Penn's, MCVF, PPCHF, PPCHY) have
no lemmas either: there, a hyphen belongs to its word, and a gloss after ``^`` is left out.

A label is its category up to the first ``-`` or ``=``; the rest, without indices, is the function. Empty elements
disappear, but first the filler of movement across branches moves to the nearest of its traces (after Evang and
Kallmeyer 2011). A filler that dominates its trace does not move, and neither do fillers of NP movement and control.

The writer inverts this, so any tree can be written and read again. In ``penn``, a comment line before
the tree holds an id that is not just the tree's number: ``; sent_id = cdb/28``. Brackets in words, tags and labels are
written as ``-LRB-`` and ``-RRB-``; another comment line says so, because most files have these as words.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count

from discotree.errors import TreeError
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import CONTROL_SPACE, WHITE_SPACE, Writer, check_texts, unsupported
from discotree.trees.tree import LEMMA, NONE, ROOT, ROOT_LABELS, Node, Token, Tree

PSD_DASH = "<dash>"  # a hyphen inside a word; a plain one separates word and lemma
PSD_NAMES = {
    "dash": "-",
    "percent": "%",
    "threedots": "...",
    "ellipsis": "...",
    "hash": "#",
    "numbersign": "#",
    "at": "@",
    "slash": "/",
    "apostrophe": "'",
    "openparen": "(",
    "closeparen": ")",
    "lt": "<",  # specific to discotree, for words that contain one of these names
}  # characters by name: <dash/> or <dash>
PLAIN_NAMES = {
    "paren": "(",
    "$$paren": ")",
    "bracket": "[",
    "$$bracket": "]",
    "open_guillemets": "«",
    "close_guillemets": "»",
}  # where leaves have no lemmas; IcePaHC also has <paren>, which stays as it is
# Tags that IcePaHC does not have, because it adds the case to those of nouns: a sentence where most words with these
# tags have no hyphen is from a corpus without lemmas. Every sentence of these corpora that has a hyphen has such a tag.
PLAIN_TAGS = frozenset({"N", "NPR", "D", "PRO", "PRO$", "H", "PUNC", "BEF", "DOF", "HVF", "MDF", "RDF", "VBF"})
PLAIN_TAGS |= {"NCS", "NCPL", "NPRS", "CL", "CONJO", "CONJS", "DZ", "VJ", "VX", "VPP", "EJ", "AJ", "PON", "PONFP"}

_PENN_ESCAPED = re.compile(r"\\([/*])")
_PENN_LITERAL = re.compile(r"(?<=\\)(?=[/*])")  # between a backslash and a character that it would escape
_PSD_NAME = re.compile(rf"<({'|'.join(PSD_NAMES)})/?>")
_PLAIN_NAME = re.compile(rf"<({'|'.join(map(re.escape, PSD_NAMES | PLAIN_NAMES))})/?>")
_GLOSS = re.compile(r"(?<=.)\^.*", re.DOTALL)


def from_penn(word: str) -> str:
    """Return the form of a leaf, without whitespace around it: CRAFT has no-break spaces there."""
    if "\\" in word:
        word = _PENN_ESCAPED.sub(r"\1", word)
    return word.strip() or word


def to_penn(form: str) -> str:
    """Return a form as a leaf; only characters that the reader would unescape are escaped."""
    return without_brackets(_PENN_LITERAL.sub(r"\\", form) if "\\" in form else form)


def from_psd(word: str) -> tuple[str, str]:
    """Return the form and the lemma of a leaf; a leaf without a lemma has an empty one."""
    form, separator, lemma = word.rpartition("-")
    if not (separator and form):
        form, lemma = word, ""
    elif "-" in form:
        form, lemma = _split_many_hyphens(word, form, lemma)
    if "<" in word:
        return _PSD_NAME.sub(_character, form), _PSD_NAME.sub(_character, lemma)
    return form, lemma


def _split_many_hyphens(word: str, form: str, lemma: str) -> tuple[str, str]:
    """Split leaves such as ``---``, a hyphen with its lemma, and ``"-"-"``, which has two lemmas."""
    middle = len(word) // 2
    if word[middle] == "-" and word[:middle] == word[middle + 1 :]:
        return word[:middle], word[:middle]
    return (lemma, lemma) if lemma and form == f"{lemma}-{lemma}" else (form, lemma)


def from_plain_psd(word: str) -> str:
    """Return the form of a leaf in a corpus without lemmas: ``eyrev-tavshilin``, ``hn"l^aforesaid``."""
    if "^" in word:
        word = _GLOSS.sub("", word)
    elif "%" in word:
        word = word.replace("%EXCL%", "!")
    return _PLAIN_NAME.sub(_character, word) if "<" in word else word


def is_plain(leaves: Iterable[tuple[str, str]]) -> bool:
    """Return whether a sentence is from a corpus without lemmas, by its tags and words."""
    words = [word for tag, word in leaves if tag in PLAIN_TAGS or "^" in word]
    words = [word for word in words if "<" not in word and word.strip("-")] if words else words
    return bool(words) and 2 * sum(["-" not in word or "^" in word for word in words]) >= len(words)


def to_psd(token: Token) -> str:
    word = _with_names(token.form)
    if token[LEMMA] != NONE:
        return f"{word}-{_with_names(token[LEMMA].replace(' ', '_') or NONE)}"
    return "0-" if word == "0" else word  # a bare 0 is an empty element


def _character(match: re.Match[str]) -> str:
    return PSD_NAMES.get(match[1]) or PLAIN_NAMES[match[1]]


def _with_names(text: str) -> str:
    if "<" in text:
        text = _PSD_NAME.sub(lambda match: f"<lt/>{match[0][1:]}", text)
    return _without_parentheses(text).replace("-", PSD_DASH)


def _without_parentheses(text: str) -> str:
    return text.replace("(", "<openparen/>").replace(")", "<closeparen/>") if "(" in text or ")" in text else text


def without_brackets(text: str) -> str:
    return text.replace("(", "-LRB-").replace(")", "-RRB-") if "(" in text or ")" in text else text


def with_brackets(text: str) -> str:
    return text.replace("-LRB-", "(").replace("-RRB-", ")")


EMPTY_TAG = "-NONE-"
MOVEMENT = frozenset({"*T*", "*ICH*", "*EXP*", "*RNR*"})
WRITTEN_TRACE = "*ICH*"
ZERO = "0"  # a filler without words
RESUMPTIVE = "RSP"  # function of a pronoun that has its filler's index but stands in its own place
MAX_STEPS, MAX_STEPS_PER_LEAF = 100_000, 100  # from traces towards the root; real trees need about ten per leaf

_CATEGORY = re.compile(r"(?:WH?(?=[A-Z]))?([^-=]*)")


class Item:
    """A bracket while it is read: a phrase, or a leaf with its word."""

    __slots__ = ("children", "first_leaf", "function", "index", "label", "line", "parent", "trace", "word")

    def __init__(self, line: int, parent: "Item | None") -> None:
        self.line = line
        self.parent = parent
        self.label = ""
        self.function = NONE
        self.index = ""  # shared with its trace or filler
        self.word: str | None = None
        self.children: list[Item] = []
        self.trace = ""  # kind of an empty leaf
        self.first_leaf = 0  # index of its first leaf, empty ones counted


def move_fillers(leaves: list[Item], top: Item) -> None:
    """Move every overt filler to the nearest of its traces that it does not dominate."""
    traces: dict[str, list[Item]] = {}
    for leaf in leaves:
        if leaf.trace in MOVEMENT:
            phrase = _phrase_of(leaf)
            index = leaf.index or phrase.index
            if index:
                traces.setdefault(index, []).append(phrase)
    if not traces:
        return
    steps_left = MAX_STEPS + MAX_STEPS_PER_LEAF * len(leaves)

    def dominates(filler: Item, trace: Item) -> bool:
        nonlocal steps_left
        item: Item | None = trace
        while item is not None and item is not filler:
            item = item.parent
            steps_left -= 1
        if steps_left < 0:
            raise TreeError("too many fillers and traces are inside each other")
        return item is filler

    left: dict[int, Item] = {}  # former parents, by their id
    fillers = _fillers(top, traces)
    for filler, candidates in zip(fillers, _candidates(fillers, traces), strict=True):
        here = filler.first_leaf
        steps_left -= len(candidates)
        nearest = sorted(candidates, key=lambda trace: (abs(trace.first_leaf - here), trace.first_leaf))
        target = next((trace for trace in nearest if not dominates(filler, trace)), None)
        if target is None:
            continue
        candidates.remove(target)
        if filler.trace:
            continue
        assert target.parent is not None  # a trace or a filler is never the outermost bracket
        assert filler.parent is not None
        if filler.function == NONE and filler.word is None:
            filler.function = target.function
        if filler.parent is not target.parent:
            left[id(filler.parent)] = filler.parent
            filler.parent = target.parent
            target.parent.children.append(filler)
    for parent in left.values():
        parent.children = [child for child in parent.children if child.parent is parent]


def _phrase_of(leaf: Item) -> Item:
    """Return the phrase over only this empty leaf, (NP-SBJ (-NONE- *T*-1)), or else the leaf."""
    if leaf.parent is not None and len(leaf.parent.children) == 1 and leaf.label == EMPTY_TAG:
        return leaf.parent
    return leaf


def _candidates(fillers: list[Item], traces: dict[str, list[Item]]) -> list[list[Item]]:
    """Return the traces that each filler may move to.

    Fillers that share an index divide its traces by category; traces of other categories are for other fillers.
    """
    counts = Counter(filler.index for filler in fillers)
    keys = {(filler.index, _category(filler)) for filler in fillers if counts[filler.index] > 1}
    divided: dict[tuple[str, str], list[Item]] = {}
    for index in counts:
        for trace in traces[index]:
            key = (index, _category(trace))
            divided.setdefault(key if key in keys else (index, ""), []).append(trace)
    choices: list[list[Item]] = []
    for filler in fillers:
        key = (filler.index, _category(filler))
        if counts[filler.index] > 1 and RESUMPTIVE in filler.function.split("-"):
            choices.append([])
        else:
            choices.append(divided.get(key) or divided.get((filler.index, ""), []))
    return choices


def _category(item: Item) -> str:
    match = _CATEGORY.match(item.label)
    return match[1] if match else item.label


def _fillers(top: Item, traces: dict[str, list[Item]]) -> list[Item]:
    """Return the brackets that share an index with a trace, from left to right, parents first.

    If none of them has words, nothing can move, and there are none.
    """
    targets = {id(phrase) for phrases in traces.values() for phrase in phrases}
    fillers = []
    stack = [top]
    while stack:
        item = stack.pop()
        if item.index in traces and item.trace in ("", ZERO) and id(item) not in targets and item is not top:
            fillers.append(item)
        stack.extend(reversed(item.children))
    return [] if all(item.trace for item in fillers) else fillers


Raised = tuple[dict[int, list[Node | int]], dict[int, list[Node | int]], dict[int, int]]


def raise_discontinuous(tree: Tree) -> Raised:
    """Return the children to write for each node so that words stay in order, its traces, and all indices.

    Keys are the id of a node; indices also have ~position for a raised word.
    """
    written: dict[int, list[Node | int]] = {}
    traces: dict[int, list[Node | int]] = {}
    indices: dict[int, int] = {}
    spans: dict[int, tuple[int, int]] = {}
    order = list(tree.nodes())
    parents = {id(child): node for node in order for child in node.children if isinstance(child, Node)}
    raised: dict[int, list[Node | int]] = {}
    numbers = count(1)

    def span(child: Node | int) -> tuple[int, int]:
        return (child, child + 1) if isinstance(child, int) else spans[id(child)]

    for node in reversed(order):
        members = sorted([*node.children, *raised.pop(id(node), [])], key=lambda child: span(child)[0])
        in_place = written[id(node)] = members[:1]
        start, end = span(members[0])
        for child in members[1:]:
            child_start, child_end = span(child)
            if child_start == end:
                in_place.append(child)
                end = child_end
                continue
            raised.setdefault(id(parents[id(node)]), []).append(child)
            key = ~child if isinstance(child, int) else id(child)
            if key not in indices:
                indices[key] = next(numbers)
                traces.setdefault(id(node), []).append(child)
        spans[id(node)] = (start, end)
    return written, traces, indices


ID_COMMENT = "; sent_id = "
BRACKET_COMMENT = "; brackets = -LRB- -RRB-"
LEMMA_COMMENT = "; leaves = word-lemma"  # in a tree that looks as if it had no lemmas
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


def read_brackets(source: Source, psd: bool) -> Iterator[Tree]:
    for top, identity, has_lemmas in _brackets(source):
        if source.is_damaged():
            continue
        try:
            tree = _tree(top, identity, psd, has_lemmas)
        except TreeError as error:
            source.broken(top.line, str(error))
        else:
            if tree is not None:
                yield tree


def _brackets(source: Source) -> Iterator[tuple[Item, str, bool]]:
    """Return the outermost brackets of a file, each with the id from the comment before it, or its number.

    The third value is whether a comment says that leaves have lemmas.
    """
    current: Item | None = None
    identity = ""
    has_brackets = has_lemmas = False  # brackets in words are written as -LRB- and -RRB-
    seen = source.seen
    for number, line in source.lines():
        if current is None and line.startswith(BETWEEN_TREES):
            if line.startswith(ID_COMMENT):
                identity = line[len(ID_COMMENT) :].strip()
            has_brackets = has_brackets or line.rstrip() == BRACKET_COMMENT
            has_lemmas = has_lemmas or line.rstrip() == LEMMA_COMMENT
            continue
        if current is not None and line[:1] == "(" and current.children and _NEW_TREE.match(line):
            source.broken(_outermost(current).line, f"expected ')' before the next tree on line {number}")
            current, identity, has_brackets, has_lemmas = None, "", False, False
        for piece in _PIECE.findall(line):
            text = with_brackets(piece) if has_brackets else piece
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
                    yield current, identity or RunningNumber(seen), has_lemmas
                    identity, has_brackets, has_lemmas = "", False, False
                current = current.parent
            elif not current.label and not current.children:
                current.label = text
            elif current.word is None and not current.children:
                current.word = text
            elif " " not in (current.word or ""):
                # Reported when the tree is complete, so that one broken tree can be skipped.
                current.word = f"{current.word or ''} {text}"
    if current is not None:
        source.broken(_outermost(current).line, "expected ')' before the end of the file")


def _outermost(item: Item) -> Item:
    while item.parent is not None:
        item = item.parent
    return item


def _tree(top: Item, identity: str, psd: bool, has_lemmas: bool) -> Tree | None:
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
    pairs = [(word.label, word.word or "") for word in words]
    return _build(top, words, _psd_tokens(pairs, has_lemmas) if psd else _penn_tokens(pairs), identity)


def _leaves(top: Item, psd: bool) -> list[Item]:
    """Check and label every bracket; return the leaves in order, each with its kind of trace."""
    leaves: list[Item] = []
    stack = [top]
    while stack:
        item = stack.pop()
        item.first_leaf = len(leaves)
        if item.word is None:
            if not item.children:
                raise TreeError(f"empty bracket ({item.label}) on line {item.line}")
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
    label, suffix = match.groups()
    indices = [index[1] for index in _INDEX.finditer(suffix) if index[1]]
    return label, _INDEX.sub("", suffix).strip("-") or NONE, indices[-1] if indices else ""


def _build(top: Item, words: list[Item], tokens: list[Token], identity: str) -> Tree:
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
    return Tree.from_parents(tokens, token_parents, nodes, id=identity)


def _penn_tokens(leaves: list[tuple[str, str]]) -> list[Token]:
    return [Token(from_penn(word), tag or NONE) for tag, word in leaves]


def _psd_tokens(leaves: list[tuple[str, str]], has_lemmas: bool) -> list[Token]:
    """Return the tokens of leaves, which are pairs of a tag and a word."""
    if not has_lemmas and is_plain(leaves):
        return [Token(from_plain_psd(word), tag or NONE) for tag, word in leaves]
    tokens = []
    for tag, word in leaves:
        form, lemma = from_psd(word)
        tokens.append(Token(form, tag or NONE, lemma or NONE))
    return tokens


class PennWriter(Writer):
    """One tree a line, in an outer bracket without a label."""

    def tree(self, tree: Tree, number: int) -> str:
        _check(tree, psd=False)
        leaves = [to_penn(token.form) for token in tree.tokens]
        comment = f"{ID_COMMENT}{tree.id}\n" if tree.id and tree.id != str(number) else ""
        comment += _bracket_comment(tree, "penn", tree.words)
        return f"{comment}( {_text(tree, leaves, psd=False)})\n"


class PsdWriter(Writer):
    def tree(self, tree: Tree, number: int) -> str:
        _check(tree, psd=True)
        leaves, comment = _psd_leaves(tree)
        comment = _bracket_comment(tree, "psd", [tree.id]) + comment
        return f"{comment}( {_text(tree, leaves, psd=True)} ({PSD_ID} {tree.id or number}))\n\n"


def _psd_leaves(tree: Tree) -> tuple[list[str], str]:
    """Return the leaves of a tree, and a comment if the reader would take them for those of a corpus without lemmas."""
    tokens = tree.tokens
    escaped = [to_psd(token) for token in tokens]
    tags = [token.tag for token in tokens]
    if not is_plain(zip(tags, escaped, strict=True)):
        return escaped, ""
    if all(token[LEMMA] == NONE for token in tokens):
        for leaves in ([_without_parentheses(token.form) for token in tokens], escaped):
            readable = [from_plain_psd(leaf) for leaf in leaves if not _PSD_EMPTY.fullmatch(leaf)] == list(tree.words)
            if readable and is_plain(zip(tags, leaves, strict=True)):
                return leaves, ""
    return escaped, f"{LEMMA_COMMENT}\n"


def _bracket_comment(tree: Tree, format: str, words: Sequence[str]) -> str:
    """Return a comment if there are brackets in words, tags or labels; refuse those that it cannot restore."""
    labels = [text for node in tree.nodes() for text in (node.label, node.function)]
    texts = [*words, *[token.tag for token in tree.tokens], *labels]
    joined = "\n".join(texts)
    if "(" not in joined and ")" not in joined:
        return ""
    for text in texts:
        if with_brackets(without_brackets(text)) != text:
            raise unsupported(tree, format, "text", text)
    return f"{BRACKET_COMMENT}\n"


def _check(tree: Tree, psd: bool) -> None:
    """Raise an error for a tree that could not be read again."""
    format = "psd" if psd else "penn"
    check_texts(tree, format, "word", tree.words)
    check_texts(tree, format, "label", [node.label for node in tree.nodes()])
    check_texts(tree, format, "id", [tree.id or NONE], re.compile(f"{WHITE_SPACE.pattern}|[()]"))
    check_texts(tree, format, "tag", [token.tag or NONE for token in tree.tokens])
    if psd:
        check_texts(tree, format, "lemma", [token[LEMMA] or NONE for token in tree.tokens], CONTROL_SPACE)
    for token in tree.tokens:
        if _INDEXED_TAG.fullmatch(token.tag) or (token.tag in PSD_MARKUP if psd else token.tag == EMPTY_TAG):
            raise unsupported(tree, format, "tag", token.tag)
        if token.form.startswith("*") if psd else not token.form.strip() == token.form:
            raise unsupported(tree, format, "word", token.form)
    for node in tree.nodes():
        text = _label(node.label, node.function, 1)
        is_split = split_label(text) == (node.label, node.function, "1")
        if not is_split or (psd and node.label in PSD_MARKUP) or WHITE_SPACE.search(text):
            raise unsupported(tree, format, "label", text)


def _text(tree: Tree, leaves: Sequence[str], psd: bool) -> str:
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
            pieces.append(f" ({without_brackets(tag)} {leaves[item]})")
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
