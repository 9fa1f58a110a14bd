"""Turn a trained model into a package that pip can install.

    discotree train alpino-all -o runs/nl
    python tools/make_model.py runs/nl nl --commit $(git rev-parse --short HEAD) --version 1.1.0

The run may also be the folder around the model of an existing package, models/nl/src/discotree_nl: its weights stay.

Leaves out the auxiliary head that only helps training, with --least labels that hardly occur, and with --own-words
words that the training trees lack, such as those of a base model for another language, or have fewer than N times.
Rounds weights to a few bits, scores the result on dev and test beside the trained model in half precision, fits gap
penalties and confidences on dev, and writes models/NAME: the model with its card, and the package around it. Treebanks
that have a name in the recipe are scored apart, those of --also-score besides. A new model needs an entry in
model_sources.py and one in src/discotree/models/published.toml.
"""

import argparse
import dataclasses
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from model_package import FIRST_VERSION, MODELS, model_folder, version_of, write_package
from model_sources import ABOUT

from discotree import config
from discotree.encoding.dependencies import Dependencies
from discotree.models.card import CARD, README, UNMEASURED, Card, SplitMetrics, page, table_rows
from discotree.models.finding import published
from discotree.models.folder import Model, metrics_of, public, read_model, shapes, write_model
from discotree.network.scores import ENGINES
from discotree.network.vocab import Alphabet, normalized
from discotree.network.weights import QuantizedMatrix, Weight, rounded
from discotree.parsing.parser import Parser, new_engine
from discotree.training.calibrate import calibrate_model, fit_on_held_out
from discotree.training.data import Split, corpus_of, load_splits, resolve
from discotree.training.results import SOURCES, score_split
from discotree.training.run import MODEL

BITS = 6
TRAINING_ONLY = "spine"  # the auxiliary head whose predictions are not used
LABELS = "label_bilinear"  # the weights that belong to the labels of arcs
WORDS = "encoder.words.weight"
SMALL = 1000  # sentences of dev and test below which a card also has their scores together


def stripped(model: Model) -> Model:
    """Return a copy of the model without what only helps training."""
    outputs = {head: classes for head, classes in model.vocab.outputs.items() if head != TRAINING_ONLY}
    vocab = dataclasses.replace(model.vocab, outputs=outputs, singletons=frozenset())
    network = dataclasses.replace(model.config.network, spine_weight=0.0)
    kept = dict(shapes(network, vocab, model.has_tags, model.subwords))
    return dataclasses.replace(
        model,
        config=dataclasses.replace(model.config, network=network),
        vocab=vocab,
        weights={name: model.weights[name] for name in kept},
        folder=None,
        calibration=None,
    )


def with_frequent_labels(model: Model, trees: Iterable[Dependencies], least: int) -> Model:
    """Return a copy of the model with only those arc labels that this many words of the trees have.

    Scoring labels takes as long as there are labels, and nearly half of them stand for a handful of words.
    """
    counts = Counter(label for tree in trees for label in tree.labels)
    kept = [number for number, label in enumerate(model.vocab.labels.symbols) if counts[label] >= least]
    vocab = dataclasses.replace(model.vocab, labels=Alphabet([model.vocab.labels.symbols[number] for number in kept]))
    return dataclasses.replace(
        model, vocab=vocab, weights={**model.weights, LABELS: select_rows(model.weights[LABELS], kept)}
    )


def with_own_words(model: Model, trees: Iterable[Dependencies], least: int) -> Model:
    """Return a copy of the model with only the words that occur at least ``least`` times in the trees.

    A model that was fine-tuned from one for another language would keep the words of that language.
    """
    known = model.vocab.words
    counts = Counter(normalized(token.form) for tree in trees for token in tree.tokens)
    kept = [number for number, word in enumerate(known.symbols, known.reserved) if counts[word] >= least]
    words = Alphabet([known[number] for number in kept], known.reserved)
    weight = select_rows(model.weights[WORDS], [*range(known.reserved), *kept])
    vocab = dataclasses.replace(model.vocab, words=words)
    return dataclasses.replace(model, vocab=vocab, weights={**model.weights, WORDS: weight})


