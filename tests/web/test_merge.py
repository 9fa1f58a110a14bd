"""Adjudication on the page: whatever sides are taken, the merged tree is a tree. The module is run by Node."""

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.scoring import noisy
from support.strategies import random_tree

from discotree.trees.tree import NONE, Node, SecondaryEdge, Token, Tree
from discotree.web.site import page_files

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
SCRIPT = """
import { readFileSync } from "node:fs";
import { merge, pairDifferences, takeSide } from "./annotate_merge.js";

const answers = JSON.parse(readFileSync(0, "utf-8")).map(({ left, right, choices }) => {
  const found = pairDifferences(left, right);
  const at = (side) => merge(left, right, found, found.map(() => side));
  let sides = found.map(() => 0);
  const trees = [];
  for (const [k, side] of choices) {
    if (!found.length) break;
    sides = takeSide(found, sides, k % found.length, side);
    trees.push([merge(left, right, found, sides), k % found.length, side, [...sides]]);
  }
  return { found, left: at(0), right: at(1), trees };
});
console.log(JSON.stringify(answers));
"""


def merged(folder: Path, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for name, content in page_files().items():
        if name.endswith(".js"):
            (folder / name).write_bytes(content)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "script.js").write_text(SCRIPT)
    done = subprocess.run(
        [str(NODE), "script.js"], cwd=folder, input=json.dumps(cases), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def case(left: Tree, right: Tree, *choices: tuple[int, int]) -> dict[str, Any]:
    return {"left": left.to_dict(), "right": right.to_dict(), "choices": choices}


@pytest.mark.slow
def test_random_choices_give_trees_with_the_sides_that_were_taken(tmp_path: Path) -> None:
    rng = random.Random(11)
    pairs = []
    for _ in range(150):
        left = random_tree(rng, 9)
        right = noisy(rng, left) if rng.random() < 0.5 else replace(random_tree(rng, 9), tokens=left.tokens)
        tags = [token._replace(tag="X") if rng.random() < 0.1 else token for token in right.tokens]
        pairs.append((left, replace(right, tokens=tuple(tags), id=left.id)))
    choices = [[(rng.randrange(50), rng.randrange(2)) for _ in range(8)] for _ in pairs]
    answers = merged(tmp_path, [case(*pair, *some) for pair, some in zip(pairs, choices, strict=True)])
    conflicts = 0
    for (left, right), answer in zip(pairs, answers, strict=True):
        assert brackets(Tree.from_dict(answer["left"])) == brackets(left)
        assert brackets(Tree.from_dict(answer["right"])) == brackets(right)
        for record, number, side, sides in answer["trees"]:
            tree = Tree.from_dict(record)  # refuses crossing constituents
            constituents, tokens = brackets(tree)
            assert sides[number] == side
            for difference, taken in zip(answer["found"], sides, strict=True):
                item = difference["sides"][taken]
                if difference["kind"] == "constituent" and item:
                    assert (item["label"], tuple(item["positions"])) in constituents
                elif difference["kind"] == "word" and "tag" in difference["fields"]:
                    assert tokens[difference["position"]].tag == item.get("tag", NONE)
            conflicts += len(set(sides)) > 1
    assert conflicts > 100


def brackets(tree: Tree) -> tuple[list[tuple[str, tuple[int, ...]]], tuple[Token, ...]]:
    return sorted((node.label, node.positions) for node in tree.nodes()), tree.tokens


def test_a_constituent_takes_those_that_cross_it_with_it(tmp_path: Path) -> None:
    tokens = tuple(Token(form, "N") for form in "abcd")
    left = Tree(tokens, Node("ROOT", [Node("A", [0, 1]), Node("B", [2, 3])]))
    right = Tree(tokens, Node("ROOT", [0, Node("C", [1, 2]), 3]))
    (answer,) = merged(tmp_path, [case(left, right, (1, 1))])
    labels = [[side and side["label"] for side in one["sides"]] for one in answer["found"]]
    assert labels == [["A", None], [None, "C"], ["B", None]]
    assert answer["trees"][0][3] == [1, 1, 1]


def test_labels_functions_and_attachments_are_one_difference_each(tmp_path: Path) -> None:
    tokens = tuple(Token(form, "N") for form in "abcd")
    left = Tree(tokens, Node("ROOT", [0, Node("NP", [1, 2, 3], "SB")]))
    pairs = [
        (left, Tree(tokens, Node("ROOT", [0, Node("PP", [1, 2, 3], "SB")]))),
        (left, Tree(tokens, Node("ROOT", [0, Node("NP", [1, 2, 3], "OA")]))),
        (left, Tree(tokens, Node("ROOT", [0, Node("NP", [1, 2], "SB"), 3]))),
        (left, Tree((tokens[0]._replace(tag="V"), *tokens[1:]), left.root)),
    ]
    answers = merged(tmp_path, [case(*pair, (0, 1)) for pair in pairs])
    assert [len(answer["found"]) for answer in answers] == [1, 1, 1, 1]
    for (_, right), answer in zip(pairs, answers, strict=True):
        assert Tree.from_dict(answer["trees"][0][0]) == right


def test_secondary_edges_are_taken_and_follow_their_ends(tmp_path: Path) -> None:
    tokens = tuple(Token(form, "N") for form in "abcd")
    nodes = [Node("A", [0, 1]), Node("B", [2, 3])]
    plain = Tree(tokens, Node("ROOT", nodes))
    linked = replace(plain, secondary=(SecondaryEdge("SB", 0, 6),))
    without = replace(linked, root=Node("ROOT", [0, 1, nodes[1]]), secondary=(SecondaryEdge("SB", 0, 5),))
    answers = merged(
        tmp_path, [case(plain, linked, (0, 1)), case(linked, without, (0, 1)), case(linked, plain, (0, 0))]
    )
    for answer, expected in zip(answers, (linked, without, linked), strict=True):
        tree = Tree.from_dict(answer["trees"][0][0])
        assert (tree, tree.secondary) == (expected, expected.secondary)
