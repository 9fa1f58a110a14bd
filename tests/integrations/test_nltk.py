"""Trees survive the way to NLTK and back, NLTK's tools work on them, and treebanks can be read as corpora."""

import gzip
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import nltk
import pytest
from hypothesis import given, settings
from nltk.tree import ImmutableTree, MultiParentedTree, ParentedTree
from nltk.tree.prettyprinter import TreePrettyPrinter
from support.helpers import DEEP, tree_of
from support.strategies import HOLDS, trees

from discotree import ConfigError, Token, TreebankError, TreeError, read, write
from discotree.integrations.nltk import TreebankReader, from_nltk, to_nltk
from discotree.trees.transforms import strip_functions

GAPPED = tree_of("(ROOT (S (NP (A 0=Es) (NP (B 2=nichts) (C 3=Gutes))) (V 1=kam)) (P 4=.))", "x/1")
SMOOTH = tree_of("(ROOT (S (NP (D 0=die) (A 1=alte) (N 2=Frau)) (VP (ADV 3=gern) (V 4=lacht))) (P 5=.))", "x/2")
HAND_WRITTEN = (
    "figure1.export",
    "tiger4.export",
    "negra3.export",
    "tiger.xml",
    "alpino_many.xml",
    "small.dbr",
    "ptb.mrg",
)


@pytest.fixture(scope="module")
def treebank():
    folder = Path(__file__).parents[1] / "data"
    return [tree for name in HAND_WRITTEN for tree in read(folder / name)]


def bare(tree):
    """Return what NLTK can hold of a tree: words, tags and labels."""
    tokens = tuple(Token(token.form, token.tag) for token in tree.tokens)
    return replace(strip_functions(tree), tokens=tokens, id="")


# Tree → nltk.Tree


def test_leaves_are_positions_and_tags_are_nodes():
    tree = to_nltk(GAPPED)
    assert type(tree) is nltk.Tree
    assert tree == nltk.Tree.fromstring("(ROOT (S (NP (A 0) (NP (B 2) (C 3))) (V 1)) (P 4))", read_leaf=int)
    assert tree.pos() == [(0, "A"), (2, "B"), (3, "C"), (1, "V"), (4, "P")]
    assert to_nltk(GAPPED, tags=False) == nltk.Tree.fromstring("(ROOT (S (NP 0 (NP 2 3)) 1) 4)", read_leaf=int)


def test_a_continuous_tree_can_have_words_as_leaves():
    tree = to_nltk(SMOOTH, "words")
    assert tree.leaves() == list(SMOOTH.words)
    assert tree.pos()[:2] == [("die", "D"), ("alte", "A")]
    with pytest.raises(TreeError, match="sentence x/1: a discontinuous tree cannot have words as leaves"):
        to_nltk(GAPPED, "words")


def test_leaves_of_another_kind_are_refused(folder):
    """A misspelt value must not give the words in the order of the leaves."""
    for wrong in ("word", "", None):
        with pytest.raises(ConfigError, match=f"leaves: expected positions or words, got {wrong!r}"):
            to_nltk(GAPPED, wrong)
        with pytest.raises(ConfigError, match=f"leaves: expected positions or words, got {wrong!r}"):
            TreebankReader(folder, leaves=wrong).parsed_sents()[0]


def test_functions_are_part_of_labels_on_demand(data):
    (tree,) = read(data / "figure1.export")
    labels = {subtree.label() for subtree in to_nltk(tree, functions=True).subtrees()}
    assert {"NP-SB", "NP-RE", "S", "PPER"} <= labels
    assert "NP-SB" not in {subtree.label() for subtree in to_nltk(tree).subtrees()}


@pytest.mark.parametrize("kind", [ParentedTree, MultiParentedTree, ImmutableTree])
def test_other_kinds_of_trees(kind):
    tree = to_nltk(GAPPED, kind=kind)
    assert type(tree) is kind
    assert all(type(subtree) is kind for subtree in tree.subtrees())
    assert from_nltk(tree, GAPPED.words, id="x/1") == GAPPED
    if kind is ParentedTree:
        assert tree[0][0].parent() is tree[0]


def test_the_printer_draws_every_tree(treebank):
    for tree in treebank:
        drawing = TreePrettyPrinter(to_nltk(tree), list(tree.words)).text(maxwidth=99)
        assert drawing.split("\n")[-2].split() == list(tree.words)
    assert "<svg" in TreePrettyPrinter(to_nltk(GAPPED), list(GAPPED.words)).svg()


