"""The spaCy component: its trees and attributes, their storage in a Doc, and its behaviour in a pipeline."""

import json
import logging
import pickle
import random
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import spacy
import srsly
import torch
from hypothesis import given
from hypothesis import strategies as st
from spacy.lang.de import German
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from support import svgs
from support.models import saved_model, with_card
from support.strategies import random_tree

import discotree
from discotree import ConfigError, DiscotreeError, InputError, ModelError, Node, Token, Tree, TreeError
from discotree.config import Decoding
from discotree.drawing.markup import DARK, LIGHT
from discotree.errors import MissingExtraError
from discotree.integrations.spacy import DiscotreePipe, DocConstituent, component, extensions, pictures, render
from discotree.integrations.spacy.storage import from_line, to_line

TEXT = "Ik heb het hem niet kunnen zeggen. Daar weet ik niets van!"
VOCAB = spacy.blank("xx").vocab


@pytest.fixture(scope="module")
def dutch() -> Language:
    nlp = spacy.blank("nl")
    nlp.add_pipe("discotree")
    return nlp


@pytest.fixture(scope="module")
def doc(dutch: Language) -> Doc:
    """A parsed Doc for tests that do not change it."""
    return dutch(TEXT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained model for German."""
    return saved_model(tmp_path_factory.mktemp("spacy") / "small")


@pytest.fixture(scope="module")
def small(folder: Path) -> Language:
    return pipeline(folder)


def pipeline(folder: Path | str, language: str = "de", **config: Any) -> Language:
    nlp = spacy.blank(language)
    nlp.add_pipe("discotree", config={"model": str(folder), **config})
    return nlp


def doc_of(tree: Tree, spaces: bool = False) -> Doc:
    """Return a Doc with this tree; with ``spaces``, whitespace tokens surround every word."""
    words = [" "] if spaces else []
    for form in tree.words:
        words += [form, " "] if spaces else [form]
    doc = Doc(VOCAB, words=words, sent_starts=[True] + [False] * (len(words) - 1))
    offsets = [(token.idx, token.idx + len(token)) for token in doc if not token.is_space]
    next(doc.sents)._.set("discotree", to_line(tree, offsets))
    return doc


def brackets_of(doc: Doc) -> list[str]:
    return [str(tree) for tree in doc._.trees]


# What is found


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


# Sentences and tokens


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
    with pytest.raises(InputError, match=r'no language .* nlp.add_pipe\("sentencizer", first=True\)'):
        nlp("Er kam. Sie ging.")
    with pytest.raises(ConfigError, match="no language to tokenise text with"):
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
    assert "1001 words is parsed in 2 parts" in caplog.text


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


# Settings


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model": "nonsense"}, "there is no model 'nonsense': .* comes with discotree"),
        ({"decode": "fast"}, "decode: expected one of greedy, beam, exact, got 'fast'"),
        ({"tokens": "mine"}, "tokens: expected 'spacy' or 'model', got 'mine'"),
        ({"batch_words": -1}, "batch_words: expected 0 or more, got -1"),
        ({"device": "abacus"}, "device 'abacus' cannot be used"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(folder: Path, config: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, ModelError), match=message):
        spacy.blank("de").add_pipe("discotree", config={"model": str(folder), **config})


def test_without_a_name_the_model_is_that_of_the_language(dutch: Language) -> None:
    assert dutch.get_pipe("discotree").settings.model == "nl"
    with pytest.raises(ModelError, match="there is no model 'xx'"):
        spacy.blank("xx").add_pipe("discotree")


def test_a_second_component_is_reported(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It would overwrite the trees of the first."""
    nlp = pipeline(folder)
    nlp.replace_pipe("discotree", "discotree", config={"model": str(folder)})
    assert caplog.text == ""
    nlp.add_pipe("discotree", name="again", config={"model": str(folder)})
    assert "again: the pipeline already has a discotree component" in caplog.text


def test_decoding_is_as_the_settings_say(folder: Path) -> None:
    words = ["Was", "hat", "sie", "denn", "gesagt", "?"]
    parser = discotree.load(str(folder))
    for method in ("greedy", "beam", "exact"):
        doc = pipeline(folder, decode=method, batch_words=7)(" ".join(words))
        (expected,) = parser.parse_tokens([[Token(word) for word in words]], Decoding(method))
        assert doc._.trees == [expected]


def test_a_model_that_looks_at_tags_takes_those_of_the_tokens(tmp_path: Path) -> None:
    model = saved_model(tmp_path / "model", tags="gold")
    nlp = pipeline(model)
    words, tags = ["Er", "kam", " ", "."], ["PPER", "VVFIN", "_SP", "$."]
    (tree,) = nlp(Doc(nlp.vocab, words=words, tags=tags))._.trees
    tokens = [Token(word, tag) for word, tag in zip(words, tags, strict=True) if word != " "]
    assert tree == discotree.load(str(model))(tokens)
    with pytest.raises(InputError, match=r"needs tags, and 'Er' has none.*before discotree"):
        nlp("Er kam.")
    with pytest.raises(ConfigError, match="needs tags, which only spaCy's tokens have"):
        pipeline(model, tokens="model")


def test_tags_are_set_only_on_demand(folder: Path) -> None:
    text = "Er  kam."
    assert not pipeline(folder)(text).has_annotation("TAG")
    doc = pipeline(folder, set_tags=True)(text)
    assert [token.tag_ for token in doc if not token.is_space] == [token.tag for token in doc._.trees[0].tokens]
    assert doc[1].tag_ == ""


# Batches, threads, processes


def texts() -> list[str]:
    words = ["Er", "sie", "es", "kam", "ging", "sah", "lange", "das", "Buch", "."]
    rng = random.Random(1)
    return [" ".join(rng.choices(words, k=rng.randrange(12))) for _ in range(24)]


def test_a_stream_gives_the_same_as_one_by_one(small: Language) -> None:
    expected = [brackets_of(small(text)) for text in texts()]
    for size in (7, 1000):
        assert [brackets_of(doc) for doc in small.pipe(texts(), batch_size=size)] == expected
    pairs = small.pipe(zip(texts(), range(24), strict=True), as_tuples=True)
    assert [(brackets_of(doc), k) for doc, k in pairs] == [(row, k) for k, row in enumerate(expected)]


def test_a_stream_is_read_only_as_far_as_some_batches_need_it(folder: Path) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "Er kam gestern Abend nach Hause ."

    docs = pipeline(folder, batch_words=14).pipe(endless(), batch_size=10**6)
    next(docs)
    assert read == 10  # 5 batches of 14 words


def test_one_bad_doc_does_not_cost_the_others(tmp_path: Path) -> None:
    nlp = pipeline(saved_model(tmp_path / "model", language=""))
    good = [Doc(nlp.vocab, words=["Er", "kam"], sent_starts=[True, False]) for _ in range(4)]
    docs = [*good[:2], Doc(nlp.vocab, words=["ohne", "Grenzen"]), *good[2:]]
    failed = []
    nlp.set_error_handler(lambda name, _, docs, error: failed.append((name, [doc.text for doc in docs], str(error))))
    assert [doc.text.strip() for doc in nlp.pipe(docs)] == ["Er kam"] * 4
    ((name, bad, message),) = failed
    assert (name, bad) == ("discotree", ["ohne Grenzen "])
    assert "no sentence boundaries" in message


def test_a_sentence_that_fails_costs_only_its_own_doc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nlp = pipeline(folder)
    parser = nlp.get_pipe("discotree").parser
    parse_tokens = parser.parse_tokens

    def picky(sentences: Any, *rest: Any) -> Any:
        if any(token.form == "bad" for sentence in sentences for token in sentence):
            raise RuntimeError("out of memory")
        return parse_tokens(sentences, *rest)

    monkeypatch.setattr(parser, "parse_tokens", picky)
    failed = []
    nlp.set_error_handler(lambda _, __, docs, error: failed.append(([doc.text for doc in docs], str(error))))
    docs = list(nlp.pipe(["Er kam.", "Er kam. Sie bad .", "Sie ging."]))
    assert [doc.text for doc in docs] == ["Er kam.", "Sie ging."]
    assert all(len(doc._.trees) == 1 for doc in docs)
    assert failed == [(["Er kam. Sie bad ."], "out of memory")]


def test_threads_may_share_a_pipeline(small: Language) -> None:
    expected = [brackets_of(small(text)) for text in texts()]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: brackets_of(small(text)), texts())) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_several_processes_give_the_same_as_one(folder: Path) -> None:
    """Forked while torch has threads, which are not there in the workers."""
    nlp = pipeline(folder)
    threads = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        expected = [brackets_of(doc) for doc in nlp.pipe(texts() * 4)]
        assert [brackets_of(doc) for doc in nlp.pipe(texts() * 4, n_process=2, batch_size=40)] == expected
        assert torch.backends.mkldnn.enabled == torch.backends.mkldnn.is_available()  # only workers do without it
    finally:
        torch.set_num_threads(threads)


