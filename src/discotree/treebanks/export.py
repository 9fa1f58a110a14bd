"""NEGRA's export format, versions 3 and 4.

``#BOS id …`` and ``#EOS id`` enclose a sentence: first its words, then its nodes (``#500`` and up), each with the
number of its parent (0 is the root), followed by pairs of label and parent for secondary edges. Version 4 has a lemma
column that version 3 lacks; without a ``#FORMAT`` line, an even number of fields means version 4. Everything outside
sentences, such as tables and comments, is skipped. A file that is neither ASCII nor UTF-8 is read as Latin-1, as NEGRA
is distributed.

The root has no label in this format; trees get ``ROOT``. A word that looks like a node (``#501``) stays a word if
nothing hangs on that number, and the writer avoids the numbers of such words. The root has no line either: secondary
edges that it is the child of stand in a comment before the sentence, ``%% #0`` with labels and parents.
"""

import re
from collections.abc import Callable, Iterator

from discotree.errors import TreebankError, TreeError
from discotree.files.writing import without_bom
from discotree.treebanks.source import Source
from discotree.treebanks.writer import WHITE_SPACE, Writer, check_texts, unsupported
from discotree.trees.transforms import add_root
from discotree.trees.tree import NONE, SecondaryEdge, Token, Tree, new_token

FIRST_NODE = 500
_USUAL_NODES = frozenset(map(str, range(FIRST_NODE, 1000)))
_NODE = re.compile(r"#([5-9][0-9][0-9]|[1-9][0-9]{3,8})")
_ODD_SPACES = (
    "\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
)
"""Where str.split splits and the format does not."""
_FIELDS = re.compile(r"[^ \t\r]+")  # unlike str.split: a no-break space belongs to its word
FORMAT_LINE = b"#FORMAT"
HASH = ord("#")
MARKERS = (b"#B", b"#E", b"#F")  # lines that may not be words or nodes begin with one of these
ROOT_EDGES = b"%% #0\t"  # secondary edges of the root
BEGIN, END = re.compile(rb"#BOS(?=[ \t\r\n]|$)"), re.compile(rb"#EOS(?=[ \t\r\n]|$)")
_NOT_AN_ID = re.compile(f"{WHITE_SPACE.pattern}|%%")

OLD_ENCODING = "latin-1"
USUAL_LENGTH = 100  # words


def read_export(source: Source) -> Iterator[Tree]:
    sentence: list[bytes] = []
    version = 0
    start = 0  # line of the #BOS of the current sentence
    root = b""  # secondary edges of the next sentence's root
    for number, raw in source.raw_lines():
        if number == 1:
            raw = without_bom(raw)
        if raw[0] != HASH or raw[:2] not in MARKERS:
            if start:
                sentence.append(raw)
            elif raw.startswith(ROOT_EDGES):
                root = raw
        elif BEGIN.match(raw):
            if start:
                source.broken(start, f"the sentence has no #EOS before the next #BOS on line {number}")
                root = b""
            start, sentence = number, [raw]
        elif not start:
            if raw.startswith(FORMAT_LINE):
                version = {b"3": 3, b"4": 4}.get(raw[7:].strip(), 0)
        else:
            sentence.append(raw)
            if END.match(raw):
                try:
                    text = source.decode(b"".join(sentence), start, OLD_ENCODING)
                    above = _FIELDS.findall(source.decode(root.rstrip(), start, OLD_ENCODING))[2:] if root else []
                    yield _tree(source, start, text, version, above)
                except TreebankError as error:
                    source.on_error(error)
                start, root = 0, b""
    if start:
        source.broken(start, "expected #EOS before the end of the file")


