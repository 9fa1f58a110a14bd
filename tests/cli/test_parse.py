"""discotree parse: any input to any output, as a stream, whatever happens on the way."""

import bz2
import gzip
import io
import json
import logging
import lzma
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.helpers import brackets_of, parsed
from support.models import saved_model
from support.networks import TREES

import discotree as dt
from discotree.cli import main
from discotree.cli.common import Bar, show_warnings
from discotree.cli.parse import _Run
from discotree.errors import DiscotreeError
from discotree.parsing.inputs import INPUTS, Sentence, _Pieces
from discotree.parsing.outputs import OUTPUTS
from discotree.parsing.resumable import Counts, File, Stream
from discotree.parsing.workers import Job, Worker
from discotree.text.streams import BLOCK, lines_of

HEAVY = ("torch", "numpy")
LINES = [" ".join(tree.words) for tree in TREES]


class Done(NamedTuple):
    code: int
    out: bytes
    err: str

    @property
    def trees(self) -> list[str]:
        return self.out.decode().splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Done]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "model")


@pytest.fixture(scope="session")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that looks at tags, and one that has no language."""
    folder = tmp_path_factory.mktemp("others")
    saved_model(folder / "tags", tags="gold")
    saved_model(folder / "mute", language="")
    return folder


@pytest.fixture
def cli(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Cli:
    """Run the command in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCOTREE_MODEL", str(model))

    def run(*arguments: str, stdin: bytes | str | io.RawIOBase = b"") -> Done:
        if not isinstance(stdin, io.RawIOBase):
            stdin = io.BytesIO(stdin.encode() if isinstance(stdin, str) else stdin)  # type: ignore[assignment]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stdin)))  # type: ignore[type-var]
        monkeypatch.setattr(sys, "argv", ["discotree", "parse", *arguments])
        capsysbinary.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, said = capsysbinary.readouterr()
        return Done(int(ended.value.code or 0), out, said.decode())

    return run


