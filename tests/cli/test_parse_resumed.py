"""discotree parse interrupted, killed and resumed, in one process and in several: the bytes are always the same."""

import bz2
import gzip
import io
import json
import lzma
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from support.helpers import parsed
from support.networks import TREES
from support.parse_command import LINES, Cli
from support.signals import heed_interrupts

import discotree as dt
from discotree.cli import parse
from discotree.parsing import outputs
from discotree.parsing.outputs import OUTPUTS

# Interrupted and resumed


class Keyboard(io.RawIOBase):
    """A standard input of some lines, and then Ctrl-C."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = [f"{line}\n".encode() for line in lines]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.lines:
            raise KeyboardInterrupt
        line = self.lines.pop(0)
        buffer[: len(line)] = line
        return len(line)


replace = os.replace


def in_the_way(source: str, target: str) -> None:
    """Refuse to give the output its name."""
    if str(source).endswith(".part"):
        raise PermissionError(13, "somebody has it open")
    replace(source, target)


QUICK = ("export", "json")  # of the outputs; all others take their turn with the slow tests

MANY = [f"{line} {k}" for k, line in enumerate(LINES * 3)]
MANY[5] = "a\x1cb"  # what most formats cannot hold
TEXT = "\n".join([*MANY, ""])


@pytest.mark.parametrize(
    ("output", "suffix"),
    [
        *(pytest.param(output, "", marks=() if output in QUICK else pytest.mark.slow) for output in OUTPUTS),
        ("tigerxml", ".gz"),
    ],
)
def test_an_interrupted_run_goes_on_to_the_same_bytes(cli: Cli, tmp_path: Path, output: str, suffix: str) -> None:
    options = ["-", "--from", "tokens", "--to", output]
    whole = cli(*options, "-o", f"whole{suffix}", stdin=TEXT)
    target = f"out{suffix}"
    for lines in (0, 20, 45):
        stopped = cli(*options, "-o", target, "--resume", stdin=Keyboard(MANY[:lines]))
        assert stopped.code == 130
        if not lines:
            assert stopped.err == "discotree: interrupted\n"
            assert sorted(os.listdir(tmp_path)) == [f"whole{suffix}"]
        else:
            written = int(re.search(r"interrupted; (\d+) sentences written to", stopped.err)[1])  # type: ignore[index]
            assert lines // 2 - 1 <= written <= lines
            assert "--resume to continue" in stopped.err
            assert not (tmp_path / target).exists()
            if output in dt.FORMATS and not suffix:
                assert len(list(dt.read(tmp_path / "out.part", output))) == written
    done = cli(*options, "-o", target, "--resume", stdin=TEXT)
    assert done.code == whole.code
    assert done.err.splitlines()[-1] == whole.err.splitlines()[-1].replace("whole", "out")
    assert (tmp_path / target).read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()
    assert sorted(os.listdir(tmp_path)) == [target, f"whole{suffix}"]


def test_an_interrupted_stream_ends_in_order(cli: Cli) -> None:
    done = cli("-", "--from", "lines", "--to", "tigerxml", stdin=Keyboard(LINES[:9]))
    assert done.code == 130
    trees = parsed(done.out, "tigerxml")
    assert f"interrupted; {len(trees)} sentences written" in done.err
    assert 4 <= len(trees) <= 9


def test_an_interrupted_run_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    cli("-", "--from", "lines", "-o", "out.dbr", stdin=Keyboard(LINES))
    part = (tmp_path / "out.dbr.part").read_bytes()
    done = cli("-", "--from", "lines", "-o", "out.dbr", stdin=TEXT)
    assert done.code == 1
    assert "pass --resume to continue it, or remove the file" in done.err
    for other in (["--from", "tokens"], ["--k", "2"], ["--to", "json"], ["--decode", "greedy"]):
        done = cli("-", "--from", "lines", "-o", "out.dbr", "--resume", *other, stdin=TEXT)
        assert done.code == 1
        assert "different settings" in done.err
    assert (tmp_path / "out.dbr.part").read_bytes() == part


def test_resuming_with_another_model_is_refused(cli: Cli, others: Path) -> None:
    options = ["-", "--from", "tokens", "-o", "out.dbr", "--resume"]
    cli(*options, stdin=Keyboard(LINES))
    assert "was started with another model" in cli(*options, "--model", str(others / "mute"), stdin=TEXT).err


# The input of a run that resumes


@pytest.mark.parametrize("kind", ["tokens", "lines", "text"])
def test_another_input_of_the_same_name_is_refused(cli: Cli, tmp_path: Path, kind: str) -> None:
    options = ["--from", kind, "--to", "discbracket", "-o", "out", "--resume"]
    paragraphs = [line + "\n" for line in LINES * 2]
    cli("-", *options, stdin=Keyboard(paragraphs))
    part = (tmp_path / "out.part").read_bytes()
    changed = "\n".join([*paragraphs[:3], "Etwas anderes .\n", *paragraphs[4:]])
    for text in (changed, "\n".join(paragraphs[:3]), ""):
        done = cli("-", *options, stdin=text)
        assert done.code == 1
        assert re.search(
            r"out\.part was .* different input: the new one differs within the first \d+ sentences; remove", done.err
        )
        assert "to continue" not in done.err
        assert (tmp_path / "out.part").read_bytes() == part
    assert cli("-", *options, stdin="\n".join(paragraphs)).code == 0


def test_the_same_input_under_another_name_goes_on(cli: Cli, tmp_path: Path) -> None:
    options = ["--from", "tokens", "--to", "discbracket", "--resume"]
    cli("-", *options, "-o", "out", stdin=Keyboard(LINES))
    more = "\n".join([*LINES, "Noch ein Satz .", ""])  # what the first run has not read may differ
    (tmp_path / "renamed.txt").write_text(more)
    assert cli("renamed.txt", *options, "-o", "out").code == 0
    cli("-", *options, "-o", "whole", stdin=more)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_a_treebank_that_changed_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "in.export"
    dt.write(TREES, path)
    options = ["in.export", "--to", "json", "-o", "out", "--resume"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", in_the_way)
        assert cli(*options).code == 1
    dt.write([*TREES[1:], TREES[0]], path)
    assert "differs within the first 20 sentences" in cli(*options).err
    dt.write(TREES, path)
    assert cli(*options).code == 0


def test_foreign_files_beside_the_output_are_left_alone(cli: Cli, tmp_path: Path) -> None:
    for suffix in (".part", ".progress", ".lock"):
        path = tmp_path / f"out{suffix}"
        path.write_text("my thesis")
        for resume in ([], ["--resume"]):
            done = cli("-", "--from", "tokens", "--to", "json", "-o", "out", *resume, stdin=TEXT)
            assert done.code == 1
            assert re.fullmatch(rf"discotree: \S+/out\{suffix} exists and is not .*; move it away.*\n", done.err)
        assert path.read_text() == "my thesis"
        path.unlink()
    assert os.listdir(tmp_path) == []


# Real processes


@pytest.fixture
def start(model: Path, tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "discotree", "parse", "-", "--model", str(model), *arguments]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, cwd=tmp_path, preexec_fn=heed_interrupts, **pipes)  # type: ignore[call-overload]
        started.append(process)
        return process  # type: ignore[no-any-return]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def feed(process: "subprocess.Popen[bytes]", lines: list[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in lines).encode())
    process.stdin.flush()


def wait_for(path: Path, done: int) -> None:
    """Wait until the journal has this many sentences."""
    end = time.monotonic() + 60
    while not (path.exists() and f'\n{{"done": {done},' in path.read_text()):
        assert time.monotonic() < end, f"{path} does not get to {done}"
        time.sleep(0.02)


def wait_for_workers(process: "subprocess.Popen[bytes]", count: int) -> list[int]:
    """Wait until a process has started its workers, and return their process IDs.

    Its journal may still have nothing of theirs: results are written in order, when the next sentences have been read.
    """
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 60
    while True:
        workers = [int(child) for child in children.read_text().split() if b"tracker" not in command_line(child)]
        if len(workers) == count:
            return workers
        assert time.monotonic() < end, f"{len(workers)} workers have started"
        time.sleep(0.02)


def command_line(pid: str) -> bytes:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.mark.slow
def test_killed_runs_go_on_to_the_same_bytes(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path
) -> None:
    outputs = ("discbracket", "tigerxml", "json")
    processes = [start("--from", "tokens", "--to", output, "-o", f"{output}.out") for output in outputs]
    for process in processes:
        feed(process, MANY[:40])
    for process, output in zip(processes, outputs, strict=True):
        wait_for(tmp_path / f"{output}.out.progress", 32)
        process.kill()
        process.wait()
        with open(tmp_path / f"{output}.out.part", "ab") as stream:
            stream.write(b"(ROOT (torn")
        options = ["-", "--from", "tokens", "--to", output]
        again = cli(*options, "-o", f"{output}.out", "--resume", stdin=TEXT)
        assert again.code == cli(*options, "-o", "whole", stdin=TEXT).code
        assert (tmp_path / f"{output}.out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_a_second_writer_is_refused(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path
) -> None:
    process = start("--from", "lines", "-o", "out.export")
    feed(process, LINES[:10])
    wait_for(tmp_path / "out.export.progress", 8)
    second = cli("-", "--from", "lines", "-o", "out.export", "--resume", stdin=TEXT)
    assert (second.code, second.err) == (1, "discotree: out.export: another process is writing to it\n")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.decode().startswith("discotree: interrupted; 8 sentences written to ")
    assert b"Traceback" not in said
    assert [tree.words for tree in dt.read(tmp_path / "out.export.part", "export")] == [t.words for t in TREES[:8]]


@pytest.mark.slow
def test_several_processes_write_what_one_writes(cli: Cli, tmp_path: Path) -> None:
    """Failed sentences shift the numbers of those after them, in other processes, too."""
    lines = [line.encode() for line in LINES * 4]
    for damaged in (3, 40, 41):
        lines[damaged] += b"\xff"
    (tmp_path / "in.txt").write_bytes(b"\n".join(lines))
    alone = cli("in.txt", "--from", "tokens", "--to", "discbracket")
    together = cli("in.txt", "--from", "tokens", "--to", "discbracket", "--workers", "2")
    assert alone.code == together.code == 1
    assert together.trees == alone.trees
    assert len(alone.trees) == 77
    assert together.err == alone.err


@pytest.mark.parametrize("source", ["in.txt", "-"])
def test_full_windows_are_parsed_in_processes(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Without --workers, too, and the last window with them; the windows before are too small."""
    shared = []

    def pool(worker: outputs.ParseWorker, *rest: Any) -> outputs.WorkerPool:
        found = outputs.worker_pool(worker, *rest)
        results = found.results
        monkeypatch.setattr(found, "results", lambda task: (shared.append(len(task[0])), results(task))[1])
        return found

    (tmp_path / "in.txt").write_text(TEXT)
    options = [source, "--from", "tokens", "--to", "discbracket"]
    alone = cli(*options, stdin=TEXT)
    monkeypatch.setattr(outputs, "usable_cores", lambda: 3)
    monkeypatch.setattr(outputs, "MAX_WINDOW", 16)
    monkeypatch.setattr(parse, "worker_pool", pool)
    assert cli(*options, stdin=TEXT) == alone
    assert shared == [16, 16, len(MANY) - 48]


