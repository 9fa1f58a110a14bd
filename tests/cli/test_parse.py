"""discotree parse: any input to any output, as a stream, whatever happens on the way."""

import bz2
import gzip
import io
import json
import logging
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.helpers import brackets_of, parsed
from support.networks import TREES
from support.parse_command import LINES, Cli, Done

import discotree as dt
from discotree.cli.console import ProgressBar, show_warnings
from discotree.cli.parse import FailureReport, ParseRun
from discotree.drawing import draw_svg
from discotree.errors import counted
from discotree.network.scores import ENGINES
from discotree.parsing.inputs import INPUT_KINDS, InputSentence
from discotree.parsing.outputs import OUTPUTS, ParseJob, ParseWorker, ResumableFile, SentenceCounts, StreamSink

# Every input, every output


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four sentences as every kind of input."""
    folder = tmp_path_factory.mktemp("inputs")
    for kind in INPUT_KINDS:
        if kind in dt.FORMATS:
            dt.write(TREES[:4], folder / kind, kind)
        else:
            (folder / kind).write_text("\n".join(LINES[:4]))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("kind", INPUT_KINDS)
def test_every_input_goes_to_every_output(cli: Cli, inputs: Path, tmp_path: Path, kind: str, output: str) -> None:
    done = cli(str(inputs / kind), "--from", kind, "--to", output, "-o", "out")
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
        assert cli(str(inputs / kind), "--from", kind, "--to", output).out == (tmp_path / "out").read_bytes()


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow"])
def test_trees_are_written_as_a_table(cli: Cli, tmp_path: Path, name: str) -> None:
    done = cli("Ja, zeker. Nee.", "-o", name)
    assert (done.code, done.err) == (0, f"2 sentences written to {name}\n")
    (first, second) = dt.read(tmp_path / name)
    assert (first.words, second.words) == (("Ja", ",", "zeker", "."), ("Nee", "."))
    assert first.confidence is not None


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
    done = cli("bank", "--to", "json")
    assert [record["id"] for record in done.records] == ["one/s1", "one/s2", "two/s3", "two/s4"]


def test_several_files_a_pattern_and_a_folder_of_texts_are_one_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name, text in (("a", "Es kam. Wir lachen."), ("b", "Nichts kam.")):
        (tmp_path / "texts" / f"{name}.txt").write_text(text)
    ways = [cli("texts/a.txt", "texts/b.txt"), cli("texts/*.txt"), cli("texts"), cli("texts", "--from", "text")]
    assert [done.code for done in ways] == [0] * 4
    assert len({done.out for done in ways}) == 1
    assert [line.rpartition("\t")[2] for line in ways[0].trees] == ["a/1", "a/2", "b/1"]


def test_kinds_of_input_may_be_mixed(cli: Cli, tmp_path: Path) -> None:
    dt.write(TREES[:2], tmp_path / "a.export")
    (tmp_path / "b.txt").write_text("Es kam.")
    done = cli("a.export", "b.txt", "-", stdin="Wir lachen.")
    assert [line.rpartition("\t")[2] for line in done.trees] == ["a/s1", "a/s2", "b/1", "stdin/1"]


def test_a_run_over_several_files_resumes(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("\n".join(LINES))
    assert cli("a.txt", "b.txt", "--from", "tokens", "-o", "whole.dbr").code == 0
    with pytest.MonkeyPatch.context() as patch:
        write = ResumableFile.write

        def write_and_stop(self: ResumableFile, text: str, counts: SentenceCounts) -> None:
            write(self, text, counts)
            if counts.done >= len(LINES):
                raise KeyboardInterrupt

        patch.setattr(ResumableFile, "write", write_and_stop)
        assert cli("a.txt", "b.txt", "--from", "tokens", "-o", "out.dbr").code == 130
    assert "different settings: --from was" in cli("a.txt", "--from", "tokens", "-o", "out.dbr", "--resume").err
    assert cli("a.txt", "b.txt", "--from", "tokens", "-o", "out.dbr", "--resume").code == 0
    assert (tmp_path / "out.dbr").read_bytes() == (tmp_path / "whole.dbr").read_bytes()


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
        ("a.dbr", b"(ROOT"),
        ("a.jsonl", b'{"id"'),
        ("a.json.gz", b'{"id"'),
        ("a.conllu.bz2", b"# sent_id"),
        ("a.export.xz", b"#FORMAT 4"),
    ],
)
def test_the_output_follows_from_the_name_of_its_file(cli: Cli, tmp_path: Path, name: str, begins: bytes) -> None:
    assert cli("-", "--from", "lines", "-o", name, stdin="\n".join(LINES)).code == 0
    unpack = {"gz": gzip.decompress, "bz2": bz2.decompress, "xz": lzma.decompress}.get(name.rpartition(".")[2], bytes)
    assert unpack((tmp_path / name).read_bytes()).startswith(begins)


def test_a_device_is_written_to_as_it_is(cli: Cli, tmp_path: Path) -> None:
    assert cli("Ja.", "-o", os.devnull).code == 0
    assert os.listdir(tmp_path) == []


# Pictures


def test_parse_draws_one_sentence_into_a_picture(cli: Cli, tmp_path: Path) -> None:
    sentence = "Es kam nichts."
    done = cli(sentence, "-o", "tree.svg")
    assert (done.code, done.out) == (0, b"")
    tree = dt.load(os.environ["DISCOTREE_MODEL"])(sentence)
    assert (tmp_path / "tree.svg").read_text("utf-8") == draw_svg(replace(tree, id="1"))
    assert cli(sentence, "--to", "svg").out == (tmp_path / "tree.svg").read_bytes()


def test_several_sentences_become_a_page_a_document_or_a_folder_of_pictures(cli: Cli, tmp_path: Path) -> None:
    text = "Es kam nichts. Wir lachen."
    assert b"<title>Trees</title>" in cli(text, "--to", "html").out
    assert cli(text, "-o", "trees.html").code == cli(text, "-o", "trees.tex").code == 0
    assert (tmp_path / "trees.html").read_text("utf-8").count("<section") == 2
    assert (tmp_path / "trees.tex").read_text("utf-8").count("\\begin{tikzpicture}") == 2
    assert cli(text, "--to", "svg", "-o", "pictures").err == "2 pictures written to pictures\n"
    assert sorted(os.listdir(tmp_path / "pictures")) == ["1_Es_kam_nichts.svg", "2_Wir_lachen.svg"]
    refused = cli(text, "-o", "trees.svg")
    assert refused.code == 2
    assert "an SVG file holds one tree; write to a folder (--to svg -o FOLDER), or draw all" in refused.err
    assert not (tmp_path / "trees.svg").exists()


def test_a_sentence_that_fails_is_missing_on_the_page(cli: Cli, tmp_path: Path) -> None:
    done = cli("-", "--from", "lines", "-o", "trees.html", stdin=b"Es kam.\nWir \xff.\nWir lachen.")
    assert done.code == 1
    assert "<stdin>:2: sentence 2: byte 0xff" in done.err
    assert "1 sentence could not be parsed" in done.err
    assert (tmp_path / "trees.html").read_text("utf-8").count("<section") == 2


# What comes out


def test_a_record_holds_everything(cli: Cli) -> None:
    done = cli("Es kam nichts Interessantes.", "--to", "json")
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
    done = cli("text", "--from", kind, "--to", "json")
    assert done.code == 0
    found = [token for record in done.records for token in record["tokens"]]
    surfaces = [text[token["start"] : token["end"]] for token in found]
    invisible = "" if kind == "tokens" else "\u00ad\u200b\u200e\u200f"  # what leaves the form
    surfaces = [surface.translate(dict.fromkeys(map(ord, invisible))) for surface in surfaces]
    assert surfaces == [token["form"] for token in found]
    covered = {place for token in found for place in range(token["start"], token["end"])}
    assert all(
        character.isspace() or character in invisible or place in covered for place, character in enumerate(text)
    )


def test_too_many_trees_are_a_usage_error(cli: Cli) -> None:
    done = cli("-", "--k", "100000", stdin="Es kam nichts.")
    assert done.code == 2
    assert "100000 is not in the range 1<=x<=1000" in done.err


def test_several_trees_for_every_sentence(cli: Cli) -> None:
    text = "Es kam nichts.\nWir lachen."
    done = cli("-", "--from", "lines", "--k", "3", stdin=text)
    assert [line.rpartition("\t")[2] for line in done.trees] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    json_lines = cli("-", "--from", "lines", "--k", "3", "--to", "json", stdin=text)
    assert [record["id"] for record in json_lines.records] == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]
    assert brackets_of(parsed(json_lines.out, "json")) == [line.partition("\t")[0] for line in done.trees]
    assert all(0 < record["confidence"] <= 1 for record in json_lines.records)
    drawn = cli("-", "--from", "lines", "--k", "3", "--to", "draw", stdin=text).out.decode()
    assert re.findall(r"^([12]\.[123])  expected F1 \d+ %$", drawn, re.MULTILINE) == [
        *("1.1", "1.2", "1.3", "2.1", "2.2", "2.3")
    ]


def test_every_decoding_method_gives_trees(cli: Cli) -> None:
    for method in ("exact", "beam", "greedy"):
        assert [len(tree) for tree in parsed(cli("Es kam nichts.", "--decode", method).out, "discbracket")] == [4]


def test_ids_of_a_treebank_stay(cli: Cli, tmp_path: Path) -> None:
    dt.write(TREES[:4], tmp_path / "a.export")
    assert [tree.id for tree in parsed(cli("a.export", "--to", "export").out, "export")] == ["s1", "s2", "s3", "s4"]
    assert [line.rpartition("\t")[2] for line in cli("a.export").trees] == ["s1", "s2", "s3", "s4"]


def test_a_model_that_needs_tags_gets_those_of_the_treebank(cli: Cli, others: Path, tmp_path: Path) -> None:
    dt.write(TREES[:4], tmp_path / "a.export")
    done = cli("a.export", "--tags", "--model", str(others / "tags"), "--to", "json")
    tags = [[token["tag"] for token in record["tokens"]] for record in done.records]
    assert tags == [[token.tag for token in tree.tokens] for tree in TREES[:4]]
    refused = cli("a.export", "--model", str(others / "tags"))
    assert (refused.code, refused.out) == (1, b"")
    assert "this model needs tags" in refused.err
    assert "does not use tags" in cli("a.export", "--tags").err


# Any input


@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\r\n", "\ufeff"])
def test_whitespace_is_no_sentence(cli: Cli, kind: str, text: str) -> None:
    assert cli("-", "--from", kind, stdin=text) == Done(0, b"", "")


@pytest.mark.parametrize("output", OUTPUTS)
def test_nothing_comes_to_nothing(cli: Cli, tmp_path: Path, output: str) -> None:
    done = cli("-", "--to", output, "-o", "out", stdin="\n")
    assert (done.code, done.err) == (0, "0 sentences written to out\n")
    if output in dt.FORMATS:
        assert list(dt.read(tmp_path / "out", output)) == []
    else:
        assert (tmp_path / "out").read_bytes() == b""


def test_empty_lines_are_skipped(cli: Cli) -> None:
    assert (
        cli("-", "--from", "tokens", stdin="a b\n\n \nc\n").trees == cli("-", "--from", "tokens", stdin="a b\nc").trees
    )


@pytest.mark.parametrize("output", OUTPUTS)
def test_an_output_reports_and_leaves_out_what_it_cannot_hold(cli: Cli, output: str) -> None:
    tokens = ["Ja", "a\0b", "( ) [ ] < > & \" '", "a\x0bb c\x1cd", "#BOS #500 %% *T*-1 -LRB-", "\u2028 \u00a0", "Nein"]
    done = cli("-", "--from", "tokens", "--to", output, stdin="\n".join(tokens))
    failed = done.err.count("cannot represent")
    assert done.code == (1 if failed else 0)
    if failed:
        said = re.findall(r"^discotree: <stdin>:(\d): sentence (\d): \w+ cannot represent the", done.err, re.MULTILINE)
        assert len(said) == failed
        assert all(line == number for line, number in said)
        assert max(map(len, done.err.splitlines())) < 300
        assert f"{counted(failed, 'sentence')} could not be parsed or written" in done.err
    if output in dt.FORMATS:
        trees = parsed(done.out, output)
        assert len(trees) == len(tokens) - failed
        assert trees[0].words == ("Ja",)
        assert trees[-1].words == ("Nein",)
    else:
        assert not failed


@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
def test_undecodable_bytes_are_reported_with_their_line(cli: Cli, kind: str) -> None:
    raw = b"Es kam .\n\nWir lachen .\n\nDas ist caf\xe9 .\n\nKinder spielen .\n\n\xff\xfe\n\nEnde \xef\xbf\xbd .\n"
    done = cli("-", "--from", kind, "--to", "json", stdin=raw)
    assert done.code == 1
    assert "discotree: <stdin>:5: sentence 3: byte 0xe9 is not utf-8; it looks like Windows-1252; use" in done.err
    assert "discotree: <stdin>:9: sentence 5: byte 0xff is not utf-8" in done.err
    assert "2 sentences could not be parsed" in done.err
    assert [record["id"] for record in done.records] == ["1", "2", "4", "6"]
    replaced = cli("-", "--from", kind, "--to", "json", "--errors", "replace", stdin=raw)
    assert (replaced.code, replaced.err) == (0, "")
    assert "caf�" in [token["form"] for token in replaced.records[2]["tokens"]]
    latin = cli("-", "--from", kind, "--to", "json", "--encoding", "latin-1", stdin=raw)
    assert "café" in [token["form"] for token in latin.records[2]["tokens"]]


def test_one_bad_byte_in_a_paragraph_costs_one_sentence(cli: Cli) -> None:
    done = cli("-", stdin=b"Es kam. Wir lachen \xff laut. Kinder spielen.")
    assert [line.rpartition("\t")[2] for line in done.trees][1:] == ["3"]
    assert done.code == 1


def test_an_undecodable_byte_in_the_argument_is_reported(cli: Cli) -> None:
    done = cli(os.fsdecode(b"Es kam \xff."))
    assert (done.code, done.out) == (1, b"")
    assert "<text>:1: sentence 1: byte 0xff" in done.err


def test_a_text_is_no_treebank_and_a_folder_no_output(cli: Cli, tmp_path: Path) -> None:
    assert "--from export reads a treebank from a file" in cli("Es kam.", "--from", "export").err
    assert f"{tmp_path}: cannot be written: Is a directory" in cli("Es kam.", "-o", str(tmp_path)).err


def test_utf_16_is_read_when_it_is_named(cli: Cli) -> None:
    text = "Es kam.\n\nWir lächeln 👍."
    assert cli("-", "--encoding", "utf-16", stdin=text.encode("utf-16")).out == cli(text).out
    broken = cli("-", "--encoding", "utf-16", stdin=text.encode("utf-16") + b"\x00\xdc\n\x00\n\x00")
    assert broken.code == 1
    assert "cannot be decoded as utf-16" in broken.err


def test_broken_trees_of_a_treebank_are_reported_and_the_others_parsed(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.dbr").write_text("(ROOT (NN 0=a))\n(ROOT (NN 0=a)\n(ROOT (NN 0=b))\n(ROOT (NN 1=b))\n")
    done = cli("bad.dbr", "--to", "json")
    assert done.code == 1
    assert "discotree: bad.dbr:2: unclosed brackets: 1" in done.err
    assert "discotree: bad.dbr:4: position 0 is missing" in done.err
    assert [record["id"] for record in done.records] == ["1", "3"]


def test_an_input_that_breaks_off_leaves_what_was_done(cli: Cli, tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(LINES * 50).encode())
    (tmp_path / "a.gz").write_bytes(packed[:-30])
    done = cli("a.gz", "--from", "lines", "-o", "out.tiger.xml")
    assert done.code == 1
    assert "discotree: a.gz: cannot be read" in done.err
    written = int(re.search(r"stopped; ([\d,]+) sentences written to", done.err)[1].replace(",", ""))  # type: ignore[index]
    assert len(list(dt.read(tmp_path / "out.tiger.xml.part", "tigerxml"))) == written > 100
    assert not (tmp_path / "out.tiger.xml").exists()


def test_many_errors_are_counted(cli: Cli) -> None:
    done = cli("-", "--from", "tokens", "--to", "export", stdin="\n".join(["a\x1cb"] * 50 + ["c"]))
    assert done.err.count("cannot represent") == 20
    assert "50 sentences could not be parsed" in done.err
    assert [tree.words for tree in parsed(done.out, "export")] == [("c",)]


def test_a_long_sentence_among_short_ones(cli: Cli) -> None:
    long = " ".join(LINES * 8)
    done = cli("-", "--from", "tokens", stdin=f"Ja\n{long}\nNein\n{'x' * 100_000}\n")
    assert [len(tree) for tree in parsed(done.out, "discbracket")] == [1, len(long.split()), 1, 1]


def test_warnings_of_the_library_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    show_warnings()
    show_warnings()
    logging.getLogger("discotree.parsing.parser").warning("a sentence of %d words", 9999)
    logging.getLogger("discotree.parsing.parser").info("nothing to worry about")
    assert capsys.readouterr().err == "discotree: a sentence of 9999 words\n"


def test_a_sentence_that_fails_does_not_take_the_others_with_it(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = ParseWorker(ParseJob(str(model), "discbracket", "cpu"))
    parse_tokens = worker.parser._parse_checked

    def without_giants(sentences: Sequence[Sequence[dt.Token]], *options: Any) -> list[dt.Tree]:
        if any(sentence[0].form == "Riese" for sentence in sentences):
            raise RuntimeError("out of memory\nand much more")
        return parse_tokens(sentences, *options)

    worker.parser._parse_checked = without_giants  # type: ignore[method-assign, assignment]
    run = ParseRun(StreamSink(io.BytesIO(), ""), worker, 1, 4, ProgressBar())
    words = [*"abcde", "Riese", *"fgh", "Riese"]
    run(iter([InputSentence(str(k), [word], f"file:{k}") for k, word in enumerate(words, 1)]))
    assert run.sink.counts[:3] == (10, 8, 0)
    assert run.sink.counts.failed == 2
    said = [f"discotree: file:{line}: out of memory" for line in (6, 10)]
    assert capsys.readouterr().err.splitlines() == said


def test_a_record_is_one_line_for_every_reader(cli: Cli) -> None:
    tokens = "a\u2028b c\x85d e\u2029f"
    done = cli("-", "--from", "tokens", "--to", "json", stdin=tokens)
    (line,) = done.out.decode().splitlines()
    assert " ".join(token["form"] for token in json.loads(line)["tokens"]) == tokens


# Constraints


def test_partial_trees_of_a_file_are_constraints(cli: Cli, tmp_path: Path) -> None:
    words = (dt.Token("Es"), dt.Token("kam"), dt.Token("nichts", "NEW"), dt.Token("."))
    trees = [dt.Tree(words, dt.Node("ROOT", [dt.Node("NP", [0, 2], "SB"), 1, 3]), "a"), TREES[1]]
    dt.write(trees, tmp_path / "partial.export")
    done = cli("--constraints", "partial.export", "--to", "export", "-o", "out.export")
    assert (done.code, done.err) == (0, "2 sentences written to out.export\n")
    first, second = dt.read(tmp_path / "out.export")
    assert (first.id, first.tokens[2].tag) == ("a", "NEW")
    assert [node.function for node in first["NP"] if node.positions == (0, 2)] == ["SB"]
    nodes = {(node.label, node.positions) for node in second.nodes()}
    assert {(node.label, node.positions) for node in TREES[1].nodes()} <= nodes
    several = cli("--constraints", "partial.export", "--k", "2")
    assert [line.rpartition("\t")[2] for line in several.trees] == ["a.1", "a.2", "s2.1", "s2.2"]


def test_brackets_in_a_text_are_constraints(cli: Cli, tmp_path: Path) -> None:
    lines = ["[NP Es ] kam [ … nichts ] .", "Wir [S lachen", "[NP Es kam ] [NP … nichts ] .", "[X Es kam ]"]
    (tmp_path / "partial.txt").write_text("\n".join(lines))
    done = cli("--constraints", "partial.txt", "--to", "json")
    assert done.code == 1
    assert [record["id"] for record in done.records] == ["1", "3"]
    assert "partial.txt:2: sentence 2: character 5: the bracket is not closed" in done.err
    piped = cli("--constraints", "-", "--to", "json", stdin=lines[0])
    assert piped.records == done.records[:1]
    assert "partial.txt:4: sentence 4: X over words 0-1 ('Es kam'): the model does not have this label" in done.err


def test_the_labels_of_a_model_are_listed_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    labels = ", ".join(f"label{number}" for number in range(40))
    FailureReport().add(f"the model does not have this label, expected one of {labels}")
    assert labels in capsys.readouterr().err


# Wrong commands


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["Ja.", "--from", "klingon"], 2, "unknown value 'klingon', expected one of"),
        (["Ja.", "--to", "klingon"], 2, "unknown value 'klingon', expected one of"),
        (["Ja.", "--decode", "guess"], 2, "guess"),
        (["Ja.", "--k", "3", "--decode", "beam"], 2, "cannot be combined with --decode"),
        (
            ["Ja.", "--constraints", str(Path(__file__))],
            2,
            "--constraints FILE has the sentences to parse; remove INPUT",
        ),
        (["--constraints", str(Path(__file__)), "--decode", "beam"], 2, "cannot be combined with --decode"),
        (["Ja.", "--resume"], 2, "-o FILE"),
        (["Ja.", "--tags"], 2, "needs a treebank"),
        (["Ja.", "--encoding", "klingon"], 2, "unknown encoding"),
        (["Ja.", "--text", "Nein."], 2, "cannot be combined"),
        ([""], 2, "the text to parse is empty: pass a text, a file, or - for standard input"),
        (["--text", " "], 2, "the text to parse is empty"),
        (["-", "-"], 2, "only once"),
        (["Es", "kam"], 1, "Es: no such file; to parse text, use --text, write several words in quotes"),
        (["corpus.txt"], 1, "corpus.txt: no such file;"),
        (["texts/*.txt"], 1, "texts/*.txt: no such file;"),
        (["Ja.", "-o", "out"], 1, "out: cannot tell the format from a name without a suffix; pass --to FORMAT"),
        (["Ja.", "-o", "out.txt"], 1, "out.txt: cannot tell the format from .txt; pass --to FORMAT"),
        (["Ja.", "-o", "out.parquet", "--resume"], 2, "cannot be used with parquet output"),
        (["Ja.", "-o", "out.svg", "--resume"], 2, "cannot be used with svg output"),
        (["Ja.", "-o", "out.svg", "--workers", "2"], 2, "cannot be used with svg output"),
        (["Ja.", "--model", "nobody"], 1, "discotree: there is no model 'nobody'"),
        (["Ja.", "--device", "gpu9"], 1, "the device 'gpu9' cannot be used"),
        (["Ja.", "-o", "nowhere/out.dbr"], 1, "nowhere/out.dbr: cannot be written: No such file"),
        (["Ja.", "-o", "."], 1, "Is a directory"),
        (["Ja.", "-o", "out.zip"], 1, "archives can be read but not written"),
        ([".", "--from", "text"], 1, ".: the folder contains no files"),
        (["."], 1, ".: the folder contains neither .txt files nor a treebank"),
    ],
)
def test_wrong_commands_are_refused_with_a_reason(
    cli: Cli, tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (code, b"")
    assert message in " ".join(done.err.replace("│", " ").split())
    assert os.listdir(tmp_path) == []


def test_an_unknown_model_of_the_environment_is_reported_with_its_variable(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISCOTREE_MODEL", "nobody")
    assert cli("Ja.").err.startswith("discotree: $DISCOTREE_MODEL: there is no model 'nobody'")


def test_a_model_without_a_language_takes_tokens(cli: Cli, others: Path) -> None:
    assert "cannot tokenise raw text" in cli("Ja.", "--model", str(others / "mute")).err
    assert cli("Ja .", "--model", str(others / "mute"), "--from", "tokens").code == 0


def test_text_has_whitespace_or_ends_like_a_sentence_or_follows_an_option(cli: Cli) -> None:
    for arguments in (["Ja."], ["Kommt?"], ["Hallo Welt"], ["Was ist *das*"], ["--text", "corpus.txt"]):
        done = cli(*arguments)
        assert (done.code, len(done.trees), done.err) == (0, 1, "")


WITHOUT_TORCH = """
import sys

