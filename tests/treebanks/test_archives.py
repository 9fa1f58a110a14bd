import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from dataclasses import replace

import pytest
from support.helpers import ONE, THREE, TWO, tree_of, written

from discotree import TreebankError, read, write

# Compressed files

COMPRESS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESS)
def test_compressed_files_are_read_and_written(tmp_path, suffix):
    path = tmp_path / f"a.export{suffix}"
    assert write([ONE, TWO], path) == 2
    assert list(read(path)) == [ONE, TWO]
    assert len(path.read_bytes()) != len(written([ONE, TWO], "export"))


@pytest.mark.parametrize("suffix", COMPRESS)
def test_the_content_of_a_compressed_file_is_guessed_too(file, suffix):
    path = file(f"treebank{suffix}", COMPRESS[suffix](written([ONE], "tigerxml").encode()))
    assert list(read(path)) == [ONE]


@pytest.mark.parametrize("suffix", COMPRESS)
def test_broken_compressed_files_are_treebank_errors(file, suffix):
    whole = COMPRESS[suffix](written([ONE] * 50, "export").encode())
    for content in (whole[:-12], whole[:20], b"no such thing", whole[:30] + b"\xff" * 20 + whole[50:]):
        path = file(f"a.export{suffix}", content)
        with pytest.raises(TreebankError, match="cannot be read") as caught:
            list(read(path))
        assert caught.value.path == str(path)


# Folders and archives


@pytest.fixture
def folder(tmp_path):
    """A folder as treebanks come: several files, a README and a licence."""
    top = tmp_path / "corpus"
    (top / "more").mkdir(parents=True)
    for number in (1, 2, 10):
        write([tree_of(f"(ROOT (N 0=w{number}))", "s1")], top / f"maz-{number}.tigerxml")
    write([tree_of("(ROOT (N 0=deep))", "s7")], top / "more" / "kit-3.export.gz")
    (top / "README").write_text("(just a note)\n")
    (top / "LICENSE.txt").write_text("#BOS of the licence\n")
    return top


IN_ORDER = [("maz-1/s1", "w1"), ("maz-2/s1", "w2"), ("maz-10/s1", "w10"), ("kit-3/s7", "deep")]


def pack(folder, path):
    """Put a folder into an archive, its files in the order of their numbers."""
    files = [p for p in sorted(folder.rglob("*"), key=lambda p: (len(p.parts), len(p.name), p)) if p.is_file()]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for p in files:
                archive.write(p, p.relative_to(folder.parent))
        return path
    mode = {".gz": "w:gz", ".tgz": "w:gz", ".bz2": "w:bz2", ".xz": "w:xz", ".tar": "w"}[path.suffix]
    with tarfile.open(path, mode) as archive:
        for p in files:
            archive.add(p, str(p.relative_to(folder.parent)))
    return path


def test_a_folder_is_read_file_by_file_and_ids_get_the_files_name(folder):
    assert [(tree.id, tree.words[0]) for tree in read(folder)] == IN_ORDER


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_an_archive_is_read_like_a_folder(folder, tmp_path, name):
    path = pack(folder, tmp_path / name)
    assert sorted((tree.id, tree.words[0]) for tree in read(path)) == sorted(IN_ORDER)
    assert [tree.id for tree in read(path)][:3] == ["maz-1/s1", "maz-2/s1", "maz-10/s1"]


def test_a_format_chooses_among_the_files_of_a_folder(folder):
    assert [tree.id for tree in read(folder, "export")] == ["kit-3/s7"]
    assert len(list(read(folder, "tigerxml"))) == 3


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path):
    for part in ("a", "b"):
        (tmp_path / "c" / part).mkdir(parents=True)
        write([THREE], tmp_path / "c" / part / "same.dbr")
    assert [tree.id for tree in read(tmp_path / "c")] == ["a/same/x-3", "b/same/x-3"]


def test_what_all_names_end_in_is_left_out(tmp_path):
    for name in ("AHK_SQUOIA_DE", "DW_SQUOIA_DE"):
        write([THREE], tmp_path / f"{name}.dbr")
    assert [tree.id for tree in read(tmp_path)] == ["AHK/x-3", "DW/x-3"]


def test_an_id_that_has_the_files_name_already_is_left_alone(tmp_path):
    write([replace(THREE, id="cdb/28"), replace(THREE, id="cdb")], tmp_path / "cdb.dbr")
    assert [tree.id for tree in read(tmp_path)] == ["cdb/28", "cdb"]


