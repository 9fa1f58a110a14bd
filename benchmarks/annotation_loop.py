"""The annotation loop with gold trees as the annotator: choose sentences, take their trees, fine-tune, measure.

    DISCOTREE_DATA=FOLDER python benchmarks/annotation_loop.py TREEBANK -o RUNS [--model nl] [--sentences 100]
        [--choose random uncertain] [--seeds 1] [--set training.epochs=20] [--from-nothing network.lstm_size=256]

The treebank must be one that the model has not learned from. Half of its sentences, drawn at random, are held out; the
annotator gets some of the others: random ones, or the ones that the model is least certain of. The latter come from
`discotree annotate`, a real server that hands out one sentence after the other: where its tree is not the gold tree,
that is what the annotator saves. `discotree train --base MODEL` learns from the trees. Before and after, the model
parses the held-out half, and the test split of its own recipe to measure forgetting. With --from-nothing and the
settings of a network, the random sentences also train a fresh one.

Finished trainings in RUNS are not repeated.
"""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import discotree as dt
from discotree.training.data import load_held_out, resolve

PORT = 8765
HEADER = f"{'':34}{'words':>7}  {'F1':>6}{'disc. F1':>9}{'exact':>7}   {'own F1':>7}{'disc. F1':>9}{'exact':>7}"


def halves(trees: Sequence[dt.Tree]) -> tuple[list[dt.Tree], list[dt.Tree]]:
    """Return two random halves of distinct sentences: to choose from, and to measure on."""
    distinct = list({tree.words: tree for tree in trees}.values())
    random.Random(0).shuffle(distinct)
    return distinct[: len(distinct) // 2], distinct[len(distinct) // 2 :]


def annotated(pool: Sequence[dt.Tree], count: int, model: str, folder: Path) -> list[dt.Tree]:
    """Return the trees that an annotator with the gold trees makes, of the sentences that the server hands out."""
    file, finished = folder / "pool.export", folder / "annotated.export"
    dt.write(pool, file)
    for old in (finished, Path(f"{file}.annotation.jsonl")):
        old.unlink(missing_ok=True)
    gold = {tree.words: tree for tree in pool}
    address = f"http://127.0.0.1:{PORT}/api/annotate"
    options = ["--model", model, "-o", str(finished), "--port", str(PORT)]
    server = subprocess.Popen([sys.executable, "-m", "discotree", "annotate", str(file), *options])
    try:
        while (overview := ask(address)) is None or overview["is_parsing"]:
            time.sleep(0.5)
        corrected = 0
        for _ in range(count):
            sentence = ask(f"{address}/next", session="loop", who="gold")
            tree = dt.Tree.from_dict(sentence["tree"])
            right = gold[tree.words]
            action = {"action": "accept"} if same(tree, right) else {"action": "correct", "tree": right.to_dict()}
            corrected += action["action"] == "correct"
            step = {"session": "loop", "who": "gold", "sentence": sentence["sentence"], "version": sentence["version"]}
            ask(f"{address}/step", **step, **action)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    print(f"annotated: {count - corrected} trees accepted, {corrected} corrected", flush=True)
    return list(dt.read(finished))


def same(predicted: dt.Tree, gold: dt.Tree) -> bool:
    """Tell whether an annotator of constituents, tags and functions would leave a tree as it is."""
    words = [[(token.tag, token.function) for token in tree.tokens] for tree in (predicted, gold)]
    return predicted.root == gold.root and words[0] == words[1]


def ask(address: str, **body: Any) -> Any:
    """Return what the server answers, None before it listens."""
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        sys.exit(f"{address}: {error.read().decode()}")
    except urllib.error.URLError:
        return None


def train(folder: Path, *arguments: str) -> str:
    """Run `discotree train` unless it has been run, and return the folder of its model."""
    if not (folder / "results.json").exists():
        command = [sys.executable, "-m", "discotree", "train", *arguments, "-o", str(folder)]
        subprocess.run(command, check=True)
    return str(folder / "model")


def recipe(path: Path, trees: Path, parser: dt.Parser) -> str:
    """Write a recipe that trains from nothing on these trees."""
    data = {"train": [str(trees.absolute())], "hold_out": 10, "heads": parser.config.data.heads}
    lines = [f"{name} = {json.dumps(value)}" for name, value in data.items()]
    path.write_text("\n".join([f'language = "{parser.config.language}"', "[data]", *lines, ""]), "utf-8")
    return str(path)


def scores(model: str, *golds: Sequence[dt.Tree]) -> Iterator[float]:
    parser = dt.load(model, "cpu")
    for gold in golds:
        score = dt.evaluate(gold, list(parser.parse(gold)))
        yield from (score.f1, score.discontinuous.f1, score.exact_match)


def show(name: str, words: int, values: Sequence[float]) -> None:
    first, second = (f"{a:>7.2f}{b:>8.2f}{c:>8.2f}" for a, b, c in (values[:3], values[3:]))
    print(f"{name:34}{words:>7,} {first}   {second}", flush=True)


def settings(values: Sequence[str]) -> list[str]:
    return [word for value in values for word in ("--set", value)]


def main() -> None:
    arguments = argparse.ArgumentParser(description="Measure the annotation loop with gold trees as the annotator.")
    arguments.add_argument("treebank")
    arguments.add_argument("-o", "--output", type=Path, required=True, metavar="RUNS")
    arguments.add_argument("--model", default="nl")
    arguments.add_argument("--sentences", type=int, default=100)
    arguments.add_argument("--choose", nargs="*", choices=("random", "uncertain"), default=["random", "uncertain"])
    arguments.add_argument("--seeds", type=int, default=1)
    arguments.add_argument("--set", dest="settings", action="append", default=[], metavar="SECTION.NAME=VALUE")
    arguments.add_argument("--from-nothing", nargs="*", metavar="SECTION.NAME=VALUE")
    arguments.add_argument("--variant", default="", help="name of these settings, for the folders of their runs")
    given = arguments.parse_args()

    pool, held_out = halves(list(dt.read(given.treebank)))
    parser = dt.load(given.model, "cpu")
    own = load_held_out(resolve(parser.config.data), "test").trees
    given.output.mkdir(parents=True, exist_ok=True)
    print(f"{len(held_out):,} sentences held out of {given.treebank}; {len(own):,} of the model's own test split\n")
    print(HEADER)
    show(given.model, 0, list(scores(given.model, held_out, own)))
    for how in given.choose:
        for seed in range(1, given.seeds + 1):
            if how == "uncertain":
                trees = annotated(pool, given.sentences, given.model, given.output)
            else:
                trees = random.Random(seed).sample(pool, given.sentences)
            name = "-".join(filter(None, (how, str(given.sentences), str(seed))))
            file = given.output / f"{name}.export"
            dt.write(trees, file)
            words = sum(len(tree.tokens) for tree in trees)
            seeded = settings([f"training.seed={seed}", *given.settings])
            run = given.output / "-".join(filter(None, (name, given.variant)))
            tuned = train(run, "--from", given.model, "--train", str(file), *seeded)
            show(run.name, words, list(scores(tuned, held_out, own)))
            if given.from_nothing is not None and how == "random":
                fresh = recipe(given.output / f"{name}.toml", file, parser)
                run = given.output / f"{name}-nothing"
                seeded = settings([f"training.seed={seed}", *given.from_nothing])
                show(run.name, words, list(scores(train(run, fresh, *seeded), held_out, own)))


if __name__ == "__main__":
    main()
