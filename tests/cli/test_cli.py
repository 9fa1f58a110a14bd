"""The command line as a person uses it: exit codes, nothing half-written, no tracebacks."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from support.pages import check_command

import discotree as dt
from discotree.cli import COMMANDS, app, main

FIGURE1 = Path(__file__).parents[1] / "data" / "figure1.export"


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process: a new one takes half a second to start."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str = "", **environment: str) -> Done:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin.encode()))))
        monkeypatch.setattr(sys, "argv", ["discotree", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Done(int(ended.value.code or 0), *capfd.readouterr())

    return run


def test_convert_guesses_both_formats_and_compression(run: Run, tmp_path: Path) -> None:
    done = run("convert", str(FIGURE1), "out.tiger.xml.gz")
    assert done.returncode == 0, done.stderr
    assert "1 tree written" in done.stderr
    assert list(dt.read(tmp_path / "out.tiger.xml.gz")) == list(dt.read(FIGURE1))


def test_convert_reads_standard_input_and_writes_standard_output(run: Run) -> None:
    done = run("convert", "-", "-", "--to", "discbracket", stdin=FIGURE1.read_text("utf-8"))
    assert done.stdout.startswith("(ROOT (S (NP (PPER 0=Es)")
    assert done.returncode == 0


def test_convert_applies_transforms(run: Run) -> None:
    done = run("convert", str(FIGURE1), "-", "--to", "discbracket", "--punctuation", "remove", "--functions", "join")
    assert done.stdout == "(ROOT (S (NP-SB (PPER 0=Es) (NP-RE (PIS 2=nichts) (NN 3=Interessantes))) (VVFIN 1=kam)))\n"


def test_figure_1_of_the_paper_from_its_file(run: Run) -> None:
    done = run("convert", str(FIGURE1), "-", "--to", "conllu", "--heads", "negra")
    rows = [line.split("\t") for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert [(row[1], row[6], row[7]) for row in rows] == [
        ("Es", "4", "NP#2"),
        ("kam", "0", "ROOT"),
        ("nichts", "4", "NP#1"),
        ("Interessantes", "2", "S#1"),
        (".", "2", "ROOT#2"),
    ]


def test_convert_selects_the_sentences_of_a_split(run: Run, tmp_path: Path) -> None:
    trees = [dt.Tree((dt.Token("a"),), dt.Node("ROOT", [0]), id=f"s{k}") for k in range(4)]
    dt.write(trees, tmp_path / "all.export")
    (tmp_path / "splits.tsv").write_text("line\tid\tsplit\n1\ts0\ttrain\n2\ts1\tdev\n3\ts2\ttrain\n4\ts3\ttest\n")
    assert run("convert", "all.export", "out.export", "--ids", "splits.tsv", "--split", "train").returncode == 0
    assert [tree.id for tree in dt.read(tmp_path / "out.export")] == ["s0", "s2"]
    (tmp_path / "ids.txt").write_text("s3\n")
    assert run("convert", "all.export", "-o", "out.export", "--ids", "ids.txt").returncode == 0
    assert [tree.id for tree in dt.read(tmp_path / "out.export")] == ["s3"]


def test_convert_overwrites_only_what_is_named_as_output(run: Run, tmp_path: Path) -> None:
    for name in ("a.dbr", "b.dbr"):
        (tmp_path / name).write_text(GOLD)
    done = run("convert", "a.dbr", "b.dbr", "--to", "export")  # as from *.dbr
    assert done.returncode == 2
    assert "b.dbr already exists; pass -o b.dbr to overwrite it, or -o FILE to join both treebanks" in done.stderr
    assert (tmp_path / "b.dbr").read_text() == GOLD
    assert run("convert", "a.dbr", "-o", "b.dbr").returncode == 0


def test_ids_that_are_missing_are_an_error_and_leave_no_output(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("1\nnowhere\n")
    done = run("convert", str(FIGURE1), "out.export", "--ids", "ids.txt")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert os.listdir(tmp_path) == ["ids.txt"]


def test_broken_input_is_one_line_with_an_address(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.dbr").write_text("(ROOT (NN 0=a))\n(ROOT (NN 0=a)\n(ROOT (NN 0=b))\n")
    done = run("convert", "bad.dbr", "out.export")
    assert done.returncode == 1
    assert done.stderr == "discotree: bad.dbr:2: unclosed brackets: 1\n"
    assert os.listdir(tmp_path) == ["bad.dbr"]


def test_skip_broken_goes_on_and_counts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.dbr").write_text("(ROOT (NN 0=a))\n(ROOT (NN 0=a)\n(ROOT (NN 0=b))\n")
    done = run("convert", "bad.dbr", "out.dbr", "--skip-broken")
    assert done.returncode == 0
    assert "1 broken tree skipped" in done.stderr
    assert [tree.words for tree in dt.read(tmp_path / "out.dbr")] == [("a",), ("b",)]


@pytest.mark.parametrize(
    "arguments",
    [
        ["convert", "x.export"],
        ["convert", str(FIGURE1), str(FIGURE1), "y.dbr"],
        ["stats", str(FIGURE1), "-o", "y.csv"],
        ["evaluate", str(FIGURE1), str(FIGURE1), "-o", "y.csv"],
        ["draw", str(FIGURE1), "-o", "tree.gif"],
        ["parse", "Ja.", "--input", "text"],
        ["train", "alpino", "--out", "x"],
        ["convert", str(FIGURE1), "-"],
        ["convert", str(FIGURE1), "y.dbr", "--punctuation", "eat"],
        ["convert", str(FIGURE1), "y.dbr", "--split", "train"],
        ["convert", str(FIGURE1), "y.dbr", "--encoding", "klingon"],
        ["convert", str(FIGURE1), "y.dbr", "--to", "klingon"],
        ["evaluate", "-", "-"],
        ["evaluate", "-", "x.dbr", "--compare-with", "y.dbr"],
        ["dance"],
    ],
)
def test_wrong_commands_exit_with_2(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["convert", "missing.export", "y.dbr"], "missing.export: cannot be read: No such file"),
        (["convert", str(FIGURE1), "y.xyz"], "cannot tell the format from the name"),
        (["convert", str(FIGURE1), "nowhere/y.dbr"], "cannot be written: No such file"),
        (["convert", str(FIGURE1), "y.conllu", "--heads", "nobody"], "nobody: neither one of"),
        (["stats", str(FIGURE1), "-o", "nowhere/y.json"], "nowhere/y.json: cannot be written: No such file"),
        (["stats", "."], "contains no treebank file"),
    ],
)
def test_what_cannot_be_done_exits_with_1_and_says_why(run: Run, arguments: list[str], message: str) -> None:
    done = run(*arguments)
    assert done.returncode == 1
    assert message in done.stderr.replace("\n", " ")


def test_stats_as_json(run: Run, tmp_path: Path) -> None:
    done = run("stats", str(FIGURE1), "--to", "json")
    figures = json.loads(done.stdout)[str(FIGURE1)]
    assert figures["trees"] == 1
    assert figures["tokens"] == 5
    assert figures["discontinuous_trees_percent"] == 100
    assert figures["gap_degrees"] == {"0": 2, "1": 1}
    for name, part in (("all.json", '"tokens": 5'), ("table.txt", "100.0 / 100.0")):
        assert run("stats", str(FIGURE1), "-o", name).returncode == 0
        assert part in (tmp_path / name).read_text("utf-8")


def test_stats_prints_a_table_with_a_total(run: Run) -> None:
    done = run("stats", str(FIGURE1), str(FIGURE1.with_name("figure1.export")))
    assert done.returncode == 0
    assert "100.0 / 100.0" in done.stdout


def test_stats_lists_the_frequencies_of_labels_functions_and_tags(run: Run) -> None:
    done = run("stats", str(FIGURE1), str(FIGURE1.parents[2] / "docs" / "book.export"), "--labels")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    (np,) = [row for row in rows if row[:1] == ["NP"]]
    frequencies = json.loads(run("stats", str(FIGURE1), "--labels", "--to", "json").stdout)[str(FIGURE1)]["frequencies"]
    assert set(frequencies) == {"labels", "functions", "tags"}
    assert np == ["NP", str(frequencies["labels"]["NP"]), "2", "4", "44.44"]  # the last ones: all, and their share
    assert "frequencies" not in json.loads(run("stats", str(FIGURE1), "--to", "json").stdout)[str(FIGURE1)]


def test_a_reader_that_goes_away_is_no_catastrophe(tmp_path: Path) -> None:
    trees = [dt.Tree((dt.Token("word"),), dt.Node("ROOT", [0]))] * 20_000
    dt.write(trees, tmp_path / "many.dbr")
    done = subprocess.run(
        f"{sys.executable} -m discotree convert many.dbr - --to export | head -1",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "#FORMAT 4\n"
    assert done.stderr == ""


# Several inputs


def test_several_treebanks_become_one_with_their_names_in_the_ids(run: Run, tmp_path: Path) -> None:
    for name in ("a", "b"):
        dt.write(
            [dt.Tree((dt.Token(name),), dt.Node("ROOT", [0]), id=f"s{k}") for k in (1, 2)], tmp_path / f"{name}.dbr"
        )
    for inputs in (["a.dbr", "b.dbr"], ["*.dbr"]):
        assert run("convert", *inputs, "-o", "all.export").returncode == 0
        assert [tree.id for tree in dt.read(tmp_path / "all.export")] == ["a/s1", "a/s2", "b/s1", "b/s2"]
    assert run("convert", "a.dbr", "--to", "discbracket").stdout == (tmp_path / "a.dbr").read_text()
    assert list(json.loads(run("stats", "?.dbr", "--to", "json").stdout)) == ["a.dbr", "b.dbr", "total"]
    assert run("draw", "[ab].dbr").stdout.count("ROOT") == 4
    assert "f1" in run("evaluate", "[a].dbr", "a.dbr", "--to", "json").stdout
    done = run("stats", "c*.dbr")
    assert (done.returncode, done.stderr) == (1, "discotree: c*.dbr: no file matches this pattern\n")


# The same language everywhere


def command(name: str) -> click.Command:
    found = app.get_command(click.Context(app), name)
    assert found is not None
    return found


def examples_of(name: str) -> list[str]:
    return [line.strip() for line in (command(name).epilog or "").splitlines() if "discotree " in line]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_that_are_possible(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for flag in ("-h", "--help"):
        with pytest.raises(SystemExit) as ended:
            app([name, flag])
        assert ended.value.code in (0, None)
        said = " ".join(capsys.readouterr().out.split())
        for example in examples_of(name):
            assert example in said
    assert examples_of(name)
    for example in examples_of(name):
        check_command(example)


@pytest.mark.parametrize("name", COMMANDS)
def test_options_are_spelled_alike_everywhere(name: str) -> None:
    options = {spelling: parameter for parameter in command(name).params for spelling in parameter.opts}
    assert ("-o" in options) == ("--output" in options)
    assert ("-m" in options) == ("--model" in options)
    assert not {"--input", "--format", "--out", "--json", "--html", "--plot"} & set(options)
    if name not in ("serve", "export"):  # --onnx says what export writes, and where
        assert "-o" in options
    if name in ("parse", "convert", "draw", "stats", "evaluate"):
        assert {"--to", "--from"} <= set(options)


def test_shells_complete_commands_formats_and_models(run: Run) -> None:
    assert "_DISCOTREE_COMPLETE=bash_complete" in run(_DISCOTREE_COMPLETE="bash_source").stdout

    def complete(words: str) -> list[str]:
        number = len(words.split(" ")) - 1
        done = run(_DISCOTREE_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(number))
        return [line.partition(",")[2] for line in done.stdout.split()]

    assert complete("discotree parse --to dis") == ["discbracket"]
    assert complete("discotree parse --from li") == ["lines"]
    assert complete("discotree parse --model n") == ["nl", "nl-large"]
    assert complete("discotree con") == ["convert"]


# evaluate

GOLD = "(ROOT (S (NP (NN 0=a) (NN 2=b)) (VV 1=c)))\n(ROOT (S (NN 0=a) (VV 1=b)))\n"
PREDICTED = "(ROOT (S (PP (NN 0=a) (NN 2=b)) (VV 1=c)))\n(ROOT (S (NN 0=a) (VV 1=b)))\n"


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "gold.dbr").write_text(GOLD)
    (tmp_path / "predicted.dbr").write_text(PREDICTED)
    return "gold.dbr", "predicted.dbr"


def test_evaluate_prints_a_table(run: Run, pair: tuple[str, str]) -> None:
    done = run("evaluate", *pair, "--by", "label")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["F1", "66.67", "–"] in rows
    assert ["S", "2", "2", "2", "100.00", "100.00", "100.00"] in rows


def test_evaluate_as_json(run: Run, pair: tuple[str, str]) -> None:
    result = json.loads(run("evaluate", *pair, "--to", "json", "--by", "label, gap,confusions,worst").stdout)
    assert result["confusions"] == [{"gold": "NP", "predicted": "PP", "times": 1}]
    assert result["worst"][0]["missing"] == ["NP: a … b"]
    assert (result["sentences"], result["gold"], result["predicted"], result["matched"]) == (2, 3, 3, 2)
    assert result["f1"] == pytest.approx(200 / 3)
    assert result["label"]["S"]["f1"] == 100
    assert result["gap"]["1"] == {"gold": 1, "predicted": 1, "matched": 0, "precision": 0, "recall": 0, "f1": None}
    disc = result["discontinuous"]
    assert (disc["sentences"], disc["gold"], disc["f1"]) == (1, 1, None)


def test_evaluate_takes_parameters_of_disco_dop(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "own.prm").write_text("LABELED 0\nDISC_ONLY 1\nDELETE_LABEL ROOT\n")
    result = json.loads(run("evaluate", *pair, "--to", "json", "--params", "own.prm").stdout)
    assert (result["sentences"], result["f1"]) == (1, 100)


def test_evaluate_compares_two_systems_and_writes_a_report(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    done = run("evaluate", *pair, "--compare-with", "gold.dbr")
    assert "predicted.dbr → gold.dbr: 66.67 → 100.00, +33.33" in done.stdout
    assert done.stdout.splitlines()[0].split() == ["predicted.dbr"] * 2 + ["gold.dbr"] * 2
    assert run("evaluate", *pair, "--compare-with", pair[1]).stdout.split()[2:4] == ["predicted.dbr", "(2)"]
    done = run("evaluate", *pair, "--compare-with", "gold.dbr", "-o", "report.html")
    assert (done.stdout, done.stderr) == ("", "scores written to report.html\n")
    assert "Significance of the difference" in (tmp_path / "report.html").read_text("utf-8")


def test_a_clear_difference_has_a_p_of_at_most_one_thousandth(run: Run, tmp_path: Path) -> None:
    right, wrong = GOLD.splitlines()[0], PREDICTED.splitlines()[0]
    (tmp_path / "gold.dbr").write_text(f"{right}\n" * 20)
    (tmp_path / "wrong.dbr").write_text(f"{wrong}\n" * 20)
    done = run("evaluate", "gold.dbr", "wrong.dbr", "--compare-with", "gold.dbr")
    assert "p ≤ 0.001" in done.stdout
    run("evaluate", "gold.dbr", "wrong.dbr", "--compare-with", "gold.dbr", "-o", "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<th>wrong.dbr</th><th>gold.dbr</th>" in page
    assert "<td>≤ 0.001</td>" in page


def test_evaluate_scores_only_the_common_sentences(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "second.dbr").write_text(GOLD.splitlines()[1] + "\n" + GOLD.splitlines()[1].replace("a", "x"))
    assert run("evaluate", pair[0], "second.dbr").returncode == 1
    done = run("evaluate", pair[0], "second.dbr", "--common", "--to", "json")
    assert done.stderr == "1 common sentence; left out: 1 of gold.dbr, 1 of second.dbr\n"
    assert (json.loads(done.stdout)["sentences"], json.loads(done.stdout)["f1"]) == (1, 100)
    done = run("evaluate", *pair, "--common", "--compare-with", "second.dbr", "--to", "json")
    assert json.loads(done.stdout)["against"]["sentences"] == 1
    assert run("evaluate", *pair, "--common", "--missing-as-empty").returncode == 2
    (tmp_path / "second.dbr").write_text("(ROOT (S (NN 0=z)))")
    assert "no sentence in common" in run("evaluate", *pair, "--common", "--compare-with", "second.dbr").stderr


def test_evaluate_refuses_files_that_do_not_match(run: Run, pair: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "other.dbr").write_text(GOLD.replace("0=a", "0=x"))
    done = run("evaluate", pair[0], "other.dbr")
    assert done.returncode == 1
    assert done.stderr.startswith("discotree: other.dbr against gold.dbr: sentence 1: word 1 is 'a'")
    (tmp_path / "other.dbr").write_text(GOLD.splitlines()[0])
    done = run("evaluate", pair[0], "other.dbr")
    assert done.returncode == 1
    assert done.stderr.endswith("; --missing-as-empty counts them as empty parses, --common leaves them out\n")
    assert "--" not in run("draw", pair[0], "--predicted", "other.dbr").stderr  # draw has no such options
    assert run("evaluate", pair[0], "other.dbr", "--missing-as-empty").returncode == 0


def test_evaluate_has_no_scores_for_empty_files(run: Run, tmp_path: Path) -> None:
    for name in ("gold.dbr", "predicted.dbr"):
        (tmp_path / name).write_text("")
    done = run("evaluate", "gold.dbr", "predicted.dbr")
    assert (done.returncode, done.stdout) == (1, "")
    assert "gold.dbr has no trees, so there is nothing to score" in done.stderr


def test_evaluate_knows_its_tables_and_parameters(run: Run, pair: tuple[str, str]) -> None:
    assert run("evaluate", *pair, "--by", "colour").returncode == 2
    assert run("evaluate", *pair, "--params", "nowhere.prm").returncode == 1
    assert json.loads(run("evaluate", *pair, "--params", "all", "--to", "json").stdout)["gold"] == 5
