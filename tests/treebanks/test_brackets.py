import random

import pytest
from support.helpers import assert_broken, brackets_of, parsed, through, tree_of, written
from support.strategies import random_tree

from discotree import Node, Token, Tree, TreebankError, read, write
from discotree.trees.tree import NONE


def penn(text):
    return brackets_of(parsed(text, "penn"))


def psd(text):
    return brackets_of(parsed(text, "psd"))


# What the distributed files look like


def test_ptb_traces_become_discontinuous_phrases(data):
    trees = list(read(data / "ptb.mrg"))
    assert [tree.id for tree in trees] == ["1", "2", "3", "4", "5", "6", "7"]
    assert brackets_of(trees) == [
        # *T*: the question word goes to its verb
        "(ROOT (SBARQ (SQ (VP (WHNP (WP 0=What)) (VB 3=paint)) (VBD 1=did) (NP (PRP 2=she))) (. 4=?)))",
        # *ICH*: the extraposed clause goes to its noun
        "(ROOT (S (NP (NP (DT 0=A) (NN 1=plan)) (SBAR (S (WHNP (WDT 3=that)) (VP (VBD 4=pleased) "
        "(NP (NN 5=everyone)))))) (VP (VBD 2=emerged)) (. 6=.)))",
        # *EXP*: the clause goes to its expletive; *PRO* disappears
        "(ROOT (S (NP (NP (PRP 0=It)) (S (VP (TO 2=to) (VP (VB 3=read))))) (VP (VBZ 1=helps)) (. 4=.)))",
        # *RNR*: the shared object goes to the nearest of its traces
        "(ROOT (S (NP (PRP 0=They)) (VP (VP (VBP 1=grow)) (CC 2=and) (VP (VBP 3=sell) (NP (JJ 4=ripe) (NNS 5=pears)))) "
        "(. 6=.)))",
        # *-1: NP movement stays where it is
        "(ROOT (S (NP (DT 0=The) (NN 1=door)) (VP (VBD 2=was) (VP (VBN 3=varnished) (PP (IN 4=in) (NP (NNP 5=May))))) "
        "(. 6=.)))",
        # a filler that dominates its own trace stays where it is
        "(ROOT (S (NP (NN 0=Rain)) (PRN (, 1=,) (S (NP (PRP 2=he)) (VP (VBZ 3=claims))) (, 4=,)) (VP (VBZ 5=helps)) "
        "(. 6=.)))",
        "(ROOT (S (NP (-LRB- 0=-LRB-) (NN 1=Tea) (-RRB- 2=-RRB-)) (ADVP|PRT (RB 3=too))))",
    ]


def functions_of(tree):
    return [(node.label, node.function) for node in tree.nodes() if node.function != NONE]


def test_functions_are_what_follows_the_category_without_indices(data):
    trees = list(read(data / "ptb.mrg"))
    assert functions_of(trees[4]) == [("NP", "SBJ"), ("PP", "LOC-CLR")]
    assert functions_of(trees[6]) == [("NP", "SBJ")]


def test_a_filler_without_a_function_takes_that_of_its_trace(data):
    second = list(read(data / "ptb.mrg"))[1]
    assert functions_of(second) == [("NP", "SBJ"), ("WHNP", "SBJ")]


def test_craft_has_one_tree_a_line_and_brackets_as_words(data):
    trees = list(read(data / "craft.tree"))
    assert [tree.id for tree in trees] == ["1", "2", "3", "5"]  # the fourth is nothing but a trace
    assert trees[1].words[1:4] == ("[", "12", "]")
    assert trees[1].words[7] == "µl"
    assert trees[2].is_discontinuous