# Every input, every output


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sentences as every kind of input."""
    folder = tmp_path_factory.mktemp("inputs")
    for kind in INPUTS:
        if kind in dt.FORMATS:
            dt.write(TREES[:4], folder / kind, kind)
        else:
            (folder / kind).write_text("\n".join(LINES[:4]))
    return folder


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_goes_to_every_output(cli: Cli, inputs: Path, tmp_path: Path, kind: str, output: str) -> None:
    done = cli(str(inputs / kind), "--input", kind, "--output", output, "-o", "out")
    assert (done.code, done.err) == (0, "4 sentences written to out\n")
    assert os.listdir(tmp_path) == ["out"]
    wanted = [tree.words for tree in TREES[:4]]
    if output == "draw":
        drawings = (tmp_path / "out").read_text("utf-8").split("\n\n")
        assert [tuple(drawing.splitlines()[-1].split()) for drawing in drawings[:-1]] == wanted
    elif output == "json":
        records = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
        assert [tuple(token["form"] for token in record["tokens"]) for record in records] == wanted
        assert all(("start" in record["tokens"][0]) == (kind not in dt.FORMATS) for record in records)
    else:
        assert [tree.words for tree in dt.read(tmp_path / "out", output)] == wanted
    if kind == "export":
        assert cli(str(inputs / kind), "--input", kind, "--output", output).out == (tmp_path / "out").read_bytes()


def test_a_file_says_by_its_name_what_it_is(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.export", "a.tiger.xml", "a.dbr.gz"):
        dt.write(TREES[:4], tmp_path / name)
    dt.write(TREES[:4], tmp_path / "a.xml", "alpino")
    (tmp_path / "a.txt").write_text("\n\n".join(LINES[:4]))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("\n\n".join(LINES[:4]).encode()))
    texts = {
        tuple(tuple(tree.words) for tree in dt.read(tmp_path / f"out{name}.dbr"))
        for name in ("a.export", "a.tiger.xml", "a.dbr.gz", "a.xml", "a.txt", "b.txt.gz")
        if cli(name, "-o", f"out{name}.dbr").code == 0
    }
    assert texts == {tuple(tree.words for tree in TREES[:4])}


def test_a_folder_is_a_treebank(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bank").mkdir()
    dt.write(TREES[:2], tmp_path / "bank" / "one.export")
    dt.write(TREES[2:4], tmp_path / "bank" / "two.export")
    done = cli("bank", "--output", "json")
    assert [record["id"] for record in done.records] == ["one/s1", "one/s2", "two/s3", "two/s4"]


def test_text_comes_from_the_argument_from_a_file_and_from_standard_input(cli: Cli, tmp_path: Path) -> None:
    text = "Es kam. Wir lachen und ihr weint."
    (tmp_path / "text").write_text(text)
    ways = [cli(text), cli("text"), cli("-", stdin=text), cli(stdin=text)]
    assert [done.code for done in ways] == [0] * 4
    assert len({done.out for done in ways}) == 1
    assert [len(tree) for tree in parsed(ways[0].out, "discbracket")] == [3, 6]


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("a", b"(ROOT"),
        ("a.dbr", b"(ROOT"),
        ("a.jsonl", b'{"id"'),
        ("a.json.gz", b'{"id"'),
        ("a.conllu.bz2", b"# sent_id"),
        ("a.export.xz", b"#FORMAT 4"),
    ],
)
def test_the_output_follows_from_the_name_of_its_file(cli: Cli, tmp_path: Path, name: str, begins: bytes) -> None:
    assert cli("-", "--input", "lines", "-o", name, stdin="\n".join(LINES)).code == 0
    unpack = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}.get(name.rpartition(".")[2], bytes)
    assert unpack((tmp_path / name).read_bytes()).startswith(begins)


def test_a_device_is_written_to_as_it_is(cli: Cli, tmp_path: Path) -> None:
    assert cli("Ja.", "-o", os.devnull).code == 0
    assert os.listdir(tmp_path) == []


# What comes out


def test_a_record_holds_everything(cli: Cli) -> None:
    done = cli("Es kam nichts Interessantes.", "--output", "json")
    (record,) = done.records
    assert list(record) == ["id", "tokens", "constituents", "confidence"]
    assert {"form": "kam", "start": 3, "end": 6}.items() <= record["tokens"][1].items()
    assert 0 < record["confidence"] < 1
    tree = dt.load(os.environ["DISCOTREE_MODEL"])("Es kam nichts Interessantes.")
    assert [tuple(row["positions"]) for row in record["constituents"]] == [node.positions for node in tree.nodes()]
    assert [row["confidence"] for row in record["constituents"]] == pytest.approx(tree.confidences, rel=1e-4)
    (again,) = parsed(done.out, "json")
    assert (again.root, again.tokens) == (tree.root, tree.tokens)


@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_offsets_point_at_the_token(cli: Cli, tmp_path: Path, kind: str, bom: str) -> None:
    text = "\n\n".join(
        [
            "Der Mu\u0308ller 👩‍👩‍👧 kam 👍🏽 an.",  # NFD, joined and coloured emoji
            "Ein\u200bWort mit\u00adhin \u200eda\u200f.",  # what no font shows
            "\tEin  Mann\u00a0singt \U0001d518!\r",
            "𝔘𝔫𝔡 日本語 עברית.\n",
        ]
    )
    (tmp_path / "text").write_bytes((bom + text).encode())
    done = cli("text", "--input", kind, "--output", "json")
    assert done.code == 0
    found = [token for record in done.records for token in record["tokens"]]
    assert [text[token["start"] : token["end"]] for token in found] == [token["form"] for token in found]
    covered = {place for token in found for place in range(token["start"], token["end"])}
    assert all(character.isspace() or place in covered for place, character in enumerate(text))


def test_several_trees_for_every_sentence(cli: Cli) -> None:
    text = "Es kam nichts.\nWir lachen."
    done = cli("-", "--input", "lines", "--k", "3", stdin=text)
    assert [line.rpartition("\t")[2] for line in done.trees] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    json_lines = cli("-", "--input", "lines", "--k", "3", "--output", "json", stdin=text)
    assert [record["id"] for record in json_lines.records] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    assert brackets_of(parsed(json_lines.out, "json")) == [line.partition("\t")[0] for line in done.trees]
    for records in (json_lines.records[:3], json_lines.records[3:]):
        confidences = [record["confidence"] for record in records]
        assert confidences == sorted(confidences, reverse=True)
    drawn = cli("-", "--input", "lines", "--k", "3", "--output", "draw", stdin=text).out.decode()
    assert re.findall(r"^([12]\.[123])  probability [\d.e-]+$", drawn, re.MULTILINE) == [
        *("1.1", "1.2", "1.3", "2.1", "2.2", "2.3")
    ]


def test_every_way_of_decoding_gives_trees(cli: Cli) -> None:
    for way in ("exact", "beam", "greedy"):
        assert [len(tree) for tree in parsed(cli("Es kam nichts.", "--decode", way).out, "discbracket")] == [4]


def test_ids_of_a_treebank_stay(cli: Cli, tmp_path: Path) -> None:
    dt.write(TREES[:4], tmp_path / "a.export")
    assert [tree.id for tree in parsed(cli("a.export", "--output", "export").out, "export")] == ["s1", "s2", "s3", "s4"]
    assert [line.rpartition("\t")[2] for line in cli("a.export").trees] == ["s1", "s2", "s3", "s4"]


def test_tags_are_looked_at_by_a_model_that_does(cli: Cli, others: Path, tmp_path: Path) -> None:
    dt.write(TREES[:4], tmp_path / "a.export")
    done = cli("a.export", "--tags", "--model", str(others / "tags"), "--output", "json")
    tags = [[token["tag"] for token in record["tokens"]] for record in done.records]
    assert tags == [[token.tag for token in tree.tokens] for tree in TREES[:4]]
    refused = cli("a.export", "--model", str(others / "tags"))
    assert (refused.code, refused.out) == (1, b"")
    assert "this model looks at tags" in refused.err
    assert "looks at no tags" in cli("a.export", "--tags").err


# Any input


@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\r\n", "\ufeff"])
def test_blanks_are_no_sentences(cli: Cli, kind: str, text: str) -> None:
    assert cli("-", "--input", kind, stdin=text) == Done(0, b"", "")


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_comes_to_nothing(cli: Cli, tmp_path: Path, output: str) -> None:
    done = cli("-", "--output", output, "-o", "out", stdin="\n")
    assert (done.code, done.err) == (0, "0 sentences written to out\n")
    if output in dt.FORMATS:
        assert list(dt.read(tmp_path / "out", output)) == []
    else:
        assert (tmp_path / "out").read_bytes() == b""


def test_empty_lines_are_skipped(cli: Cli) -> None:
    assert (
        cli("-", "--input", "tokens", stdin="a b\n\n \nc\n").trees
        == cli("-", "--input", "tokens", stdin="a b\nc").trees
    )


@pytest.mark.parametrize("output", OUTPUTS)
def test_what_an_output_cannot_hold_is_said_and_left_out(cli: Cli, output: str) -> None:
    tokens = ["Ja", "a\0b", "( ) [ ] < > & \" '", "a\x0bb c\x1cd", "#BOS #500 %% *T*-1 -LRB-", "\u2028 \u00a0", "Nein"]
    done = cli("-", "--input", "tokens", "--output", output, stdin="\n".join(tokens))
    failed = done.err.count("cannot hold")
    assert done.code == (1 if failed else 0)
    if failed:
        said = re.findall(r"^discotree: <stdin>:(\d): sentence (\d): the \w+ .* is one that", done.err, re.MULTILINE)
        assert len(said) == failed
        assert all(line == number for line, number in said)
        assert max(map(len, done.err.splitlines())) < 300
        assert f"{failed} sentences could not be parsed or written" in done.err
    if output in dt.FORMATS:
        trees = parsed(done.out, output)
        assert len(trees) == len(tokens) - failed
        assert trees[0].words == ("Ja",)
        assert trees[-1].words == ("Nein",)
    else:
        assert not failed


@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
def test_bytes_that_are_no_text_are_said_with_their_line(cli: Cli, kind: str) -> None:
    raw = b"Es kam .\n\nWir lachen .\n\nDas ist caf\xe9 .\n\nKinder spielen .\n\n\xff\xfe\n\nEnde \xef\xbf\xbd .\n"
    done = cli("-", "--input", kind, "--output", "json", stdin=raw)
    assert done.code == 1
    assert "discotree: <stdin>:5: sentence 3: byte 0xe9 is not utf-8; --errors replace" in done.err
    assert "discotree: <stdin>:9: sentence 5: byte 0xff is not utf-8" in done.err
    assert "2 sentences could not be parsed" in done.err
    assert [record["id"] for record in done.records] == ["1", "2", "4", "6"]
    replaced = cli("-", "--input", kind, "--output", "json", "--errors", "replace", stdin=raw)
    assert (replaced.code, replaced.err) == (0, "")
    assert "caf�" in [token["form"] for token in replaced.records[2]["tokens"]]
    latin = cli("-", "--input", kind, "--output", "json", "--encoding", "latin-1", stdin=raw)
    assert "café" in [token["form"] for token in latin.records[2]["tokens"]]


def test_one_bad_byte_in_a_paragraph_costs_one_sentence(cli: Cli) -> None:
    done = cli("-", stdin=b"Es kam. Wir lachen \xff laut. Kinder spielen.")
    assert [line.rpartition("\t")[2] for line in done.trees][1:] == ["3"]
    assert done.code == 1


def test_a_bad_byte_in_the_argument_is_said(cli: Cli) -> None:
    done = cli(os.fsdecode(b"Es kam \xff."))
    assert (done.code, done.out) == (1, b"")
    assert "<text>:1: sentence 1: byte 0xff" in done.err


def test_utf_16_is_read_when_it_is_named(cli: Cli) -> None:
    text = "Es kam.\n\nWir lächeln 👍."
    assert cli("-", "--encoding", "utf-16", stdin=text.encode("utf-16")).out == cli(text).out
    broken = cli("-", "--encoding", "utf-16", stdin=text.encode("utf-16") + b"\x00\xdc\n\x00\n\x00")
    assert broken.code == 1
    assert "this is not utf-16" in broken.err


def test_broken_trees_of_a_treebank_are_said_and_the_others_parsed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.dbr").write_text("(ROOT (NN 0=a))\n(ROOT (NN 0=a)\n(ROOT (NN 0=b))\n(ROOT (NN 1=b))\n")
    done = cli("bad.dbr", "--output", "json")
    assert done.code == 1
    assert "discotree: bad.dbr:2: 1 brackets are not closed" in done.err
    assert "discotree: bad.dbr:4: position 0 is missing" in done.err
    assert [record["id"] for record in done.records] == ["1", "3"]


def test_an_input_that_breaks_off_leaves_what_was_done(cli: Cli, tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(LINES * 50).encode())
    (tmp_path / "a.gz").write_bytes(packed[:-30])
    done = cli("a.gz", "--input", "lines", "-o", "out.tiger.xml")
    assert done.code == 1
    assert "discotree: a.gz: cannot be read" in done.err
    written = int(re.search(r"stopped; ([\d,]+) sentences are in", done.err)[1].replace(",", ""))  # type: ignore[index]
    assert len(list(dt.read(tmp_path / "out.tiger.xml.part", "tigerxml"))) == written > 100
    assert not (tmp_path / "out.tiger.xml").exists()


def test_many_errors_are_counted(cli: Cli) -> None:
    done = cli("-", "--input", "tokens", "--output", "export", stdin="\n".join(["a\x1cb"] * 50 + ["c"]))
    assert done.err.count("cannot hold") == 20
    assert "50 sentences could not be parsed" in done.err
    assert [tree.words for tree in parsed(done.out, "export")] == [("c",)]


def test_a_long_sentence_among_short_ones(cli: Cli) -> None:
    long = " ".join(LINES * 8)
    done = cli("-", "--input", "tokens", stdin=f"Ja\n{long}\nNein\n{'x' * 100_000}\n")
    assert [len(tree) for tree in parsed(done.out, "discbracket")] == [1, len(long.split()), 1, 1]


def test_warnings_of_the_library_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    show_warnings()
    show_warnings()
    logging.getLogger("discotree.parsing.parser").warning("a sentence of %d words", 9999)
    logging.getLogger("discotree.parsing.parser").info("nothing to worry about")
    assert capsys.readouterr().err == "discotree: a sentence of 9999 words\n"


class Fragile(Worker):
    """One that cannot bear giants."""

    def analyse(self, sentences: Sequence[Sentence]) -> list[list[dt.Tree]]:
        if any(sentence.words[0] == "Riese" for sentence in sentences):
            raise RuntimeError("out of memory\nand much more")
        return super().analyse(sentences)


def test_a_sentence_that_the_parser_cannot_bear_does_not_take_the_others_along(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.BytesIO()
    run = _Run(Stream(stream, ""), Fragile(Job(str(model), "cpu", None, 0, "discbracket")), 1, 4)
    words = [*"abcde", "Riese", *"fgh", "Riese"]
    run(iter([Sentence(str(k), [word], f"file:{k}") for k, word in enumerate(words, 1)]), Bar())
    assert run.sink.counts == Counts(10, 8, 2)
    said = [f"discotree: file:{line}: out of memory" for line in (6, 10)]
    assert capsys.readouterr().err.splitlines() == said


def test_a_record_is_one_line_whoever_counts(cli: Cli) -> None:
    tokens = "a\u2028b c\x85d e\u2029f"
    done = cli("-", "--input", "tokens", "--output", "json", stdin=tokens)
    (line,) = done.out.decode().splitlines()
    assert " ".join(token["form"] for token in json.loads(line)["tokens"]) == tokens


# Wrong commands


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["Ja.", "--input", "klingon"], 2, "there is no input"),
        (["Ja.", "--output", "klingon"], 2, "there is no output"),
        (["Ja.", "--decode", "guess"], 2, "guess"),
        (["Ja.", "--k", "3", "--decode", "beam"], 2, "leave out"),
        (["Ja.", "--resume"], 2, "-o FILE"),
        (["Ja.", "--tags"], 2, "needs a treebank"),
        (["Ja.", "--encoding", "klingon"], 2, "there is no encoding"),
        (["Ja.", "Nein."], 2, "extra argument"),
        (["Ja.", "--model", "nobody"], 1, "there is no model 'nobody'"),
        (["Ja.", "--device", "gpu9"], 1, "the device 'gpu9' cannot be used"),
        (["Ja.", "-o", "nowhere/out"], 1, "nowhere/out: cannot be written: No such file"),
        (["Ja.", "-o", "."], 1, "Is a directory"),
        (["Ja.", "-o", "out.zip"], 1, "archives can be read but not written"),
        ([".", "--input", "text"], 1, "cannot be read: Is a directory"),
        (["."], 1, "holds no treebank file"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, tmp_path: Path, arguments: list[str], code: int, message: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (code, b"")
    assert message in " ".join(done.err.replace("│", " ").split())
    assert os.listdir(tmp_path) == []


def test_a_model_without_a_language_takes_tokens(cli: Cli, others: Path) -> None:
    assert "no language to cut text by" in cli("Ja.", "--model", str(others / "mute")).err
    assert cli("Ja .", "--model", str(others / "mute"), "--input", "tokens").code == 0


def test_a_file_that_is_not_there_is_text_and_that_is_said(cli: Cli) -> None:
    done = cli("corpus.txt", "--input", "tokens")
    assert (done.code, len(done.trees)) == (0, 1)
    assert done.err == "discotree: corpus.txt is no file here: it is taken as text\n"
    assert cli("Ja.").err == cli("Hallo Welt.txt").err == ""


WITHOUT_TORCH = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "numpy"):
            raise ModuleNotFoundError(f"no {{name}}", name=name)

sys.meta_path.insert(0, Refuse())
from discotree.cli import main
sys.argv = ["discotree", "parse", "Ja.", "--model", {model!r}]
main()
"""


