import random

import pytest
from support.helpers import MARK, TWO, assert_broken, brackets_of, parsed, through, tree_of, words, written
from support.mutants import mutate
from support.strategies import random_tree

from discotree import Node, SecondaryEdge, Token, Tree, TreebankError, read, write
from discotree.treebanks import export

# What the distributed files look like


def test_negra_format_3_in_latin_1_with_its_tables_and_comments(data):
    one, two, three = read(data / "negra3.export")
    assert brackets_of([one, two, three]) == [
        "(ROOT (S (VP (PP (APPR 0=Über) (NN 1=Bücher)) (ADV 4=gestern) (ADV 5=lange) (VVPP 6=geredet)) "
        "(VAFIN 2=haben) (PPER 3=wir)) ($. 7=.))",
        "(ROOT (CS (S (NE 0=Jörg) (VVFIN 1=kauft) (NN 2=Äpfel)) (KON 3=und) (S (VVFIN 4=ißt) (NN 5=Brot))) ($. 6=.))",
        "(ROOT (PTKANT 0=Nein) ($. 1=!))",
    ]
    assert [tree.id for tree in (one, two, three)] == ["1", "2", "3"]
    assert one.tokens[1] == Token("Bücher", "NN", "--", "Neut.Akk.Pl.*", "NK")
    assert one.comment == "handgemacht, geprüft"
    assert [(node.label, node.function) for node in one.nodes()] == [
        ("ROOT", "--"),
        ("S", "--"),
        ("VP", "OC"),
        ("PP", "OP"),
    ]
    assert two.secondary == (SecondaryEdge("SB", 0, 10),)
    assert [*two.nodes()][10 - len(two)].positions == (4, 5)


def test_export_4_has_lemmas_and_secondary_edges_of_nodes(data):
    first, second, third = read(data / "tiger4.export")
    assert first.tokens[4] == Token("Gärtner", "NN", "Gärtner", "Masc.Dat.Sg", "NK")
    assert (first.id, first.comment) == ("17", "eine Lücke")
    assert second.words == ("Nr.", "#501", ":")
    (edge,) = third.secondary
    nodes = [*third.nodes()]
    assert (edge.label, nodes[edge.child - 5].label, nodes[edge.parent - 5].positions) == ("MO", "AVP", (0, 1))


def test_figure_1_is_there_for_the_demo(data):
    assert brackets_of(read(data / "figure1.export")) == [
        "(ROOT (S (NP (PPER 0=Es) (NP (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)) ($. 4=.))"
    ]


@pytest.mark.parametrize("head", ["", "#FORMAT 3\n", "%% #FORMAT 4\n"])
def test_five_fields_are_format_3(head):
    (tree,) = parsed(f"{head}#BOS 1\na\tN\tm\tSB\t500\tOA\t501\n#500 NP -- OC 501\n#501 S -- -- 0\n#EOS 1\n", "export")
    assert tree.tokens == (Token("a", "N", "--", "m", "SB"),)
    assert tree.secondary == (SecondaryEdge("OA", 0, 2),)


@pytest.mark.parametrize("head", ["", "#FORMAT 4\n", "#FORMAT\n"])
def test_six_fields_are_format_4(head):
    (tree,) = parsed(
        f"{head}#BOS 1\na lem N m SB 500 OA 501\n#500 -- NP -- OC 501\n#501 -- S -- -- 0\n#EOS 1\n", "export"
    )
    assert tree.tokens == (Token("a", "N", "lem", "m", "SB"),)
    assert tree.secondary == (SecondaryEdge("OA", 0, 2),)


def test_windows_line_ends_a_byte_order_mark_and_blank_lines_do_no_harm():
    text = "\ufeff#FORMAT 4\r\n#BOS 1\r\na -- N -- -- 0\r\n\r\n#EOS 1\r\n"
    assert brackets_of(parsed(text, "export")) == ["(ROOT (N 0=a))"]


def test_a_no_break_space_belongs_to_its_word():
    (tree,) = parsed("#BOS 1\n10\u00a0000 -- CARD -- -- 0\n#EOS 1\n", "export")
    assert tree.words == ("10\u00a0000",)


@pytest.mark.parametrize("word", ["%%", "%%%", "%%x"])
def test_two_percent_signs_are_a_word_at_the_start_and_a_comment_at_the_end(word):
    for version, lemma in ((3, ""), (4, "-- ")):
        (tree,) = parsed(f"#FORMAT {version}\n#BOS 1\n{word} {lemma}N -- -- 0 %% a b c\n#EOS 1\n", "export")
        assert tree.tokens == (Token(word, "N"),)


