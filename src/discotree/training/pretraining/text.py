"""Prepare text for pretraining: learn a vocabulary and write the text as numbered pieces.

The folder of a prepared text has these files:
    tokenizer.json   the vocabulary and the rules that split text
    pieces.bin       the pieces of all files, one file after the other; [SEP] ends each line
    held-out.tsv     the lines that were left out, and the held-out sentences they contain
    text.json        the fingerprint and the sizes of the text; written last

Pieces are memory-mapped, so the text need not fit into memory.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from discotree.config.pretraining import TextSettings
from discotree.errors import ConfigError, ModelError, TreebankError, first_line, requires_extra
from discotree.files.jobs import Fingerprint
from discotree.files.reading import ByteCounter, read_regular_file
from discotree.files.writing import writable, write_bytes
from discotree.network.transformer import MAX_FILE_BYTES, TOKENIZER
from discotree.training.held_out import HeldOut
from discotree.training.text_sources import TextReport, TextSource, byte_counter, silent_text

PIECES, HELD_OUT, TEXT = "pieces.bin", "held-out.tsv", "text.json"
SMALL, LARGE = np.dtype("<u2"), np.dtype("<u4")  # types of the number of a piece
KINDS: "dict[str, np.dtype[Any]]" = {SMALL.str: SMALL, LARGE.str: LARGE}
REMEDY = "choose another folder, or remove this one to start over"


class PreparedText:
    """A folder of text as pieces."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            table = json.loads(read_regular_file(folder / TEXT, MAX_FILE_BYTES))
            self.tokenizer = read_regular_file(folder / TOKENIZER, MAX_FILE_BYTES).decode("utf-8")  # JSON
            self.fingerprint: dict[str, Any] = table["facts"]
            self.hold_out: list[str] = table["hold_out"]  # recipes and treebanks whose sentences are held out
            self.files: list[dict[str, Any]] = table["files"]  # the name, repeat, checksum and sizes of each
            os.stat(folder / HELD_OUT)
            sizes = [file["pieces"] for file in self.files]
            pieces = np.memmap(folder / PIECES, KINDS[table["kind"]], "r", shape=(sum(sizes),))
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise ModelError(f"{folder}: not a folder of prepared text: {first_line(error)}; {REMEDY}") from None
        self.pieces = np.split(pieces, np.cumsum(sizes)[:-1])  # of each file, memory-mapped


@dataclass(frozen=True)
class TextJob:
    """Text to prepare, and its settings."""

    files: Sequence[TextSource]
    settings: TextSettings
    held_out: HeldOut
    tokenizer: str = ""  # JSON of the encoder whose training continues; if empty, a vocabulary is learned
    hold_out: Sequence[str] = ()  # where the held-out sentences are from

    @cached_property
    def fingerprint(self) -> dict[str, Any]:
        """The settings and inputs of prepared text. Sequences are cut later, so their length is not part of it."""
        sentences = "\n".join("\t".join((s.treebank, s.id, *s.words)) for s in self.held_out.sentences)
        return {
            "text": [[file.name, file.repeat, file.sha256()] for file in self.files],
            "held-out sentences": hashlib.sha256(sentences.encode("utf-8", "replace")).hexdigest(),
            "text.vocab_size": None if self.tokenizer else self.settings.vocab_size,
            "tokenizer": checksum_of(self.tokenizer) if self.tokenizer else "learned",
        }


def checksum_of(tokenizer: str) -> str:
    return hashlib.sha256(tokenizer.encode()).hexdigest()


