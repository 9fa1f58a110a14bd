"""The parser: from words to trees, with their functions and confidences."""

import dataclasses
import math
import pickle
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support.assembly import Prediction, assembled, built, confidences, with_functions
from support.networks import CALM, TREES, overfitted, parser_of, torch_parser

from discotree import Dependencies, Token, to_dependencies, to_tree
from discotree.config.schema import AUXILIARY_HEADS, Decoding
from discotree.decoding.k_best import k_best
from discotree.encoding.head_rules import HeadRules
from discotree.encoding.lemmas import LemmaRules
from discotree.errors import ConfigError, InputError, ModelError
from discotree.models.folder import Model
from discotree.network.batch import Corpus
from discotree.network.vocab import head_functions, top_functions
from discotree.parsing.parser import Parser, load
from discotree.trees.tree import NONE, Node, Tree

WORDS = [[Token(token.form) for token in tree.tokens] for tree in TREES]
METHODS = [Decoding("greedy"), Decoding("beam"), Decoding("exact"), Decoding("exact", consistent=True)]


@pytest.fixture(scope="module")
def model():
    """The folder of a model that knows the trees by heart."""
    return overfitted()[0] / "run" / "model"


@pytest.fixture(scope="module")
def parser(model):
    return Parser.from_pretrained(model)


@pytest.fixture(scope="module", params=["onnx", "onnx-float32", "torch"])
def engine(request, model):
    """The same on every engine."""
    return Parser.from_pretrained(model, "cpu", engine=request.param)


@pytest.fixture(scope="module")
def untrained():
    """A network that knows nothing: its trees are as odd as they come."""
    model = parser_of(network=CALM).model
    rng = np.random.default_rng(5)
    weights = {name: rng.normal(size=weight.shape).astype(np.float32) for name, weight in model.weights.items()}
    return torch_parser(dataclasses.replace(model, weights=weights))


# Words in, trees out


def test_trees_come_in_the_order_of_the_sentences(parser):
    order = list(range(20))
    random.Random(0).shuffle(order)
    trees = parser._parse_tokens([WORDS[k] for k in order], ids=[f"id{k}" for k in order])
    assert [tree.words for tree in trees] == [TREES[k].words for k in order]
    assert [tree.id for tree in trees] == [f"id{k}" for k in order]
    assert [tree.root for tree in trees] == [parser._parse_tokens([WORDS[k]])[0].root for k in order]
    assert len({len(tree) for tree in trees}) > 4


def test_a_sentence_is_parsed_the_same_alone_and_among_fifty(engine):
    sentences = [WORDS[k % 20] for k in range(50)]
    together = engine._parse_tokens(sentences)
    for tree, sentence in zip(together[:20], sentences, strict=False):
        (alone,) = engine._parse_tokens([sentence])
        assert alone == tree
        assert alone.confidence == pytest.approx(tree.confidence, rel=1e-3)
        assert alone.confidences == pytest.approx(tree.confidences, rel=1e-3)
    assert together[20:40] == together[:20]


def test_every_engine_finds_the_same_trees(parser, engine):
    for tree, expected in zip(engine._parse_tokens(WORDS), parser._parse_tokens(WORDS), strict=True):
        assert tree == expected
        assert tree.confidence == pytest.approx(expected.confidence, rel=0.2, abs=0.02)


