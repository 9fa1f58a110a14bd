"""The parser: from words to trees, how sure it is of them, and the folder that holds a model."""

import dataclasses
import json
import math
import pickle
import random
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.assembly import assembled, confidences, with_functions
from support.networks import CALM, TINY, TREES, corpus_for, overfitted, parser_of

from discotree import Dependencies, Token, to_dependencies, to_tree
from discotree.config import DEFAULT, Decoding
from discotree.encoding.head_rules import HeadRules
from discotree.errors import InputError, ModelError
from discotree.models import CONFIG, VOCAB, WEIGHTS
from discotree.models.folder import FORMAT, network_name, read_model, stored_name, write_model
from discotree.models.model import Model
from discotree.network.assemble import Decisions
from discotree.network.batch import Corpus
from discotree.network.model import AUXILIARY_HEADS
from discotree.network.vocab import head_functions, top_functions
from discotree.parsing.parser import Parser
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


@pytest.fixture(scope="module")
def untrained():
    """A network that knows nothing: its trees are as odd as they come."""
    parser = parser_of(network=CALM, seed=5)
    torch.manual_seed(5)
    with torch.no_grad():
        for weight in parser.network.parameters():
            weight.normal_()
    return parser


# Words in, trees out


def test_trees_come_in_the_order_of_the_sentences(parser):
    order = list(range(20))
    random.Random(0).shuffle(order)
    trees = parser.parse_tokens([WORDS[k] for k in order], ids=[f"id{k}" for k in order])
    assert [tree.words for tree in trees] == [TREES[k].words for k in order]
    assert [tree.id for tree in trees] == [f"id{k}" for k in order]
    assert [tree.root for tree in trees] == [parser.parse_tokens([WORDS[k]])[0].root for k in order]
    assert len({len(tree) for tree in trees}) > 4


def test_a_sentence_is_parsed_the_same_alone_and_among_fifty(parser):
    sentences = [WORDS[k % 20] for k in range(50)]
    together = parser.parse_tokens(sentences)
    for tree, sentence in zip(together[:20], sentences, strict=False):
        (alone,) = parser.parse_tokens([sentence])
        assert alone == tree
        assert alone.confidence == pytest.approx(tree.confidence, rel=1e-3)
        assert alone.confidences == pytest.approx(tree.confidences, rel=1e-3)
    assert together[20:40] == together[:20]


def test_scores_do_not_depend_on_how_many_sentences_are_scored_together(parser):
    corpus = Corpus(WORDS, parser.forms())
    found = {}
    for words in (1, 30, 4000):
        for numbers, scores in parser.scores(corpus, words):
            for row, number in enumerate(numbers.tolist()):
                n = len(WORDS[number])
                found.setdefault(number, []).append(scores.arcs[row, :n, : n + 1])
    assert set(found) == set(range(20))
    for one, *others in found.values():
        assert len(others) == 2
        for other in others:
            torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("settings", METHODS, ids=str)
def test_every_way_of_decoding_gives_trees_over_the_words(untrained, settings):
    for tree, words in zip(untrained.parse_tokens(WORDS, decoding=settings), WORDS, strict=True):
        assert tree.words == tuple(token.form for token in words)


def test_what_the_configuration_says_about_decoding_is_done(untrained):
    ways = [untrained.parse_tokens(WORDS, decoding=settings) for settings in METHODS]
    assert len({tuple(tree.root for tree in trees) for trees in ways}) > 1
    assert untrained.config.decoding == Decoding()
    assert untrained.parse_tokens(WORDS) == ways[2]


@pytest.mark.parametrize("form", ["Hund", "Yeti", "☃", "x" * 1000, "", " ", "\0", "\ud800"])
def test_one_word_is_a_sentence(parser, untrained, form):
    for which in (parser, untrained):
        (tree,) = which.parse_tokens([[Token(form)]])
        assert tree.words == (form,)
        assert tree.root.label == "ROOT"
        assert 0 < tree.confidence <= 1


