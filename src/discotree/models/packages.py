"""Models as packages: what pip has installed, found through the entry point group ``discotree.models``.

    [project.entry-points."discotree.models"]
    nl = "discotree_nl"                              the model's name, and the package whose folder ``model`` holds it

Nothing of a package is imported. The metadata of all packages are read here, as importlib.metadata would do, because
importing that takes longer than all of this, on every start of ``discotree parse``.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

from discotree.encoding.plain_files import read_plain
from discotree.errors import ModelError

GROUP = "discotree.models"
METADATA, ENTRY_POINTS = ".dist-info", "entry_points.txt"
MODEL = "model"  # the folder in a package that holds its model
MODEL_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*", re.ASCII)
PACKAGE = re.compile(r"[A-Za-z_]\w*", re.ASCII)  # without a dot: nothing has to be imported to find it
MAX_ENTRY_POINTS_BYTES = 1 << 20

SEARCH_PATH: list[str] | None = None  # folders to look in; None: sys.path


class ModelPackage(NamedTuple):
    """A package that says it holds a model."""

    model: str  # the name of the model
    distribution: str  # what pip calls the package, with its version
    package: str  # what import calls it

    def folder(self) -> Path:
        """Return the folder of the model; a package that has none is a ModelError with its name."""
        if not PACKAGE.fullmatch(self.package):
            raise ModelError(f"{self.distribution}: {self.package!r} is not the name of a package that holds a model")
        try:
            spec = PathFinder.find_spec(self.package, _search_path())
            found = [Path(place).absolute() for place in (spec and spec.submodule_search_locations) or ()]
        except (ImportError, OSError, ValueError) as error:
            raise ModelError(f"{self.distribution}: the package {self.package} cannot be found: {error}") from None
        for place in found:
            if (place / MODEL).is_dir():
                return place / MODEL
        where = f"there is no folder {MODEL!r} in {found[0]}" if found else f"there is no package {self.package}"
        raise ModelError(f"{self.distribution}: {where}: install it again, unpacked")


def model_packages(anew: bool = False) -> dict[str, list[ModelPackage]]:
    """Return the installed packages by the names of their models; only a mistake makes them several for one name.

    A process looks once, and again where it is told to or ``sys.path`` has changed.
    """
    if anew:
        _scan.cache_clear()
    return _scan(tuple(_search_path()))


def package_folder(packages: Sequence[ModelPackage]) -> Path:
    """Return the folder of the model in a package; two packages for one model are a ModelError that names both."""
    if len(packages) > 1:
        named = " and ".join(package.distribution for package in packages)
        raise ModelError(f"the model {packages[0].model!r} is in {named}: uninstall all but one")
    return packages[0].folder()


def archived(model: str) -> str:
    """Return the name of the package that holds a model in a zip archive, which cannot be used; "" if there is none."""
    from importlib import metadata

    for distribution in metadata.distributions(path=[place for place in _search_path() if os.path.isfile(place)]):
        if any(entry.group == GROUP and entry.name == model for entry in distribution.entry_points):
            return str(distribution.metadata["Name"])
    return ""


def _search_path() -> list[str]:
    return sys.path if SEARCH_PATH is None else SEARCH_PATH


@cache
def _scan(search_path: tuple[str, ...]) -> dict[str, list[ModelPackage]]:
    found: dict[str, list[ModelPackage]] = {}
    seen = set()
    for place in search_path:
        try:
            names = sorted(name for name in os.listdir(place or os.curdir) if name.endswith(METADATA))
        except OSError:  # no folder: an archive, or nothing at all
            continue
        for name in names:
            distribution, _, version = name.removesuffix(METADATA).partition("-")
            distribution = distribution.replace("_", "-").lower()
            if distribution not in seen:  # the first on the path hides the others, as for import
                seen.add(distribution)
                for model, package in _entries(os.path.join(place, name, ENTRY_POINTS)):
                    found.setdefault(model, []).append(
                        ModelPackage(model, f"{distribution} {version}".strip(), package)
                    )
    return dict(sorted(found.items()))


def _entries(path: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of our group in a file of entry points; one that cannot be read has none."""
    try:
        size = os.stat(path).st_size  # most packages have no such file, and a small buffer is quick to make
        content = read_plain(path, min(size, MAX_ENTRY_POINTS_BYTES))
    except (OSError, ValueError):
        return
    if GROUP.encode() not in content:
        return
    section = ""
    for line in content.decode("utf-8", "replace").splitlines():
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[] ")
        elif section == GROUP and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            if MODEL_NAME.fullmatch(name.strip()):
                yield name.strip(), value.strip()
