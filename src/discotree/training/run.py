"""From a recipe to a model: read, build, train, evaluate, and write down all of it.

    python -m discotree.training.run alpino --out runs/alpino --seeds 5
    torchrun --nproc-per-node 2 -m discotree.training.run alpino --out runs/alpino

The folder then holds the model (``model/``) and results.json: settings, checksums of the data, versions,
the history of training and all scores.
"""

import argparse
import dataclasses
import hashlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from discotree import config
from discotree.errors import DiscotreeError, ModelError
from discotree.evaluation.parseval import evaluate
from discotree.evaluation.score import Score
from discotree.files import writable
from discotree.models import RESULTS
from discotree.models.folder import round_weights, write_model
from discotree.models.model import Model
from discotree.network.batch import HEAD, LABEL, Corpus, Forms
from discotree.network.model import small_heads
from discotree.network.vectors import Vectors, read_vectors, spellings
from discotree.network.vocab import Vocab
from discotree.parsing.parser import Parser
from discotree.training import data
from discotree.training.data import Part
from discotree.training.fit import Report, World, fit
from discotree.trees.tree import NONE, Token
from discotree.version import __version__

MODEL = "model"


def train(
    settings: config.Config, folder: str | Path, report: Report = lambda *_: None, compare: bool = False
) -> dict[str, Any]:
    """Train one model; gives what results.json then holds. ``compare``: score every way of decoding."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    device = chosen_device(settings.training)
    parts = data.load(settings.data)
    checksums = data.checksums(settings.data)
    settings, parser = build(settings, parts, device)
    forms = parser.forms()
    corpora = {name: corpus_of(part, forms) for name, part in parts.items()}
    learned = [dataclasses.asdict(part) for part in (settings.data, settings.network, settings.training)]
    identity = hashlib.sha256(json.dumps([learned, checksums]).encode()).hexdigest()
    state = fit(
        parser.network,
        corpora["train"],
        lambda: attachment(parser, corpora["dev"]),
        "las",
        settings.training,
        device,
        folder,
        identity,
        report,
    )
    round_weights(parser.model)  # what is scored is what is saved
    if World.join(device).rank == 0:
        write_model(parser.model, folder / MODEL)
    results = {
        "name": settings.name,
        "config": dataclasses.asdict(settings),
        "data": {
            "sha256": checksums,
            "sentences": {name: len(part) for name, part in parts.items()},
            "skipped": {name: part.skipped for name, part in parts.items() if part.skipped},
        },
        "versions": {"discotree": __version__, "torch": torch.__version__, "python": platform.python_version()},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine(),
        "parameters": sum(weight.numel() for weight in parser.network.parameters()),
        "best_epoch": state.best_epoch,
        "seconds": sum(epoch["seconds"] + epoch["validation_seconds"] for epoch in state.history),
        "scores": {
            name: scores_of(parser, parts[name], corpora[name], compare) for name in ("dev", "test") if len(parts[name])
        },
        "history": state.history,
    }
    if World.join(device).rank == 0:
        write_json(folder / RESULTS, results)
    return results


def build(settings: config.Config, parts: dict[str, Part], device: torch.device) -> tuple[config.Config, Parser]:
    """The vocabulary and a fresh network, its word vectors from a file where the recipe names one."""
    words = data.words_of(parts)
    settings, vectors = pretrained(settings, words)
    vocab = Vocab.build(
        parts["train"].encoded,
        list(small_heads(settings.network)),
        parts["train"].tags,
        words if vectors else (),
        lambda word: vectors is not None and vectors.lookup(word) is not None,
    )
    torch.manual_seed(settings.training.seed)
    parser = Parser(Model.new(settings, vocab), device)
    if vectors is not None and parser.network.encoder.words is not None:
        put_vectors(vectors, vocab, parser.network.encoder.words)
    return settings, parser


def chosen_device(training: config.Training) -> torch.device:
    """The one that the recipe names, or a GPU if there is one; under torchrun, every process has a GPU of its own."""
    name = training.device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if name == "cuda" else name)
    except RuntimeError as error:
        raise ModelError(f"training.device: {error}") from None


def pretrained(settings: config.Config, words: Iterable[str]) -> tuple[config.Config, Vectors | None]:
    """The vectors of these words where the recipe names a file, which then decides on the size of a word."""
    if not settings.data.vectors:
        return settings, None
    wanted = {spelling for word in words for spelling in spellings(word)}
    path = data.resolved(settings.data, settings.data.vectors)
    vectors = read_vectors(path, wanted.__contains__, digits_to_zero=True)  # as the vocabulary has its words
    if not len(vectors):
        raise ModelError(f"{path}: there is no word of the treebank among these vectors")
    network = dataclasses.replace(settings.network, word_size=vectors.dimension)
    return dataclasses.replace(settings, network=network), vectors


def put_vectors(vectors: Vectors, vocab: Vocab, table: torch.nn.Embedding) -> None:
    """Begin with the pretrained vectors of the words that have one."""
    rows = {number: vectors.lookup(word) for word, number in vocab.words.ids.items()}
    known = {number: row for number, row in rows.items() if row is not None}
    with torch.no_grad():
        values = torch.from_numpy(vectors.matrix[list(known.values())])
        table.weight[list(known)] = values.to(table.weight.device)


def corpus_of(part: Part, forms: Forms) -> Corpus:
    corpus = Corpus([tree.tokens for tree in part.encoded], forms, part.tags)
    corpus.learn(part.encoded)
    return corpus


def attachment(parser: Parser, corpus: Corpus, way: config.Decoding | None = None) -> dict[str, float]:
    """Labelled and unlabelled attachment score of the encoding, and how often the small heads are right.

    While training, heads are decoded exactly whatever the recipe says: it is the cheapest way.
    """
    right = {"las": 0, "uas": 0, **dict.fromkeys(parser.network.small, 0)}
    for sentences, scores in parser.scores(corpus):
        decoded = parser.decode(scores, way or config.Decoding())
        gold = {name: values.numpy() for name, values in corpus.batch(sentences).gold.items()}
        inside = gold[HEAD] >= 0
        heads = inside & (decoded.heads + 1 == gold[HEAD])
        right["uas"] += int(heads.sum())
        right["las"] += int((heads & (decoded.labels == gold[LABEL])).sum())
        for head, values in scores.small.items():
            right[head] += int((inside & (values.argmax(-1).cpu().numpy() == gold[head])).sum())
    words = max(1, int(corpus.lengths.sum()))
    return {name: 100 * count / words for name, count in right.items()}


def scores_of(parser: Parser, part: Part, corpus: Corpus, compare: bool) -> dict[str, Any]:
    """Attachment, and what the evaluator says of the trees; on request also with the other ways of decoding."""
    own = parser.config.decoding
    score, _ = parsed_score(parser, part, own)
    figures: dict[str, Any] = {
        "attachment": attachment(parser, corpus, own),
        "all": score.metrics(),
        "discontinuous": score.discontinuous.metrics(),
    }
    if compare:
        figures["decoding"] = {}
        for consistent in (False, True):
            for method in get_args(config.Method):
                way = dataclasses.replace(own, method=method, consistent=consistent)
                score, seconds = parsed_score(parser, part, way)
                name = f"{method}, consistent" if consistent else method
                figures["decoding"][name] = {
                    "f1": score.f1,
                    "discontinuous_f1": score.discontinuous.f1,
                    "seconds": seconds,
                }
    return figures


def parsed_score(parser: Parser, part: Part, way: config.Decoding) -> tuple[Score, float]:
    """The score of the parser's trees, and the seconds that it took to make them."""
    tags = part.tags or [[NONE] * len(tree) for tree in part.trees]  # gold tags and functions stay here
    words = [list(map(Token, tree.words, row)) for tree, row in zip(part.trees, tags, strict=True)]
    began = time.perf_counter()
    trees = parser.parse_tokens(words, way, [tree.id for tree in part.trees])
    seconds = time.perf_counter() - began
    return evaluate(part.trees, trees), seconds