def test_a_worker_does_not_touch_the_gpu_of_its_parent(folder: Path) -> None:
    pipe = pipeline(folder).get_pipe("discotree")
    pipe.parser.device = torch.device("cuda")
    pipe._process = 0  # as it is in a process that was forked: another one's
    with pytest.raises(ConfigError, match="n_process=1 or the device 'cpu'"):
        pipe(spacy.blank("de")("Er kam."))


def handler(*_: Any) -> None:
    """One that can be pickled."""


def test_a_pickled_component_loads_its_model_itself(folder: Path) -> None:
    pipe = pipeline(folder, decode="greedy").get_pipe("discotree")
    assert isinstance(pipe, DiscotreePipe)
    pipe.set_error_handler(handler)
    data = pickle.dumps(pipe)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert (again.settings, again.get_error_handler()) == (pipe.settings, handler)
    doc = spacy.blank("de")("Er kam.")
    assert brackets_of(again(doc.copy())) == brackets_of(pipe(doc))
    pickle.dumps(spacy.tokens.underscore.Underscore.get_state())  # goes to the workers where they are not forked


# What is kept


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
    with pytest.raises(TreeError, match="the tree stored with the Doc cannot be read"):
        _ = sent._.tree


def test_a_doc_that_was_not_parsed_says_so(small: Language) -> None:
    with small.select_pipes(disable="discotree"):
        doc = small("Er kam.")
    with pytest.raises(DiscotreeError, match=r"'Er kam.' has no tree: 'discotree' is not in the pipeline"):
        _ = doc._.trees
    doc[0].is_sent_start = True
    doc[2].is_sent_start = True
    for getter in (doc[0:1]._, doc[0]._):
        for name in ("constituents", "labels", "parse_string", "parent"):
            with pytest.raises(DiscotreeError, match="has no tree"):
                getter.get(name)
    with pytest.raises(DiscotreeError, match="has no tree"):
        render(doc)
    small.get_pipe("discotree")(doc)
    doc[2].is_sent_start = False
    with pytest.raises(DiscotreeError, match="boundaries have changed since"):
        _ = doc._.trees


