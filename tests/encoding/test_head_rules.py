import time

import pytest
from support.helpers import tree_of

from discotree import HeadRuleError, HeadRules, Node, Token
from discotree.encoding import head_rules
from discotree.encoding.head_rules import Rule, parse


def head(rules, brackets, functions=()):
    """The word that heads the first phrase below the root."""
    tree = tree_of(f"(ROOT {brackets})")
    tokens = [t._replace(function=f) for t, f in zip(tree.tokens, functions, strict=True)] if functions else tree.tokens
    node = tree.root.children[0]
    while isinstance(node, Node):
        node = node.children[rules.head_child(node, tokens)]
    return tree.tokens[node].form


def rules(text, **options):
    return HeadRules(parse(text), **options)


# The directions, one by one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X left-to-right B A", "b1"),
        ("X left B A", "b1"),
        ("X right-to-left B A", "b2"),
        ("X right B A", "b2"),
        ("X leftdis B A", "a1"),
        ("X rightdis A B", "b2"),
        ("X rightdis A", "a2"),
        ("X left Z\nX right A", "a2"),
        ("X left B\nX right A", "b1"),
        ("Y right B\nX like Y", "b2"),
        ("X left Z\nY right B\nX like Y", "b2"),
        ("* right B", "b2"),
        ("* right B\nX left A", "a1"),
        ("X left Z\n* right B", "b2"),
        ("x LEFT b % A\n% X right A", "b1"),
        ("X left B*", "b1"),
        ("X right *", "b2"),
        ("", "a1"),
        ("X left", "a1"),
        ("X right", "b2"),
        ("X left\nX right", "b2"),
        ("X right Z", "b2"),
        ("Y right B", "a1"),
    ],
)
def test_rules_pick_the_head_that_their_direction_says(text, expected):
    assert head(rules(text), "(X (A 0=a1) (B 1=b1) (A 2=a2) (B 3=b2))") == expected


def test_a_star_at_the_end_stands_for_any_ending():
    assert head(rules("NP right N-*"), "(NP (N-A 0=x) (NS-A 1=y) (D-A 2=z))") == "x"


def test_functions_are_tried_in_order():
    by_function = rules("X function hd su")
    assert head(by_function, "(X (A 0=a) (A 1=b) (A 2=c))", ["mod", "su", "HD"]) == "c"
    assert head(by_function, "(X (A 0=a) (A 1=b) (A 2=c))", ["mod", "su", "su"]) == "b"
    assert head(by_function, "(X (A 0=a) (A 1=b) (A 2=c))", ["mod", "det", "app"]) == "a"


def test_phrases_are_found_by_label_and_function_as_words_are():
    np = Node("NP", [1, 2], "SB")
    tokens = [Token("a", "X", function="MO"), Token("b"), Token("c")]
    assert rules("S right NP").head_child(Node("S", [0, np]), tokens) == 1
    assert rules("S function SB").head_child(Node("S", [0, np]), tokens) == 1
    assert rules("S left X").head_child(Node("S", [0, np]), tokens) == 0


# When nothing hits


@pytest.mark.parametrize(
    ("text", "brackets", "expected"),
    [
        ("", "($, 0=,) (N 1=a) (N 2=b))", "a"),
        ("X right Z", "(N 0=a) (N 1=b) ($. 2=.))", "b"),
        ("", "($, 0=,) ($. 1=.))", ","),
        ("X right Z", "($, 0=,) ($. 1=.))", "."),
        ("X left Z\nX right Z", "(N 0=a) (N 1=b) ($. 2=.))", "b"),
        ("X right Z\n* left Z", "($, 0=,) (N 1=a) (N 2=b))", "a"),
    ],
)
def test_without_a_hit_the_head_is_the_first_child_that_is_no_punctuation(text, brackets, expected):
    assert head(rules(text), f"(X {brackets}") == expected


def test_a_rule_may_choose_punctuation():
    assert head(rules("X left $,"), "(X (N 0=a) ($, 1=,))") == ","


def test_an_only_child_is_the_head():
    assert rules("").head_child(Node("X", [0]), [Token(".", "$.")]) == 0


# Heads that the treebank marks


@pytest.mark.parametrize("function", ["HD", "hd", "OC-HD", "HD-X"])
def test_a_marked_child_wins_before_any_rule_if_wished(function):
    functions = ["SB", function, "MO"]
    brackets = "(X (A 0=a) (B 1=b) (C 2=c))"
    assert head(rules("X left C", marked_first=True), brackets, functions) == "b"
    assert head(rules("X left C"), brackets, functions) == "c"


def test_a_function_that_only_contains_hd_is_no_mark():
    assert head(rules("X left C", marked_first=True), "(X (A 0=a) (C 1=c))", ["HDX", "SB"]) == "c"


def test_what_is_remembered_depends_on_functions_where_rules_do():
    marked = rules("X left A", marked_first=True)
    assert head(marked, "(X (A 0=a) (A 1=b))", ["HD", "--"]) == "a"
    assert head(marked, "(X (A 0=a) (A 1=b))", ["--", "HD"]) == "b"
    assert head(marked, "(X (A 0=a) (A 1=b))", ["HD", "--"]) == "a"


