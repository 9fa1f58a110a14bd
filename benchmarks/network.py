"""Sentences per second of the network: training, scoring, decoding; by batch size and by sentence length.

    python benchmarks/network.py [--device cuda] [--preset paper] [--quick]
    python benchmarks/network.py --model DIR --treebank FILE

Without a model, an untrained network parses random sentences: its scores are noise, so every sentence has to be
searched, which is the worst case. FLOPs are those of the LSTMs and the matrix products around them, compared with
a plain matrix product in the same run; "Python" is the share of time in which the interpreter, not a kernel, is busy.
"""

import argparse
import random
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

import discotree as dt
from discotree import config
from discotree.decoding.decode import decode
from discotree.encoding.dependencies import Dependencies
from discotree.models.folder import Model
from discotree.network.batch import Corpus, by_length
from discotree.network.pytorch.tensors import TensorBatch
from discotree.network.vocab import Vocab
from discotree.parsing.parser import Parser, new_engine
from discotree.training.distributed import ProcessGroup
from discotree.training.fit import Trainer, one_ahead
from discotree.training.run import network_in

LABELS = [f"{label}#{level}" for label in ("S", "NP", "VP", "PP", "AP", "CNP", "CS") for level in range(1, 11)]


def invented(rng: random.Random, n: int) -> Dependencies:
    """Return a sentence of n words with a random tree over it."""
    words = tuple(dt.Token(f"w{rng.randrange(20_000)}", "NN") for _ in range(n))
    heads = [-1] + [rng.randrange(k) for k in range(1, n)]
    labels = ["ROOT"] + [rng.choice(LABELS) for _ in range(1, n)]
    return Dependencies(words, tuple(heads), tuple(labels))


def seconds(run: Callable[[], object], device: torch.device, least: float = 0.5) -> float:
    """Return the seconds of the fastest run; make at least three, for at least ``least`` seconds."""
    best, spent, runs = float("inf"), 0.0, 0
    run()
    while spent < least or runs < 3:
        synchronize(device)
        start = time.perf_counter()
        run()
        synchronize(device)
        took = time.perf_counter() - start
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def matrix_rate(device: torch.device, dtype: torch.dtype) -> float:
    size = 8192 if device.type == "cuda" else 2048
    a = torch.randn(size, size, device=device, dtype=dtype)
    return 2 * size**3 / seconds(lambda: a @ a, device, least=2.0)  # long enough for one undisturbed run


def flops_per_word(parser: Parser, n: int, labels: bool = True) -> float:
    """Return the operations per word of scoring n words: LSTMs, the layers around them, arcs, labels of all arcs."""
    network, s = network_in(parser), parser.config.network
    sizes = [weight.numel() for name, weight in network.named_parameters() if "weight" in name and "table" not in name]
    words = network.encoder.words.weight.numel() if network.encoder.words is not None else 0
    layers = sum(sizes) - words - (network.encoder.tags.weight.numel() if network.encoder.tags is not None else 0)
    arcs = (s.arc_size + 1) * (s.arc_size + 1 + n + 1)
    named = len(parser.vocab.labels) * (s.label_size + 1) * (s.label_size + 1 + n + 1) if labels else 0
    return 2.0 * (layers + arcs + named)


def fresh(preset: str, device: torch.device, trees: Sequence[Dependencies]) -> Parser:
    settings = config.recipes.PRESETS[preset]
    vocab = Vocab.build(trees, list(settings.network.auxiliary_heads))
    torch.manual_seed(1)
    model = Model.new(settings, vocab)
    return Parser(model, new_engine(model, "torch", str(device)))