def test_unknown_words_are_parsed(parser):
    (tree,) = parser.parse_tokens([[Token(form) for form in ("Yetis", "haben", "☃☃", "gejagt", "!?")]])
    assert len(tree) == 5
    assert all(token.tag in parser.vocab.outputs["tag"].ids for token in tree.tokens)


def test_no_sentences_are_no_trees(parser):
    assert parser.parse_tokens([]) == []


def test_a_sentence_without_words_is_named(parser):
    with pytest.raises(InputError, match="sentence 2 has no words"):
        parser.parse_tokens([WORDS[0], []])
    with pytest.raises(InputError, match="sentence 1 has no words"):
        parser.parse_tokens([[]])


# Tags


def tagged(tag):
    """Return all sentences, every word with this tag."""
    return [[token._replace(tag=tag) for token in words] for words in WORDS]


def test_a_model_that_looks_at_tags_must_be_given_them():
    parser = parser_of(tags="gold")
    gold = [tree.tokens for tree in TREES]
    with pytest.raises(InputError, match="sentence 1 has no tags, and this model looks at tags"):
        parser.parse_tokens(WORDS)
    with pytest.raises(InputError, match="sentence 3 has no tags"):
        parser.parse_tokens([gold[0], gold[1], WORDS[2]])
    with pytest.raises(InputError, match="the sentence has no tags"):
        parser.k_best(WORDS[0], 2)
    assert parser.parse_tokens([]) == []
    given = parser.parse_tokens(gold)
    others = parser.parse_tokens(tagged("NN"))
    assert [tree.confidence for tree in given] != [tree.confidence for tree in others]
    assert len(parser.parse_tokens(tagged("unheard of"))) == len(TREES)
    gold[0] = (gold[0][0]._replace(tag=NONE), *gold[0][1:])
    assert len(parser.parse_tokens(gold[:1])) == 1, "a single word may have an unknown tag"


def test_no_tag_is_a_tag_where_training_had_it():
    trees = [dataclasses.replace(tree, tokens=[token._replace(tag=NONE) for token in tree.tokens]) for tree in TREES]
    assert len(parser_of([*TREES, *trees], tags="gold").parse_tokens(WORDS)) == len(WORDS)


def test_tags_that_were_looked_at_come_back():
    parser = parser_of(tags="gold")
    assert "tag" in parser.vocab.outputs
    for tree in parser.parse_tokens(tagged("given")[:3]):
        assert {token.tag for token in tree.tokens} == {"given"}


def test_the_best_trees_differ(parser):
    for words in (WORDS[0][:1], WORDS[0], WORDS[1][:2]):
        trees = parser.k_best(words, 6)
        assert len(set(trees)) == len(trees)
        assert [tree.confidence for tree in trees] == sorted((tree.confidence for tree in trees), reverse=True)


def test_a_model_that_does_not_look_at_tags_does_not_care_about_them(parser):
    plain = parser.parse_tokens(WORDS[:3])
    assert parser.parse_tokens(tagged("NN")[:3]) == plain


def test_what_the_parser_does_not_say_about_words_stays_as_it_was():
    tokens = [Token("Der", "T", "der", "M", "F"), Token("Hund", "U", "hund", "N", "G")]
    silent = parser_of(
        network=dataclasses.replace(CALM, **dict.fromkeys([f"{h}_weight" for h in AUXILIARY_HEADS], 0.0))
    )
    (tree,) = silent.parse_tokens([tokens])
    assert tree.tokens == tuple(tokens)
    assert {node.function for node in tree.nodes()} == {NONE}
    talkative = parser_of()
    (tree,) = talkative.parse_tokens([tokens])
    assert [token.lemma for token in tree.tokens] == ["der", "hund"]
    assert {token.tag for token in tree.tokens} <= set(talkative.vocab.outputs["tag"].symbols)
    assert {token.morph for token in tree.tokens} <= {"Sg", "Pl"}


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
        assert {token.function for token in nameless.tokens} == {NONE}