def test_icepahc_has_ids_lemmas_markup_and_split_words(data):
    first, third, fourth = read(data / "icepahc.psd")
    assert [tree.id for tree in (first, third, fourth)] == [f"2020.TEST.NAR-FIC,.{k}" for k in (1, 3, 4)]
    assert brackets_of([first, third, fourth]) == [
        "(ROOT (IP (NP (D-A 0=Það)) (VBDI 1=keypti) (NP (N-N 2=maður$) (D-N 3=$inn)) (. 4=.)))",
        "(ROOT (IP (NP (PRO-N 0=Hún) (CP (C 2=sem) (IP (VBPI 3=les)))) (VBPI 1=sefur) (. 4=.)))",
        "(ROOT (CP (IP (WNP (WPRO-A 0=Hvað)) (VBPI 1=veit) (NP (NPR-N 2=Gull-Anna))) (. 3=?)))",
    ]
    assert first.tokens[2] == Token("maður$", "N-N", "maður")
    assert fourth.tokens[2] == Token("Gull-Anna", "NPR-N", "gullanna")
    assert functions_of(fourth) == [("CP", "QUE-SPE"), ("IP", "SUB-SPE"), ("WNP", "OB1"), ("NP", "SBJ")]


# Reading, rule by rule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( (S (N a)) )", "(ROOT (S (N 0=a)))"),
        ("(ROOT (S (N a)))", "(ROOT (S (N 0=a)))"),
        ("(TOP (S (N a)))", "(ROOT (S (N 0=a)))"),
        ("(VROOT (S (N a)))", "(ROOT (S (N 0=a)))"),
        ("(S (N a))", "(ROOT (S (N 0=a)))"),
        ("( (N a) (N b))", "(ROOT (N 0=a) (N 1=b))"),
        ("(S\n (N\n a\n)\t(N b))", "(ROOT (S (N 0=a) (N 1=b)))"),
        ("(S(N a)(N b))", "(ROOT (S (N 0=a) (N 1=b)))"),
        ("(S ((N a)))", "(ROOT (S (-- (N 0=a))))"),
        ("(S (-NONE- *) (N a))", "(ROOT (S (N 0=a)))"),
        ("(S (NP (-NONE- *)) (N *))", "(ROOT (S (N 0=*)))"),
        ("(-LRB- (N a))", "(ROOT (-LRB- (N 0=a)))"),
        ("(S (N-1 a) (VP (V b) (-NONE- *T*-1)))", "(ROOT (S (VP (N 0=a) (V 1=b))))"),
    ],
)
def test_small_brackets(text, expected):
    assert penn(text) == [expected]


def test_the_nearest_trace_wins_and_takes_one_filler():
    near = "(S (A (X a) (NP (-NONE- *RNR*-1))) (B (X b) (NP (-NONE- *RNR*-1))) (NP-1 (N c)))"
    assert penn(near) == ["(ROOT (S (A (X 0=a)) (B (X 1=b) (NP (N 2=c)))))"]
    assert penn("(S (NP-1 (N a)) (B (X b) (NP (-NONE- *T*-1))) (C (X c) (NP (-NONE- *T*-1))))") == [
        "(ROOT (S (B (NP (N 0=a)) (X 1=b)) (C (X 2=c))))"
    ]


def test_a_trace_without_a_filler_and_a_filler_without_a_trace_do_no_harm():
    assert penn("(S (NP-1 (N a)) (NP (-NONE- *T*-2)))") == ["(ROOT (S (NP (N 0=a))))"]


def test_fillers_that_share_an_index_move_to_traces_of_their_category():
    """IcePaHC uses some indices twice in a sentence."""
    text = "(IP (NP (N a) (CP *ICH*-1)) (V b) (CP-THT-1 (C c) (WADVP-1 (W d)) (IP (V e) (ADVP *T*-1))))"
    assert psd(f"( {text})") == ["(ROOT (IP (NP (N 0=a) (CP (C 2=c) (IP (WADVP (W 3=d)) (V 4=e)))) (V 1=b)))"]
    gapping = "(IP (IP-SUB-1 (V a)) (CP (WNP-1 0) (C b) (IP (NP-OB1 *T*-1) (V c))) (IP=1 (N d)))"
    assert psd(f"( {gapping})") == ["(ROOT (IP (IP (V 0=a)) (CP (C 1=b) (IP (V 2=c))) (IP (N 3=d))))"]
    odd = "(IP (NP (N a) (CP-REL *ICH*-1)) (V b) (ADJP-1 (WNP-1 0) (C c) (IP (NP *T*-1) (V d))))"
    assert psd(f"( {odd})") == ["(ROOT (IP (NP (N 0=a) (ADJP (C 2=c) (IP (V 3=d)))) (V 1=b)))"]


