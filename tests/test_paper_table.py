"""benchmarks/paper_table.py: what the table says is what the results say, and no run is trained twice."""

import hashlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.pages import ROOT
from support.tiny import TINY, small_recipe
from test_project import load, tables

from discotree.training.data import read_tags
from discotree.training.run import MODEL


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load(ROOT / "benchmarks" / "paper_table.py")


def results(f1: float, disc: float, epochs: int = 3, seconds: float = 90.0) -> dict[str, Any]:
    """The part of a results.json that the table shows."""
    scores = {
        split: {
            "all": {"f1": f1 - lower},
            "discontinuous": {"f1": disc - lower},
            "attachment": {"las": f1 + 10 - lower, "uas": f1 + 12 - lower},
        }
        for split, lower in (("test", 0), ("dev", 1))
    }
    return {"scores": scores, "history": [{}] * epochs, "seconds": seconds}


def rows_of(text: str, tmp_path: Path) -> dict[str, dict[str, str]]:
    (tmp_path / "page.md").write_text(text, "utf-8")
    return {row[""]: row for row in tables(tmp_path / "page.md")}


def test_the_table_has_means_and_deviations(script: ModuleType, tmp_path: Path) -> None:
    for seed, found in enumerate([results(80.0, 50.0, 40, 60), results(81.0, 52.0, 41, 120), results(82.0, 54.0)], 1):
        (tmp_path / f"mine-paper-gold-pos-{seed}.json").write_text(json.dumps(found))
    (tmp_path / "mine-paper-no-pos-vectors-1.json").write_text(json.dumps(results(70.25, 40.0)))
    rows = rows_of(script.table(tmp_path, "mine"), tmp_path)
    assert list(rows)[:6] == [
        f"{tags} POS, {vectors}" for tags in ("predicted", "gold", "no") for vectors in ("word vectors", "no vectors")
    ]
    assert rows["gold POS, no vectors"] == {
        "": "gold POS, no vectors",
        "F1": "81.0 ± 1.0",
        "disc. F1": "52.0 ± 2.0",
        "dev F1": "80.0 ± 1.0",
        "dev LAS": "90.0 ± 1.0",
        "dev UAS": "92.0 ± 1.0",
        "LAS": "91.0 ± 1.0",
        "UAS": "93.0 ± 1.0",
        "epochs": "3–41",
        "minutes": "1.5",
        "runs": "`mine-paper-gold-pos-1…3`",
    }
    one = rows["no POS, word vectors"]
    assert (one["F1"], one["epochs"], one["runs"]) == ("70.3", "3", "`mine-paper-no-pos-vectors-1`")
    missing = rows["predicted POS, word vectors"]
    assert (missing["F1"], missing["runs"]) == ("not trained yet", "")


def test_the_runs_of_the_project_are_used_as_they_are(script: ModuleType) -> None:
    """Runs that are in docs/lab/results come from the settings that the script would train with."""
    options = script.parsed(["train"])
    found = 0
    for row in (row for row in script.PAPER_ROWS if row.name in ("paper-no-pos", "paper-gold-pos")):
        for job in script.jobs_of(row, options):
            run = json.loads((script.RESULTS / f"{job.name}.json").read_text("utf-8"))
            assert script.same_run(run, job.config)
            assert not script.same_run({**run, "config": {**run["config"], "language": "de"}}, job.config)
            found += 1
    assert found == 10


