"""The page's drawing and writers in JavaScript, run by Node and compared with those in Python."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.helpers import right_branching, unary_chain, written
from support.strategies import HOLDS, Holds, random_tree, trees

import discotree as dt
from discotree.drawing import draw_svg
from discotree.drawing.measure import clean, ems, is_right_to_left
from discotree.encoding.head_rules import HeadRules
from discotree.errors import TreebankError
from discotree.trees.labels import explain_tree
from discotree.web.site import page_files, rule_table
from discotree.web.tasks import draw_dependencies

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")
SAMPLES = Path(dt.__file__).parent / "treebanks" / "samples"
SCRIPT = """
import { createInterface } from "node:readline";
import { clean, drawTree, ems, isRightToLeft } from "./tree_svg.js";
import { drawArcs } from "./tree_arcs.js";
import { WRITERS } from "./tree_writers.js";

const TASKS = {
  draw: ({ tree, options }) => drawTree(tree, options),
  arcs: ({ tree, rules, options }) => drawArcs(tree, rules, options),
  write: ({ trees, format }) => WRITERS[format](trees),
  measure: ({ texts }) => texts.map((text) => [clean(text), ems(text), ems(text, true), isRightToLeft(text)]),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { task, ...body } = JSON.parse(line);
  let answer;
  try {
    answer = { result: TASKS[task](body) };
  } catch (error) {
    answer = { error: error.message, stack: error.stack };
  }
  console.log(JSON.stringify(answer));
}
"""
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Return a function that does a task in Node."""
    folder = tmp_path_factory.mktemp("page")
    for name, content in page_files().items():
        (folder / name).write_bytes(content)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "tasks.js").write_text(SCRIPT)
    with subprocess.Popen(
        [str(NODE), "tasks.js"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        assert process.stdin
        assert process.stdout

        def answer(task: str, **body: Any) -> Any:
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps({"task": task, **body}) + "\n")
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())
            if "error" in reply:
                raise TreebankError(reply["error"])
            return reply["result"]

        yield answer
        process.stdin.close()


def sample_trees() -> list[dt.Tree]:
    return [tree for path in sorted(SAMPLES.iterdir()) for tree in dt.read(path)]


def random_trees(seed: int, number: int, **options: Any) -> list[dt.Tree]:
    """Return trees of which some have secondary edges, and some confidences."""
    rng = random.Random(seed)
    found = []
    for _ in range(number):
        tree = random_tree(rng, rng.randint(1, 20), **options)
        n, end = len(tree), len(tree) + sum(1 for _ in tree.nodes())
        edges = [dt.SecondaryEdge("MO", rng.randrange(end), rng.randrange(n, end)) for _ in range(rng.randrange(3))]
        confidences = [round(rng.random() ** 3, 6) for _ in range(n, end)] if rng.random() < 0.3 else []
        found.append(replace(tree, secondary=tuple(edges), confidences=tuple(confidences)))
    return found


# Drawing


def test_samples_are_drawn_as_python_draws_them(ask: Ask) -> None:
    found = sample_trees()
    assert len(found) > 20
    assert any(explain_tree(tree) for tree in found)
    for tree in found:
        assert ask("draw", tree=tree.to_dict(), options={}) == draw_svg(tree)


@pytest.mark.parametrize("odd", [pytest.param(False, marks=pytest.mark.slow), True])
def test_random_trees_are_drawn_as_python_draws_them(ask: Ask, odd: bool) -> None:
    for tree in [*random_trees(7, 60, odd=odd), right_branching(40), unary_chain(20)]:
        for options in ({"style": False}, {"functions": False, "theme": "light"}, {"theme": "dark"}):
            assert ask("draw", tree=tree.to_dict(), options=options) == draw_svg(tree, **options)  # type: ignore[arg-type]


def test_highlighted_nodes_are_drawn_as_python_draws_them(ask: Ask) -> None:
    rng = random.Random(3)
    for tree in random_trees(11, 40):
        end = len(tree) + sum(1 for _ in tree.nodes())
        highlight = {f"#{k}": [rng.randrange(end)] for k in range(rng.randrange(7))}
        assert ask("draw", tree=tree.to_dict(), options={"highlight": highlight}) == draw_svg(tree, highlight=highlight)


# Python and Node know different versions of Unicode, so texts have no characters that one of them may not know.
_text = st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cn", "Cs", "Co"]), min_size=1, max_size=6)
ANY_TEXT = Holds(_text, _text, _text, _text, _text, _text, roots=_text, root_functions=_text, secondary=_text)


def without_direction(svg: str) -> str:
    """Return a picture without the direction of texts, which depends on the first letter of each in JavaScript."""
    return svg.replace(' direction="rtl"', "")


@given(tree=trees(ANY_TEXT))
def test_any_text_is_drawn_as_python_draws_it(ask: Ask, tree: dt.Tree) -> None:
    assert without_direction(ask("draw", tree=tree.to_dict(), options={})) == without_direction(draw_svg(tree))


@given(texts=st.lists(_text, max_size=50))
def test_texts_are_measured_as_python_measures_them(ask: Ask, texts: list[str]) -> None:
    cleaned = [clean(text) for text in texts]
    assert [row[0] for row in ask("measure", texts=texts)] == cleaned
    assert [row[1:3] for row in ask("measure", texts=cleaned)] == [[ems(text), ems(text, True)] for text in cleaned]


def test_scripts_and_emoji_are_measured_as_python_measures_them(ask: Ask) -> None:
    texts = [
        "naïve Ärger",
        "ｆｕｌｌ",
        "漢字かな",
        "한국어",
        "שלום",
        "مرحبا 12",
        "12 עברית",
        "👍🏽 👩‍👩‍👧",
        "☀️ ☂",
        "🇳🇱",
        "Ωμέγα",
        "e\u0301",
        "\u0301",
    ]
    assert ask("measure", texts=texts) == [[clean(t), ems(t), ems(t, True), is_right_to_left(t)] for t in texts]


@pytest.mark.parametrize("name", [*HeadRules.names(), None])
def test_dependencies_are_drawn_as_python_draws_them(ask: Ask, name: str | None) -> None:
    rules = HeadRules.of(name)
    for tree in [*sample_trees()[::5], *random_trees(13, 8), *random_trees(17, 5, odd=True)]:
        for functions in (True, False):
            expected = draw_dependencies(tree, rules, functions)
            options = {"functions": functions}
            assert ask("arcs", tree=tree.to_dict(), rules=rule_table(rules), options=options) == expected


# Writers


@pytest.mark.parametrize("format", ["discbracket", "export"])
def test_files_are_written_as_python_writes_them(ask: Ask, format: str) -> None:
    for found in (sample_trees(), random_trees(5, 100)):
        assert ask("write", trees=[tree.to_dict() for tree in found], format=format) == written(found, format)


@pytest.mark.parametrize("format", ["discbracket", "export"])
@given(tree=trees(HOLDS["json"]))
def test_both_write_or_refuse_a_tree(ask: Ask, format: str, tree: dt.Tree) -> None:
    try:
        expected = written([tree], format)
    except TreebankError:
        with pytest.raises(TreebankError, match="cannot represent"):
            ask("write", trees=[tree.to_dict()], format=format)
    else:
        assert ask("write", trees=[tree.to_dict()], format=format) == expected


def test_json_lines_are_read_back(ask: Ask) -> None:
    found = random_trees(9, 50, odd=True)
    text = ask("write", trees=[tree.to_dict() for tree in found], format="json")
    assert [dt.Tree.from_dict(json.loads(line)) for line in text.splitlines()] == found
