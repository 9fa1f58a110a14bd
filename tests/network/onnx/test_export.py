"""The exported file: valid, complete, and it says what the engine says."""

import dataclasses
import json

import numpy as np
import onnxruntime as ort
import pytest
from support.encoders import saved_bert
from support.engines import engines, random_weights, untrained
from support.networks import CALM, TREES, corpus_for, parser_of
from tokenizers import Tokenizer

from discotree.errors import ModelError
from discotree.network.onnx import export as module
from discotree.network.onnx.export import export
from discotree.network.vocab import Vocab

onnx = pytest.importorskip("onnx")


def exported(parser, weights, path, precision="float32"):
    parts = (parser.config.network, parser.vocab, parser.has_tags, parser.model.subwords, weights)
    export(*parts, path, precision)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("precision", ["float32", "int8"])
@pytest.mark.parametrize("name", ["tags", "no auxiliary heads"])
def test_the_file_says_what_the_engine_says(tmp_path, name, precision):
    parser = untrained(name)
    weights = random_weights(parser)
    session = exported(parser, weights, tmp_path / "network.onnx", precision)
    batch = corpus_for(parser).batch(np.arange(len(TREES)))
    best = np.full(batch.words.shape, -1)
    feed = {value.name: {**vars(batch), "chosen": best}[value.name] for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    found = dict(zip(names, session.run(names, feed), strict=True))
    expected = engines(parser, weights, precision)[1].start(batch)()
    inside = expected.mask
    assert np.abs(found["heads"] - expected.heads).max() < 1e-4
    labels = expected.labels_of(expected.arcs.argmax(2))
    assert np.abs(found["labels"] - labels)[inside].max() < (1e-4 if precision == "float32" else 0.2)
    for head, values in expected.auxiliary.items():
        assert np.array_equal(found[f"{head}.classes"], values.classes)
    again = dict(zip(names, session.run(names, feed | {"chosen": np.zeros_like(best)}), strict=True))
    roots = expected.labels_of(np.zeros_like(best))
    assert np.abs(again["labels"] - roots)[inside].max() < (1e-4 if precision == "float32" else 0.2)


def test_the_file_is_valid_and_tells_what_it_needs(tmp_path):
    parser = untrained("tags")
    path = tmp_path / "network.onnx"
    exported(parser, random_weights(parser), path)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert {opset.domain for opset in model.opset_import} == {""}  # standard operations only
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert Vocab.from_json(metadata["vocabulary"], "file") == parser.vocab
    assert json.loads(metadata["settings"])["lstm_size"] == parser.config.network.lstm_size
    assert metadata["precision"] == "float32"


def test_a_transformer_is_part_of_the_file(tmp_path):
    network = dataclasses.replace(CALM, encoder=f"hf:{saved_bert(tmp_path / 'bert')}")
    parser = parser_of(network=network)
    weights = random_weights(parser)
    session = exported(parser, weights, tmp_path / "network.onnx")
    batch = corpus_for(parser).batch(np.arange(5))
    feed = {**vars(batch), "chosen": np.zeros_like(batch.words)}
    (arcs,) = session.run(["arcs"], {value.name: feed[value.name] for value in session.get_inputs()})
    expected = engines(parser, weights)[1].start(batch)()
    assert np.abs(np.exp(arcs) - np.exp(expected.arcs))[expected.mask].max() < 1e-4
    metadata = session.get_modelmeta().custom_metadata_map
    rules, tokenizer = json.loads(metadata["pieces"]), Tokenizer.from_str(metadata["tokenizer"])
    assert (rules["space"], rules["at_most"]) == ("", 62)
    assert tokenizer.id_to_token(rules["unknown"]) == "[UNK]"
    assert [tokenizer.id_to_token(piece) for piece in rules["special"]] == ["[PAD]", "[CLS]", "[SEP]"]


def test_what_cannot_be_written_is_an_error_with_its_path(tmp_path, monkeypatch):
    parser = untrained("tags")
    weights = random_weights(parser)
    with pytest.raises(ModelError, match=r"nowhere.network\.onnx: cannot be written"):
        exported(parser, weights, tmp_path / "nowhere" / "network.onnx")
    monkeypatch.setattr(module, "MAX_BYTES", 1000)
    with pytest.raises(ModelError, match="an ONNX file holds at most 1,000"):
        exported(parser, weights, tmp_path / "network.onnx")
