"""The models of this checkout: installed, as good as they say, each in a package with a licence of its own."""

import json
import os
from pathlib import Path

import pytest
from model_package import LICENCE_TEXTS, MAX_WHEEL_MB, MODELS, model_folder, notice, project, version_of
from model_sources import ABOUT, ATTRIBUTIONS
from packaging.licenses import canonicalize_license_expression
from support.pages import PROJECT, ROOT

import discotree as dt
from discotree import config
from discotree.models.card import Card
from discotree.models.finding import find, installed
from discotree.models.published import published
from discotree.training.data import load_splits, resolve
from discotree.training.results import parse_split
from discotree.validation import updated

TEXTS = {
    "nl": ("Ik heb het hem niet kunnen zeggen.", "inf"),
    "de": ("Er hat ein Buch gekauft, das niemand kennt.", "S"),
    "en": ("The mice that we analyzed were fed a normal diet.", "VP"),
    "is": ("Þá sagði hann að konan hafði séð hestinn.", "IP"),
}
NAMES = sorted(path.parent.name for path in MODELS.glob("*/pyproject.toml"))
RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module", params=sorted(TEXTS))
def parser(request):
    return dt.load(request.param, "cpu")


def test_all_models_are_there_with_their_cards():
    cards = installed()
    assert sorted(cards) == sorted(TEXTS)
    assert [name for name, card in cards.items() if not card.commercial] == ["de"]
    for name, card in cards.items():
        page = (find(name) / "README.md").read_text("utf-8")
        assert card.licence in page
        assert f"{card.scores.test.f1:.2f}" in page


def test_text_becomes_a_tree_with_tags_functions_and_confidence(parser):
    text, label = TEXTS[parser.config.language]
    tree = parser(text)
    assert "".join(tree.words) == text.replace(" ", "")
    assert label in {node.label for node in tree.nodes()}
    assert all(token.tag != "--" for token in tree.tokens)
    assert {item.function for item in (*tree.tokens, *tree.nodes())} != {"--"}
    assert 0 < tree.confidence <= 1
    assert len(tree.confidences) == sum(1 for _ in tree.nodes())


def test_the_example_of_the_front_page_is_discontinuous():
    tree = dt.load("nl", "cpu")("Ik heb het hem niet kunnen zeggen.")
    assert repr(tree.root) == "(ROOT (smain 0 1 (inf (inf 2 3 4 6) 5)) 7)"


def test_a_language_that_a_model_does_not_know_still_gives_trees(parser):
    for text in ("这是一个句子。", "🙂", "x" * 3000, "а б в", "\u200b a", "1 2 3 4"):
        assert "".join(parser(text).words).replace(" ", "")


def test_the_hand_written_dutch_sentences():
    gold = list(dt.read(Path(dt.__file__).parent / "treebanks" / "samples" / "dutch.discbracket"))
    parser = dt.load("nl", "cpu")
    score = dt.evaluate(gold, list(parser.parse(gold)))
    assert score.f1 > 90
    assert score.discontinuous.f1 > 70


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.stem)
def test_the_settings_of_published_results_can_be_used(path):
    results = json.loads(path.read_text("utf-8"))
    settings = updated(config.Config(), results["config"], path.name)
    assert settings.name in config.recipe_names()


@pytest.mark.data
@pytest.mark.parametrize(("engine", "within"), [("onnx", (0.1, 1)), ("onnx-float32", (0.3, 2))])
@pytest.mark.parametrize("name", ["nl", "de"])
def test_scores_are_those_of_the_card(name, engine, within):
    if not os.environ.get("DISCOTREE_DATA"):
        pytest.skip("DISCOTREE_DATA does not say where the treebanks are")
    parser = dt.load(name, "cpu", engine=engine)
    split = load_splits(resolve(parser.config.data))["test"]
    trees, _ = parse_split(parser, split, parser.config.decoding)
    score = dt.evaluate(split.trees, trees)
    card = installed()[name].scores.test
    assert score.f1 == pytest.approx(card.f1, abs=within[0])
    assert score.discontinuous.f1 == pytest.approx(card.discontinuous_f1, abs=within[1])


# Packages


@pytest.mark.parametrize("name", NAMES)
def test_the_package_of_a_model_is_what_the_tool_writes(name: str) -> None:
    folder = model_folder(name)
    assert find(name) == folder  # installed from this checkout, where it is: nothing is copied
    card, about = Card.read(folder / "card.json"), ABOUT[name]
    assert (MODELS / name / "pyproject.toml").read_text("utf-8") == project(card, version_of(name))
    assert (MODELS / name / "NOTICE").read_text("utf-8") == notice(card, about)
    assert (card.treebanks, card.weaknesses) == (about.treebanks, about.weaknesses)
    assert {path.name for path in folder.parent.iterdir()} - {"__pycache__"} == {"__init__.py", "model"}
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < MAX_WHEEL_MB * 1e6


def test_what_is_said_of_models_before_they_are_installed_is_what_their_cards_say() -> None:
    assert published().keys() == ABOUT.keys()
    for name in NAMES:
        card, known = Card.read(model_folder(name) / "card.json"), published()[name]
        assert (card.code, card.language) == (known.code, known.language)
        assert (card.licence, card.commercial) == (known.licence, known.commercial)


# Licences


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_its_licence_and_its_attributions_in_its_package(name: str) -> None:
    card = Card.read(model_folder(name) / "card.json")
    assert canonicalize_license_expression(card.licence) == card.licence
    assert len((MODELS / name / "LICENSE").read_text("utf-8")) > 10_000
    written = (MODELS / name / "NOTICE").read_text("utf-8")
    for treebank in card.treebanks:
        assert treebank.url in written
        assert f"SPDX-License-Identifier: {canonicalize_license_expression(treebank.licence)}" in written


@pytest.mark.parametrize("name", ABOUT)
def test_every_planned_model_can_have_a_package(name: str) -> None:
    model = published()[name]
    assert canonicalize_license_expression(model.licence) == model.licence
    assert LICENCE_TEXTS[model.licence].is_file()
    for treebank in ABOUT[name].treebanks:
        assert canonicalize_license_expression(treebank.licence) == treebank.licence
        assert treebank in ATTRIBUTIONS


def test_the_package_has_the_licences_of_its_parts() -> None:
    parts = {"MIT", "Apache-2.0"}
    assert set(PROJECT["license"].split(" AND ")) == parts
    listed = (ROOT / "NOTICE.md").read_text("utf-8")
    assert all(licence in listed for licence in parts | {model.licence for model in published().values()})
    found = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    beside = (ROOT / "src").rglob("LICENSE"), (ROOT / "src").rglob("NOTICE")
    assert found == {ROOT / "LICENSE", ROOT / "NOTICE.md", *(path for paths in beside for path in paths)}
