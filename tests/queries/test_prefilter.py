"""The prefilter on the bytes of a sentence never rules out a match, and rules out most of the rest."""

import random
from dataclasses import replace

import pytest
from queries.test_query import random_case, readable_query

import discotree as dt
from discotree import TreebankError
from discotree.queries.prefilter import BytePrefilter
from discotree.queries.query import Query
from discotree.treebanks.chunks import SPLITTERS, read_chunks

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
def test_the_prefilter_rules_out_no_match(format, tmp_path):
    rng = random.Random(format)
    path = tmp_path / f"trees.{SUFFIXES[format]}"
    dt.write([writable_tree(rng, k) for k in range(25)], path, format, on_error=[].append)
    chunks = list(read_chunks(path, format))
    assert len(chunks) > 8
    ruled_out = 0
    words = [Query(f'#w:[word="{word}" | lemma="{word}"]') for word in WORDS if '"' not in word]
    words += [Query(f'#w:[word="{word}"] & discontinuous(#n)') for word in WORDS if '"' not in word]
    for query in (*words, *(readable_query(rng) for _ in range(10))):
        prefilter = BytePrefilter(query)
        for chunk in chunks:
            if not prefilter(chunk):
                ruled_out += 1
                assert not any(list(query.matches(tree)) for tree in chunk.trees()), (query.text, chunk)
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


def test_values_that_are_required_must_occur():
    assert BytePrefilter(Query('[cat="ROOT"] | [word="a"]')).needles("export", None) is None
    assert BytePrefilter(Query('[cat="S"] >SBJ [pos=("N"|"V")]')).needles("psd", None) == [[(b"S",), (b"N", b"V")]]
