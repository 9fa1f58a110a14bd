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
from support.models import saved_model
from support.networks import TREES
from support.strategies import HOLDS, trees

import discotree as dt
from discotree.cli import main
from discotree.cli.bulk import _Progress
from discotree.errors import DiscotreeError, ModelError, TreebankError
from discotree.integrations.bulk import rows as reading
from discotree.integrations.bulk.plan import END, Plan
from discotree.integrations.bulk.records import of_tree, schema
from discotree.integrations.bulk.rows import RowError, lines
from discotree.integrations.bulk.sentences import MAX_WORDS
from discotree.integrations.bulk.shards import Output
from discotree.integrations.bulk.storage import storage
from discotree.integrations.bulk.work import MAX_DEATHS, Outcome, Task, Worker
from discotree.models.finding import fingerprint
from discotree.trees.tree import Tree

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
    """Run the command in this process; gives the records of its folder, which is ``out`` if no other is named."""
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
            if about.base_name.endswith(".parquet"):
                found += parquet.read_table(io.BytesIO(content)).to_pylist()
            else:
                found += map(json.loads, content.splitlines())
    return found


def task_of(model: Path, folder: str, **options: Any) -> Task:
    given = {"input": "tokens", "column": "tokens", "id_column": "id"} | options
    return Task(str(model), fingerprint(model), **given, output=Output(folder, "parquet", documents=False))


# Shards and the lines in them


@given(
    st.lists(st.binary(max_size=6).map(lambda raw: raw.replace(b"\xef", b"")), max_size=8).map(b"\n".join),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_every_line_belongs_to_exactly_one_shard(content: bytes, step: int, block: int) -> None:
    """However a file is cut, its lines come out as if it had been read at once."""
    whole = content.split(b"\n")
    whole = whole[:-1] if not whole[-1] else whole
    places = [sum(len(line) + 1 for line in whole[:k]) for k in range(len(whole))]
    cuts = [*range(0, len(content), step), len(content)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "BLOCK", block)
        found = [pair for k in range(len(cuts) - 1) for pair in lines(io.BytesIO(content), *cuts[k : k + 2])]
    assert found == [(place, line.removesuffix(b"\r")) for place, line in zip(places, whole, strict=True)]


def test_a_line_that_is_too_long_is_an_error_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 10)
    monkeypatch.setattr(reading, "LONGEST", 25)
    content = b"a\n" + b"b" * 26 + b"\n" + b"c" * 25 + b"\n" + b"d" * 99
    found = dict(lines(io.BytesIO(content), 0, END))
    assert [str(line) if isinstance(line, RowError) else line for line in found.values()] == [
        b"a",
        "a row of 26 bytes is too long: at most 25",
        b"c" * 25,
        "a row of 99 bytes is too long: at most 25",
    ]
    assert list(found) == [0, 2, 29, 55]


class Once(io.BytesIO):
    """A file that says how far it was read."""

    def read(self, size: int | None = -1) -> bytes:
        self.reached = self.tell() + (size or 0)
        return super().read(size)


def test_a_shard_in_the_middle_of_a_line_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BLOCK", 10)
    stream = Once(b"x" * 1000)
    assert list(lines(stream, 100, 200)) == []
    assert stream.reached < 220


def test_a_byte_order_mark_and_carriage_returns_do_not_belong_to_lines() -> None:
    content = "\ufeffa\r\n\ufeffb\r\n".encode()
    assert list(lines(io.BytesIO(content), 0, END)) == [(0, b"a"), (6, "\ufeffb".encode())]


