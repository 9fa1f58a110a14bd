"""Targets: compressed files and archives. An input is a suffix, a line end, and the content of the file."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
import tempfile
import zipfile
from pathlib import Path

from fuzz.targets import Target, WrongResult
from support.mutants import mutate

from discotree import read

CONTENT = b"(ROOT (N 0=a) (N 1=b))\n" * 5
PACKERS = {
    ".gz": (lambda raw: gzip.compress(raw, mtime=0), gzip.decompress),
    ".bz2": (bz2.compress, bz2.decompress),
    ".xz": (lzma.compress, lzma.decompress),
}


def zipped(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name in ("a.dbr", "b.dbr", "README"):
            archive.writestr(zipfile.ZipInfo(name), CONTENT, method)
    return buffer.getvalue()


def tarred() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("a.dbr", "b.dbr", "README"):
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            archive.addfile(member, io.BytesIO(CONTENT))
    return buffer.getvalue()[:6144]  # three members and the end mark, without the padding to a record


class ArchiveTarget(Target):
    """Reading a file by its suffix; what is packed is damaged before or after it is packed."""

    share = 0.2

    def __init__(self, name: str, contents: dict[str, bytes]) -> None:
        self.name = name
        self.contents = contents

    def prepare(self) -> None:
        super().prepare()
        self.folder = tempfile.TemporaryDirectory(prefix="discotree-fuzz-")

    def seeds(self) -> list[bytes]:
        return [f"{suffix}\n".encode() + raw for suffix, raw in self.contents.items()]

    def damage(self, rng: random.Random, raw: bytes) -> bytes:
        name, _, content = raw.partition(b"\n")
        packer = PACKERS.get(Path(name.decode()).suffix)
        if packer and rng.randrange(2):
            try:
                return name + b"\n" + packer[0](mutate(rng, packer[1](content), ()))
            except (OSError, EOFError, lzma.LZMAError, MemoryError):  # cannot be unpacked, or not packed in the bound
                pass
        return name + b"\n" + mutate(rng, content, ())

    def run(self, raw: bytes) -> None:
        name, _, content = raw.partition(b"\n")
        suffix = name.decode(errors="replace")
        if suffix not in self.contents:  # a shorter input that is another thing
            return
        path = Path(self.folder.name) / f"mutant{suffix}"
        path.write_bytes(content)
        for tree in read(path, on_error=[].append):
            if not tree.id:
                raise WrongResult("a tree of an archive has no id")

    def close(self) -> None:
        self.folder.cleanup()


TARGETS: list[Target] = [
    ArchiveTarget("zip", {".zip": zipped(zipfile.ZIP_DEFLATED)}),
    ArchiveTarget(
        "tar", {".tar": tarred(), **{f".tar{suffix}": pack(tarred()) for suffix, (pack, _) in PACKERS.items()}}
    ),
    ArchiveTarget("compressed", {f".dbr{suffix}": pack(CONTENT) for suffix, (pack, _) in PACKERS.items()}),
]
