"""Raw text to learn from: files, plain or compressed, each read once or several times in a pass.

``TEXT*8`` on the command line makes a small file weigh more: it stands for eight copies of the file.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob, has_magic

from discotree.errors import ConfigError, TreebankError
from discotree.files.reading import ByteCounter, open_binary, open_compressed, readable
from discotree.text import TOKEN, decode, sentences

MAX_REPEAT = 1000
_REPEATED = re.compile(r"(.+)\*([0-9]+)", re.DOTALL)


@dataclass(frozen=True)
class TextSource:
    """A file of text, and how often a pass over all text reads it."""

    path: str
    repeat: int = 1

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def lines(self, on_bytes: ByteCounter | None = None) -> Iterator[str]:
        """Yield the lines of the file, decompressed where its name says so.

        A line of more than 64 KiB comes in pieces, so no file can fill the memory. ``on_bytes`` counts what is read
        from the disk.
        """
        with readable(self.path), open_binary(self.path, on_bytes) as raw, open_compressed(raw, self.path) as stream:
            yield from decode(stream, self.path)

    def sentences(self, language: str = "", on_bytes: ByteCounter | None = None) -> Iterator[list[str]]:
        """Yield the words of each sentence.

        With a language, every line is a paragraph, split into sentences and tokens by the rules of that language.
        Without one, every line is a sentence whose tokens have spaces between them.
        """
        for line in self.lines(on_bytes):
            if language:
                yield from ([word.form for word in sentence] for sentence in sentences(line, language))
            else:
                yield TOKEN.findall(line)

    def sha256(self) -> str:
        """Return the checksum of the file as it lies on the disk."""
        digest = hashlib.sha256()
        with readable(self.path), open(self.path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()


def text_sources(arguments: Sequence[str]) -> list[TextSource]:
    """Return the sources that arguments name: files and glob patterns, each with or without ``*N`` at its end."""
    found = [source for argument in arguments for source in _sources(argument)]
    seen: set[str] = set()
    for source in found:
        real = os.path.realpath(source.path)
        if real in seen:
            raise ConfigError(f"{source.path}: named twice; {source.path}*2 reads it twice in a pass")
        seen.add(real)
    return found


def _sources(argument: str) -> Iterator[TextSource]:
    path, repeat = argument, 1
    repeated = _REPEATED.fullmatch(argument)
    if repeated and not os.path.exists(argument):
        path, repeat = repeated[1], int(repeated[2][:9])
        if not 1 <= repeat <= MAX_REPEAT:
            raise ConfigError(f"{argument}: expected *1 to *{MAX_REPEAT}, got *{repeated[2]}")
    found = sorted(glob(path, recursive=True)) if has_magic(path) and not os.path.exists(path) else [path]
    files = [file for file in found if os.path.isfile(file)]
    if not files:
        kind = "a folder, expected a file of text" if os.path.isdir(path) else "there is no such file"
        raise TreebankError(kind, path)
    yield from (TextSource(file, repeat) for file in files)
