"""Text made ready for training: a folder with the tokenizer, all pieces as numbers, and what was held out.

    tokenizer.json   the vocabulary, and how text is split
    pieces.bin       the pieces of all files, one after the other; [SEP] ends each line
    held-out.tsv     the lines that were left out, and the sentences that they contain
    text.json        which text this is, and the sizes of all that; written last

Pieces are read from the disk as they are needed (a memory map), so text need not fit into memory.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discotree.config.pretraining import TextSettings
from discotree.encoding.plain_files import read_plain
from discotree.errors import ModelError, TreebankError, first_line
from discotree.files.writing import writable
from discotree.network.untrusted import MAX_FILE_BYTES, TOKENIZER
from discotree.parsing.output_job import JobIdentity
from discotree.training.pretraining.held_out import HeldOut
from discotree.training.pretraining.texts import kept, line_blocks
from discotree.training.pretraining.vocabulary import END, alphabet, learn_vocabulary, load_tokenizer
from discotree.training.text_sources import TextSource
from discotree.validation import from_table

PIECES, HELD_OUT, TEXT = "pieces.bin", "held-out.tsv", "text.json"
SMALL, LARGE = np.dtype("<u2"), np.dtype("<u4")  # a number of a piece
OTHER_TEXT = "choose another folder, or remove this one to start over"

TextReport = Callable[[str, int, int], None]
"""Gets what is being done, the bytes of the text that it has read, and those of all text."""


def silent_text(what: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class TextCounts:
    """What a file of text gave."""

    name: str
    repeat: int
    sha256: str
    lines: int
    words: int
    pieces: int
    sentences_found: int  # held-out sentences that are in the file
    lines_dropped: int


@dataclass(frozen=True)
class PreparedText:
    """Text as pieces, in a folder."""

    folder: Path
    files: tuple[TextCounts, ...]
    facts: dict[str, Any]  # what tells texts apart
    kind: "np.dtype[Any]"  # a piece's number has this many bytes
    tokenizer: str  # JSON
    hold_out: tuple[str, ...] = ()  # recipes and treebanks whose sentences are held out

    def pieces(self) -> list[npt.NDArray[np.unsignedinteger[Any]]]:
        """Return the pieces of each file, as maps of the disk."""
        size = sum(file.pieces for file in self.files)
        path = self.folder / PIECES
        if not path.is_file() or path.stat().st_size != size * self.kind.itemsize:
            raise ModelError(f"{path}: expected {size * self.kind.itemsize:,} bytes; {OTHER_TEXT}")
        whole = np.memmap(path, self.kind, "r")
        ends = np.cumsum([file.pieces for file in self.files])
        return [whole[end - file.pieces : end] for file, end in zip(self.files, ends, strict=True)]


def open_prepared(folder: Path) -> PreparedText:
    """Open a folder that ``prepare`` has filled."""
    try:
        table = json.loads(read_plain(folder / TEXT, MAX_FILE_BYTES))
        files = tuple(from_table(TextCounts, row, TEXT, ModelError, complete=True) for row in table["files"])
        tokenizer = read_plain(folder / TOKENIZER, MAX_FILE_BYTES).decode("utf-8")
        facts, kind = dict(table["facts"]), np.dtype(table["kind"])
        hold_out = tuple(map(str, table["hold_out"]))
        if kind not in (SMALL, LARGE):
            raise ValueError(f"pieces are {kind}, expected {SMALL} or {LARGE}")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{folder}: holds no prepared text: {first_line(error)}") from None
    if not (folder / HELD_OUT).is_file():
        raise ModelError(f"{folder}: holds no prepared text: {HELD_OUT} is missing")
    prepared = PreparedText(folder, files, facts, kind, tokenizer, hold_out)
    prepared.pieces()  # are they all there?
    return prepared


@dataclass(frozen=True)
class TextJob:
    """Text to make ready, and how."""

    files: Sequence[TextSource]
    settings: TextSettings
    held_out: HeldOut
    tokenizer: str = ""  # JSON, that of an encoder whose training goes on; without one, a vocabulary is learned
    hold_out: Sequence[str] = ()  # where the held-out sentences are from

    @cached_property
    def sums(self) -> list[str]:
        """Checksums of the files."""
        return [file.sha256() for file in self.files]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What tells prepared texts apart. The length of sequences does not belong here: they are cut later."""
        sentences = "\n".join("\t".join((s.treebank, s.id, *s.words)) for s in self.held_out.sentences)
        own = self.settings
        learned = {"vocab_size": own.vocab_size, "min_count": own.min_count, "alphabet": own.alphabet}
        return {
            "text": [[file.name, file.repeat, checksum] for file, checksum in zip(self.files, self.sums, strict=True)],
            "held-out sentences": hashlib.sha256(sentences.encode("utf-8", "replace")).hexdigest(),
            "text.hold_out_words": own.hold_out_words,
            **{f"text.{name}": None if self.tokenizer else value for name, value in learned.items()},
            "tokenizer": checksum_of(self.tokenizer) if self.tokenizer else "learned",
        }


