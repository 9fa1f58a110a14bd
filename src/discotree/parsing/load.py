"""Load a parser by the name of its model, without torch before it is needed."""

from os import PathLike
from typing import TYPE_CHECKING

from discotree.errors import requires_extra
from discotree.models.finding import find

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser


def load(name: str | PathLike[str], device: str = "", revision: str = "") -> "Parser":
    """Return the parser of a model, on a GPU if there is one and no device is named.

    ``name`` is a bundled model (``nl``), a folder, or a model on the hub (``hub:org/name``), there with a ``revision``:
    a branch, a tag or a commit.
    """
    folder = find(name, revision)  # a wrong name is an error even where torch is missing
    with requires_extra("parser"):
        from discotree.parsing.parser import Parser
    return Parser.from_pretrained(folder, device)
