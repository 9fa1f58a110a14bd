"""Search by example: the query that is written for nodes finds these nodes, and only those that are like them."""

import random
from itertools import chain, combinations
from pathlib import Path

import pytest
from support.strategies import random_tree

import discotree as dt
from discotree.errors import InputError
from discotree.queries.by_example import ASPECTS, query_from
from discotree.queries.language import Grammar, quote, unquote
from discotree.queries.query import Query

DATA = Path(__file__).parents[1] / "data"
SAMPLES = Path(dt.__file__).parent / "treebanks" / "samples"
TREE = dt.Tree.parse("(ROOT (S (NP (ART 0=das) (NN 2=Haus)) (V 1=hat) (NP (NN 3=Türen))))")
ROOT, S, NP, NP2 = range(4, 8)


def finds(tree: dt.Tree, nodes: list[int], same: tuple[str, ...]) -> bool:
    """Return whether one of the matches in the tree has each variable at its node."""
    text, bindings = query_from(tree, nodes, same)
    assert set(bindings.values()) == set(nodes)
    return any(match.bindings == bindings for match in Query(text).matches(tree))


def random_example(rng: random.Random, tree: dt.Tree) -> tuple[list[int], tuple[str, ...]]:
    size = len(tree) + sum(1 for _ in tree.nodes())
    nodes = rng.sample(range(size), min(rng.randint(1, 4), size))
    return nodes, tuple(aspect for aspect in ASPECTS if rng.random() < 0.5)


def real_trees() -> list[dt.Tree]:
    files = [*SAMPLES.iterdir(), DATA / "tiger.xml", DATA / "alpino_one.xml", DATA / "icepahc.psd", DATA / "ptb.mrg"]
    return [tree for file in files for tree in dt.read(file)]


def test_the_query_finds_the_nodes_that_it_was_made_from() -> None:
    rng = random.Random(30)
    for tree in real_trees():
        for _ in range(8):
            nodes, same = random_example(rng, tree)
            assert finds(tree, nodes, same), (tree.id, nodes, same, query_from(tree, nodes, same).text)


def test_the_query_finds_the_nodes_of_trees_with_odd_labels() -> None:
    rng = random.Random(31)
    for _ in range(400):
        tree = random_tree(rng, rng.randint(1, 7), odd=True)
        nodes, same = random_example(rng, tree)
        assert finds(tree, nodes, same), (str(tree), nodes, same, query_from(tree, nodes, same).text)


@pytest.mark.parametrize(
    ("nodes", "same", "text"),
    [
        ([NP], ["label"], '#np:[cat="NP"]'),
        ([NP], [], "#n:[NT]"),
        ([1], ["word", "label"], '#v:[pos="V" & word="hat"]'),
        ([NP, NP2], ["label", "gap"], '#np:[cat="NP"] $ #np2:[cat="NP"] & discontinuous(#np) & continuous(#np2) '
         "& !within(#np, #np2, 0)"),
        ([S, NP, 1], ["label", "order"], '#s:[cat="S"] > #np:[cat="NP"] & #s > #v:[pos="V"] & #np .* #v'),
        ([NP, 1], ["label", "order"], '#np:[cat="NP"] $.* #v:[pos="V"]'),
        ([NP, 1], ["label", "order", "distance"], '#np:[cat="NP"] $ #v:[pos="V"] & #np . #v'),
        ([0, 3], ["word", "order", "distance"], '#w:[word="das"] .3 #w2:[word="Türen"]'),
        ([0, 3], ["word", "distance"], '#w:[word="das"] & #w2:[word="Türen"] & within(#w, #w2, 3)'),
        ([ROOT, 2], ["label", "distance"], '#root:[cat="ROOT"] >3 #nn:[pos="NN"]'),
        ([ROOT, 2], ["label"], '#root:[cat="ROOT"] >* #nn:[pos="NN"]'),
    ],
)  # fmt: skip
def test_queries_are_written_as_a_linguist_would(nodes: list[int], same: list[str], text: str) -> None:
    assert query_from(TREE, nodes, same).text == text


def test_a_function_is_written_at_its_edge() -> None:
    tree = next(dt.read(SAMPLES / "german.export"))
    views = [*tree.tokens, *tree.nodes()]
    clause = next(k for k, node in enumerate(views) if k >= len(tree) and node.label == "S")
    child = next(k for k, node in enumerate(tree.tokens) if k in views[clause].children and node.function == "HD")
    assert " >HD #" in query_from(tree, [clause, child]).text
    assert 'edge="HD"' in query_from(tree, [child]).text


def test_two_variables_never_stand_for_the_same_node() -> None:
    rng = random.Random(32)
    compared = 0
    for _ in range(300):
        tree = random_tree(rng, rng.randint(2, 5))
        nodes, same = random_example(rng, tree)
        for match in Query(query_from(tree, nodes, same).text).matches(tree):
            assert len(set(match.bindings.values())) == len(nodes), query_from(tree, nodes, same).text
            compared += len(nodes) > 1
    assert compared > 300


def test_every_aspect_narrows_the_search() -> None:
    trees = list(chain(*[dt.read(file) for file in SAMPLES.iterdir()]))
    example = next(tree for tree in trees if tree.tokens[0].function != "--")
    clause = next(k for k, node in enumerate(example.nodes(), len(example)) if node.label == "S")
    verb = next(k for k, token in enumerate(example.tokens) if token.tag.startswith("V"))
    nodes = [clause, verb, *[k for k in range(len(example)) if k != verb][:1]]

    def count(*same: str) -> int:
        query = Query(query_from(example, nodes, same).text)
        return sum(1 for tree in trees for _ in query.matches(tree))

    everything = count()
    for aspect in ("label", "function", "word", "order", "distance"):
        assert 0 < count(aspect) < everything, aspect
    for fewer, more in combinations([("label",), ("label", "order"), ("label", "order", "word")], 2):
        assert 0 < count(*more) <= count(*fewer)


def test_quotes_are_the_inverse_of_unquoting() -> None:
    for text in ("", "a", '"', "\\", '\\"', "a\nb", "/", "#x", "]"):
        assert unquote(quote(text)) == text
        assert Grammar(f"[word={quote(text)}]").read()


def test_impossible_examples_are_refused() -> None:
    with pytest.raises(InputError, match="there is no node 8; the nodes of this tree are 0 to 7"):
        query_from(TREE, [8])
    with pytest.raises(InputError, match="expected 1 to 50 nodes, got 0"):
        query_from(TREE, [])
    with pytest.raises(InputError, match="unknown aspect 'labels'; did you mean 'label'"):
        query_from(TREE, [0], ["labels"])
