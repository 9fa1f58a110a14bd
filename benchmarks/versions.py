"""Measure two versions of discotree in turn on the same machine, and check that they give the same output.

    python benchmarks/versions.py OLD NEW TREEBANK [--model nl] [--device cuda] [--processes 4] [--json FILE]
    python benchmarks/versions.py OLD NEW TREEBANK --memory 100000

OLD and NEW are commits of this repository, or folders: a checkout, or its src. Every measurement is a process of its
own, and the versions take turns. The table has the fastest round, and the median factor of all rounds in wall time and
in processor time; above 1, NEW is faster. Exits with 1 if an output differs; confidences are
compared to nine digits. OLD must be able to read the model: name the folder of an earlier one with --model if not.

    in batches     parser.parse(sentences), from words to trees
    one by one     parser(words)
    a file         `discotree parse` from start to end, with --processes processes
    first tree     `discotree parse` with one sentence
    help           `discotree --help`
    evaluate       from two discbracket files: the gold trees, and trees that NEW has parsed
    read           an export file

With --memory, the memory of `discotree parse` and its processes is measured instead, while it parses a file of
this many sentences of at most 12 words: the mean of the first and of the last tenth of the time after the first tree.
"""

import argparse
import compileall
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parent.parent
Result = tuple[float, float, str]  # wall time, processor time, digest of the output
TASKS = ("in batches", "one by one", "a file", "first tree", "help", "evaluate", "read")
TASK = r"""
import hashlib, itertools, json, sys, time
from pathlib import Path
import discotree as dt

task, model, device, *numbers = sys.argv[1:]

def repeated(trees, count):
    trees = enumerate(itertools.islice(itertools.cycle(trees), count), 1)
    return [dt.Tree(tree.tokens, tree.root, str(number)) for number, tree in trees]

def write_words(path, trees):
    Path(path).write_text("".join(" ".join(tree.words) + "\n" for tree in trees), "utf-8")

if task == "prepare":
    treebank, count, pairs, short = numbers[0], *map(int, numbers[1:])
    trees = [tree for tree in dt.read(treebank) if not any(len(word.split()) > 1 for word in tree.words)]
    gold = repeated(trees, count)
    write_words("words.txt", gold)
    write_words("short.txt", repeated([tree for tree in trees if len(tree) <= 12], short))
    if not short:
        dt.write(repeated(gold, pairs), "gold.export")
        dt.write(repeated(gold, pairs), "gold.dbr")
        dt.write(repeated(dt.load(model, device).parse([tree.words for tree in gold]), pairs), "predicted.dbr")
    sys.exit()
if task in ("in batches", "one by one"):
    sentences = [line.split(" ") for line in Path("words.txt").read_text("utf-8").splitlines()][: int(numbers[0])]
    parser = dt.load(model, device)
    list(parser.parse(sentences[:64]))  # warm up
wall, processor = time.perf_counter(), time.process_time()
if task == "in batches":
    trees = list(parser.parse(sentences))
elif task == "one by one":
    trees = [parser(words) for words in sentences]
elif task == "evaluate":
    score = dt.evaluate(dt.read("gold.dbr"), dt.read("predicted.dbr"))
else:
    for tree in dt.read("gold.export"):
        pass
wall, processor = time.perf_counter() - wall, time.process_time() - processor
if task == "evaluate":
    output = [part.metrics() for part in (score, score.discontinuous, score.unlabelled)]
else:
    trees = itertools.islice(dt.read("gold.export"), 2000) if task == "read" else trees
    output = [(str(tree), tree.to_dict(), [round(c, 9) for c in tree.confidences or ()], tree.heads) for tree in trees]
print(json.dumps([wall, processor, hashlib.sha256(repr(output).encode()).hexdigest()[:16]]))
"""


@dataclass
class Row:
    """The measurements of one task: for each round, those of the two versions."""

    task: str
    sentences: int  # 0: the time itself is shown
    wall: list[tuple[float, float]] = field(default_factory=list)
    processor: list[tuple[float, float]] = field(default_factory=list)
    is_same: bool = True

    def markdown(self) -> str:
        old, new = (min(times) for times in zip(*self.wall, strict=True))
        shown = [f"{self.sentences / x:,.0f}/s" if self.sentences else f"{x:.2f} s" for x in (old, new)]
        factors = [statistics.median(a / b for a, b in times) for times in (self.wall, self.processor)]
        cells = [*shown, *(f"{factor:.2f}" for factor in factors), "same" if self.is_same else "DIFFERENT"]
        return f"| {self.task} | {' | '.join(cells)} |"