def test_nltk_works_on_continuous_trees():
    tree = to_nltk(SMOOTH, "words")
    assert {str(rule) for rule in tree.productions()} >= {"S -> NP VP", "NP -> D A N", "V -> 'lacht'"}
    grammar = nltk.induce_pcfg(nltk.Nonterminal("ROOT"), tree.productions())
    assert from_nltk(next(nltk.ViterbiParser(grammar).parse(SMOOTH.words)), id="x/2") == SMOOTH
    tree.chomsky_normal_form()
    assert max(len(subtree) for subtree in tree.subtrees()) == 2
    tree.un_chomsky_normal_form()
    assert from_nltk(tree, id="x/2") == SMOOTH
    assert from_nltk(nltk.Tree.fromstring(str(tree)), id="x/2") == SMOOTH
    assert from_nltk(ParentedTree.convert(tree), id="x/2") == SMOOTH


# nltk.Tree → Tree


def test_hand_written_trees_come_back(treebank):
    for tree in treebank:
        assert from_nltk(to_nltk(tree), tree.words) == bare(tree)
        assert from_nltk(to_nltk(tree, functions=True), tree.tokens, functions=True, id=tree.id) == tree
        without_tags = replace(bare(tree), tokens=tuple(map(Token, tree.words)))
        assert from_nltk(to_nltk(tree, tags=False), tree.words, tags=False) == without_tags
        if not tree.is_discontinuous:
            assert from_nltk(to_nltk(tree, "words")) == bare(tree)


@settings(max_examples=40)
@given(trees(HOLDS["conllu"]))
def test_every_tree_comes_back(tree):
    for tags in (True, False):
        assert from_nltk(to_nltk(tree, tags=tags), tree.words, tags=tags).root == bare(tree).root
        assert from_nltk(to_nltk(tree, tags=tags), tree.tokens, tags=tags).tokens == tree.tokens


@pytest.mark.parametrize("shape", DEEP)
def test_deep_trees_come_back(shape):
    tree = DEEP[shape](3000)
    assert from_nltk(to_nltk(tree), tree.words, id="1") == tree


def test_words_as_leaves_with_and_without_tags():
    text = "(S (NP (D the) (N dog)) (VP (V barks)))"
    assert from_nltk(nltk.Tree.fromstring(text)) == tree_of("(S (NP (D 0=the) (N 1=dog)) (VP (V 2=barks)))")
    phrases = nltk.Tree.fromstring("(S (NP the dog) (VP barks))")
    assert from_nltk(phrases, tags=False) == tree_of("(S (NP (-- 0=the) (-- 1=dog)) (VP (-- 2=barks)))")
    assert from_nltk(phrases) == tree_of(
        "(S (NP (-- 0=the) (-- 1=dog)) (VP 2=barks))"
    )  # a node over one leaf is its tag


def test_a_root_is_never_a_tag_and_may_have_no_label():
    assert from_nltk(nltk.Tree("S", ["yes"])) == tree_of("(S (-- 0=yes))")
    assert from_nltk(nltk.Tree.fromstring("( (S (N a)))")) == tree_of("(ROOT (S (N 0=a)))")
    assert from_nltk(nltk.Tree("S", [nltk.Tree("", [nltk.Tree("", ["a"]), "b"])])) == tree_of(
        "(S (-- (-- 0=a) (-- 1=b)))"
    )


def test_one_object_in_two_places_is_two_phrases():
    phrase = nltk.Tree("NP", [nltk.Tree("N", ["a"])])
    assert from_nltk(nltk.Tree("S", [phrase, phrase])) == tree_of("(S (NP (N 0=a)) (NP (N 1=a)))")


# NLTK trees that are no Trees


def leaves(*them):
    return nltk.Tree("S", [nltk.Tree("NP", list(them))])