def test_functions_of_a_spine():
    tokens = tuple(Token(form, tag) for form, tag in (("a", "A"), ("b", "B"), ("c", "C")))
    tree = Dependencies(tokens, (1, -1, 1), ("VP#1", "ROOT", "S#2"), unaries=("NP", "", "X+Y"))
    usual = {"NP A": "np-a", "VP B": "vp-b", "S VP": "s-vp", "ROOT S": "root-s", "X Y": "x-y"}
    found = to_tree(with_functions(tree, ["top-a", "top-b", "top-c"], usual))
    assert repr(found.root) == "(ROOT (S (VP (NP 0) 1) (X (Y 2))))"
    assert [token.function for token in found.tokens] == ["np-a", "vp-b", NONE]
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
@pytest.mark.parametrize("which", ["parser", "untrained"])
def test_confidences_are_those_of_the_definition(request, which, settings):
    parser = request.getfixturevalue(which)
    corpus = Corpus(WORDS, parser.forms())
    seen = 0
    for numbers, scores in parser.scores(corpus):
        for row, decided in enumerate(Decisions.of(parser.decode(scores, settings), scores)):
            tree = parser.assembler.tree(WORDS[numbers[row]], decided)
            assert tree == assembled(WORDS[numbers[row]], decided, parser.vocab)
            assert tree.confidences == pytest.approx(by_definition(tree, decided))
            assert tree.confidences == pytest.approx(confidences(tree, decided))
            assert all(0 < value <= 1 for value in tree.confidences)
            assert len(tree.confidences) == sum(1 for _ in tree.nodes())
            # The whole: of all arcs and their labels, as the network scores them, and of the unaries.
            n = len(tree)
            columns = torch.zeros(len(scores), scores.arcs.shape[1], dtype=torch.long)
            columns[row, :n] = torch.tensor(decided.heads) + 1
            with torch.inference_mode():
                labels = scores.labels(columns)[row]
            logs = [
                float(scores.arcs[row, k, decided.heads[k] + 1]) + float(labels[k, decided.labels[k]]) for k in range(n)
            ]
            assert decided.arc_probabilities == pytest.approx([math.exp(value) for value in logs], rel=1e-4)
            whole = math.exp(sum(logs)) * math.prod(decided.unary_probabilities)
            assert tree.confidence == decided.confidence == pytest.approx(whole, rel=1e-3)
            assert 0 < tree.confidence <= 1
            seen += 1
    assert seen == 20


def test_the_confidence_of_a_unary_is_that_of_its_auxiliary_head(parser):
    (tree,) = parser.parse_tokens([WORDS[4]])  # Kinder spielen .
    corpus = Corpus([WORDS[4]], parser.forms())
    ((_, scores),) = parser.scores(corpus)
    nodes = [node.label for node in tree.nodes()]
    assert nodes == ["ROOT", "S", "NP"]
    expected = float(scores.auxiliary["unary"][0, 0].exp()[parser.vocab.outputs["unary"].ids["NP"]])
    assert tree.confidences[2] == pytest.approx(expected)


def test_a_chain_over_a_phrase_is_as_sure_as_the_phrase(parser):
    (tree,) = parser.parse_tokens([WORDS[5]])  # a CO over an S, and the root over that
    assert [node.label for node in tree.nodes()] == ["ROOT", "CO", "S"]
    assert tree.confidences[1] == tree.confidences[2]


# The folder


@pytest.fixture
def folder(model, tmp_path):
    """A copy of the model that may be broken."""
    return shutil.copytree(model, tmp_path / "model")


def refused(folder):
    with pytest.raises(ModelError) as caught:
        read_model(folder)
    message = str(caught.value)
    assert message.startswith(str(folder))
    return message.removeprefix(str(folder))


def test_a_model_comes_back_with_the_same_trees(parser, tmp_path):
    write_model(parser.model, tmp_path / "again")
    again = Parser.from_pretrained(tmp_path / "again")
    assert again.config == parser.config
    assert again.vocab == parser.vocab
    trees = parser.parse_tokens(WORDS)
    found = again.parse_tokens(WORDS)
    assert found == trees
    assert [tree.confidence for tree in found] == [tree.confidence for tree in trees]  # both are of half precision


