"""A query without a match is explained: which label, tag, function or word of it does not occur."""

from unicodedata import normalize

import pytest

import discotree as dt
from discotree.queries import inventory
from discotree.queries.index import write_index

LINES = ["(ROOT (np (lid 0=het) (n 1=huis)) (let 2=.))", "(ROOT (np (n 0=huizen) (pp (vz 1=in) (n 2=steden))))"]
TREES = [dt.Tree.parse(line, id=str(k)) for k, line in enumerate(LINES)]

REASONS = {
    '#n:[cat="NP"]': "no constituent is called 'NP' here; did you mean 'np'?",
    '[cat="XYZ"]': "no constituent is called 'XYZ' here; the labels are ROOT, np, pp",
    '[cat=("NP"|"S")]': "no constituent is called 'NP' or 'S' here; did you mean 'np'?",
    '[pos="NN"]': "no word has the tag 'NN' here; the tags are n, lid, let, vz",
    "[pos=/V.*/]": "no tag matches /V.*/ here; the tags are n, lid, let, vz",
    '[word="Huis"]': "there is no word 'Huis' here; did you mean 'huis'?",
    '[word="hius" | word="dit"]': "there is no word 'hius' here; did you mean 'huis'?\nthere is no word 'dit' here",
    '#w:[lemma="huis"]': "this treebank has no lemmas",
    '#w:[morph="x"]': "this treebank has no morphology",
    "#a >SB #b": "this treebank has no functions",
    '#a:[cat="pp"] >SB #b:[cat="PP"]': (
        "this treebank has no functions\nno constituent is called 'PP' here; did you mean 'pp'?"
    ),
    '[cat="pp"] > [cat="np"]': "",
    '[cat="pp"] & without([cat="VP"]) & [cat="pp" & !(pos="NN")] > [word="het"]': "",
    "[pos=#t] > []": "",
    "discontinuous(#n, all)": "",
    '[cat="pp" | cat="XX"] > [cat="np"]': "",
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("treebanks")
    dt.write(TREES, folder / "a.export")
    write_index(TREES, folder / "a.dtindex")
    return folder / "a.export", folder / "a.dtindex"


@pytest.mark.parametrize(("query", "explanation"), REASONS.items())
def test_a_zero_is_explained_for_trees_files_and_indexes(query, explanation, paths):
    for source in (TREES, *paths):
        matches = dt.search(source, query)
        assert list(matches) == []
        assert sorted(matches.explanation) == sorted(explanation)  # an index counts trees, so its order may differ
    assert dt.search(TREES, query).explanation == explanation
    assert dt.search(iter(TREES), query).explanation == ""  # a stream cannot be read again


def test_confidences_that_are_missing_are_named(paths):
    reason = "these trees have no confidences; parsed trees keep theirs in the formats json and parquet"
    for source in (TREES, paths[0]):
        assert dt.search(source, '#n:[cat="np"] & confidence(#n) > 0.5').explanation == reason
    parsed = [dt.Tree(tree.tokens, tree.root, tree.id, confidence=0.5, confidences=(0.5,) * 3) for tree in TREES[1:]]
    assert dt.search(parsed, '#n:[cat="np"] & confidence(#n) > 0.9').explanation == ""


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_may_be_characters_of_their_own(form, tmp_path):
    trees = [dt.Tree.parse(normalize(form, "(ROOT (n 0=café) (n 1=λόγος) (n 2=cafe))"), id="1")]
    write_index(trees, tmp_path / "a.dtindex")
    for word in ("café", "λόγος", "λ\u1f79γος"):
        for other in ("NFC", "NFD"):
            query = f'#w:[word="{normalize(other, word)}"] | #w:[word=("x"|"{normalize(other, word)}")]'
            for source in (trees, tmp_path / "a.dtindex"):
                assert len(list(dt.search(source, query))) == 1
    assert dt.search(trees, f'[word="{normalize(form, "Café")}"]').explanation.startswith(
        "there is no word 'Café' here; did"
    )


def test_what_was_not_read_is_not_said_to_be_missing(monkeypatch):
    monkeypatch.setattr(inventory, "MAX_TREES", 1)
    assert dt.search(TREES, '[cat="pp"]').explanation.startswith("no constituent is called 'pp' in the first 1 trees;")
    assert dt.search(TREES, '[lemma="a"]').explanation == "there are no lemmas in the first 1 trees"


def test_a_tree_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"id": "1", "tokens": 5}\n', "utf-8")
    assert "a.json:1: " in dt.search(tmp_path / "a.json", '[cat="XX"]').explanation