def test_sentences_before_a_damaged_one_are_not_lost_in_processes(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("\n".join([*LINES, ""]).encode("utf-16") + b"\x00\xd8\x00")
    options = ["in.txt", "--from", "tokens", "--to", "discbracket", "--encoding", "utf-16"]
    alone, together = cli(*options), cli(*options, "--workers", "2")
    assert alone.code == 1
    assert len(alone.trees) >= len(LINES) // 2
    assert together == alone


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0, 1], ids=["at once", "later"])
def test_a_worker_that_is_killed_costs_nothing_but_a_new_start(
    start: Callable[..., "subprocess.Popen[bytes]"], cli: Cli, tmp_path: Path, pause: float
) -> None:
    """The death is noticed by a task that waits or, some time later, by the next one."""
    process = start("--from", "tokens", "-o", "out.txt", "--to", "discbracket", "--workers", "2")
    feed(process, MANY[:40])
    wait_for(tmp_path / "out.txt.progress", 1)
    for worker in wait_for_workers(process, 2):
        os.kill(worker, signal.SIGKILL)
    time.sleep(pause)
    with suppress(BrokenPipeError):  # where a task has noticed it before
        feed(process, MANY[40:])
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"a worker process died" in said
    assert b"Traceback" not in said
    options = ["-", "--from", "tokens", "--to", "discbracket"]
    done = cli(*options, "-o", "out.txt", "--resume", stdin="\n".join(MANY))
    assert done.code == 0
    assert (tmp_path / "out.txt").read_bytes() == cli(*options, stdin="\n".join(MANY)).out


