"""How `discotree parse` writes trees: as drawings, as JSON lines, or in any treebank format, one sentence at a time.

A file is a beginning, sentences, and an end. The text of a sentence depends on nothing but the sentence and its number,
so that a run can stop after any of them and another one go on.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.parsing.inputs import Sentence
from discotree.treebanks import TEXT_FORMATS, guess_format
from discotree.treebanks.brackets import write_penn
from discotree.treebanks.conllu import write_conllu
from discotree.treebanks.discbracket import write_discbracket
from discotree.treebanks.json_lines import json_line
from discotree.trees.tree import Tree

DRAW, JSON, PLAIN, CONLLU = "draw", "json", "discbracket", "conllu"
OUTPUTS = (DRAW, *TEXT_FORMATS)
NUMBERED = {"discbracket": write_discbracket, "penn": write_penn}  # they leave out an id that is the tree's number


def output_for(name: str) -> str:
    """The output that a file's name asks for."""
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


def json_lines() -> Output:
    """The record of a tree on every line, with the offsets of its tokens where the input was text."""

    def lines(sentence: Sentence, trees: Sequence[Tree], _: int) -> str:
        return "".join(json_line(tree.to_dict(sentence.places)) for tree in trees)

    return Output(lines)


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