@dataclass
class Version:
    """A version of discotree, and how its processes are started."""

    source: Path  # its src folder
    model: str
    options: argparse.Namespace
    folder: Path  # for inputs and outputs

    def task(self, name: str, *numbers: object) -> Result:
        process = self.start("-c", TASK, name, self.model, self.options.device, *map(str, numbers))
        printed, _ = process.communicate()
        if process.returncode:
            sys.exit(f"{name}: failed in {self.source}")
        return cast(Result, tuple(json.loads(printed.splitlines()[-1] if printed else "[]")))

    def start(self, *arguments: str, quiet: bool = False) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(filter(None, [str(self.source), os.environ.get("PYTHONPATH")]))
        command, errors = [sys.executable, *arguments], subprocess.DEVNULL if quiet else None
        variables = os.environ | {"PYTHONPATH": path}
        return subprocess.Popen(command, cwd=self.folder, env=variables, stdout=subprocess.PIPE, stderr=errors)

    def parse(self, *arguments: str) -> list[str]:
        usual = ["--from", "tokens", "--to", "discbracket", "--model", self.model, "--device", self.options.device]
        return ["-m", "discotree", "parse", *arguments, *usual]

    def command(self, *arguments: str) -> Result:
        """Run a command; processor time is that of all its processes."""
        begin = time.perf_counter()
        process = self.start(*arguments, quiet=True)
        assert process.stdout is not None
        with process.stdout:
            printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{' '.join(arguments)}: exit code {process.returncode} in {self.source}")
        digest = hashlib.sha256(printed).hexdigest()[:16]
        return time.perf_counter() - begin, used.ru_utime + used.ru_stime, digest

    def memory(self) -> tuple[float, float]:
        """Return the mean memory in MiB in the first and in the last tenth of a long run."""
        process = self.start(*self.parse("short.txt", "--workers", str(self.options.processes)), quiet=True)
        assert process.stdout is not None
        process.stdout.read(1)  # the first tree is there
        samples = []
        reader = subprocess.Popen(["cat"], stdin=process.stdout, stdout=subprocess.DEVNULL)
        process.stdout.close()
        while process.poll() is None:
            samples.append(resident(process.pid))
            time.sleep(0.1)
        reader.wait()
        if process.returncode:
            sys.exit(f"exit code {process.returncode} in {self.source}")
        tenth = len(samples) // 10 or 1  # the last sample may be of a process that has ended
        return statistics.mean(samples[:tenth]), statistics.mean(samples[-tenth - 1 : -1])


def resident(pid: int) -> float:
    """Return the memory of a process and its children in MiB."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        children = "".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")).split()
    except (OSError, IndexError):  # it has just ended
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20 + sum(resident(int(child)) for child in children)


def source_of(name: str, folder: Path) -> Path:
    """Return the src folder of a version; a commit is unpacked into the folder."""
    path = Path(name).resolve()
    if path.is_dir():
        return path / "src" if (path / "src" / "discotree").is_dir() else path
    folder.mkdir()
    archive = subprocess.run(["git", "archive", name, "src"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder / "src"


def measure(versions: Sequence[Version], options: argparse.Namespace) -> list[Row]:
    """Measure every task with both versions in turn, and print a line for each."""
    sentence = Path(versions[0].folder, "words.txt").read_text("utf-8").split("\n")[0]
    count, single = options.sentences, min(options.single, options.sentences)
    tasks: dict[str, tuple[int, Callable[[Version], Result]]] = {
        "in batches": (count, lambda v: v.task("in batches", count)),
        "one by one": (single, lambda v: v.task("one by one", single)),
        "a file": (count, lambda v: v.command(*v.parse("words.txt", "--workers", str(options.processes)))),
        "first tree": (0, lambda v: v.command(*v.parse("--text", sentence))),
        "help": (0, lambda v: v.command("-m", "discotree", "--help")),
        "evaluate": (options.pairs, lambda v: v.task("evaluate")),
        "read": (options.pairs, lambda v: v.task("read")),
    }
    rows = [Row(name, tasks[name][0]) for name in options.only]
    for row in rows:
        for number in range(options.rounds):
            turn = 1 if number % 2 else -1  # each version is the first in every other round
            results = [tasks[row.task][1](version) for version in versions[::turn]][::turn]
            wall, processor, (old, new) = zip(*results, strict=True)
            row.wall.append(wall)
            row.processor.append(processor)
            row.is_same = row.is_same and old == new
        print(row.markdown(), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old", "new", "treebank"):
        parser.add_argument(name)
    parser.add_argument("--model", default="nl", help="a name or a folder")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--single", type=int, default=200, help="sentences that are parsed one by one")
    parser.add_argument("--pairs", type=int, default=20_000, help="trees that are read and scored")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--memory", type=int, default=0, metavar="SENTENCES")
    parser.add_argument("--json", type=Path, help="write all measurements to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = [source_of(name, folder / kind) for kind, name in (("old", options.old), ("new", options.new))]
        model = str(Path(options.model).resolve()) if Path(options.model).is_dir() else options.model
        for source in sources:
            compileall.compile_dir(source, quiet=2)  # as an installed package is
        versions = [Version(source, model, options, folder) for source in sources]
        versions[1].task("prepare", Path(options.treebank).resolve(), options.sentences, options.pairs, options.memory)
        if options.memory:
            for name, version in zip((options.old, options.new), versions, strict=True):
                first, last = version.memory()
                print(f"{name}: {first:.1f} MiB in the first tenth, {last:.1f} in the last, {last / first - 1:+.1%}")
            return
        print(f"| | {options.old} | {options.new} | factor | in processor time | output |\n|---|---|---|---|---|---|")
        rows = measure(versions, options)
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", "utf-8")
    sys.exit(0 if all(row.is_same for row in rows) else 1)


if __name__ == "__main__":
    main()
