"""What `discotree parse` reads: text, lines, tokens or treebanks, as one stream of sentences with their addresses.

A sentence that cannot be read comes as its error, in its place, so that the others are not lost.
"""

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import BinaryIO

from discotree.errors import TreebankError
from discotree.files.names import STANDARD_STREAM, base_name, is_archive, is_compressed, stems
from discotree.files.reading import ByteCounter, files_in, open_binary, open_compressed, readable
from discotree.parsing.standard_input import peek_standard_input, standard_input
from discotree.parsing.text_input import (
    TEXT,
    TEXT_KINDS,
    DecodedText,
    DecodingErrors,
    InputItem,
    InputLine,
    InputSentence,
    Sentences,
    split_text,
)
from discotree.text.recognition import SAMPLE_CHARACTERS, recognise, sample_of
from discotree.treebanks import FORMATS, files, guess_format, read

INPUT_KINDS = (*TEXT_KINDS, *FORMATS)
TEXT_SUFFIXES = (".txt", ".text")  # what a folder without treebanks is searched for
_SENTENCE = re.compile(r"\S*\s.*|\S+[.!?…]", re.DOTALL)  # what an argument must look like to be text
MAX_CHARACTER_BYTES = 4  # in any encoding
NO_SUCH_FILE = "no such file. To parse text, write several words in quotes, use --text, or pipe it to standard input"


@dataclass(frozen=True)
class SentenceSource:
    """A file, a folder, standard input or a text that sentences are read from."""

    name: str
    kind: str | None  # one of INPUT_KINDS; None: a treebank whose content tells its format
    text: bytes | None = None  # the text itself, where there is no file
    stem: str = ""  # stands in front of the ids
    begun: Sentences | None = field(
        default=None, compare=False
    )  # sentences of standard input that were read for a sample

    @property
    def is_treebank(self) -> bool:
        return self.kind is None or self.kind in FORMATS

    def sentences(
        self,
        language: str,
        encoding: str | None = None,
        errors: DecodingErrors = "strict",
        tags: bool = False,
        before_waiting: Callable[[], None] | None = None,
        on_bytes: ByteCounter | None = None,
    ) -> Sentences:
        """Yield all sentences.

        ``tags`` keeps the tags of a treebank. ``before_waiting`` is called when standard input has nothing to offer,
        ``on_bytes`` counts the bytes that are read from files.
        """
        if self.begun is not None:
            return self.begun
        if self.is_treebank:
            return self._of_treebank(encoding, tags, on_bytes)
        encoding = "utf-8" if self.text is not None or not encoding else encoding
        found = self._of_text(language, encoding, errors, before_waiting, on_bytes)
        return map(self._with_stem, found) if self.stem else found

    def _with_stem(self, item: InputSentence | InputLine | TreebankError) -> InputSentence | InputLine | TreebankError:
        if isinstance(item, InputLine):
            return item._replace(id=f"{self.stem}/{item.id}")
        return replace(item, id=f"{self.stem}/{item.id}") if isinstance(item, InputSentence) else item

    def _of_text(
        self,
        language: str,
        encoding: str,
        errors: DecodingErrors,
        before_waiting: Callable[[], None] | None,
        on_bytes: ByteCounter | None,
    ) -> Sentences:
        with ExitStack() as stack, readable(self.name):
            if self.name == STANDARD_STREAM and self.text is None:
                stream = standard_input(before_waiting)
            else:
                stream = self._open(stack, on_bytes)
            # Where text is what the file holds, lines are counted as they are used, which is more exact than blocks.
            count = None if is_compressed(self.name) else on_bytes
            text = DecodedText(stream, _shown(self.name), encoding, errors, count)
            yield from split_text(text, self.kind, language)

    def _open(self, stack: ExitStack, on_bytes: ByteCounter | None = None) -> BinaryIO:
        if self.text is not None:
            return io.BytesIO(self.text)
        raw = stack.enter_context(open_binary(self.name, on_bytes if is_compressed(self.name) else None))
        return stack.enter_context(open_compressed(raw, self.name))

    def beginning(self, encoding: str | None, tags: bool, waits: bool) -> "tuple[str, SentenceSource]":
        """Return the text that the source begins with, and the source to read instead of this one."""
        if (
            self.text is None
            and os.path.exists(self.name)
            and not (os.path.isfile(self.name) or os.path.isdir(self.name))
        ):
            return "", self  # what is read from a pipe is gone
        if self.is_treebank:
            items = self.sentences("", encoding, tags=tags)
            first: list[InputItem] = []
            sample = sample_of(_words(items, first))
            if not sample and first and isinstance(first[0], TreebankError):
                raise first[0]
            return sample, replace(self, begun=chain(first, items)) if self.name == STANDARD_STREAM else self
        if self.name == STANDARD_STREAM and self.text is None:
            data = peek_standard_input(
                lambda data: bool(recognise(_decoded(data, encoding)).language if waits else data),
                MAX_CHARACTER_BYTES * SAMPLE_CHARACTERS,
            )
        else:
            with ExitStack() as stack, readable(self.name):
                data = self._open(stack).read(MAX_CHARACTER_BYTES * SAMPLE_CHARACTERS)
        return _decoded(data, "utf-8" if self.text is not None else encoding), self

    def _of_treebank(self, encoding: str | None, tags: bool, on_bytes: ByteCounter | None) -> Sentences:
        """Yield the words of a treebank's sentences; its trees are not looked at."""
        errors: list[TreebankError] = []
        name = _shown(self.name)
        trees = read(self.name, self.kind, encoding=encoding, on_error=errors.append, stem=self.stem, on_bytes=on_bytes)
        for tree in trees:
            yield from errors
            errors.clear()
            kept = [token.tag for token in tree.tokens] if tags else []
            yield InputSentence(str(tree.id), list(tree.words), f"{name}: sentence {tree.id}", tags=kept)
        yield from errors