# Rule files


def test_the_disco_dop_format_is_read():
    assert parse("%% comment\nnp\tright-to-left\tNN NE\n\nNP leftdis X  % why\nPP LIKE np\n") == {
        "NP": [Rule("right", ("NN", "NE")), Rule("leftdis", ("X",))],
        "PP": [Rule("right", ("NN", "NE")), Rule("leftdis", ("X",))],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NP", "my.rules:1: expected 'PARENT DIRECTION LABEL …', got 'NP'"),
        ("\nNP sideways NN", "my.rules:2: unknown direction 'sideways'; known: left-to-right"),
        ("NP like PP", "my.rules:1: 'like' needs one other parent that has rules above"),
        ("NP left X\nPP like NP NP", "my.rules:2: 'like' needs one other parent"),
        ("NP left X\nPP like", "my.rules:2: 'like' needs one other parent"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_line(text, message):
    with pytest.raises(HeadRuleError) as caught:
        parse(text, "my.rules")
    assert str(caught.value).startswith(message)


def test_a_users_own_file_is_loaded_by_its_path(file):
    path = file("my.headrules", "X right B\n")
    for name in (path, str(path)):
        assert head(HeadRules.load(name), "(X (B 0=a) (B 1=b))") == "b"


def test_a_missing_file_names_the_rule_sets_there_are(tmp_path):
    with pytest.raises(
        HeadRuleError, match="neither one of alpino, icepahc, n1904, negra, ptb, squoia-es nor a readable file"
    ):
        HeadRules.load("klingon")
    with pytest.raises(HeadRuleError):
        HeadRules.load(tmp_path)


def test_a_file_that_is_not_utf8_is_refused(file):
    with pytest.raises(HeadRuleError):
        HeadRules.load(file("latin.headrules", b"X left \xe4\n"))


# The rules that come along


def test_bundled_rule_sets():
    assert HeadRules.names() == ["alpino", "icepahc", "n1904", "negra", "ptb", "squoia-es"]
    for name in HeadRules.names():
        assert HeadRules.load(name).rules


@pytest.mark.parametrize("name", ["alpino", "icepahc", "n1904", "negra", "ptb", "squoia-es"])
def test_every_node_has_a_head_whatever_its_label(name):
    assert head(HeadRules.load(name), "(KLINGON (FOO 0=a) (BAR 1=b))") in ("a", "b")


@pytest.mark.parametrize(
    ("name", "brackets", "expected"),
    [
        ("negra", "(S (PPER 0=er) (VAFIN 1=hat) (VP (NN 2=Brot) (VVPP 3=gekauft)))", "hat"),
        ("negra", "(S (NN 0=er) (VP (NN 1=Brot) (VVPP 2=gekauft)))", "gekauft"),
        ("negra", "(VZ (PTKZU 0=zu) (VVINF 1=gehen))", "zu"),
        ("negra", "(NP (ART 0=die) (CARD 1=drei))", "drei"),  # mended: the original had CAR
        ("negra", "(PP (ADV 0=nur) (APPRART 1=im) (NN 2=Haus))", "im"),  # mended: APPRART was not there
        ("negra", "(PN (NE 0=Ada) (NE 1=Lovelace))", "Lovelace"),
        ("negra", "(MPN (NE 0=Ada) (NE 1=Lovelace))", "Lovelace"),
        ("negra", "(CS (S (VVFIN 0=geht)) (KON 1=und) (S (VVFIN 2=kommt)))", "kommt"),
        ("negra", "(CO (X 0=a) (X 1=b))", "a"),
        ("negra", "(CH (X 0=a) (X 1=b))", "b"),
        ("negra", "(VROOT ($[ 0=-) (NP (NN 1=Haus)) (S (VVFIN 2=steht)))", "steht"),
        ("alpino", "(np (lid 0=de) (n 1=kat))", "kat"),  # without functions
        ("alpino", "(smain (n 0=Jan) (ww 1=slaapt))", "slaapt"),
        ("alpino", "(ssub (n 0=Jan) (ww 1=slapen) (ww 2=ging))", "ging"),
        ("alpino", "(conj (n 0=kat) (vg 1=en) (n 2=hond))", "en"),
        ("ptb", "(S (NP (PRP 0=she)) (VP (VBD 1=paid) (NP (NNS 2=taxes))) (. 3=.))", "paid"),
        ("ptb", "(NP (NP (DT 0=the) (NN 1=end)) (PP (IN 2=of) (NP (NN 3=it))))", "end"),
        ("ptb", "(NP (DT 0=the) (NN 1=tax) (NN 2=law))", "law"),
        ("ptb", "(PP (IN 0=of) (NP (NN 1=it)))", "of"),
        ("ptb", "(SBAR (IN 0=that) (S (VP (VBZ 1=is))))", "that"),
        ("icepahc", "(IP (NP (PRO-N 0=hún)) (BEPI 1=er) (VBN 2=farin))", "er"),
        ("icepahc", "(NP (ADJ-N 0=góður) (N-N 1=maður))", "maður"),
        ("icepahc", "(PP (P 0=á) (NP (N-D 1=bók)))", "á"),
        ("icepahc", "(IP (NP (PRO 0=je)) (CL (CL 1=l')) (AJ 2=ay) (VPP 3=faict))", "ay"),
        ("icepahc", "(NP (D 0=li) (NCS 1=reis) (NPRS 2=Charles))", "reis"),
        ("icepahc", "(IP (NP (PRO 0=zi)) (HVF 1=hot) (VBN 2=geleyent))", "hot"),
        ("icepahc", "(NP (D 0=der) (H 1=mlkh))", "mlkh"),
        ("negra", "(AS (KOUS 0=daß) (VP (PPER 1=ers) (VVPP 2=gesehen)))", "gesehen"),
        ("n1904", "(CL (CL (NP (det 0=ὁ) (noun 2=λόγος)) (verb 3=ἦν)) (conj 1=δὲ))", "ἦν"),
        ("n1904", "(NP (det 0=ὁ) (adj 1=ἅγιος))", "ἅγιος"),
        ("squoia-es", "(S (NP (DA 0=la) (NC 1=casa)) (VA 2=ha) (VM 3=sido))", "ha"),
        ("squoia-es", "(NP (DA 0=la) (NC 1=casa) (PP (SP 2=de) (NP (NP 3=Lima))))", "casa"),
    ],
)
def test_the_bundled_rules_know_their_language(name, brackets, expected):
    assert head(HeadRules.load(name), brackets) == expected


def test_alpino_goes_by_function():
    alpino = HeadRules.load("alpino")
    assert head(alpino, "(np (lid 0=de) (n 1=kat))", ["det", "hd"]) == "kat"
    assert head(alpino, "(conj (n 0=kat) (vg 1=en) (n 2=hond))", ["cnj", "crd", "cnj"]) == "en"
    assert head(alpino, "(mwu (n 0=Jan) (n 1=Piet))", ["mwp", "mwp"]) == "Jan"


def test_alpinos_root_is_headed_by_its_phrase():
    tree = tree_of("(ROOT (let 0=-) (smain (n 1=kat) (ww 2=slaapt)) (let 3=.))")
    assert HeadRules.load("alpino").head_child(tree.root, tree.tokens) == 1


def test_a_model_from_elsewhere_cannot_have_devices_or_huge_files_read_as_rules(tmp_path):
    huge = tmp_path / "huge.headrules"
    with huge.open("wb") as file:
        file.truncate(1 << 30)
    for path in (tmp_path, huge, "/dev/zero"):
        with pytest.raises(HeadRuleError, match="neither one of"):
            HeadRules.load(path)
    with pytest.raises(HeadRuleError, match="neither one of"):
        HeadRules.load("no\0name")


# Rules by name


def test_rules_are_given_as_they_are_by_name_or_not_at_all(tmp_path):
    negra = HeadRules.load("negra")
    (tmp_path / "mine.headrules").write_text("X left A\n")
    assert HeadRules.of(negra) is negra
    assert HeadRules.of("negra").rules == negra.rules
    assert HeadRules.of(tmp_path / "mine.headrules").rules == HeadRules.load(tmp_path / "mine.headrules").rules
    assert (HeadRules.of(None).rules, HeadRules.of(None).marked_first) == ({}, True)
    assert HeadRules.load(negra) is negra
    assert HeadRules.load(negra, marked_first=True).marked_first
    assert not negra.marked_first
    with pytest.raises(TypeError, match="expected HeadRules, their name or None, got int: 5"):
        HeadRules.of(5)


def test_rules_of_one_name_do_not_share_what_one_of_them_changes():
    HeadRules.load("negra").rules.clear()
    assert HeadRules.load("negra").rules


# Limits


@pytest.mark.parametrize(
    "text",
    [
        "A left x\n" + "A like A\n" * 40,
        "A left x\nB left y\n" + "A like B\nB like A\n" * 40,
        "A left " + "x " * 15_000 + "\n" + "".join(f"B{number} like A\n" for number in range(50_000)),
    ],
)
def test_rules_that_double_are_refused(text):
    began = time.process_time()
    with pytest.raises(HeadRuleError, match=r"<rules>:\d+: ('like' needs one other parent|more than 20,000 rules)"):
        parse(text)
    assert time.process_time() - began < 1


def test_the_number_of_remembered_nodes_is_bounded(monkeypatch):
    monkeypatch.setattr(head_rules, "MAX_CACHED", 100)
    rules = HeadRules.load("negra")
    for number in range(250):
        tree = tree_of(f"(ROOT (S{number} (N 0=a) (V 1=b)))")
        assert rules.head_child(tree.root.children[0], tree.tokens) in (0, 1)
        assert 0 < len(rules._cache) <= 100