def checksum_of(tokenizer: str) -> str:
    return hashlib.sha256(tokenizer.encode()).hexdigest()


def prepare(job: TextJob, folder: Path, report: TextReport = silent_text) -> PreparedText:
    """Make text ready, or open the folder if that was done before; a folder with other text is refused."""
    if (folder / TEXT).exists():
        found = open_prepared(folder)
        JobIdentity.of(job.facts).check(str(folder), JobIdentity.of(found.facts), OTHER_TEXT)
        return found
    files, settings, tokenizer = job.files, job.settings, job.tokenizer
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(Path(file.path).stat().st_size for file in files)
    search = Reading(report, "looking for held-out sentences", total)
    dropped = drop_held_out(files, folder / HELD_OUT, job.held_out, search)
    if not tokenizer:
        count = Reading(report, "counting characters", total)
        texts = ("".join(lines) for file, hidden in _pairs(files, dropped) for lines in _kept(file, hidden, count))
        characters = alphabet(texts, settings.alphabet)
        learn = Reading(report, "learning the vocabulary", sum(Path(f.path).stat().st_size * f.repeat for f in files))
        again = ((file, hidden) for file, hidden in _pairs(files, dropped) for _ in range(file.repeat))
        lines = (lines for file, hidden in again for lines in _kept(file, hidden, learn))
        tokenizer = learn_vocabulary(lines, characters, settings)
    _write(folder / TOKENIZER, tokenizer.encode())
    counts, kind = write_pieces(job, folder, tokenizer, dropped, Reading(report, "tokenising", total))
    table = {
        "facts": job.facts,
        "kind": kind.str,
        "hold_out": list(job.hold_out),
        "files": [asdict(file) for file in counts],
    }
    _write(folder / TEXT, json.dumps(table, indent=1, ensure_ascii=False).encode() + b"\n")
    return open_prepared(folder)


@dataclass
class Reading:
    """Counts the bytes of text that are read, for a report."""

    report: TextReport
    what: str
    total: int
    done: int = 0

    def __call__(self, count: int) -> None:
        self.done += count
        self.report(self.what, self.done, self.total)


@dataclass
class Dropped:
    """The lines of a file that are left out, and the number of different sentences that they contain."""

    lines: set[int]
    sentences: int = 0


def drop_held_out(files: Sequence[TextSource], path: Path, held_out: HeldOut, count: Reading) -> list[Dropped]:
    """Find the lines that contain held-out sentences, and list them in a file."""
    dropped = []
    with writable(str(path)) as stream:
        stream.write(b"text\tline\ttreebank\tid\tsentence\n")
        for file in files:
            lines, sentences = set(), set()
            for block in line_blocks(file, count) if len(held_out) else ():
                for line, number in held_out.search(block.lines):
                    lines.add(block.first + line)
                    sentences.add(number)
                    sentence = held_out.sentences[number]
                    row = (file.name, str(block.first + line), sentence.treebank, sentence.id, " ".join(sentence.words))
                    stream.write(("\t".join(" ".join(cell.split()) for cell in row) + "\n").encode("utf-8", "replace"))
            dropped.append(Dropped(lines, len(sentences)))
    return dropped


def write_pieces(
    job: TextJob, folder: Path, tokenizer: str, dropped: list[Dropped], count: Reading
) -> tuple[list[TextCounts], np.dtype[Any]]:
    """Tokenise all text, with the library's own threads; return the counts and the kind of a number."""
    splitter = load_tokenizer(tokenizer)
    end = splitter.token_to_id(END)
    kind = SMALL if splitter.get_vocab_size() <= 1 << 16 else LARGE
    counts = []
    with writable(str(folder / PIECES)) as stream:
        for file, checksum, hidden in zip(job.files, job.sums, dropped, strict=True):
            lines = words = pieces = 0
            for block in _kept(file, hidden, count):
                ids: list[int] = []
                for encoding in splitter.encode_batch_fast(block, add_special_tokens=False):
                    if len(encoding):
                        ids += encoding.ids
                        ids.append(end)
                stream.write(np.array(ids, kind).tobytes())
                lines, pieces = lines + len(block), pieces + len(ids)
                words += sum(len(line.split()) for line in block)
            about = (file.name, file.repeat, checksum, lines, words, pieces)
            counts.append(TextCounts(*about, hidden.sentences, len(hidden.lines)))
    if not any(entry.pieces for entry in counts):
        raise TreebankError("there is no text to learn from", ", ".join(file.path for file in job.files))
    return counts, kind


def _pairs(files: Sequence[TextSource], dropped: list[Dropped]) -> Iterator[tuple[TextSource, Dropped]]:
    return zip(files, dropped, strict=True)


def _kept(file: TextSource, hidden: Dropped, count: Reading) -> Iterator[list[str]]:
    return kept(line_blocks(file, count), hidden.lines)


def _write(path: Path, content: bytes) -> None:
    with writable(str(path)) as stream:
        stream.write(content)
