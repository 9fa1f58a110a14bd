"""discotree bulk: one row out for every row in, whatever is in it, and never a shard twice. All but the cluster."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import dataset, fs, parquet
from support.helpers import parsed
from support.models import CARD, saved_model, with_card
from support.networks import TREES
from support.packages import model_package, use_models_of
from support.strategies import HOLDS, trees

import discotree as dt
from discotree.cli import main
from discotree.cli.bulk import ShardProgress
from discotree.errors import DiscotreeError, ModelError, TreebankError
from discotree.integrations import ray as bulk_ray
from discotree.integrations.ray import (
    END,
    BulkJob,
    RowError,
    Shard,
    ShardWorker,
    plan_shards,
    read_lines,
    storage,
    to_row,
)
from discotree.models.finding import fingerprint
from discotree.parsing.parser import MAX_WORDS, Failure

SENTENCES = [" ".join(tree.words) for tree in TREES]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "model")


class Done(NamedTuple):
    code: int
    said: str
    records: list[dict[str, Any]]

    @property
    def errors(self) -> dict[str, str]:
        return {record["id"]: record["error"] for record in self.records if record["error"]}


Run = Callable[..., Done]


@pytest.fixture
def bulk(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command in this process and reads the records of its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))

    def run(*arguments: str, out: str = "out") -> Done:
        monkeypatch.setattr(sys, "argv", ["discotree", "bulk", "--workers", "0", "--output", out, *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), capsys.readouterr().err, records_of(out))

    return run


def records_of(address: str) -> list[dict[str, Any]]:
    """All records of a folder, in the order of its shards."""
    filesystem, folder = storage(address)
    if filesystem.get_file_info(folder).type == fs.FileType.NotFound:
        return []
    found: list[dict[str, Any]] = []
    for about in sorted(filesystem.get_file_info(fs.FileSelector(folder)), key=lambda about: about.path):
        if about.base_name.startswith("part-"):
            with filesystem.open_input_file(about.path) as stream:
                content = stream.read()
            found += parquet.read_table(io.BytesIO(content)).to_pylist()
    return found


def job_of(model: Path, folder: str, **options: Any) -> BulkJob:
    given = {"kind": "tokens", "column": "tokens", "id_column": "id"} | options
    return BulkJob(str(model), fingerprint(model), output=folder, **given)


def shards_of(path: Path, rows: int = 20) -> list[Shard]:
    return plan_shards([str(path)], rows, "text")[1]


# Shards and the lines in them


@given(
    st.lists(st.binary(max_size=6).map(lambda raw: raw.replace(b"\xef", b"")), max_size=8).map(b"\n".join),
    st.integers(1, 9),
)
def test_every_line_belongs_to_exactly_one_shard(content: bytes, step: int) -> None:
    """However a file is split, its lines come out as if it had been read at once."""
    whole = content.split(b"\n")
    whole = whole[:-1] if not whole[-1] else whole
    places = [sum(len(line) + 1 for line in whole[:k]) for k in range(len(whole))]
    cuts = [*range(0, len(content), step), len(content)]
    found = [pair for k in range(len(cuts) - 1) for pair in read_lines(io.BytesIO(content), *cuts[k : k + 2])]
    assert found == [(place, line.removesuffix(b"\r")) for place, line in zip(places, whole, strict=True)]


def test_a_line_that_is_too_long_is_an_error_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_ray, "MAX_ROW_BYTES", 25)
    content = b"a\n" + b"b" * 26 + b"\n" + b"c" * 25 + b"\n" + b"d" * 99
    found = dict(read_lines(io.BytesIO(content), 0, END))
    assert [len(line) > 25 for line in found.values()] == [False, True, False, True]
    assert list(found) == [0, 2, 29, 55]
    with pytest.raises(RowError, match="the row has more than 25 bytes"):
        bulk_ray.split_row(found[55], "tokens", "")


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", "\ufeff".encode()])
def test_a_line_that_is_cut_is_still_too_long(monkeypatch: pytest.MonkeyPatch, mark: bytes, end: bytes) -> None:
    """Whatever byte it is cut at, even a carriage return."""
    monkeypatch.setattr(bulk_ray, "MAX_ROW_BYTES", 25)
    for length in range(20, 40):
        content = (b"x" * 25 + b"\r" * 40)[:length] + b"y"
        ((_, line),) = read_lines(io.BytesIO(mark + content + end), 0, END)
        assert line == content if len(content) <= 25 else len(line) > 25


class Once(io.BytesIO):
    """A file that remembers the last byte it was asked for."""

    def readline(self, size: int | None = -1) -> bytes:
        self.reached = self.tell() + (size or 0)
        return super().readline(size)


def test_a_shard_in_the_middle_of_a_line_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_ray, "MAX_ROW_BYTES", 10)
    stream = Once(b"x" * 1000)
    assert list(read_lines(stream, 100, 200)) == []
    assert stream.reached < 220


def test_a_byte_order_mark_and_carriage_returns_do_not_belong_to_lines() -> None:
    content = "\ufeffa\r\n\ufeffb\r\n".encode()
    assert list(read_lines(io.BytesIO(content), 0, END)) == [(0, b"a"), (6, "\ufeffb".encode())]


def test_the_plan_follows_from_the_files(tmp_path: Path) -> None:
    """Folders are read in the order of names, without hidden and empty files; a compressed file is one shard."""
    folder = tmp_path / "corpus"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two.txt").write_bytes(b"x" * 250)
    (folder / "a.jsonl").write_bytes(b"{}\n")
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"x" * 10_000))
    (folder / "empty.txt").write_bytes(b"")
    for hidden in (".hidden", "_SUCCESS"):
        (folder / hidden).write_bytes(b"x")
    parquet.write_table(pa.table({"text": ["x"] * 5}), folder / "d.parquet")
    files, shards = plan_shards([str(folder)], 1, "text")
    assert [(shard.name, shard.begin, shard.end) for shard in shards] == [
        ("a.jsonl", 0, 3),
        *(("b/two.txt", begin, min(begin + 100, 250)) for begin in (0, 100, 200)),
        ("c.txt.gz", 0, END),
        *(("d.parquet", row, row + 1) for row in range(5)),
    ]
    assert [shard.number for shard in shards] == list(range(10))
    assert (files, shards) == plan_shards([str(folder)], 1, "text")


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["none.txt"], "none.txt: no such file"),
        (["nothing"], "no files in nothing"),
        (["a.zip"], "archives cannot be split"),
        (["bad.parquet"], "bad.parquet: cannot be read"),
        (["strange://x/y"], "strange://x/y: cannot be opened"),
    ],
)
def test_input_that_cannot_be_used_is_refused(bulk: Run, tmp_path: Path, names: list[str], complaint: str) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "a.zip").write_bytes(b"PK")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    done = bulk(*names)
    assert done.code == 1
    assert complaint in done.said
    assert not (tmp_path / "out").exists()


# One row out for every row in

GOOD = "Kinder spielen ."
LONG = " ".join((" ".join(SENTENCES).split() * 60)[:5000])
TOO_LONG = " ".join(["Kinder"] * (MAX_WORDS + 1))
ROWS: list[tuple[Any, str]] = [  # what a row holds, and what its error says
    (GOOD, ""),
    ("", "the row has no words"),
    (" \t ", "the row has no words"),
    (TOO_LONG, "words, expected at most 10,000"),
    ("a\x00b \x07 \x1b[31m", ""),
    ("🙂 é \u200d \u2028 \ufffe", ""),
    ("( ) a=b #", ""),
    (b"caf\xe9 .", "can't decode byte 0xe9 in position 3"),
    (GOOD, ""),
]
TEXTS = [(row, error) for row, error in ROWS if isinstance(row, str)]
JSON_ROWS: list[tuple[Any, str]] = [
    *TEXTS,
    (None, "expected text, got null"),
    (7, "expected text, got 7"),
    ({"a": [1]}, 'expected text, got {"a": [1]}'),
    ("\ud800", "surrogates not allowed"),
    (["Kinder", "spielen"], ""),
    (["New York", "ruft"], ""),
    (["x " * 1000], ""),
    (["a", ""], "a word is empty"),
    (["a", None], "expected a word, got null"),
    ([], "the row has no words"),
]


def assert_errors(done: Done, expected: list[str]) -> None:
    """A record for every row, with a tree or with the right error."""
    assert done.code == 0, done.said
    assert len(done.records) == len(expected)
    for record, error in zip(done.records, expected, strict=True):
        assert error in (record["error"] or "")
        assert len(record["error"] or "") <= 250
        assert bool(error) == bool(record["error"])
        assert (not record["words"]) == bool(error)


def test_lines_of_all_kinds(bulk: Run, tmp_path: Path) -> None:
    raw = [row if isinstance(row, bytes) else row.encode() for row, _ in [*ROWS, (LONG, "")]]
    (tmp_path / "a.txt").write_bytes(b"\n".join(raw))
    done = bulk("a.txt", "--from", "tokens", "--shard-rows", "20")
    assert_errors(done, [*(error for _, error in ROWS), ""])
    assert [record["id"] for record in done.records] == [
        f"a.txt:{sum(len(line) + 1 for line in raw[:k])}" for k in range(len(raw))
    ]
    assert len(done.records[-1]["words"]) == 5000


def test_json_of_all_kinds(bulk: Run, tmp_path: Path) -> None:
    objects = [{"id": k, "tokens": row} for k, (row, _) in enumerate(JSON_ROWS)]
    others = {
        b"": "invalid JSON",
        b"{": "invalid JSON",
        b"\xff": "invalid JSON",
        b"[" * 100_000: "invalid JSON",
        b'{"tokens": ' + b"9" * 5000 + b"}": "invalid JSON",
        b"[1]": "expected a JSON object, got [1]",
        b'{"text": "a"}': "no key 'tokens'",
    }
    (tmp_path / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in [*map(dumped, objects), *others]))
    done = bulk("a.jsonl", "--from", "tokens")
    assert_errors(done, [*(error for _, error in JSON_ROWS), *others.values()])
    assert [record["id"] for record in done.records[: len(objects)]] == [str(k) for k in range(len(objects))]


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def test_columns_of_all_kinds(bulk: Run, tmp_path: Path) -> None:
    """Parquet files of all types of text; one where the column is a number has only errors."""
    texts = [row for row, _ in TEXTS]
    words = [["Kinder", "spielen"], None, [], ["a", None]]
    columns = {
        "a": pa.array([*texts, None]),
        "b": pa.array([row if isinstance(row, bytes) else row.encode() for row, _ in ROWS]),
        "c": pa.array(texts, pa.large_string()),
        "d": pa.array(texts).dictionary_encode(),
        "e": pa.array([b"\xff\xfe", b"ja"]).view(pa.string()),
        "f": pa.array(words),
        "g": pa.array(words, pa.large_list(pa.large_string())),
        "h": pa.array([1, 2]),
        "i": pa.array([None, None]),
        "j": pa.array([{"a": 1}]),
    }
    (tmp_path / "in").mkdir()
    for name, column in columns.items():
        parquet.write_table(pa.table({"tokens": column}), tmp_path / "in" / f"{name}.parquet")
    of_texts = [error for _, error in TEXTS]
    of_words = ["", "expected text, got null", "the row has no words", "expected a word, got null"]
    expected = [*of_texts, "expected text, got null", *(error for _, error in ROWS), *of_texts, *of_texts]
    expected += ["not valid UTF-8", "", *of_words, *of_words, "expected text, got 1", "expected text, got 2"]
    expected += [*["expected text, got null"] * 2, 'expected text, got {"a": 1}']
    assert_errors(bulk("in", "--from", "tokens"), expected)
    parquet.write_table(pa.table({"other": ["x", "y"]}), tmp_path / "in" / "k.parquet")
    assert "k.parquet: no column 'tokens'; it has other" in bulk("in", "--from", "tokens", out="other").said


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["x", "x", None, ""]), ["x", "x", "a.parquet:2", "a.parquet:3"]),
        (pa.array([7, 7, None, -1]), ["7", "7", "a.parquet:2", "-1"]),
        (pa.array([b"\xff", b"y", b"z", b""]).view(pa.string()), ["\ufffd", "y", "z", "a.parquet:3"]),
        (pa.array([1.5, 2.0, None, 3.0]), ["1.5", "2.0", "a.parquet:2", "3.0"]),
        (pa.array([{"a": 1}] * 4), ['{"a": 1}'] * 4),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_ids_are_those_of_the_rows_or_their_positions(bulk: Run, tmp_path: Path, ids: Any, expected: list[str]) -> None:
    """Two rows with the same id are two rows."""
    parquet.write_table(pa.table({"text": ["Ja ."] * 4, "key": ids}), tmp_path / "a.parquet")
    assert [record["id"] for record in bulk("a.parquet", "--id-column", "key").records] == expected


@pytest.mark.parametrize("group", [1, 3, 7, 100])
def test_rows_come_out_in_their_order_whatever_the_groups(bulk: Run, tmp_path: Path, group: int) -> None:
    table = pa.table({"id": [str(k) for k in range(23)], "text": [f"{k} ." for k in range(23)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=group)
    done = bulk("a.parquet", "--shard-rows", "5")
    assert [(record["id"], record["words"]) for record in done.records] == [(str(k), [str(k), "."]) for k in range(23)]
    assert len(list((tmp_path / "out").glob("part-*"))) == 5


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".xz", lzma.compress),
        (".zst", lambda raw: pa.compress(raw, "zstd", asbytes=True)),
    ],
)
def test_packed_files(bulk: Run, tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / f"a.txt{suffix}").write_bytes(pack("\n".join(SENTENCES).encode()))
    done = bulk(f"a.txt{suffix}", "--shard-rows", "1")
    assert [" ".join(record["words"]) for record in done.records] == SENTENCES


def test_texts_have_a_list_of_sentences(bulk: Run, tmp_path: Path) -> None:
    texts = ["Kinder spielen. Sie lachen.", "", "Ja!", "x " * (MAX_WORDS + 1)]
    rows = [{"text": text, "id": number} for number, text in enumerate(texts)]
    (tmp_path / "a.jsonl").write_bytes(b"".join(dumped(row) + b"\n" for row in rows))
    first, empty, last, long = bulk("a.jsonl", "--from", "text").records
    assert [" ".join(one["words"]) for one in first["sentences"]] == ["Kinder spielen .", "Sie lachen ."]
    assert [one["id"] for one in first["sentences"]] == ["0/1", "0/2"]
    assert (empty["sentences"], empty["error"]) == ([], "the row has no words")
    assert ([one["words"] for one in last["sentences"]], last["error"]) == ([["Ja", "!"]], None)
    assert "expected at most" in long["error"]
    errors: list[TreebankError] = []
    (shard,) = (tmp_path / "out").glob("part-*")
    found = [(tree.id, len(tree)) for tree in dt.read(shard, on_error=errors.append)]
    assert found == [("0/1", 3), ("0/2", 3), ("2/1", 2)]
    assert [(error.line, "no words" in str(error)) for error in errors] == [(2, True), (4, False)]


def test_lines_are_tokenised(bulk: Run, tmp_path: Path) -> None:
    """A row is one sentence, even if it looks like two."""
    (tmp_path / "a.txt").write_text("Kinder spielen. Sie lachen.\n")
    (record,) = bulk("a.txt").records
    assert record["words"] == ["Kinder", "spielen", ".", "Sie", "lachen", "."]


# Records


_outcomes = st.one_of(trees(HOLDS["parquet"]), st.sampled_from(["no tree", "out of memory"]))


@settings(max_examples=40)
@given(st.lists(_outcomes, min_size=1, max_size=5), st.booleans())
def test_records_are_trees(outcomes: list[dt.Tree | str], documents: bool) -> None:
    """Everything that a tree has comes back from Parquet, and so do errors, each in its place."""
    named = [replace(one, id=f"r/{k}") if isinstance(one, dt.Tree) else one for k, one in enumerate(outcomes, 1)]
    rows = [
        to_row(f"r/{k}", one if isinstance(one, dt.Tree) else Failure(RowError(one))) for k, one in enumerate(named, 1)
    ]
    if documents:
        table = pa.Table.from_pylist([{"id": "r", "sentences": rows}], bulk_ray.DOCUMENT)
    else:
        table = pa.Table.from_pylist(rows, bulk_ray.SENTENCE)
    parquet.write_table(table, stream := io.BytesIO())
    errors: list[TreebankError] = []
    found = parsed(stream.getvalue(), "parquet", on_error=errors.append)
    expected = [one for one in named if isinstance(one, dt.Tree)]
    assert [(tree, tree.id, tree.tokens) for tree in found] == [(one, one.id, one.tokens) for one in expected]
    for error, reason in zip(errors, [one for one in named if isinstance(one, str)], strict=True):
        assert reason in str(error)


def test_the_output_is_a_treebank(bulk: Run, tmp_path: Path) -> None:
    """The parser's own trees come back, from dt.read and from a dataset of Parquet files."""
    (tmp_path / "a.txt").write_text("\n".join([*SENTENCES, ""]) + "\n")
    done = bulk("a.txt", "--from", "tokens", "--shard-rows", "2")
    assert done.code == 0
    direct = dt.load(os.environ["DISCOTREE_MODEL"]).parse([list(tree.words) for tree in TREES])
    errors: list[TreebankError] = []
    for tree, other in zip(dt.read("out", "parquet", on_error=errors.append), direct, strict=True):
        assert (tree.root, tree.tokens) == (other.root, other.tokens)  # morphology, too
        assert tree.confidence == pytest.approx(other.confidence)
        assert tree.confidences == pytest.approx(other.confidences)
    assert ["the row has no words" in str(error) for error in errors] == [True]
    table = dataset.dataset("out", format="parquet").to_table()
    assert table["id"].to_pylist() == [record["id"] for record in done.records]


