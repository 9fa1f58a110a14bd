"""Alphabets: how they are numbered, what the auxiliary heads are taught, and that JSON keeps all of it."""

import dataclasses
import json
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import tree_of
from support.networks import RULES, TREES
from support.strategies import HOLDS, trees

from discotree import Dependencies, HeadRules, Node, Token, Tree, to_dependencies
from discotree.errors import ModelError
from discotree.network.vocab import Alphabet, Vocab, head_functions, normalized, targets, top_functions
from discotree.trees.tree import NONE

HEADS = ("tag", "morph", "function", "unary", "spine")
ENCODED = [to_dependencies(tree, RULES) for tree in TREES]


def encoded(brackets, **options):
    return to_dependencies(tree_of(brackets), HeadRules({}), **options)


# Numbers


def test_alphabets_number_their_symbols_after_the_reserved_ones():
    alphabet = Alphabet(["b", "a"], 2)
    assert (len(alphabet), alphabet.ids, alphabet[2], alphabet[3]) == (4, {"b": 2, "a": 3}, "b", "a")
    assert len(Alphabet([])) == 0
    with pytest.raises(ModelError, match="stands twice"):
        Alphabet(["a", "b", "a"])


def test_an_extended_vocabulary_keeps_all_ids_and_adds_what_is_new():
    """Fine-tuning: rows of weights stay those of their symbols."""
    old, new = (Vocab.build(part, HEADS, [["X"]]) for part in (ENCODED[:8], ENCODED[5:]))
    both = old.extended(new)
    for name in ("words", "chars", "tags", "labels"):
        known, grown, added = (getattr(vocab, name) for vocab in (old, both, new))
        assert grown.ids.items() >= known.ids.items()
        assert set(grown.symbols) == {*known.symbols, *added.symbols}
        assert grown.reserved == known.reserved
    for head in HEADS:
        assert both.outputs[head].ids.items() >= old.outputs[head].ids.items()
    assert both.head_functions.items() >= old.head_functions.items()
    assert old.singletons <= both.singletons
    assert not both.singletons & (set(old.words.symbols) - old.singletons)  # frequent words stay frequent
    assert old.extended(old) == old
    assert set(old.extended(Vocab.build(ENCODED[5:], ("tag",))).outputs) == {"tag"}


def test_words_are_numbered_by_frequency_then_by_alphabet():
    vocab = Vocab.build([encoded("(ROOT (S (N 0=b) (N 1=a) (N 2=c) (N 3=b)))")])
    assert (vocab.words.symbols, vocab.words.ids["b"], vocab.singletons) == (["b", "a", "c"], 1, {"a", "c"})
    assert (vocab.chars.symbols, vocab.chars.ids["a"]) == (["a", "b", "c"], 2)
    assert (vocab.labels.symbols, vocab.labels.ids["S#1"]) == (["S#1", "ROOT"], 0)
    assert (vocab.tags.symbols, vocab.outputs, vocab.head_functions, vocab.root) == ([], {}, {}, "ROOT")


def test_the_vocabulary_does_not_depend_on_the_order_of_the_trees():
    one, other = Vocab.build(ENCODED, HEADS), Vocab.build(ENCODED[::-1], HEADS)
    assert one.to_json() == other.to_json()


def test_digits_are_0_in_words_but_not_in_characters():
    assert [normalized(word) for word in ("1984", "A4-9", "٣", "²", "x")] == ["0000", "A0-0", "0", "²", "x"]
    vocab = Vocab.build([encoded("(ROOT (S (N 0=19) (N 1=84)))")])
    assert (vocab.words.symbols, vocab.singletons) == (["00"], frozenset())
    assert vocab.chars.symbols == ["1", "4", "8", "9"]


def test_further_words_enter_where_a_vector_is_there_and_are_no_singletons():
    tree = encoded("(ROOT (S (N 0=a) (N 1=b)))")
    vocab = Vocab.build([tree], also=["a", "z", "d", "c9", "e"], pretrained=lambda word: word in ("a", "c9", "d"))
    assert vocab.words.symbols == ["a", "b", "c0", "d"]
    assert vocab.singletons == {"a", "b"}
    assert vocab.chars.symbols == ["a", "b"]


