"""Split a treebank into training, dev and test files."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.helpers import tree_of

import discotree as dt
from discotree.cli import app
from discotree.treebanks.reading import divide


def trees(count: int) -> list[dt.Tree]:
    return [tree_of(f"(ROOT (S (NN 0=w{number})))", f"s{number}") for number in range(count)]


def split(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["split", *map(str, arguments)])


@pytest.mark.parametrize(
    "name", ["x.export", "x.y.export.gz", "x.export3", "x.tiger.xml", "x.alpino.xml", "x.dbr", "x.mrg", "x.psd",
             "x.conllu", "x.jsonl", "x.parquet", "x.arrow"]
)  # fmt: skip
def test_a_file_of_any_format_is_split_into_three_of_that_format(tmp_path: Path, name: str) -> None:
    all_trees = trees(40)
    dt.write(all_trees, tmp_path / name)
    done = split(tmp_path / name, "80/10/10")
    assert done.exit_code == 0, done.output
    stem = "x.y" if name.startswith("x.y") else "x"
    parts = [list(dt.read(tmp_path / f"{stem}.{part}{name[len(stem) :]}")) for part in ("train", "dev", "test")]
    assert [len(part) for part in parts] == [32, 4, 4]
    words = [[tree.words for tree in part] for part in parts]
    assert words == [sorted(part, key=lambda row: int(row[0][1:])) for part in words]  # in the order of the file
    assert sorted(words[0] + words[1] + words[2]) == sorted(tree.words for tree in all_trees)
    assert [[tree.words for tree in part] for part in divide(all_trees, [80, 10, 10])] == words  # always the same


def test_equal_sentences_stay_together() -> None:
    some = trees(50) + trees(50) + trees(25)
    parts = divide(some, [70, 15, 15])
    words = [{tree.words for tree in part} for part in parts]
    assert not words[0] & words[1] and not words[0] & words[2] and not words[1] & words[2]  # noqa: PT018
    assert sum(map(len, parts)) == len(some)
    assert all(abs(len(part) - share) <= 3 for part, share in zip(parts, [87.5, 18.75, 18.75], strict=True))


def test_files_that_exist_are_not_overwritten(tmp_path: Path) -> None:
    dt.write(trees(20), tmp_path / "x.dbr")
    (tmp_path / "x.dev.dbr").write_text("mine")
    done = split(tmp_path / "x.dbr", "90/10")
    assert "x.dev.dbr already exists" in str(done.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.dbr", "x.dev.dbr"]
    assert split(tmp_path / "x.dbr", "90/10", "-o", tmp_path / "parts").exit_code == 0
    assert sorted(path.name for path in (tmp_path / "parts").iterdir()) == ["x.dev.dbr", "x.train.dbr"]


@pytest.mark.parametrize("shares", ["80/10", "100", "80/10/5/5", "100/0", "80/20/-0", "a/b", "90/ 10", "", "٩٠/10"])
def test_shares_are_percentages_of_all(tmp_path: Path, shares: str) -> None:
    dt.write(trees(20), tmp_path / "x.dbr")
    done = split(tmp_path / "x.dbr", shares)
    assert done.exit_code == 2
    assert "such as 80/10/10" in done.output


def test_what_cannot_be_split_is_an_error(tmp_path: Path) -> None:
    dt.write(trees(3), tmp_path / "x.dbr")
    assert "too few trees for 80/10/10; a part would be empty" in str(split(tmp_path / "x.dbr", "80/10/10").exception)
    assert "expected a single file" in str(split(tmp_path, "80/10/10").exception)
    assert "nowhere.dbr: cannot be read: No such file" in str(split(tmp_path / "nowhere.dbr", "80/10/10").exception)
