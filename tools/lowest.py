"""Print constraints that pin every direct dependency to the lowest version that pyproject.toml allows.

    python tools/lowest.py > lowest.txt && PIP_CONSTRAINT=lowest.txt pip install ".[train]"

Dependencies of dependencies are left to pip. So is torch, a download of gigabytes per version: it keeps the version of
constraints.txt.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?(?:>=(?P<version>[\w.]+))?(?P<marker>\s*;.*)?")
KEPT = ("torch",)  # at the version of constraints.txt


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """Turn ``name[extra]>=1.2; marker`` into ``name==1.2; marker``."""
    for requirement in requirements:
        found = REQUIREMENT.fullmatch(requirement)
        if not found or not (found["version"] or found["name"] == "discotree"):
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound of the form name>=version")
        if found["name"] != "discotree" and found["name"] not in KEPT:
            yield f"{found['name']}=={found['version']}{found['marker'] or ''}"


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    print(*lowest([*project["dependencies"], *(one for extra in extras for one in extra)]), sep="\n")
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines():
        if line.partition("==")[0] in KEPT:
            print(line)


if __name__ == "__main__":
    main()