def _tree(source: Source, start: int, text: str, version: int, root: list[str]) -> Tree:
    """Return the tree of a sentence's lines, from #BOS on line ``start`` to #EOS, and of the root's secondary edges."""
    head, _, body = text.removesuffix("\n").partition("\n")
    head, _, comment = head.partition("%%")
    body, _, footer = body.rpartition("\n")
    identity = [*_FIELDS.findall(head), "", ""][1]
    if _FIELDS.findall(footer)[1:2] != [identity]:
        raise source.error(start, f"#BOS {identity!r} is closed by {footer.strip()!r}")
    if not root and (tree := _plain_tree(body, version, identity, comment.strip())):
        return tree
    lines = ["", *body.split("\n")]
    tokens: list[Token] = []
    token_parents: list[str] = []
    nodes: dict[str, tuple[int, list[str]]] = {}  # by number: line and fields
    extra: list[tuple[int, str, list[str]]] = []  # line, position or #node of the child, labels and parents
    is_parent = _parents(lines, version, token_parents)
    is_odd = any(map(body.__contains__, _ODD_SPACES))
    for number, line in enumerate(lines[1:], start + 1):
        fields = line.split()  # fast; lines that it might split wrongly go to _fields
        if version == 3:
            fields.insert(1, NONE)
        if is_odd or len(fields) != 6 or not line.isascii() or "%%" in line:
            fields = _fields(line, version)
            if not fields:
                continue
            if len(fields) < 6 or len(fields) & 1:
                raise source.error(number, f"expected 5 fields (format 3) or 6 (format 4), got {line.strip()!r}")
        form = fields[0]
        if form[0] == "#" and _NODE.fullmatch(form) and (nodes or is_parent(form[1:])):
            if form[1:] in nodes:
                raise source.error(number, f"node {form} is defined twice, first on line {nodes[form[1:]][0]}")
            nodes[form[1:]] = (number, fields)
        elif nodes:
            raise source.error(number, f"the word {form!r} comes after the first node")
        else:
            tokens.append(Token(form, fields[2], fields[1], fields[3], fields[4]))
            token_parents.append(fields[5])
        if len(fields) > 6:
            extra.append((number, form if nodes else str(len(tokens) - 1), fields[6:]))
    if not tokens:
        raise source.error(start, "the sentence has no words")
    index = {name: k for k, name in enumerate(nodes)}
    index["0"] = -1
    if root:
        if len(root) & 1:
            raise source.error(start, f"expected labels and parents of the root's secondary edges, got {root[:5]}")
        extra.append((start, "#0", root))
    try:
        return Tree.from_parents(
            tokens,
            [index[parent] for parent in token_parents],
            [(fields[2], fields[4], index[fields[5]]) for _, fields in nodes.values()],
            id=identity,
            comment=comment.strip(),
            secondary=list(_secondary(source, extra, index, len(tokens))) if extra else (),
        )
    except KeyError:
        number, fields = next((k, f) for k, f in _rows(lines, version) if f[5] not in index)
        message = f"{fields[0]!r} has the unknown parent {fields[5]!r}"
        raise source.error(start + number, message) from None
    except TreeError as error:
        at = start if error.node is None else list(nodes.values())[error.node][0]
        raise source.error(at, str(error)) from None


def _plain_tree(body: str, version: int, identity: str, comment: str) -> Tree | None:
    """Return the tree of a sentence, or None if it has an error, a comment, secondary edges or an odd character.

    All lines are split at once, into columns.
    """
    rows = body.count("\n") + 1
    fields = body.replace("\n", " \0 ").split()
    width = (len(fields) + 1) // rows - 1
    step = width + 1
    if width != (version + 2 if version else 6) or fields[width::step] != ["\0"] * (rows - 1) or "%%" in body:
        return None
    first_node = rows - body.count("\n#")
    forms, parents = fields[::step], fields[width - 1 :: step]
    names = [name[1:] for name in forms[first_node:]]
    index = dict(zip(names, range(len(names)), strict=True))
    index["0"] = -1
    if (
        len(fields) + 1 != rows * step
        or not _USUAL_NODES.issuperset(names)
        or body.count("#") != len(names) == len(index) - 1
        or (names and names[0] not in parents)
        or any(map(body.__contains__, _ODD_SPACES))
    ):
        return None
    tags, morphs, functions = (fields[width - k :: step] for k in (4, 3, 2))
    lemmas = fields[1::step] if width == 6 else [NONE] * rows
    try:
        above = [index[parent] for parent in parents]
        columns = zip(forms[:first_node], tags, lemmas, morphs, functions, strict=False)
        return Tree.from_parents(
            list(map(new_token, columns)),
            above[:first_node],
            list(zip(tags[first_node:], functions[first_node:], above[first_node:], strict=True)),
            id=identity,
            comment=comment,
        )
    except (KeyError, TreeError):
        return None


def _fields(line: str, version: int) -> list[str]:
    """Return the fields of a line in the order of version 4."""
    fields = _FIELDS.findall(line)
    if "%%" in line:  # a comment can only follow the parent; before that, %% is a word like any other
        end = next((k for k in range(5, len(fields)) if fields[k].startswith("%%")), len(fields))
        fields = fields[:end]
    if version == 3 or (not version and len(fields) & 1):
        fields.insert(1, NONE)
    return fields


