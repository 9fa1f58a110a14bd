"""Names of labels: what a reader sees who does not know the annotation scheme."""

import pytest
from support.pictures import DATA, FIGURE1

import discotree as dt
from discotree.trees.labels import guess_scheme


@pytest.mark.parametrize(
    ("label", "scheme", "name"),
    [
        ("ppart", "alpino", "participle clause"),
        ("su", "nl", "subject"),
        ("PPER", "tiger", "personal pronoun"),
        ("NK", "negra", "part of the noun kernel"),
        ("$(", "de-nc", "bracket, quotation mark or dash"),
        ("SBAR", "penn", "subordinate clause"),
        ("#", "ptb", "number sign"),
        ("SBJ-TPC", "en", "subject, topicalised"),
        ("NP-SBJ", "icepahc", "noun phrase, subject"),
        ("N-D", "is-large", "singular noun, dative"),
        ("NPRS", "is", "plural proper name"),
        ("NPRS", "fro", "singular proper name"),
        ("CL-NP-ACC", "mcvf", "clitic, noun phrase, direct object"),
        ("HVF", "yi", '"have", finite'),
        ("O2", "grc", "second object"),
        ("NK", "de-early", "part of the noun kernel"),
        ("np+mwu", "alpino", "noun phrase + multi-word unit"),
        ("NP", None, "noun phrase"),
        ("NP", FIGURE1, "noun phrase"),
    ],
)
def test_a_label_is_explained_in_words(label, scheme, name):
    assert dt.explain(label, scheme) == name


def test_a_label_of_two_kinds_has_two_names():
    assert dt.explain("PRP", "penn") == "purpose or reason; personal pronoun"
    assert dt.explain("PRP", "penn", "tag") == "personal pronoun"
    assert dt.explain("PRP", "penn", "function") == "purpose or reason"


@pytest.mark.parametrize("label", [None, "", "--", "xyz", "NP-", "NP-XYZ", "+", "-", "np"])
def test_an_unknown_label_has_no_name(label):
    assert dt.explain(label, "penn") is None


def test_an_unknown_scheme_or_kind_is_an_error_that_lists_the_others():
    with pytest.raises(
        dt.InputError,
        match="unknown scheme 'xyz'; expected alpino, tiger, penn, icepahc, mcvf, ppchy, n1904, squoia-es or",
    ):
        dt.explain("NP", "xyz")
    with pytest.raises(dt.InputError, match="kind: expected constituent, function, tag, got 'word'"):
        dt.explain("NP", "penn", "word")


@pytest.mark.parametrize(
    ("file", "scheme"),
    [
        ("alpino_many.xml", "alpino"),
        ("tiger4.export", "tiger"),
        ("figure1.export", "tiger"),
        ("ptb.mrg", "penn"),
        ("craft.tree", "penn"),
        ("icepahc.psd", "icepahc"),
        ("mcvf.psd", "mcvf"),
        ("ppchy.psd", "ppchy"),
        ("n1904.export", "n1904"),
    ],
)
def test_every_label_of_a_treebank_has_a_name(file, scheme):
    for tree in dt.read(DATA / file):
        assert guess_scheme(tree) == scheme
        labels = [(token.tag, "tag") for token in tree.tokens] + [(node.label, "constituent") for node in tree.nodes()]
        labels += [(item.function, "function") for item in (*tree.tokens, *tree.nodes())]
        named = [item for item in labels if item[0] not in (None, "--")]
        assert not [label for label, kind in named if dt.explain(label, tree, kind) is None]


def test_labels_of_another_scheme_are_not_explained():
    tree = dt.Tree.parse("(ROOT (XP (foo 0=a) (bar 1=b)) (NP (baz 2=c)))")
    assert guess_scheme(tree) is None
    assert dt.explain("NP", tree) is None
