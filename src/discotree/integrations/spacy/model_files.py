"""A model folder ↔ bytes, for pipelines that carry their model."""

from pathlib import Path

import srsly  # type: ignore[import-untyped]

from discotree.errors import ModelError


def pack_folder(folder: Path) -> bytes:
    """Return all files of a folder in one message."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    data: bytes = srsly.msgpack_dumps({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
    return data


def unpack_folder(data: bytes, folder: Path) -> None:
    """Write the files of a message into a folder, and nowhere else."""
    folder = folder.resolve()
    for name, content in srsly.msgpack_loads(data).items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder):
            raise ModelError(f"the model contains a file {name!r} outside its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