def test_scores_do_not_depend_on_how_many_sentences_are_scored_together(engine):
    corpus = Corpus(WORDS, engine._forms())
    found = {}
    for words in (1, 30, 4000):
        for numbers, scores in engine._scores(corpus, words):
            for row, number in enumerate(numbers.tolist()):
                n = len(WORDS[number])
                found.setdefault(number, []).append(scores.arcs[row, :n, : n + 1])
    assert set(found) == set(range(20))
    for one, *others in found.values():
        assert len(others) == 2
        for other in others:
            np.testing.assert_allclose(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_every_way_of_decoding_gives_trees_over_the_words(untrained, settings):
    for tree, words in zip(untrained._parse_tokens(WORDS, decoding=settings), WORDS, strict=True):
        assert tree.words == tuple(token.form for token in words)


def test_what_the_configuration_says_about_decoding_is_done(untrained):
    ways = [untrained._parse_tokens(WORDS, decoding=settings) for settings in METHODS]
    assert len({tuple(tree.root for tree in trees) for trees in ways}) > 1
    assert untrained.config.decoding == Decoding()
    assert untrained._parse_tokens(WORDS) == ways[2]


@pytest.mark.parametrize("form", ["Hund", "Yeti", "☃", "x" * 1000, " ", "\0", "\ud800"])
def test_one_word_is_a_sentence(parser, untrained, form):
    for which in (parser, untrained):
        (tree,) = which._parse_tokens([[Token(form)]])
        assert tree.words == (form,)
        assert tree.root.label == "ROOT"
        assert 0 < tree.confidence <= 1


def test_unknown_words_are_parsed(parser):
    (tree,) = parser._parse_tokens([[Token(form) for form in ("Yetis", "haben", "☃☃", "gejagt", "!?")]])
    assert len(tree) == 5
    assert all(token.tag in parser.vocab.outputs["tag"].ids for token in tree.tokens)


def test_no_sentences_are_no_trees(parser):
    assert parser._parse_tokens([]) == []


def test_a_sentence_without_words_is_named(parser):
    with pytest.raises(InputError, match="sentence 2 has no words"):
        parser._parse_tokens([WORDS[0], []])
    with pytest.raises(InputError, match="sentence 1 has no words"):
        parser._parse_tokens([[]])


# Tags


def tagged(tag):
    """Return all sentences, every word with this tag."""
    return [[token._replace(tag=tag) for token in words] for words in WORDS]


def test_a_model_that_looks_at_tags_must_be_given_them():
    parser = parser_of(tags="gold")
    gold = [tree.tokens for tree in TREES]
    with pytest.raises(InputError, match="sentence 1 has no tags, and this model reads tags"):
        parser._parse_tokens(WORDS)
    with pytest.raises(InputError, match="sentence 3 has no tags"):
        parser._parse_tokens([gold[0], gold[1], WORDS[2]])
    with pytest.raises(InputError, match="the sentence has no tags"):
        parser.k_best(WORDS[0], 2)
    assert parser._parse_tokens([]) == []
    given = parser._parse_tokens(gold)
    others = parser._parse_tokens(tagged("NN"))
    assert [tree.confidence for tree in given] != [tree.confidence for tree in others]
    assert len(parser._parse_tokens(tagged("unheard of"))) == len(TREES)
    gold[0] = (gold[0][0]._replace(tag=NONE), *gold[0][1:])
    assert len(parser._parse_tokens(gold[:1])) == 1, "a single word may have an unknown tag"


def test_no_tag_is_a_tag_where_training_had_it():
    trees = [dataclasses.replace(tree, tokens=[token._replace(tag=NONE) for token in tree.tokens]) for tree in TREES]
    assert len(parser_of([*TREES, *trees], tags="gold")._parse_tokens(WORDS)) == len(WORDS)


def test_tags_that_were_looked_at_come_back():
    parser = parser_of(tags="gold")
    assert "tag" in parser.vocab.outputs
    for tree in parser._parse_tokens(tagged("given")[:3]):
        assert {token.tag for token in tree.tokens} == {"given"}


def test_the_best_trees_differ(parser):
    for words in (WORDS[0][:1], WORDS[0], WORDS[1][:2]):
        trees = parser.k_best(words, 6)
        assert len(set(trees)) == len(trees)
        ((_, scores),) = parser._scores(parser._corpus([words]))
        likely = (parser._tree_builder.trees([words], one, scores)[0] for one in k_best(scores, 24))
        assert trees == list(dict.fromkeys(likely))[: len(trees)]  # the most probable first


def test_a_model_that_does_not_look_at_tags_does_not_care_about_them(parser):
    plain = parser._parse_tokens(WORDS[:3])
    assert parser._parse_tokens(tagged("NN")[:3]) == plain


def test_what_the_parser_does_not_say_about_words_stays_as_it_was():
    tokens = [Token("Der", "T", "der", "M", "F"), Token("Hund", "U", "hund", "N", "G")]
    silent = parser_of(
        network=dataclasses.replace(CALM, **dict.fromkeys([f"{h}_weight" for h in AUXILIARY_HEADS], 0.0))
    )
    (tree,) = silent._parse_tokens([tokens])
    assert tree.tokens == tuple(tokens)
    assert {node.function for node in tree.nodes()} == {NONE}
    talkative = parser_of()
    (tree,) = talkative._parse_tokens([tokens])
    assert [token.lemma for token in tree.tokens] == ["der", "hund"]
    assert {token.tag for token in tree.tokens} <= set(talkative.vocab.outputs["tag"].symbols)
    assert {token.morph for token in tree.tokens} <= {"Sg", "Pl"}


def lemmatised(trees):
    """Trees with lower-cased words as lemmas."""
    return [
        dataclasses.replace(tree, tokens=tuple(token._replace(lemma=token.form.lower()) for token in tree.tokens))
        for tree in trees
    ]


def test_a_parser_for_trees_with_lemmas_predicts_lemmas(tmp_path):
    parser = parser_of(lemmatised(TREES))
    found = [token.lemma for tree in parser.parse(WORDS) for token in tree.tokens]
    assert found == [token.form.lower() for words in WORDS for token in words]
    parser.save_pretrained(tmp_path / "model")
    assert load(tmp_path / "model").vocab.lemmas == parser.vocab.lemmas
    given = [token._replace(lemma="x") for token in WORDS[0]]
    assert [token.lemma for token in parser(given).tokens] == found[: len(given)]


def test_lemmas_change_nothing_else(untrained):
    rules = LemmaRules.learn([to_dependencies(tree, "negra") for tree in lemmatised(TREES)], untrained.vocab.words.ids)
    vocab = dataclasses.replace(untrained.vocab, lemmas=rules)
    with_lemmas = torch_parser(dataclasses.replace(untrained.model, vocab=vocab))
    for plain, tree in zip(untrained.parse(WORDS), with_lemmas.parse(WORDS), strict=True):
        bare = tuple(token._replace(lemma=None) for token in tree.tokens)
        assert dataclasses.replace(tree, tokens=bare) == plain
        assert tree.confidences == plain.confidences


# Functions


def test_functions_of_gold_dependencies_come_back_from_the_tops_and_the_usual_ones():
    rules = HeadRules.load("negra")
    for tree in TREES:
        encoded = to_dependencies(tree, rules)
        bare = dataclasses.replace(
            encoded, functions=(), tokens=tuple(token._replace(function=NONE) for token in tree.tokens)
        )
        usual = dict(head_functions(encoded))
        assert to_tree(with_functions(bare, top_functions(encoded), usual)) == tree
        nameless = to_tree(with_functions(bare, [NONE] * len(tree), {}))
        assert {node.function for node in nameless.nodes()} == {NONE}
        assert {token.function for token in nameless.tokens} == {None}


def test_functions_of_a_spine():
    tokens = tuple(Token(form, tag) for form, tag in (("a", "A"), ("b", "B"), ("c", "C")))
    tree = Dependencies(tokens, (1, -1, 1), ("VP#1", "ROOT", "S#2"), unaries=("NP", "", "X+Y"))
    usual = {"NP A": "np-a", "VP B": "vp-b", "S VP": "s-vp", "ROOT S": "root-s", "X Y": "x-y"}
    found = to_tree(with_functions(tree, ["top-a", "top-b", "top-c"], usual))
    assert repr(found.root) == "(ROOT (S (VP (NP 0) 1) (X (Y 2))))"
    assert [token.function for token in found.tokens] == ["np-a", "vp-b", None]
    assert [node.function for node in found.nodes()] == [NONE, "root-s", "s-vp", "top-a", "top-c", "x-y"]


# Confidence


def by_definition(tree, decided):
    """Of every node, from the words below it and the arcs between them alone."""
    result = []
    for node in tree.nodes():
        if node is tree.root:  # of every child the one word whose head is not in it
            tops = [
                next(word for word in positions if decided.heads[word] not in positions)
                for positions in [{c} if isinstance(c, int) else set(c.positions) for c in node.children]
            ]
            result.append(math.prod(decided.arc_probabilities[word] for word in tops))
            continue
        while len(node.children) == 1 and not isinstance(node.children[0], int):
            (node,) = node.children
        if len(node.children) == 1:
            result.append(decided.unary_probabilities[node.children[0]])
            continue
        outside = []  # of every child the one word whose head is not in it
        for child in node.children:
            below = {child} if isinstance(child, int) else set(child.positions)
            (word,) = [word for word in below if decided.heads[word] not in below]
            outside.append(word)
        below = set(node.positions)
        (_, *others) = sorted(outside, key=lambda word: decided.heads[word] in below)  # of several heads the leftmost
        result.append(math.prod(decided.arc_probabilities[word] for word in others))
    return tuple(result)


@pytest.mark.parametrize("settings", METHODS, ids=str)
@pytest.mark.parametrize("is_trained", [True, False])
def test_confidences_are_those_of_the_definition(engine, untrained, is_trained, settings):
    parser = engine if is_trained else untrained
    corpus = Corpus(WORDS, parser._forms())
    seen = 0
    for numbers, scores in parser._scores(corpus):
        for row, decided in enumerate(Prediction.for_batch(parser._decode(scores, settings), scores)):
            tree = built(parser._tree_builder, WORDS[numbers[row]], decided)
            assert tree == assembled(WORDS[numbers[row]], decided, parser.vocab)
            assert tree.confidences == pytest.approx(by_definition(tree, decided))
            assert tree.confidences == pytest.approx(confidences(tree, decided))
            assert all(0 < value <= 1 for value in tree.confidences)
            assert len(tree.confidences) == sum(1 for _ in tree.nodes())
            # Those of arcs: with their labels, as the network scores them.
            n = len(tree)
            columns = np.zeros(scores.arcs.shape[:2], np.int64)
            columns[row, :n] = np.array(decided.heads) + 1
            labels = scores.labels_of(columns)[row]
            logs = [
                float(scores.arcs[row, k, decided.heads[k] + 1]) + float(labels[k, decided.labels[k]]) for k in range(n)
            ]
            assert decided.arc_probabilities == pytest.approx([math.exp(value) for value in logs], rel=1e-4)
            inner = tree.confidences[1:] or tree.confidences
            assert tree.confidence == pytest.approx(sum(inner) / len(inner))
            assert 0 < tree.confidence <= 1
            seen += 1
    assert seen == 20


def test_the_confidence_of_a_unary_is_that_of_its_auxiliary_head(parser):
    (tree,) = parser._parse_tokens([WORDS[4]])  # Kinder spielen .
    corpus = Corpus([WORDS[4]], parser._forms())
    ((_, scores),) = parser._scores(corpus)
    nodes = [node.label for node in tree.nodes()]
    assert nodes == ["ROOT", "S", "NP"]
    unary = scores.auxiliary["unary"]
    assert parser.vocab.outputs["unary"][unary.classes[0, 0]] == "NP"
    assert tree.confidences[2] == pytest.approx(math.exp(unary.log_probability[0, 0]))


def test_a_chain_over_a_phrase_has_the_confidence_of_the_phrase(parser):
    (tree,) = parser._parse_tokens([WORDS[5]])  # a CO over an S, and the root over that
    assert [node.label for node in tree.nodes()] == ["ROOT", "CO", "S"]
    assert tree.confidences[1] == tree.confidences[2]


# The input of a caller


def test_trees_stream_in_order_whatever_the_sentences_are_given_as(parser):
    """Reading ahead is bounded by the window, and strings, words, tokens and trees are the same sentence."""
    taken = []

    def source():
        for k, words in enumerate(WORDS):
            taken.append(k)
            forms = [token.form for token in words]
            yield (forms, words, Tree(tuple(words), Node("ROOT", range(len(words))), f"id{k}"))[k % 3]

    trees = parser.parse(source(), window=3)
    assert next(trees).words == tuple(token.form for token in WORDS[0])
    assert taken == [0, 1, 2]
    rest = list(trees)
    assert [tree.words for tree in rest] == [tuple(token.form for token in words) for words in WORDS[1:]]
    assert rest[1].id == "id2"


def test_a_string_is_tokenised_by_the_rules_of_the_language(untrained):
    german = dataclasses.replace(untrained.config, language="de")
    talking = torch_parser(Model.new(german, untrained.vocab))
    assert talking("Kinder spielen.").words == ("Kinder", "spielen", ".")
    with pytest.raises(InputError, match="no language"):
        untrained("Kinder spielen.")


def test_a_parser_may_be_called_from_several_threads(parser):
    alone = list(parser.parse(WORDS))
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: list(parser.parse(WORDS)), range(8)):
            assert found == alone


