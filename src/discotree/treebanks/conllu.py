"""CoNLL-U: the encoding of a tree as augmented dependencies, one word a line.

HEAD and DEPREL hold the arcs (``NP#2``), XPOS the tag, LEMMA the lemma. MISC holds the values without a column:
``Morph``, ``Function`` (of the word), ``Unary`` (the chain of phrases over the word alone) and ``Spine`` (the functions
of the phrases that the word heads, lowest first). ``# root`` names the root's label. Characters that would break a
column are percent-encoded. Only files with a ``# root`` line are decoded; in treebanks from elsewhere, relations are
read as labels, and FEATS as morphology.
"""

import re
from collections.abc import Iterator
from itertools import chain

from discotree.encoding.dependencies import DUMMY_ROOT, Dependencies, to_dependencies, to_tree
from discotree.errors import EncodingError, TreebankError, TreeError
from discotree.treebanks.source import RunningNumber, Source
from discotree.treebanks.writer import Writer, check_texts
from discotree.trees.tree import NONE, ROOT, Token, Tree

NO_VALUE = "_"
COLUMNS = 10
NOTHING = re.compile(r"(?!)")  # matches nothing: every character can be encoded
LINE_END = re.compile(r"[\r\n]|^\s|\s$")
_UNSAFE = re.compile(r"[%|=,\s]")
_ENCODED = re.compile(r"%([0-9A-F]{2,6});")


def read_conllu(source: Source) -> Iterator[Tree]:
    block: list[tuple[int, str]] = []
    seen = 0
    for number, line in chain(source.lines(), [(0, "")]):
        if line.strip():
            block.append((number, line))
            continue
        if any(not text.startswith("#") for _, text in block):
            seen += 1
            if not source.is_damaged():
                try:
                    yield to_tree(_dependencies(source, block, seen))
                except TreebankError as error:
                    source.on_error(error)
                except (EncodingError, TreeError) as error:
                    source.broken(block[0][0], str(error))
        block = []


def _dependencies(source: Source, block: list[tuple[int, str]], count: int) -> Dependencies:
    meta: dict[str, str] = {}
    for _, text in block:
        if text.startswith("#"):
            key, _, value = text[1:].partition("=")
            meta[key.strip()] = value.strip()
    ours = "root" in meta
    tokens: list[Token] = []
    heads: list[int] = []
    labels: list[str] = []
    functions: list[tuple[str, ...]] = []
    unaries: list[str] = []
    for number, text in block:
        if text.startswith("#"):
            continue
        columns = text.split("\t")
        if len(columns) != COLUMNS:
            raise source.error(number, f"expected {COLUMNS} columns, got {len(columns)}")
        if "-" in columns[0] or "." in columns[0]:
            continue  # a multi-word token or an empty node
        if columns[0] != str(len(tokens) + 1):
            raise source.error(number, f"expected word {len(tokens) + 1}, got {columns[0]!r}")
        head = columns[6]
        if not (head.isascii() and head.isdecimal() and len(head) < 10):
            raise source.error(number, f"expected the number of a head, got {head!r}")
        misc = dict(item.partition("=")[::2] for item in columns[9].split("|")) if ours else {}
        form, lemma, tag = columns[1], columns[2], columns[4]
        if not form:
            raise source.error(number, "the word is empty")
        tokens.append(
            Token(
                percent_decoded(form) if ours else form,
                _value(tag if ours or tag != NO_VALUE else columns[3], ours),
                _value(lemma, ours),
                percent_decoded(misc.get("Morph", NONE)) if ours else _value(columns[5], ours),
                percent_decoded(misc.get("Function", NONE)),
            )
        )
        heads.append(int(head) - 1)
        labels.append(percent_decoded(columns[7]) if ours else columns[7])
        functions.append(tuple(percent_decoded(f) for f in misc["Spine"].split(",")) if "Spine" in misc else ())
        unaries.append(percent_decoded(misc.get("Unary", "")))
    return Dependencies(
        tuple(tokens),
        tuple(heads),
        tuple(labels),
        tuple(functions),
        tuple(unaries),
        percent_decoded(meta.get("root", "")) or ROOT,
        meta.get("sent_id") or RunningNumber(count),
    )


class ConlluWriter(Writer):
    def tree(self, tree: Tree, number: int) -> str:
        check_texts(tree, "conllu", "word", tree.words, NOTHING)
        check_texts(tree, "conllu", "id", [tree.id or str(number)], LINE_END)
        d = to_dependencies(tree, self.heads)
        lines = [f"# sent_id = {d.id}"] if d.id else []
        lines += [f"# text = {' '.join(' '.join(token.form.split()) for token in d.tokens)}"]
        lines += [f"# root = {percent_encoded(d.root)}"]
        for position, (token, head, label) in enumerate(zip(d.tokens, d.heads, d.labels, strict=True)):
            form, tag, lemma, morph, function = token
            misc = []
            if morph != NONE:
                misc.append(f"Morph={percent_encoded(morph)}")
            if function != NONE:
                misc.append(f"Function={percent_encoded(function)}")
            if d.unaries and d.unaries[position]:
                misc.append(f"Unary={percent_encoded(d.unaries[position])}")
            if d.functions and any(f != NONE for f in d.functions[position]):
                misc.append(f"Spine={','.join(map(percent_encoded, d.functions[position]))}")
            lines.append(
                f"{position + 1}\t{percent_encoded(form)}\t{_column(lemma)}\t{NO_VALUE}\t{_column(tag)}"
                f"\t{NO_VALUE}\t{head - DUMMY_ROOT}\t{percent_encoded(label)}\t{NO_VALUE}\t{'|'.join(misc) or NO_VALUE}"
            )
        return "\n".join(lines) + "\n\n"


def _column(text: str) -> str:
    return NO_VALUE if text == NONE else "%5F;" if text == NO_VALUE else percent_encoded(text)


def _value(column: str, ours: bool) -> str:
    return NONE if column == NO_VALUE else percent_decoded(column) if ours else column


def percent_encoded(text: str, unsafe: re.Pattern[str] = _UNSAFE) -> str:
    return unsafe.sub(lambda match: f"%{ord(match[0]):02X};", text)


def percent_decoded(text: str) -> str:
    return _ENCODED.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    number = int(match[1], 16)
    is_character = number <= 0x10FFFF and not 0xD800 <= number <= 0xDFFF
    return chr(number) if is_character else match[0]