def _rows(lines: list[str], version: int) -> Iterator[tuple[int, list[str]]]:
    """Return the fields of all words and nodes, with their lines counted from #BOS."""
    for number, line in enumerate(lines[1:], 1):
        fields = _fields(line, version)
        if len(fields) >= 6:
            yield number, fields


def _parents(lines: list[str], version: int, token_parents: list[str]) -> Callable[[str], bool]:
    """Return a function that says whether anything hangs on a number, which tells a node from a word like #501."""
    everywhere: set[str] = set()

    def is_parent(name: str) -> bool:
        if name in token_parents[:USUAL_LENGTH]:  # mostly enough, and cheaper than the whole sentence
            return True
        if not everywhere:
            everywhere.update(fields[5] for _, fields in _rows(lines, version))
        return name in everywhere

    return is_parent


def _secondary(
    source: Source, extra: list[tuple[int, str, list[str]]], index: dict[str, int], n: int
) -> Iterator[SecondaryEdge]:
    for number, child, pairs in extra:
        address = n + 1 + index[child[1:]] if child[0] == "#" else int(child)
        for label, parent in zip(pairs[::2], pairs[1::2], strict=True):
            if parent not in index:
                raise source.error(number, f"a secondary edge leads to the unknown node {parent!r}")
            yield SecondaryEdge(label, address, n + 1 + index[parent])


class ExportWriter(Writer):
    """Version 4."""

    header = "#FORMAT 4\n"
    has_lemmas = True

    def tree(self, tree: Tree, number: int) -> str:
        identity = tree.id or str(number)
        tree = add_root(tree)
        check_texts(tree, "export", "id", [identity], _NOT_AN_ID)
        check_texts(tree, "export", "word", tree.words)
        if "\n" in tree.comment or tree.comment.strip() != tree.comment:
            raise unsupported(tree, "export", "comment", tree.comment)
        token_parents, nodes = tree.parents()
        names = _names(tree, nodes)
        secondary: dict[int, str] = {}
        for label, child, parent in tree.secondary:
            up = names[parent - len(tree) - 1]
            secondary[child] = secondary.get(child, "") + f"\t{_field(tree, 'secondary edge', label)}\t{up}"
        lines = [f"%% #0{secondary[len(tree)]}"] if len(tree) in secondary else []
        lines += [f"#BOS {identity}" + (f" %% {tree.comment}" if tree.comment else "")]
        for position, (token, parent) in enumerate(zip(tree.tokens, token_parents, strict=True)):
            form, tag, lemma, morph, function = token
            if form in ("#BOS", "#EOS"):
                raise unsupported(tree, "export", "word", form)
            middle = f"\t{_field(tree, 'lemma', lemma.replace(' ', '_'))}\t" if self.has_lemmas else "\t"
            lines.append(
                f"{form}{middle}{_field(tree, 'tag', tag)}\t{_field(tree, 'morphology', morph)}\t"
                f"{_field(tree, 'function', function)}\t{names[parent]}{secondary.get(position, '')}"
            )
        no_lemma = f"\t{NONE}\t" if self.has_lemmas else "\t"
        for k in sorted(range(len(nodes)), key=names.__getitem__):
            label, function, parent = nodes[k]
            lines.append(
                f"#{names[k]}{no_lemma}{_field(tree, 'label', label)}\t{NONE}\t"
                f"{_field(tree, 'function', function)}\t{names[parent]}{secondary.get(len(tree) + 1 + k, '')}"
            )
        lines.append(f"#EOS {identity}\n")
        return "\n".join(lines)


class Export3Writer(ExportWriter):
    """Version 3, which has no lemmas."""

    header = "#FORMAT 3\n"
    has_lemmas = False


def _names(tree: Tree, nodes: list[tuple[str, str, int]]) -> list[int]:
    """Return a number for every node, children before parents; the root's is the last, [-1]."""
    taken = {token.form for token in tree.tokens if token.form.startswith("#")}
    names = [0] * (len(nodes) + 1)
    number = FIRST_NODE
    for k in reversed(range(len(nodes))):  # pre-order reversed
        while taken and f"#{number}" in taken:
            number += 1
        names[k] = number
        number += 1
    return names


def _field(tree: Tree, what: str, text: str) -> str:
    """Return a field, -- if it is empty; refuse one with whitespace."""
    if not text:
        return NONE
    if not (text.isprintable() and " " not in text) and WHITE_SPACE.search(text):
        raise unsupported(tree, "export", what, text)
    return text