def test_the_best_of_the_best_trees_is_the_tree(parser):
    for words in WORDS[:6]:
        best = parser.k_best(words, 4)
        assert best[0] == parser(words)
        assert best[0].confidence == pytest.approx(parser(words).confidence, rel=1e-4)
        assert all(tree.words == best[0].words for tree in best)
    with pytest.raises(InputError, match="no words"):
        parser.k_best([], 2)


def gaps_of(tree: Tree) -> int:
    return sum(len(node.positions) <= max(node.positions) - min(node.positions) for node in tree.nodes())


def test_a_model_carries_the_prices_of_its_gaps(untrained, tmp_path):
    labels = {node.label for tree in TREES for node in tree.nodes()}
    decoding = Decoding(gap_penalties=dict.fromkeys(labels, 50.0))
    model = dataclasses.replace(untrained.model, config=dataclasses.replace(untrained.config, decoding=decoding))
    torch_parser(model).save_pretrained(tmp_path / "model")
    priced = Parser.from_pretrained(tmp_path / "model", "cpu", engine="torch")
    assert priced.config.decoding == decoding
    free = list(untrained._parse_tokens(WORDS))
    closed = list(priced._parse_tokens(WORDS))
    assert sum(map(gaps_of, closed)) < sum(map(gaps_of, free)) / 2
    assert list(priced._parse_tokens(WORDS, Decoding())) == free
    again = untrained._parse_tokens(WORDS, decoding)
    assert again == closed
    for words, tree, before in zip(WORDS, again, free, strict=True):
        if not gaps_of(before):
            assert tree == before
        best = priced.k_best(words, 3)
        assert best[0] == priced(words)
        assert len(set(best)) == len(best)