def test_the_plan_follows_from_the_files(tmp_path: Path) -> None:
    """Folders are read in the order of names, hidden and empty files not at all, a packed file is one shard."""
    folder = tmp_path / "corpus"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two.txt").write_bytes(b"x" * 250)
    (folder / "a.jsonl").write_bytes(b"{}\n")
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"x" * 10_000))
    (folder / "empty.txt").write_bytes(b"")
    for hidden in (".hidden", "_SUCCESS"):
        (folder / hidden).write_bytes(b"x")
    parquet.write_table(pa.table({"text": ["x"] * 5}), folder / "d.parquet")
    plan = Plan.of([str(folder)], 1)
    assert [(shard.name, shard.begin, shard.end) for shard in plan.shards] == [
        ("a.jsonl", 0, 3),
        *(("b/two.txt", begin, min(begin + 100, 250)) for begin in (0, 100, 200)),
        ("c.txt.gz", 0, END),
        *(("d.parquet", row, row + 1) for row in range(5)),
    ]
    assert [shard.number for shard in plan.shards] == list(range(10))
    assert plan == Plan.of([str(folder)], 1)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["none.txt"], "none.txt: there is no such file"),
        (["nothing"], "nothing: there is no file in it"),
        (["a.zip"], "archives are not read"),
        (["bad.parquet"], "bad.parquet: cannot be read"),
        (["strange://x/y"], "strange://x/y: this kind of address cannot be opened"),
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
    ("", "there are no words"),
    (" \t ", "there are no words"),
    (TOO_LONG, "too long: at most 10,000"),
    ("a\x00b \x07 \x1b[31m", ""),
    ("🙂 é \u200d \u2028 \ufffe", ""),
    ("( ) a=b #", ""),
    (b"caf\xe9 .", "byte 0xe9 at 3 is not UTF-8"),
    (GOOD, ""),
]
TEXTS = [(row, error) for row, error in ROWS if isinstance(row, str)]
JSON_ROWS: list[tuple[Any, str]] = [
    *TEXTS,
    (None, "expected text, got null"),
    (7, "expected text, got 7"),
    ({"a": [1]}, 'expected text, got {"a": [1]}'),
    ("\ud800", "is no character"),
    (["Kinder", "spielen"], ""),
    (["New York", "ruft"], "the word 'New York' is one that discbracket cannot hold"),
    (["x " * 1000], " …  x x"),
    (["a", ""], "a word is empty"),
    (["a", None], "expected a word, got null"),
    ([], "there are no words"),
]


def assert_errors(done: Done, expected: list[str]) -> None:
    """A record for every row, with a tree or with the right error."""
    assert done.code == 0, done.said
    assert len(done.records) == len(expected)
    for record, error in zip(done.records, expected, strict=True):
        assert error in (record["error"] or "")
        assert len(record["error"] or "") <= 250
        assert (record["tree"] is None) == bool(error) == bool(record["error"])
        if not error:
            assert Tree.parse(record["tree"]).words == tuple(record["tokens"])


def test_lines_of_all_kinds(bulk: Run, tmp_path: Path) -> None:
    raw = [row if isinstance(row, bytes) else row.encode() for row, _ in [*ROWS, (LONG, "")]]
    (tmp_path / "a.txt").write_bytes(b"\n".join(raw))
    done = bulk("a.txt", "--from", "tokens", "--shard-rows", "20")
    assert_errors(done, [*(error for _, error in ROWS), ""])
    assert [record["id"] for record in done.records] == [
        f"a.txt:{sum(len(line) + 1 for line in raw[:k])}" for k in range(len(raw))
    ]
    assert len(done.records[-1]["tokens"]) == 5000


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_json_of_all_kinds(bulk: Run, tmp_path: Path, format: str) -> None:
    objects = [{"id": k, "tokens": row} for k, (row, _) in enumerate(JSON_ROWS)]
    others = {
        b"": "this is not JSON",
        b"{": "this is not JSON",
        b"\xff": "this is not JSON",
        b"[" * 100_000: "this is not JSON",
        b'{"tokens": ' + b"9" * 5000 + b"}": "this is not JSON",
        b"[1]": "expected an object, got [1]",
        b'{"text": "a"}': "there is no 'tokens'",
    }
    (tmp_path / "a.jsonl").write_bytes(b"".join(line + b"\n" for line in [*map(dumped, objects), *others]))
    done = bulk("a.jsonl", "--from", "tokens", "--to", format)
    assert_errors(done, [*(error for _, error in JSON_ROWS), *others.values()])
    assert [record["id"] for record in done.records[: len(objects)]] == [str(k) for k in range(len(objects))]
    assert {path.suffix for path in (tmp_path / "out").glob("part-*")} == {f".{format}"}


def dumped(value: object) -> bytes:
    return json.dumps(value).encode()


