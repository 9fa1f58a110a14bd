"""Encoding and decoding, checked against a slow definition of each.

The file is long because lossless, total and spine tests share the definitions and the random inputs.
"""

import random
import re
import string
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from support.helpers import DEEP, brackets_of, tree_of
from support.strategies import HOLDS, ODD_LABELS, random_heads, random_tree, trees

from discotree import Dependencies, EncodingError, HeadRules, Node, Token, Tree, read, to_dependencies, to_tree
from discotree.encoding.dependencies import spines
from discotree.trees.tree import NONE, ROOT

NEGRA = HeadRules.load("negra")
RULES = {name: HeadRules.load(name) for name in HeadRules.names()} | {
    "none": HeadRules({}),
    "marked": HeadRules.marked(),
    "negra, marked": HeadRules.load("negra", marked_first=True),
}


def dependencies(heads, labels, **options):
    tokens = tuple(Token(letter) for letter in string.ascii_letters[: len(heads)])
    return Dependencies(tokens, tuple(heads), tuple(labels), **options)


def decoded(heads, labels, **options):
    return repr(to_tree(dependencies(heads, labels, **options)).root)


# Figure 1 of the paper


@pytest.fixture
def figure1(data):
    (tree,) = read(data / "figure1.export")
    return tree


@pytest.mark.parametrize("root", ["VROOT", "ROOT"])
def test_figure_1_comes_out_exactly(figure1, root):
    tree = replace(figure1, root=Node(root, figure1.root.children))
    encoded = to_dependencies(tree, NEGRA)
    assert tree.words == ("Es", "kam", "nichts", "Interessantes", ".")
    assert encoded.heads == (3, -1, 3, 1, 1)
    assert encoded.labels == ("NP#2", "ROOT", "NP#1", "S#1", f"{root}#2")
    assert encoded.root == root
    assert to_tree(encoded) == tree


def test_figure_1_in_words(figure1):
    encoded = to_dependencies(figure1, NEGRA)
    assert encoded.unaries == ("",) * 5
    assert encoded.functions == ((), (NONE, NONE), (), ("RE", "SB"), ())
    assert encoded.tokens == figure1.tokens
    assert encoded.id == figure1.id


# Lossless


def many_trees(count, odd=True):
    rng = random.Random(20)
    return [
        random_tree(rng, 1 + min(int(rng.expovariate(0.2)), 30), odd=odd and bool(rng.getrandbits(1)))
        for _ in range(count)
    ]


