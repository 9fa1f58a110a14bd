"""How `discotree parse` writes trees: as drawings or in any treebank format, one sentence at a time.

A file is a header, sentences, and a footer. The text of a sentence depends on nothing but the sentence and its number,
so that a run can stop after any sentence and another run can resume.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError, printable
from discotree.files.names import base_name, is_archive
from discotree.parsing.text_input import InputSentence
from discotree.treebanks import TEXT_FORMATS, WriterOptions, guess_format
from discotree.treebanks.json_lines import JsonWriter
from discotree.trees.tree import Tree

DRAW, JSON, PLAIN = "draw", "json", "discbracket"
OUTPUTS = (DRAW, *TEXT_FORMATS)


def output_for(name: str) -> str:
    """Return the format that a file's name asks for; refuse a name that asks for none."""
    if is_archive(name):
        raise TreebankError("archives can be read but not written", name)
    output = guess_format(name)
    if output is None:
        suffix = os.path.splitext(base_name(name))[1] or "a name without a suffix"
        raise TreebankError(f"cannot tell the format from {suffix}: --to FORMAT", name)
    if output not in OUTPUTS:
        raise TreebankError(f"{output} is not written sentence by sentence: write .export and convert it", name)
    return output


@dataclass(frozen=True)
class OutputFormat:
    """A way of writing sentences. ``sentence`` takes the trees of one, and the number of the first in the file."""

    sentence: Callable[[InputSentence, Sequence[Tree], int], str]
    header: str = ""
    footer: str = ""


def drawings(with_headings: bool, color: bool = False, width: int | None = None) -> OutputFormat:
    """Write drawings with an empty line after each; headings tell several trees of a sentence apart."""

    def draw(_: InputSentence, trees: Sequence[Tree], __: int) -> str:
        return "".join(
            f"{_heading(tree) if with_headings else ''}{tree.draw(color=color, width=width)}\n\n" for tree in trees
        )

    return OutputFormat(draw)


def _heading(tree: Tree) -> str:
    name = printable(tree.id)
    return f"{name}  expected F1 {100 * tree.confidence:.0f} %\n" if tree.confidence is not None else f"{name}\n"


def json_lines() -> OutputFormat:
    """Write the record of a tree on every line, with the offsets of its tokens where the input was text."""
    writer = JsonWriter()

    def lines(sentence: InputSentence, trees: Sequence[Tree], number: int) -> str:
        return "".join(writer.tree(tree, k, sentence.offsets) for k, tree in enumerate(trees, number))

    return OutputFormat(lines)


def treebank(format: str, heads: HeadRules | None = None) -> OutputFormat:
    """Write a treebank format; ``heads`` are for CoNLL-U."""
    writer = TEXT_FORMATS[format].writer(WriterOptions(heads))

    def text(_: InputSentence, trees: Sequence[Tree], number: int) -> str:
        return "".join(writer.tree(tree, k) for k, tree in enumerate(trees, number))

    return OutputFormat(text, writer.header, writer.footer)
