"""Sentences per second from a file of text or tokens to a file of trees, beside the network alone and a matrix product.

    python benchmarks/parse.py TREEBANK [--model nl de] [--device cuda] [--workers 1 4 16] [--sentences 1000]

The sentences of the treebank are repeated until there are enough. Every figure of `discotree parse` comes from two real
runs, one of all sentences and one of a quarter of them: the difference leaves out what it takes to start, which is
said by itself, as the time until the tree of one sentence is there.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import torch
from network import flops_per_word, matrix_rate, seconds

import discotree as dt
from discotree.network.batch import Corpus, by_length
from discotree.parsing.parser import Parser
from discotree.treebanks.discbracket import DiscbracketWriter


def command(model: str, source: Path, kind: str, device: str, workers: int, target: Path) -> float:
    """Return the seconds of one run of `discotree parse`."""
    options = ["--model", model, "--from", kind, "--to", "discbracket", "--workers", str(workers)]
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "discotree", "parse", str(source), *options, "--device", device, "-o", str(target)],
        stderr=subprocess.PIPE,
        text=True,
    )
    if run.returncode:
        sys.exit(f"discotree parse failed: {run.stderr}")
    return time.perf_counter() - start


def network_alone(parser: Parser, sentences: Sequence[Sequence[dt.Token]], rate: float) -> None:
    """Print the rate of the network by batch size, and as a share of the matrix product's."""
    corpus = Corpus(sentences, parser.forms())
    mean = int(corpus.lengths.mean())
    parser.network.eval()
    for words in (1000, 4000, 16_000):
        every = list(by_length(corpus.lengths, words))
        batches = every[:: max(1, len(every) * words // 20_000)]  # of all lengths
        count, length = sum(map(len, batches)), int(sum(corpus.lengths[batch].sum() for batch in batches))

        def run(batches: list[object] = batches) -> None:
            with torch.inference_mode():
                for batch in batches:
                    parser.network(corpus.batch(batch).to(parser.device))  # type: ignore[arg-type]

        took = seconds(run, parser.device)
        share = flops_per_word(parser, mean, labels=False) * length / took / rate
        print(f"{f'  network, {words:,} words a batch':44}{count / took:>12,.0f}/s{share:>10.0%} of the product")


def in_one_process(parser: Parser, sentences: Sequence[Sequence[dt.Token]]) -> None:
    """Print the rate from tokens to brackets in memory, by batch size."""
    usual = parser.batch_words
    for words in (1000, 4000, 16_000):
        parser.batch_words = words
        start = time.perf_counter()
        sum(len(line) for line in DiscbracketWriter().file(parser.parse(sentences)))
        took = time.perf_counter() - start
        print(f"{f'  tokens to trees, {words:,} words a batch':44}{len(sentences) / took:>12,.0f}/s")
    parser.batch_words = usual


def end_to_end(
    model: str, lines: Sequence[str], device: str, workers: Sequence[int], kinds: Sequence[str], folder: Path
) -> None:
    one, part, whole = folder / "one.txt", folder / "part.txt", folder / "whole.txt"
    one.write_text(lines[0] + "\n", "utf-8")
    print(f"{'  until the first tree is there':44}{command(model, one, 'tokens', device, 1, folder / 'out'):>12.1f} s")
    for count in workers:
        total, quarter = count * len(lines), count * len(lines) // 4
        part.write_text("\n".join((list(lines) * count)[:quarter]) + "\n", "utf-8")
        whole.write_text("\n".join(list(lines) * count) + "\n", "utf-8")
        for kind in kinds:
            short = command(model, part, kind, device, count, folder / "out")
            long = command(model, whole, kind, device, count, folder / "out")
            assert (folder / "out").read_bytes().count(b"\n") == total
            rate = (total - quarter) / (long - short)
            processes = "1 process" if count == 1 else f"{count} processes"
            print(
                f"{f'  {kind} to a file of trees, {processes}':44}{rate:>12,.0f}/s   {long:.1f} s for all", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebank")
    parser.add_argument("--model", nargs="+", default=["nl"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sentences", type=int, default=1000, help="sentences for each process")
    parser.add_argument("--input", nargs="+", default=["tokens", "lines"], help="tokens, or lines of text")
    parser.add_argument("--skip", type=int, default=0, help="sentences to skip at the beginning of the treebank")
    arguments = parser.parse_args()
    trees = list(islice(dt.read(arguments.treebank), arguments.skip, arguments.skip + arguments.sentences))
    sentences = [[dt.Token(word) for word in tree.words] for tree in trees]
    lines = [" ".join(tree.words) for tree in trees]
    lines = (lines * (arguments.sentences // len(lines) + 1))[: arguments.sentences]
    rate = matrix_rate(torch.device(arguments.device), torch.float32)
    print(f"{arguments.device}, {os.cpu_count()} cores; matrix product {rate / 1e9:,.0f} GFLOP/s (float32)", flush=True)
    for name in arguments.model:
        model = dt.load(name, arguments.device)
        weights = sum(weight.numel() for weight in model.network.parameters())
        mean = sum(map(len, sentences)) / len(sentences)
        print(f"\n{name}: {weights / 1e6:.1f} M weights, sentences of {mean:.1f} words")
        network_alone(model, sentences, rate)
        in_one_process(model, sentences)
        with tempfile.TemporaryDirectory() as folder:
            end_to_end(name, lines, arguments.device, arguments.workers, arguments.input, Path(folder))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"\npeak resident memory of a process that parses: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
