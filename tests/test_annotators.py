"""benchmarks/annotate.py: the operations of simulated annotators, and that they reach the gold tree."""

import random
from dataclasses import replace

from support.pages import ROOT
from support.strategies import random_tree
from test_project import load

from discotree.trees.tree import Tree

script = load(ROOT / "benchmarks" / "annotate.py")
NESTED = Tree.parse("(ROOT (S (NP (D 0=a) (N 1=b)) (PP (P 2=c) (N 3=d)) (V 4=e)))")


def actions(after: str) -> dict[str, int]:
    return {kind: count for kind, count in script.annotate(NESTED, Tree.parse(after), None).items() if count}


def test_every_operation_is_one_action():
    assert actions(str(NESTED)) == {}
    assert actions(str(NESTED).replace("PP", "NP")) == {"relabel": 1}
    assert actions("(ROOT (S (NP (D 0=a) (N 1=b)) (P 2=c) (N 3=d) (V 4=e)))") == {"dissolve": 1}
    assert actions("(ROOT (S (NP (D 0=a) (N 1=b) (PP (P 2=c) (N 3=d))) (V 4=e)))") == {"attach": 1}
    assert actions("(ROOT (S (NP (D 0=a)) (N 1=b) (PP (P 2=c) (N 3=d)) (V 4=e)))") == {"attach": 1}
    assert actions("(ROOT (S (X (NP (D 0=a) (N 1=b)) (V 4=e)) (PP (P 2=c) (N 3=d))))") == {"join": 1}
    assert actions(str(NESTED).replace("N 1", "X 1")) == {"tag": 1}


def test_annotators_reach_the_gold_tree_by_themselves_and_with_any_proposals():
    rng = random.Random(4)
    for _ in range(60):
        trees = [random_tree(rng, 8) for _ in range(3)]
        first, gold, other = (replace(tree, tokens=trees[1].tokens, id="") for tree in trees)
        proposals = [other, None, gold]
        by_hand = script.annotate(first, gold, None)
        helped = script.annotate(first, gold, lambda *_, made=proposals: (made[rng.randrange(3)], []))
        assert script.corrections_in(by_hand) > 0
        assert by_hand["take"] == by_hand["leave"] == 0
        assert helped["take"] <= script.corrections_in(helped)
