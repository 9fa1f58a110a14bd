"""Turn a trained model into a package that pip can install.

    discotree train alpino-all -o runs/nl
    python tools/make_model.py runs/nl nl --commit $(git rev-parse --short HEAD) --version 1.1.0

The run may also be the folder around the model of an existing package, models/nl/src/discotree_nl: its weights stay.

Leaves out the auxiliary head that only helps training, rounds the weights to a few bits, scores the result on dev and
test beside the trained model in half precision, fits prices of gaps and confidences on dev, and writes models/NAME: the
model with its card, and the package around it. A new model needs an entry in model_sources.py and one in
src/discotree/models/published.toml.
"""

import argparse
import dataclasses
import json
from pathlib import Path

from model_package import FIRST_VERSION, MODELS, model_folder, version_of, write_package
from model_sources import ABOUT

from discotree import config
from discotree.models.card import CARD, README, Card, Metrics, SplitMetrics
from discotree.models.card_page import page
from discotree.models.description import metrics_of
from discotree.models.folder import read_model, write_model
from discotree.models.model import Model
from discotree.models.private_paths import public
from discotree.models.published import published
from discotree.network.engine import ENGINES
from discotree.network.shapes import shapes
from discotree.network.weights import rounded
from discotree.parsing.engines import new_engine
from discotree.parsing.parser import Parser
from discotree.training.calibrate import finished
from discotree.training.data import Split, corpus_of, load_splits, resolve
from discotree.training.results import score_split
from discotree.training.run import MODEL

BITS = 6
TRAINING_ONLY = "spine"  # the auxiliary head whose predictions are not used


def stripped(model: Model) -> Model:
    """Return a copy of the model without what only helps training."""
    outputs = {head: classes for head, classes in model.vocab.outputs.items() if head != TRAINING_ONLY}
    vocab = dataclasses.replace(model.vocab, outputs=outputs, singletons=frozenset())
    network = dataclasses.replace(model.config.network, spine_weight=0.0)
    kept = shapes(network, vocab, model.has_tags, model.subwords)
    return dataclasses.replace(
        model,
        config=dataclasses.replace(model.config, network=network),
        vocab=vocab,
        weights={name: model.weights[name] for name in kept},
        folder=None,
        calibration=None,
    )


def with_bits(model: Model, bits: int) -> Model:
    """Return a copy of the model whose weights have this many bits."""
    training = dataclasses.replace(model.config.training, weight_bits=bits)
    settings = dataclasses.replace(model.config, training=training)
    return dataclasses.replace(model, config=settings, weights=rounded(model.weights, bits))


def scored(parser: Parser, split: Split) -> Metrics:
    return metrics_of(score_split(parser, split, corpus_of(split, parser.forms(), parser.has_tags)))


def row(split: str, bits: int, shipped: int) -> str:
    """Return the name of a copy's row in the card's table of metrics."""
    size = "half precision, as trained" if bits == config.HALF else f"{bits} bits"
    return f"{split}, {size}{', **as shipped**' if bits == shipped else ''}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the package of a model.")
    parser.add_argument("run", type=Path, help="the folder that discotree train wrote")
    parser.add_argument("name", choices=ABOUT)
    parser.add_argument("--commit", required=True, help="the commit that the model was trained at")
    parser.add_argument("--version", default="", help=f"the version of the package; {FIRST_VERSION} for a new one")
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--also", type=int, nargs="*", default=[8], help="further sizes to score")
    parser.add_argument("--out", type=Path, default=MODELS, help="where to put the package")
    parser.add_argument("--speed", type=float, help="sentences per second on two cores (benchmarks/parse.py, a file)")
    parser.add_argument("--engine", choices=ENGINES, default="", help="what scores it: the one for this machine")
    arguments = parser.parse_args()
    old_version = version_of(arguments.name, arguments.out)
    if arguments.version in ("", old_version) and old_version:
        parser.error(f"{arguments.out / arguments.name} is at version {old_version}: give a newer one with --version")
    trained = stripped(read_model(arguments.run / MODEL))
    about, model = ABOUT[arguments.name], published()[arguments.name]
    if trained.config.language != model.code:
        parser.error(f"{arguments.run} is for {trained.config.language!r}, and {arguments.name} for {model.code!r}")
    splits = load_splits(resolve(trained.config.data))
    own_bits = trained.config.training.weight_bits
    sizes = {config.HALF, arguments.bits, *arguments.also} if own_bits == config.HALF else {own_bits}
    shipped = with_bits(trained, min(sizes, key=lambda bits: abs(bits - arguments.bits)))
    bits = shipped.config.training.weight_bits
    shipped = finished(Parser(shipped, new_engine(shipped, arguments.engine)), splits["dev"])
    fitted = dataclasses.replace(trained, config=shipped.config, calibration=shipped.calibration)
    copies = {size: with_bits(fitted, size) for size in sizes}
    scores = {}
    for size, copy in sorted(copies.items()):
        run = Parser(copy, new_engine(copy, arguments.engine))
        scores[size] = SplitMetrics(scored(run, splits["dev"]), scored(run, splits["test"]))
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
    )
    rows = {
        row(split, size, bits): getattr(scores[size], split)
        for split in ("dev", "test")
        for size in sorted(scores, reverse=True)
    }
    made = f"`discotree train {trained.config.name}` and `tools/make_model.py`"
    texts = {CARD: card.to_json(), README: page(card, arguments.name, rows, made)}
    folder = model_folder(arguments.name, arguments.out)
    write_model(dataclasses.replace(shipped, config=public(shipped.config)), folder, texts)
    package = write_package(card, about, arguments.version or FIRST_VERSION, arguments.out)
    print(f"written to {package}")


if __name__ == "__main__":
    main()