@pytest.mark.parametrize("tags", ["none", "gold"])
def test_functions_are_right_without_a_head_for_tags(tags):
    """Tags that the network was given come back with the words; without any, the usual function of a head decides."""
    network = dataclasses.replace(CALM, tag_weight=0.0)
    parser = parser_of(network=network, tags=tags)
    words = [tree.tokens for tree in TREES] if tags == "gold" else WORDS
    gold = [to_dependencies(tree, HeadRules.load("negra")) for tree in TREES]
    for tree, dependencies in zip(parser._parse_tokens(words), gold, strict=True):
        expected = [token.tag if tags == "gold" else NONE for token in dependencies.tokens]
        assert [token.tag for token in tree.tokens] == expected
    heads = {pair for pair in parser.vocab.head_functions if pair.endswith(f" {NONE}")}
    assert heads


@pytest.fixture
def german(untrained):
    return torch_parser(Model.new(dataclasses.replace(untrained.config, language="de"), untrained.vocab))


def test_a_parser_says_what_it_is(untrained, german):
    weights = sum(weight.size for weight in untrained.model.weights.values())
    assert repr(untrained) == f"<Parser '': no language, {weights:,} weights, torch on cpu>"
    assert repr(german) == f"<Parser '': de, {weights:,} weights, torch on cpu>"


