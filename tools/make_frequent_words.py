"""Make the lists of frequent words that languages are recognised by, and measure the recognition.

    python tools/make_frequent_words.py make TREEBANKS SPLITS TEXTS
    python tools/make_frequent_words.py measure TREEBANKS SPLITS UD

Languages with text at hand get their most frequent words in order of frequency, each source with the same weight.
Spanish gets the words with the highest probabilities in spacy-lookups-data, a package that has to be installed. Other
languages get spaCy's stop words, which are in no order. The lists of Old French and Yiddish are not made here: they are
written by hand, because the treebanks of these languages are not free for any use.
"""

import argparse
import bz2
import csv
import gzip
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.resources import files
from itertools import islice
from pathlib import Path

from discotree import read
from discotree.text.recognition import FOLDER, recognise

WORDS = 1000  # per language
LINES = 40_000  # of a text
LINE_WIDTH = 118
NAMES = {
    "de": "German",
    "de-early": "Early New High German",
    "en": "English",
    "fo": "Faroese",
    "grc": "Ancient Greek",
    "is": "Icelandic",
    "nl": "Dutch",
}
TREEBANKS = {  # name of the split, and the folder or file below TREEBANKS
    "de": {"squoia_de": "squoia_de", "pcc": "pcc"},
    "de-early": {"ref_mercurius_low": "ref_mercurius_low"},
    "en": {"masc": "masc", "craft": "craft"},
    "es": {"squoia_es": "squoia_es"},
    "fo": {"farpahc": "farpahc"},
    "fro": {"mcvf_ppchf": "mcvf_ppchf"},
    "grc": {"n1904": "n1904"},
    "is": {"icepahc": "icepahc"},
    "nl": {"alpino_cdb": "alpino/cdb.xml"},
    "yi": {"ppchy": "ppchy"},
}
COUNTED = {
    "squoia_de",
    "ref_mercurius_low",
    "masc",
    "farpahc",
    "n1904",
    "icepahc",
    "alpino_cdb",
}  # free for any use; all but dev and test
TEXTS = {
    "de": ("de-europarl", "de-eltec", "de-gerdracor", "de-parlamint-at"),
    "en": ("en-europarl", "en-eltec", "en-elife"),
    "grc": ("grc-perseus",),
    "nl": ("nl-europarl", "nl-eindhoven", "nl-openboek"),
}
STOP_WORDS = {
    "da": "Danish",
    "fi": "Finnish",
    "fr": "French",
    "it": "Italian",
    "nb": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "sv": "Swedish",
}
YIELDING = {"de-early", "grc"}
SPANISH_OFFSET = 100  # instead of 2.7, because the lists of Portuguese and Italian are in no order
BUCKETS = ((1, 2), (3, 4), (5, 7), (8, 12), (13, 20), (21, 10_000))  # words
WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def words_of(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text.replace("’", "'"))]


def split_ids(splits: Path, name: str, split: str) -> set[str]:
    with open(splits / f"{name}.tsv", encoding="utf-8") as stream:
        return {row["id"] for row in csv.DictReader(stream, delimiter="\t") if row["split"] == split}


def sentences(path: Path, ids: set[str]) -> Iterator[str]:
    return (" ".join(tree.words) for tree in read(path, on_error=lambda _: None) if tree.id in ids)


def shares(lines: Iterable[str]) -> Counter[str]:
    """Count words, and divide by their number."""
    counts = Counter(word for line in lines for word in words_of(line))
    total = counts.total()
    return Counter({word: count / total for word, count in counts.items()})  # type: ignore[misc]


def probable(code: str) -> list[str]:
    """Return the words with the highest probabilities in spaCy's lookup tables."""
    packed = files("spacy_lookups_data").joinpath(f"data/{code}_lexeme_prob.json.gz").read_bytes()
    total: Counter[str] = Counter()
    for word, probability in json.loads(gzip.decompress(packed)).items():
        if WORD.fullmatch(word):
            total[word.lower()] += math.exp(probability)
    return [word for word, _ in total.most_common(WORDS)]


