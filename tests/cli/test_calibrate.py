"""`discotree calibrate` writes a calibration into a model's folder; `parse --min-confidence` uses it."""

import json
import shutil
from pathlib import Path

import click
import pytest
from support.networks import TREES
from support.parse_command import LINES, Cli

from discotree import load, write
from discotree.cli import app
from discotree.errors import InputError


def calibrate(*arguments: str) -> None:
    app(["calibrate", *arguments], standalone_mode=False)


@pytest.fixture
def own(model: Path, tmp_path: Path) -> Path:
    """A model of one's own, and a treebank beside it."""
    shutil.copytree(model, tmp_path / "own")
    write([*TREES] * 6, tmp_path / "trees.json")
    return tmp_path / "own"


def test_it_writes_a_calibration_and_says_how_good_it_is(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load(own)(["Es", "kam", "nichts", "Neues"])
    calibrate(str(own), str(tmp_path / "trees.json"), "--keep-penalties")
    shown = capsys.readouterr().out
    assert shown.startswith("gap penalties: none\n")
    assert [line.split()[0] for line in shown.splitlines()[3:7]] == ["AUC", "ECE", "Brier", "Brier"]
    fitted = json.loads((own / "calibration.json").read_text("utf-8"))["fitted"]
    assert fitted["sentences"] == 120
    assert f"{fitted['ece']:.3f}" in shown
    assert fitted["ece"] < fitted["raw_ece"]
    after = load(own)(["Es", "kam", "nichts", "Neues"])
    assert after == before
    assert after.confidences != before.confidences
    first = (own / "calibration.json").read_bytes()
    calibrate(str(own), str(tmp_path / "trees.json"), "--keep-penalties")
    assert (own / "calibration.json").read_bytes() == first
    assert {path.name for path in own.iterdir()} == {
        "config.json",
        "vocab.json",
        "weights.safetensors",
        "calibration.json",
    }


@pytest.mark.slow
def test_prices_of_gaps_are_fitted_anew_unless_they_are_kept(own: Path, tmp_path: Path) -> None:
    about = json.loads((own / "config.json").read_text("utf-8"))
    about["config"]["decoding"]["gap_penalties"] = {"S": 99.0}
    (own / "config.json").write_text(json.dumps(about), "utf-8")
    calibrate(str(own), str(tmp_path / "trees.json"), "--keep-penalties")
    assert load(own).config.decoding.gap_penalties == {"S": 99.0}
    calibrate(str(own), str(tmp_path / "trees.json"))
    assert load(own).config.decoding.gap_penalties == {}  # they help an untrained network nowhere


def test_what_is_not_yours_is_copied(own: Path, tmp_path: Path) -> None:
    """The files of an installed model, or of the hub's cache, are shared with others."""
    for name in ("nl", "hub:some/model"):
        with pytest.raises(click.UsageError, match="use -o FOLDER to write a copy"):
            calibrate(name, str(tmp_path / "trees.json"))
    before = {path.name: path.read_bytes() for path in own.iterdir()}
    calibrate(str(own), str(tmp_path / "trees.json"), "-o", str(tmp_path / "copy"))
    assert {path.name: path.read_bytes() for path in own.iterdir()} == before
    assert load(tmp_path / "copy").model.calibration is not None


def test_without_trees_nothing_is_written(own: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="have no dev split; pass held-out treebanks"):
        calibrate(str(own))
    write(TREES[:2], tmp_path / "few.json")
    with pytest.raises(InputError, match="at least 200 constituents are needed"):
        calibrate(str(own), str(tmp_path / "few.json"))
    assert not (own / "calibration.json").exists()


# parse --min-confidence


def test_uncertain_sentences_are_left_out_and_counted(cli: Cli) -> None:
    text = "\n".join(LINES)
    records = cli("-", "--from", "tokens", "--to", "json", stdin=text).records
    confidences = sorted(record["confidence"] for record in records)
    least = (confidences[9] + confidences[10]) / 2
    done = cli("-", "--from", "tokens", "--to", "json", "--min-confidence", str(least), stdin=text)
    assert done.code == 0
    assert done.records == [record for record in records if record["confidence"] >= least]
    assert f"10 sentences below --min-confidence {least} left out" in done.err.replace("\n", " ")
    assert "this model is not calibrated" in done.err


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_sentences_keep_their_numbers_if_others_are_left_out(cli: Cli, workers: str) -> None:
    Path("in.txt").write_text("\n".join(LINES))
    whole = cli("in.txt", "--from", "tokens", "--to", "export").out.decode()
    records = cli("in.txt", "--from", "tokens", "--to", "json").records
    confidences = sorted(record["confidence"] for record in records)
    least = (confidences[4] + confidences[5]) / 2
    options = ["--from", "tokens", "--min-confidence", str(least), "--workers", workers]
    done = cli("in.txt", *options, "-o", "good.export")
    assert done.code == 0
    assert "15 sentences written to good.export" in done.err
    sentences = Path("good.export").read_text("utf-8").split("#BOS")[1:]
    assert len(sentences) == 15
    assert set(sentences) <= set(whole.split("#BOS")[1:])


def test_pictures_leave_uncertain_trees_out(cli: Cli) -> None:
    done = cli("-", "--from", "tokens", "-o", "trees.html", "--min-confidence", "1", stdin="\n".join(LINES[:3]))
    assert "3 sentences below --min-confidence 1.0 left out" in done.err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--min-confidence", "2"], "--min-confidence"),
        (["--min-confidence", "nan"], "--min-confidence"),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, options: list[str], problem: str) -> None:
    done = cli("-", "--from", "tokens", *options, stdin=LINES[0])
    assert done.code == 2
    assert problem in " ".join(done.err.split())
