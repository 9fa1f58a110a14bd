"""Source: one open treebank file, with the address that errors need."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO

from discotree.errors import TreebankError
from discotree.files.names import without_bom
from discotree.files.reading import ReadLimits


class RunningNumber(str):
    """An id that a reader made up for a sentence that has none."""

    __slots__ = ()


ErrorHandler = Callable[[TreebankError], None]


def stop(error: TreebankError) -> None:
    """Raise the error: the default stops at the first broken tree."""
    raise error


@dataclass
class Source:
    """One open treebank file; its format finds out the ``encoding`` where it is None."""

    name: str
    stream: BinaryIO
    encoding: str | None = None
    on_error: ErrorHandler = stop
    stem: str = ""
    damage: TreebankError | None = None  # undecodable bytes in the lines read last
    limits: ReadLimits = field(default_factory=ReadLimits.from_environment)
    first_line: int = 1  # where the stream is a part of a file: the number of its first line,
    seen: int = 0  # and of the sentences before it

    def error(self, line: int, message: str) -> TreebankError:
        return TreebankError(message, self.name, line)

    def broken(self, line: int, message: str) -> None:
        """Report a broken tree, which raises unless broken trees are skipped."""
        self.on_error(self.error(line, message))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Return the number and the text of every line, without its line end.

        A line that cannot be decoded leaves its error in ``damage``; the reader reports it when the tree ends.
        """
        for number, raw in self.raw_lines():
            try:
                text = self.decode(raw, number)
            except TreebankError as error:
                self.damage = self.damage or error
                text = raw.decode("utf-8", "replace")
            if number == 1:
                text = without_bom(text)
            yield number, text.rstrip("\r\n")

    def raw_lines(self) -> Iterator[tuple[int, bytes]]:
        """Return the number and the bytes of every line; one that is too long is an error before it fills memory."""
        limit = self.limits.line_bytes
        for number, raw in enumerate(iter(partial(self.stream.readline, limit + 1), b""), self.first_line):
            if len(raw) > limit:
                raise self.error(number, self.too_long("line"))
            yield number, raw

    def too_long(self, what: str) -> str:
        limit = self.limits.line_bytes
        return f"a {what} has more than {limit:,} bytes; set DISCOTREE_MAX_LINE_BYTES or limits.line_bytes higher"

    def is_damaged(self) -> bool:
        """Return whether the tree just read is damaged, and report it if so."""
        damage, self.damage = self.damage, None
        if damage is not None:
            self.on_error(damage)
        return damage is not None

    def decode(self, raw: bytes, line: int, fallback: str | None = None) -> str:
        """Decode a stretch of lines that starts at ``line``.

        Where the encoding is open, the first text that is not ASCII decides between UTF-8 and the fallback.
        """
        if self.encoding is None and raw.isascii():
            return raw.decode("ascii")
        encoding = self.encoding or "utf-8"
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError as error:
            if self.encoding or not fallback:
                at = line + raw.count(b"\n", 0, error.start)
                raise self.error(at, _undecodable(encoding, error, raw)) from None
            encoding = fallback
            text = raw.decode(encoding)
        self.encoding = encoding
        return text


def _undecodable(encoding: str, error: UnicodeDecodeError, raw: bytes) -> str:
    return f"byte {raw[error.start]:#04x} is not {encoding}; name the file's encoding if it has another"