def test_trees_are_numbered_where_sentences_have_no_id(parser):
    sentences = [TREES[0], WORDS[1], TREES[2], WORDS[3]]
    assert [tree.id for tree in parser.parse(sentences)] == [TREES[0].id, "2", TREES[2].id, "4"]
    assert [tree.id for tree in parser.parse(sentences, window=1)] == [TREES[0].id, "2", TREES[2].id, "4"]
    assert parser(TREES[0]).id == TREES[0].id
    assert parser(WORDS[1]).id == ""


def test_a_text_is_split_into_sentences(german):
    text = "Kinder spielen. Sie lachen!\n\nEnde"
    trees = list(german.parse_text(text))
    assert [tree.words for tree in trees] == [("Kinder", "spielen", "."), ("Sie", "lachen", "!"), ("Ende",)]
    assert [tree.id for tree in trees] == ["1", "2", "3"]
    assert list(german.parse_text(text, Decoding("greedy"))) == list(
        german.parse([tree.words for tree in trees], Decoding("greedy"))
    )
    assert list(german.parse_text(" \n")) == []


def test_a_text_of_several_sentences_is_not_one_sentence(german):
    for attempt in (german, german.tokens, lambda text: german.k_best(text, 2)):
        with pytest.raises(InputError, match=r"the text has 2 sentences; use parser\.parse_text\(text\)"):
            attempt("Kinder spielen. Sie lachen.")


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (lambda parser: parser(5), r"a sentence is a string, a list of words or Tokens, or a Tree, got 5 \(int\)"),
        (lambda parser: parser(None), r"got None \(NoneType\)"),
        (lambda parser: parser(Token("Hund")), r"got Token\(.* \(Token\)"),
        (lambda parser: parser(["Hund", 5]), r"one of its words is 5 \(int\)"),
        (lambda parser: parser([["Hund"]]), r"one of its words is \['Hund'\] \(list\)"),
        (lambda parser: parser.k_best(5, 2), r"got 5 \(int\)"),
        (lambda parser: parser.parse("Kinder spielen."), r"got 'Kinder spielen.' \(str\); use parser\(sentence\)"),
        (
            lambda parser: parser.parse(TREES[0]),
            r"takes a list of sentences, got .*\(Tree\); use parser\(sent",
        ),
        (lambda parser: parser.parse({"text": ["Ja"]}), r"parse\(\) takes a list of sentences, got .*\(dict\)"),
        (lambda parser: parser.parse(5), r"parse\(\) takes a list of sentences, got 5 \(int\)"),
        (lambda parser: parser.parse_text(["a"]), r"parse_text\(\) takes a string, got \['a'\] \(list\)"),
    ],
)
def test_a_wrong_type_is_refused_with_what_was_expected(german, attempt, complaint):
    with pytest.raises(TypeError, match=complaint):
        attempt(german)