def select_rows(weight: Weight, kept: list[int]) -> Weight:
    """Return these rows of a weight."""
    if isinstance(weight, QuantizedMatrix):
        return QuantizedMatrix(weight.values[kept], weight.scale[kept])
    return weight[kept]


def with_bits(model: Model, bits: int) -> Model:
    """Return a copy of the model whose weights have this many bits."""
    training = dataclasses.replace(model.config.training, weight_bits=bits)
    settings = dataclasses.replace(model.config, training=training)
    return dataclasses.replace(model, config=settings, weights=rounded(model.weights, bits))


def scored(parser: Parser, splits: Mapping[str, Split]) -> dict[str, SplitMetrics]:
    """Return the metrics on dev and test: those of all sentences as "", then those of sources with a name."""
    dev, test = splits["dev"], splits["test"]
    parts = {"dev": dev, "test": test} | ({"together": joined(dev, test)} if len(dev) + len(test) < SMALL else {})
    found = {
        name: score_split(parser, split, corpus_of(split, parser._forms(), parser.has_tags))
        for name, split in parts.items()
    }
    sources = dict.fromkeys(name for scores in found.values() for name in scores.get(SOURCES, ()))
    apart = {
        source: {name: scores[SOURCES][source] for name, scores in found.items() if source in scores.get(SOURCES, ())}
        for source in sources
    }
    return {source: split_metrics(scores) for source, scores in {"": found, **apart}.items()}


def split_metrics(scores: Mapping[str, dict[str, Any]]) -> SplitMetrics:
    """Return a card's metrics from what was measured on the splits; what was not is unmeasured."""
    measured = {name: metrics_of(found) for name, found in scores.items()}
    return SplitMetrics(**{"dev": UNMEASURED, "test": UNMEASURED} | measured)


def joined(dev: Split, test: Split) -> Split:
    """Return two splits as one."""
    fields = [entry.name for entry in dataclasses.fields(Split) if entry.name != "skipped"]
    return Split(**{name: [*getattr(dev, name), *getattr(test, name)] for name in fields})


def scored_elsewhere(parser: Parser, settings: config.Config, wanted: list[str]) -> dict[str, SplitMetrics]:
    """Return the metrics on dev and test of other recipes, each given as NAME=RECIPE."""
    found = {}
    for entry in wanted:
        name, _, recipe = entry.partition("=")
        data = config.load_recipe(recipe, [f"data.folder={settings.data.folder}"]).data
        found[name] = scored(parser, load_splits(resolve(data)))[""]
    return found


