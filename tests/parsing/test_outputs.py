"""The suffix of an output file decides on its format."""

import pytest

from discotree.errors import TreebankError
from discotree.parsing.outputs import output_for


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("a.export", "export"),
        ("a.tiger.xml.gz", "tigerxml"),
        ("A.DBR", "discbracket"),
        ("a.jsonl", "json"),
        ("a.ndjson.xz", "json"),
        ("a.conllu", "conllu"),
        ("a.parquet", "parquet"),
    ],
)
def test_the_suffix_decides(name: str, output: str) -> None:
    assert output_for(name) == output


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("a", "a: cannot tell the format from a name without a suffix; pass --to FORMAT"),
        ("a.txt", "a.txt: cannot tell the format from .txt; pass --to FORMAT"),
        ("a.txt.gz", "a.txt.gz: cannot tell the format from .txt; pass --to FORMAT"),
        ("tree.svg", "tree.svg: cannot tell the format from .svg; pass --to FORMAT"),
        ("a.tar.gz", "a.tar.gz: archives can be read but not written"),
    ],
)
def test_or_is_refused(name: str, complaint: str) -> None:
    with pytest.raises(TreebankError) as refused:
        output_for(name)
    assert str(refused.value) == complaint
