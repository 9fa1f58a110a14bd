"""Sentences and tokens: boundaries, whitespace, the tokens of the model, merged tokens."""

from pathlib import Path

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from support.models import saved_model
from support.spacy_docs import doc_of, pipeline

from discotree import ConfigError, DiscotreeError, InputError, Tree
from discotree.integrations.spacy import render


def test_without_sentence_boundaries_the_component_sets_those_of_the_treebank(dutch: Language) -> None:
    doc = dutch("Dr. Jansen komt a.s. dinsdag. 't Wordt zo'n 20 graden.\n\nMooi weer dus")
    assert [sent.text.strip() for sent in doc.sents] == [
        "Dr. Jansen komt a.s. dinsdag.", "'t Wordt zo'n 20 graden.", "Mooi weer dus",
    ]  # fmt: skip
    assert len(doc._.trees) == 3
    assert doc.has_annotation("SENT_START", require_complete=True)


def test_sentence_boundaries_that_are_there_stay(folder: Path) -> None:
    nlp = spacy.blank("de")
    nlp.add_pipe("sentencizer", config={"punct_chars": [";"]})
    nlp.add_pipe("discotree", config={"model": str(folder)})
    doc = nlp("Er kam. Sie ging; es war spät.")
    assert [sent.text for sent in doc.sents] == ["Er kam. Sie ging;", "es war spät."]
    assert [len(tree) for tree in doc._.trees] == [6, 4]


def test_a_model_without_a_language_asks_for_a_sentencizer(tmp_path: Path) -> None:
    nlp = pipeline(saved_model(tmp_path / "model", language=""))
    with pytest.raises(InputError, match=r'cannot split sentences; call nlp.add_pipe\("sentencizer", first=True\)'):
        nlp("Er kam. Sie ging.")
    with pytest.raises(ConfigError, match="cannot tokenise text; use 'spacy'"):
        pipeline(tmp_path / "model", tokens="model")
    nlp.add_pipe("sentencizer", first=True)
    assert len(nlp("Er kam. Sie ging.")._.trees) == 2


@pytest.mark.parametrize("text", ["", " ", "\n\n  \t"])
def test_a_doc_without_words_has_no_trees(small: Language, text: str) -> None:
    doc = small(text)
    assert (doc._.trees, doc._.constituents) == ([], [])
    assert all((token._.leaf, token._.parent, token._.parse_string) == (None, None, "") for token in doc)
    assert all(sent._.tree is None for sent in doc.sents)
    assert render(doc).startswith("<div>")


def test_one_token_and_very_many(small: Language, caplog: pytest.LogCaptureFixture) -> None:
    doc = small("Ja")
    assert doc._.trees[0].words == ("Ja",)
    joined = Doc.from_docs([small("Ja"), small("Nein")])  # boundaries are set even where spaCy needs none
    assert [tree.words for tree in joined._.trees] == [("Ja",), ("Nein",)]
    many = Doc(small.vocab, words=["Kinder"] * 1001, sent_starts=[True] + [False] * 1000)
    doc = small(many)
    assert len(doc._.trees[0]) == 1001
    assert len(doc[500]._.parent.tokens) > 1
    assert "1001 words is parsed in 5 separate parts" in caplog.text


def test_tokens_that_are_spaces_belong_to_no_constituent_and_break_none(small: Language) -> None:
    doc = small("  Er   kam \n spät .  ")
    (tree,) = doc._.trees
    assert tree.words == ("Er", "kam", "spät", ".")
    root = doc._.constituents[0]
    assert [span.text for span in root.spans] == ["Er   kam \n spät ."]
    assert [token.text for token in root.tokens] == ["Er", "kam", "spät", "."]
    assert next(doc.sents)._.tree == tree  # though the sentence has spaces around it


def test_the_models_own_tokens_are_aligned_with_spacys(tmp_path: Path) -> None:
    model = saved_model(tmp_path / "model", language="en")
    doc = pipeline(model, "en", tokens="model")("We saw (a 2-fold rise). It can't be.")
    assert [token.text for token in doc][2:8] == ["(", "a", "2", "-", "fold", "rise"]
    assert [tree.words for tree in doc._.trees] == [
        ("We", "saw", "-LRB-", "a", "2-fold", "rise", "-RRB-", "."),
        ("It", "ca", "n't", "be", "."),
    ]
    assert [token._.leaf.form for token in doc[4:7]] == ["2-fold"] * 3
    assert doc[4]._.labels == doc[4:6]._.labels == ()  # a part of a word is no constituent
    assert [token.i for token in doc._.constituents[0].tokens] == list(range(10))
    assert doc[4]._.parent is not None
    assert [tree.words for tree in pipeline(model, "en")("We saw (a 2-fold rise).")._.trees] == [
        ("We", "saw", "(", "a", "2", "-", "fold", "rise", ")", ".")
    ]


def test_tokens_may_be_merged_afterwards() -> None:
    doc = doc_of(Tree.parse("(ROOT (VP (NP (A 0=a) (B 1=b)) (D 3=d)) (C 2=c))"))
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    vp, np = doc._.constituents[1:]
    assert [token.text for token in np.tokens] == ["a", "b c"]
    assert [token.text for token in vp.tokens] == ["a", "b c", "d"]
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    assert [span.text for span in doc._.constituents[1].spans] == ["a b c d"]
    assert doc._.trees[0].words == ("a", "b", "c", "d")


def test_a_token_that_is_several_words_is_one_child() -> None:
    doc = doc_of(Tree.parse("(ROOT (A 0=a) (B 1=b) (NP (C 2=c) (D 4=d)) (E 3=e) (F 5=f))"))
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:4])
    assert [child.text.strip() for child in doc._.constituents[0].children] == ["a", "b c e", "b c e d", "f"]


def test_tokens_merged_across_a_boundary_are_other_sentences() -> None:
    trees = [Tree.parse("(ROOT (A 0=a) (B 1=b))")] * 2
    doc = Doc.from_docs([doc_of(tree) for tree in trees])
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    with pytest.raises(DiscotreeError, match="boundaries have changed since"):
        _ = doc._.trees