@pytest.mark.slow
def test_ctrl_c_ends_all_processes_at_once(start: Callable[..., "subprocess.Popen[bytes]"], tmp_path: Path) -> None:
    process = start("--from", "tokens", "-o", "out.txt", "--to", "discbracket", "--workers", "2")
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in LINES * 500).encode())
    wait_for(tmp_path / "out.txt.progress", 64)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert process.returncode == 130
    assert b"Traceback" not in said
    assert b"--resume to continue" in said


def test_a_file_that_cannot_be_renamed_is_reported_and_kept(cli: Cli, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", in_the_way)
        done = cli("-", "--from", "tokens", "-o", "out.dbr", stdin="\n".join(LINES))
    assert done.code == 1
    assert "run the same command with --resume to continue" in done.err
    assert cli("-", "--from", "tokens", "-o", "out.dbr", "--resume", stdin="\n".join(LINES)).code == 0
    assert len((tmp_path / "out.dbr").read_text().splitlines()) == len(LINES)


def test_an_encoding_is_that_of_files_not_of_the_command_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes("café .".encode("latin-1"))
    for source in ("café .", "in.txt"):
        done = cli(source, "--from", "tokens", "--encoding", "latin-1", "--to", "json")
        assert [token["form"] for token in done.records[0]["tokens"]] == ["café", "."]


@pytest.mark.slow
def test_a_reader_who_leaves_is_no_error(start: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    process = start("--from", "tokens", "--to", "discbracket")
    assert process.stdout is not None
    feed(process, LINES[:1])
    process.stdout.readline()
    process.stdout.close()
    feed(process, LINES[1:3])
    assert process.stderr is not None
    assert process.stderr.read() == b""


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_nothing_is_packed_as_nothing(cli: Cli, tmp_path: Path, suffix: str) -> None:
    assert cli("-", "--from", "tokens", "-o", f"out.dbr{suffix}", stdin="").code == 0
    unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress}[suffix]
    assert unpack((tmp_path / f"out.dbr{suffix}").read_bytes()) == b""


@pytest.mark.slow
def test_a_conversation_through_pipes(start: Callable[..., "subprocess.Popen[bytes]"]) -> None:
    """Every answer comes before the next question; then Ctrl-C."""
    process = start("--from", "lines", "--to", "json")
    assert process.stdout is not None
    for number, line in enumerate(LINES[:7], 1):
        feed(process, [line])
        assert json.loads(process.stdout.readline())["id"] == str(number)
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert said == b"discotree: interrupted; 7 sentences written\n"
