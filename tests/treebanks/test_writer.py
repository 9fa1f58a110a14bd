import pytest
from support.helpers import tree_of, written

from discotree import HeadRules, read
from discotree.treebanks import TEXT_FORMATS

TREES = [tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "cdb/1"), tree_of("(ROOT (N 0=ja))", "2")]


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_a_file_is_a_header_its_trees_and_a_footer(format):
    writer = TEXT_FORMATS[format].writer()
    pieces = [writer.tree(tree, number) for number, tree in enumerate(TREES, 1)]
    assert writer.header + "".join(pieces) + writer.footer == written(TREES, format)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_the_text_of_a_tree_does_not_depend_on_the_trees_before_it(format):
    first, second = (TEXT_FORMATS[format].writer() for _ in range(2))
    first.tree(TREES[0], 1)
    assert first.tree(TREES[1], 2) == second.tree(TREES[1], 2)


@pytest.mark.parametrize("format", ["discbracket", "penn"])
def test_a_format_leaves_out_an_id_that_is_the_trees_number(format):
    writer = TEXT_FORMATS[format].writer()
    assert "2" not in writer.tree(TREES[1], 2)
    assert "2" in writer.tree(TREES[1], 7)


def test_conllu_takes_its_head_rules_as_an_option(data):
    trees = list(read(data / "figure1.export"))
    texts = {
        "".join(TEXT_FORMATS["conllu"].writer(heads).file(trees))
        for heads in (HeadRules.load("negra"), HeadRules.load("alpino"))
    }
    assert len(texts) == 2


@pytest.mark.parametrize("format", ["tigerxml", "alpino", "folia"])
def test_xml_declares_its_encoding(format):
    for encoding, name in (("latin-1", "latin-1"), ("utf-8-sig", "UTF-8"), ("utf8", "UTF-8")):
        header = TEXT_FORMATS[format].writer(encoding=encoding).header
        assert header.startswith(f'<?xml version="1.0" encoding="{name}"?>\n')
