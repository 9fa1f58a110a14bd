"""How `discotree parse` writes trees: as drawings, as JSON lines, or in any treebank format, one sentence at a time.

A file is a beginning, sentences, and an end. The text of a sentence depends on nothing but the sentence and its number,
so that a run can stop after any of them and another one go on.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.parsing.inputs import Sentence
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.brackets import write_penn
from discotree.treebanks.conllu import write_conllu
from discotree.treebanks.discbracket import format_discbracket, write_discbracket
from discotree.treebanks.source import base_name
from discotree.trees.tree import Tree, rounded

DRAW, JSON, PLAIN, CONLLU = "draw", "json", "discbracket", "conllu"
OUTPUTS = (DRAW, JSON, *TEXT_FORMATS)
JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
NUMBERED = {"discbracket": write_discbracket, "penn": write_penn}  # they leave out an id that is the tree's number
_LINE_END = re.compile("[\x85\u2028\u2029]")  # what some take for one, beside those that JSON escapes


def output_for(name: str) -> str:
    """The output that a file's name asks for."""
    if base_name(name).lower().endswith(JSON_SUFFIXES):
        return JSON
    output = guess_format(name) or PLAIN
    if output not in OUTPUTS:
        raise TreebankError(f"{output} is not written sentence by sentence: write .export and convert it", name)
    return output


@dataclass(frozen=True)
class Output:
    """``sentence`` gives the text of a sentence with its trees, the first of which has this number in the file."""

    sentence: Callable[[Sentence, Sequence[Tree], int], str]
    begin: str = ""
    end: str = ""


def drawings(several: bool, color: bool = False, width: int | None = None) -> Output:
    """Drawings with an empty line after each; of several trees for a sentence each has a heading."""

    def draw(_: Sentence, trees: Sequence[Tree], __: int) -> str:
        return "".join(
            f"{_heading(tree) if several else ''}{tree.draw(color=color, width=width)}\n\n" for tree in trees
        )

    return Output(draw)


def _heading(tree: Tree) -> str:
    return f"{tree.id}  probability {tree.confidence:.4g}\n" if tree.confidence is not None else f"{tree.id}\n"


def json_lines(several: bool) -> Output:
    """One object a line."""

    def line(sentence: Sentence, trees: Sequence[Tree], _: int) -> str:
        record: dict[str, Any] = {"id": sentence.id, "tokens": list(_tokens(sentence))}
        record |= {"trees": [_analysis(tree) for tree in trees]} if several else _analysis(trees[0])
        return _LINE_END.sub(_escaped, json.dumps(record, ensure_ascii=False)) + "\n"

    return Output(line)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _tokens(sentence: Sentence) -> Iterator[dict[str, Any]]:
    if not sentence.places:
        yield from ({"form": form} for form in sentence.words)
    for form, (start, end) in zip(sentence.words, sentence.places, strict=False):
        yield {"form": form, "start": start, "end": end}


def _analysis(tree: Tree) -> dict[str, Any]:
    return {
        "confidence": rounded(tree.confidence),
        "tags": [token.tag for token in tree.tokens],
        "morph": [token.morph for token in tree.tokens],
        "functions": [token.function for token in tree.tokens],
        "constituents": [row._replace(confidence=rounded(row.confidence))._asdict() for row in tree.constituents()],
        "discbracket": format_discbracket(tree),
    }


def treebank(format: str, heads: HeadRules | None = None) -> Output:
    """A treebank format. ``heads`` are for CoNLL-U."""
    write: Callable[[Iterable[Tree]], Iterator[str]] = TEXT_FORMATS[format].write
    if format == CONLLU and heads is not None:
        rules = heads

        def write(trees: Iterable[Tree]) -> Iterator[str]:
            return write_conllu(trees, rules)

    begin, end = [*write([]), "", ""][:2]
    numbered = NUMBERED.get(format)

    def text(_: Sentence, trees: Sequence[Tree], number: int) -> str:
        if numbered is not None:
            return "".join(numbered(trees, number))
        return "".join("".join(write([tree])).removeprefix(begin).removesuffix(end) for tree in trees)

    return Output(text, begin, end)