sys.modules["torch"] = None  # not there
from discotree.cli import main
sys.argv = ["discotree", "parse", "Ja.", "--model", {model!r}, *{more}]
main()
"""


@pytest.mark.parametrize(
    ("more", "extra"), [(["--engine", "torch"], "train"), (["--device", "cuda"], "gpu"), ([], "")], ids=str
)
def test_without_torch_the_extra_is_named_where_it_is_needed(model: Path, more: list[str], extra: str) -> None:
    code = WITHOUT_TORCH.format(model=str(model), more=more)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    message = f"discotree: torch is missing: pip install 'discotree[{extra}]'\n" if extra else ""
    assert (done.returncode, bool(done.stdout), done.stderr) == (bool(extra), not extra, message)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_parses(cli: Cli, engine: str) -> None:
    done = cli("Ja.", "--engine", engine, "--device", "cpu")
    assert (done.code, done.err, len(done.trees)) == (0, "", 1)


def test_an_unknown_engine_is_refused_with_those_that_exist(cli: Cli) -> None:
    done = cli("Ja.", "--engine", "abacus")
    assert done.code == 2
    assert f"unknown value 'abacus', expected one of {', '.join(ENGINES)}" in done.err


# Lines


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("kind", ["text", "lines", "tokens"])
def test_lines_may_end_as_on_any_system(cli: Cli, kind: str, end: str) -> None:
    lines = ["ÜBERSCHRIFT", "", "Es kam nichts .", "", "Wir lachen caf\xe9", "", "", "Ende ."]
    done = cli("-", "--from", kind, "--to", "json", stdin=end.join(lines).encode())
    assert done.code == 0
    text = end.join(lines)
    assert [[text[token["start"] : token["end"]] for token in record["tokens"]] for record in done.records] == [
        line.split() for line in lines if line
    ]
    damaged = end.join(lines).encode().replace(b"\xc3\xa9", b"\xe9")
    assert "<stdin>:5: sentence 3: byte 0xe9" in cli("-", "--from", kind, stdin=damaged).err
