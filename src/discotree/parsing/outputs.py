"""How `discotree parse` writes trees: as drawings, as JSON lines, or in any treebank format, one sentence at a time.

A file is a beginning, sentences, and an end. The text of a sentence depends on nothing but the sentence and its number,
so that a run can stop after any of them and another one go on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.parsing.inputs import Sentence
from discotree.treebanks import TEXT_FORMATS, WriterOptions, guess_format
from discotree.treebanks.json_lines import JsonWriter
from discotree.trees.tree import Tree

DRAW, JSON, PLAIN, CONLLU = "draw", "json", "discbracket", "conllu"
OUTPUTS = (DRAW, *TEXT_FORMATS)


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
    """Write the record of a tree on every line, with the offsets of its tokens where the input was text."""
    writer = JsonWriter()

    def lines(sentence: Sentence, trees: Sequence[Tree], number: int) -> str:
        return "".join(writer.tree(tree, k, sentence.places) for k, tree in enumerate(trees, number))

    return Output(lines)


def treebank(format: str, heads: HeadRules | None = None) -> Output:
    """Write a treebank format; ``heads`` are for CoNLL-U."""
    writer = TEXT_FORMATS[format].writer(WriterOptions(heads))

    def text(_: Sentence, trees: Sequence[Tree], number: int) -> str:
        return "".join(writer.tree(tree, k) for k, tree in enumerate(trees, number))

    return Output(text, writer.header, writer.footer)