def test_without_torch_it_is_said_what_to_install(model: Path) -> None:
    code = WITHOUT_TORCH.format(model=str(model))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() in [f"discotree: {name} is missing: pip install 'discotree[parser]'" for name in HEAVY]


# Interrupted and resumed


class Keyboard(io.RawIOBase):
    """Some lines, and then somebody presses Ctrl-C."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [f"{line}\n".encode() for line in lines]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.lines:
            raise KeyboardInterrupt
        line = self.lines.pop(0)
        buffer[: len(line)] = line
        return len(line)


MANY = [f"{line} {k}" for k, line in enumerate(LINES * 3)]
MANY[5] = "a\x1cb"  # what most formats cannot hold
TEXT = "\n".join([*MANY, ""])


@pytest.mark.parametrize(("output", "suffix"), [*((output, "") for output in OUTPUTS), ("tigerxml", ".gz")])
def test_an_interrupted_run_goes_on_to_the_same_bytes(cli: Cli, tmp_path: Path, output: str, suffix: str) -> None:
    options = ["-", "--input", "tokens", "--output", output]
    whole = cli(*options, "-o", f"whole{suffix}", stdin=TEXT)
    target = f"out{suffix}"
    for lines in (0, 20, 45):
        stopped = cli(*options, "-o", target, "--resume", stdin=Keyboard(MANY[:lines]))
        assert stopped.code == 130
        if not lines:
            assert "interrupted; nothing was written" in stopped.err
            assert sorted(os.listdir(tmp_path)) == [f"whole{suffix}"]
        else:
            written = int(re.search(r"interrupted; (\d+) sentences are in", stopped.err)[1])  # type: ignore[index]
            assert lines // 2 - 1 <= written <= lines
            assert "--resume goes on" in stopped.err
            assert not (tmp_path / target).exists()
            if output in dt.FORMATS and not suffix:
                assert len(list(dt.read(tmp_path / "out.part", output))) == written
    done = cli(*options, "-o", target, "--resume", stdin=TEXT)
    assert done.code == whole.code
    assert done.err.splitlines()[-1] == whole.err.splitlines()[-1].replace("whole", "out")
    assert (tmp_path / target).read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    assert sorted(os.listdir(tmp_path)) == [target, f"whole{suffix}"]


def test_an_interrupted_stream_ends_in_order(cli: Cli) -> None:
    done = cli("-", "--input", "lines", "--output", "tigerxml", stdin=Keyboard(LINES[:9]))
    assert done.code == 130
    trees = parsed(done.out, "tigerxml")
    assert f"interrupted; {len(trees)} sentences were written" in done.err
    assert 4 <= len(trees) <= 9


def test_a_run_that_was_interrupted_is_not_thrown_away(cli: Cli, tmp_path: Path) -> None:
    cli("-", "--input", "lines", "-o", "out.dbr", stdin=Keyboard(LINES))
    part = (tmp_path / "out.dbr.part").read_bytes()
    done = cli("-", "--input", "lines", "-o", "out.dbr", stdin=TEXT)
    assert done.code == 1
    assert "go on with --resume, or remove it" in done.err
    for other in (["--input", "tokens"], ["--k", "2"], ["--output", "json"], ["--decode", "greedy"]):
        done = cli("-", "--input", "lines", "-o", "out.dbr", "--resume", *other, stdin=TEXT)
        assert done.code == 1
        assert "was begun with another" in done.err
    assert (tmp_path / "out.dbr.part").read_bytes() == part


def test_resuming_with_another_model_is_refused(cli: Cli, others: Path) -> None:
    options = ["-", "--input", "tokens", "-o", "out.dbr", "--resume"]
    cli(*options, stdin=Keyboard(LINES))
    assert "was begun with another model" in cli(*options, "--model", str(others / "mute"), stdin=TEXT).err


def journal(path: Path, resume: bool = True) -> File:
    return File(str(path), "<", {"what": "test"}, resume)


def test_a_torn_end_is_cut_off(tmp_path: Path) -> None:
    for torn_part, torn_notes in ((b"tor", b""), (b"", b"[3, 3, 0"), (b"tor", b"[3"), (b"\0" * 9, b"\0" * 9 + b"\n")):
        file = journal(tmp_path / "out")
        file.write("one ", Counts(1, 1, 0))
        file.write("two ", Counts(2, 2, 0))
        file.stream.close()
        file.notes.close()
        for name, torn in (("out.part", torn_part), ("out.progress", torn_notes)):
            with open(tmp_path / name, "ab") as stream:
                stream.write(torn)
        file = journal(tmp_path / "out")
        assert file.counts == Counts(2, 2, 0)
        file.write("three ", Counts(3, 3, 0))
        file.finish(">")
        assert (tmp_path / "out").read_bytes() == b"<one two three >"
        assert os.listdir(tmp_path) == ["out"]


def test_notes_about_what_never_reached_the_disk_do_not_count(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", Counts(1, 1, 0))
    file.write("two ", Counts(2, 2, 0))
    file.stream.truncate(7)
    file.stream.close()
    file.notes.close()
    file = journal(tmp_path / "out")
    assert (file.counts, file.length) == (Counts(1, 1, 0), 5)
    file.stop("")
    (tmp_path / "out.part").unlink()
    file = journal(tmp_path / "out")
    assert file.counts == Counts()
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"


def test_a_full_disk_leaves_what_was_written_before(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", Counts(1, 1, 0))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            file.write("x" * 2000, Counts(2, 2, 0))
        assert "1 sentences are in" in file.stop(">")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "out.part").read_bytes() == b"<one >"
    file = journal(tmp_path / "out")
    file.write("two ", Counts(2, 2, 0))
    file.finish(">")
    assert (tmp_path / "out").read_bytes() == b"<one two >"


def test_one_output_has_one_writer(tmp_path: Path) -> None:
    file = journal(tmp_path / "out")
    file.write("one ", Counts(1, 1, 0))
    for resume in (True, False):
        with pytest.raises(DiscotreeError, match="another process is writing it"):
            journal(tmp_path / "out", resume)
    file.finish(">")
    journal(tmp_path / "out").finish(">")
    assert (tmp_path / "out").read_bytes() == b"<>"


# Real processes


@pytest.fixture
def start(model: Path, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "discotree", "parse", "-", "--model", str(model), *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=tmp_path, **pipes)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def feed(process: "subprocess.Popen[bytes]", lines: list[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.flush()


def wait_for(path: Path, done: int) -> None:
    """Until so many sentences are noted."""
    end = time.monotonic() + 60
    while not (path.exists() and f"\n[{done}, " in path.read_text()):
        assert time.monotonic() < end, f"{path} does not get to {done}"
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_runs_go_on_to_the_same_bytes(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path
) -> None:
    outputs = ("discbracket", "tigerxml", "json")
    processes = [start("--input", "tokens", "--output", output, "-o", f"{output}.out") for output in outputs]
    for process in processes:
        feed(process, MANY[:40])
    for process, output in zip(processes, outputs, strict=True):
        wait_for(tmp_path / f"{output}.out.progress", 32)
        process.kill()
        process.wait()
        with open(tmp_path / f"{output}.out.part", "ab") as stream:
            stream.write(b"(ROOT (torn")
        options = ["-", "--input", "tokens", "--output", output]
        again = cli(*options, "-o", f"{output}.out", "--resume", stdin=TEXT)
        assert again.code == cli(*options, "-o", "whole", stdin=TEXT).code
        assert (tmp_path / f"{output}.out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_a_second_writer_is_refused(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path
) -> None:
    process = start("--input", "lines", "-o", "out.export")
    feed(process, LINES[:10])
    wait_for(tmp_path / "out.export.progress", 8)
    second = cli("-", "--input", "lines", "-o", "out.export", "--resume", stdin=TEXT)
    assert (second.code, second.err) == (1, "discotree: out.export: another process is writing it\n")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().startswith("discotree: interrupted; 8 sentences are in ")
    assert b"Traceback" not in said
    assert [tree.words for tree in dt.read(tmp_path / "out.export.part", "export")] == [t.words for t in TREES[:8]]


@pytest.mark.slow
def test_several_processes_write_what_one_writes(cli: Cli, tmp_path: Path) -> None:
    """Also where sentences fail, after which the numbers of the others are not what they seemed to be."""
    lines = [line.encode() for line in LINES * 4]
    for damaged in (3, 40, 41):
        lines[damaged] += b"\xff"
    (tmp_path / "in.txt").write_bytes(b"\n".join(lines))
    alone = cli("in.txt", "--input", "tokens", "--output", "discbracket")
    together = cli("in.txt", "--input", "tokens", "--output", "discbracket", "--workers", "2")
    assert alone.code == together.code == 1
    assert together.trees == alone.trees
    assert len(alone.trees) == 77
    assert together.err == alone.err


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_nothing_but_a_new_start(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path
) -> None:
    process = start("--input", "tokens", "-o", "out.txt", "--output", "discbracket", "--workers", "2")
    feed(process, MANY[:40])
    wait_for(tmp_path / "out.txt.progress", 2)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children[-2:]:  # the first one keeps track of shared memory
        os.kill(int(child), signal.SIGKILL)
    feed(process, MANY[40:])
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"a worker process has died" in said
    assert b"Traceback" not in said
    options = ["-", "--input", "tokens", "--output", "discbracket"]
    done = cli(*options, "-o", "out.txt", "--resume", stdin="\n".join(MANY))
    assert done.code == 0
    assert (tmp_path / "out.txt").read_bytes() == cli(*options, stdin="\n".join(MANY)).out


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_at_once(start: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path) -> None:
    process = start("--input", "tokens", "-o", "out.txt", "--output", "discbracket", "--workers", "2")
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in LINES * 500).encode())
    wait_for(tmp_path / "out.txt.progress", 64)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert b"--resume goes on" in said


def test_a_file_that_cannot_take_its_name_is_said_and_kept(cli: Cli, tmp_path: Path) -> None:
    def in_the_way(*_: object) -> None:
        raise PermissionError(13, "somebody has it open")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", in_the_way)
        done = cli("-", "--input", "tokens", "-o", "out.txt", stdin="\n".join(LINES))
    assert done.code == 1
    assert "the same command with --resume goes on" in done.err
    assert cli("-", "--input", "tokens", "-o", "out.txt", "--resume", stdin="\n".join(LINES)).code == 0
    assert len((tmp_path / "out.txt").read_text().splitlines()) == len(LINES)


def test_an_encoding_is_that_of_files_not_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("café .".encode("latin-1"))
    for source in ("café .", "in.txt"):
        done = cli(source, "--input", "tokens", "--encoding", "latin-1", "--output", "json")
        assert [token["form"] for token in done.records[0]["tokens"]] == ["café", "."]


@pytest.mark.slow
def test_a_reader_who_leaves_is_no_error(start: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    process = start("--input", "tokens", "--output", "discbracket")
    assert process.stdout is not None
    feed(process, LINES[:1])
    process.stdout.readline()
    process.stdout.close()
    feed(process, LINES[1:3])
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_nothing_is_packed_as_nothing(cli: Cli, tmp_path: Path, suffix: str) -> None:
    assert cli("-", "--input", "tokens", "-o", f"out.txt{suffix}", stdin="").code == 0
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[suffix]
    assert unpack((tmp_path / f"out.txt{suffix}").read_bytes()) == b""


@pytest.mark.slow
def test_a_conversation_through_pipes(start: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    """Every answer comes before the next question; then Ctrl-C."""
    process = start("--input", "lines", "--output", "json")
    assert process.stdout is not None
    for number, line in enumerate(LINES[:7], 1):
        feed(process, [line])
        assert json.loads(process.stdout.readline())["id"] == str(number)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert said == b"discotree: interrupted; 7 sentences were written\n"


# Lines


def test_places_know_their_lines() -> None:
    text = "a\n\n  \nb c\n\n\u2028\n\u00a0\n" + "x" * 100_000 + " y\n" + " " * 70_000 + "z\n\nq"
    pieces = _Pieces(io.BytesIO(text.encode()), "name", "utf-8", "strict")
    assert "".join(pieces) == text
    for place, character in enumerate(text):
        if character in "abcyzq\u2028\u00a0":
            assert pieces.line(place) == text.count("\n", 0, place) + 1


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
def test_lines_may_end_as_on_any_system(cli: Cli, kind: str, end: str) -> None:
    lines = ["ÜBERSCHRIFT", "", "Es kam nichts .", "", "Wir lachen caf\xe9", "", "", "Ende ."]
    done = cli("-", "--input", kind, "--output", "json", stdin=end.join(lines).encode())
    assert done.code == 0
    text = end.join(lines)
    assert [[text[token["start"] : token["end"]] for token in record["tokens"]] for record in done.records] == [
        line.split() for line in lines if line
    ]
    damaged = end.join(lines).encode().replace(b"\xc3\xa9", b"\xe9")
    assert "<stdin>:5: sentence 3: byte 0xe9" in cli("-", "--input", kind, stdin=damaged).err


def test_a_line_end_may_be_cut_in_two() -> None:
    for end in ("\r\n", "\r"):
        text = f"{'x' * (BLOCK - 1)}{end}y{end}{end}z"
        pieces = _Pieces(io.BytesIO(text.encode()), "name", "utf-8", "strict")
        lines = list(lines_of(pieces))
        assert [line.strip() for line in lines] == ["x" * (BLOCK - 1), "y", "", "z"]
        assert sum(map(len, lines)) == len(text)
        assert [pieces.line(text.index(letter)) for letter in "xyz"] == [1, 2, 4]