def test_columns_of_all_kinds(bulk: Run, tmp_path: Path) -> None:
    """Parquet files of all types of text; one without the column, and one where it is a number, are all errors."""
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
    parquet.write_table(pa.table({"other": ["x", "y"]}), tmp_path / "in" / "k.parquet")
    parquet.write_table(pa.table({"id": ["x", "y"]}), tmp_path / "in" / "l.parquet")
    of_texts = [error for _, error in TEXTS]
    of_words = ["", "expected text, got null", "there are no words", "expected a word, got null"]
    expected = [*of_texts, "expected text, got null", *(error for _, error in ROWS), *of_texts, *of_texts]
    expected += ["is not UTF-8", "", *of_words, *of_words, *["expected text or a list of words, got int64"] * 2]
    expected += [*["expected text, got null"] * 2, "got struct<", *["there is no column 'tokens'"] * 4]
    assert_errors(bulk("in", "--from", "tokens"), expected)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pa.array(["x", "x", None, ""]), ["x", "x", "a.parquet:2", "a.parquet:3"]),
        (pa.array([7, 7, None, -1]), ["7", "7", "a.parquet:2", "-1"]),
        (pa.array([b"\xff", b"y", b"z", b""]).view(pa.string()), ["\ufffd", "y", "z", "a.parquet:3"]),
        (pa.array([1.5, 2.0, None, 3.0]), ["1.5", "2", "a.parquet:2", "3"]),
        (pa.array([{"a": 1}] * 4), [f"a.parquet:{k}" for k in range(4)]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_ids_are_those_of_the_rows_or_their_places(bulk: Run, tmp_path: Path, ids: Any, expected: list[str]) -> None:
    """Two rows with the same id are two rows."""
    parquet.write_table(pa.table({"text": ["Ja ."] * 4, "key": ids}), tmp_path / "a.parquet")
    assert [record["id"] for record in bulk("a.parquet", "--id-column", "key").records] == expected


@pytest.mark.parametrize("group", [1, 3, 7, 100])
def test_rows_come_out_in_their_order_whatever_the_groups(bulk: Run, tmp_path: Path, group: int) -> None:
    table = pa.table({"id": [str(k) for k in range(23)], "text": [f"{k} ." for k in range(23)]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=group)
    done = bulk("a.parquet", "--shard-rows", "5")
    assert [(record["id"], record["tokens"]) for record in done.records] == [(str(k), [str(k), "."]) for k in range(23)]
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
    assert [" ".join(record["tokens"]) for record in done.records] == SENTENCES


def test_texts_have_a_list_of_sentences(bulk: Run, tmp_path: Path) -> None:
    texts = ["Kinder spielen. Sie lachen.", "", "Ja!", "x " * (MAX_WORDS + 1)]
    (tmp_path / "a.jsonl").write_bytes(b"".join(dumped({"text": text}) + b"\n" for text in texts))
    first, empty, last, long = bulk("a.jsonl", "--from", "text").records
    assert first["tokens"] == [["Kinder", "spielen", "."], ["Sie", "lachen", "."]]
    assert [len(first[name]) for name in ("tree", "functions", "confidence")] == [2, 2, 2]
    assert (empty["tree"], empty["error"]) == (None, "there are no words")
    assert (last["tokens"], last["error"]) == ([["Ja", "!"]], None)
    assert "too long" in long["error"]


def test_lines_are_cut_into_words(bulk: Run, tmp_path: Path) -> None:
    """A row is one sentence, even if it looks like two."""
    (tmp_path / "a.txt").write_text("Kinder spielen. Sie lachen.\n")
    (record,) = bulk("a.txt").records
    assert record["tokens"] == ["Kinder", "spielen", ".", "Sie", "lachen", "."]


# Records


_functions = st.sampled_from(["--", "SB", "a b", "é"])
WITH_FUNCTIONS = replace(
    HOLDS["discbracket"], functions=_functions, token_functions=_functions, root_functions=_functions
)


@settings(max_examples=40)
@given(trees(WITH_FUNCTIONS), st.floats(0, 1))
def test_records_are_trees(tree: dt.Tree, confidence: float) -> None:
    """Words, tags, labels and functions come back."""
    table = pa.Table.from_pylist([of_tree(tree.id, replace(tree, confidence=confidence))], schema(documents=False))
    parquet.write_table(table, stream := io.BytesIO())
    (again,) = parsed(stream.getvalue(), "parquet")
    assert again == tree
    assert again.confidence == confidence


def test_the_output_is_a_treebank(bulk: Run, tmp_path: Path) -> None:
    """The same trees that the parser gives, for dt.read and for whoever reads folders of Parquet files."""
    (tmp_path / "a.txt").write_text("\n".join([*SENTENCES, ""]) + "\n")
    done = bulk("a.txt", "--from", "tokens", "--shard-rows", "2")
    assert done.code == 0
    direct = dt.load(os.environ["DISCOTREE_MODEL"]).parse([list(tree.words) for tree in TREES])
    errors: list[TreebankError] = []
    for tree, other in zip(dt.read("out", "parquet", on_error=errors.append), direct, strict=True):
        assert tree.tokens == tuple(token._replace(morph="--") for token in other.tokens)
        assert tree.root == other.root
        assert tree.confidence == pytest.approx(other.confidence)
    assert ["there are no words" in str(error) for error in errors] == [True]
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


def test_a_second_run_does_what_is_missing_and_nothing_else(bulk: Run, corpus: Path) -> None:
    first = bulk(*COMMAND)
    assert "4 of 4 shards, 80 rows, 0 with an error, 80 sentences" in first.said
    parts = sorted((corpus.parent / "out").glob("part-*"))
    assert len(parts) == 4
    content = parts[2].read_bytes()
    parts[2].unlink()
    assert (corpus.parent / "out" / "_SUCCESS").exists()
    with Output("out", "parquet", documents=False).begun({}):  # it is not complete while somebody works on it
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


def test_what_a_dead_worker_left_is_taken_away(bulk: Run, corpus: Path) -> None:
    bulk(*COMMAND)
    folder = corpus.parent / "out"
    (folder / "_SUCCESS").unlink()
    (folder / "part-0000001.parquet").rename(folder / "part-0000001.parquet.0123abcd.tmp")
    assert bulk(*COMMAND).code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        "_SUCCESS",
        "_job.json",
        "_lock",
        *(f"part-000000{k}.parquet" for k in range(4)),
    ]


def test_another_job_in_the_same_folder_is_refused(bulk: Run, corpus: Path) -> None:
    (corpus.parent / "other.txt").write_text("Ja .\n")
    first = bulk(*COMMAND)
    for arguments, complaint in {
        ("--from", "tokens", "--column", "text"): "--from was 'lines' and is 'tokens'",
        ("--to", "json"): "--to was 'parquet' and is 'json'",
        ("--shard-rows", "21"): "--shard-rows was 20 and is 21",
        ("--id-column", "x"): "--id-column was 'id' and is 'x'",
        ("other.txt",): "files was None and is ['",
    }.items():
        other = bulk(*COMMAND, *arguments)
        assert other.code == 1
        assert re.search(r"/out belongs to another job: ", other.said)
        assert complaint in other.said
        assert other.records == first.records


def test_other_files_and_models_are_another_job(
    bulk: Run, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    bulk(*COMMAND)
    other = saved_model(tmp_path_factory.mktemp("other") / "model", language="nl")
    assert "another job: model was" in bulk(*COMMAND, "--model", str(other)).said
    parquet.write_table(pa.table({"text": SENTENCES * 4}), corpus, row_group_size=20)  # at another time
    assert "another job: files was" in bulk(*COMMAND).said


def test_a_folder_with_something_else_in_it_is_left_alone(bulk: Run, corpus: Path) -> None:
    folder = corpus.parent / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("")
    assert "there is something in it (thesis.txt), and no job of ours" in bulk(*COMMAND, out="mine").said
    assert [path.name for path in folder.iterdir()] == ["thesis.txt"]


def test_the_output_is_no_part_of_the_input(bulk: Run, corpus: Path) -> None:
    assert "lies in the input" in bulk(str(corpus.parent)).said


def test_one_at_a_time(bulk: Run, corpus: Path) -> None:
    with Output("out", "parquet", documents=False).begun({}):
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
    assert "1 shards are not there: the same command tries again" in done.said
    assert len(done.records) == 60
    assert not (corpus.parent / "out" / "_SUCCESS").exists()


def test_a_file_that_has_lost_rows_is_noticed(model: Path, corpus: Path) -> None:
    task = task_of(model, str(corpus.parent / "out"), input="lines", column="text")
    shards = Plan.of([str(corpus)], 20).shards
    parquet.write_table(pa.table({"text": SENTENCES * 2}), corpus, row_group_size=20)
    with task.output.begun({}):
        outcomes = list(map(Worker(task, "cpu"), shards))
    assert [outcome.rows for outcome in outcomes] == [20, 20, 0, 0]
    assert all("has fewer rows than when the job began" in outcome.problem for outcome in outcomes[2:])


def test_if_everything_fails_the_job_stops() -> None:
    """A full disk, say, is not tried a hundred thousand times."""
    done = Outcome(1, problem="part-0000001.parquet: no space left")
    progress = _Progress(100, 0)
    with pytest.raises(DiscotreeError, match="10 shards could not be done"):
        progress(done for _ in range(100))


def test_a_shard_that_kills_its_workers_is_given_up(model: Path, corpus: Path) -> None:
    """A worker that dies leaves its note; after some of them nobody tries any more."""
    task = task_of(model, str(corpus.parent / "out"), input="lines", column="text")
    (shard, *_) = Plan.of([str(corpus)], 20).shards
    dead: list[object] = []
    with task.output.begun({}):
        for _ in range(MAX_DEATHS):
            (note := task.output.attempt(shard)).__enter__()
            dead.append(note)
        worker = Worker(task, "cpu")
        assert worker(shard) == Outcome(0, problem="part-0000000.parquet: 3 workers died of it")
        assert worker(shard) == Outcome(0, 20, 20, 0)
        assert worker(shard) == Outcome(0)  # it is there


def test_storage_of_any_kind(bulk: Run) -> None:
    """Files that only fsspec can open, in and out; what is there is not done again."""
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
    assert "another job" in bulk(*arguments, "--to", "json", out="memory://out").said


# Models and sentences


def test_one_bad_sentence_does_not_cost_the_others(model: Path, tmp_path: Path) -> None:
    worker = Worker(task_of(model, str(tmp_path)), "cpu")
    sentences = [["Kinder"], ["Ja"], [], ["Nein", "."], []]
    found = worker.parsed(sentences)
    assert [tree.words if isinstance(tree, dt.Tree) else str(tree) for tree in found] == [
        ("Kinder",),
        ("Ja",),
        "sentence 1 has no words",
        ("Nein", "."),
        "sentence 1 has no words",
    ]


def test_a_parser_that_has_broken_down_blames_no_row(model: Path, corpus: Path) -> None:
    """Rows with errors would look like work that is done."""
    task = task_of(model, str(corpus.parent / "out"), input="lines", column="text")
    worker = Worker(task, "cpu")
    next(worker.parser.network.children()).double()  # its numbers no longer fit the others
    with task.output.begun({}):
        (outcome, *_) = map(worker, Plan.of([str(corpus)], 20).shards)
    assert "the parser does not work any more" in outcome.problem
    assert not list((corpus.parent / "out").glob("part-*"))


def test_every_machine_has_the_same_model(model: Path, tmp_path: Path) -> None:
    task = replace(task_of(model, str(tmp_path)), fingerprint="0123")
    with pytest.raises(ModelError, match="has another model"):
        Worker(task, "cpu")


@pytest.mark.parametrize(
    ("options", "arguments", "complaint"),
    [
        ({"language": ""}, [], "this model has no language to tokenise text by: --from tokens"),
        ({"tags": "gold"}, [], "this model looks at tags, which the rows do not have"),
        ({}, ["--column", "txt"], "corpus.parquet: there is no column 'txt'; there are text"),
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
    for name in [name for name in sys.modules if name.startswith("discotree.integrations.bulk.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    done = bulk(*COMMAND, "--workers", workers)
    assert done.code == 1
    assert f"{missing} is missing: pip install 'discotree[ray]'" in done.said.replace("\n", "")
