"""All targets by name. One whose libraries are missing is skipped with a notice."""

import sys
from collections.abc import Sequence

from fuzz import treebanks
from fuzz.targets import Target

ALL: dict[str, Target] = {target.name: target for target in (*treebanks.TARGETS,)}


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
