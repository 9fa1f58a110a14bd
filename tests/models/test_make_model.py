"""tools/make_model.py turns a training run into a package that pip can build."""

import email
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import make_model
import pytest
from model_package import model_folder
from support.tiny import TINY, small_recipe

import discotree as dt
from discotree.config.recipes import load_recipe
from discotree.models.card import Card
from discotree.models.folder import read_model
from discotree.network.vocab import normalized
from discotree.parsing.parser import new_engine
from discotree.training import run as train
from discotree.training.data import load_splits, resolve

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that took a second."""
    folder = tmp_path_factory.mktemp("run")
    settings = load_recipe(small_recipe(folder), [*TINY, f"data.folder={folder}", "language=nl"])
    train.train(settings, folder / "run")
    return folder / "run"


def make(run: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *options: str, name: str = "nl-large") -> None:
    monkeypatch.setattr(
        sys, "argv", ["make_model.py", str(run), name, "--commit", "0a1b2c", "--out", str(out), *options]
    )
    make_model.main()


def test_a_run_becomes_a_package_that_pip_builds(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make(run, tmp_path, monkeypatch, "--bits", "8", "--also")
    folder = model_folder("nl-large", tmp_path)
    card = Card.read(folder / "card.json")
    assert (card.name, card.code, card.licence, card.commit) == ("nl-large", "nl", "LGPL-2.1-or-later", "0a1b2c")
    assert "test, 8 bits, **as shipped**" in (folder / "README.md").read_text("utf-8")
    assert str(run.parent) not in (folder / "config.json").read_text("utf-8")  # where the treebank was
    assert len(dt.load(folder)("Wij lopen.").words) == 3
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (tmp_path / "nl-large" / "LICENSE").read_text("utf-8")
    assert "The model nl-large was trained" in (tmp_path / "nl-large" / "NOTICE").read_text("utf-8")

    (folder / "calibration.json").write_text("{}")  # whatever else lies in the folder travels, too
    pip = [sys.executable, "-m", "pip", "--quiet", "wheel", "--no-deps", "--wheel-dir", str(tmp_path)]
    subprocess.run([*pip, str(tmp_path / "nl-large")], check=True, capture_output=True)
    with zipfile.ZipFile(tmp_path / "discotree_nl_large-1.0.0-py3-none-any.whl") as archive:
        names = set(archive.namelist())
        about = {name.rpartition("/")[2]: archive.read(name) for name in names if ".dist-info/" in name}
    inside = {name.removeprefix("discotree_nl_large/model/") for name in names if "/model/" in name}
    assert inside == {path.name for path in folder.iterdir()}
    assert about["entry_points.txt"].decode().split() == ["[discotree.models]", "nl-large", "=", "discotree_nl_large"]
    metadata = email.message_from_bytes(about["METADATA"])
    assert (metadata["Name"], metadata["License-Expression"]) == ("discotree-nl-large", "LGPL-2.1-or-later")

    capsys.readouterr()
    with pytest.raises(SystemExit):
        make(run, tmp_path, monkeypatch)
    assert "nl-large is at version 1.0.0: give a newer one with --version" in capsys.readouterr().err
    monkeypatch.setattr(make_model, "fit_on_held_out", None)
    make(run, tmp_path, monkeypatch, "--version", "1.1.0", "--penalties", "none", "--also")  # asks for none
    assert re.search(
        r'^version = "1.1.0"$', (tmp_path / "nl-large" / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    assert not (folder / "calibration.json").exists()  # it was that of the older model


def test_labels_that_hardly_occur_are_left_out(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = dt.load(run / "model", "cpu").model.vocab.labels.symbols
    make(run, tmp_path, monkeypatch, "--bits", "8", "--also", "--least", "3")
    parser = dt.load(model_folder("nl-large", tmp_path), "cpu")
    kept = parser.model.vocab.labels.symbols
    assert 0 < len(kept) < len(trained)
    assert kept == [label for label in trained if label in kept]
    assert len(parser("Wij lopen.").words) == 3


def test_words_that_the_trees_lack_are_left_out(run: Path) -> None:
    model = read_model(run / "model")
    trees = load_splits(resolve(model.config.data))["train"].encoded[:3]
    smaller = make_model.with_own_words(model, trees, 1)
    kept = smaller.vocab.words.symbols
    assert 0 < len(kept) < len(model.vocab.words.symbols)
    words = [token.form for token in trees[0].tokens]
    counts = Counter(normalized(token.form) for tree in trees for token in tree.tokens)
    assert set(kept) == counts.keys()
    frequent = make_model.with_own_words(model, trees, 2).vocab.words.symbols
    assert set(frequent) == {word for word, count in counts.items() if count >= 2} != set()
    parsers = [dt.Parser(version, new_engine(version, "onnx-float32")) for version in (model, smaller)]
    assert parsers[0](words).to_dict() == parsers[1](words).to_dict()


def test_the_card_has_every_treebank_apart_small_ones_together_and_what_the_encoder_has_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe(tmp_path)
    other = tmp_path / "other.toml"
    other.write_text(recipe.read_text("utf-8"), "utf-8")
    sentences = {"dev": "15-17", "test": "18-20"}
    named = [
        f'data.{split}=[{{ file = "small.export", sentences = "{numbers}", name = "News" }}]'
        for split, numbers in sentences.items()
    ]
    train.train(load_recipe(recipe, [*TINY, f"data.folder={tmp_path}", "language=nl", *named]), tmp_path / "run")
    options = ("--also-score", f"Letters={other}", "--data", str(tmp_path), "--gpu-speed", "5000")
    make(tmp_path / "run", tmp_path / "out", monkeypatch, "--also", "--bits", "8", *options)
    folder = model_folder("nl-large", tmp_path / "out")
    card = Card.read(folder / "card.json")
    assert card.scores.together.f1 is not None
    assert card.other_scores == {"News": card.scores, "Letters": card.scores}  # the same trees by other names
    page = (folder / "README.md").read_text("utf-8")
    assert "| News, dev and test together |" in page
    assert "| Letters, test |" in page
    assert "- Encoder: pretrained on [Europarl](" in page
    assert "- Speed: about 5,000 sentences per second on one H200." in page
    assert "SPDX-License-Identifier: LicenseRef-European" in (tmp_path / "out" / "nl-large" / "NOTICE").read_text(
        "utf-8"
    )


def test_a_run_in_another_language_is_refused(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        make(run, tmp_path, monkeypatch, name="de-nc")
    assert "is for 'nl', and de-nc for 'de'" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
