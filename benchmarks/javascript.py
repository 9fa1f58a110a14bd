"""Compare the JavaScript package with Python: do they give the same trees of raw text, and how fast are they?

    python benchmarks/javascript.py nl text-1.txt.bz2 text-2.txt.bz2 --sentences 2000 --rounds 50

Exports the model for the web, parses the same paragraphs (one per line) with Node and with the engine ``onnx-float32``,
and compares the records: tokens and their offsets, tags, constituents, functions, confidences. Both compute in single
precision, but in another order, so scores differ in their last digits. For every tree that differs, the two values that
were compared in Python are printed: a difference that is no larger than rounding is a tie. With ``--rounds``, it
measures the milliseconds for a sentence of 20 words, and the sentences per second of a long text, both in processor
time on one thread. Needs npm ci in js/. Exits with 1 if tokens differ, or more than 0.1 % of the trees.
"""

import argparse
import bz2
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import discotree as dt
from discotree.decoding.k_best import k_best
from discotree.models.finding import find
from discotree.models.folder import read_model
from discotree.models.web import write_web_model

SCRIPT = Path(__file__).with_suffix(".mjs")
MAX_SHARE = 0.001  # of trees that may differ
CANDIDATES = 100  # trees among which that of JavaScript is looked for
SENTENCES = {  # of 20 words
    "de": "Er hat gestern in der kleinen Stadt am Fluss ein Haus gekauft , das ihm schon lange gefallen hat .",
    "en": "The train that we took to the city yesterday was late again because of the snow on the tracks .",
    "is": "Þá sagði hann að konan hafði séð hestinn sem var í garðinum hjá bróður hennar í gær um kvöldið .",
    "nl": "Zij heeft gisteren in de trein naar Groningen het boek gelezen dat ik haar vorig jaar voor haar feest gaf .",
}