def test_a_folder_of_alpino_files_without_ids(tmp_path):
    for number in (1, 2, 10):
        xml = f'<alpino_ds><node cat="top"><node begin="0" word="w{number}"/></node></alpino_ds>'
        (tmp_path / f"{number}.xml").write_text(xml)
    trees = list(read(tmp_path))
    assert [tree.words for tree in trees] == [("w1",), ("w2",), ("w10",)]
    assert len({tree.id for tree in trees}) == 3
    assert not any(tree.id.endswith("/") for tree in trees)


def test_an_error_in_a_folder_or_an_archive_names_the_file(folder, tmp_path):
    (folder / "bad.dbr").write_text("nonsense\n")
    with pytest.raises(TreebankError) as caught:
        list(read(folder))
    assert (caught.value.path, caught.value.line) == (str(folder / "bad.dbr"), 1)
    for name in ("a.zip", "a.tar.gz"):
        path = pack(folder, tmp_path / name)
        with pytest.raises(TreebankError) as caught:
            list(read(path))
        assert (caught.value.path, caught.value.line) == (f"{path}/corpus/bad.dbr", 1)


def test_a_folder_or_archive_without_treebanks_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "README").write_text("nothing\n")
    for path in (tmp_path / "empty", pack(tmp_path / "empty", tmp_path / "a.zip")):
        with pytest.raises(TreebankError, match="contains no treebank file"):
            list(read(path))


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz"])
def test_broken_archives_are_treebank_errors(file, folder, tmp_path, name):
    whole = pack(folder, tmp_path / name).read_bytes()
    for content in (b"", b"no such thing" * 100, whole[: len(whole) // 2 - 100]):
        with pytest.raises(TreebankError):
            list(read(file(name, content)))


def test_an_encrypted_archive_is_refused(tmp_path, folder):
    path = pack(folder, tmp_path / "a.zip")
    raw = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag of every entry
        at = raw.find(signature)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(signature, at + 1)
    path.write_bytes(raw)
    with pytest.raises(TreebankError, match="cannot be read"):
        list(read(path))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({6: 0xFF}, id="made for a later version"),
        pytest.param({46: 0}, id="a file without a name"),
        pytest.param({9: 0x08, 46: 0x81}, id="a name that should be UTF-8 and is not"),
        pytest.param({10: 0x63}, id="packed in an unknown way"),
    ],
)
def test_an_odd_archive_is_a_treebank_error(tmp_path, changes):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.dbr", "(ROOT (N 0=a))\n")
    raw = bytearray(path.read_bytes())
    for offset, value in changes.items():  # in the table of contents
        raw[raw.index(b"PK\x01\x02") + offset] = value
    path.write_bytes(raw)
    with pytest.raises(TreebankError):
        list(read(path))


def test_archives_are_not_written(tmp_path):
    with pytest.raises(TreebankError, match="archives can be read but not written"):
        write([ONE], tmp_path / "a.export.zip", "export")


# Headers of tar archives


def tar_with(changes, content=b"(ROOT (N 0=a))\n"):
    """Return an archive of one file whose header has other bytes, and the checksum that fits."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        info = tarfile.TarInfo("a.dbr")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    raw = bytearray(buffer.getvalue())
    for offset, value in changes.items():
        raw[offset : offset + len(value)] = value
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    return bytes(raw)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({124: b"\x80" + b"\xff" * 11}, id="a size beyond numbers"),
        pytest.param({124: b"\xff" * 12}, id="a negative size"),
        pytest.param({124: b"\xff" * 12, 156: b"x"}, id="a negative size of a header"),
        pytest.param({124: b"\x80" + b"\xff" * 11, 156: b"L"}, id="a name beyond numbers"),
        pytest.param({124: b"zzzzzzzzzzz\0"}, id="a size that is no number"),
        pytest.param({156: b"S", 386: b"\xff" * 24, 482: b"\1"}, id="a sparse file"),
    ],
)
def test_odd_headers_of_an_archive_are_treebank_errors(file, changes):
    path = file("a.tar", tar_with(changes))
    with pytest.raises(TreebankError) as caught:
        list(read(path))
    assert caught.value.path.startswith(str(path))


def test_a_tar_archive_with_a_plain_header_is_read(file):
    assert [tree.words for tree in read(file("a.tar", tar_with({})))] == [("a",)]