def test_more_than_five_hundred_nodes():
    tree = Tree(words(600), Node("ROOT", [Node("X", [k]) for k in range(600)]), "1")
    assert "\n#1099\t" in written([tree], "export")
    assert through("export", tree) == tree


def test_a_word_that_looks_like_a_node_stays_a_word():
    tree = tree_of("(ROOT (NP (N 0=#500) (N 1=#502)) (N 2=#501) (N 3=#1234567))", "1")
    text = written([tree], "export")
    assert "\n#503\t" in text
    assert parsed(text, "export") == [tree]


@pytest.mark.parametrize("word", ["#BOSS", "#EOS1", "#BOS_", "#FORMAT", "#BOT"])
def test_a_hashtag_is_a_word_like_any_other(word):
    tree = Tree((Token(word, "N"), Token("b", "N")), Node("ROOT", [0, 1]), "1")
    assert through("export", tree) == tree


# Encodings


def test_a_latin_1_file_is_recognised(data):
    raw = (data / "negra3.export").read_bytes()
    with pytest.raises(UnicodeDecodeError):
        raw.decode("utf-8")
    assert list(read(data / "negra3.export")) == list(read(data / "negra3.export", encoding="latin-1"))


def test_utf_8_wins_where_a_file_is_utf_8(file):
    path = file("u.export", "#BOS 1\nÄpfel -- N -- -- 0\n#EOS 1\n")
    assert next(read(path)).words == ("Äpfel",)


def test_latin_1_read_as_utf_8_on_demand_is_an_error_with_its_line(data):
    path = data / "negra3.export"
    lines = path.read_bytes().splitlines()
    first = next(k for k, line in enumerate(lines, 1) if line.startswith(b"#BOS") and not line.isascii())
    with pytest.raises(
        TreebankError, match="byte 0xfc is not utf-8; it looks like Windows-1252; use --encoding cp1252"
    ) as caught:
        list(read(path, encoding="utf-8"))
    assert (caught.value.path, caught.value.line) == (str(path), first)


def test_a_file_that_begins_in_utf_8_stays_utf_8(file):
    path = file("mixed.export", "#BOS 1\nÄ -- N -- -- 0\n#EOS 1\n".encode() + b"#BOS 2\n\xc4 -- N -- -- 0\n#EOS 2\n")
    trees = read(path)
    assert next(trees).words == ("Ä",)
    with pytest.raises(TreebankError, match="byte 0xc4 is not utf-8") as caught:
        next(trees)
    assert caught.value.line == 5


# Broken sentences

GOOD = "#BOS {0}\na\t--\tN\t--\t--\t500\n#500\t--\tNP\t--\t--\t0\n#EOS {0}\n"


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        pytest.param(
            "#BOS 2\n◀a -- N -- -- 501\n#500 -- X -- -- 0\n#EOS 2\n", "'a' has the unknown parent '501'", id="dangling"
        ),
        pytest.param(
            "#BOS 2\na -- N -- -- 500\n◀#500 -- X -- -- 7\n#EOS 2\n", "'#500' has the unknown parent '7'", id="node"
        ),
        pytest.param("#BOS 2\n◀a -- N -- -- top\n#EOS 2\n", "has the unknown parent 'top'", id="no number"),
        pytest.param(
            "#BOS 2\na -- N -- -- 500\n◀#500 -- X -- -- 501\n#501 -- Y -- -- 500\n#EOS 2\n",
            "part of a cycle",
            id="cycle",
        ),
        pytest.param("#BOS 2\na -- N -- -- 500\n◀#500 -- X -- -- 500\n#EOS 2\n", "part of a cycle", id="own parent"),
        pytest.param(
            "#BOS 2\na -- N -- -- 500\n#500 -- X -- -- 0\n◀#500 -- Y -- -- 0\n#EOS 2\n",
            "node #500 is defined twice, first on line 8",
            id="duplicate",
        ),
        pytest.param(
            "#BOS 2\na -- N -- -- 500\n#500 -- X -- -- 0\n◀#501 -- Y -- -- 0\n#EOS 2\n",
            "'Y' has no children",
            id="childless",
        ),
        pytest.param("◀#BOS 2\n#EOS 2\n", "the sentence has no words", id="no words"),
        pytest.param(
            "#BOS 2\na -- N -- -- 500\n#500 -- X -- -- 0\n◀b -- N -- -- 500\n#EOS 2\n",
            "'b' comes after the first node",
            id="late",
        ),
        pytest.param("#BOS 2\n◀a N -- 0\n#EOS 2\n", r"expected 5 fields \(format 3\) or 6 \(format 4\)", id="4 fields"),
        pytest.param("#BOS 2\n◀a -- N -- -- 0 SB\n#EOS 2\n", "expected 5 fields", id="half an edge"),
        pytest.param(
            "#BOS 2\n◀a -- N -- -- 0 SB 777\n#EOS 2\n", "secondary edge leads to the unknown node '777'", id="secondary"
        ),
        pytest.param("◀#BOS 2\na -- N -- -- 0\n#EOS 9\n", "#BOS '2' is closed by '#EOS 9'", id="wrong end"),
        pytest.param("◀#BOS 2\na -- N -- -- 0\n", "no #EOS before the next #BOS on line 8", id="no end"),
    ],
)
def test_a_broken_sentence_is_refused_with_its_line_and_can_be_skipped(tmp_path, sentence, message):
    content = "#FORMAT 4\n" + GOOD.format(1) + sentence + GOOD.format(3)
    assert_broken(tmp_path / "broken.export", content, message, ["1", "3"])