def test_a_model_is_loaded_by_name_or_folder(tmp_path, untrained):
    untrained.save_pretrained(tmp_path / "model")
    for name in (tmp_path / "model", str(tmp_path / "model")):
        again = Parser.from_pretrained(name, "cpu")
        assert again.vocab == untrained.vocab
        assert again.folder == tmp_path / "model"
    with pytest.raises(ModelError, match="there is no model 'klingon'"):
        Parser.from_pretrained("klingon")
    with pytest.raises(ModelError, match="the device 'abacus' cannot be used"):
        Parser.from_pretrained(tmp_path / "model", "abacus")


# A batch survives its worst sentence

COLUMN = ["Kinder spielen. Sie lachen.", None, "Sie lachen.", math.nan, "", "Kinder spielen."]


def test_a_string_in_a_list_is_one_sentence(german):
    (tree,) = german.parse(["Kinder spielen. Sie lachen."])
    assert tree.words == ("Kinder", "spielen", ".", "Sie", "lachen", ".")
    (tree,) = german.parse(["Kinder spielen.\n\nSie lachen."])
    assert len(tree) == 6


def test_trees_before_an_error_are_not_lost_and_the_error_says_which_sentence(german):
    trees = german.parse(COLUMN[2:])
    assert next(trees).words == ("Sie", "lachen", ".")
    with pytest.raises(
        InputError, match=r"^sentences\[1\], 'nan': a sentence is a string, .* got nan \(float\)$"
    ) as raised:
        next(trees)
    assert (raised.value.index, raised.value.text) == (1, "nan")
    with pytest.raises(InputError, match=r"^sentences\[0\], '': the sentence has no words$") as raised:
        list(german.parse([""]))
    assert (raised.value.index, raised.value.text) == (0, "")
    long = ["x" * 100] * 20_000
    with pytest.raises(InputError, match=r"^sentences\[0\], .{,80}: the sentence has 20,000 words, expected") as raised:
        list(german.parse([long]))
    assert raised.value.text == repr(long)
    again = pickle.loads(pickle.dumps(raised.value))
    assert (str(again), again.index) == (str(raised.value), 0)