def test_a_resumptive_pronoun_moves_to_a_trace_of_its_own_only():
    beside = "(CP (WNP-1 0) (C a) (IP (NP-SBJ *T*-1) (V b)) (IP (NP-RSP-1 (N c)) (V d)))"
    assert psd(f"( {beside})") == ["(ROOT (CP (C 0=a) (IP (V 1=b)) (IP (NP (N 2=c)) (V 3=d))))"]
    alone = "(CP (NP-RSP-1 (N a)) (IP (V b) (VP (NP-OB1 *ICH*-1) (V c))))"
    assert psd(f"( {alone})") == ["(ROOT (CP (IP (VP (NP (N 0=a)) (V 2=c)) (V 1=b))))"]


def test_fillers_inside_fillers_both_move():
    text = "(S (SBAR-1 (WHNP-2 (W a)) (S (NP (-NONE- *T*-2)) (V b))) (VP (V c) (SBAR (-NONE- *T*-1))))"
    assert penn(text) == ["(ROOT (S (VP (SBAR (S (WHNP (W 0=a)) (V 1=b))) (V 2=c))))"]


def test_two_fillers_with_each_others_trace_keep_all_phrases():
    """The first moves into the second; the second then dominates its own trace and stays where it is."""
    (tree,) = parsed("(S (NP-1 (N a) (X (-NONE- *T*-2))) (VP-2 (V b) (Y (-NONE- *T*-1))))", "penn")
    assert {"S", "NP", "VP"} <= {node.label for node in tree.nodes()}


def test_psd_leaves():
    (tree,) = parsed("( (IP (A Klakk<dash>A-klakk) (B -) (C --) (D x-) (E a-b-c) (F *pro*) (G 0)) (ID T,.1))", "psd")
    assert tree.tokens == (
        Token("Klakk-A", "A", "klakk"),
        Token("-", "B"),
        Token("-", "C"),
        Token("x", "D"),
        Token("a-b", "E", "c"),
    )


def test_psd_leaves_of_hyphens():
    """As in IcePaHC: a hyphen whose lemma is a hyphen, and a mark that has its lemma twice."""
    leaves = '(, ---) (, -----) (" "-"-") (N a-b-a-b) (N mynda--mynd) (N Efra<dash/>Á-efri<dash/>á)'
    (tree,) = parsed(f"( (IP {leaves}) (ID T,.1))", "psd")
    assert tree.words == ("-", "--", '"', "a-b", "mynda-", "Efra-Á")
    assert [token.lemma for token in tree.tokens] == ["-", None, '"', "a-b", "mynd", "efri-á"]
    assert through("psd", tree) == tree


def test_psd_keeps_the_word_0_without_a_lemma():
    tree = Tree((Token("0", "N"), Token("0", "N", "0")), Node("ROOT", [0, 1]), "1")
    assert "(N 0-) (N 0-0)" in written([tree], "psd")
    assert through("psd", tree) == tree


YIDDISH = """\
( (IP-MAT (NP-SBJ (N eyrev-tavshilin)) (VBF iz) (ADJP (H hn"l^aforesaid)) (VBN gut-gemakht)
          (PUNC -) (PUNC <$$paren>) (PUNC %EXCL%))
  (ID 1932E-SHTIF,27.3))
"""


def test_a_hyphen_belongs_to_its_word_where_nouns_have_no_case():
    (tree,) = parsed(YIDDISH, "psd")
    assert tree.words == ("eyrev-tavshilin", "iz", 'hn"l', "gut-gemakht", "-", ")", "!")
    assert {token.lemma for token in tree.tokens} == {None}
    assert "(N eyrev-tavshilin)" in written([tree], "psd")
    assert through("psd", tree) == tree


