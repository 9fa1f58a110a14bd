"""Files that unpack to far more than they hold, and lines without end, are refused before they fill memory."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

import pytest
from support.helpers import ONE, encoded

from discotree import ConfigError, TreebankError, read
from discotree.files import reading
from discotree.treebanks import TEXT_FORMATS, ReadLimits

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.fixture(autouse=True)
def small_floor(monkeypatch):
    """Bombs of a megabyte do."""
    monkeypatch.setattr(reading, "MAX_UNPACKED", 1 << 16)


def refused(path, message, **options):
    with pytest.raises(TreebankError, match=message) as caught:
        list(read(path, **options))
    assert caught.value.path.startswith(str(path))
    return caught.value


BOMB = b"(ROOT (N 0=" + b"a" * (1 << 20) + b"))\n"


@pytest.mark.parametrize("suffix", PACK)
def test_what_unpacks_to_far_more_than_it_is_packed_is_refused(file, suffix):
    path = file(f"a.dbr{suffix}", PACK[suffix](BOMB))
    refused(path, "unpacks to more than 200 times its size.* raise DISCOTREE_MAX_UNPACKED_RATIO")
    assert len(list(read(path, limits=ReadLimits(unpacked_ratio=1 << 20)))) == 1


def test_the_environment_sets_other_limits(file, monkeypatch):
    path = file("a.dbr.bz2", bz2.compress(BOMB))
    monkeypatch.setenv("DISCOTREE_MAX_UNPACKED_RATIO", "1000000")
    assert len(list(read(path))) == 1
    monkeypatch.setenv("DISCOTREE_MAX_LINE_BYTES", "1000")
    assert refused(path, "a line has more than 1,000 bytes").line == 1
    monkeypatch.setenv("DISCOTREE_MAX_LINE_BYTES", "many")
    with pytest.raises(ConfigError, match="DISCOTREE_MAX_LINE_BYTES: expected a number above 0, got 'many'"):
        read(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_bombs_in_zip_archives_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", method) as archive:
        archive.writestr("a.dbr", BOMB)
    refused(tmp_path / "a.zip", "unpacks to more than|only deflated members")


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_bombs_in_tar_archives_are_refused(tmp_path, mode):
    path = tmp_path / f"a.tar.{mode[2:]}"
    with tarfile.open(path, mode) as archive:
        info = tarfile.TarInfo("a.dbr")
        info.size = len(BOMB)
        archive.addfile(info, io.BytesIO(BOMB))
    refused(path, "unpacks to more than 200 times")
    assert len(list(read(path, limits=ReadLimits(unpacked_ratio=1 << 20)))) == 1


def test_a_long_name_that_fills_memory_is_refused(tmp_path):
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a" * (2 << 20)))
    refused(path, "invalid header")


def test_a_packed_file_in_an_archive_is_limited_too(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.dbr.bz2", bz2.compress(BOMB))
    refused(tmp_path / "a.zip", "unpacks to more than")


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_a_line_or_a_tag_without_end_is_refused(file, format):
    content = encoded([ONE], format)
    at = content.index(b"a")
    path = file("a", content[:at] + b"a" * (1 << 18) + content[at:])
    message = "has more than 100,000 bytes; raise DISCOTREE_MAX_LINE_BYTES"
    error = refused(path, message, format=format, limits=ReadLimits(line_bytes=100_000))
    assert error.line
    assert list(read(file("b", content), format, limits=ReadLimits(line_bytes=100_000))) == [ONE]