def test_bad_sentences_of_a_column_are_skipped_or_none(german):
    pandas = pytest.importorskip("pandas")
    for column in (COLUMN, pandas.Series(COLUMN), iter(COLUMN)):
        assert [tree.id for tree in german.parse(column, errors="skip")] == ["1", "3", "6"]
    found = list(german.parse(COLUMN, errors="none", window=2))
    assert [tree and len(tree) for tree in found] == [6, None, 3, None, None, 3]
    with pytest.raises(ConfigError, match=r"^errors: expected raise, skip, none, got 'ignore'$"):
        german.parse(COLUMN, errors="ignore")


def test_progress_shows_a_bar_on_standard_error(german, capsys):
    assert len(list(german.parse(COLUMN, errors="skip", progress=True))) == 3
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "parsing" in shown.err
    assert "100%" in shown.err
    with pytest.raises(InputError) as raised:
        list(german.parse(COLUMN, progress=True))
    assert raised.value.index == 1
    for thread in threading.enumerate():
        if type(thread).__module__.startswith("rich"):
            thread.join(30)  # an error stops the bar, which a thread draws
            assert not thread.is_alive()


# Places in the text


def test_tokens_know_where_they_are_in_the_text(german):
    text = "Kinder  spielen.\n\n  Sie lachen."
    found = list(german.parse_text(text))
    assert len(found) == 2
    found += [german("Sie  lachen."), *german.parse(["Sie  lachen."]), *german.k_best("Sie  lachen.", 1)]
    for tree, source in zip(found, [text, text, *["Sie  lachen."] * 3], strict=True):
        assert [source[token.start : token.end] for token in tree.tokens] == list(tree.words)
        record = tree.to_dict()
        assert [(token["start"], token["end"]) for token in record["tokens"]] == [(t.start, t.end) for t in tree.tokens]
        assert Tree.from_dict(record).to_dict() == record
    assert found[1].tokens[0].start == text.index("Sie")
    (plain,) = german.parse([["Sie", "lachen", "."]])
    assert {(token.start, token.end) for token in plain.tokens} == {(None, None)}
    assert (plain.tokens, plain.root) == (found[2].tokens, found[2].root), "places do not count in comparisons"
    assert "start" not in plain.to_dict()["tokens"][0]


