"""The attributes of Docs, spans and tokens, and the constituents they return."""

import logging
import random
import sys
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, Span
from support.spacy_docs import doc_of
from support.strategies import random_tree

from discotree import Tree
from discotree.errors import MissingExtraError
from discotree.integrations.spacy import DocConstituent, extensions


def test_a_pipeline_gives_the_trees_of_the_parser(dutch: Language, doc: Doc) -> None:
    parser = dutch.get_pipe("discotree").parser
    sentences = [[token.text for token in sent] for sent in doc.sents]
    assert [len(words) for words in sentences] == [8, 6]
    assert doc._.trees == [parser(words) for words in sentences]
    sent = next(doc.sents)
    assert sent._.tree == doc._.trees[0]
    assert sent._.tree.confidence == pytest.approx(parser(sentences[0]).confidence, rel=1e-4)
    assert sent._.parse_string == str(sent._.tree)


def test_discontinuous_constituents_are_lists_of_spans(doc: Doc) -> None:
    first, second = [constituent for constituent in doc._.constituents if constituent.is_discontinuous]
    assert (first.label, first.function) == ("inf", "vc")
    assert [span.text for span in first.spans] == ["het hem niet", "zeggen"]
    assert all(isinstance(span, Span) for span in first.spans)
    assert [token.i for token in first.tokens] == [2, 3, 4, 6]
    assert first.text == "het hem niet … zeggen"
    assert repr(second) == "<pp: Daar … van>"
    assert 0 < first.confidence < 1
    assert first.parent.text == "het hem niet kunnen zeggen"
    assert [child.text for child in first.parent.children] == ["het hem niet … zeggen", "kunnen"]
    assert str(second.tree) == "(pp (vnw 0=Daar) (vz 1=van))"


def test_spans_know_their_constituents(doc: Doc) -> None:
    phrase = doc[2:7]  # het hem niet kunnen zeggen
    assert phrase._.labels == ("inf",)
    assert [constituent.text for constituent in phrase._.constituents] == [phrase.text, "het hem niet … zeggen"]
    assert phrase._.parent.label == "smain"
    assert [str(child) for child in phrase._.children] == ["<inf: het hem niet … zeggen>", "kunnen"]
    tags = "(vnw 0=het) (vnw 1=hem) (bw 2=niet) (ww 4=zeggen)"
    assert phrase._.parse_string == f"(inf (inf {tags}) (ww 3=kunnen))"
    assert phrase._.tree.words == ("het", "hem", "niet", "kunnen", "zeggen")


def test_a_span_that_is_no_constituent_has_what_is_inside_it_and_above_it(doc: Doc) -> None:
    pair = doc[3:5]  # hem niet
    assert (pair._.labels, pair._.children, pair._.constituents, pair._.parse_string) == ((), [], [], "")
    assert pair._.tree is None
    assert pair._.parent.text == "het hem niet … zeggen"
    across = doc[1:14]
    assert [constituent.label for constituent in across._.constituents] == ["inf", "inf", "ROOT", "smain", "pp"]
    assert (across._.labels, across._.parent, across._.tree) == ((), None, None)
    assert doc[3:3]._.constituents == []
    assert doc[3:3]._.parent is None


def test_tokens_know_their_place_in_the_tree(doc: Doc) -> None:
    word = doc[6]
    assert (word._.leaf.form, word._.leaf.tag, word._.leaf.function) == ("zeggen", "ww", "hd")
    assert word._.parent.text == "het hem niet … zeggen"
    assert (word._.labels, word._.constituents, word._.parse_string) == ((), [], "(ww 0=zeggen)")
    alone = doc_of(Tree.parse("(ROOT (S (NP (PN (NN 0=Kinder))) (VVFIN 1=spielen)))"))[0]
    assert alone._.labels == ("NP", "PN")
    assert [constituent.label for constituent in alone._.constituents] == ["NP", "PN"]
    assert alone._.parent.label == "S"
    assert alone._.parse_string == "(NP (PN (NN 0=Kinder)))"


@given(st.integers(), st.integers(1, 9), st.booleans())
def test_all_attributes_are_what_the_tree_says(seed: int, size: int, spaces: bool) -> None:
    """The clever lookups against the plain definition, for all spans of random trees."""
    tree = random_tree(random.Random(seed), size, odd=True)
    doc = doc_of(tree, spaces)
    words = [token for token in doc if not token.is_space]
    nodes = list(tree.nodes())
    found = doc._.constituents
    assert [(c.label, c.function, c.is_discontinuous) for c in found] == [
        (n.label, n.function, n.is_discontinuous) for n in nodes
    ]
    for constituent, node in zip(found, nodes, strict=True):
        assert constituent.tokens == [words[k] for k in node.positions]
        assert len(constituent.spans) == node.block_degree
        children = [words[c] if isinstance(c, int) else found[_index(nodes, c)] for c in node.children]
        assert constituent.children == children
        assert all(child.parent == constituent for child in children if isinstance(child, DocConstituent))
    for start in range(size):
        for end in range(start + 1, size + 1):
            span = doc[words[start].i : words[end - 1].i + 1]
            inside = set(range(start, end))
            assert span._.constituents == [c for c, n in zip(found, nodes, strict=True) if set(n.positions) <= inside]
            exact = [n for n in nodes if set(n.positions) == inside]
            assert span._.labels == tuple(n.label for n in exact)
            larger = [c for c, n in zip(found, nodes, strict=True) if set(n.positions) > inside]
            assert span._.parent == (min(larger, key=lambda c: (len(c.tokens), -c.number)) if larger else None)
            assert (span._.tree is None) == (not exact)
    assert [token._.leaf for token in words] == list(tree.tokens)
    assert next(doc.sents)._.tree == tree


def _index(nodes: list[Any], wanted: Any) -> int:
    return next(k for k, node in enumerate(nodes) if node is wanted)


def test_names_of_other_packages_are_left_to_them(caplog: pytest.LogCaptureFixture) -> None:
    def theirs(_: Span) -> str:
        return "theirs"

    doc = doc_of(Tree.parse("(ROOT (A 0=a))"))
    Span.set_extension("labels", getter=theirs, force=True)
    try:
        extensions.register()
        assert doc[:]._.labels == "theirs"
        assert "Span._.labels is already registered by another package" in caplog.text
        assert extensions.labels(doc[:]) == ("ROOT",)
    finally:
        Span.set_extension("labels", getter=extensions.labels, force=True)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        extensions.register()
    assert caplog.text == ""


def test_without_spacy_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.delitem(sys.modules, "discotree.integrations.spacy")
    with pytest.raises(MissingExtraError, match=r"^spacy is missing: pip install 'discotree\[spacy\]'$"):
        import_module("discotree.integrations.spacy")
