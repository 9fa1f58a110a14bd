"""Load a parser by the name of its model; nothing is imported before it is needed."""

import os
from os import PathLike
from typing import TYPE_CHECKING

from discotree.errors import ModelError
from discotree.models.choice import Candidates
from discotree.models.finding import find, names

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

DEFAULT_MODEL = "DISCOTREE_MODEL"  # environment variable: the model where none is named


def load(
    name: str | PathLike[str] = "",
    device: str = "",
    revision: str = "",
    *,
    engine: str = "",
    threads: int = 0,
    text: str | None = None,
) -> "Parser":
    """Return the parser of a model, on a GPU if there is one and no device is named.

    ``name`` is an installed model (``nl``), a folder, or a model on the hub (``hub:org/name``), there with a
    ``revision``: a branch, a tag or a commit. Without a name, the environment variable DISCOTREE_MODEL decides, and
    then the language of ``text``; a text whose language is not certain raises InputError. ``engine`` is ``onnx`` (the
    default without a GPU), ``onnx-float32`` or ``torch``; ``threads`` limits those of a CPU.
    """
    name = name or os.environ.get(DEFAULT_MODEL, "")
    if not name and text is None:
        raise ModelError(f"name a model ({', '.join(names()) or 'none is installed'}), or give its text: load(text=…)")
    folder = find(name or Candidates.installed().choose(text or "").model, revision)
    from discotree.parsing.parser import Parser

    return Parser.from_pretrained(folder, device, engine=engine, threads=threads)