def test_a_pipeline_is_saved_with_its_settings(folder: Path, tmp_path: Path) -> None:
    nlp = pipeline(folder, decode="greedy", set_tags=True)
    expected = brackets_of(nlp("Er kam."))
    nlp.to_disk(tmp_path / "pipeline")
    assert not (tmp_path / "pipeline" / "discotree").exists()  # a name is enough
    loaded = spacy.load(tmp_path / "pipeline")
    again = German.from_config(nlp.config).from_bytes(nlp.to_bytes())
    for other in (loaded, again):
        assert other.get_pipe("discotree").settings == nlp.get_pipe("discotree").settings
        assert brackets_of(other("Er kam.")) == expected
    elsewhere = {"components": {"discotree": {"model": "nonsense"}}}
    with pytest.raises(ModelError, match="there is no model 'nonsense'"):
        spacy.load(tmp_path / "pipeline", config=elsewhere)


def test_a_pipeline_may_take_its_model_along(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "model")
    nlp = pipeline(tmp_path / "model", include_model=True)
    expected = brackets_of(nlp("Er kam."))
    for _ in range(2):  # over itself, too
        nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    component = pickle.dumps(nlp.get_pipe("discotree"))
    shutil.rmtree(tmp_path / "model")
    assert brackets_of(spacy.load(tmp_path / "pipeline")("Er kam.")) == expected
    other = German.from_config(nlp.config)
    with pytest.raises(ModelError, match=r"there is no model .* the pipeline was loaded without one"):
        other("Er kam.")
    assert brackets_of(other.from_bytes(data)("Er kam.")) == expected
    assert brackets_of(pickle.loads(component)(spacy.blank("de")("Er kam."))) == expected
    shutil.rmtree(tmp_path / "pipeline" / "discotree")
    with pytest.raises(ModelError, match=r"not a model|there is no model"):
        spacy.load(tmp_path / "pipeline")


