"""Models by name: installed ones, folders, the hub; and their cards."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.models import CARD, README, saved_model, with_card
from support.packages import model_package, use_models_of

import discotree
from discotree import ModelError
from discotree.cli import app
from discotree.models import finding
from discotree.models.card import Metrics, Source
from discotree.models.finding import published


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_card(saved_model(tmp_path_factory.mktemp("models") / "xx"))


@pytest.fixture
def site(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with a single model, xx."""
    shutil.copytree(model, model_package(tmp_path / "site", "xx"))
    use_models_of(tmp_path / "site", monkeypatch)
    return tmp_path / "site"


@pytest.fixture
def shelf(site: Path) -> Path:
    """The folder of the model xx."""
    return site / "discotree_xx" / "model"


# Cards


@pytest.mark.usefixtures("shelf")
def test_a_card_says_what_is_in_its_file() -> None:
    (card,) = finding.installed().values()
    assert (card.name, card.language, card.commercial, card.sentences) == ("xx", "German", False, 1020)
    assert card.treebanks == (Source("Twenty Trees", "https://example.org", "CC BY-NC 4.0"),)
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
        ({"name": "yy"}, "the card of 'yy', expected that of 'xx'"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"treebanks": {}}, "treebanks: expected a list"),
        ({"treebanks": [{"name": "T", "url": "u"}]}, "treebanks: 'licence' is missing"),
        ({"scores": {"dev": CARD["scores"]["dev"]}}, "scores: 'test' is missing"),
        ({"scores": CARD["scores"] | {"dev": {"f1": 1}}}, "scores: dev: 'discontinuous_f1' is missing"),
        ({"scores": CARD["scores"] | {"dev": CARD["scores"]["dev"] | {"f1": "1"}}}, "scores: dev: f1: expected"),
        ({"scores": 7}, "scores: expected a table, got 7"),
    ],
)
def test_a_broken_card_is_a_warning_with_its_package_and_path(
    shelf: Path, change: dict[str, object], complaint: str, caplog: pytest.LogCaptureFixture
) -> None:
    with_card(shelf, CARD | change)
    assert finding.installed() == {}
    (message,) = caplog.messages
    assert message.startswith(str(shelf / "card.json"))
    assert complaint in message


