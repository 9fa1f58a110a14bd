"""Compare two versions of discotree: do they write the same bytes, and which is faster?

    git worktree add ../before v0.2.0
    python benchmarks/same_output.py ../before/src TREEBANK… --oracle FOLDER --models nl=sentences.txt

Reads the first trees of every treebank and writes them in every text format, scores the pairs of files of an oracle
(``*.gold.dbr`` and ``*.cand.dbr``), and parses sentences with every model. Outputs are compared by their SHA-256, times
by the fastest of several rounds. Each version runs in processes of its own, with the same Python; the versions
alternate, so that both meet the same load. Exits with 1 if anything differs.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent.parent / "src"
TASK = r"""
import hashlib, json, sys, time
from dataclasses import replace
from itertools import islice
from pathlib import Path
import discotree as dt

task = json.loads(sys.argv[1])
digests, seconds = {}, {}

def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]

if task["kind"] == "treebank":
    broken = []
    began = time.perf_counter()
    trees = list(islice(dt.read(task["path"], on_error=lambda error: broken.append(str(error))), task["trees"]))
    seconds["read"] = time.perf_counter() - began
    digests["trees"] = f"{len(trees)} trees, {len(broken)} broken"
    digests["errors"] = hashlib.sha256("\n".join(broken).encode()).hexdigest()[:16]
    for format in task["formats"]:
        refused = []
        began = time.perf_counter()
        dt.write(trees, "out", format, on_error=lambda error: refused.append(str(error)))
        seconds[f"write {format}"] = time.perf_counter() - began
        digests[format] = f"{digest('out')}, {len(refused)} refused"
elif task["kind"] == "oracle":
    began = time.perf_counter()
    for gold in sorted(Path(task["path"]).glob("*.gold.dbr")):
        predicted = str(gold).replace(".gold.", ".cand.")
        score = dt.evaluate(list(dt.read(gold)), list(dt.read(predicted)))
        shown = [score.precision, score.recall, score.f1, score.discontinuous.f1, score.exact_match]
        digests[gold.name] = " ".join(f"{value:.6f}" for value in shown if value is not None)
    seconds["evaluate"] = time.perf_counter() - began
else:
    parser = dt.load(task["model"], device="cpu")
    sentences = [line.split(" ") for line in Path(task["path"]).read_text("utf-8").splitlines()]
    list(parser.parse(sentences[:8]))
    began = time.perf_counter()
    trees = list(parser.parse(sentences))
    seconds["parse"] = time.perf_counter() - began
    trees = [replace(tree, id=str(number)) for number, tree in enumerate(trees, 1)]
    dt.write(trees, "out", "export")
    confidences = repr([(tree.confidence, tree.confidences) for tree in trees])
    digests["trees"] = f"{digest('out')}, {len(trees)} trees"
    digests["confidences"] = hashlib.sha256(confidences.encode()).hexdigest()[:16]
print(json.dumps([digests, seconds]))
"""
FORMATS = ["export", "export3", "tigerxml", "alpino", "discbracket", "psd", "penn", "conllu"]


def run(source: Path, task: dict[str, object], folder: Path) -> tuple[dict[str, str], dict[str, float]]:
    """Run one task with one version; return digests of its outputs and seconds, by name."""
    environment = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    model = source.parent / str(task.get("model", ""))
    if "model" in task and model.is_dir():  # each version may have its own folder format
        task = task | {"model": str(model)}
    command = [sys.executable, "-c", TASK, json.dumps(task)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    digests, seconds = json.loads(done.stdout.splitlines()[-1])
    return digests, seconds


def compare(other: Path, task: dict[str, object], rounds: int, folder: Path) -> bool:
    """Run one task with both versions; print what differs and the ratios of their times."""
    fastest: list[dict[str, float]] = [{}, {}]
    outputs: list[dict[str, str]] = [{}, {}]
    for _ in range(rounds):
        for version, source in enumerate((other, HERE)):
            outputs[version], seconds = run(source, task, folder)
            for name, value in seconds.items():
                fastest[version][name] = min(value, fastest[version].get(name, value))
    name = task.get("model") or Path(str(task["path"])).name
    different = [key for key in outputs[0] if outputs[0][key] != outputs[1].get(key)]
    verdict = "same" if not different else f"DIFFERENT: {', '.join(different)}"
    ratios = "  ".join(f"{key} {fastest[1][key] / fastest[0][key]:.2f}" for key in fastest[0])
    print(f"{name:24} {verdict}; seconds, this / other: {ratios}", flush=True)
    for key in different:
        print(f"    {key}: {outputs[0][key]} → {outputs[1].get(key)}")
    return not different


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="src folder of the other version")
    parser.add_argument("treebanks", nargs="*", type=Path)
    parser.add_argument("--oracle", type=Path, help="folder of *.gold.dbr and *.cand.dbr")
    parser.add_argument(
        "--models",
        nargs="*",
        default=[],
        metavar="NAME=FILE",
        help="a model (or its folder below both versions), and sentences for it: tokens, one sentence per line",
    )
    parser.add_argument("--trees", type=int, default=1000, help="trees of each treebank")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the fastest counts")
    parser.add_argument("--folder", type=Path, default=Path(), help="scratch folder for outputs")
    options = parser.parse_args()
    tasks: list[dict[str, object]] = [
        {"kind": "treebank", "path": str(path.resolve()), "trees": options.trees, "formats": FORMATS}
        for path in options.treebanks
    ]
    if options.oracle:
        tasks.append({"kind": "oracle", "path": str(options.oracle.resolve())})
    for pair in options.models:
        model, _, path = pair.partition("=")
        tasks.append({"kind": "model", "model": model, "path": str(Path(path).resolve())})
    same = [compare(options.other.resolve(), task, options.rounds, options.folder) for task in tasks]
    sys.exit(0 if all(same) else 1)


if __name__ == "__main__":
    main()
