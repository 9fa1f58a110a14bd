"""Sentences per second from tokens to trees: all engines side by side, or several models in turn.

    python benchmarks/parse.py TREEBANK [--model nl] [--engine torch onnx] [--device cuda] [--workers 1 2 0]
    DISCOTREE_DATA=FOLDER python benchmarks/parse.py --model nl de en [--rounds 5]

Three ways of parsing the same sentences of a treebank:

    one by one   parser(tokens) for one sentence after the other, in one process
    together     parser.parse(sentences), in one process
    a file       `discotree parse`, tokens in, trees out; two runs, one of all sentences and one of a quarter of them:
                 the difference leaves out the time to start

The first two are repeated --rounds times, all engines in each round, and the best round of each counts. "outside the
network" is the processor time of a sentence when the scores of all batches are already there. Then, from real
runs of the command: seconds until the first tree is there, and the peak memory of the process.

Without a treebank, each model parses dev sentences of its own recipe together, with the engine for the device, and the
models take turns; --engine, --single and --workers have no effect. These are the speeds on the cards.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import cast

import discotree as dt
from discotree.network.batch import Batch
from discotree.network.scores import Engine, Scores
from discotree.parsing.parser import Parser
from discotree.training.data import load_held_out, resolve
from discotree.treebanks.discbracket import DiscbracketWriter

Sentences = Sequence[Sequence[dt.Token]]


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_by_one(parser: Parser, sentences: Sentences) -> float:
    """Return sentences per second."""
    return len(sentences) / seconds(lambda: [parser(tokens) for tokens in sentences])


def together(parser: Parser, sentences: Sentences) -> float:
    return len(sentences) / seconds(lambda: sum(map(len, DiscbracketWriter().file(parser.parse(sentences)))))


class Playback:
    """An engine that returns the scores of earlier batches at once."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.scores = engine, dict[bytes, Scores]()

    def __getattr__(self, name: str) -> object:
        return getattr(self.engine, name)

    def start(self, batch: Batch) -> Callable[[], Scores]:
        key = batch.words.tobytes() + batch.pieces.tobytes()
        if key not in self.scores:
            self.scores[key] = self.engine.start(batch)()
        return lambda: self.scores[key]


def outside_network(parser: Parser, sentences: Sentences, rounds: int) -> float:
    """Return the milliseconds of processor time per sentence from tokens to brackets, with labels of single arcs."""
    parser = Parser(parser.model, cast(Engine, Playback(parser.engine)))
    times = []
    for _ in range(rounds + 1):
        start = time.process_time()
        sum(map(len, DiscbracketWriter().file(parser.parse(sentences))))
        times.append(time.process_time() - start)
    return 1e3 * min(times[1:]) / len(sentences)


def command(arguments: Sequence[str], source: Path, target: Path) -> float:
    """Return the seconds of one run of `discotree parse`."""
    run = [sys.executable, "-m", "discotree", "parse", str(source), *arguments, "-o", str(target)]
    return seconds(lambda: subprocess.run(run, check=True, stderr=subprocess.DEVNULL))