@pytest.mark.parametrize("character", ["\v", "\f", "\x1c", "\x85", "\u2028"])
def test_characters_that_only_python_takes_for_spaces_cause_no_other_error(tmp_path, character):
    for row in (f"a{character}-- N -- -- 500", f"a -- N --{character}X 500"):
        (tmp_path / "odd.export").write_text(f"#FORMAT 4\n#BOS 1\n{row}\n#EOS 1\n", "utf-8", newline="")
        with pytest.raises(TreebankError):
            list(read(tmp_path / "odd.export"))


def test_a_truncated_file_is_refused_at_the_sentence_that_is_cut(tmp_path):
    for cut in ("a\t--\tN\t-", "a\t--\tN\t--\t--\t500\n#500\t--", ""):
        content = GOOD.format(1) + f"{MARK}#BOS 2\n" + cut
        assert_broken(tmp_path / "cut.export", content, "expected #EOS before the end of the file", ["1"])


# Writing


def test_what_is_written_to_the_character():
    tree = tree_of("(ROOT (NP (D 0=das) (N 2=Haus)) (V 1=hat))", "7")
    assert written([tree], "export") == (
        "#FORMAT 4\n#BOS 7\n"
        "das\t--\tD\t--\t--\t500\nhat\t--\tV\t--\t--\t0\nHaus\t--\tN\t--\t--\t500\n"
        "#500\t--\tNP\t--\t--\t0\n#EOS 7\n"
    )
    assert written([tree], "export3").startswith("#FORMAT 3\n#BOS 7\ndas\tD\t--\t--\t500\n")


def test_format_3_has_no_lemmas(data):
    (tree,) = read(data / "figure1.export")
    bare = [token._replace(lemma="--") for token in tree.tokens]
    assert list(through("export3", tree).tokens) == bare


def test_lemmas_of_several_words_are_joined():
    tree = Tree((Token("a", lemma="in spite of"),), Node("ROOT", [0]), "1")
    assert through("export", tree).tokens[0].lemma == "in_spite_of"


def test_comments_survive(data):
    for name in ("negra3.export", "tiger4.export"):
        for tree in read(data / name):
            assert through("export", tree).comment == tree.comment


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\nb", "a\rb"])
def test_words_with_spaces_are_refused(word, tmp_path):
    tree = Tree((Token(word),), Node("ROOT", [0]), "7")
    with pytest.raises(TreebankError, match=r"sentence 7: export cannot represent"):
        write([tree], tmp_path / "x.export")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r", "\v", "\x1c"])
def test_other_fields_with_spaces_are_refused(space):
    text = f"a{space}b"
    refused = {
        "tag": Tree((Token("w", text),), Node("ROOT", [0]), "7"),
        "morphology": Tree((Token("w", morph=text),), Node("ROOT", [0]), "7"),
        "function": Tree((Token("w", function=text),), Node("ROOT", [0]), "7"),
        "label": Tree((Token("w"),), Node("ROOT", [Node(text, [0])]), "7"),
        "secondary edge": Tree((Token("w"),), Node("ROOT", [0]), "7", secondary=(SecondaryEdge(text, 0, 1),)),
    }
    if space != " ":
        refused["lemma"] = Tree((Token("w", lemma=text),), Node("ROOT", [0]), "7")
    for what, tree in refused.items():
        with pytest.raises(TreebankError, match=f"sentence 7: export cannot represent the {what}"):
            written([tree], "export")


