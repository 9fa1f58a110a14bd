"""`discotree export`: a file that runs without us, written whole or not at all."""

import json
import os
import sys
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import numpy as np
import onnxruntime as ort
import pytest
from support.encoders import saved_bert
from support.models import CARD, with_card
from support.networks import CALM, TREES, parser_of

import discotree as dt
from discotree.cli import app, main
from discotree.errors import DiscotreeError, ModelError
from discotree.models import finding
from discotree.models.folder import write_model
from discotree.network import transformer
from discotree.network.batch import Corpus

WORDS = [("Es", "kam", "nichts", "Neues", "1984", "."), ("Ja",)]


def export(*arguments: str) -> None:
    app(["export", *arguments], standalone_mode=False)


def session_of(path: Path) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def padded(rows: Any) -> Any:
    return np.array(list(zip_longest(*rows, fillvalue=0))).T


def scores_of(session: Any, sentences: Any) -> dict[str, Any]:
    """Return the outputs for some sentences; all that is known of the numbers is in the file."""
    metadata = session.get_modelmeta().custom_metadata_map
    vocabulary, settings = json.loads(metadata["vocabulary"]), json.loads(metadata["settings"])
    words = {word: number for number, word in enumerate(vocabulary["words"], 1)}
    chars = {char: number for number, char in enumerate(vocabulary["chars"], 2)}
    forms = [form for sentence in sentences for form in sentence]
    numbers = iter(range(len(forms)))
    same_digits = str.maketrans("123456789", "000000000")
    feed = {
        "lengths": np.array([len(sentence) for sentence in sentences]),
        "words": padded([[words.get(form.translate(same_digits), 0) for form in sentence] for sentence in sentences]),
        "chars": padded([[chars.get(char, 1) for char in form[: settings["max_chars"]]] for form in forms]),
        "form": padded([[next(numbers) for _ in sentence] for sentence in sentences]),
    }
    feed["chosen"] = np.full_like(feed["words"], -1)
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, feed), strict=True))


@pytest.mark.parametrize(("precision", "engine"), [("float32", "onnx-float32"), ("int8", "onnx")])
def test_the_file_gives_the_scores_of_the_parser(tmp_path: Path, model: Path, precision: str, engine: str) -> None:
    path = tmp_path / "out.onnx"
    export(str(model), "--onnx", str(path), "--precision", precision)
    session = session_of(path)
    found = scores_of(session, WORDS)
    parser = dt.load(model, "cpu", engine=engine)
    corpus = Corpus([parser.tokens(list(words)) for words in WORDS], parser._forms())
    for sentences, scores in parser._scores(corpus):
        for row, sentence in enumerate(sentences.tolist()):
            n = len(WORDS[sentence])
            assert np.abs(found["arcs"][sentence, :n, : n + 1] - scores.arcs[row, :n, : n + 1]).max() < 1e-4
            labels = scores.labels_of(found["arcs"].argmax(2)[[sentence]][:, : scores.arcs.shape[1]])[0, :n]
            assert np.abs(found["labels"][sentence, :n] - labels).max() < 0.01
            for head, classes in scores.auxiliary.items():
                assert np.array_equal(found[f"{head}.classes"][sentence, :n], classes.classes[row, :n])
    metadata = session.get_modelmeta().custom_metadata_map
    assert metadata["precision"] == precision
    assert "card" not in metadata


def test_a_terminal_is_no_place_for_a_file(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with pytest.raises(click.UsageError, match="an ONNX file cannot be shown on a terminal"):
        export(str(model), "--onnx", "-")


def test_the_licence_travels_with_the_file(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "licensed"
    folder.mkdir()
    for file in model.iterdir():
        (folder / file.name).symlink_to(file)
    with_card(folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["discotree", "export", "licensed", "--onnx", "out.onnx"])
    monkeypatch.setattr(finding, "_announced", set())
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    size = (tmp_path / "out.onnx").stat().st_size
    assert capsys.readouterr().err == (
        f"discotree: the model xx is for non-commercial use only (CC BY-NC 4.0)\n{size:,} bytes written to out.onnx\n"
    )
    metadata = session_of(tmp_path / "out.onnx").get_modelmeta().custom_metadata_map
    assert json.loads(metadata["card"])["licence"] == CARD["licence"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path, model: Path) -> None:
    before = {path: path.read_bytes() for path in model.iterdir()}
    for name in ("weights.safetensors", "new.onnx"):
        with pytest.raises(DiscotreeError, match="is inside the input folder"):
            export(str(model), "--onnx", str(model / name))
    os.link(model / "vocab.json", tmp_path / "same.onnx")
    with pytest.raises(DiscotreeError, match="is inside the input folder"):
        export(str(model), "--onnx", str(tmp_path / "same.onnx"))
    assert {path: path.read_bytes() for path in model.iterdir()} == before
    with pytest.raises(ModelError, match=r"nowhere.out\.onnx: cannot be written"):
        export(str(model), "--onnx", str(tmp_path / "nowhere" / "out.onnx"))
    with pytest.raises(ModelError, match="there is no model 'nowhere'"):
        export("nowhere", "--onnx", str(tmp_path / "out.onnx"))
    assert os.listdir(tmp_path) == ["same.onnx"]


def test_a_transformer_without_a_graph_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = saved_bert(tmp_path / "bert", hidden_act="mish")
    network = replace(CALM, encoder=f"hf:{encoder}")
    write_model(parser_of(TREES, network).model, tmp_path / "model")
    wanted = (
        r"model.*: this Transformer cannot be exported; supported types: bert, camembert, distilbert, electra, roberta"
    )
    with pytest.raises(ModelError, match=wanted):
        export(str(tmp_path / "model"), "--onnx", str(tmp_path / "out.onnx"))
    imported = transformer.import_module

    def without_library(name: str) -> Any:
        if name == "transformers":
            raise ModuleNotFoundError(name=name)
        return imported(name)

    monkeypatch.setattr(transformer, "import_module", without_library)
    with pytest.raises(ModelError, match=wanted):  # and no advice to install what would not help
        export(str(tmp_path / "model"), "--onnx", str(tmp_path / "out.onnx"))
    assert not (tmp_path / "out.onnx").exists()
