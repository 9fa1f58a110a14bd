"""Trainings side by side: all are done, at most so many at a time, and a killed process is no loss."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.jobs import work
from support.tiny import TINY, small_recipe

from discotree.config import load_recipe
from discotree.errors import ConfigError, ModelError, TreebankError
from discotree.training.distributed import World
from discotree.training.side_by_side import ATTEMPTS, side_by_side
from discotree.training.tagger import tag

pytestmark = pytest.mark.slow  # every process imports torch


def run(folder: Path, ways: list[str], jobs: int) -> list[dict[str, float]]:
    found: list[dict[str, float]] = []
    arguments = {number: (folder, number, way) for number, way in enumerate(ways)}
    side_by_side(work, arguments, jobs, lambda event, metrics: found.append({**metrics, "steps": event == "step"}))
    return found


def test_all_is_done_and_so_many_at_a_time(tmp_path: Path) -> None:
    found = run(tmp_path, [""] * 3, jobs=2)
    assert sorted(metrics["number"] for metrics in found) == [0, 1, 2]
    assert not any(metrics["steps"] for metrics in found)
    for one in found:
        assert sum(other["began"] <= one["began"] < other["ended"] for other in found) <= 2  # at the moment it begins


def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    run(tmp_path, ["killed once", ""], jobs=2)
    assert [(tmp_path / name).read_text() for name in ("0", "1", "0.tries", "1.tries")] == ["done", "done", "xx", "x"]


def test_what_always_fails_ends_the_call(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"training 0 ended {ATTEMPTS} times with exit code -9"):
        run(tmp_path, ["killed"], jobs=2)
    with pytest.raises(TreebankError, match=r"nowhere\.export:7: there are no trees"):
        run(tmp_path, ["refused"], jobs=2)
    assert len((tmp_path / "0.tries").read_text()) == ATTEMPTS + 1, "a mistake in the data is not tried again"


# Folds


def test_folds_side_by_side_give_the_same_tags(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])
    tag(config, tmp_path / "one.tsv", folds=2, epochs=2)
    epochs: list[float] = []

    def note(event: str, metrics: dict[str, float]) -> None:
        if event == "epoch":
            epochs.append(metrics["fold"])

    tag(config, tmp_path / "two.tsv", folds=2, epochs=2, report=note, jobs=2)
    assert sorted(epochs) == [1, 1, 2, 2, 3, 3]
    assert (tmp_path / "two.tsv").read_text("utf-8") == (tmp_path / "one.tsv").read_text("utf-8")
    assert not (tmp_path / "two.tsv.folds").exists()


def test_finished_folds_are_kept_when_the_work_is_interrupted(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])

    def until(fold: float) -> Callable[[str, dict[str, float]], None]:
        def note(event: str, metrics: dict[str, float]) -> None:
            seen.append((event, metrics["fold"]))
            if event == "epoch" and metrics["fold"] == fold:
                raise KeyboardInterrupt

        return note

    seen: list[tuple[str, float]] = []
    path = tmp_path / "tags.tsv"
    with pytest.raises(KeyboardInterrupt):
        tag(config, path, folds=2, epochs=1, report=until(2), jobs=1)
    assert [file.name for file in Path(f"{path}.folds").glob("*.tsv")] == ["1.tsv"]
    seen.clear()
    tag(config, path, folds=2, epochs=1, report=until(-1), jobs=2)
    assert 1 not in {fold for _, fold in seen}
    assert path.exists()


def test_folds_side_by_side_are_no_work_for_torchrun(tmp_path: Path) -> None:
    config = load_recipe(small_recipe(tmp_path), [f"data.folder={tmp_path}", *TINY])
    with pytest.raises(ConfigError, match="side by side, or in several processes each"):
        tag(config, tmp_path / "tags.tsv", folds=2, world=World(size=2), jobs=2)
