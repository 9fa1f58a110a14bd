"""What names of files say, and text as files hold it: suffixes, stems, encodings, byte order marks."""

import bz2
import codecs
import gzip
import lzma
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, AnyStr

STANDARD_STREAM = "-"
COMPRESSED: dict[str, Callable[[Any, Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")
ASCII = "".join(map(chr, (9, 10, *range(32, 127))))
MAX_DIGITS = 4000  # Python refuses to make an integer of more


# Text


def without_bom(beginning: AnyStr) -> AnyStr:
    """Return the beginning of a file without its byte order mark."""
    if isinstance(beginning, str):
        return beginning.removeprefix(BOM_UTF8.decode())
    return beginning.removeprefix(BOM_UTF8)


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a small file in UTF-8, with or without a byte order mark."""
    return without_bom(Path(path).read_text("utf-8"))


def is_encoding(name: str) -> bool:
    """Return whether text can be written in it, piece by piece, and read again.

    Python also knows codecs that encode no text, such as rot13, or only names of hosts, such as idna.
    """
    try:
        encode = codecs.getincrementalencoder(name)().encode
        return b"".join([encode(ASCII), encode(ASCII, True)]).decode(name) == ASCII * 2
    except (LookupError, ValueError, TypeError, OSError):  # a UnicodeError is a ValueError
        return False


def keeps_ascii(name: str) -> bool:
    """Return whether ASCII is the same bytes in this encoding, as in UTF-8 and Latin-1; in UTF-16 it is not."""
    return without_bom(ASCII.encode(name)) == ASCII.encode("ascii")


# Names


def base_name(name: str) -> str:
    """Return a file's name without its folders and the suffix that says how it is compressed."""
    base = PurePosixPath(name).name
    for suffix in COMPRESSED:
        if base.lower().endswith(suffix):
            return base[: -len(suffix)]
    return base


def is_compressed(name: str) -> bool:
    return name.lower().endswith(tuple(COMPRESSED))


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


def stems(names: list[str]) -> list[str]:
    """Return what tells files apart: their names without suffixes and without the ``_words`` that all end in.

    Files of the same name keep their folders.
    """
    paths = [PurePosixPath(name.replace(os.sep, "/")) for name in names]
    stems = [base_name(path.name).rpartition(".")[0] or path.name for path in paths]
    if len(set(stems)) < len(stems):
        return [str(path.with_name(stem)) for path, stem in zip(paths, stems, strict=True)]
    split = [stem.split("_") for stem in stems]
    while len(split) > 1 and all(len(words) > 1 and words[-1] == split[0][-1] for words in split):
        split = [words[:-1] for words in split]
    return ["_".join(words) for words in split]


def natural_order(name: str) -> list[tuple[int, int, str]]:
    """Return a sort key that puts 2.xml before 10.xml."""
    pieces = re.findall(r"[0-9]+|[^0-9]", name)
    return [(0, int(piece[:MAX_DIGITS]), piece) if piece[0] in "0123456789" else (1, 0, piece) for piece in pieces]
