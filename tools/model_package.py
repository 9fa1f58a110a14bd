"""The package around a model: models/NAME with its project file, licence, notice and import package.

models/nl/pyproject.toml                   what pip knows of discotree-nl
models/nl/LICENSE, NOTICE                  the licence of the model alone, and the attributions that it asks for
models/nl/src/discotree_nl/__init__.py     a line: nothing of it is ever run
models/nl/src/discotree_nl/model/          the model, all files of which are in the wheel; README.md is pip's page
"""

import re
import textwrap
from pathlib import Path

from model_sources import ATTRIBUTIONS, About

from discotree.models.card import Card
from discotree.models.finding import GROUP, MODEL

ROOT = Path(__file__).parent.parent
MODELS = ROOT / "models"
FIRST_VERSION = "1.0.0"
NEEDS = "0.3.0"  # the oldest discotree that the models work with
MAX_WHEEL_MB = 100  # what package indexes take without being asked
LICENCE_TEXTS = {
    "Apache-2.0": ROOT / "src" / "discotree" / "network" / "pieces" / "LICENSE",
    "CC-BY-3.0": MODELS / "en" / "LICENSE",
    "CC-BY-4.0": MODELS / "is" / "LICENSE",
    "CC-BY-SA-4.0": MODELS / "de-early" / "LICENSE",
    "CC-BY-NC-SA-4.0": MODELS / "de-nc" / "LICENSE",
    "LGPL-2.1-or-later": MODELS / "nl" / "LICENSE",
    "LGPL-3.0-or-later": MODELS / "fo" / "LICENSE",
}

PROJECT = """[build-system]
requires = ["hatchling>=1.26"] # the first with SPDX expressions and licence files (PEP 639)
build-backend = "hatchling.build"

[project]
name = "discotree-{name}"
version = "{version}"
description = "A model of discotree for {language}: discontinuous constituent trees from {treebanks}"
readme = "src/{package}/{model}/README.md"
requires-python = ">=3.10"
license = "{licence}" # of the model; the code of discotree has its own
license-files = ["LICENSE", "NOTICE"]
authors = [{{ name = "discotree contributors" }}]
keywords = ["parsing", "constituency", "discontinuous", "nlp", "model", "{code}"]
classifiers = [
    "Intended Audience :: Science/Research",
    "Programming Language :: Python :: 3",
    "Topic :: Text Processing :: Linguistic",
]
dependencies = ["discotree{extra}>={needs}"]

[project.entry-points."{group}"]
{name} = "{package}"

[tool.hatch.build.targets.wheel]
packages = ["src/{package}"]
"""
INIT = '"""The model {name} of discotree, in the folder ``{model}``: load it with ``discotree.load("{name}")``."""\n'


def package_of(name: str) -> str:
    """Return the name that import gives the package of a model."""
    return "discotree_" + name.replace("-", "_")


def model_folder(name: str, models: Path = MODELS) -> Path:
    """Return the folder of a model in its package."""
    return models / name / "src" / package_of(name) / MODEL


def version_of(name: str, models: Path = MODELS) -> str:
    """Return the version of a package that is there, "" where there is none."""
    path = models / name / "pyproject.toml"
    found = re.search(r'^version = "(.+)"$', path.read_text("utf-8"), re.MULTILINE) if path.exists() else None
    return found[1] if found else ""


def project(card: Card, about: About, version: str) -> str:
    """Return the project file of a model's package."""
    return PROJECT.format(
        name=card.name,
        version=version,
        language=card.language,
        treebanks=_listed([treebank.name for treebank in card.treebanks]),
        package=package_of(card.name),
        model=MODEL,
        licence=card.licence,
        code=card.code,
        extra=about.extra and f"[{about.extra}]",
        needs=NEEDS,
        group=GROUP,
    )


def notice(card: Card, about: About) -> str:
    """Return the attributions that the licences of treebanks, texts and encoders ask for."""
    names = [bank.name for bank in about.treebanks]
    banks = _listed([f"the {name}" if " " in name and " and " not in name else name for name in names])
    changes = f", {about.changes}" if about.changes else ""
    base = (
        f" It was fine-tuned from the model {about.base}; the sources of both are listed below." if about.base else ""
    )
    terms = "" if card.commercial else " It may not be used commercially."
    made = f"The model {card.name} was trained by the discotree contributors on {banks}{changes}.{base}{terms}"
    blocks = [textwrap.fill(made, 120, break_on_hyphens=False)]
    for source in about.sources:
        title, lines = ATTRIBUTIONS[source]
        blocks.append(f"{title}, {source.url}\n{lines}\nSPDX-License-Identifier: {source.licence}")
    return "\n\n".join(blocks) + "\n"


def write_package(card: Card, about: About, version: str, models: Path = MODELS) -> Path:
    """Write all of a package but the model's folder, and return the package's folder."""
    folder = models / card.name
    package = folder / "src" / package_of(card.name)
    package.mkdir(parents=True, exist_ok=True)
    licence = LICENCE_TEXTS[card.licence].read_text("utf-8")
    texts = {
        folder / "pyproject.toml": project(card, about, version),
        folder / "LICENSE": licence,
        folder / "NOTICE": notice(card, about),
        package / "__init__.py": INIT.format(name=card.name, model=MODEL),
    }
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return folder


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
