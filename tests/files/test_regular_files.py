"""A small file is read whole; devices, pipes and huge files are refused without being opened."""

import os

import pytest

from discotree.files.reading import check_regular_file, read_regular_file


def test_a_plain_file_is_read_also_through_a_link(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("file")
    assert read_regular_file(tmp_path / "file", 5) == read_regular_file(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="5 bytes, expected at most 4"):
        read_regular_file(tmp_path / "file", 4)


def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "zero", "/dev/null"):
        with pytest.raises(OSError, match="not a plain file"):
            read_regular_file(path, 1 << 20)
        with pytest.raises(OSError, match="not a plain file"):
            check_regular_file(path)


def test_a_file_that_has_no_size_is_not_read_for_ever():
    with pytest.raises(OSError, match="more than 1 bytes"):
        read_regular_file("/proc/self/status", 1)  # its size is 0