def test_other_settings_vectors_or_tags_make_another_run(script: ModuleType, tmp_path: Path) -> None:
    vectors = tmp_path / "nl.bin"
    vectors.write_bytes(b"vectors")
    (row,) = (row for row in script.PAPER_ROWS if row.name == "paper-no-pos-vectors")
    job = next(script.jobs_of(row, script.parsed(["train", "--vectors", str(vectors)])))
    config = json.loads(job.config.to_json())
    config["data"]["vectors"], config["network"]["word_size"] = "elsewhere/nl.bin", 50
    config["training"]["max_seconds"] = 7.0
    checksum = hashlib.sha256(b"vectors").hexdigest()
    run = {"config": config, "data": {"sha256": {"elsewhere/nl.bin": checksum}}}
    assert script.same_run(run, job.config)
    assert not script.same_run({**run, "data": {"sha256": {"elsewhere/nl.bin": "other"}}}, job.config)
    config["training"]["learning_rate"] = 0.5
    assert not script.same_run(run, job.config)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "paper-predicted-pos-vectors needs --vectors"),
        (["--vectors", "v.bin"], "paper-predicted-pos-vectors needs --tags"),
        (["--rows", "large"], "large needs --encoder"),
        (["--rows", "small"], "unknown row small; choose from paper-predicted-pos-vectors, "),
    ],
)
def test_what_a_row_needs_is_asked_for(script: ModuleType, arguments: list[str], complaint: str) -> None:
    with pytest.raises(SystemExit, match=complaint):
        script.chosen_rows(script.parsed(["train", *arguments]))


def test_an_encoder_row_starts_from_the_preset_bert(script: ModuleType) -> None:
    options = script.parsed(
        ["train", "--rows", "large", "--encoder", "hf:/mine/bert", "--encoder-set", "training.layer_decay=0.9"]
    )
    (row,) = script.chosen_rows(options)
    job = next(script.jobs_of(row, options))
    assert (job.name, job.config.network.transformer) == ("alpino-large-1", "/mine/bert")
    assert (job.config.training.layer_decay, job.config.training.schedule) == (0.9, "cosine")


@pytest.mark.slow
def test_runs_are_trained_side_by_side_and_once(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_recipe(tmp_path)
    monkeypatch.setenv("DISCOTREE_DATA", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    settings = [word for setting in (*TINY, "training.patience=2") for word in ("--set", setting)]
    common = ["--recipe", str(tmp_path / "small.toml"), "--results", str(tmp_path / "results"), *settings]
    common += ["--runs", str(tmp_path / "runs"), "--jobs", "2", "--seeds", "2"]

    def train(*arguments: str) -> int:
        return int(script.train(script.parsed(["train", *arguments, *common])))

    assert train("--rows", "paper-no-pos", "--stop-after", "1e-9") == 2, "nothing is started too late"
    assert train("--rows", "paper-no-pos", "paper-gold-pos") == 0
    names = [f"small-paper-{tags}-pos-{seed}" for tags in ("gold", "no") for seed in (1, 2)]
    assert sorted(path.stem for path in (tmp_path / "results").iterdir()) == names
    assert all((tmp_path / "runs" / name / MODEL).is_dir() for name in names)
    assert '"dev/las"' in (tmp_path / "runs" / f"{names[0]}.log").read_text()
    capsys.readouterr()
    assert train("--rows", "paper-no-pos", "paper-gold-pos") == 0
    assert capsys.readouterr().out.count("is there") == 4
    row = rows_of(script.table(tmp_path / "results", "small"), tmp_path)["gold POS, no vectors"]
    assert (row["epochs"], row["runs"]) == ("1", "`small-paper-gold-pos-1…2`")

    tags = tmp_path / "tags.tsv"
    script.tag(script.parsed(["tag", "--tags", str(tags), "--folds", "2", "--jobs", "1", *common[:2], *settings[:-2]]))
    assert re.search(r"^dev: [0-9.]+ %$", capsys.readouterr().out, re.MULTILINE)
    assert len(read_tags(tags)) == 20
    tags.write_text("no tags\n")
    assert train("--rows", "paper-predicted-pos", "--tags", str(tmp_path / "tags.tsv")) == 2
    assert "tags.tsv:1: expected an id, a tab and tags" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["paper_table.py", "table", "--results", str(tmp_path), "--recipe", "none"])
    script.main()
    assert capsys.readouterr().out.count("not trained yet") == 8