def test_a_hyphen_separates_a_lemma_where_nouns_have_a_case_or_most_words_have_one():
    (icelandic,) = parsed("( (IP (NP (N-N orð-orð) (D-N $ið-hinn)) (VBDI kom) (. .-.)) (ID T,.1))", "psd")
    assert [token.lemma for token in icelandic.tokens] == ["orð", "hinn", None, "."]
    (other,) = parsed("( (IP (NP (D the-the) (N words-word)) (VBF came-come) (N 1)) (ID T,.1))", "psd")
    assert [token.lemma for token in other.tokens] == ["the", "word", "come", None]


@pytest.mark.parametrize("form", ["0", "a^b", "^", "%EXCL%", "<paren>", "a-b", "-", "(", "<dash>"])
@pytest.mark.parametrize("lemma", [None, "b-c"])
def test_psd_words_with_tags_of_corpora_without_lemmas_are_read_as_they_were_written(form, lemma):
    tokens = (Token(form, "N"), Token("iz", "VBF"), Token("gut", "ADJ", lemma or "--"))
    tree = Tree(tokens, Node("ROOT", [0, 1, 2]), "1")
    assert through("psd", tree) == tree


def test_psd_writes_spaces_in_lemmas_as_underscores_and_refuses_control_characters():
    tree = Tree((Token("a", "N", "b c"),), Node("ROOT", [0]), "1")
    assert through("psd", tree).tokens[0].lemma == "b_c"
    tree = Tree((Token("a", "N", "b\tc"),), Node("ROOT", [0]), "1")
    with pytest.raises(TreebankError, match=r"sentence 1: psd cannot represent the lemma 'b\\tc'"):
        written([tree], "psd")


def test_psd_markup_is_left_out():
    text = "( (IP (CODE {x}) (N a-a) (LB |-|) (METADATA (Y z)) (CODE <b>)) (CODE <c>) (ID T,.1))"
    assert psd(text) == ["(ROOT (IP (N 0=a)))"]


def test_comments_between_trees_are_passed_over():
    text = "*x*n*\n; a comment\n%% b\n/* c ( */\n/~*\n(S (N a))\n;; ( (\n(S (N b))\n"
    assert penn(text) == ["(ROOT (S (N 0=a)))", "(ROOT (S (N 0=b)))"]


def test_a_word_may_begin_like_a_comment():
    assert penn("(S\n(N ;)\n(N %)\n(N *))") == ["(ROOT (S (N 0=;) (N 1=%) (N 2=*)))"]


# Broken trees


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("◀( (S (N a b)))", "got the word 'a b' in 'N' on line 2", id="two words"),
        pytest.param("◀( (S (N a)\n b))", "expected .TAG WORD., got the word", id="a word after a phrase"),
        pytest.param("◀( (S (N (X a) b)))", "expected .TAG WORD.", id="a word after a bracket"),
        pytest.param("◀( (S (N a (X b))))", "expected .TAG WORD.", id="a bracket after a word"),
        pytest.param("◀( (S (N ) (V b)))", "N", id="missing word"),
        pytest.param("◀( (S (NP) (V b)))", "NP", id="empty phrase"),
    ],
)
@pytest.mark.parametrize("suffix", ["mrg", "psd"])
def test_a_broken_tree_is_refused_with_its_line_and_can_be_skipped(tmp_path, suffix, text, message):
    good = {"mrg": "( (N a))", "psd": "( (N a-a) (ID {}))"}[suffix]
    content = f"{good.format(1)}\n{text}\n{good.format('last')}\n"
    ids = {"mrg": ["1", "3"], "psd": ["1", "last"]}[suffix]
    assert_broken(tmp_path / f"broken.{suffix}", content, message, ids)


@pytest.mark.parametrize("text", [")", "nonsense", "a b) c"])
def test_what_stands_between_trees_is_refused_with_its_line_and_can_be_skipped(tmp_path, text):
    content = f"( (N a))\n◀{text}\n( (N b))\n"
    assert_broken(tmp_path / "broken.mrg", content, r"expected '\(', got '.*'", ["1", "2"])