@pytest.mark.parametrize("text", ["", "{", "[]", '"card"', "[" * 100_000, json.dumps(CARD)[:-1]])
def test_a_card_that_is_no_table_is_a_warning(shelf: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    with_card(shelf, text)
    assert finding.installed() == {}
    assert re.search(r"card\.json: (not a card|expected a table)", caplog.text)
    (shelf / "card.json").unlink()
    assert finding.installed() == {}
    assert "not a card" in caplog.messages[-1]


def test_the_cards_of_installed_models_are_in_order() -> None:
    for name, card in finding.installed().items():
        assert card.name == name
        assert (finding.find(name) / "README.md").exists()


# Finding and loading


def test_a_model_is_found_by_its_name_or_its_folder(shelf: Path, model: Path) -> None:
    assert finding.find("xx") == shelf
    assert finding.find(str(model)) == model


@pytest.mark.parametrize("name", ["yy", "", "discotree_xx", "xx/card.json", "XX"])
@pytest.mark.usefixtures("shelf")
def test_what_is_no_model_is_told_which_there_are(name: str) -> None:
    with pytest.raises(ModelError, match=r"neither a folder nor an installed model \(xx\)"):
        finding.find(name)


def test_no_models_are_no_catastrophe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_models_of(tmp_path / "nowhere", monkeypatch)
    assert finding.installed() == {}
    with pytest.raises(ModelError, match=r"^the model 'nl' is not installed: pip install discotree-nl$"):
        finding.find("nl")
    with pytest.raises(ModelError, match=r"model \(none are installed\)$"):
        finding.find("xx")
    listed = CliRunner().invoke(app, ["models"]).stdout
    assert listed.startswith("no models are installed\n")
    assert re.search(r"de +German +\d+ +\d+ +Apache-2.0", listed)
    assert re.search(r"de-nc +German +\d+ +\d+ +CC-BY-NC-SA-4.0", listed)
    assert "to install one: pip install discotree-NAME" in listed
    assert re.search(r"de-nc.*: Non-commercial use only\.", listed)
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.usefixtures("shelf")
def test_a_name_that_is_nearly_that_of_a_model_is_told_so() -> None:
    with pytest.raises(ModelError, match=r"^there is no model 'nl-larg'; did you mean 'nl-large'\?$"):
        finding.find("nl-larg")


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
        "import sys, discotree\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
        "from discotree import *\n"
        "assert 'torch' not in sys.modules\n"
        "assert 'Parser' in dir(discotree) and not hasattr(discotree, 'Persar')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# discotree models


def test_models_are_listed_with_their_licences(site: Path, shelf: Path) -> None:
    other = model_package(site, "nl-large")
    other.mkdir()
    with_card(other, CARD | {"name": "nl-large", "commercial": True, "licence": "CC BY-SA 4.0", "speed": 123.4})
    done = CliRunner().invoke(app, ["models"])
    assert done.exit_code == 0
    rows = [re.split(r"\s{2,}", line.strip()) for line in done.stdout.splitlines()]
    head, first, second, empty, *rest = rows
    available = rest[: rest.index([""])]
    size = sum(path.stat().st_size for path in shelf.iterdir())
    assert (head[0], empty) == ("name", [""])
    assert first == ["nl-large", "German", "0", "123", "80.5", "61.0", "CC BY-SA 4.0"]
    assert second == ["xx", "German", f"{size / 1e6:.0f}", "–", "80.5", "61.0", "CC BY-NC 4.0"]
    nl = published()["nl"]
    rate = "–" if nl.speed is None else f"{nl.speed:.0f}"
    assert ["nl", "Dutch", f"{nl.megabytes}", rate, "LGPL-2.1-or-later"] in available
    notes = " ".join(done.stdout.split())
    assert "nl-large: It has learned nothing." in notes
    assert "xx: Non-commercial use only. It has learned nothing." in notes
    assert f"nl: {nl.weaknesses}" in notes
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "nl-large" not in {row[0] for row in available}  # it is installed


@pytest.mark.usefixtures("shelf")
def test_models_as_json() -> None:
    assert json.loads(CliRunner().invoke(app, ["models", "--to", "json"]).stdout) == [CARD]
    assert json.loads(CliRunner().invoke(app, ["models", "xx", "--to", "json"]).stdout) == CARD
    assert isinstance(CliRunner().invoke(app, ["models", "yy", "--to", "json"]).exception, ModelError)


def test_the_card_of_one_model(shelf: Path) -> None:
    assert CliRunner().invoke(app, ["models", "xx"]).stdout == README
    (shelf / "README.md").unlink()
    assert isinstance(CliRunner().invoke(app, ["models", "xx"]).exception, ModelError)
    assert isinstance(CliRunner().invoke(app, ["models", "yy"]).exception, ModelError)


def test_a_folder_with_the_name_of_an_installed_model_is_a_folder_if_it_looks_like_one(
    shelf: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """./xx, found and then loaded by what was found, must not become the installed xx."""
    shutil.copytree(model, tmp_path / "here" / "xx")
    monkeypatch.chdir(tmp_path / "here")
    assert finding.find("xx") == shelf
    for name in ("./xx", Path("xx")):
        found = finding.find(name)
        assert found.samefile(tmp_path / "here" / "xx")
        assert finding.find(str(found)) == found
    assert discotree.load(Path("xx")).config.language == discotree.load("./xx").config.language


def test_a_name_that_no_file_can_have_is_no_model() -> None:
    with pytest.raises(ModelError, match="there is no model"):
        discotree.load("x" * 5000)