def test_tags_as_input_are_those_that_were_given():
    vocab = Vocab.build(ENCODED, HEADS, [["V", "N"], ["A"]])
    assert vocab.tags.symbols == ["A", "N", "V"]
    assert set(vocab.outputs["tag"].symbols) == {token.tag for tree in TREES for token in tree.tokens}


def test_levels_are_those_of_the_labels():
    vocab = Vocab.build(ENCODED)
    assert vocab.levels == [int(label.partition("#")[2] or 1) for label in vocab.labels.symbols]
    assert max(vocab.levels) > 1


def test_the_root_is_the_most_frequent_one():
    roots = [encoded(f"({root} (S (N 0=a) (N 1=b)))") for root in ("ROOT", "TOP", "TOP")]
    assert Vocab.build(roots).root == "TOP"


# What the auxiliary heads learn


def test_targets_of_every_auxiliary_head():
    tree = tree_of("(ROOT (S (NP (NN 0=a)) (VP (VB 1=b) (NP (X (NN 2=c)))) (PU 3=.)))")
    tokens = tuple(token._replace(morph=f"m{k}", function=f"f{k}") for k, token in enumerate(tree.tokens))
    tree = to_dependencies(dataclasses.replace(tree, tokens=tokens), HeadRules({}))
    assert targets(tree, "tag") == ["NN", "VB", "NN", "PU"]
    assert targets(tree, "morph") == ["m0", "m1", "m2", "m3"]
    assert list(targets(tree, "unary")) == ["NP", "", "NP+X", ""]
    assert targets(tree, "spine") == ["NP S ROOT", "VP", "X NP", ""]
    assert targets(tree, "function") == [NONE, NONE, NONE, "f3"]  # of phrases, where a word heads one
    with pytest.raises(ModelError, match="unknown auxiliary head 'colour'"):
        targets(tree, "colour")


def test_targets_of_bare_dependencies_have_one_for_every_word():
    tree = Dependencies((Token("a", function="x"), Token("b")), (-1, 0), ("ROOT", "S#1"))
    assert [list(targets(tree, head)) for head in ("unary", "function")] == [["", ""], ["x", NONE]]
    assert list(head_functions(tree)) == [("S --", "x"), ("ROOT S", NONE)]


def test_top_functions_are_those_of_the_largest_phrase():
    inner = Node("S", [Node("VP", [Node("NP", [0], "in"), 1], "mid")], "out")
    tokens = (Token("a", function="a"), Token("b", function="b"), Token("c", function="c"))
    tree = Tree(tokens, Node("ROOT", [inner, Node("X", [2], "right")], "top"))
    assert top_functions(to_dependencies(tree, HeadRules({}))) == ["top", "b", "right"]


def by_definition(tree, rules):
    """For every head child of a tree: parent and child, and its function; and the function of every other child."""
    heads, others = [], []
    for node in tree.nodes():
        chosen = rules.head_child(node, tree.tokens)
        for k, child in enumerate(node.children):
            word = isinstance(child, int)
            token = tree.tokens[child] if word else None
            label, function = (token.tag, token.function or NONE) if word else (child.label, child.function)
            if k == chosen:
                heads.append((f"{node.label} {label}", function))
            else:
                others.append(function)
    return heads, others


@given(trees(HOLDS["conllu"]))
def test_functions_of_head_children_and_of_the_others_are_all_functions_there_are(tree):
    dependencies = to_dependencies(tree, RULES)
    heads, others = by_definition(tree, RULES)
    assert Counter(head_functions(dependencies)) == Counter(heads)
    assert Counter(top_functions(dependencies)) == Counter([*others, tree.root.function])


def test_head_functions_of_the_vocabulary_are_the_most_frequent_ones():
    pairs = defaultdict(Counter)
    for tree in TREES:
        for pair, function in by_definition(tree, RULES)[0]:
            pairs[pair][function] += 1
    expected = {pair: min(counts, key=lambda f: (-counts[f], f)) for pair, counts in pairs.items()}
    found = Vocab.build(ENCODED, HEADS).head_functions
    assert {pair: function for pair, function in found.items() if not pair.endswith(f" {NONE}")} == expected
    assert found["VP --"] == "HD"  # where a word's tag is not known
    assert len(set(expected.values())) > 3
    assert Vocab.build(ENCODED, ["tag"]).head_functions == {}


