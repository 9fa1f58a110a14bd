"""Files of glosses: which block belongs to which tree, and errors with a line."""

import pytest
from support.pictures import FIGURE1, GOLD

import discotree as dt
from discotree.drawing import GlossFile

GLOSSES = ("It", "came", "nothing", "interesting", "")


def file(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "glosses.txt"
    path.write_bytes(text.encode(encoding))
    return str(path)


@pytest.mark.parametrize(
    ("text", "glosses", "translation"),
    [
        ("# 1\nIt came nothing interesting\nNothing came.\n", GLOSSES, "Nothing came."),
        ("It came nothing interesting _\n", GLOSSES, ""),
        ("\n\n#2\na\n\n\n#1 \r\nIt came nothing interesting\r\n", GLOSSES, ""),
        ("It\tcame\tnothing at all\t_", ("It", "came", "nothing at all", "", ""), ""),
        ("\ufeffIt came nothing interesting .", ("It", "came", "nothing", "interesting", "."), ""),
        ("# 1", (), ""),
    ],
    ids=ascii,
)
def test_blocks_of_lines(tmp_path, text, glosses, translation):
    assert GlossFile.read(file(tmp_path, text)).glosses_for(FIGURE1) == (glosses, translation)


def test_blocks_without_ids_follow_the_trees(tmp_path):
    one, two = [tree for tree in GOLD.values() if len(tree) > 1][:2]
    found = GlossFile.read(file(tmp_path, " ".join(one.words) + "\n\n" + " ".join(two.words)))
    assert [found.glosses_for(one)[0], found.glosses_for(two)[0]] == [one.words, two.words]
    with pytest.raises(dt.InputError, match="the file has 2 blocks of glosses, but there are more trees"):
        found.glosses_for(one)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("# 2\na", r"glosses.txt: no glosses for tree '1'; add a block that starts '# 1'"),
        ("\n# 1\na b c", r"glosses.txt:2: expected 5 \(or 4 without punctuation\) for tree '1', got 3 glosses"),
        ("a\n\n# 1\na b", r"glosses.txt:1: expected '# ID', because other blocks have an id"),
        ("a\nb\nc", r"glosses.txt:1: expected a line of glosses and one translation, got 3 lines"),
    ],
    ids=ascii,
)
def test_errors_have_an_address(tmp_path, text, complaint):
    with pytest.raises(dt.InputError, match=complaint):
        GlossFile.read(file(tmp_path, text)).glosses_for(FIGURE1)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(dt.InputError, match="not a UTF-8 file"):
        GlossFile.read(file(tmp_path, "ü", "latin-1"))
    with pytest.raises(dt.DiscotreeError, match="cannot be read"):
        GlossFile.read(str(tmp_path / "missing.txt"))