def test_a_model_that_came_along_is_the_only_one_that_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the one of that name nor the hub is asked, and the licence comes along."""
    model = with_card(saved_model(tmp_path / "model"))
    nlp = pipeline(model, include_model=True)
    nlp.to_disk(tmp_path / "pipeline")
    data = nlp.to_bytes()
    taken = []
    monkeypatch.setattr(component, "load", lambda name, device: taken.append(name) or discotree.load(name, device))
    elsewhere = {"components": {"discotree": {"model": "hub:me/../nonsense"}}}  # asking for it would be an error
    loaded = spacy.load(tmp_path / "pipeline", config=elsewhere)
    assert taken == [str(tmp_path / "pipeline" / "discotree")]
    again = German.from_config(loaded.config).from_bytes(data)
    assert len(taken) == 2
    again.to_disk(tmp_path / "again")
    for name in ("card.json", "README.md"):
        assert (tmp_path / "again" / "discotree" / name).read_text() == (model / name).read_text()


def test_a_model_that_is_to_come_along_is_loaded_once_and_refused_late(folder: Path) -> None:
    nlp = pipeline(folder, include_model=True)
    pipe = nlp.get_pipe("discotree")
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: id(pipe.parser), range(4)))) == 1
    wrong = pipeline("hub:x", include_model=True)
    with pytest.raises(ModelError, match=r"'x' is not the name of a rep.*the pipeline was loaded without one"):
        wrong("Er kam.")
    with pytest.raises(ModelError, match=r"'x' is not the name of a rep"):
        wrong.to_bytes()
    with pytest.raises(ModelError, match="device 'abacus' cannot be used"):
        pipeline(folder, include_model=True, device="abacus")("Er kam.")


def test_a_model_in_bytes_stays_in_its_folder(folder: Path, tmp_path: Path) -> None:
    pipe = pipeline(folder, include_model=True).get_pipe("discotree")
    for name in ("../escaped", str(tmp_path / "escaped")):
        with pytest.raises(ModelError, match="outside its folder"):
            pipe.from_bytes(srsly.msgpack_dumps({name: b"x"}))
    assert not (tmp_path / "escaped").exists()


# Attributes


def test_names_of_other_packages_are_left_to_them(caplog: pytest.LogCaptureFixture) -> None:
    def theirs(_: Span) -> str:
        return "theirs"

    doc = doc_of(Tree.parse("(ROOT (A 0=a))"))
    Span.set_extension("labels", getter=theirs, force=True)
    try:
        extensions.register()
        assert doc[:]._.labels == "theirs"
        assert "Span._.labels belongs to another package" in caplog.text
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


# Pictures


def test_a_sentence_is_drawn_as_svg_with_a_colour_for_each_label(doc: Doc) -> None:
    svg = render(next(doc.sents))
    picture = svgs.parsed(svg)
    scope = picture.get("class").split()[1]
    nodes = svgs.groups(picture, "node")
    assert [node.get("data-label") for node in nodes] == ["ROOT", "smain", "inf", "inf"]
    style = picture.find(f"{svgs.SVG}style").text
    for label in ("smain", "inf"):
        assert style.count(f'.{scope} .node[data-label="{label}"]>.label{{fill:#') == 2  # light and dark
    assert 'data-label="ROOT"' not in style
    assert svg._repr_html_() == svg
    assert svgs.groups(svgs.parsed(render(doc[2:7])), "node")[0].get("data-label") == "inf"
    assert len(svgs.groups(svgs.parsed(render(doc._.constituents[-1])), "word")) == 2  # Daar … van
    assert len(svgs.groups(svgs.parsed(render(doc[3:5])), "word")) == 8  # no constituent: its sentence


def test_a_doc_is_drawn_as_html(doc: Doc) -> None:
    part, page = render(doc), render(doc, page=True, theme="dark", functions=False)
    assert (part.count("<svg"), part.count("<style>")) == (2, 1)
    assert page.startswith("<!doctype html>")
    assert (page.count("<svg"), page.count("<style>"), page.count("prefers-color-scheme")) == (2, 1, 0)
    assert 'class="function"' not in page
    assert render(doc[:]).count("<svg") == 2
    assert render(next(doc.sents), page=True).startswith("<!doctype html>")


def test_colours_can_be_chosen(doc: Doc) -> None:
    sent = next(doc.sents)
    red, plain = render(sent, colors={"inf": "#f00"}, theme="light"), render(sent, theme="light")
    assert '.node[data-label="inf"]>.label{fill:#f00}' in red
    assert '.node[data-label="smain"]' in red
    scopes = [svgs.parsed(svg).get("class") for svg in (red, plain)]
    assert scopes[0] != scopes[1]  # so that one picture in a notebook does not colour the other
    with pytest.raises(ConfigError, match="is not a colour"):
        render(sent, colors={"inf": "red}</style><script>"})


def test_what_cannot_be_drawn_is_said(doc: Doc) -> None:
    for item in (doc[0], doc._.trees[0], None):
        with pytest.raises(
            TypeError, match=f"expected a Doc, a Span or a DocConstituent, got a {type(item).__name__}$"
        ):
            render(item)


def test_labels_cannot_break_out_of_the_style_sheet() -> None:
    for label in ('"]{}', "</style><script>alert(1)</script>", "a\\b", "x\ny", "&lt;", "\ud800", "é"):
        tree = Tree((Token("a"),), Node("ROOT", [Node(label, [0])]))
        svg = render(next(doc_of(tree).sents))
        assert "<script" not in svg
        svgs.parsed(svg)
        rule = svg[svg.index(".dt-") :].partition(">.label")[0]
        assert set(rule.partition('data-label="')[2].removesuffix('"]')) <= set(
            "\\ 0123456789abcdefghijklmnopqrstuvwxyz"
        )


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_colour_is_readable() -> None:
    assert len({color for pair in pictures.PALETTE for color in pair}) == 2 * len(pictures.PALETTE)
    for pair in pictures.PALETTE:
        for color, page in zip(pair, (LIGHT.page, DARK.page), strict=True):
            low, high = sorted([luminance(color), luminance(page)])
            assert (high + 0.05) / (low + 0.05) > 5, color
