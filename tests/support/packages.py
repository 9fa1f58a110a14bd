"""Packages of models, laid out as pip leaves them."""

from pathlib import Path

import pytest

from discotree.models import finding

HOSTILE = 'raise RuntimeError("the code of a model\'s package was run")\n'


def model_package(site: Path, name: str, distribution: str = "", version: str = "1.0", value: str = "") -> Path:
    """Lay out a package with everything but its model, and return the folder for that. Importing it is an error."""
    distribution = distribution or f"discotree_{name.replace('-', '_')}"
    (site / distribution).mkdir(parents=True)
    (site / distribution / "__init__.py").write_text(HOSTILE)
    about = site / f"{distribution}-{version}.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {distribution}\nVersion: {version}\n")
    (about / "entry_points.txt").write_text(
        f"[console_scripts]\nx = y:z\n\n[discotree.models]\n{name} = {value or distribution}\n"
    )
    return site / distribution / finding.MODEL


def use_models_of(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the models in a folder be the only installed ones."""
    monkeypatch.setattr(finding, "SEARCH_PATH", [str(site)])