def of_a_file(arguments: Sequence[str], lines: Sequence[str], folder: Path) -> float:
    part, whole, target = folder / "part.txt", folder / "whole.txt", folder / "out.discbracket"
    part.write_text("\n".join(lines[: len(lines) // 4]) + "\n", "utf-8")
    whole.write_text("\n".join(lines) + "\n", "utf-8")
    short, long = command(arguments, part, target), command(arguments, whole, target)
    assert target.read_bytes().count(b"\n") == len(lines)
    return (len(lines) - len(lines) // 4) / (long - short)


def first_tree(arguments: Sequence[str], line: str, folder: Path) -> tuple[float, float]:
    """Return the seconds until the tree of one sentence is there, and the peak memory of the process in MiB."""
    one, target = folder / "one.txt", folder / "out.discbracket"
    one.write_text(line + "\n", "utf-8")
    measure = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    run = [sys.executable, "-m", "discotree", "parse", str(one), *arguments, "-o", str(target)]
    done = subprocess.run([sys.executable, "-c", measure, *run], check=True, capture_output=True, text=True)
    return min(command(arguments, one, target) for _ in range(3)), int(done.stdout.split()[-1]) / 1024


def show(what: str, values: dict[str, float], unit: str) -> None:
    reference = next(iter(values.values()))
    cells = [
        f"{value:>10,.{3 if unit == 'ms' else 1}f} {unit} {value / reference:>5.2f} ×" for value in values.values()
    ]
    print(f"  {what:26}" + "".join(f"{cell:>24}" for cell in cells), flush=True)


def compare(name: str, options: argparse.Namespace, sentences: Sentences) -> None:
    """Print the figures of one model with every engine; ratios are to the first engine."""
    parsers = {engine: dt.load(name, options.device, engine=engine) for engine in options.engine}
    print(f"\n{name}: {next(iter(parsers.values())).model.size / 1e6:.1f} M weights")
    print(f"  {'':26}" + "".join(f"{engine:>24}" for engine in parsers))
    few = sentences[: options.single]
    for what, measure, chosen in (("one by one", one_by_one, few), ("together", together, sentences)):
        for parser in parsers.values():
            measure(parser, chosen[:20])  # warm up
        rounds = [{engine: measure(p, chosen) for engine, p in parsers.items()} for _ in range(options.rounds)]
        show(what, {engine: max(found[engine] for found in rounds) for engine in parsers}, "/s")
    outside = {engine: outside_network(parser, sentences, options.rounds) for engine, parser in parsers.items()}
    show("outside the network", outside, "ms")
    parsers.clear()
    lines = [" ".join(token.form for token in tokens) for tokens in sentences]
    usual = ["--model", name, "--from", "tokens", "--to", "discbracket", "--device", options.device]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        starts = {engine: first_tree([*usual, "--engine", engine], lines[0], folder) for engine in options.engine}
        show("until the first tree", {engine: found for engine, (found, _) in starts.items()}, "s ")
        show("memory", {engine: found for engine, (_, found) in starts.items()}, "MiB")
        for workers in options.workers:
            own = ["--workers", str(workers)] if workers else []
            rates = {e: of_a_file([*usual, *own, "--engine", e], lines, folder) for e in options.engine}
            show(f"a file, {workers or 'default'} workers", rates, "/s")


def compare_models(options: argparse.Namespace) -> None:
    """Print the median and the fastest round of each model on its dev sentences, and the ratio to the first model."""
    work: dict[str, tuple[Parser, Sentences]] = {}
    for name in options.model:
        parser = dt.load(name, options.device)
        inputs = load_held_out(resolve(parser.config.data), "dev").inputs
        work[name] = parser, inputs[options.skip : options.skip + options.sentences]
        together(parser, inputs[:100])  # warm up
    rounds = [{name: together(*both) for name, both in work.items()} for _ in range(options.rounds)]
    print(f"{options.device}, {os.cpu_count()} cores; ratios are to {options.model[0]}\n")
    print("| model | sentences | words each | sentences/s, median | fastest | ratio |\n|---|---|---|---|---|---|")
    for name, (_, sentences) in work.items():
        rates = [found[name] for found in rounds]
        ratio = statistics.median(found[name] / found[options.model[0]] for found in rounds)
        mean = sum(map(len, sentences)) / len(sentences)
        speeds = f"{statistics.median(rates):.0f} | {max(rates):.0f}"
        print(f"| `{name}` | {len(sentences):,} | {mean:.1f} | {speeds} | {ratio:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank", nargs="?")
    parser.add_argument("--model", nargs="+", default=["nl"], help="names or folders")
    parser.add_argument("--engine", nargs="+", default=["torch", "onnx-float32", "onnx"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="0: as the command chooses")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--single", type=int, default=100, help="sentences that are parsed one by one")
    parser.add_argument("--skip", type=int, default=0, help="sentences to skip at the beginning of the treebank")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    if not options.treebank:
        compare_models(options)
        return
    trees = list(islice(dt.read(options.treebank), options.skip, options.skip + options.sentences))
    found = [[dt.Token(word) for word in tree.words] for tree in trees]
    sentences = (found * (options.sentences // len(found) + 1))[: options.sentences]
    mean = sum(map(len, sentences)) / len(sentences)
    print(f"{options.device}, {os.cpu_count()} cores, {len(sentences):,} sentences of {mean:.1f} words")
    for name in options.model:
        compare(name, options, sentences)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"\npeak memory of all processes that parsed: {peak:,.0f} MiB")


if __name__ == "__main__":
    main()