@pytest.mark.parametrize("tags", ["none", "gold"])
@pytest.mark.parametrize("subwords", ["", DEFAULT.network.subwords])
def test_half_precision_is_all_that_is_lost(tmp_path, tags, subwords):
    parser = parser_of(network=dataclasses.replace(TINY, subwords=subwords), tags=tags)
    write_model(parser.model, tmp_path / "model")
    again = Parser.from_pretrained(tmp_path / "model")
    for name, value in parser.network.state_dict().items():
        found = again.network.state_dict()[name]
        assert found.dtype == torch.float32
        assert torch.equal(found, value.half().float()), name
    assert again.network.encoder.singleton.tolist() == parser.network.encoder.singleton.tolist()
    batch = corpus_for(again).batch(np.arange(20))
    with torch.no_grad():
        one, other = (p.network.eval()(batch) for p in (parser, again))
    torch.testing.assert_close(one.arcs, other.arcs, atol=0.01, rtol=0.01)


def test_a_folder_holds_json_and_safetensors_and_no_pickle(model):
    assert {path.name for path in model.iterdir()} == {CONFIG, VOCAB, WEIGHTS}
    assert json.loads((model / CONFIG).read_text("utf-8"))["format"] == FORMAT
    assert {tensor.dtype for tensor in load_file(model / WEIGHTS).values()} == {torch.float16}
    for path in model.iterdir():
        with pytest.raises((pickle.UnpicklingError, EOFError, KeyError, ValueError, IndexError)):
            pickle.loads(path.read_bytes())
        assert b"torch._utils" not in path.read_bytes()


def test_saving_takes_the_place_of_an_older_model(folder):
    (folder / "left.over").write_text("of another time")
    parser = parser_of(network=TINY)
    write_model(parser.model, folder)
    assert {path.name for path in folder.iterdir()} == {CONFIG, VOCAB, WEIGHTS}
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert Parser.from_pretrained(folder).config.network == TINY


def test_a_model_is_saved_where_no_folder_was(tmp_path):
    write_model(parser_of(network=TINY).model, tmp_path / "a" / "b" / "model")
    assert Parser.from_pretrained(str(tmp_path / "a" / "b" / "model")).config.network == TINY