def test_a_truncated_file_is_refused_at_the_tree_that_is_cut(tmp_path):
    for cut in ("( (S (N", "( (S (N b", "( (S (N b)", "(", "( (S (N b))"):
        content = f"( (N a))\n◀{cut}\n"
        assert_broken(tmp_path / "cut.mrg", content, r"expected '\)' before the end of the file", ["1"])


def test_a_tree_that_is_not_closed_does_not_swallow_the_next_one(tmp_path):
    """Trees begin in the first column, in PTB, CRAFT and IcePaHC alike; what is inside them is indented."""
    content = "( (S (N a)))\n◀( (S\n    (N b))\n( (S\n    (N c)))\n( (S (N d)))\n"
    assert_broken(tmp_path / "open.mrg", content, "expected", ["1", "3", "4"])


def test_a_broken_byte_is_an_error_with_its_line(file):
    path = file("broken.mrg", b"( (N \xc3\xa4))\n( (N \xe4))\n")
    with pytest.raises(TreebankError, match="byte 0xe4 is not utf-8") as caught:
        list(read(path))
    assert (caught.value.path, caught.value.line) == (str(path), 2)


# Writing


def test_what_is_written_to_the_character():
    tree = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "1")
    assert written([tree], "penn") == "( (NP (D das) (N (-NONE- *ICH*-1))) (V hat) (N-1 Haus))\n"
    assert written([tree], "psd") == "( (NP (D das) (N *ICH*-1)) (V hat) (N-1 Haus) (ID 1))\n\n"


def test_an_id_goes_into_a_comment_unless_it_is_the_number():
    trees = [tree_of("(ROOT (N 0=a))", "1"), tree_of("(ROOT (N 0=b))", "cdb/7")]
    assert written(trees, "penn") == "( (N a))\n; sent_id = cdb/7\n( (N b))\n"
    assert parsed(written(trees, "penn"), "penn") == trees


@pytest.mark.parametrize("format", ["penn", "psd"])
def test_any_gaps_can_be_written_and_come_back(format):
    rng = random.Random(7)
    for _ in range(2000):
        shape = random_tree(rng, rng.randrange(1, 12))
        nodes = [(label.partition("-")[0], NONE, parent) for label, _, parent in shape.parents()[1]]
        tokens = [Token(f"w{k}", "N") for k in range(len(shape))]
        tree = Tree.from_parents(tokens, shape.parents()[0], nodes, id="1")
        assert through(format, tree) == tree


def comes_back_or_is_refused(tree, format):
    """What does not fit may be refused, but not changed."""
    try:
        text = written([tree], format)
    except TreebankError:
        return True
    return parsed(text, format) == [tree]


@pytest.mark.parametrize("format", ["penn", "psd"])
@pytest.mark.parametrize("tag", ["N-A", "-LRB-", "--", "-", "N-1", "D-"])
def test_a_word_keeps_its_tag_and_its_place_when_it_is_raised(format, tag):
    for root in (Node("ROOT", [Node("X", [0, 2]), 1, 3]), Node("ROOT", [Node("X", [0, 2]), Node("X", [1, 3])])):
        tree = Tree(tuple(Token(f"w{k}", tag) for k in range(4)), root, "1")
        assert comes_back_or_is_refused(tree, format)


@pytest.mark.parametrize("format", ["penn", "psd"])
@pytest.mark.parametrize("label", ["--", "-X-"])
def test_a_phrase_keeps_its_place_whatever_its_label(format, label):
    crossing = Node("ROOT", [Node("A", [0, Node(label, [2])]), Node("B", [1, 3])])
    assert comes_back_or_is_refused(Tree(tuple(Token(f"w{k}", "N") for k in range(4)), crossing, "1"), format)