# JSON


def test_a_vocabulary_comes_back_from_json():
    vocab = Vocab.build(ENCODED, HEADS, [["N"]], ["zu", "Zeppelin"], lambda _: True)
    again = Vocab.from_json(vocab.to_json(), "here")
    assert again == vocab
    assert list(again.outputs) == list(HEADS)


odd = st.text(st.characters(), max_size=4) | st.sampled_from(
    ['"', "\\", "\0", "\ud83d", "\ude00", "\ud83d\ude00", "😀", "\u2028", "", " ", "é", "e\u0301", "</s>"]
)
symbols = st.lists(odd, min_size=1, max_size=5, unique=True)


@given(
    symbols,
    st.sets(st.characters(), max_size=5),
    symbols,
    symbols,
    st.dictionaries(odd, odd, max_size=3),
    odd.filter(bool),
)
def test_odd_characters_come_back_from_json(words, chars, labels, tags, functions, root):
    vocab = Vocab(
        Alphabet(words, 1),
        frozenset(words[:2]),
        Alphabet(sorted(chars), 2),
        Alphabet(tags, 1),
        Alphabet(labels),
        {"tag": Alphabet(tags)},
        functions,
        root,
    )
    assert Vocab.from_json(vocab.to_json(), "here") == vocab


def test_lone_surrogates_next_to_each_other_stay_two_characters():
    vocab = Vocab.build([Dependencies((Token("\ude00"), Token("\ud83d")), (-1, 0), ("ROOT", "S#1"))])
    assert Vocab.from_json(vocab.to_json(), "here").chars.symbols == ["\ud83d", "\ude00"]


GOOD = json.loads(Vocab.build(ENCODED, HEADS).to_json())


@pytest.mark.parametrize(
    "change",
    [
        *[{name: None} for name in GOOD if name not in ("chars", "root")],
        {"words": "abc"},
        {"words": [1]},
        {"words": ["a", "a"]},
        {"chars": "aa"},
        {"outputs": {"tag": "N"}},
        {"outputs": []},
        {"head_functions": ["a"]},
    ],
    ids=str,
)
def test_json_that_is_no_vocabulary_is_refused_with_its_file(change):
    with pytest.raises(ModelError, match=r"^here: not a vocabulary"):
        Vocab.from_json(json.dumps(GOOD | change), "here")


@pytest.mark.parametrize("name", GOOD)
def test_a_vocabulary_with_a_part_missing_is_refused(name):
    with pytest.raises(ModelError, match=f"here: not a vocabulary.*{name}"):
        Vocab.from_json(json.dumps({key: value for key, value in GOOD.items() if key != name}), "here")


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", "[" * 100_000])
def test_text_that_is_no_vocabulary_is_refused(text):
    with pytest.raises(ModelError, match=r"^here: "):
        Vocab.from_json(text, "here")


def test_rules_for_lemmas_are_learned_with_all_words_of_the_vocabulary():
    verbs = {"stelt": "stellen", "telt": "tellen", "wandelt": "wandelen", "handelt": "handelen", "spelt": "spellen"}
    tree = Dependencies(
        tuple(Token(form, "V", lemma) for form, lemma in verbs.items()),
        (-1, 0, 0, 0, 0),
        ("ROOT", *["S#1"] * 4),
    )
    vocab = Vocab.build([tree], ["tag"])
    assert vocab.lemmas is None
    few = vocab.with_lemmas([tree]).lemmas
    larger = dataclasses.replace(vocab, words=Alphabet([*vocab.words.symbols, *verbs.values(), "bellen"], 1))
    rules = larger.with_lemmas([tree]).lemmas
    assert rules.to_table() != few.to_table()
    assert rules.lemma("belt", "V", larger.words.ids) == "bellen"
    assert vocab.with_lemmas([tree], [["tag"]]).lemmas is None  # the model does not learn these tags
