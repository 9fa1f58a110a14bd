"""Damaged treebanks: reading any file gives trees or a TreebankError, and soon.

Bounded and seeded: the same mutants on every run. A mutant that takes longer than a few seconds counts as a hang.
``make fuzz`` does more of the same for as long as you like.
"""

import gzip
import io
import tarfile
import zipfile

import pytest
from fuzz.targets import Hang, patience
from fuzz.treebanks import SEEDS, tokens_of
from support.helpers import parsed, written
from support.mutants import mutants

from discotree import FORMATS, Tree, TreebankError, read

MUTANTS = 1500  # per file
PATIENCE_SECONDS = 5.0


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_a_mutant_gives_trees_or_a_treebank_error(name, data):
    format = SEEDS[name]
    refused = 0
    for number, raw in mutants(name, (data / name).read_bytes(), tokens_of(format), MUTANTS):
        for on_error in (None, [].append):
            try:
                with patience(PATIENCE_SECONDS):
                    found = parsed(raw, format, on_error) if on_error else parsed(raw, format)
            except TreebankError:
                refused += not on_error
            except Hang:
                pytest.fail(f"mutant {number} of {name} takes longer than {PATIENCE_SECONDS} seconds")
            except Exception as error:
                pytest.fail(f"mutant {number} of {name}: {type(error).__name__}: {error}\n{raw!r}")
            else:
                assert all(isinstance(tree, Tree) and isinstance(tree.id, str) for tree in found)
    assert MUTANTS // 20 < refused < MUTANTS  # otherwise the mutations are too harsh or too mild


def survivors(raw, format):
    try:
        return parsed(raw, format, [].append)
    except TreebankError:
        return []


@pytest.mark.parametrize(
    "name",
    [
        "figure1.export",
        "small.dbr",
        "ptb.mrg",
        "alpino_one.xml",
        "tiger.xml",
        "small.jsonl",
        "small.folia.xml",
        "small.ann",
        "small.webanno.tsv",
    ],
)
def test_what_is_read_from_a_mutant_can_be_written_and_read_again(name, data):
    format = SEEDS[name]
    for number, raw in mutants(f"again {name}", (data / name).read_bytes(), [], 300):
        for tree in survivors(raw, format):
            try:
                text = written([tree], format)
            except TreebankError:
                continue
            assert [again.words for again in parsed(text, format)] == [tree.words], f"mutant {number}: {raw!r}"


def container(suffix):
    content = b"(ROOT (N 0=a) (N 1=b))\n" * 20
    buffer = io.BytesIO()
    if suffix == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in ("a.dbr", "b.dbr", "README"):
                archive.writestr(zipfile.ZipInfo(name), content)
    elif suffix == ".dbr.gz":
        buffer.write(gzip.compress(content, mtime=0))
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz" if suffix == ".tar.gz" else "w") as archive:
            for name in ("a.dbr", "b.dbr", "README"):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".dbr.gz"])
def test_a_mutated_archive_gives_trees_or_a_treebank_error(suffix, tmp_path):
    path = tmp_path / f"mutant{suffix}"
    for number, raw in mutants(suffix, container(suffix), [], 400):
        path.write_bytes(raw)
        for on_error in ({}, {"on_error": [].append}):
            try:
                with patience(PATIENCE_SECONDS):
                    list(read(path, **on_error))
            except TreebankError:
                pass
            except Hang:
                pytest.fail(f"mutant {number} of {suffix} takes longer than {PATIENCE_SECONDS} seconds")
            except Exception as error:
                pytest.fail(f"mutant {number} of {suffix}: {type(error).__name__}: {error}")


def test_every_reader_is_fuzzed():
    readers = {form.read for name, form in FORMATS.items() if name not in ("parquet", "arrow")}
    assert {FORMATS[format].read for format in SEEDS.values()} == readers