def test_a_parsed_node_knows_its_head(parser):
    for tree in parser.parse(WORDS):
        root, *others = tree
        assert root.head is tree.tokens[tree.heads.index(-1)]
        for node in others:
            assert node.head in node.tokens
            assert tree.text(node) == node.text


# Errors and warnings at once


def test_an_empty_word_is_named(german):
    for attempt in (german, lambda words: german.k_best(words, 2), lambda words: list(german.parse([words]))):
        with pytest.raises(InputError, match="has an empty word at position 1; leave it out"):
            attempt(["Kinder", "", "spielen"])


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_a_number_of_trees_that_makes_no_sense_is_refused(german, k):
    with pytest.raises(InputError, match=rf"^k, the number of trees, must be between 1 and 1,000, got {k}$"):
        german.k_best("Sie lachen.", k)


DUTCH = "Zij heeft het boek gisteren niet gelezen."


@pytest.mark.parametrize(
    "attempt",
    [
        lambda parser: parser(DUTCH),
        lambda parser: parser.k_best(DUTCH, 1),
        lambda parser: list(parser.parse([DUTCH] * 3, window=1)),
        lambda parser: list(parser.parse_text(DUTCH)),
    ],
)
def test_a_text_in_another_language_is_a_warning(german, attempt):
    with pytest.warns(UserWarning, match=r"^this text looks like Dutch; this model is for German$") as warned:
        attempt(german)
    assert len(warned) == 1
    assert warned[0].filename == __file__


# Tab completion


def test_tab_completion_shows_what_users_call(german):
    assert [name for name in dir(german) if not name.startswith("_")] == [
        *("config", "device", "engine", "folder", "from_pretrained", "has_tags", "head_rules", "k_best", "model"),
        *("name", "parse", "parse_text", "push_to_hub", "save_pretrained", "tokens", "vocab"),
    ]


def test_a_model_calls_itself_what_load_calls_it():
    parser = load("nl", "cpu")
    assert parser.name == "nl"
    assert repr(parser).startswith("<Parser 'nl': nl, ")


# Other processes

FORKING = """
import multiprocessing, sys
from discotree.parsing.parser import Parser

parser = Parser.from_pretrained(sys.argv[1], "cpu", engine=sys.argv[2])
sentences = [["Es", "kam", "nichts", "."], ["Er", "kam", "."]] * 50
brackets = [str(tree) for tree in parser.parse(sentences)]

def parse(number):
    return [str(tree) for tree in parser.parse(sentences)] == brackets and parser(sentences[0]) is not None

with multiprocessing.get_context("fork").Pool(2) as pool:
    assert all(pool.map(parse, range(4)))
"""


@pytest.mark.parametrize("name", ["onnx", pytest.param("torch", marks=pytest.mark.slow)])
def test_a_parser_that_has_been_used_works_in_forked_processes(model, name):
    subprocess.run([sys.executable, "-c", FORKING, model, name], check=True, timeout=100)


def test_a_forked_process_does_not_touch_the_gpu_of_its_parent(model, monkeypatch):
    parser = Parser.from_pretrained(model)
    monkeypatch.setattr(type(parser.engine), "device", "cuda")
    monkeypatch.setattr(parser, "_process", 0)  # as in a forked process
    with pytest.raises(ModelError, match="a forked process cannot use the GPU of its parent"):
        parser(["Er", "kam", "."])


def test_a_pickled_parser_reads_its_model_again(parser):
    again = pickle.loads(pickle.dumps(parser))
    assert again._parse_tokens(WORDS[:3]) == parser._parse_tokens(WORDS[:3])
    with pytest.raises(TypeError, match="save it with save_pretrained"):
        pickle.dumps(Parser(dataclasses.replace(parser.model, folder=None), parser.engine))
