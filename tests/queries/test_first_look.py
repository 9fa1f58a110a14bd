"""The first look at the bytes of a sentence never rules out a match, and rules out most of the rest."""

import random
from dataclasses import replace

import pytest
from queries.test_query import random_case, readable_query

import discotree as dt
from discotree import TreebankError
from discotree.queries.first_look import FirstLook
from discotree.queries.query import Query
from discotree.treebanks.pieces import read_pieces
from discotree.treebanks.raw_sentences import SPLITTERS

WORDS = ("das", "Haus", "a(b", "x-y", "1/2", "für", "#LRB#", "</dash>", "50%", "*T*", "naïve\u00a0x", 'qu"ote', "…")
SUFFIXES = {
    "export": "export",
    "export3": "export3",
    "discbracket": "dbr",
    "psd": "psd",
    "penn": "mrg",
    "json": "jsonl",
}


def writable_tree(rng, number):
    tree = replace(random_case(rng), id=str(number), secondary=(), confidences=())
    return replace(tree, tokens=tuple(token._replace(form=rng.choice(WORDS)) for token in tree.tokens))


@pytest.mark.parametrize("format", SPLITTERS)
def test_the_first_look_rules_out_no_match(format, tmp_path):
    rng = random.Random(format)
    path = tmp_path / f"trees.{SUFFIXES[format]}"
    dt.write([writable_tree(rng, k) for k in range(25)], path, format, on_error=[].append)
    pieces = list(read_pieces(path, format))
    assert len(pieces) > 8
    ruled_out = 0
    words = [Query(f'#w:[word="{word}" | lemma="{word}"]') for word in WORDS if '"' not in word]
    words += [Query(f'#w:[word="{word}"] & discontinuous(#n)') for word in WORDS if '"' not in word]
    for query in (*words, *(readable_query(rng) for _ in range(10))):
        look = FirstLook(query)
        for piece in pieces:
            if not look(piece):
                ruled_out += 1
                assert not any(list(query.matches(tree)) for tree in piece.trees()), (query.text, piece)
    assert ruled_out > 100


def test_sentences_without_the_word_are_not_read(tmp_path):
    path = tmp_path / "trees.dbr"
    path.write_text("(ROOT (NN 0=Haus))\n(ROOT broken)\n(ROOT (NN 0=Hof))\n")
    assert [match.tree.id for match in dt.search(path, '[word="Hof"]')] == ["3"]
    with pytest.raises(TreebankError, match=r"trees\.dbr:2"):
        list(dt.search(path, '[word="broken"]'))
    with pytest.raises(TreebankError, match=r"trees\.dbr:2"):
        list(dt.search(path, "[]"))


def test_what_cannot_be_decoded_is_read_and_reported(tmp_path):
    path = tmp_path / "old.dbr"
    path.write_bytes("(ROOT (P 0=für))\n".encode("latin-1"))
    with pytest.raises(TreebankError, match="is not utf-8"):
        list(dt.search(path, '[word="für"]'))


def test_codes_of_letters_rule_nothing_out(tmp_path):
    path = tmp_path / "a.jsonl"
    dt.write([dt.Tree.parse("(ROOT (P 0=fur))")], path)
    path.write_text(path.read_text().replace("fur", "f\\u00fcr"))
    assert [match["#w"].word for match in dt.search(path, '#w:[word="für"]')] == ["für"]


def test_moved_punctuation_may_make_gaps():
    query = Query('#n:[cat="NP"] & discontinuous(#n)')
    assert FirstLook(query).needles("psd", None) == [[(b"*EXP*", b"*ICH*", b"*RNR*", b"*T*"), (b"NP",)]]
    assert FirstLook(query, keeps_gaps=False).needles("psd", None) == [[(b"NP",)]]
    assert FirstLook(Query('[cat="ROOT"] | [word="a"]')).needles("export", None) is None
    assert FirstLook(Query('[cat="S"] >SBJ [pos=("N"|"V")]')).needles("psd", None) == [[(b"S",), (b"N", b"V")]]
