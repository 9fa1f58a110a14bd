"""Read in chunks, a treebank gives the trees and the errors that it gives when it is read as a whole."""

import os
import random
from pathlib import Path

import pytest

from discotree import TreebankError
from discotree.treebanks import read
from discotree.treebanks.chunks import SPLITTERS, SentenceChunk, is_splittable, read_chunks
from discotree.treebanks.reading import FileChunk

DATA = Path(__file__).parents[1] / "data"
SUFFIXES = (".export", ".dbr", ".psd", ".mrg", ".tree", ".jsonl")
FILES = [path for path in sorted(DATA.iterdir()) if path.suffix in SUFFIXES]

ODD = {
    "several.mrg": "(S (N a)) (S (N b))\n(S (N c))\n",
    "junk.mrg": "(S (N a))\njunk (S (N b))\n; sent_id = x\n(S (N c))\n",
    "open.mrg": "(S (N a)\n(ROOT (S (N b)))\n(S (N c",
    "closed.mrg": "(S (N a)))\n(S (N b))\n",
    "comments.psd": "/*\n* (x\n*/\n( (IP (N a-a))\n  (ID one))\n\n( (CODE x))\n( (IP (N b)))\n",
    "deep.mrg": "(S " * 300 + "(N a)" + ")" * 300 + "\n(S (N b))\n",
    "empty.mrg": "\n",
    "text.mrg": "There is no tree here.\n",
    "blank.dbr": "\n  \t\u00e9\n(S (N 0=a))\n\t\n(S (N 0=b)\n(S (N 0=c))\tid\n",
    "bom.json": "\ufeff\n \u3000\n[]\n{}\n",
    "open.export": "#BOS 1\na\t--\tN\t--\t--\t0\n#BOS 2\na\t--\tN\t--\t--\t0\n#EOS 2\n#BOS 3\n",
    "versions.export": "#FORMAT 3\n#BOS 1\na\tN\t--\t--\t0\n#EOS 1\n#FORMAT 4\n%% #0\tX\t500\n%% b\n"
    "#BOS 2\na\t--\tN\t--\t--\t500\n#500\t--\tS\t--\t--\t0\n#EOS 2\n%% c\n#BOS 3\nb\t--\tN\t--\t--\t0\n#EOS 3\n",
}


def whole(path, **options):
    return outcome(lambda on_error: read(path, on_error=on_error, **options))


def in_chunks(path, **options):
    return outcome(lambda on_error: (t for chunk in read_chunks(path, **options) for t in chunk.trees(on_error)))


def outcome(trees):
    """All trees with their ids, and all errors."""
    found, errors = [], []
    try:
        found.extend((tree.id, tree, tree.secondary, tree.comment) for tree in trees(errors.append))
    except TreebankError as error:
        errors.append(error)
    return found, [str(error) for error in errors]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_chunks_give_the_trees_of_the_file(path):
    assert in_chunks(path, stem="a") == whole(path, stem="a")


@pytest.mark.parametrize("name", ODD)
def test_odd_files_give_the_same_trees_and_errors(name, tmp_path):
    (tmp_path / name).write_text(ODD[name])
    assert in_chunks(tmp_path / name) == whole(tmp_path / name)
    assert in_chunks(tmp_path, format=name.partition(".")[2].replace("dbr", "discbracket").replace("mrg", "penn"))


def test_encodings_are_found_out_as_in_the_whole_file(tmp_path):
    sentences = "".join(f"#BOS {k}\n{word}\t--\tN\t--\t--\t0\n#EOS {k}\n" for k, word in enumerate(("a", "é", "ü")))
    (tmp_path / "old.export").write_bytes(sentences.encode("latin-1"))
    assert in_chunks(tmp_path / "old.export") == whole(tmp_path / "old.export")
    assert [chunk.encoding for chunk in read_chunks(tmp_path / "old.export")] == [None, "latin-1", "latin-1"]
    assert in_chunks(tmp_path / "old.export", encoding="utf-8") == whole(tmp_path / "old.export", encoding="utf-8")
    for name, is_so in {"utf-8": 1, "cp1252": 1, "shift_jis": 0, "utf-8-sig": 0, "cp1006": 0}.items():
        assert is_splittable(name) == is_so


def test_sentences_are_split_and_other_formats_are_not():
    for path in FILES:
        kinds = {type(chunk) for chunk in read_chunks(path)}
        assert kinds == {SentenceChunk}, path
    assert {type(chunk) for chunk in read_chunks(DATA / "tiger.xml")} == {FileChunk}


TELLING = (b"(", b")", b"\n", b" ", b"\t", b"#BOS 1\n", b"#EOS 1\n", b"\xff", b"%")


def damaged(data, rng):
    """Change, remove, repeat or insert a few bytes, mostly such that have a meaning."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data))
        choice = rng.randrange(5)
        if choice == 0:
            data[at : at + rng.randint(1, 30)] = b""
        elif choice == 1:
            data[at:at] = data[rng.randrange(len(data)) :][: rng.randint(1, 200)]
        else:
            data[at : at + choice - 2] = rng.choice(TELLING)
    return bytes(data)


@pytest.mark.parametrize("path", [path for path in FILES if path.stat().st_size < 20_000], ids=lambda path: path.name)
def test_damaged_files_give_the_same_trees_and_errors(path, tmp_path):
    rng = random.Random(path.name)
    for k in range(int(os.environ.get("DISCOTREE_EXAMPLES", "4"))):
        file = tmp_path / f"{k}{path.suffix}"
        file.write_bytes(damaged(path.read_bytes(), rng))
        assert in_chunks(file) == whole(file), file.read_bytes()


def test_all_splitters_are_tried():
    assert {chunk.format for path in FILES for chunk in read_chunks(path)} >= set(SPLITTERS) - {"export3"}