WRONG = {
    "missing": (leaves(0, 2), ("a", "b", "c"), r"token 1 \('b'\)"),
    "missing at the end": (leaves(0, 1), ("a", "b", "c"), r"token 2 \('c'\)"),
    "twice": (leaves(0, 1, 1), ("a", "b"), "covers token 1 twice"),
    "beyond": (leaves(0, 2), ("a", "b"), "leaf 2 is outside the sentence of 2 words"),
    "far beyond": (leaves(0, 10**15), ("a", "b"), "leaf 1000000000000000 is outside"),
    "below zero": (leaves(-1, 0), ("a", "b"), "leaf -1 is outside"),
    "mixed": (leaves(0, "b"), ("a", "b"), "leaf 'b' is a word; with a sentence, leaves must be positions"),
    "mixed without a sentence": (
        leaves("a", 1),
        None,
        "leaf 1 is a position; without a sentence, leaves must be words",
    ),
    "positions without a sentence": (
        leaves(0, 1),
        None,
        "leaf 0 is a position; without a sentence, leaves must be words",
    ),
    "words beside a sentence": (
        leaves("a", "b"),
        ("a", "b"),
        "leaf 'a' is a word; with a sentence, leaves must be positions",
    ),
    "neither": (leaves(None), ("a",), "expected a word or a position as leaf, got None"),
    "a truth": (leaves(True, 0), ("a", "b"), "expected a word or a position as leaf, got True"),
    "a pair": (leaves(("a", "N")), None, r"expected a word or a position as leaf, got \('a', 'N'\)"),
    "no leaves": (nltk.Tree("S", []), None, "'S' has no children"),
    "an empty phrase": (nltk.Tree("S", ["a", nltk.Tree("NP", [])]), None, "'NP' has no children"),
    "a label that is no string": (nltk.Tree(5, ["a"]), None, "expected a string as label, got 5"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_makes_no_tree_is_refused(case):
    tree, sentence, message = WRONG[case]
    for tags in (True, False):
        with pytest.raises(TreeError, match=message):
            from_nltk(tree, sentence, tags=tags)


def test_arguments_of_a_wrong_type_are_a_type_error():
    with pytest.raises(TypeError, match=r"expected an nltk\.Tree, got '\(S a\)'"):
        from_nltk("(S a)")
    with pytest.raises(TypeError, match="expected the sentence as a list of words, got the string 'ab'"):
        from_nltk(leaves(0, 1), "ab")


# Treebanks as corpora


@pytest.fixture
def folder(tmp_path, data):
    """A folder with three treebanks in three formats, and another file."""
    (tmp_path / "part").mkdir()
    write([SMOOTH], tmp_path / "2.dbr")
    write([GAPPED, SMOOTH], tmp_path / "10.export.gz")
    (tmp_path / "part" / "tiger.xml").write_bytes((data / "tiger.xml").read_bytes())
    (tmp_path / "README").write_text("nothing\n")
    return tmp_path


def test_a_folder_is_a_corpus(folder):
    corpus = TreebankReader(folder)
    assert corpus.fileids() == ["2.dbr", "10.export.gz", os.path.join("part", "tiger.xml")]
    together = list(read(folder))
    assert list(corpus.trees()) == together
    assert list(corpus.sents()) == [list(tree.words) for tree in together]
    assert list(corpus.words()) == [word for tree in together for word in tree.words]
    assert list(corpus.tagged_sents()) == [[token[:2] for token in tree.tokens] for tree in together]
    assert list(corpus.tagged_words()) == [token[:2] for tree in together for token in tree.tokens]
    assert list(corpus.parsed_sents()) == [to_nltk(tree) for tree in together]
    assert repr(corpus) == f"<TreebankReader in {str(folder)!r}>"


def test_views_are_sequences_like_those_of_nltk(folder):
    corpus = TreebankReader(folder)
    words = corpus.words("2.dbr")
    assert (len(words), words[0], words[-1], list(words[1:3])) == (6, "die", ".", ["alte", "Frau"])
    assert repr(words).startswith("['die', 'alte', 'Frau'")
    assert len(corpus.sents()) == len(corpus.parsed_sents()) == len(list(corpus.trees()))
    assert corpus.parsed_sents(["10.export.gz"])[1] == to_nltk(SMOOTH)
    assert nltk.FreqDist(corpus.words("2.dbr"))["Frau"] == 1
    with pytest.raises(IndexError):
        corpus.sents("2.dbr")[1]
    tagger = nltk.UnigramTagger(corpus.tagged_sents("2.dbr"))
    assert tagger.tag(["Frau"]) == [("Frau", "N")]


def test_files_are_chosen_by_name(folder):
    for name in ("2.dbr", ["2.dbr"]):
        assert list(TreebankReader(folder, name).words()) == list(SMOOTH.words)
    assert TreebankReader(folder, ["10.export.gz", "2.dbr"]).fileids() == ["10.export.gz", "2.dbr"]
    assert TreebankReader(folder, []).fileids() == []
    assert TreebankReader(folder, format="discbracket").fileids() == ["2.dbr", os.path.join("part", "tiger.xml")]
    with pytest.raises(
        TreebankError, match=r"no file 'other': expected a file name, not a pattern; the folder has 2.dbr, 10"
    ):
        TreebankReader(folder).words("other")


def test_a_string_is_a_regular_expression_as_in_nltk(folder):
    tiger = os.path.join("part", "tiger.xml")
    assert TreebankReader(folder, r".*\.(dbr|xml)").fileids() == ["2.dbr", tiger]
    assert TreebankReader(folder, "part/.*").fileids() == [tiger]
    with pytest.raises(TreebankError, match=r"no file matches '\.\*\\\\\.expo'; the folder has 2\.dbr, 10\.export"):
        TreebankReader(folder, r".*\.expo")
    with pytest.raises(TreebankError, match=r"'\*\.export' is not a regular expression: nothing to repeat"):
        TreebankReader(folder, "*.export")


def test_named_files_have_to_be_there(folder):
    for name in ("other", "part", r".*\.dbr"):
        with pytest.raises(TreebankError, match=r"no file .* not a pattern"):
            TreebankReader(folder, ["2.dbr", name])


def test_ids_do_not_depend_on_the_choice_of_files(tmp_path):
    """Ids are unique across files; a file that ``read`` would skip has its name in front."""
    for name in ("a_x.dbr", "b_x.dbr", "other"):
        (tmp_path / name).write_text("(S (A 0=a))\n" * 2)
    assert [tree.id for tree in TreebankReader(tmp_path).trees()] == ["a/1", "a/2", "b/1", "b/2"]
    chosen = TreebankReader(tmp_path, ["b_x.dbr", "other"])
    assert [tree.id for tree in chosen.trees()] == ["b/1", "b/2", "other/1", "other/2"]
    assert [tree.id for tree in TreebankReader(tmp_path, "b.*").trees("b_x.dbr")] == ["b/1", "b/2"]


def test_one_file_or_archive_is_a_corpus(folder):
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(folder / "2.dbr", "2.dbr")
    (folder / "nameless").write_bytes(gzip.decompress((folder / "10.export.gz").read_bytes()))
    assert [list(TreebankReader(folder / name).words()) for name in ("2.dbr", "a.zip")] == [list(SMOOTH.words)] * 2
    for itself in (None, "nameless", ["nameless"]):
        corpus = TreebankReader(folder / "nameless", itself, format="export")
        assert (corpus.fileids(), len(corpus.sents())) == (["nameless"], 2)


def test_of_one_file_or_archive_nothing_can_be_chosen(folder):
    """A name inside would silently stand for the whole file."""
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(folder / "2.dbr", "2.dbr")
    for names in ("2.dbr", ["2.dbr"], ["a.zip", "a.zip"], ".*", []):
        with pytest.raises(TreebankError, match=r"a\.zip: fileids selects files in a folder, but this is a file"):
            TreebankReader(folder / "a.zip", names)


def test_how_trees_are_given_is_chosen(folder):
    corpus = TreebankReader(folder, leaves="words", tags=False)
    assert corpus.parsed_sents("2.dbr")[0].leaves() == list(SMOOTH.words)
    with pytest.raises(TreeError, match="sentence 10/x/1: a discontinuous tree"):
        list(corpus.parsed_sents())
    functions = TreebankReader(folder, functions=True).parsed_sents(os.path.join("part", "tiger.xml"))
    assert any("-" in subtree.label() for tree in functions for subtree in tree.subtrees())


def test_reading_is_lazy_and_an_error_has_an_address(folder):
    (folder / "2.dbr").write_text("(S (A 0=a))\n" * 3 + "nonsense\n")
    corpus = TreebankReader(folder)
    assert list(islice(corpus.words(), 3)) == ["a", "a", "a"]
    assert list(corpus.sents()[:2]) == [["a"], ["a"]]
    with pytest.raises(TreebankError, match=r"2\.dbr:4: expected"):
        len(corpus.words())


def test_a_missing_file_or_an_empty_folder_is_an_error(tmp_path):
    for names in (None, "a.export", ["a.export"]):
        with pytest.raises(TreebankError, match=r"missing: no such file or folder"):
            TreebankReader(tmp_path / "missing", names)
    with pytest.raises(TreebankError, match="no file has the suffix of a treebank; pass the format"):
        TreebankReader(tmp_path)


def test_what_is_missing_is_said():
    code = """
import sys
import discotree

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "nltk":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
try:
    import discotree.integrations.nltk
except discotree.DiscotreeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "nltk is missing: pip install 'discotree[nltk]'\n"


@pytest.mark.data
@pytest.mark.parametrize("path", ["alpino/cdb.xml", "pcc/syntax", "icepahc/finished"])
def test_real_trees_come_back_and_are_drawn(path):
    where = Path(os.environ.get("DISCOTREE_DATA", "")) / path
    if not where.exists() or not os.environ.get("DISCOTREE_DATA"):
        pytest.skip(f"DISCOTREE_DATA names no folder with {path}")
    for number, tree in enumerate(islice(read(where), 0, 1000, 4)):
        assert from_nltk(to_nltk(tree), tree.words) == bare(tree)
        if number % 10 == 0 and len(tree) < 60:
            drawing = TreePrettyPrinter(to_nltk(tree), list(tree.words)).text(maxwidth=99)
            assert drawing.split("\n")[-2].split() == list(tree.words)
    corpus = TreebankReader(where)
    assert list(islice(corpus.words(), 100)) == [word for tree in islice(read(where), 100) for word in tree.words][:100]