def prepare(job: TextJob, folder: Path, report: TextReport = silent_text) -> PreparedText:
    """Prepare text in a folder, or open the folder if it is complete. A folder with other text is refused."""
    if (folder / TEXT).exists():
        prepared = PreparedText(folder)
        Fingerprint(job.fingerprint).check(str(folder), Fingerprint(prepared.fingerprint), REMEDY)
        return prepared
    total = sum(file.size for file in job.files)
    count = byte_counter(report, "looking for held-out sentences", total)
    matches = {file: find_held_out(file, job.held_out, count) for file in job.files}
    dropped = {file: {line for line, _ in pairs} for file, pairs in matches.items()}

    def blocks(file: TextSource, count: ByteCounter) -> Iterator[list[str]]:
        """Yield the lines of a file without empty ones and those with held-out sentences."""
        for first, lines in file.blocks(count):
            yield [line for k, line in enumerate(lines, first) if k not in dropped[file] and line.strip()]

    tokenizer = job.tokenizer
    if not tokenizer:
        count = byte_counter(report, "counting characters", total)
        characters = alphabet(("".join(lines) for file in job.files for lines in blocks(file, count)), ALPHABET)
        repeated = [file for file in job.files for _ in range(file.repeat)]
        count = byte_counter(report, "learning the vocabulary", sum(file.size for file in repeated))
        lines = (lines for file in repeated for lines in blocks(file, count))
        tokenizer = learn_vocabulary(lines, characters, job.settings.vocab_size)
    splitter = load_tokenizer(tokenizer)
    end = splitter.token_to_id(END)
    kind = SMALL if splitter.get_vocab_size() <= 1 << 16 else LARGE
    count = byte_counter(report, "tokenising", total)
    counts = []
    folder.mkdir(parents=True, exist_ok=True)
    with writable(str(folder / PIECES)) as stream:
        for file, (name, repeat, sha256) in zip(job.files, job.fingerprint["text"], strict=True):
            lines_read = words = pieces = 0
            for block in blocks(file, count):
                ids: list[int] = []
                for encoding in splitter.encode_batch_fast(block, add_special_tokens=False):
                    if len(encoding):
                        ids += [*encoding.ids, end]
                stream.write(np.array(ids, kind).tobytes())
                lines_read, pieces = lines_read + len(block), pieces + len(ids)
                words += sum(len(line.split()) for line in block)
            found = len({sentence for _, sentence in matches[file]})
            sizes = {"lines": lines_read, "words": words, "pieces": pieces}
            held_out = {"sentences_found": found, "lines_dropped": len(dropped[file])}
            counts.append({"name": name, "repeat": repeat, "sha256": sha256, **sizes, **held_out})
        if not any(entry["pieces"] for entry in counts):
            raise TreebankError("no text to train on", ", ".join(file.path for file in job.files))
    write_bytes(folder / TOKENIZER, tokenizer.encode())
    rows = [("text", "line", "treebank", "id", "sentence")]
    for file, pairs in matches.items():
        sentences = [(line, job.held_out.sentences[number]) for line, number in pairs]
        rows += [(file.name, str(line), one.treebank, one.id, " ".join(one.words)) for line, one in sentences]
    lines_of_table = ("\t".join(" ".join(cell.split()) for cell in row) + "\n" for row in rows)
    write_bytes(folder / HELD_OUT, "".join(lines_of_table).encode("utf-8", "replace"))
    summary = {
        "facts": job.fingerprint,
        "kind": kind.str,
        "hold_out": list(job.hold_out),
        "files": counts,
    }
    write_bytes(folder / TEXT, json.dumps(summary, indent=1, ensure_ascii=False).encode() + b"\n")
    return PreparedText(folder)


def find_held_out(file: TextSource, held_out: HeldOut, count: ByteCounter) -> list[tuple[int, int]]:
    """Return the numbers of the lines that contain held-out sentences, each with the number of the sentence."""
    if not held_out.sentences:
        return []
    return [(first + line, number) for first, lines in file.blocks(count) for line, number in held_out.search(lines)]


PADDING, UNKNOWN, BEGIN, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
INSIDE = "##"  # in front of a piece that continues a word
MAX_CODE = 0x110000
ALPHABET = 1000  # most frequent characters that are pieces; others are unknown
MIN_FREQUENCY = 2  # a pair of pieces that is rarer does not become one piece


def alphabet(texts: Iterable[str], size: int) -> list[str]:
    """Return the most frequent characters, sorted."""
    counts = np.zeros(MAX_CODE, np.int64)
    for text in texts:
        in_text = np.bincount(np.frombuffer(text.encode("utf-32-le"), np.uint32))
        counts[: len(in_text)] += in_text
    codes = np.flatnonzero(counts)
    visible = np.array([code for code in codes.tolist() if chr(code).isprintable() and not chr(code).isspace()], int)
    order = np.lexsort((visible, -counts[visible]))  # the first one wins a tie
    return sorted(map(chr, visible[order[:size]].tolist()))


def learn_vocabulary(lines: Iterator[list[str]], characters: list[str], vocab_size: int) -> str:
    """Learn word pieces from blocks of lines; return the tokenizer as JSON.

    The library numbers pieces in the order of a hash table, which differs between runs, and breaks ties by number.
    For the same vocabulary in every run, all single characters are numbered beforehand: those inside a word are passed
    as special pieces.
    """
    if not characters:
        raise ConfigError("the text has no characters to learn a vocabulary from")
    inner = [INSIDE + character for character in characters]
    smallest = len(SPECIAL) + len(characters) + len(inner)
    if vocab_size <= smallest:
        raise ConfigError(f"text.vocab_size: expected more than the {smallest:,} single characters, got {vocab_size:,}")
    library = _library()
    learner = new_tokenizer(library, {})
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=MIN_FREQUENCY,
        special_tokens=[*SPECIAL, *inner],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    learner.train_from_iterator(lines, trainer)
    tokenizer = new_tokenizer(library, learner.get_vocab())
    tokenizer.add_special_tokens(list(SPECIAL))
    around = [(name, tokenizer.token_to_id(name)) for name in (BEGIN, END)]
    tokenizer.post_processor = library.processors.TemplateProcessing(
        f"{BEGIN} $A {END}", f"{BEGIN} $A {END} $B:1 {END}:1", around
    )
    tokenizer.decoder = library.decoders.WordPiece(INSIDE)
    return str(tokenizer.to_str())


def new_tokenizer(library: Any, vocab: dict[str, int]) -> Any:
    """Return a tokenizer that splits text as a cased BERT does: at whitespace and around punctuation."""
    numbered = {"vocab": vocab} if vocab else {}
    tokenizer = library.Tokenizer(
        library.models.WordPiece(unk_token=UNKNOWN, continuing_subword_prefix=INSIDE, **numbered)
    )
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    return tokenizer


def load_tokenizer(text: str) -> Any:
    """Return a tokenizer without truncation and padding, for which names of special pieces in the text are text."""
    tokenizer = _library().Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _library() -> Any:
    with requires_extra("train"):
        return import_module("tokenizers")
