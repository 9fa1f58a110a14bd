"""tools/add_lemmas.py gives a model lemmas, and changes nothing else."""

import sys
from dataclasses import replace
from pathlib import Path

import add_lemmas
import pytest
from support.models import CARD, with_card
from support.networks import CALM, TREES, split_of

import discotree as dt
from discotree.config.schema import Config, Data, DataSource, Training
from discotree.models.card import Card, Metrics, page
from discotree.models.folder import write_model
from discotree.training.run import build


def source(sentences: str, name: str = "") -> tuple[DataSource, ...]:
    return (DataSource("bank.export", sentences=sentences, name=name),)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model for trees that got their lemmas only after it was made."""
    data = Data(train=source("1-14"), dev=source("15-17", "News"), test=source("18-20", "News"))
    parser = build(Config("small", data, CALM, Training(seed=1), language="de"), {"train": split_of(TREES)})
    write_model(parser.model, tmp_path / "model")
    scores = CARD["scores"]
    with_card(tmp_path / "model", CARD | {"other_scores": {"News": scores, "Letters": scores}})
    card = Card.read(tmp_path / "model" / "card.json")
    rows = {"dev, 8 bits, **as shipped**": card.scores.dev, "test, half precision, as trained": card.scores.test}
    (tmp_path / "model" / "README.md").write_text(page(card, "xx", rows, "`someone`"), "utf-8")
    trees = [
        replace(tree, tokens=tuple(token._replace(lemma=token.form.lower()) for token in tree.tokens)) for tree in TREES
    ]
    dt.write(trees, tmp_path / "bank.export")
    return tmp_path / "model"


def add(monkeypatch: pytest.MonkeyPatch, *options: object) -> None:
    monkeypatch.setattr(sys, "argv", ["add_lemmas.py", *map(str, options)])
    add_lemmas.main()


def test_a_model_gets_lemmas_and_keeps_its_trees(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    add(monkeypatch, model, "--data", tmp_path, "--out", tmp_path / "new")
    assert "test: 100.0 % of the lemmas are right" in capsys.readouterr().out
    for file in model.iterdir():
        same = file.read_bytes() == (tmp_path / "new" / file.name).read_bytes()
        assert same == (file.name not in ("vocab.json", "card.json", "README.md"))
    sentences = [tree.words for tree in TREES]
    old, new = (list(dt.load(folder).parse(sentences)) for folder in (model, tmp_path / "new"))
    for before, after in zip(old, new, strict=True):
        bare = tuple(token._replace(lemma=None) for token in after.tokens)
        assert (replace(after, tokens=bare), after.confidences) == (before, before.confidences)
        assert [token.lemma for token in after.tokens] == [word.lower() for word in after.words]


def test_the_card_and_the_page_have_the_accuracy(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, model, "--data", tmp_path)
    card = Card.read(model / "card.json")
    assert card.scores.test == Metrics(80.5, 61.0, 40.25, 97.5, None, 100.0)
    assert (card.other_scores["News"].dev.lemmas, card.other_scores["Letters"].dev.lemmas) == (100.0, None)
    text = (model / "README.md").read_text("utf-8")
    assert "| dev, 8 bits, **as shipped** | 80.50 | 61.00 | 40.25 | 97.50 | – | 100.00 |" in text
    assert "| test, half precision, as trained | 80.50 | 61.00 | 40.25 | 97.50 | – | – |" in text
    assert "- Made by `someone` at commit 0123abc; settings" in text
    assert "constituent tree with tags and lemmas." in text


def test_a_treebank_without_lemmas_is_refused(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dt.write(TREES, tmp_path / "bank.export")
    with pytest.raises(SystemExit, match="the training trees have no lemmas, or only few"):
        add(monkeypatch, model, "--data", tmp_path)
    assert dt.load(model).vocab.lemmas is None
