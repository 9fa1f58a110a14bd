"""All targets by name. One whose libraries are missing is skipped with a notice."""

import sys
from collections.abc import Sequence

from fuzz import api, archives, model_folders, treebanks
from fuzz.targets import Target

TARGETS = (*treebanks.TARGETS, *treebanks.TABLES, *archives.TARGETS, *model_folders.TARGETS, *api.TARGETS)
ALL: dict[str, Target] = {target.name: target for target in TARGETS}


def ready_targets(names: Sequence[str], notice: bool = False) -> list[Target]:
    """Return the prepared targets of these names, without those that lack a library."""
    ready = []
    for name in names:
        try:
            ALL[name].prepare()
        except ImportError as error:
            if notice:
                print(f"{name}: skipped, {error}", file=sys.stderr)
        else:
            ready.append(ALL[name])
    return ready
