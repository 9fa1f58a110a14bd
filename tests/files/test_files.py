import bz2
import gzip
import lzma
import os
import subprocess
import sys
from subprocess import PIPE

import pytest

from discotree import TreebankError
from discotree.files.reading import files_in, open_compressed
from discotree.files.writing import base_name, is_encoding, read_text, stems, without_bom, writable


def test_a_byte_order_mark_goes_from_text_and_bytes_and_only_from_the_beginning():
    assert without_bom("\ufeffa\ufeff") == "a\ufeff"
    assert without_bom(b"\xef\xbb\xbfa") == b"a"
    assert without_bom("") == ""


def test_a_small_text_is_read_with_or_without_a_byte_order_mark(tmp_path):
    for encoding in ("utf-8", "utf-8-sig"):
        (tmp_path / "a").write_text("ä\n", encoding)
        assert read_text(tmp_path / "a") == "ä\n"


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("utf-8", True),
        ("cp1252", True),
        ("utf-16", True),
        ("rot13", False),
        ("klingon", False),
        ("idna", False),
        ("punycode", False),
        ("undefined", False),
        ("a\0b", False),
    ],
)
def test_only_encodings_of_text_count(name, known):
    assert is_encoding(name) is known


def test_names_lose_folders_and_the_suffix_of_compression():
    assert [base_name(name) for name in ("a/b.export.gz", "b.EXPORT.XZ", "b.zip")] == ["b.export", "b.EXPORT", "b.zip"]


def test_stems_tell_files_apart():
    assert stems(["x/AHK_SQUOIA_DE.xml", "x/DW_SQUOIA_DE.xml"]) == ["AHK", "DW"]
    assert stems(["a/same.dbr", "b/same.dbr"]) == ["a/same", "b/same"]
    assert stems(["one_two.xml"]) == ["one_two"]


def test_files_come_in_natural_order_and_without_hidden_ones(tmp_path):
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("10.xml", "9.xml", "inner/1.xml", ".hidden/2.xml", ".3.xml"):
        (tmp_path / name).write_text("")
    found = files_in(str(tmp_path), lambda names: names)
    assert [name.removeprefix(f"{tmp_path}/") for name in found] == ["9.xml", "10.xml", "inner/1.xml"]


@pytest.mark.parametrize(
    ("suffix", "decompress"),
    [("", bytes), (".gz", gzip.decompress), (".bz2", bz2.decompress), (".xz", lzma.decompress)],
)
def test_a_file_appears_when_all_of_it_is_written(tmp_path, suffix, decompress):
    path = tmp_path / f"a{suffix}"
    with writable(str(path)) as stream:
        stream.write(b"half")
        assert not path.exists()
        stream.write(b" and half")
    assert decompress(path.read_bytes()) == b"half and half"
    assert list(tmp_path.iterdir()) == [path]
    with path.open("rb") as raw, open_compressed(raw, str(path)) as stream:
        assert stream.read() == b"half and half"


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyboardInterrupt(), OSError("disk")], ids=repr)
def test_an_error_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a"
    path.write_text("old")

    def fail():
        with writable(str(path)) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises((type(error), TreebankError)):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_is_an_error_with_the_path(tmp_path):
    with pytest.raises(TreebankError, match="a: cannot be written: No such file"), writable(str(tmp_path / "b" / "a")):
        pass


WRITE = """
import sys
from discotree.files.writing import temporary_folder, writable
with writable(sys.argv[1]) as stream, temporary_folder():
    stream.write(b"new")
    if len(sys.argv) > 2:
        print("writing", flush=True)
        sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no locks of files")
def test_what_a_killed_process_leaves_is_removed_by_the_next_one(tmp_path):
    """A temporary file and a folder of a process that is alive stay, and so does what only looks like one."""
    target, folders = tmp_path / "target", tmp_path / "folders"
    folders.mkdir()
    (folders / "discotree-mine").mkdir()
    mine = [tmp_path / "target.tmp", tmp_path / "other.0a1b2c3d.tmp"]
    for path in mine:
        path.touch()
    command = [sys.executable, "-c", WRITE, str(target)]
    environment = {**os.environ, "TMPDIR": str(folders)}

    def begin():
        process = subprocess.Popen([*command, "wait"], stdin=PIPE, stdout=PIPE, env=environment)
        assert process.stdout.readline() == b"writing\n"
        return process

    with begin() as dead:
        dead.kill()
    for path in (*tmp_path.iterdir(), *folders.iterdir()):
        os.utime(path, (0, 0))
    leftovers = {*tmp_path.glob("target.*.tmp"), *folders.glob("discotree.*.tmp")}
    with begin() as alive:
        for path in (*tmp_path.iterdir(), *folders.iterdir()):
            os.utime(path, (0, 0))
        written = {*tmp_path.glob("target.*.tmp"), *folders.glob("discotree.*.tmp")} - leftovers
        subprocess.run(command, env=environment, check=True)
        assert {*tmp_path.iterdir(), *folders.iterdir()} == {
            *mine,
            *written,
            target,
            folders,
            folders / "discotree-mine",
        }
        alive.communicate(b"")
    assert (alive.returncode, target.read_bytes()) == (0, b"new")
    assert {*tmp_path.iterdir()} == {*mine, target, folders}
    assert (len(leftovers), len(written)) == (2, 2)