def python_share(run: Callable[[], object], device: torch.device) -> float:
    """Return the share of time before all work is handed to the device, or outside of operators on a CPU."""
    if device.type == "cuda":
        synchronize(device)
        start = time.perf_counter()
        run()
        handed_over = time.perf_counter() - start
        synchronize(device)
        return handed_over / (time.perf_counter() - start)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        start = time.perf_counter()
        run()
        took = time.perf_counter() - start
    operators = sum(event.self_cpu_time_total for event in profile.key_averages()) / 1e6
    return max(0.0, 1 - operators / took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--preset", default="paper", choices=list(config.recipes.PRESETS))
    parser.add_argument("--model")
    parser.add_argument("--treebank")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller batches")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    rng = random.Random(0)
    trees = [invented(rng, max(1, int(rng.gauss(20, 8)))) for _ in range(500 if arguments.quick else 4000)]
    if arguments.model:
        model = Parser.from_pretrained(arguments.model, arguments.device, engine="torch")
        sentences = [tree.tokens for tree in dt.read(arguments.treebank)]
    else:
        model = fresh(arguments.preset, device, trees)
        sentences = [tree.tokens for tree in trees]
    rate = matrix_rate(device, torch.float32)
    print(f"{device}, {torch.get_num_threads()} threads; network of {model.model.size / 1e6:.1f} M weights;", end=" ")
    print(f"matrix product {rate / 1e9:,.0f} GFLOP/s (float32)")

    print(f"\n{'scoring and decoding':26}{'score':>12}{'+ decode':>12}{'of product':>12}{'Python':>10}")
    for words in (250, 1000, 4000) if device.type == "cpu" else (1000, 4000, 16000, 64000):
        scoring(model, sentences, words, rate)
    if not arguments.model:
        print(f"\n{'length':26}{'ms/sentence':>12}{'µs/word':>12}")
        by_sentence_length(model, rng, 160 if arguments.quick else 640)
        print(f"\n{'training':26}{'sentences/s':>12}{'of product':>12}")
        for words in (640, 1280) if device.type == "cpu" else (640, 1280, 5000, 20_000):
            training(model, trees, words, rate, device)
    if device.type == "cuda":
        print(f"\npeak memory on the device: {torch.cuda.max_memory_allocated(device) / 2**30:.2f} GiB")
    print(f"\npeak resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def scoring(model: Parser, sentences: Sequence[Sequence[dt.Token]], words: int, rate: float) -> None:
    corpus = Corpus(sentences, model._forms())
    batches = list(by_length(corpus.lengths, words))
    middle = batches[len(batches) // 2 : len(batches) // 2 + max(1, 4000 // words)]
    count, length = sum(map(len, middle)), int(corpus.lengths[np.concatenate(middle)].sum())

    network, device = network_in(model).eval(), torch.device(model.device)

    def score() -> list[object]:
        with torch.inference_mode():
            return [network(TensorBatch.of(corpus.batch(batch), device)) for batch in middle]

    def parse() -> list[object]:
        return [decode(model.engine.start(corpus.batch(batch))()) for batch in middle]

    alone = seconds(score, device)
    both = seconds(parse, device)
    achieved = flops_per_word(model, length // count) * length / both / rate
    share = python_share(parse, device)
    name = f"  {words:,} words a batch"
    print(f"{name:26}{count / alone:>10,.0f}/s{count / both:>10,.0f}/s{achieved:>12.0%}{share:>10.0%}")


def by_sentence_length(model: Parser, rng: random.Random, longest: int) -> None:
    length = 10
    while length <= longest:
        corpus = Corpus([invented(rng, length).tokens for _ in range(max(1, 2000 // length))], model._forms())
        batches = list(by_length(corpus.lengths, 4000))

        def run(corpus: Corpus = corpus, batches: list[np.ndarray] = batches) -> None:
            for batch in batches:
                decode(model.engine.start(corpus.batch(batch))())

        took = seconds(run, torch.device(model.device)) / len(corpus)
        print(f"{f'  {length:,} words':26}{1e3 * took:>12.2f}{1e6 * took / length:>12.0f}")
        length *= 2


def training(model: Parser, trees: Sequence[Dependencies], words: int, rate: float, device: torch.device) -> None:
    corpus = Corpus([tree.tokens for tree in trees], model._forms())
    corpus.learn(trees)
    batches = list(by_length(corpus.lengths, words))
    middle = batches[len(batches) // 2 : len(batches) // 2 + (2 if device.type == "cpu" else 20)]
    network = network_in(model)
    trainer = Trainer(network, model.config.training, ProcessGroup(device=device))
    network.train()
    took = seconds(
        lambda: [trainer.step(share) for share in one_ahead(lambda batch: trainer.share(corpus, batch), middle)], device
    )
    count, length = sum(map(len, middle)), int(corpus.lengths[np.concatenate(middle)].sum())
    achieved = 3 * flops_per_word(model, 0) * length / took / rate  # backward costs twice as much as forward
    print(f"{f'  {words:,} words a batch':26}{count / took:>12,.0f}{achieved:>12.0%}")


if __name__ == "__main__":
    main()