def write(
    code: str, name: str, source: str, by_frequency: bool, words: list[str], rank_offset: int | None = None
) -> None:
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) >= LINE_WIDTH:
            lines.append(line)
            line = ""
        line += f"{' ' if line else ''}{word}"
    options = f"rank_offset = {rank_offset}\n" if rank_offset else ""
    options += "yields = true\n" * (code in YIELDING)
    head = f'name = "{name}"\nsource = "{source}"\nby_frequency = {str(by_frequency).lower()}\n{options}'
    text = head + "words = '''\n" + "\n".join([*lines, line]) + "\n'''\n"
    (FOLDER / f"{code}.toml").write_text(text, "utf-8")


def make(treebanks: Path, splits: Path, texts: Path) -> None:
    for code, name in NAMES.items():
        counted: Counter[str] = Counter()
        banks = {split: path for split, path in TREEBANKS[code].items() if split in COUNTED}
        for split, path in banks.items():
            counted += shares(sentences(treebanks / path, split_ids(splits, split, "train")))
        for text in TEXTS.get(code, ()):
            with bz2.open(texts / f"{text}.txt.bz2", "rt", encoding="utf-8") as stream:
                counted += shares(islice(stream, LINES))
        words = [word for word, _ in counted.most_common(WORDS)]
        write(code, name, f"counted in {', '.join([*banks, *TEXTS.get(code, ())])}", True, words)
    source = "probabilities of spacy-lookups-data 1.0 (MIT)"
    write("es", "Spanish", source, True, probable("es"), SPANISH_OFFSET)
    for code, name in STOP_WORDS.items():
        found: set[str] = import_module(f"spacy.lang.{code}.stop_words").STOP_WORDS
        write(code, name, "stop words of spaCy 3.8 (MIT)", False, sorted({w for word in found for w in words_of(word)}))


def measure(treebanks: Path, splits: Path, ud: Path) -> None:
    """Print a Markdown table: per length, the share of sentences that are recognised, and that are taken for others."""
    print(f"| sentences | {' | '.join(_bucket_name(*bucket) for bucket in BUCKETS)} |")
    print(f"|---|{'---|' * len(BUCKETS)}")
    for code, banks in TREEBANKS.items():
        for name, path in banks.items():
            row(code, f"{name}, dev", sentences(treebanks / path, split_ids(splits, name, "dev")))
    for file in sorted(ud.glob("*.conllu.gz")):
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            texts = [line.partition("=")[2].strip() for line in stream if line.startswith("# text =")]
        row(file.name[:2], f"UD {file.name.partition('.')[0]}", texts)


def row(code: str, name: str, texts: Iterable[str]) -> None:
    counts: dict[tuple[int, int], Counter[str]] = {bucket: Counter() for bucket in BUCKETS}
    for text in texts:
        length = len(words_of(text))
        if length:
            found = recognise(text)
            outcome = "right" if found.language == code else "wrong" if found.language else "undecided"
            counts[next(bucket for bucket in BUCKETS if bucket[0] <= length <= bucket[1])][outcome] += 1
    cells = (
        f"{100 * found['right'] / found.total():.1f} / {100 * found['wrong'] / found.total():.1f}"
        if found.total()
        else "–"
        for found in counts.values()
    )
    print(f"| {code}: {name} | {' | '.join(cells)} |")


def _bucket_name(low: int, high: int) -> str:
    return f"{low}–{high}" if high < BUCKETS[-1][1] else f"{low} and more"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("make", "measure"))
    parser.add_argument("treebanks", type=Path)
    parser.add_argument("splits", type=Path)
    parser.add_argument("texts", type=Path, help="make: folder of NAME.txt.bz2; measure: folder of UD dev sets")
    given = parser.parse_args()
    (make if given.task == "make" else measure)(given.treebanks, given.splits, given.texts)
