"""Give a model the rules for lemmas of its treebank. Its weights and its trees stay as they are.

    python tools/add_lemmas.py nl --data /my/treebanks
    python tools/add_lemmas.py models/de/src/discotree_de/model --recipe german-free --data /my/treebanks

Models that `discotree train` makes have such rules already, if their treebank has lemmas. This is for older ones, and
for a model whose own settings name no table of lemmas: --recipe then gives the data to learn from. Measures lemmas on
dev and test, and writes the rules to vocab.json and the accuracy to the card and the page of the model.
"""

import argparse
import dataclasses
import re
import shutil
from collections.abc import Container, Sequence
from pathlib import Path

from model_package import MODELS, model_folder
from model_sources import ABOUT

from discotree import config
from discotree.encoding.dependencies import to_dependencies
from discotree.encoding.head_rules import HeadRules
from discotree.encoding.lemmas import LemmaRules
from discotree.files.writing import writable
from discotree.models import VOCAB
from discotree.models.card import CARD, README, Card, Metrics, SplitMetrics, page
from discotree.models.folder import read_model
from discotree.parsing.parser import Parser, new_engine
from discotree.training.data import Split, read_splits, resolve
from discotree.training.results import lemma_accuracy
from discotree.trees.tree import Tree

ROW = re.compile(r"\| ((?:dev|test)\b[^|]*) \|((?: [^|]+ \|)+)")
MADE = re.compile(r"^- Made by (.*?)(?: at commit \w+)?; settings: ", re.MULTILINE)
SHIPPED = "as shipped"
TOGETHER = "dev and test together"


def learn(train: Split, data: config.schema.Data, known: Container[str | None]) -> LemmaRules:
    """Return the rules for the lemmas of the training trees; ``known`` are the words of the model."""
    heads = HeadRules.load(data.heads, marked_first=data.marked_heads)
    pairs = zip(train.trees, train.sources, strict=True)
    trees = (to_dependencies(tree, heads, data.unaries) for tree, source in pairs if "tag" not in source.ignore)
    rules = LemmaRules.learn(trees, known, train.lexicon())
    if rules is None:
        raise SystemExit("the training trees have no lemmas, or only few")
    return rules


def accuracy(gold: Sequence[Tree], predicted: Sequence[Tree]) -> float | None:
    found = lemma_accuracy(gold, predicted).get("lemma")
    return None if found is None else round(found, 2)


def measured(card: Card, splits: dict[str, Split], parsed: dict[str, list[Tree]]) -> Card:
    """Return the card with the accuracy of lemmas."""

    def with_lemmas(scores: SplitMetrics, numbers: dict[str, Sequence[int]]) -> SplitMetrics:
        gold = {name: [splits[name].trees[k] for k in chosen] for name, chosen in numbers.items()}
        found = {name: [parsed[name][k] for k in chosen] for name, chosen in numbers.items()}
        lemmas = {name: accuracy(gold[name], found[name]) for name in numbers}
        if scores.together.f1 is not None:
            both = (
                [tree for trees in gold.values() for tree in trees],
                [tree for trees in found.values() for tree in trees],
            )
            lemmas["together"] = accuracy(*both)
        changed = {name: dataclasses.replace(getattr(scores, name), lemmas=value) for name, value in lemmas.items()}
        return dataclasses.replace(scores, **changed)

    others = {
        name: with_lemmas(scores, {split: of.by_source_name()[name] for split, of in splits.items()})
        if all(name in of.by_source_name() for of in splits.values())
        else scores
        for name, scores in card.other_scores.items()
    }
    scores = with_lemmas(card.scores, {name: range(len(split)) for name, split in splits.items()})
    return dataclasses.replace(card, scores=scores, other_scores=others)


def new_page(old: str, card: Card) -> str:
    """Return the page of a model with the new metrics; the metrics of other precisions stay."""
    rows: dict[str, Metrics] = {}
    for label, cells in ROW.findall(old):
        numbers = [None if cell.strip() == "–" else float(cell) for cell in cells.split("|")[:-1]]
        split = "together" if label.startswith(TOGETHER) else label[: len("test")].strip(" ,")
        rows[label] = Metrics(*numbers)
        if SHIPPED in label or "," not in label:
            rows[label] = dataclasses.replace(rows[label], lemmas=getattr(card.scores, split).lemmas)
    made = MADE.search(old)
    return page(card, card.name, rows, *([made[1]] if made else []))


def main() -> None:
    options = argparse.ArgumentParser(description="Give a model rules for lemmas.")
    options.add_argument("model", help="a model of this repository (nl), or the folder of one")
    options.add_argument("--data", default="", help="the folder of the treebanks; $DISCOTREE_DATA by default")
    options.add_argument("--recipe", help="learn from the data of this recipe, in place of the model's own settings")
    options.add_argument("--out", type=Path, help="write to a copy of the model, in this folder")
    arguments = options.parse_args()
    folder = model_folder(arguments.model, MODELS) if arguments.model in ABOUT else Path(arguments.model)
    model = read_model(folder)
    settings = config.load_recipe(arguments.recipe) if arguments.recipe else model.config
    data = resolve(dataclasses.replace(settings.data, folder=arguments.data))
    splits = read_splits(data)
    rules = learn(splits.pop("train"), data, model.vocab.words.ids)
    model = dataclasses.replace(model, vocab=dataclasses.replace(model.vocab, lemmas=rules))
    parser = Parser(model, new_engine(model))
    parsed = {name: list(parser.parse(split.trees)) for name, split in splits.items()}
    if arguments.out:
        shutil.copytree(folder, arguments.out)
        folder = arguments.out
    texts = {VOCAB: model.vocab.to_json() + "\n"}
    if (folder / CARD).exists():
        card = measured(Card.read(folder / CARD), splits, parsed)
        texts |= {CARD: card.to_json(), README: new_page((folder / README).read_text("utf-8"), card)}
    for name, text in texts.items():
        with writable(str(folder / name)) as stream:
            stream.write(text.encode())
    for name, split in splits.items():
        print(f"{name}: {accuracy(split.trees, parsed[name])} % of the lemmas are right")
    print(f"{sum(len(part) for parts in rules.endings.values() for part in parts):,} rules, written to {folder}")


if __name__ == "__main__":
    main()