@pytest.fixture(scope="module", params=[2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def thousands(request):
    return many_trees(request.param)


def test_the_random_trees_have_everything_that_could_go_wrong(thousands):
    assert sum(tree.is_discontinuous for tree in thousands) > len(thousands) / 4
    assert sum(any(len(node.children) == 1 for node in tree.nodes()) for tree in thousands) > len(thousands) / 4
    below = Counter(node.label == tree.root.label for tree in thousands for node in list(tree.nodes())[1:])
    assert below[True] > len(thousands) / 40


@pytest.mark.parametrize("name", RULES)
def test_random_trees_come_back(name, thousands):
    rules = RULES[name]
    for tree in thousands if name in HeadRules.names() else thousands[:5000]:
        assert to_tree(to_dependencies(tree, rules)) == tree


@given(trees(HOLDS["conllu"]))
def test_trees_with_any_text_come_back(tree):
    encoded = to_dependencies(tree, NEGRA)
    assert to_tree(encoded) == tree
    assert encoded.heads.count(-1) == 1


@pytest.mark.slow
@pytest.mark.parametrize("depth", [2000, 5000])
@pytest.mark.parametrize("shape", DEEP)
@pytest.mark.parametrize("rules", [HeadRules({}), HeadRules.load(name="negra")], ids=["none", "negra"])
def test_deep_trees_come_back(shape, depth, rules):
    tree = DEEP[shape](depth)
    assert to_tree(to_dependencies(tree, rules)) == tree
    assert to_tree(to_dependencies(tree, rules, unaries="drop")) == unaryless(tree)


@pytest.mark.parametrize(
    ("brackets", "labels", "unaries"),
    [
        ("(ROOT (S (VP (N 0=a) (V 1=b))))", ("ROOT", "S+VP#1"), ("", "")),
        ("(ROOT (S (NP (N 0=a)) (V 1=b)))", ("ROOT", "S#1"), ("NP", "")),
        ("(ROOT (S (NP (NX (N 0=a))) (V 1=b)))", ("ROOT", "S#1"), ("NP+NX", "")),
        ("(ROOT (A+B (N 0=a) (V 1=b)))", ("ROOT", "A\\+B#1"), ("", "")),
        ("(ROOT (S (ROOT (N 0=a) (V 1=b)) (V 2=c)))", ("ROOT", "\\^ROOT#1", "S#2"), ("", "", "")),
        ("(ROOT (N 0=a) (V 1=b))", ("ROOT", "ROOT#1"), ("", "")),
        ("(ROOT (N 0=a))", ("ROOT",), ("",)),
        ("(ROOT (S (NP (N 0=a))))", ("ROOT",), ("S+NP",)),
    ],
)
def test_chains_ride_in_labels_over_phrases_and_in_unaries_over_words(brackets, labels, unaries):
    encoded = to_dependencies(tree_of(brackets), HeadRules({}))
    assert (encoded.labels, encoded.unaries) == (labels, unaries)
    assert brackets_of([to_tree(encoded)]) == [brackets]


def test_functions_of_a_spine_go_from_bottom_to_top():
    inner = Node("S", [Node("VP", [Node("NP", [0], "in"), 1], "mid")], "out")
    tree = Tree((Token("a"), Token("b"), Token("c")), Node(ROOT, [inner, Node("X", [2], "right")], "top"))
    encoded = to_dependencies(tree, HeadRules({}))
    assert encoded.functions == (("in", "mid", "out", "top"), (), ("right",))
    assert to_tree(encoded) == tree


# The paper's way: without unaries


def unaryless(tree):
    """Return the tree without nodes that have one child, except the root."""
    token_parents, nodes = tree.parents()
    children = Counter([*token_parents, *(parent for _, _, parent in nodes)])

    def kept(node):
        while node >= 0 and children[node] == 1:
            node = nodes[node][2]
        return node

    keep = [k for k in range(len(nodes)) if children[k] > 1]
    index = {old: new for new, old in enumerate(keep)} | {-1: -1}
    return Tree.from_parents(
        tree.tokens,
        [index[kept(parent)] for parent in token_parents],
        [(nodes[k][0], nodes[k][1], index[kept(nodes[k][2])]) for k in keep],
        root=(tree.root.label, tree.root.function),
        id=tree.id,
    )


@pytest.mark.parametrize("name", ["negra", "none", "marked"])
def test_dropping_unaries_gives_the_unaryless_tree(name):
    for tree in many_trees(2000):
        encoded = to_dependencies(tree, RULES[name], unaries="drop")
        assert not any(encoded.unaries)
        assert to_tree(encoded) == unaryless(tree)


def test_dropping_unaries_counts_no_level_for_them():
    tree = tree_of("(ROOT (S (VP (V 0=a)) (NP (N 1=b))) ($. 2=.))")
    assert to_dependencies(tree, HeadRules({}), unaries="drop").labels == ("ROOT", "S#1", "ROOT#2")


# Total


def naive_tree(d):
    """Return the tree by the rules of the module's docstring, one after the other and slowly."""

    def chain(name):
        parts, rest = [], name
        while True:
            match = re.match(r"(?:\\.|[^+\\]|\\$)*", rest, re.DOTALL)
            parts.append(match[0])
            if match.end() == len(rest):
                break
            rest = rest[match.end() + 1 :]
        raw = d.root.replace("\\", "\\\\").replace("+", "\\+")
        return tuple(plain(part) or "--" for part in parts if part != raw)

    def plain(part):
        return re.sub(r"\\(.)", r"\1", part.removeprefix("\\^"), flags=re.DOTALL)

    def level(label):
        match = re.fullmatch(r"(.*)#([0-9]{1,9})", label, re.DOTALL)
        return (chain(match[1]), int(match[2])) if match else (chain(label), 1)

    def below(head):
        return [k for k in range(len(d.heads)) if d.heads[k] == head]

    def build(head):
        parts = [head]
        dependents = below(head)
        for height in sorted({level(d.labels[k])[1] for k in dependents}):
            group = [k for k in dependents if level(d.labels[k])[1] == height]
            names = [level(d.labels[k])[0] for k in group]
            winner = max(names, key=lambda name: (names.count(name), -names.index(name)))
            parts += [part for k in group for part in build(k)]
            for label in reversed(winner):
                parts = [Node(label, parts)]
        return parts

    return Tree(d.tokens, Node(d.root, [part for k in below(-1) for part in build(k)]), d.id)


WORDS = tuple(Token(f"w{k}", "NN") for k in range(40))
NONSENSE = (
    *ODD_LABELS,
    "NP#1",
    "NP#2",
    "VP#1",
    "VP#2",
    "ROOT",
    "S#0",
    "S#999999999",
    "S#1000000000",
    "S+VP#1",
    "",
    "#",
)


def nonsense(rng, max_size):
    n = 1 + min(int(rng.expovariate(0.25)), max_size - 1)
    labels = [
        rng.choice(NONSENSE) if rng.random() < 0.8 else "".join(rng.choices("NS+#\\^=|% 012", k=rng.randrange(6)))
        for _ in range(n)
    ]
    root = rng.choice(["ROOT", "ROOT", "VROOT", "S", "+", "\\", "--"])
    return Dependencies(WORDS[:n], random_heads(rng, n), tuple(labels), root=root)


@pytest.mark.slow
def test_fifty_thousand_predictions_with_nonsense_labels_all_become_trees():
    rng = random.Random(100)
    for _ in range(50_000):
        d = nonsense(rng, 40)
        tree = to_tree(d)  # a Tree cannot exist unless it is valid
        assert (tree.tokens, tree.root.label) == (d.tokens, d.root)


def test_predictions_become_the_trees_that_the_rules_describe():
    rng = random.Random(200)
    for _ in range(2_000):
        d = nonsense(rng, 12)
        assert to_tree(d) == naive_tree(d), d


def test_nonsense_in_functions_and_unaries_does_no_harm():
    rng = random.Random(300)
    for _ in range(1_000):
        d = nonsense(rng, 12)
        n = len(d.tokens)
        functions = tuple(tuple(rng.choices(NONSENSE, k=rng.randrange(4))) for _ in range(n))
        tree = to_tree(replace(d, functions=functions, unaries=tuple(rng.choices(NONSENSE, k=n))))
        assert len(tree) == n


@pytest.mark.parametrize(
    ("heads", "labels", "expected"),
    [
        pytest.param((-1, 0, 0, 0), ("ROOT", "A#1", "B#1", "B#1"), "(ROOT (B 0 1 2 3))", id="the most frequent label"),
        pytest.param((-1, 0, 0), ("ROOT", "B#1", "A#1"), "(ROOT (B 0 1 2))", id="then the leftmost"),
        pytest.param((1, -1, 1), ("B#1", "ROOT", "A#1"), "(ROOT (B 0 1 2))", id="leftmost, on both sides"),
        pytest.param((-1, 0, 0), ("ROOT", "A#1", "A+B#1"), "(ROOT (A 0 1 2))", id="a chain is a label of its own"),
        pytest.param((-1, 0), ("ROOT", "NP"), "(ROOT (NP 0 1))", id="no index"),
        pytest.param((-1, 0, 0), ("ROOT", "NP", "NP#1"), "(ROOT (NP 0 1 2))", id="no index counts as 1"),
        pytest.param((-1, 0), ("ROOT", "NP#x"), "(ROOT (NP#x 0 1))", id="an index that is no number is none"),
        pytest.param((-1, 0, 0), ("ROOT", "S#5", "NP#2"), "(ROOT (S (NP 0 2) 1))", id="levels may be skipped"),
        pytest.param((-1, 0, 0), ("ROOT", "S#0", "S#1"), "(ROOT (S (S 0 1) 2))", id="level 0 is lower than 1"),
        pytest.param((-1, 0, 0), ("ROOT", "ROOT#1", "S#2"), "(ROOT (S 0 1 2))", id="a root label dissolves"),
        pytest.param((-1, 0, 1), ("ROOT", "S#1", "ROOT#1"), "(ROOT (S 0 1 2))", id="also in a dependent"),
        pytest.param((-1, 0), ("ROOT", "A+ROOT+B#1"), "(ROOT (A (B 0 1)))", id="also in a chain"),
        pytest.param((-1, 0), ("ROOT", ""), "(ROOT (-- 0 1))", id="an empty label"),
        pytest.param((-1, -1), ("A#1", "B#2"), "(ROOT 0 1)", id="several roots; their labels are ignored"),
        pytest.param((-1, 0, -1), ("X", "A#1", "Y"), "(ROOT (A 0 1) 2)", id="several roots with phrases"),
    ],
)
def test_the_rules_for_odd_predictions(heads, labels, expected):
    assert decoded(heads, labels) == expected


def test_a_root_label_over_a_single_word_dissolves_too():
    assert decoded((-1,), ("ROOT",), unaries=("A+ROOT+B",)) == "(ROOT (A (B 0)))"


def test_functions_that_are_missing_are_none():
    tree = to_tree(dependencies((-1, 0), ("ROOT", "A+B#1"), functions=(("low",), ())))
    assert [node.function for node in tree.nodes()] == [NONE, NONE, "low"]


# What is no tree


@pytest.mark.parametrize(
    ("heads", "message"),
    [
        ((0,), "token 0 is part of a cycle"),
        ((-1, 2, 1), "token 1 is part of a cycle"),
        ((1, 2, 0), "token 0 is part of a cycle"),
        ((-1, 2, 3, 2), "token 1 is part of a cycle or hangs on one"),
    ],
)
def test_cycles_are_encoding_errors(heads, message):
    with pytest.raises(EncodingError, match=message):
        to_tree(dependencies(heads, ["X#1"] * len(heads)))


def test_any_heads_are_a_tree_or_an_encoding_error():
    rng = random.Random(400)
    cyclic = 0
    for _ in range(5_000):
        n = rng.randrange(1, 7)
        heads = [rng.randrange(-1, n) for _ in range(n)]
        reached, new = set(), {-1}
        while new:
            new = {k for k in range(n) if heads[k] in new}
            reached |= new
        d = Dependencies(WORDS[:n], tuple(heads), ("A#1",) * n)
        if len(reached) == n:
            assert len(to_tree(d)) == n
        else:
            cyclic += 1
            with pytest.raises(EncodingError):
                to_tree(d)
    assert 1000 < cyclic < 4000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Dependencies((), (), ()), "no tokens"),
        (lambda: dependencies((-1, 0), ("ROOT",)), "2 tokens but 1 labels"),
        (lambda: Dependencies((Token("a"),), (), ("ROOT",)), "1 tokens but 0 heads"),
        (lambda: dependencies((-1,), ("ROOT",), functions=((), ())), "1 tokens but 2 functions"),
        (lambda: dependencies((-1,), ("ROOT",), unaries=("", "")), "1 tokens but 2 unaries"),
        (lambda: dependencies((-1, 2), ("ROOT", "A#1")), "token 1 has the head 2, outside -1..1"),
        (lambda: dependencies((-2,), ("ROOT",)), "token 0 has the head -2, outside -1..0"),
    ],
)
def test_dependencies_that_make_no_sense_refuse_to_exist(make, message):
    with pytest.raises(EncodingError, match=re.escape(message)):
        make()