# A job, again


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Four shards of 20 rows with --shard-rows 20."""
    path = tmp_path / "corpus.parquet"
    parquet.write_table(pa.table({"text": SENTENCES * 4}), path, row_group_size=20)
    return path


COMMAND = ("corpus.parquet", "--shard-rows", "20")


def test_a_second_run_does_what_is_missing_and_nothing_else(bulk: Run, model: Path, corpus: Path) -> None:
    first = bulk(*COMMAND)
    assert "4 of 4 shards, 80 rows, 0 with an error, 80 sentences" in first.said
    parts = sorted((corpus.parent / "out").glob("part-*"))
    assert len(parts) == 4
    content = parts[2].read_bytes()
    parts[2].unlink()
    assert (corpus.parent / "out" / "_SUCCESS").exists()
    with job_of(model, os.path.abspath("out")).start({}):  # it is not complete while somebody works on it
        assert not (corpus.parent / "out" / "_SUCCESS").exists()
    before = [path.stat().st_mtime_ns for path in parts if path.exists()]
    second = bulk(*COMMAND)
    assert "4 of 4 shards, 20 rows" in second.said
    assert second.records == first.records
    assert parts[2].read_bytes() == content
    assert [path.stat().st_mtime_ns for path in parts if path != parts[2]] == before
    third = bulk(*COMMAND)
    assert (third.code, third.records) == (0, first.records)
    assert "4 of 4 shards, 0 rows" in third.said


def test_leftovers_of_a_dead_worker_are_removed(bulk: Run, corpus: Path) -> None:
    bulk(*COMMAND)
    folder = corpus.parent / "out"
    (folder / "_SUCCESS").unlink()
    (folder / "_temporary").mkdir()
    (folder / "part-0000001.parquet").rename(folder / "_temporary" / "part-0000001.parquet.0123abcd")
    assert bulk(*COMMAND).code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "_SUCCESS",
        "_job.json",
        *(f"part-000000{k}.parquet" for k in range(4)),
    ]


def test_another_job_in_the_same_folder_is_refused(bulk: Run, corpus: Path) -> None:
    (corpus.parent / "other.txt").write_text("Ja .\n")
    first = bulk(*COMMAND)
    for arguments, complaint in {
        ("--from", "tokens", "--column", "text"): "--from was 'lines', now 'tokens'",
        ("--shard-rows", "21"): "--shard-rows was 20, now 21",
        ("--id-column", "x"): "--id-column was 'id', now 'x'",
        ("other.txt",): "files was None, now ['",
    }.items():
        other = bulk(*COMMAND, *arguments)
        assert other.code == 1
        assert re.search(r"/out was started with different settings: ", other.said)
        assert complaint in other.said
        assert other.records == first.records


def test_other_files_and_models_are_another_job(
    bulk: Run, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bulk(*COMMAND)
    other = saved_model(tmp_path_factory.mktemp("other") / "model", language="nl")
    assert "was started with another model" in bulk(*COMMAND, "--model", str(other)).said
    parquet.write_table(pa.table({"text": SENTENCES * 4}), corpus, row_group_size=20)  # at another time
    assert "different settings: files was" in bulk(*COMMAND).said


def test_a_folder_with_something_else_in_it_is_left_alone(bulk: Run, corpus: Path) -> None:
    folder = corpus.parent / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("")
    assert "the folder is not empty (thesis.txt) and has no _job.json" in bulk(*COMMAND, out="mine").said
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    "damaged", [b"", b"x", b"[]", b'[["a", 1]]', b"null", b"\xff", b"[" * 10**5, b'{"discotree": 1' + b"\0" * 99]
)
def test_a_damaged_note_is_an_error_with_an_address(bulk: Run, corpus: Path, damaged: bytes) -> None:
    folder = corpus.parent / "out"
    folder.mkdir()
    (folder / "_job.json").write_bytes(damaged)
    done = bulk(*COMMAND)
    assert (done.code, os.listdir(folder)) == (1, ["_job.json"])
    assert re.search(r"/out/_job\.json: expected a JSON object .*; choose another folder", done.said)
    assert (folder / "_job.json").read_bytes() == damaged


def test_other_temporary_files_and_locks_are_left_alone(bulk: Run, corpus: Path) -> None:
    folder = corpus.parent / "out"
    folder.mkdir()
    (folder / "thesis.tmp").write_text("mine")
    assert "the folder is not empty (thesis.tmp)" in bulk(*COMMAND).said
    (folder / "thesis.tmp").rename(folder / "_lock")
    assert "_lock exists and is not a lock written by discotree" in bulk(*COMMAND).said
    assert (folder / "_lock").read_text() == "mine"
    (folder / "_lock").unlink()
    assert bulk(*COMMAND).code == 0
    (folder / "thesis.tmp").write_text("mine")
    assert bulk(*COMMAND).code == 0
    assert (folder / "thesis.tmp").read_text() == "mine"


def test_the_output_is_no_part_of_the_input(bulk: Run, corpus: Path) -> None:
    assert "lies inside the input" in bulk(str(corpus.parent)).said
    (corpus.parent / "link").symlink_to(corpus.parent)
    assert "lies inside the input" in bulk(str(corpus.parent / "link")).said


def test_one_at_a_time(bulk: Run, model: Path, corpus: Path) -> None:
    with job_of(model, os.path.abspath("out")).start({}):
        said = bulk(*COMMAND).said
    assert "out: another process is writing to it" in said
    assert not list((corpus.parent / "out").glob("part-*"))


def test_a_shard_that_cannot_be_read_costs_only_itself(bulk: Run, corpus: Path) -> None:
    raw = bytearray(corpus.read_bytes())
    group = parquet.read_metadata(corpus).row_group(2).column(0)
    begin = group.dictionary_page_offset or group.data_page_offset
    raw[begin : begin + 30] = b"\xff" * 30
    corpus.write_bytes(raw)
    done = bulk(*COMMAND)
    assert done.code == 1
    assert re.search(r"part-0000002.parquet: .*corpus.parquet: cannot be read", done.said)
    assert "3 of 4 shards, 60 rows" in done.said
    assert "1 missing shard (part-0000002.parquet); run the same command" in done.said
    assert len(done.records) == 60
    assert not (corpus.parent / "out" / "_SUCCESS").exists()


def test_a_file_that_has_lost_rows_is_noticed(model: Path, corpus: Path) -> None:
    task = job_of(model, str(corpus.parent / "out"), kind="lines", column="text")
    shards = shards_of(corpus)
    parquet.write_table(pa.table({"text": SENTENCES * 2}), corpus, row_group_size=20)
    worker = ShardWorker(task, "cpu")
    with task.start({}):
        outcomes = [worker(shard._asdict()) for shard in shards]
    assert [outcome["rows"] for outcome in outcomes] == [20, 20, 0, 0]
    assert all("has fewer rows than when the job started" in outcome["problem"] for outcome in outcomes[2:])


def test_if_everything_fails_the_job_stops() -> None:
    """A full disk is not tried a hundred thousand times."""
    done = {"problem": "part-0000001.parquet: no space left"}
    progress = ShardProgress(100, 0)
    with pytest.raises(DiscotreeError, match="10 shards failed"):
        progress(done for _ in range(100))


def test_storage_of_any_kind(bulk: Run) -> None:
    """Storage that only fsspec can open works for input and output; written shards are not done again."""
    filesystem, _ = storage("memory://corpus")
    with filesystem.open_output_stream("/corpus/a.txt") as stream:
        stream.write("\n".join(SENTENCES).encode())
    arguments = ("memory://corpus", "--shard-rows", "2")
    first = bulk(*arguments, out="memory://out")
    assert (first.code, len(first.records)) == (0, len(SENTENCES))
    names = {about.base_name for about in filesystem.get_file_info(fs.FileSelector("/out"))}
    assert names == {"_SUCCESS", "_job.json", *(f"part-000000{k}.parquet" for k in range(3))}
    filesystem.delete_file("/out/part-0000001.parquet")
    assert bulk(*arguments, out="memory://out").records == first.records
    assert "different settings" in bulk(*arguments, "--from", "tokens", out="memory://out").said


# Models and sentences


def test_one_bad_sentence_does_not_cost_the_others(model: Path, tmp_path: Path) -> None:
    worker = ShardWorker(job_of(model, str(tmp_path)), "cpu")
    sentences = [["Kinder"], ["Ja"], [], ["Nein", "."], []]
    (tmp_path / "a.jsonl").write_bytes(b"".join(dumped({"tokens": words}) + b"\n" for words in sentences))
    (shard,) = shards_of(tmp_path / "a.jsonl")
    assert [row["error"] or row["words"] for row in worker.parse_rows(shard)] == [
        ("Kinder",),
        ("Ja",),
        "the row has no words",
        ("Nein", "."),
        "the row has no words",
    ]


def test_a_parser_that_has_broken_down_blames_no_row(
    model: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows with errors would look like work that is done."""
    task = job_of(model, str(corpus.parent / "out"), kind="lines", column="text")
    worker = ShardWorker(task, "cpu")

    def broken(_: object) -> None:
        raise RuntimeError("the device is lost")

    monkeypatch.setattr(worker.parser.engine, "start", broken)
    with task.start({}):
        (outcome, *_) = [worker(shard._asdict()) for shard in shards_of(corpus)]
    assert "the parser has stopped working" in outcome["problem"]
    assert not list((corpus.parent / "out").glob("part-*"))