def train_seeds(
    settings: config.Config, folder: str | Path, seeds: int, report: Report = lambda *_: None, compare: bool = False
) -> dict[str, Any]:
    """Train with several seeds, each in a folder of its own; results.json has their means and deviations.

    The figures that are reported say which seed they belong to.
    """
    runs = {}
    for number in range(settings.training.seed, settings.training.seed + seeds):
        training = dataclasses.replace(settings.training, seed=number)
        seeded = dataclasses.replace(settings, training=training)
        runs[f"seed-{number}"] = train(seeded, Path(folder, f"seed-{number}"), labelled(report, seed=number), compare)
    summary = {"name": settings.name, "seeds": list(runs), "scores": summarized(list(runs.values()))}
    if World.join(chosen_device(settings.training)).rank == 0:
        write_json(Path(folder, RESULTS), summary)
    return summary


def labelled(report: Report, **which: float) -> Report:
    """The same report, but its figures say which of several runs they belong to."""
    return lambda event, figures: report(event, {**figures, **which})


def summarized(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation of F1 over runs, for all constituents and for discontinuous ones."""
    summary: dict[str, Any] = {}
    for part in runs[0]["scores"]:
        for kind in ("all", "discontinuous"):
            values = [run["scores"][part][kind]["f1"] or 0.0 for run in runs]
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            summary.setdefault(part, {})[kind] = {"mean": statistics.mean(values), "deviation": deviation, "f1": values}
    return summary


def write_json(path: Path, results: dict[str, Any]) -> None:
    with writable(str(path)) as stream:
        stream.write((json.dumps(results, indent=1, ensure_ascii=False) + "\n").encode())


def line(event: str, figures: dict[str, float]) -> None:
    """The plainest report: a line for every epoch."""
    if event == "epoch":
        shown = "  ".join(
            f"{name} {figures[name]:.4g}" for name in ("loss", "dev/las", "dev/uas", "seconds") if name in figures
        )
        print(f"epoch {figures['epoch']:.0f}  {shown}", flush=True)


def main() -> None:
    """Training without the command line's extras, for machines that have torch and little else."""
    parser = argparse.ArgumentParser(
        prog="python -m discotree.training.run", description="Train a model from a recipe."
    )
    parser.add_argument("recipe", help=f"a file, or one of {', '.join(config.recipe_names())}")
    parser.add_argument("--out", required=True, help="folder for the model and the results")
    parser.add_argument("--set", action="append", default=[], metavar="SECTION.NAME=VALUE")
    parser.add_argument("--preset", default="", help=", ".join(config.PRESETS))
    parser.add_argument("--scenario", default="", help=", ".join(config.SCENARIOS))
    parser.add_argument("--seeds", type=int, default=0, help="train so many models with seeds in a row")
    parser.add_argument("--compare", action="store_true", help="score every way of decoding")
    arguments = parser.parse_args()
    try:
        settings = config.load_recipe(arguments.recipe, arguments.set, arguments.scenario, arguments.preset)
        speaks = World.join(chosen_device(settings.training)).rank == 0  # one for all processes
        report: Report = line if speaks else lambda *_: None
        if arguments.seeds:
            results = train_seeds(settings, arguments.out, arguments.seeds, report, arguments.compare)
        else:
            results = train(settings, arguments.out, report, arguments.compare)
            results = {"scores": summarized([results])}
        if speaks:
            print(json.dumps(results["scores"], indent=1))
    except (DiscotreeError, OSError) as error:
        sys.exit(f"discotree: {error}")


if __name__ == "__main__":
    main()
