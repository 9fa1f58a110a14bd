"""Make a model that comes with discotree out of one that was trained.

    discotree train alpino-all --out runs/nl
    python tools/make_model.py runs/nl nl --commit $(git rev-parse --short HEAD)

Leaves out the head that only helped learning, rounds the weights to a few bits, scores the result on dev and test
beside the trained model in half precision, and writes src/discotree/models/NAME with its card.
"""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

import torch

from discotree import config, data
from discotree.data import Part
from discotree.parser import Parser
from discotree.train import MODEL, corpus_of, scores_of, write_json

BITS = 6
MODELS = Path(__file__).parent.parent / "src" / "discotree" / "models"
ONLY_LEARNING = "spine"  # the small head that nobody asks for anything

ALPINO = {"name": "Alpino Treebank", "url": "https://github.com/rug-compling/Alpino", "licence": "LGPL 2.1 or later"}
PCC = {
    "name": "Potsdam Commentary Corpus",
    "url": "http://angcl.ling.uni-potsdam.de/resources/pcc.html",
    "licence": "CC BY-NC-SA 4.0",
}
SQUOIA = {"name": "SQUOIA", "url": "https://github.com/a-rios/squoia", "licence": "Apache-2.0"}
CRAFT = {"name": "CRAFT", "url": "https://github.com/UCDenver-ccp/CRAFT", "licence": "CC BY 3.0"}
ICEPAHC = {"name": "IcePaHC", "url": "https://github.com/antonkarl/icecorpus", "licence": "CC BY 4.0"}

ABOUT: dict[str, dict[str, Any]] = {
    "nl": {
        "language": "Dutch",
        "treebanks": [ALPINO],
        "licence": "LGPL 2.1 or later",
        "commercial": True,
        "weaknesses": "It has read newspapers, questions and grammar examples: expect less of speech, chat and law. "
        "Long coordinations and what hangs on a noun or on a verb are where it errs most.",
    },
    "de": {
        "language": "German",
        "treebanks": [PCC, SQUOIA],
        "licence": "CC BY-NC-SA 4.0",
        "commercial": False,
        "weaknesses": "It has read newspaper commentaries and business reports, and few of them: it is the weakest of "
        "the four on phrases that are not continuous. Train on TIGER if you have it.",
    },
    "en": {
        "language": "English",
        "treebanks": [CRAFT],
        "licence": "CC BY 3.0",
        "commercial": True,
        "weaknesses": "It has read articles on molecular biology and nothing else: questions, dialogue and the second "
        "person are strange to it.",
    },
    "is": {
        "language": "Icelandic",
        "treebanks": [ICEPAHC],
        "licence": "CC BY 4.0",
        "commercial": True,
        "weaknesses": "It has read nine centuries of prose, sermons and law in modern spelling, and little of today. "
        "Its words are IcePaHC's: a clitic article is a word of its own. The sub-word vectors know no Icelandic.",
    },
}


def stripped(parser: Parser) -> Parser:
    """The same parser without what only helped learning."""
    outputs = {head: said for head, said in parser.vocab.outputs.items() if head != ONLY_LEARNING}
    vocab = dataclasses.replace(parser.vocab, outputs=outputs, singletons=frozenset())
    network = dataclasses.replace(parser.config.network, spine_weight=0.0)
    smaller = Parser(dataclasses.replace(parser.config, network=network), vocab, parser.device, parser.subwords)
    wanted = smaller.network.state_dict().keys()
    smaller.network.load_state_dict({k: value for k, value in parser.network.state_dict().items() if k in wanted})
    return smaller


def rounded(parser: Parser, bits: int) -> Parser:
    """A copy whose weights have so many bits."""
    training = dataclasses.replace(parser.config.training, weight_bits=bits)
    settings = dataclasses.replace(parser.config, training=training)
    copy = Parser(settings, parser.vocab, parser.device, parser.subwords)
    copy.network.load_state_dict(parser.network.state_dict())
    copy.round_weights()
    return copy


def figures(parser: Parser, part: Part) -> dict[str, float | None]:
    found = scores_of(parser, part, corpus_of(part, parser.forms()), compare=False)
    values = {
        "f1": found["all"]["f1"],
        "discontinuous_f1": found["discontinuous"]["f1"],
        "exact": found["all"]["exact_match"],
        "tags": found["attachment"].get("tag"),
        "functions": found["attachment"].get("function"),
    }
    return {name: None if value is None else round(value, 2) for name, value in values.items()}


def page(card: dict[str, Any], scores: dict[int, dict[str, dict[str, float | None]]], bits: int, recipe: str) -> str:
    """The card for people."""
    treebanks = ", ".join(f"[{bank['name']}]({bank['url']}) ({bank['licence']})" for bank in card["treebanks"])
    warning = "" if card["commercial"] else " **Not for commercial use.**"
    names = {
        "f1": "F1",
        "discontinuous_f1": "disc. F1",
        "exact": "exact match",
        "tags": "tags",
        "functions": "functions",
    }
    rows = [
        f"| {part}, {'half precision, as trained' if size == config.HALF else f'{size} bits'}"
        f"{', **as shipped**' if size == bits else ''} | "
        + " | ".join(_shown(scores[size][part][name]) for name in names)
        + " |"
        for part in ("dev", "test")
        for size in sorted(scores, reverse=True)
    ]
    return f"""# {card["name"]}: {card["language"]}

A model of discotree: from words to a discontinuous constituent tree with tags, functions and phrases over single words.

- Data: {treebanks}; {card["sentences"]:,} sentences of training.
- Licence: {card["licence"]}.{warning}
- Made by `discotree train {recipe}` and `tools/make_model.py` at commit {card["commit"]}; settings: config.json.
- Not good at: {card["weaknesses"]}

| | {" | ".join(names.values())} |
|---|{"---|" * len(names)}
{chr(10).join(rows)}

F1 is that of the recipe's own split, with `proper.prm`, words given. Tags and functions: share of words.
"""


def _shown(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Make a bundled model.")
    parser.add_argument("run", type=Path, help="the folder that discotree train wrote")
    parser.add_argument("name", choices=ABOUT)
    parser.add_argument("--commit", required=True, help="that the model was trained at")
    parser.add_argument("--bits", type=int, default=BITS)
    parser.add_argument("--also", type=int, nargs="*", default=[8], help="further sizes to score")
    parser.add_argument("--out", type=Path, default=MODELS, help="folder for the model's folder")
    arguments = parser.parse_args()
    trained = stripped(Parser.load(arguments.run / MODEL, "cuda" if torch.cuda.is_available() else "cpu"))
    parts = data.load(trained.config.data)
    copies = {bits: rounded(trained, bits) for bits in (config.HALF, arguments.bits, *arguments.also)}
    scores = {
        bits: {name: figures(copy, parts[name]) for name in ("dev", "test")} for bits, copy in sorted(copies.items())
    }
    print(json.dumps(scores), flush=True)
    card = {
        "name": arguments.name,
        "code": trained.config.language,
        **ABOUT[arguments.name],
        "sentences": len(parts["train"]),
        "scores": scores[arguments.bits],
        "commit": arguments.commit,
    }
    folder = arguments.out / arguments.name
    copies[arguments.bits].save(folder)
    write_json(folder / "card.json", card)
    (folder / "README.md").write_text(page(card, scores, arguments.bits, trained.config.name), "utf-8")


if __name__ == "__main__":
    main()