def _decoded(data: bytes, encoding: str | None) -> str:
    return data.decode(encoding or "utf-8", "replace")


def _words(items: Sentences, first: list[InputItem]) -> Iterator[str]:
    """Yield the words of sentences, and keep these in ``first``."""
    for item in items:
        first.append(item)
        if isinstance(item, InputSentence):
            yield " ".join(item.words)


def beginning_of(
    sources: Sequence[SentenceSource], encoding: str | None, tags: bool = False, waits: bool = True
) -> tuple[str, list[SentenceSource]]:
    """Return a sample of the text of all sources, and the sources to read: nothing of them is lost.

    ``waits`` lets standard input wait for as much as shows its language.
    """
    sample, found = "", list(sources)
    for number, source in enumerate(sources):
        if len(sample) >= SAMPLE_CHARACTERS or (number and source.name == STANDARD_STREAM):
            break
        try:
            text, found[number] = source.beginning(encoding, tags, waits)
        except TreebankError:
            if waits:
                raise
            break  # the reader reports it, after what comes before
        sample += f"{text}\n"
    return sample, found


def _shown(name: str) -> str:
    return "<stdin>" if name == STANDARD_STREAM else name


def text_source(text: str, kind: str | None = None) -> SentenceSource:
    """Return the source for a text that was given as such."""
    return SentenceSource("<text>", kind or TEXT, text.encode("utf-8", "surrogateescape"))


def find_sources(arguments: Sequence[str], kind: str | None) -> list[SentenceSource]:
    """Return the sources that arguments name: paths, ``-``, or a text, which stands alone.

    A text has whitespace in it or ends like a sentence. Any other word that names no file is an error.
    """
    if len(arguments) == 1 and _SENTENCE.fullmatch(arguments[0]) and not os.path.exists(arguments[0]):
        return [text_source(arguments[0], kind)]
    sources: list[SentenceSource] = []
    for path in arguments:
        if path == STANDARD_STREAM:
            sources.append(SentenceSource(path, kind or TEXT))
        elif not os.path.exists(path):
            raise TreebankError(NO_SUCH_FILE, path)
        elif os.path.isdir(path):
            sources += _of_folder(path, kind)
        else:
            sources.append(SentenceSource(path, kind or _kind_of(path)))
    if len(sources) == 1:
        return sources
    names = stems(["stdin" if source.name == STANDARD_STREAM else source.name for source in sources])
    return [replace(source, stem=stem) for source, stem in zip(sources, names, strict=True)]


def _kind_of(path: str) -> str | None:
    kind = guess_format(path)
    if kind is None and not is_archive(path) and not base_name(path).lower().endswith(".xml"):
        return TEXT
    return kind


def _of_folder(folder: str, kind: str | None) -> Iterator[SentenceSource]:
    """Yield a folder as one treebank, or the texts in it where it holds no treebank."""
    if kind in TEXT_KINDS:
        texts = files_in(folder, lambda names: names)
        if not texts:
            raise TreebankError("holds no file", folder)
    elif kind is None and not files(folder):
        texts = files_in(folder, lambda names: [name for name in names if base_name(name).endswith(TEXT_SUFFIXES)])
    else:
        texts = []
    if texts:
        yield from (SentenceSource(path, kind or TEXT) for path in texts)
    else:
        yield SentenceSource(folder, kind)
