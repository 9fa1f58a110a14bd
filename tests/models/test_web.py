"""`discotree export --web`: a folder that the JavaScript package loads, complete or not there at all."""

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import make_javascript
import numpy as np
import onnxruntime as ort
import pytest
from support.encoders import saved_bert
from support.models import CARD, saved_model, with_card
from support.networks import CALM, TREES, parser_of
from support.pages import ROOT

import discotree as dt
from discotree.cli import app
from discotree.errors import DiscotreeError, ModelError
from discotree.models.finding import find
from discotree.models.folder import read_model, write_model
from discotree.models.web import write_web_model
from discotree.network.batch import Corpus

WORDS = [["Es", "kam", "nichts", "Neues", "1984", "."], ["Ja"]]
COMMON = ["labeler.onnx.gz", "model.json", "network.onnx.gz"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "model")


def export(*arguments: str) -> None:
    app(["export", *arguments], standalone_mode=False)


def run(content: bytes, feeds: dict[str, Any]) -> dict[str, Any]:
    session = ort.InferenceSession(gzip.decompress(content), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    inputs = [value.name for value in session.get_inputs()]
    return dict(zip(names, session.run(names, {name: feeds[name] for name in inputs}), strict=True))


def subword_features(parser: dt.Parser, batch: Any) -> Any:
    """The vector of the first piece of every word, and the mean over all its pieces."""
    table = parser.model.subwords.vectors.dense()  # type: ignore[union-attr]
    rows = []
    for pieces, first, last in zip(batch.pieces, batch.first, batch.last, strict=True):
        spans = [table[pieces[a : b + 1]] for a, b in zip(first, last, strict=True)]
        rows.append([np.concatenate([span[0], span.mean(0, dtype=np.float64)]) for span in spans])
    return np.array(rows, np.float32)


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed model for the web."""
    folder = tmp_path_factory.mktemp("web") / "de"
    size = write_web_model(read_model(find("de")), folder)
    assert size == sum(path.stat().st_size for path in folder.iterdir()) < 18_000_000
    return folder


@pytest.mark.parametrize("name", ["tiny", pytest.param("de", marks=pytest.mark.slow)])
def test_the_graphs_give_the_scores_of_the_parser(
    tmp_path: Path, model: Path, name: str, request: pytest.FixtureRequest
) -> None:
    if name == "de":
        folder, web = find("de"), request.getfixturevalue("german")
    else:
        folder, web = model, tmp_path / "web"
        write_web_model(read_model(model), web)
    parser = dt.load(folder, "cpu", engine="onnx-float32", threads=1)
    corpus = Corpus([parser.tokens(words) for words in WORDS], parser._forms())
    batch = corpus.batch(np.arange(len(WORDS)))
    scores = parser.engine.start(batch)()
    feeds = dict(vars(batch))
    if parser.model.subwords:
        feeds["subwords"] = subword_features(parser, batch)
    found = run((web / "network.onnx.gz").read_bytes(), feeds)
    for row, n in enumerate(scores.lengths.tolist()):
        assert np.abs(found["arcs"][row, :n, : n + 1] - scores.arcs[row, :n, : n + 1]).max() < 1e-4
        assert np.abs(found["dependents"][row, :n] - scores.dependents[row, :n]).max() < 1e-4
        for head, classes in scores.auxiliary.items():
            assert np.array_equal(found[f"{head}.classes"][row, :n], classes.classes[row, :n])
    heads = scores.heads[0]
    weights = run((web / "labeler.onnx.gz").read_bytes(), {"heads": heads})["weights"]
    wanted = parser.engine._projected(heads)  # type: ignore[attr-defined]
    assert np.abs(weights - wanted).max() < 1e-3 * np.abs(wanted).max()


def test_the_index_names_all_files_with_their_digests(tmp_path: Path, model: Path) -> None:
    folder = tmp_path / "licensed"
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).symlink_to(file)
    with_card(folder)
    (folder / "LICENSE").write_text("Do as you please.")
    export(str(folder), "--web", str(tmp_path / "web"))
    assert sorted(path.name for path in (tmp_path / "web").iterdir()) == ["LICENSE", "card.json", *COMMON]
    index = json.loads((tmp_path / "web" / "model.json").read_text("utf-8"))
    assert index["name"] == CARD["name"]
    assert set(index["outputs"]) == {"tag", "morph", "function", "unary", "spine"}
    for name, about in index["files"].items():
        content = (tmp_path / "web" / name).read_bytes()
        assert about == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    before = (tmp_path / "web" / "model.json").read_bytes()
    export(str(folder), "--web", str(tmp_path / "web"))  # again: the same bytes, so that caches stay valid
    assert (tmp_path / "web" / "model.json").read_bytes() == before


@pytest.mark.slow
def test_an_installed_model_comes_with_its_licences(german: Path) -> None:
    assert "Apache License" in (german / "LICENSE").read_text("utf-8")
    assert "SQUOIA" in (german / "NOTICE").read_text("utf-8")
    assert "Universal Sentence Encoder" in (german / "NOTICE.subwords").read_text("utf-8")


def test_other_models_and_folders_are_refused(tmp_path: Path, model: Path) -> None:
    encoder = saved_bert(tmp_path / "bert")
    write_model(parser_of(TREES, replace(CALM, encoder=f"hf:{encoder}")).model, tmp_path / "large")
    with pytest.raises(ModelError, match="a model with a Transformer cannot be exported for the web"):
        export(str(tmp_path / "large"), "--web", str(tmp_path / "web"))
    with pytest.raises(ModelError, match="a model that reads tags cannot be exported"):
        export(str(saved_model(tmp_path / "tags", tags="gold")), "--web", str(tmp_path / "web"))
    content = read_model(model)
    greedy = replace(
        content, config=replace(content.config, decoding=replace(content.config.decoding, method="greedy"))
    )
    with pytest.raises(ModelError, match="its decoding method is 'greedy', the web supports 'exact' only"):
        write_web_model(greedy, tmp_path / "web")
    with pytest.raises(DiscotreeError, match="is inside the input folder"):
        export(str(model), "--web", str(model / "web"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("mine")
    with pytest.raises(ModelError, match="exists and is not a model for the web; not overwritten"):
        export(str(model), "--web", str(tmp_path / "mine"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]
    assert not (tmp_path / "web").exists()


def test_the_language_files_are_up_to_date() -> None:
    folder = ROOT / "js" / "src" / "languages"
    found = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    assert found == make_javascript.modules(), "run python tools/make_javascript.py"


def test_the_package_has_the_version_of_the_project() -> None:
    for name in ("package.json", "package-lock.json"):
        text = (ROOT / "js" / name).read_text("utf-8")
        assert json.loads(text)["version"] == dt.__version__
        assert "resolved" not in text  # it would name the registry that somebody used
