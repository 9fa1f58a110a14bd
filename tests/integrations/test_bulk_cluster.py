"""discotree bulk on real Ray clusters: whatever dies, every row comes out exactly once, and the same as without Ray."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from pyarrow import parquet
from support.models import saved_model
from support.networks import TREES

from discotree.integrations.ray import BulkJob, ShardWorker, plan_shards
from discotree.models.finding import find, fingerprint

pytestmark = pytest.mark.cluster

PATIENCE = 120.0  # seconds
ROWS = 8_000
SHARD = 100  # rows, as the command counts them: lines are shorter than it thinks
SENTENCES = [" ".join(tree.words) for tree in TREES]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, a corpus, and the output of a plain loop."""
    folder = tmp_path_factory.mktemp("bulk")
    saved_model(folder / "model")
    (folder / "corpus.txt").write_text("\n".join((SENTENCES * (ROWS // len(SENTENCES)))[:ROWS]) + "\n")
    name = str(folder / "model")
    job = BulkJob(name, fingerprint(find(name)), "tokens", "tokens", "id", str(folder / "plain"))
    worker = ShardWorker(job, "cpu", 1)
    with job.start({}):
        _, shards = plan_shards([str(folder / "corpus.txt")], SHARD, "tokens")
        assert not any(worker(shard._asdict())["problem"] for shard in shards)
    return folder


class Job(NamedTuple):
    """The running command, and the file that gets its standard error."""

    process: "subprocess.Popen[bytes]"
    said: Path

    def wait(self, what: Callable[[], object]) -> None:
        """Wait until a condition holds."""
        begin = time.monotonic()
        while not what():
            assert self.process.poll() is None, self.said.read_text()
            assert time.monotonic() - begin < PATIENCE
            time.sleep(0.05)

    def end(self, code: int) -> str:
        """Wait for the end, check the exit code, and return the messages."""
        assert self.process.wait(PATIENCE) == code, self.said.read_text()
        return self.said.read_text()

    @property
    def workers(self) -> set[int]:
        """The processes that parse."""
        return {pid for pid in descendants(self.process.pid) if command_of(pid).startswith("ray::MapWorker")}


Start = Callable[..., Job]


@pytest.fixture
def start(home: Path, tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the command; kill it and its cluster at the end."""
    jobs: list[Job] = []
    left: set[int] = set()

    def run(*arguments: str) -> Job:
        command = [
            sys.executable,
            "-m",
            "discotree",
            "bulk",
            str(home / "corpus.txt"),
            "--output",
            str(tmp_path / "out"),
        ]
        command += ["--model", str(home / "model"), "--from", "tokens", "--shard-rows", str(SHARD), *arguments]
        said = tmp_path / f"said-{len(jobs)}"
        with said.open("wb") as stream:
            process = subprocess.Popen(command, stderr=stream)
        jobs.append(Job(process, said))
        return jobs[-1]

    yield run
    for job in jobs:
        left |= descendants(job.process.pid)
        job.process.kill()
        job.process.wait()
    for pid in left:
        kill(pid)


def descendants(pid: int) -> set[int]:
    """Return all descendants of a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue  # it has just ended
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""  # it has just ended


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def shards(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("part-*.parquet")}


def assert_complete(folder: Path, plain: Path) -> None:
    """Every row exactly once, in its order, the same as without a cluster; and nothing else."""
    ids = [row for name in sorted(shards(folder)) for row in parquet.read_table(folder / name)["id"].to_pylist()]
    length = [len(sentence.encode()) + 1 for sentence in SENTENCES]
    places = [sum(length) * (row // len(length)) + sum(length[: row % len(length)]) for row in range(ROWS)]
    assert ids == [f"corpus.txt:{place}" for place in places]
    assert shards(folder) == shards(plain)
    assert {path.name for path in folder.iterdir()} == {*shards(plain), "_SUCCESS", "_job.json"}


def listening(pids: set[int]) -> set[str]:
    """Return the addresses, as the kernel writes them, on which processes listen for TCP connections."""
    sockets = set()
    for pid in pids:
        with suppress(OSError):
            sockets |= {os.readlink(path)[8:-1] for path in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [line.split() for kind in ("tcp", "tcp6") for line in Path(f"/proc/net/{kind}").read_text().splitlines()]
    return {line[1].rpartition(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets}


def environment(pid: int) -> dict[str, str]:
    """Return the variables that a process was started with."""
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_a_cluster_is_out_of_reach_of_other_machines_and_of_those_without_its_token(
    start: Start, tmp_path: Path
) -> None:
    job = start("--workers", "1")
    job.wait(lambda: shards(tmp_path / "out"))
    (worker,) = job.workers
    os.kill(worker, signal.SIGSTOP)  # the job lasts as long as we need it
    pids = {job.process.pid, *descendants(job.process.pid)}
    assert listening(pids) <= {"0100007F", "0000000000000000FFFF00000100007F"}
    assert listening(pids)
    commands = [command_of(pid) for pid in descendants(job.process.pid)]
    address = next(found[1] for command in commands if (found := re.search(r"--gcs-address=([\d.]+:\d+)", command)))
    theirs = {name: value for name, value in environment(worker).items() if name.startswith("RAY_AUTH")}
    assert theirs["RAY_AUTH_MODE"] == "token"

    def ask(**variables: str) -> "subprocess.CompletedProcess[str]":
        """Ask the cluster for its machines, as every Ray client does first."""
        code = (
            f"from ray._raylet import GcsClient; print('nodes', GcsClient({address!r}).get_all_node_info(timeout=20))"
        )
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
        env |= {"HOME": str(tmp_path), **variables}  # Ray keeps a token of the user there
        return subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=False
        )

    assert "nodes" in ask(**theirs).stdout
    for variables in ({}, theirs | {"RAY_AUTH_TOKEN": "0" * 64}):
        refused = ask(**variables)
        assert refused.returncode, refused.stdout
        assert "AuthenticationError" in refused.stderr


def test_a_killed_worker_costs_no_row(start: Start, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = start("--workers", "2")
    job.wait(lambda: len(shards(out)) >= 3)
    both = job.workers
    assert len(both) == 2
    kill(min(both))
    assert len(shards(out)) < 21
    assert "21 of 21 shards" in job.end(0)
    assert_complete(out, home / "plain")


def test_a_killed_job_goes_on_where_it_was(start: Start, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = start("--workers", "2")
    job.wait(lambda: len(shards(out)) >= 3)
    workers, cluster = job.workers, descendants(job.process.pid)
    kill(job.process.pid)
    begin = time.monotonic()
    while any(command_of(pid) for pid in workers):  # they end with it
        assert time.monotonic() - begin < PATIENCE
        time.sleep(0.05)
    for pid in cluster:
        kill(pid)  # Ray's agents take a minute to see that they are alone
    done = {path: path.stat().st_mtime_ns for path in out.glob("part-*.parquet")}
    assert 3 <= len(done) < 21
    start("--workers", "0").end(0)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert_complete(out, home / "plain")


def test_a_shard_that_kills_every_worker_costs_only_itself(start: Start, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    name = "part-0000002.parquet"
    job = start("--workers", "1")
    dead: set[int] = set()
    for _ in range(3):
        job.wait(lambda: list(out.glob(f"_temporary/{name}.*")) and job.workers - dead)
        (worker,) = job.workers - dead
        kill(worker)
        dead.add(worker)
        for path in out.glob(f"_temporary/{name}.*"):
            path.unlink()
    said = job.end(1)
    assert f"1 missing shard ({name})" in said
    assert "20 of 21 shards" in said
    assert shards(out) == {other: raw for other, raw in shards(home / "plain").items() if other != name}


def test_a_lost_machine_costs_no_row(start: Start, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a head node and two working machines, one machine disappears for good."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    out = tmp_path / "out"
    store = {"object_store_memory": 2**27}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **store})
    try:
        machines = [cluster.add_node(num_cpus=1, **store) for _ in range(2)]
        job = start("--address", cluster.address)
        job.wait(lambda: len(shards(out)) >= 3)
        cluster.remove_node(machines[1], allow_graceful=False)
        job.end(0)
    finally:
        cluster.shutdown()
    assert_complete(out, home / "plain")