def row(split: str, bits: int, shipped: int) -> str:
    """Return the name of a copy's row in the card's table of metrics."""
    size = "half precision, as trained" if bits == config.schema.HALF_PRECISION_BITS else f"{bits} bits"
    return f"{split}, {size}{', **as shipped**' if bits == shipped else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the package of a model.")
    parser.add_argument("run", type=Path, help="the folder that discotree train wrote")
    parser.add_argument("name", choices=ABOUT)
    parser.add_argument("--commit", required=True, help="the commit that the model was trained at")
    parser.add_argument("--version", default="", help=f"the version of the package; {FIRST_VERSION} for a new one")
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--also", type=int, nargs="*", default=[8], help="further sizes to score")
    parser.add_argument("--least", type=int, default=0, help="leave out arc labels that fewer words of the trees have")
    parser.add_argument(
        "--own-words", type=int, nargs="?", const=1, default=0, metavar="N",
        help="leave out words that the trees have fewer than N times; without N, those that they lack",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=MODELS, help="where to put the package")
    parser.add_argument("--speed", type=float, help="sentences per second on two cores (benchmarks/parse.py)")
    parser.add_argument("--gpu-speed", type=float, help="the same on one NVIDIA H200")
    parser.add_argument(
        "--penalties",
        choices=["best", "few", "none"],
        default="best",
        help="gap penalties that dev prefers; if dev is unlike the text of the model, those of gaps that are mostly "
        "wrong, or none",
    )
    parser.add_argument("--largest-penalty", type=float, default=math.inf, help="for gaps that are rare in dev only")
    parser.add_argument("--data", default="", help="the folder of the treebanks, if not where the run found them")
    parser.add_argument(
        "--also-score", nargs="*", default=[], metavar="NAME=RECIPE", help="score the dev and test of these, too"
    )
    parser.add_argument("--engine", choices=ENGINES, help="what scores it: the one for this machine")
    arguments = parser.parse_args()
    old_version = version_of(arguments.name, arguments.out)
    if arguments.version in ("", old_version) and old_version:
        parser.error(f"{arguments.out / arguments.name} is at version {old_version}: give a newer one with --version")
    trained = stripped(read_model(arguments.run / MODEL))
    about, model = ABOUT[arguments.name], published()[arguments.name]
    if trained.config.language != model.code:
        parser.error(f"{arguments.run} is for {trained.config.language!r}, and {arguments.name} for {model.code!r}")
    if arguments.data:
        data = dataclasses.replace(trained.config.data, folder=arguments.data)
        trained = dataclasses.replace(trained, config=dataclasses.replace(trained.config, data=data))
    splits = load_splits(resolve(trained.config.data))
    trained = with_frequent_labels(trained, splits["train"].encoded, arguments.least)
    if arguments.own_words:
        trained = with_own_words(trained, splits["train"].encoded, arguments.own_words)
    own_bits = trained.config.training.weight_bits
    sizes = (
        {config.schema.HALF_PRECISION_BITS, arguments.bits, *arguments.also}
        if own_bits == config.schema.HALF_PRECISION_BITS
        else {own_bits}
    )
    shipped = with_bits(trained, min(sizes, key=lambda bits: abs(bits - arguments.bits)))
    bits = shipped.config.training.weight_bits
    run = Parser(shipped, new_engine(shipped, arguments.engine))
    if arguments.penalties == "none":
        shipped = calibrate_model(run, splits["dev"])
    else:
        few = arguments.penalties == "few"
        shipped = fit_on_held_out(run, splits["dev"], few, arguments.largest_penalty)
    fitted = dataclasses.replace(trained, config=shipped.config, calibration=shipped.calibration)
    copies = {size: with_bits(fitted, size) for size in sizes}
    scores, others = {}, {}
    for size, copy in sorted(copies.items()):
        run = Parser(copy, new_engine(copy, arguments.engine))
        found = scored(run, splits)
        scores[size] = found.pop("")
        if size == bits:
            others = found | scored_elsewhere(run, trained.config, arguments.also_score)
    print(json.dumps({size: dataclasses.asdict(found) for size, found in scores.items()}), flush=True)
    card = Card(
        name=arguments.name,
        language=model.language,
        code=model.code,
        treebanks=about.treebanks,
        licence=model.licence,
        commercial=model.commercial,
        sentences=len(splits["train"]),
        scores=scores[bits],
        commit=arguments.commit,
        weaknesses=about.weaknesses,
        speed=arguments.speed,
        gpu_speed=arguments.gpu_speed,
        texts=about.texts,
        encoders=about.encoders,
        teachers=about.teachers,
        other_scores=others,
    )
    rows = {
        row(split, size, bits): found
        for size in sorted(scores, reverse=True)
        for split, found in table_rows(scores[size]).items()
    }
    command = "distill --recipe" if about.teachers else "train"
    base = f" --base {about.base}" if about.base else ""
    made = f"`discotree {command} {trained.config.name}{base}` and `tools/make_model.py`"
    texts = {CARD: card.to_json(), README: page(card, arguments.name, rows, made)}
    folder = model_folder(arguments.name, arguments.out)
    write_model(dataclasses.replace(shipped, config=public(shipped.config)), folder, texts)
    package = write_package(card, about, arguments.version or FIRST_VERSION, arguments.out)
    print(f"written to {package}")


if __name__ == "__main__":
    main()
