"""Trees stored in Docs: copies, damage, Docs that were not parsed."""

import json
import pickle
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from support.spacy_docs import doc_of
from support.strategies import random_tree

from discotree import DiscotreeError, Tree, TreeError
from discotree.integrations.spacy import render
from discotree.integrations.spacy.extensions import from_line, to_line


def test_a_doc_that_was_stored_keeps_its_trees(small: Language) -> None:
    doc = small("Er kam  gestern. Sie ging nach Hause!")
    expected = [(c.label, c.text, c.confidence) for c in doc._.constituents]
    (stored,) = (
        DocBin(store_user_data=True)
        .from_bytes(DocBin(docs=[doc], store_user_data=True).to_bytes())
        .get_docs(small.vocab)
    )
    copies = [Doc(small.vocab).from_bytes(doc.to_bytes()), stored, pickle.loads(pickle.dumps(doc)), doc.copy()]
    for copy in copies:
        assert [(c.label, c.text, c.confidence) for c in copy._.constituents] == expected
        assert copy._.trees == doc._.trees
    double = Doc.from_docs([doc, doc])
    assert [tree.words for tree in double._.trees] == [tree.words for tree in doc._.trees] * 2
    second = list(doc.sents)[1].as_doc(copy_user_data=True)
    assert second._.trees == doc._.trees[1:]


@given(st.integers(), st.integers(1, 9))
def test_a_stored_tree_comes_back(seed: int, size: int) -> None:
    rng = random.Random(seed)
    tree = random_tree(rng, size, odd=True)
    confidences = tuple(rng.random() for _ in tree.nodes())
    tree = Tree(tree.tokens, tree.root, confidence=rng.random(), confidences=confidences)
    parse = from_line(to_line(tree, [(k, k + 1) for k in range(size)]))
    assert parse.tree == tree
    assert parse.tree.confidence == pytest.approx(tree.confidence, rel=1e-5)
    assert parse.tree.confidences == pytest.approx(tree.confidences, rel=1e-5)
    assert (parse.starts, parse.ends) == (tuple(range(size)), tuple(range(1, size + 1)))


def test_a_doc_stores_the_record_of_the_tree(doc: Doc) -> None:
    sent = list(doc.sents)[1]
    record = json.loads(sent._.discotree)
    assert Tree.from_dict(record) == sent._.tree
    assert [sent.text[token["start"] : token["end"]] for token in record["tokens"]] == [token.text for token in sent]


TOKENS = [{"form": "a", "start": 0, "end": 1}, {"form": "b", "start": 2, "end": 3}]


@pytest.mark.parametrize(
    "change",
    [
        "nonsense",
        "[]",
        "null",
        "[" * 100_000,
        5,
        ["a"],
        {"tokens": TOKENS[:1]},
        {"tokens": TOKENS[::-1]},
        {"tokens": [{"form": "a"}, {"form": "b"}]},
        {"tokens": [TOKENS[0], {"form": "b", "start": "2", "end": 3}]},
        {"tokens": [TOKENS[0], {"form": "b", "start": 3, "end": 2}]},
        {"tokens": "ab"},
        {"constituents": []},
        {"constituents": [{"label": "", "positions": [0, 1]}]},
        {"constituents": [{"label": "R", "positions": [0]}]},
        {"constituents": [{"label": "R", "positions": [0, 7]}]},
        {"constituents": [{"label": 1, "positions": [0, 1]}]},
        {"confidence": "high"},
        {"confidence": 2},
    ],
)
def test_a_damaged_stored_tree_is_an_error(change: Any) -> None:
    """Docs come from files, and files from anywhere."""
    doc = doc_of(Tree.parse("(ROOT (NP (A 0=a) (B 1=b)))"))
    (sent,) = doc.sents
    if isinstance(change, dict):
        change = json.dumps(json.loads(sent._.discotree) | change)
    sent._.discotree = change
    with pytest.raises(TreeError, match="cannot read the tree that is stored in the Doc"):
        _ = sent._.tree


def test_a_doc_that_was_not_parsed_says_so(small: Language) -> None:
    with small.select_pipes(disable="discotree"):
        doc = small("Er kam.")
    with pytest.raises(
        DiscotreeError, match=r"'Er kam.' has not been parsed: 'discotree' is missing from the pipeline"
    ):
        _ = doc._.trees
    doc[0].is_sent_start = True
    doc[2].is_sent_start = True
    for getter in (doc[0:1]._, doc[0]._):
        for name in ("constituents", "labels", "parse_string", "parent"):
            with pytest.raises(DiscotreeError, match="has not been parsed"):
                getter.get(name)
    with pytest.raises(DiscotreeError, match="has not been parsed"):
        render(doc)
    small.get_pipe("discotree")(doc)
    doc[2].is_sent_start = False
    with pytest.raises(DiscotreeError, match="boundaries have changed since"):
        _ = doc._.trees