# Spines


def headed_nodes(tree, rules):
    """Return for every word the labels of the nodes that it heads, lowest first, by going down from every node."""
    found = [[] for _ in tree.tokens]
    for node in reversed(list(tree.nodes())):
        child = node
        while not isinstance(child, int):
            child = child.children[rules.head_child(child, tree.tokens)]
        found[child].append(node.label)
    return found


@pytest.mark.parametrize("name", ["negra", "none", "marked"])
def test_spines_are_the_nodes_that_a_word_heads(name):
    for tree in many_trees(1000):
        encoded = to_dependencies(tree, RULES[name])
        assert spines(encoded) == headed_nodes(tree, RULES[name])
        assert [len(spine) for spine in spines(encoded)] == [len(roles) for roles in encoded.functions]


def test_spines_without_unaries_have_no_unaries():
    for tree in many_trees(500):
        encoded = to_dependencies(tree, NEGRA, unaries="drop")
        labels = Counter(label for spine in spines(encoded) for label in spine)
        assert labels == Counter(node.label for node in unaryless(tree).nodes())
        assert [len(spine) for spine in spines(encoded)] == [len(roles) for roles in encoded.functions]


def test_spines_of_nonsense_are_the_nodes_that_the_tree_then_has():
    rng = random.Random(500)
    for _ in range(3000):
        d = nonsense(rng, 12)
        n = len(d.tokens)
        d = replace(d, unaries=tuple(rng.choice(["", "", "NP", "A+B", d.root]) for _ in range(n)))
        found = spines(d)
        labels = Counter(label for spine in found for label in spine)
        assert labels == Counter(node.label for node in to_tree(d).nodes())
        assert found[d.heads.index(-1)][-1] == d.root
        # A function for every node of the spines is a function for every node of the tree.
        roles = tuple(tuple(f"{k}.{level}" for level in range(len(spine))) for k, spine in enumerate(found))
        given = {node.function for node in to_tree(replace(d, functions=roles)).nodes()}
        assert given == {role for spine in roles for role in spine}


@pytest.mark.parametrize(
    ("heads", "labels", "unaries", "expected"),
    [
        ((-1,), ("ROOT",), (), [["ROOT"]]),
        ((-1,), ("ROOT",), ("A+B",), [["B", "A", "ROOT"]]),
        ((1, -1), ("A+B#1", "ROOT"), (), [[], ["B", "A", "ROOT"]]),
        ((1, -1, 1), ("S#2", "ROOT", "VP#1"), ("NP", "", ""), [["NP"], ["VP", "S", "ROOT"], []]),
        ((-1, -1, 1), ("X", "X", "A#1"), (), [["ROOT"], ["A"], []]),
        ((-1, 0), ("ROOT", "ROOT#1"), (), [["ROOT"], []]),
    ],
)
def test_spines_in_words(heads, labels, unaries, expected):
    assert spines(dependencies(heads, labels, unaries=unaries)) == expected
