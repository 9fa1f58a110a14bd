"""Models by name: those that come with discotree, folders, the hub; and their cards."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.models import CARD, README, saved_model, with_card
from typer.testing import CliRunner

import discotree
from discotree import ModelError
from discotree.cli import app
from discotree.models import finding as bundled
from discotree.models.card import Metrics, Treebank


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_card(saved_model(tmp_path_factory.mktemp("models") / "xx"))


@pytest.fixture
def shelf(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bundled models that holds a single one, xx."""
    folder = tmp_path / "models"
    shutil.copytree(model, folder / "xx")
    (folder / "__pycache__").mkdir()
    monkeypatch.setattr(bundled, "MODELS", folder)
    return folder


# Cards


@pytest.mark.usefixtures("shelf")
def test_a_card_says_what_is_in_its_file() -> None:
    (card,) = bundled.bundled().values()
    assert (card.name, card.language, card.commercial, card.sentences) == ("xx", "German", False, 1020)
    assert card.treebanks == (Treebank("Twenty Trees", "https://example.org", "CC BY-NC 4.0"),)
    assert card.scores.test == Metrics(80.5, 61.0, 40.25, 97.5, None)
    assert isinstance(card.scores.test.discontinuous_f1, float)
    with pytest.raises(AttributeError):
        card.name = "yy"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"commercial": 1}, "commercial: expected bool, got 1"),
        ({"sentences": True}, "sentences: expected int, got True"),
        ({"sentences": "1020"}, "sentences: expected int, got '1020'"),
        ({"licence": None}, "licence: expected str, got None"),
        ({"name": "yy"}, "the card of 'yy', in the folder of 'xx'"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"treebanks": {}}, "treebanks: expected a list"),
        ({"treebanks": [{"name": "T", "url": "u"}]}, "treebanks: 'licence' is missing"),
        ({"scores": {"dev": CARD["scores"]["dev"]}}, "scores: 'test' is missing"),
        ({"scores": CARD["scores"] | {"dev": {"f1": 1}}}, "scores: dev: 'discontinuous_f1' is missing"),
        ({"scores": CARD["scores"] | {"dev": CARD["scores"]["dev"] | {"f1": "1"}}}, "scores: dev: f1: expected"),
        ({"scores": 7}, "scores: expected a table, got 7"),
    ],
)
def test_a_broken_card_is_an_error_with_its_path(shelf: Path, change: dict[str, object], complaint: str) -> None:
    with_card(shelf / "xx", CARD | change)
    with pytest.raises(ModelError) as caught:
        bundled.bundled()
    assert str(caught.value).startswith(str(shelf / "xx" / "card.json"))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", '"card"', "[" * 100_000, json.dumps(CARD)[:-1]])
def test_a_card_that_is_no_table_is_an_error(shelf: Path, text: str) -> None:
    with_card(shelf / "xx", text)
    with pytest.raises(ModelError, match=r"card\.json: (not a card|expected a table)"):
        bundled.bundled()
    (shelf / "xx" / "card.json").unlink()
    with pytest.raises(ModelError, match="not a card"):
        bundled.bundled()


def test_the_cards_that_come_with_discotree_are_in_order() -> None:
    for name, card in bundled.bundled().items():
        assert card.name == name
        assert (bundled.MODELS / name / "README.md").exists()


# Finding and loading


def test_a_model_is_found_by_its_name_or_its_folder(shelf: Path, model: Path) -> None:
    assert bundled.find("xx") == shelf / "xx"
    assert bundled.find(str(model)) == model


@pytest.mark.parametrize("name", ["yy", "", "__pycache__", "xx/card.json"])
@pytest.mark.usefixtures("shelf")
def test_what_is_no_model_is_told_which_there_are(name: str) -> None:
    with pytest.raises(ModelError, match=r"neither a folder nor one that comes with discotree \(xx\)"):
        bundled.find(name)


def test_no_models_are_no_catastrophe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "MODELS", tmp_path / "nowhere")
    assert bundled.bundled() == {}
    with pytest.raises(ModelError, match=r"\(none\)"):
        bundled.find("nl")
    assert "no models come" in CliRunner().invoke(app, ["models"]).stderr


@pytest.mark.usefixtures("shelf")
def test_load_gives_a_parser() -> None:
    parser = discotree.load("xx")
    assert isinstance(parser, discotree.Parser)
    assert parser("Es kam nichts Interessantes.").words == ("Es", "kam", "nichts", "Interessantes", ".")


@pytest.mark.parametrize("device", ["gpu", "cuda:99", "7 of 9"])
@pytest.mark.usefixtures("shelf")
def test_a_device_that_is_not_there_is_an_error(device: str) -> None:
    with pytest.raises(ModelError, match=f"the device '{device}' cannot be used"):
        discotree.load("xx", device)


def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a model"):
        discotree.load(str(tmp_path))


# The public names


def test_the_package_is_imported_without_torch() -> None:
    code = (
        "import sys, discotree; from discotree import *\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
        "assert 'Parser' in dir(discotree) and not hasattr(discotree, 'Persar')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# discotree models


def test_models_are_listed_with_their_licences(shelf: Path) -> None:
    (shelf / "yy").mkdir()
    with_card(shelf / "yy", CARD | {"name": "yy", "commercial": True, "licence": "CC BY-SA 4.0"})
    done = CliRunner().invoke(app, ["models"])
    assert done.exit_code == 0
    head, first, second = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    assert head[0] == "name"
    licence = "CC BY-NC 4.0 (non-commercial use only)"
    assert first == ["xx", "German", "Twenty Trees", licence, "1,020", "80.5", "61.0"]
    assert second == ["yy", "German", "Twenty Trees", "CC BY-SA 4.0", "1,020", "80.5", "61.0"]


@pytest.mark.usefixtures("shelf")
def test_models_as_json() -> None:
    assert json.loads(CliRunner().invoke(app, ["models", "--to", "json"]).stdout) == [CARD]
    assert json.loads(CliRunner().invoke(app, ["models", "xx", "--to", "json"]).stdout) == CARD
    assert isinstance(CliRunner().invoke(app, ["models", "yy", "--to", "json"]).exception, ModelError)


def test_the_card_of_one_model(shelf: Path) -> None:
    assert CliRunner().invoke(app, ["models", "xx"]).stdout == README
    (shelf / "xx" / "README.md").unlink()
    assert isinstance(CliRunner().invoke(app, ["models", "xx"]).exception, ModelError)
    assert isinstance(CliRunner().invoke(app, ["models", "yy"]).exception, ModelError)


def test_a_folder_with_the_name_of_a_bundled_model_is_a_folder_if_it_looks_like_one(
    shelf: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """./xx, found and then loaded by what was found, must not become the bundled xx."""
    shutil.copytree(model, tmp_path / "here" / "xx")
    monkeypatch.chdir(tmp_path / "here")
    assert bundled.find("xx") == shelf / "xx"
    for name in ("./xx", Path("xx")):
        found = bundled.find(name)
        assert found.samefile(tmp_path / "here" / "xx")
        assert bundled.find(str(found)) == found
    assert discotree.load(Path("xx")).config.language == discotree.load("./xx").config.language


def test_a_name_that_no_file_can_have_is_no_model() -> None:
    with pytest.raises(ModelError, match="there is no model"):
        discotree.load("x" * 5000)
