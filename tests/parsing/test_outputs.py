"""Formats that `discotree parse` writes one sentence at a time."""

import json

import pytest
from support.helpers import parsed
from support.networks import TREES

from discotree.errors import TreebankError
from discotree.parsing.outputs import OUTPUTS, drawings, json_lines, output_for, treebank
from discotree.parsing.text_input import InputSentence


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("a.export", "export"),
        ("a.tiger.xml.gz", "tigerxml"),
        ("A.DBR", "discbracket"),
        ("a.jsonl", "json"),
        ("a.ndjson.xz", "json"),
        ("a.conllu", "conllu"),
    ],
)
def test_the_suffix_decides(name: str, output: str) -> None:
    assert output_for(name) == output


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a", "a: cannot tell the format from a name without a suffix: --to FORMAT"),
        ("a.txt", "a.txt: cannot tell the format from .txt: --to FORMAT"),
        ("a.txt.gz", "a.txt.gz: cannot tell the format from .txt: --to FORMAT"),
        ("tree.svg", "tree.svg: cannot tell the format from .svg: --to FORMAT"),
        ("a.parquet", "a.parquet: parquet is not written sentence by sentence: write .export and convert it"),
        ("a.tar.gz", "a.tar.gz: archives can be read but not written"),
    ],
)
def test_or_is_refused(name: str, complaint: str) -> None:
    with pytest.raises(TreebankError) as refused:
        output_for(name)
    assert str(refused.value) == complaint


@pytest.mark.parametrize("format", [name for name in OUTPUTS if name not in ("draw", "json")])
def test_header_sentences_and_footer_make_a_file(format: str) -> None:
    output = treebank(format)
    sentences = [InputSentence(tree.id, list(tree.words), "") for tree in TREES]
    pairs = enumerate(zip(sentences, TREES, strict=True), 1)
    text = "".join(output.sentence(sentence, [tree], number) for number, (sentence, tree) in pairs)
    assert [tree.words for tree in parsed(output.header + text + output.footer, format)] == [t.words for t in TREES]


def test_json_has_offsets_where_there_was_a_text() -> None:
    tree = TREES[0]
    offsets = [(3 * k, 3 * k + 2) for k in range(len(tree))]
    text = json_lines().sentence(InputSentence("1", list(tree.words), "", offsets), [tree], 1)
    assert [(token["start"], token["end"]) for token in json.loads(text)["tokens"]] == offsets


def test_headings_tell_several_drawings_apart() -> None:
    sentence = InputSentence("1", list(TREES[0].words), "")
    plain = drawings(with_headings=False).sentence(sentence, TREES[:1], 1)
    assert plain == f"{TREES[0].draw()}\n\n"
    assert drawings(with_headings=True).sentence(sentence, TREES[:1], 1) == f"{TREES[0].id}\n{plain}"