def test_the_older_model_survives_when_saving_fails(folder, parser, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("discotree.models.folder.save_file", full)
        with pytest.raises(OSError, match="No space left"):
            write_model(parser_of(network=TINY).model, folder)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert Parser.from_pretrained(folder).parse_tokens(WORDS) == parser.parse_tokens(WORDS)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    assert "not a model" in refused(tmp_path)
    assert "not a model" in refused(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    assert "not a model" in refused(tmp_path / "file")


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert name in refused(folder)
    (folder / name).mkdir()
    assert refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\xff\xfe", b"[]", b"{}", b"null", b'"a"', b"[" * 100_000])
def test_a_foreign_file_is_refused(folder, name, content):
    (folder / name).write_bytes(content)
    assert refused(folder)


def change(folder, name, edit):
    table = json.loads((folder / name).read_text("utf-8"))
    edit(table)
    (folder / name).write_text(json.dumps(table), "utf-8")


@pytest.mark.parametrize("format", [FORMAT + 1, 10**6])
def test_a_newer_model_is_refused_with_advice(folder, format):
    change(folder, CONFIG, lambda table: table.update(format=format, config={"unheard": "of"}))
    assert f"made by a newer discotree (format {format}, this one knows {FORMAT}): upgrade it" in refused(folder)


@pytest.mark.parametrize("format", [None, "1", [], 1.5])
def test_a_format_that_is_none_is_refused(folder, format):
    change(folder, CONFIG, lambda table: table.update(format=format))
    assert "not the configuration of a discotree model" in refused(folder)


@pytest.mark.parametrize(
    ("section", "setting", "complaint"),
    [
        ("network", {"lstm_sise": 3}, "unknown key 'lstm_sise'"),
        ("network", {"lstm_size": "3"}, "lstm_size: expected int, got '3'"),
        ("network", {"lstm_size": 3}, "has the shape"),
        ("network", {"lstm_size": 0}, "lstm_size: expected at least 1"),
        ("network", {"lstm_layers": 0}, "lstm_layers: expected at least 1"),
        ("network", {"char_window": -1}, "char_window: expected at least 1"),
        ("network", {"arc_size": 10**9}, "has the shape"),
        ("network", {"label_size": 10**30}, "label_size: expected at least 1"),
        ("network", {"lstm_layers": 2}, "the weights belong to another network"),
        ("network", {"tag_weight": 0.0}, "small.tag.bias does not belong there: the weights belong to another network"),
        ("network", {"subwords": "klingon"}, "subwords: expected one of '', 'latin', got 'klingon'"),
        ("data", {"tags": "gold"}, "encoder.tags.weight is missing: the weights belong to another network"),
        ("data", {"tags": "golden"}, "tags: expected one of 'none', 'gold', 'predicted', got 'golden'"),
        ("decoding", {"method": "guess"}, "method: expected one of 'greedy', 'beam', 'exact', got 'guess'"),
        ("training", {"seed": None}, "seed: expected int, got None"),
        ("training", {"clip": 10**400}, "clip: expected float"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_are_named(folder, section, setting, complaint):
    change(folder, CONFIG, lambda table: table["config"][section].update(setting))
    assert complaint in refused(folder)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda table: table["words"].append("one more"), "encoder.words.weight has the shape"),
        (lambda table: table["words"].pop(), "encoder.words.weight has the shape"),
        (lambda table: table.update(chars=table["chars"][1:]), "encoder.chars.table.weight has the shape"),
        (lambda table: table["labels"].pop(), "label_bilinear has the shape"),
        (lambda table: table.update(labels=[]), "no labels, no root or no classes"),
        (lambda table: table["outputs"]["tag"].pop(), "small.tag.weight has the shape"),
        (lambda table: table["outputs"].pop("tag"), "KeyError('tag')"),
        (lambda table: table["words"].append(table["words"][0]), "stands twice"),
        (lambda table: table.pop("root"), "KeyError('root')"),
        (lambda table: table.update(head_functions=None), "not a vocabulary"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(folder, edit, complaint):
    change(folder, VOCAB, edit)
    assert complaint in refused(folder)


def test_weights_of_another_network_are_refused(folder, tmp_path):
    other = parser_of(network=TINY)
    write_model(other.model, tmp_path / "other")
    shutil.copy(tmp_path / "other" / WEIGHTS, folder / WEIGHTS)
    assert "encoder.lstm.layers.1" in refused(folder)
    weights = load_file(tmp_path / "other" / WEIGHTS)
    save_file({"x": weights["arc_bilinear"]}, folder / WEIGHTS)
    assert "the weights belong to another network" in refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
def test_a_file_that_was_cut_off_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    rng = random.Random(0)
    for size in [0, 1, len(whole) // 2, len(whole) - 3, *(rng.randrange(len(whole) - 3) for _ in range(20))]:
        (folder / name).write_bytes(whole[:size])
        assert refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB])
def test_flipped_bytes_are_a_model_error_or_a_model_that_works(folder, name):
    whole = (folder / name).read_bytes()
    rng = random.Random(1)
    works = 0
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3])):
            broken[rng.randrange(len(broken))] = rng.choice([rng.randrange(256), *b'0123456789"-,[]{}e'])
        (folder / name).write_bytes(broken)
        parser, complaint = None, ""
        try:
            parser = Parser.from_pretrained(folder)
        except ModelError as error:
            complaint = str(error)
        if parser is None:
            assert complaint.startswith(str(folder))
        else:
            works += 1
            assert [tree.words for tree in parser.parse_tokens(WORDS[:3])] == [tree.words for tree in TREES[:3]]
    assert 0 < works < 60


def test_loading_a_vocabulary_of_odd_words(tmp_path):
    """What JSON has to escape comes back through the file, too."""
    odd = ['"', "\\", "\0", "\u2028", "😀", "\n", "e\u0301", "</script>"]
    tree = dataclasses.replace(TREES[1], tokens=tuple(Token(form, "X") for form in odd[: len(TREES[1])]))
    parser = parser_of([tree], TINY)
    write_model(parser.model, tmp_path / "model")
    assert Parser.from_pretrained(tmp_path / "model").vocab == parser.vocab


def test_a_folder_that_is_no_model_is_not_replaced(untrained, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("years of work")
    with pytest.raises(ModelError, match="it is no model: nothing was written"):
        write_model(untrained.model, folder)
    assert (folder / "chapter1.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


# Whatever a sentence is given as


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


def test_a_string_is_cut_by_the_rules_of_the_language(untrained):
    german = dataclasses.replace(untrained.config, language="de")
    talking = Parser(Model.new(german, untrained.vocab))
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
        assert [tree.confidence for tree in best] == sorted((tree.confidence for tree in best), reverse=True)
        assert all(tree.words == best[0].words for tree in best)
    with pytest.raises(InputError, match="no words"):
        parser.k_best([], 2)


@pytest.mark.parametrize("tags", ["none", "gold"])
def test_functions_are_right_without_a_head_for_tags(tags):
    """Tags that the network was given come back with the words; without any, the usual function of a head decides."""
    network = dataclasses.replace(CALM, tag_weight=0.0)
    parser = parser_of(network=network, tags=tags)
    words = [tree.tokens for tree in TREES] if tags == "gold" else WORDS
    gold = [to_dependencies(tree, HeadRules.load("negra")) for tree in TREES]
    for tree, dependencies in zip(parser.parse_tokens(words), gold, strict=True):
        expected = [token.tag if tags == "gold" else NONE for token in dependencies.tokens]
        assert [token.tag for token in tree.tokens] == expected
    heads = {pair for pair in parser.vocab.head_functions if pair.endswith(f" {NONE}")}
    assert heads


# What a caller may give


@pytest.fixture
def german(untrained):
    return Parser(Model.new(dataclasses.replace(untrained.config, language="de"), untrained.vocab))


def test_a_parser_says_what_it_is(untrained, german):
    weights = sum(weight.numel() for weight in untrained.network.parameters())
    assert repr(untrained) == f"<Parser '': no language, {weights:,} weights, on cpu>"
    assert repr(german) == f"<Parser '': de, {weights:,} weights, on cpu>"


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
    for attempt in (german, lambda text: list(german.parse([text])), lambda text: german.k_best(text, 2)):
        with pytest.raises(InputError, match=r"the text has 2 sentences: parser\.parse_text\(text\)"):
            attempt("Kinder spielen. Sie lachen.")


@pytest.mark.parametrize(
    ("attempt", "complaint"),
    [
        (lambda parser: parser(5), r"a sentence is a string, a list of words or Tokens, or a Tree, not 5 \(int\)"),
        (lambda parser: parser(None), r"not None \(NoneType\)"),
        (lambda parser: parser(Token("Hund")), r"not Token\(.* \(Token\)"),
        (lambda parser: parser(["Hund", 5]), r"one of its words is 5 \(int\)"),
        (lambda parser: parser([["Hund"]]), r"one of its words is \['Hund'\] \(list\)"),
        (lambda parser: parser.k_best(5, 2), r"not 5 \(int\)"),
        (lambda parser: parser.parse("Kinder spielen."), r"not 'Kinder spielen.' \(str\): use parser\(sentence\)"),
        (lambda parser: parser.parse(TREES[0]), r"parse takes a list of sentences, not .*\(Tree\): use parser\(sent"),
        (lambda parser: parser.parse(5), r"parse takes a list of sentences, not 5 \(int\)"),
        (lambda parser: list(parser.parse([5])), r"a sentence is a string, .* not 5 \(int\)"),
        (lambda parser: parser.parse_text(["a"]), r"parse_text takes a string, not \['a'\] \(list\)"),
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


def test_weights_keep_the_names_that_files_always_had(tmp_path):
    parser = parser_of(network=TINY)
    write_model(parser.model, tmp_path / "model")
    stored = load_file(tmp_path / "model" / WEIGHTS)
    assert {name for name in stored if "tag.weight" in name} == {"small.tag.weight"}
    assert not any(name.startswith("auxiliary") for name in stored)
    names = list(parser.network.state_dict())
    assert "auxiliary.tag.weight" in names
    assert [network_name(stored_name(name)) for name in names] == names
