"""The models that come with discotree: they are there, they say what they are, and they are as good as they say."""

import json
import os
from pathlib import Path

import pytest
from packaging.licenses import canonicalize_license_expression
from support.pages import PROJECT, ROOT

import discotree as dt
from discotree import config
from discotree.models import finding as bundled
from discotree.training.data import load_splits, resolve
from discotree.training.results import score_trees
from discotree.validation import updated

TEXTS = {
    "nl": ("Ik heb het hem niet kunnen zeggen.", "inf"),
    "de": ("Er hat ein Buch gekauft, das niemand kennt.", "S"),
    "en": ("The mice that we analyzed were fed a normal diet.", "VP"),
    "is": ("Þá sagði hann að konan hafði séð hestinn.", "IP"),
}
RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.fixture(scope="module", params=sorted(TEXTS))
def parser(request):
    return dt.load(request.param, "cpu")


def test_all_models_are_there_with_their_cards():
    cards = bundled.bundled()
    assert sorted(cards) == sorted(TEXTS)
    assert [name for name, card in cards.items() if not card.commercial] == ["de"]
    for name, card in cards.items():
        page = (bundled.find(name) / "README.md").read_text("utf-8")
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
@pytest.mark.parametrize(("engine", "within"), [("onnx-float32", (0.1, 1)), ("onnx", (0.3, 2))])
@pytest.mark.parametrize("name", ["nl", "de"])
def test_scores_are_those_of_the_card(name, engine, within):
    if not os.environ.get("DISCOTREE_DATA"):
        pytest.skip("DISCOTREE_DATA does not say where the treebanks are")
    parser = dt.load(name, "cpu", engine=engine)
    split = load_splits(resolve(parser.config.data))["test"]
    score, _ = score_trees(parser, split, parser.config.decoding)
    card = bundled.bundled()[name].scores.test
    assert score.f1 == pytest.approx(card.f1, abs=within[0])
    assert score.discontinuous.f1 == pytest.approx(card.discontinuous_f1, abs=within[1])


# Licences


@pytest.mark.parametrize("name", bundled.names())
def test_a_model_has_its_licence_and_its_attributions_beside_its_weights(name: str) -> None:
    card = bundled.bundled()[name]
    assert canonicalize_license_expression(card.licence) == card.licence
    assert len((bundled.MODELS / name / "LICENSE").read_text("utf-8")) > 10_000
    notice = (bundled.MODELS / name / "NOTICE").read_text("utf-8")
    for treebank in card.treebanks:
        assert treebank.url in notice
        assert f"SPDX-License-Identifier: {canonicalize_license_expression(treebank.licence)}" in notice


def test_the_package_has_the_licences_of_its_parts() -> None:
    parts = {card.licence for card in bundled.bundled().values()} | {"MIT", "Apache-2.0"}
    assert set(PROJECT["license"].split(" AND ")) == parts
    listed = (ROOT / "NOTICE.md").read_text("utf-8")
    assert all(licence in listed for licence in parts)
    found = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    beside = (ROOT / "src").rglob("LICENSE"), (ROOT / "src").rglob("NOTICE")
    assert found == {ROOT / "LICENSE", ROOT / "NOTICE.md", *(path for paths in beside for path in paths)}