def test_every_machine_has_the_same_model(model: Path, tmp_path: Path) -> None:
    task = replace(job_of(model, str(tmp_path)), checksum="0123")
    with pytest.raises(ModelError, match="differs from that of the job"):
        ShardWorker(task, "cpu")


@pytest.mark.parametrize(
    ("options", "arguments", "complaint"),
    [
        ({"language": ""}, [], "this model cannot tokenise raw text; pass --from tokens"),
        ({"tags": "gold"}, [], "this model reads tags, which the rows do not have"),
        ({}, ["--column", "txt"], "corpus.parquet: no column 'txt'; it has text"),
        ({}, ["--model", "nowhere"], "there is no model 'nowhere'"),
    ],
)
def test_what_would_fail_for_every_row_is_refused(
    bulk: Run, corpus: Path, options: dict[str, Any], arguments: list[str], complaint: str
) -> None:
    model = saved_model(corpus.parent / "model", **options)
    done = bulk(*COMMAND, "--model", str(model), *arguments)
    assert done.code == 1
    assert complaint in done.said
    assert not (corpus.parent / "out").exists()


@pytest.mark.usefixtures("corpus")
def test_this_process_is_at_no_address(bulk: Run) -> None:
    assert bulk(*COMMAND, "--address", "auto").code == 2


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(("missing", "workers"), [("pyarrow", "0"), ("ray", "1")])
def test_a_missing_extra_is_named(bulk: Run, monkeypatch: pytest.MonkeyPatch, missing: str, workers: str) -> None:
    monkeypatch.delitem(sys.modules, "discotree.integrations.ray", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    done = bulk(*COMMAND, "--workers", workers)
    assert done.code == 1
    assert f"{missing} is missing: pip install 'discotree[ray]'" in done.said.replace("\n", "")


# A cluster of one's own; tests/integrations/test_bulk_cluster.py has real ones


class FakeRay:
    """Keeps the options it is started with."""

    def __init__(self) -> None:
        self.options: dict[str, Any] = {}

    def init(self, address: str, **options: Any) -> None:
        self.options = {"address": address, **options}

    def shutdown(self) -> None:
        pass


@pytest.fixture
def fake_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", FakeRay())
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", bulk_ray.LOOPBACK_VARIABLE):
        monkeypatch.setenv(name, "")  # restored at the end
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("fake_ray")
def test_a_private_cluster_listens_on_loopback_and_asks_for_a_token() -> None:
    with bulk_ray._connect("10.0.0.1:6379", None) as ray:
        assert "RAY_AUTH_MODE" not in os.environ
        assert "_node_ip_address" not in ray.options
    with bulk_ray._connect("", None) as ray:
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert len(os.environ["RAY_AUTH_TOKEN"]) == 64
        assert os.environ[bulk_ray.LOOPBACK_VARIABLE] == "0"
        assert (ray.options["address"], ray.options["_node_ip_address"]) == ("local", "127.0.0.1")
        assert ray.options["include_dashboard"] is False


@pytest.mark.usefixtures("fake_ray")
def test_settings_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", "/mine")
    monkeypatch.setenv(bulk_ray.LOOPBACK_VARIABLE, "1")
    with bulk_ray._connect("", None):
        assert os.environ["RAY_AUTH_MODE"] == "disabled"
        assert "RAY_AUTH_TOKEN" not in os.environ


# The model


def test_the_language_of_the_first_rows_decides(
    bulk: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DISCOTREE_MODEL")
    shelf = tmp_path / "shelf"
    for code in ("is", "nl"):
        folder = with_card(
            saved_model(model_package(shelf, code), code), CARD | {"name": code, "code": code, "commercial": True}
        )
        assert (folder / "card.json").exists()
    use_models_of(shelf, monkeypatch)
    dutch = "Dat boek heeft zij gisteren niet gelezen."
    (tmp_path / "a.txt").write_text(f"Ja.\n{dutch}\n")
    done = bulk("a.txt")
    assert (done.code, len(done.records)) == (0, 2)
    assert "this text looks like Dutch: parsed with the model nl" in done.said
    (tmp_path / "b.txt").write_text("Ja.\n")
    assert "not certain: name a model (is, nl)" in bulk("b.txt", out="b").said
    named = bulk("a.txt", "--model", "is", out="named")
    assert named.code == 0
    assert "this text looks like Dutch; this model is for Icelandic" in named.said
    german = bulk("a.txt", "--model", str(model), out="german")
    assert "this model is for German" in german.said
