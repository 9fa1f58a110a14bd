"""WebAnno TSV 3, the format of INCEpTION and WebAnno: one word per line, with columns for the features of layers.

Tags, lemmas and morphology are in the built-in layers, constituents in the layer Constituent. INCEpTION has no
discontinuous spans, so every block of a constituent is a span, and ``node`` has the same number in all of them. If two
constituents cover the same words, the one with the lower number is higher. A span without a label holds the function of
a word. Offsets count UTF-16 code units.
"""

import re
from collections.abc import Iterator
from itertools import chain

from discotree.errors import TreebankError
from discotree.files.writing import NOT_XML
from discotree.treebanks.source import RunningNumber, Source, Span, tree_from_spans
from discotree.treebanks.writer import OUTER_SPACE, DocumentWriter, check_texts
from discotree.trees.transforms import add_root
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, ROOT_LABELS, Token, Tree

FORMAT = "#FORMAT=WebAnno TSV 3."
IDENTITY = "#Sentence.id="
DKPRO = "de.tudarmstadt.ukp.dkpro.core.api"
CONSTITUENT = "Constituent"
TOKEN_COLUMNS = ("POS|PosValue", "Lemma|value", "MorphologicalFeatures|value")  # tag, lemma, morphology
NO_ANNOTATION, NO_VALUE = "_", "*"
_RESERVED = re.compile(r"->|[\\\[\]|_;*\t\n\r]")
_LETTERS, _CODES = {"t": "\t", "n": "\n", "r": "\r"}, {"\t": "t", "\n": "n", "\r": "r"}
_STACKED = re.compile(r"(?:[^\\|]|\\.)+")
_NUMBER = re.compile(r"\[[0-9]+\]$")
_ROW = re.compile(r"[0-9]+-[0-9]+(\.[0-9]+)?\t[0-9]+-[0-9]+\t([^\t]+)((?:\t[^\t]+)*)\t?")


def read_webanno(source: Source) -> Iterator[Tree]:
    columns: list[str] = []  # the layer and the feature
    rows: list[tuple[int, str]] = []
    identity = ""
    seen = 0
    for number, line in chain(source.lines(), [(0, "")]):
        if number == 1 and not line.startswith(FORMAT):
            source.broken(1, f"expected {FORMAT}3, got {line!r:.50}")
            return
        if line and not line.startswith("#"):
            rows.append((number, line))
            continue
        if rows:
            seen += 1
            try:
                if not source.is_damaged():
                    yield _tree(source, rows, columns, identity or RunningNumber(seen))
            except TreebankError as error:
                source.on_error(error)
            rows, identity = [], ""
        if line.startswith("#T_"):
            layer, *features = [*filter(None, line.partition("=")[2].split("|"))] or [""]
            columns += [f"{layer.rpartition('.')[2]}|{feature}" for feature in features or [""]]
        elif line.startswith(IDENTITY):
            identity = _unescaped(line.removeprefix(IDENTITY))


def _tree(source: Source, rows: list[tuple[int, str]], columns: list[str], identity: str) -> Tree:
    tokens: list[Token] = []
    spans: dict[str, Span] = {}
    for number, line in rows:
        row = _ROW.fullmatch(line)
        fields = row[3].split("\t")[1:] if row else []
        if not row or len(fields) != len(columns) or (row[1] and not tokens):
            raise source.error(number, f"expected number, offsets, word and {len(columns)} columns, got {line!r:.80}")
        if row[1]:
            continue  # a part of a word
        values: dict[str, str] = {}
        for column, text in zip(columns, fields, strict=True):
            for k, item in enumerate(_STACKED.findall(text) if text != NO_ANNOTATION else ()):
                key = _NUMBER.search(item)
                value = item[: key.start()] if key else item
                target = values
                if column.startswith(f"{CONSTITUENT}|"):
                    span = spans.setdefault(key[0] if key else f"{number}|{k}", Span(number))
                    span.mask |= 1 << len(tokens)
                    target = span.values
                if value not in ("", NO_VALUE):
                    target.setdefault(column.removeprefix(f"{CONSTITUENT}|"), _unescaped(value))
        tag, lemma, morph = [values.get(column, NONE) for column in TOKEN_COLUMNS]
        tokens.append(Token(row[2], tag, lemma, morph))
    nodes: dict[str, Span] = {}
    for k, span in enumerate(spans.values()):
        span.label = span.values.get("label", "")
        position = span.mask.bit_length() - 1
        if not span.label and span.mask == 1 << position:
            tokens[position] = tokens[position]._replace(function=span.values.get("function"))
            continue
        first = nodes.setdefault(span.values.get("node", f"{k}|"), span)
        if not span.label or first.label != span.label:
            raise source.error(span.line, f"sentence {identity}: a constituent has no label or several labels")
        first.mask |= span.mask
    ordered = sorted(nodes, key=lambda node: int(node) if re.fullmatch("[0-9]{1,9}", node) else 10**9)
    return tree_from_spans(source, tokens, [nodes[node] for node in ordered], identity)


class WebannoWriter(DocumentWriter):
    header = f"""{FORMAT}3
#T_SP={DKPRO}.lexmorph.type.pos.{TOKEN_COLUMNS[0]}
#T_SP={DKPRO}.segmentation.type.{TOKEN_COLUMNS[1]}
#T_SP={DKPRO}.lexmorph.type.morph.{TOKEN_COLUMNS[2]}
#T_SP=webanno.custom.{CONSTITUENT}|label|function|node\n\n"""

    def part(self, tree: Tree, number: int, offset: int, count: int) -> tuple[str, int, int]:
        check_texts(tree, "webanno", "word", tree.words, OUTER_SPACE)
        check_texts(tree, "webanno", "id", [tree.id or str(number)], OUTER_SPACE)
        tree = add_root(tree)
        stacks: list[list[list[str]]] = [[] for _ in tree.tokens]

        def annotate(start: int, end: int, *values: str) -> None:
            nonlocal count
            count += 1
            for position in range(start, end):
                stacks[position].append([f"{value}[{count}]" for value in values])

        root, *nodes = tree.nodes()
        # The root is not written, unless the node below it would be taken for it.
        for k, node in enumerate([root, *nodes] if nodes and nodes[0].label in ROOT_LABELS else nodes, 1):
            for start, end in node.spans:
                annotate(start, end, _escaped(node.label), _escaped(node.function, NO_VALUE), str(k))
        identity, text = (value.replace("\\", "\\\\") for value in (tree.id, " ".join(tree.words)))
        lines = [f"\n{IDENTITY}{identity}" if identity else "", f"#Text={text}"]
        for k, token in enumerate(tree.tokens):
            if token[FUNCTION] not in ("", NONE):
                annotate(k, k + 1, NO_VALUE, _escaped(token[FUNCTION]), NO_VALUE)
            end = offset + len(token.form.encode("utf-16-le")) // 2
            fields = [f"{number}-{k + 1}", f"{offset}-{end}", token.form]
            fields += [_escaped(text, NO_ANNOTATION) for text in (token.tag, token[LEMMA], token[MORPH])]
            fields += ["|".join(column) for column in zip(*stacks[k], strict=True)] or [NO_ANNOTATION] * 3
            lines.append("\t".join(fields) + "\t")
            offset = end + 1
        content = "\n".join(lines) + "\n"
        check_texts(tree, "webanno", "text", [content], NOT_XML)
        return content, offset, count


def _escaped(text: str, missing: str = "") -> str:
    if missing and text in ("", NONE):
        return missing
    return _RESERVED.sub(lambda match: "\\" + _CODES.get(match[0], match[0]), text)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _LETTERS.get(match[1], match[1]), text)
