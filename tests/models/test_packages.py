"""Packages of models: found without running them, and a broken one costs nothing but itself."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.models import CARD, with_card
from support.packages import HOSTILE, model_package, use_models_of

from discotree.errors import ModelError
from discotree.models import finding
from discotree.models.finding import find, installed, names


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages with a good model, xx."""
    good = model_package(tmp_path, "xx")
    good.mkdir()
    with_card(good)
    use_models_of(tmp_path, monkeypatch)
    return tmp_path


def complaint(name: str) -> str:
    """Return what is wrong with a model, while the good one goes on working."""
    assert find("xx").is_dir()
    assert list(installed()) == ["xx"]
    assert name in names()
    with pytest.raises(ModelError) as caught:
        find(name)
    return str(caught.value)


def test_finding_a_model_runs_nothing_of_its_package(site: Path) -> None:
    assert (site / "discotree_xx" / "__init__.py").read_text() == HOSTILE
    assert find("xx") == site / "discotree_xx" / "model"
    assert "discotree_xx" not in sys.modules


def test_finding_a_model_imports_little() -> None:
    """It is part of the start of every parse; importing importlib.metadata would take longer than the search."""
    code = (
        "import sys; from discotree.models.finding import find; find('nl')\n"
        "assert not {'importlib.metadata', 'email', 'numpy', 'discotree_nl'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_model_is_found_where_a_path_file_leads(tmp_path: Path) -> None:
    """As an editable installation leaves it: the metadata lie in one folder, the package in another."""
    folder = model_package(tmp_path / "source", "xx")
    folder.mkdir()
    with_card(folder)
    (tmp_path / "site").mkdir()
    os.rename(tmp_path / "source" / "discotree_xx-1.0.dist-info", tmp_path / "site" / "discotree_xx-1.0.dist-info")
    (tmp_path / "site" / "_xx.pth").write_text(str(tmp_path / "source"))
    code = (
        f"import site; site.addsitedir({str(tmp_path / 'site')!r})\n"
        "from discotree.models.finding import find; print(find('xx'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(folder)


def test_a_package_without_a_model_is_named(site: Path) -> None:
    model_package(site, "yy", version="2.0")
    assert complaint("yy") == (
        f"discotree-yy 2.0: {site / 'discotree_yy'} has no folder 'model'; install it again, unpacked"
    )


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("not_there", "there is no package not_there; install it again, unpacked"),
        ("discotree_yy:model", "'discotree_yy:model' is not the name of a package that holds a model"),
        ("discotree_yy.inner", "'discotree_yy.inner' is not the name of a package that holds a model"),
        ("../discotree_yy", "'../discotree_yy' is not the name of a package that holds a model"),
        ("", "'' is not the name of a package that holds a model"),
        ("os", "there is no package os; install it again, unpacked"),
    ],
)
def test_an_entry_point_that_leads_nowhere_is_named(site: Path, value: str, problem: str) -> None:
    model_package(site, "yy")
    path = site / "discotree_yy-1.0.dist-info" / "entry_points.txt"
    path.write_text(f"[discotree.models]\nyy = {value}\n")
    assert complaint("yy") == f"discotree-yy 1.0: {problem}"


def test_entry_points_that_cannot_be_read_are_none(site: Path) -> None:
    model_package(site, "yy")
    (site / "discotree_yy-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[discotree.models]")
    assert names() == ["xx"]


def test_two_packages_for_one_model_are_both_named(site: Path) -> None:
    for distribution in ("anybodys", "somebody_elses"):
        folder = model_package(site, "yy", distribution)
        folder.mkdir()
        with_card(folder, CARD | {"name": "yy"})
    assert complaint("yy") == "the model 'yy' is in anybodys 1.0 and somebody-elses 1.0: uninstall all but one"


def test_the_first_installation_on_the_path_hides_the_others(
    site: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a virtual environment hides a package of the system."""
    below = tmp_path_factory.mktemp("below")
    model_package(below, "xx", version="0.9").mkdir()
    monkeypatch.setattr(finding, "SEARCH_PATH", [str(site), str(below)])
    assert find("xx").parent.parent == site


def test_a_model_in_an_archive_is_refused_with_a_reason(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site / "source").mkdir()
    folder = model_package(site / "source", "yy")
    folder.mkdir()
    with_card(folder)
    with zipfile.ZipFile(site / "packed.zip", "w") as archive:
        for path in sorted((site / "source").rglob("*")):
            archive.write(path, path.relative_to(site / "source"))
    monkeypatch.setattr(finding, "SEARCH_PATH", [str(site), str(site / "packed.zip")])
    with pytest.raises(ModelError) as caught:
        find("yy")
    assert str(caught.value).endswith("has no folder 'model'; install it again, unpacked")
    assert find("xx").is_dir()


def test_a_model_that_is_installed_later_is_found(site: Path) -> None:
    with pytest.raises(ModelError, match="there is no model 'yy'"):
        find("yy")
    folder = model_package(site, "yy")
    folder.mkdir()
    assert find("yy") == folder
    assert names() == ["xx", "yy"]
