"""Turn a trained model into one that comes with discotree.

    discotree train alpino-all -o runs/nl
    python tools/make_model.py runs/nl nl --commit $(git rev-parse --short HEAD)

Leaves out the auxiliary head that only helps training, rounds the weights to a few bits, scores the result on dev and
test beside the trained model in half precision, and writes src/discotree/models/bundled/NAME with its card.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from discotree import config
from discotree.models.card import CARD, README, Card, Metrics, SplitMetrics, Treebank
from discotree.models.card_page import page
from discotree.models.description import metrics_of
from discotree.models.folder import read_model, write_model
from discotree.models.model import Model
from discotree.network.engine import ENGINES
from discotree.network.shapes import shapes
from discotree.network.weights import rounded
from discotree.parsing.engines import new_engine
from discotree.parsing.parser import Parser
from discotree.training.data import Split, corpus_of, load_splits, resolve
from discotree.training.results import score_split
from discotree.training.run import MODEL

BITS = 6
MODELS = Path(__file__).parent.parent / "src" / "discotree" / "models" / "bundled"
TRAINING_ONLY = "spine"  # the auxiliary head whose predictions are not used

ALPINO = Treebank("Alpino Treebank", "https://github.com/rug-compling/Alpino", "LGPL-2.1-or-later")
PCC = Treebank("Potsdam Commentary Corpus", "http://angcl.ling.uni-potsdam.de/resources/pcc.html", "CC-BY-NC-SA-4.0")
SQUOIA = Treebank("SQUOIA", "https://github.com/a-rios/squoia", "Apache-2.0")
CRAFT = Treebank("CRAFT", "https://github.com/UCDenver-ccp/CRAFT", "CC-BY-3.0")
ICEPAHC = Treebank("IcePaHC", "https://github.com/antonkarl/icecorpus", "CC-BY-4.0")

ABOUT: dict[str, dict[str, Any]] = {
    "nl": {
        "language": "Dutch",
        "treebanks": (ALPINO,),
        "licence": "LGPL-2.1-or-later",
        "commercial": True,
        "weaknesses": "It has read newspapers, questions and grammar examples: expect less of speech, chat and law. "
        "Long coordinations and what hangs on a noun or on a verb are where it errs most.",
    },
    "de": {
        "language": "German",
        "treebanks": (PCC, SQUOIA),
        "licence": "CC-BY-NC-SA-4.0",
        "commercial": False,
        "weaknesses": "It has read newspaper commentaries and business reports, and few of them: it is the weakest of "
        "the four on phrases that are not continuous. Train on TIGER if you have it.",
    },
    "en": {
        "language": "English",
        "treebanks": (CRAFT,),
        "licence": "CC-BY-3.0",
        "commercial": True,
        "weaknesses": "It has read articles on molecular biology and nothing else: questions, dialogue and the second "
        "person are strange to it.",
    },
    "is": {
        "language": "Icelandic",
        "treebanks": (ICEPAHC,),
        "licence": "CC-BY-4.0",
        "commercial": True,
        "weaknesses": "It has read nine centuries of prose, sermons and law in modern spelling, and little of today. "
        "Its words are IcePaHC's: a clitic article is a word of its own. The sub-word vectors know no Icelandic.",
    },
}


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
    parser = argparse.ArgumentParser(description="Make a bundled model.")
    parser.add_argument("run", type=Path, help="the folder that discotree train wrote")
    parser.add_argument("name", choices=ABOUT)
    parser.add_argument("--commit", required=True, help="the commit that the model was trained at")
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--also", type=int, nargs="*", default=[8], help="further sizes to score")
    parser.add_argument("--out", type=Path, default=MODELS, help="where to put the model's folder")
    parser.add_argument("--engine", choices=ENGINES, default="", help="what scores it: the one for this machine")
    arguments = parser.parse_args()
    trained = stripped(read_model(arguments.run / MODEL))
    splits = load_splits(resolve(trained.config.data))
    copies = {bits: with_bits(trained, bits) for bits in (config.HALF, arguments.bits, *arguments.also)}
    scores = {}
    for bits, copy in sorted(copies.items()):
        run = Parser(copy, new_engine(copy, arguments.engine))
        scores[bits] = SplitMetrics(scored(run, splits["dev"]), scored(run, splits["test"]))
    print(json.dumps({bits: dataclasses.asdict(found) for bits, found in scores.items()}), flush=True)
    card = Card(
        name=arguments.name,
        code=trained.config.language,
        **ABOUT[arguments.name],
        sentences=len(splits["train"]),
        scores=scores[arguments.bits],
        commit=arguments.commit,
    )
    rows = {
        row(split, bits, arguments.bits): getattr(scores[bits], split)
        for split in ("dev", "test")
        for bits in sorted(scores, reverse=True)
    }
    made = f"`discotree train {trained.config.name}` and `tools/make_model.py`"
    texts = {CARD: card.to_json(), README: page(card, arguments.name, rows, made)}
    write_model(copies[arguments.bits], arguments.out / arguments.name, texts)


if __name__ == "__main__":
    main()