@pytest.mark.parametrize(
    ("format", "token"),
    [
        ("penn", Token("a b", "N")),
        ("penn", Token("", "N")),
        ("penn", Token("a", "N N")),
        ("psd", Token("a\nb", "N")),
        ("psd", Token("*pro*", "N")),
    ],
)
def test_what_brackets_cannot_hold_is_refused(format, token, tmp_path):
    with pytest.raises(TreebankError):
        write([Tree((token,), Node("ROOT", [0]), "1")], tmp_path / "x", format)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("format", "tag"), [("penn", "-NONE-"), ("psd", "CODE"), ("psd", "LB")])
def test_a_word_does_not_disappear_because_of_its_tag(format, tag):
    assert comes_back_or_is_refused(Tree((Token("a", tag), Token("b", "N")), Node("ROOT", [0, 1]), "1"), format)


@pytest.mark.parametrize("format", ["penn", "psd"])
@pytest.mark.parametrize("raised", [False, True])
def test_words_and_tags_with_brackets_come_back(format, raised):
    """The tag $( of German treebanks came back as $-LRB-, which is not known as punctuation."""
    tokens = (Token("(", "$("), Token("a)", "N"), Token(")", "$("), Token("b", "N(x)"))
    root = Node("ROOT", [Node("X", [0, 2]), 1, 3] if raised else [Node("X", [0, 1]), 2, 3])
    tree = Tree(tokens, root, "7")
    lines = written([tree, tree], format)
    assert parsed(lines, format) == [tree, tree]
    assert lines.count("; brackets = -LRB- -RRB-\n") == 2
    assert "$-LRB-" in lines


def test_a_tree_with_brackets_and_their_codes_is_refused():
    tree = Tree((Token("(", "$("), Token("-LRB-", "N")), Node("ROOT", [0, 1]), "1")
    with pytest.raises(TreebankError, match="penn cannot represent the text '-LRB-'"):
        written([tree], "penn")


def test_a_file_with_other_trees_keeps_its_codes():
    text = "; brackets = -LRB- -RRB-\n( (S ($-LRB- -LRB-)))\n( (S (-LRB- -LRB-)))\n"
    assert [tree.tokens for tree in parsed(text, "penn")] == [(Token("(", "$("),), (Token("-LRB-", "-LRB-"),)]


def test_psd_keeps_lemmas_and_hyphens():
    tree = Tree(
        (Token("Gull-Anna", "N", "gull-anna"), Token("-", "-"), Token("0", "N", "0")), Node("ROOT", [0, 1, 2]), "1"
    )
    assert through("psd", tree) == tree


# Escapes in words


def test_a_backslash_escapes_slashes_and_asterisks_in_penn():
    (tree,) = parsed("( (NP (CD 1\\/2) (SYM \\*\\*) (NN a\\b) (NN and/or)))", "penn")
    assert tree.words == ("1/2", "**", "a\\b", "and/or")
    assert written([tree], "penn").strip().endswith("( (NP (CD 1/2) (SYM **) (NN a\\b) (NN and/or)))")


def test_only_what_would_be_unescaped_is_escaped():
    tree = Tree((Token("\\/", "N"), Token("a\\\\*", "N")), Node("ROOT", [0, 1]), "1")
    assert written([tree], "penn") == "( (N \\\\/) (N a\\\\\\*))\n"
    assert through("penn", tree) == tree


def test_psd_has_names_for_characters():
    leaves = (
        "(A Efra<dash/>Fossi-efri<dash/>foss) (, <dash/>) (N $<percent/>-prósent) (N m<slash>s-ms) (N 1<closeparen/>)"
    )
    (tree,) = parsed(f"( (IP {leaves}) (ID T,.1))", "psd")
    assert tree.words == ("Efra-Fossi", "-", "$%", "m/s", "1)")
    assert [token.lemma for token in tree.tokens] == ["efri-foss", None, "prósent", "ms", None]
    assert through("psd", tree) == tree


def test_a_psd_word_that_looks_like_a_name_is_written_with_another():
    tree = Tree((Token("<dash>", "N", "<lt/>"), Token("<P_1>", "N")), Node("ROOT", [0, 1]), "1")
    assert "(N <lt/>dash>-<lt/>lt/>) (N <P_1>)" in written([tree], "psd")
    assert through("psd", tree) == tree