def run_node(folder: Path, texts: Sequence[str], sentence: str = "", rounds: int = 0) -> dict[str, Any]:
    """Return the records and times of Node."""
    task = json.dumps({"texts": texts, "sentence": sentence, "rounds": rounds})
    done = subprocess.run(["node", SCRIPT, folder], input=task, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def with_python_offsets(records: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """Return records whose offsets count characters, where JavaScript counts UTF-16 code units."""
    positions: list[int] = []
    for position, character in enumerate(text):
        positions += [position] * (2 if ord(character) > 0xFFFF else 1)
    positions.append(len(text))
    for record in records:
        for token in record["tokens"]:
            token["start"], token["end"] = positions[token["start"]], positions[token["end"]]
    return records


def without_confidences(record: dict[str, Any]) -> dict[str, Any]:
    nodes = [{key: value for key, value in node.items() if key != "confidence"} for node in record["constituents"]]
    return {"id": record["id"], "tokens": record["tokens"], "constituents": nodes}


def confidences(record: dict[str, Any]) -> list[float]:
    return [record["confidence"], *(node["confidence"] for node in record["constituents"])]


def explain(parser: dt.Parser, record: dict[str, Any]) -> str:
    """Say how much less probable the tree of JavaScript is for Python."""
    tokens = parser.tokens([token["form"] for token in record["tokens"]])
    ((_, scores),) = parser._scores(parser._corpus([tokens]))
    penalties = parser._gap_penalties(parser.config.decoding)
    wanted = [(node["label"], node["positions"]) for node in record["constituents"]]

    def value(decoded: Any) -> float:
        penalty = penalties.total(decoded.heads[0].tolist(), decoded.labels[0].tolist()) if penalties else 0.0
        return float(decoded.log_probability[0]) - penalty

    best = parser._decode(scores)
    for decoded in (best, *k_best(scores, CANDIDATES)):
        tree = parser._tree_builder.trees([tokens], decoded, scores)[0].to_dict()
        if [(node["label"], node["positions"]) for node in tree["constituents"]] == wanted:
            return f"its log-probability differs by {value(best) - value(decoded):.2e}"
    return f"not among the {CANDIDATES} best trees"


def compare(parser: dt.Parser, texts: Sequence[str], found: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Return how many sentences were compared, and where the records of Python and JavaScript differ."""
    sentences, tokens, trees, largest = 0, [], [], 0.0
    for text, records in zip(texts, found, strict=True):
        ours = [tree.to_dict() for tree in parser.parse_text(text)]
        sentences += len(ours)
        theirs = with_python_offsets(records, text)
        words = [[[(t["form"], t["start"], t["end"]) for t in r["tokens"]] for r in rs] for rs in (ours, theirs)]
        if words[0] != words[1]:
            tokens.append(text)
            continue
        for one, other in zip(ours, theirs, strict=True):
            if without_confidences(one) != without_confidences(other):
                trees.append((one, other))
            else:
                pairs = zip(confidences(one), confidences(other), strict=True)
                largest = max([largest, *(abs(a - b) for a, b in pairs)])
    return {"sentences": sentences, "tokens": tokens, "trees": trees, "confidence": largest}


def paragraphs(paths: Sequence[Path], parser: dt.Parser, sentences: int) -> list[str]:
    """Return paragraphs with at least this number of sentences, the same number from every file."""
    texts: list[str] = []
    for path in paths:
        count = 0
        with bz2.open(path, "rt", encoding="utf-8") if path.suffix == ".bz2" else path.open(encoding="utf-8") as file:
            for line in islice(file, 0, None, 3):
                if count * len(paths) >= sentences:
                    break
                found = list(parser._sentences(line))
                if any(len(sentence) > 100 for sentence in found):
                    continue
                texts.append(line.rstrip("\n"))
                count += len(found)
    return texts


def python_speed(parser: dt.Parser, sentence: str, texts: Sequence[str], rounds: int) -> tuple[list[float], float]:
    """Return milliseconds for one sentence in every round, and sentences per second for a text."""
    single = []
    for _ in range(rounds):
        begin = time.process_time()
        list(parser.parse_text(sentence))
        single.append(1000 * (time.process_time() - begin))
    begin = time.process_time()
    count = len(list(parser.parse_text("\n\n".join(texts[:400]))))
    return single, count / (time.process_time() - begin)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("model")
    options.add_argument("texts", nargs="+", type=Path)
    options.add_argument("--sentences", type=int, default=2000)
    options.add_argument("--rounds", type=int, default=0)
    chosen = options.parse_args()
    parser = dt.load(chosen.model, "cpu", engine="onnx-float32", threads=1)
    texts = paragraphs(chosen.texts, parser, chosen.sentences)
    sentence = SENTENCES.get(parser.config.language, "")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "model")
        size = write_web_model(read_model(find(chosen.model)), folder)
        result = run_node(folder, texts, sentence, chosen.rounds)
    found = compare(parser, texts, result["records"])
    share = len(found["trees"]) / found["sentences"]
    print(f"{chosen.model}: {size:,} bytes; {found['sentences']} sentences,")
    print(f"  {len(found['tokens'])} texts with other tokens,")
    print(f"  {len(found['trees'])} other trees ({share:.2%}); confidences differ by at most {found['confidence']:.1e}")
    for text in found["tokens"]:
        print(f"  other tokens: {text!r:.200}")
    for one, other in found["trees"]:
        print(f"  {' '.join([token['form'] for token in one['tokens']])}")
        print(f"    {explain(parser, other)}")
        pairs = zip(one["tokens"], other["tokens"], strict=True)
        print("".join(f"    token {k}: {a} / {b}\n" for k, (a, b) in enumerate(pairs) if a != b), end="")
    if chosen.rounds:
        times = result["times"]
        rows = {"JavaScript (wasm, 1 thread)": (times["single"], times["perSecond"])}
        for engine in ("onnx-float32", "onnx"):
            other = dt.load(chosen.model, "cpu", engine=engine, threads=1)
            rows[f"Python, {engine}, 1 thread"] = python_speed(other, sentence, texts, chosen.rounds)
        print(f"  loaded in {times['loaded']:.0f} ms")
        for name, (single, speed) in rows.items():
            warm = single[chosen.rounds // 2 :]  # the first rounds of JavaScript run code that is not yet optimised
            shown = f"{median(warm):.1f} ms for 20 words (fastest: {min(warm):.1f}), {speed:.1f} sentences/s"
            print(f"  {name}: {shown}")
    sys.exit(bool(found["tokens"]) or share > MAX_SHARE)


if __name__ == "__main__":
    main()