@pytest.mark.parametrize("comment", ["a\tb", "a %% b", "a\nb", " a", "a\r"])
def test_comments_come_back_or_are_refused(comment):
    assert comes_back_or_is_refused(Tree((Token("w"),), Node("ROOT", [0]), "7", comment=comment))


def comes_back_or_is_refused(tree):
    try:
        text = written([tree], "export")
    except TreebankError:
        return True
    return parsed(text, "export") == [tree]


@pytest.mark.parametrize("identity", ["a b", "a\nb", "a%%b", "%%", "a\u00a0b", "\x1c"])
def test_ids_that_would_not_come_back_are_refused(identity):
    assert comes_back_or_is_refused(tree_of("(ROOT (N 0=a))", identity))


@pytest.mark.parametrize("word", ["#BOS", "#EOS", "a\x1cb"])
def test_words_that_would_not_come_back_are_refused(word):
    assert comes_back_or_is_refused(Tree((Token(word, "N"), Token("b", "N")), Node("ROOT", [0, 1]), "1"))


# Secondary edges of the root


def test_secondary_edges_of_the_root_stand_before_the_sentence():
    edges = (SecondaryEdge("A", 1, 1), SecondaryEdge("B\u00a0C", 1, 2), SecondaryEdge("D", 0, 1))
    tree = Tree((Token("a", "N"),), Node("ROOT", [Node("NP", [0])]), "7", edges)
    text = written([tree, TWO, tree], "export")
    assert "%% #0\tA\t0\tB\u00a0C\t500\n#BOS 7\n" in text
    assert [sorted(again.secondary) for again in parsed(text, "export")] == [sorted(edges), [], sorted(edges)]


def test_broken_secondary_edges_of_the_root_are_errors_with_a_line():
    sentence = "#BOS 1\na\t--\tN\t--\t--\t0\n#EOS 1\n"
    for line, message in (
        ("%% #0\tA\n", "expected labels and parents"),
        ("%% #0\tA\t500\n", "leads to the unknown node '500'"),
    ):
        errors = []
        assert len(parsed(line + sentence + sentence, "export", errors.append)) == 1
        assert message in str(errors[0])
        assert errors[0].line == 2


def test_secondary_edges_of_a_root_go_with_its_own_sentence():
    errors = []
    text = "%% #0\tA\t0\n#BOS 1\n#BOS 2\na\t--\tN\t--\t--\t0\n#EOS 2\n"
    (tree,) = parsed(text, "export", errors.append)
    assert (tree.id, tree.secondary, len(errors)) == ("2", (), 1)


@pytest.mark.parametrize("format", ["export", pytest.param("export3", marks=pytest.mark.slow)])
def test_sentences_that_are_split_into_columns_are_read_as_line_by_line(format, file, monkeypatch):
    rng = random.Random(format)
    tokens = (
        b"#500",
        b"#501",
        b"0",
        b"500",
        b"\t",
        b" ",
        b"\n",
        b"%%",
        b"%% x",
        b"--",
        b"\xc2\xa0",
        b"\x1f",
        b"\0",
        b"#a",
    )

    def outcome(path):
        trees, errors = [], []
        try:
            trees += [(tree, tree.comment, tree.secondary) for tree in read(path, on_error=errors.append)]
        except TreebankError as error:  # nothing in the file looks like a tree
            errors.append(error)
        return trees, list(map(str, errors))

    columns, in_columns = export._plain_tree, 0
    for _ in range(400):
        trees = [random_tree(rng, rng.randrange(1, 9)) for _ in range(2)]
        path = file("x.export", "")
        write(trees, path, format)
        if rng.random() < 0.9:
            path.write_bytes(mutate(rng, path.read_bytes(), tokens))
        monkeypatch.setattr(export, "_plain_tree", columns)
        found = outcome(path)
        in_columns += len(found[0])
        monkeypatch.setattr(export, "_plain_tree", lambda *_: None)
        assert outcome(path) == found, path.read_bytes()
    assert in_columns > 300
