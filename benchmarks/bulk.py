"""Compare `discotree bulk` with and without Ray: sentences per second, the cost of Ray, and the size of the output.

    python benchmarks/bulk.py TREEBANK [--model nl] [--sentences 100000] [--longest 8] [--workers 1 2] [--rounds 1]

The short sentences of the treebank are repeated until there are enough, in one Parquet file. The command runs with one
thread per worker: first several plain loops (`--workers 0`) side by side, each over the whole file, then as many Ray
workers. "All" is the time from the command to its end, "once at work" the time between the first shards and the last.
The size of the output and the speed of one core come from sentences of all lengths, without repeats, which would
compress too well.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import discotree as dt

WAYS = ("plain loops", "Ray")


def run(corpus: Path, outs: Sequence[Path], model: str, rows: int, *options: str) -> float:
    """Run the command several times side by side, each into its own folder; return the seconds."""
    start = time.perf_counter()
    processes = []
    for out in outs:
        command = [sys.executable, "-m", "discotree", "bulk", str(corpus), "--output", str(out), "--model", model]
        command += ["--from", "tokens", "--shard-rows", str(rows), "--gpus", "0", *options]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        processes.append(subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment))
    codes = [process.wait() for process in processes]
    assert not any(codes)
    return time.perf_counter() - start


def at_work(outs: Sequence[Path], workers: int) -> float:
    """Return sentences per second once all are at work: from the first shard of each to the last one."""
    shards = sorted((path for out in outs for path in out.glob("part-*")), key=lambda path: path.stat().st_mtime)
    first, rest = shards[:workers], shards[workers:]
    seconds = rest[-1].stat().st_mtime - first[-1].stat().st_mtime
    return sum(parquet.read_metadata(path).num_rows for path in rest) / seconds


def write(path: Path, sentences: Sequence[Sequence[str]]) -> Path:
    parquet.write_table(pa.table({"tokens": pa.array(sentences, pa.list_(pa.string()))}), path, row_group_size=10_000)
    return path


def storage(sentences: Sequence[Sequence[str]], model: str, folder: Path) -> None:
    """Print the size of the output, and the speed of one core, on sentences of all lengths."""
    words = sum(map(len, sentences))
    corpus = write(folder / "whole.parquet", sentences)
    mean = words / len(sentences)
    print(f"\n{len(sentences):,} sentences of {mean:.1f} words, none repeated; input {corpus.stat().st_size:,} bytes")
    for form in ("parquet", "json"):
        out = folder / f"whole-{form}"
        run(corpus, [out], model, len(sentences) // 10, "--to", form, "--workers", "0")
        size = sum(path.stat().st_size for path in out.glob("part-*"))
        print(f"  {form:8}{size / len(sentences):>10,.0f} bytes a sentence{size / words:>8,.1f} a word")
        if form == "parquet":
            rate = at_work([out], 1)
            print(f"  one core{rate:>10,.0f} sentences/s{rate * mean:>13,.0f} words/s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank")
    parser.add_argument("--model", default="nl")
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--longest", type=int, default=8, help="most words of a repeated sentence")
    parser.add_argument("--shard-rows", type=int, default=2_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--whole", type=int, default=3_000, help="sentences of all lengths; 0: none")
    arguments = parser.parse_args()
    every = [tree.words for tree in dt.read(arguments.treebank)]
    short = [words for words in every if len(words) <= arguments.longest]
    count = arguments.sentences
    sentences = (short * (count // len(short) + 1))[:count]
    print(f"{arguments.model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{count:,} sentences of {sum(map(len, sentences)) / count:.1f} words, {len(short):,} of them different")
    print(f"{'':16}{'seconds':>10}{'all':>12}{'once at work':>20}", flush=True)
    rates: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = write(folder / "corpus.parquet", sentences)
        plain: dict[str, bytes] = {}
        for number in range(arguments.rounds):
            for workers in arguments.workers:
                for way in WAYS:
                    outs = [folder / f"{number}-{workers}-{way}-{k}" for k in range(1 if way == "Ray" else workers)]
                    option = str(workers if way == "Ray" else 0)
                    seconds = run(corpus, outs, arguments.model, arguments.shard_rows, "--workers", option)
                    for out in outs:
                        shards = {path.name: path.read_bytes() for path in out.glob("part-*")}
                        plain = plain or shards
                        assert shards == plain, "the shards differ"
                        assert sum(parquet.read_metadata(out / shard).num_rows for shard in shards) == count
                    rate = len(outs) * count / seconds
                    steady = at_work(outs, workers)
                    rates.setdefault(f"{way} {workers}", []).append((rate, steady))
                    print(f"{way:12}{workers:>4}{seconds:>10.1f}{rate:>10,.0f}/s{steady:>18,.0f}/s", flush=True)
        for workers in arguments.workers:
            ray, loops = (
                [statistics.mean(kind) for kind in zip(*rates[f"{way} {workers}"], strict=True)]
                for way in reversed(WAYS)
            )
            print(f"Ray : plain, {workers}   all {ray[0] / loops[0]:.2f}, once at work {ray[1] / loops[1]:.2f}")
        print("every row once, the shards the same, byte for byte")
        if arguments.whole:
            storage(every[: arguments.whole], arguments.model, folder)


if __name__ == "__main__":
    main()
