"""The folder of a model: it comes back as it was written, and everything else is refused with an address."""

import dataclasses
import json
import os
import pickle
import random
import shutil
import struct

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from support.networks import TINY, TREES, corpus_for, overfitted, parser_of, tensors, torch_parser

from discotree import HeadRules, Token
from discotree.config.recipes import DEFAULT
from discotree.errors import ModelError
from discotree.models import CONFIG, HEAD_RULES, VOCAB, WEIGHTS
from discotree.models.finding import fingerprint
from discotree.models.folder import FORMAT, network_name, read_model, stored_name, write_model
from discotree.parsing.parser import Parser
from discotree.training.run import network_in

WORDS = [[Token(token.form) for token in tree.tokens] for tree in TREES]


@pytest.fixture(scope="module")
def model():
    """The folder of a model that knows the trees by heart."""
    return overfitted()[0] / "run" / "model"


@pytest.fixture(scope="module")
def parser(model):
    return Parser.from_pretrained(model)


@pytest.fixture
def folder(model, tmp_path):
    """A copy of the model that may be broken."""
    return shutil.copytree(model, tmp_path / "model")


def refused(folder):
    with pytest.raises(ModelError) as caught:
        read_model(folder)
    message = str(caught.value)
    assert message.startswith(str(folder))
    return message.removeprefix(str(folder))


def test_a_model_comes_back_with_the_same_trees(parser, tmp_path):
    write_model(parser.model, tmp_path / "again")
    again = Parser.from_pretrained(tmp_path / "again")
    assert again.config == parser.config
    assert again.vocab == parser.vocab
    trees = parser._parse_tokens(WORDS)
    found = again._parse_tokens(WORDS)
    assert found == trees
    assert [tree.confidence for tree in found] == [tree.confidence for tree in trees]  # both are of half precision


@pytest.mark.parametrize("tags", ["none", "gold"])
@pytest.mark.parametrize("subwords", ["", DEFAULT.network.subwords])
def test_half_precision_is_all_that_is_lost(tmp_path, tags, subwords):
    parser = parser_of(network=dataclasses.replace(TINY, subwords=subwords), tags=tags)
    write_model(parser.model, tmp_path / "model")
    again = torch_parser(read_model(tmp_path / "model"))
    for name, value in parser.model.weights.items():
        found = again.model.weights[name]
        assert found.dtype == np.float16
        assert np.array_equal(found, value.astype(np.float16)), name
    one, other = (network_in(p).eval() for p in (parser, again))
    assert other.encoder.singleton.tolist() == one.encoder.singleton.tolist()
    assert {value.dtype for value in other.parameters()} == {torch.float32}
    batch = tensors(corpus_for(again), range(20))
    with torch.no_grad():
        torch.testing.assert_close(one(batch).arcs, other(batch).arcs, atol=0.01, rtol=0.01)


def test_a_folder_holds_json_and_safetensors_and_no_pickle(model):
    assert {path.name for path in model.iterdir()} == {CONFIG, VOCAB, WEIGHTS}
    assert json.loads((model / CONFIG).read_text("utf-8"))["format"] == FORMAT
    assert {tensor.dtype for tensor in load_file(model / WEIGHTS).values()} == {torch.float16}
    for path in model.iterdir():
        with pytest.raises((pickle.UnpicklingError, EOFError, KeyError, ValueError, IndexError)):
            pickle.loads(path.read_bytes())
        assert b"torch._utils" not in path.read_bytes()


def test_saving_takes_the_place_of_an_older_model(folder):
    (folder / "left.over").write_text("of another time")
    parser = parser_of(network=TINY)
    write_model(parser.model, folder)
    assert {path.name for path in folder.iterdir()} == {CONFIG, VOCAB, WEIGHTS}
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert Parser.from_pretrained(folder).config.network == TINY


def test_a_model_is_saved_where_no_folder_was(tmp_path):
    write_model(parser_of(network=TINY).model, tmp_path / "a" / "b" / "model")
    assert Parser.from_pretrained(str(tmp_path / "a" / "b" / "model")).config.network == TINY


def test_the_older_model_survives_when_saving_fails(folder, parser, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("discotree.models.folder.save_file", full)
        with pytest.raises(OSError, match="No space left"):
            write_model(parser_of(network=TINY).model, folder)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert Parser.from_pretrained(folder)._parse_tokens(WORDS) == parser._parse_tokens(WORDS)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    assert "not a model" in refused(tmp_path)
    assert "not a model" in refused(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    assert "not a model" in refused(tmp_path / "file")


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert name in refused(folder)
    (folder / name).mkdir()
    assert refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
@pytest.mark.parametrize("content", [b"", b"\0" * 8, b"\xff\xfe", b"[]", b"{}", b"null", b'"a"', b"[" * 100_000])
def test_a_foreign_file_is_refused(folder, name, content):
    (folder / name).write_bytes(content)
    assert refused(folder)


def change(folder, name, edit):
    table = json.loads((folder / name).read_text("utf-8"))
    edit(table)
    (folder / name).write_text(json.dumps(table), "utf-8")


@pytest.mark.parametrize("format", [FORMAT + 1, 10**6])
def test_a_newer_model_is_refused_with_advice(folder, format):
    change(folder, CONFIG, lambda table: table.update(format=format, config={"unheard": "of"}))
    assert f"made by a newer discotree (format {format}, this one knows {FORMAT}): upgrade it" in refused(folder)


@pytest.mark.parametrize("format", [None, "1", [], 1.5])
def test_a_format_that_is_none_is_refused(folder, format):
    change(folder, CONFIG, lambda table: table.update(format=format))
    assert "not the configuration of a discotree model" in refused(folder)


@pytest.mark.parametrize(
    ("section", "setting", "complaint"),
    [
        ("network", {"lstm_sise": 3}, "unknown key 'lstm_sise'"),
        ("network", {"lstm_size": "3"}, "lstm_size: expected int, got '3'"),
        ("network", {"lstm_size": 3}, "has the shape"),
        ("network", {"lstm_size": 0}, "lstm_size: expected at least 1"),
        ("network", {"lstm_layers": 0}, "lstm_layers: expected at least 1"),
        ("network", {"char_window": -1}, "char_window: expected at least 1"),
        ("network", {"arc_size": 16_384}, "has the shape"),
        ("network", {"label_size": 10**30}, "label_size: expected at least 1"),
        ("network", {"lstm_layers": 2}, "the weights belong to another network"),
        ("network", {"tag_weight": 0.0}, "small.tag.bias does not belong there: the weights belong to another network"),
        ("network", {"subwords": "klingon"}, "subwords: expected one of '', 'latin', got 'klingon'"),
        ("data", {"tags": "gold"}, "encoder.tags.weight is missing: the weights belong to another network"),
        ("data", {"tags": "golden"}, "tags: expected one of 'none', 'gold', 'predicted', got 'golden'"),
        ("decoding", {"method": "guess"}, "method: expected one of 'greedy', 'beam', 'exact', got 'guess'"),
        ("training", {"seed": None}, "seed: expected int, got None"),
        ("training", {"epsilon": 10**400}, "epsilon: expected float"),
    ],
    ids=str,
)
def test_settings_that_do_not_fit_are_named(folder, section, setting, complaint):
    change(folder, CONFIG, lambda table: table["config"][section].update(setting))
    assert complaint in refused(folder)


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda table: table["words"].append("one more"), "encoder.words.weight has the shape"),
        (lambda table: table["words"].pop(), "encoder.words.weight has the shape"),
        (lambda table: table.update(chars=table["chars"][1:]), "encoder.chars.table.weight has the shape"),
        (lambda table: table["labels"].pop(), "label_bilinear has the shape"),
        (lambda table: table.update(labels=[]), "labels, root or classes are missing"),
        (lambda table: table["outputs"]["tag"].pop(), "small.tag.weight has the shape"),
        (lambda table: table["outputs"].pop("tag"), "KeyError('tag')"),
        (lambda table: table["words"].append(table["words"][0]), "stands twice"),
        (lambda table: table.pop("root"), "KeyError('root')"),
        (lambda table: table.update(head_functions=None), "not a vocabulary"),
    ],
)
def test_a_vocabulary_that_does_not_fit_is_refused(folder, edit, complaint):
    change(folder, VOCAB, edit)
    assert complaint in refused(folder)


def test_weights_of_another_network_are_refused(folder, tmp_path):
    other = parser_of(network=TINY)
    write_model(other.model, tmp_path / "other")
    shutil.copy(tmp_path / "other" / WEIGHTS, folder / WEIGHTS)
    assert "encoder.lstm.layers.1" in refused(folder)
    weights = load_file(tmp_path / "other" / WEIGHTS)
    save_file({"x": weights["arc_bilinear"]}, folder / WEIGHTS)
    assert "the weights belong to another network" in refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS])
def test_a_file_that_was_cut_off_is_refused(folder, name):
    whole = (folder / name).read_bytes()
    rng = random.Random(0)
    for size in [0, 1, len(whole) // 2, len(whole) - 3, *(rng.randrange(len(whole) - 3) for _ in range(20))]:
        (folder / name).write_bytes(whole[:size])
        assert refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB])
def test_flipped_bytes_are_a_model_error_or_a_model_that_works(folder, name):
    whole = (folder / name).read_bytes()
    digits = [place for place, byte in enumerate(whole) if byte in b"123456789"]  # where a change may go unnoticed
    rng = random.Random(1)
    works = 0
    for _ in range(25):
        broken = bytearray(whole)
        for _ in range(rng.choice([1, 1, 3])):
            broken[rng.choice([rng.randrange(len(broken)), rng.choice(digits)])] = rng.choice(
                [rng.randrange(256), *b'0123456789"-,[]{}e']
            )
        (folder / name).write_bytes(broken)
        parser, complaint = None, ""
        try:
            parser = Parser.from_pretrained(folder)
        except ModelError as error:
            complaint = str(error)
        if parser is None:
            assert complaint.startswith(str(folder))
        else:
            works += 1
            assert [tree.words for tree in parser._parse_tokens(WORDS[:3])] == [tree.words for tree in TREES[:3]]
    assert 0 < works < 25


def test_loading_a_vocabulary_of_odd_words(tmp_path):
    """What JSON has to escape comes back through the file, too."""
    odd = ['"', "\\", "\0", "\u2028", "😀", "\n", "e\u0301", "</script>"]
    tree = dataclasses.replace(TREES[1], tokens=tuple(Token(form, "X") for form in odd[: len(TREES[1])]))
    parser = parser_of([tree], TINY)
    write_model(parser.model, tmp_path / "model")
    assert Parser.from_pretrained(tmp_path / "model").vocab == parser.vocab


def test_a_folder_that_is_no_model_is_not_replaced(tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("years of work")
    with pytest.raises(ModelError, match="the folder exists and is not a discotree model"):
        write_model(parser_of().model, folder)
    assert (folder / "chapter1.txt").read_text() == "years of work"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_weights_keep_the_names_that_files_always_had(tmp_path):
    parser = parser_of(network=TINY)
    write_model(parser.model, tmp_path / "model")
    stored = load_file(tmp_path / "model" / WEIGHTS)
    assert {name for name in stored if "tag.weight" in name} == {"small.tag.weight"}
    assert not any(name.startswith("auxiliary") for name in stored)
    names = list(parser.model.weights)
    assert "auxiliary.tag.weight" in names
    assert [network_name(stored_name(name)) for name in names] == names


FOREIGN = {
    torch.bfloat16: "BF16",
    torch.float8_e5m2: "F8_E5M2",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.bool: "BOOL",
    torch.complex64: "C64",
}


@pytest.mark.parametrize("dtype", FOREIGN)
def test_numbers_that_nobody_can_compute_with_are_refused(folder, dtype):
    weights = load_file(folder / WEIGHTS)
    save_file(weights | {"arc_bilinear": weights["arc_bilinear"].to(dtype)}, folder / WEIGHTS)
    message = refused(folder)
    assert "the weights cannot be read" in message or "arc_bilinear has" in message


def test_whole_numbers_without_steps_are_refused(folder):
    weights = load_file(folder / WEIGHTS)
    save_file(weights | {"arc_bilinear": weights["arc_bilinear"].to(torch.int8)}, folder / WEIGHTS)
    assert "arc_bilinear has int8 numbers, expected one of float16, float32, float64" in refused(folder)


@pytest.mark.parametrize("dtype", [torch.float8_e5m2, torch.int8, torch.complex64])
def test_steps_that_nobody_can_compute_with_are_refused(folder, dtype):
    weights = load_file(folder / WEIGHTS)
    steps = {"arc_bilinear.step": torch.ones(len(weights["arc_bilinear"])).to(dtype)}
    save_file(weights | {"arc_bilinear": weights["arc_bilinear"].to(torch.int8)} | steps, folder / WEIGHTS)
    message = refused(folder)
    assert "arc_bilinear and arc_bilinear.step do not match" in message or "the weights cannot be read" in message


def test_a_number_beyond_single_precision_is_refused(folder):
    weights = load_file(folder / WEIGHTS)
    huge = weights["arc_bilinear"].double()
    huge[0, 0] = 1e300
    save_file(weights | {"arc_bilinear": huge}, folder / WEIGHTS)
    assert "arc_bilinear contains NaN, infinity" in refused(folder)


def test_steps_beyond_single_precision_are_refused(folder):
    weights = load_file(folder / WEIGHTS)
    steps = {"arc_bilinear.step": torch.full((len(weights["arc_bilinear"]),), 3e38)}
    save_file(weights | {"arc_bilinear": weights["arc_bilinear"].to(torch.int8)} | steps, folder / WEIGHTS)
    assert "arc_bilinear contains NaN, infinity" in refused(folder)


@pytest.mark.parametrize("shape", [[1 << 63], [1 << 64], [1 << 32, 1 << 32], [0, 1 << 63], [-1], [0] * 10_000])
@pytest.mark.parametrize("dtype", ["F32", "F8_E5M2", "F4", "F6_E2M3", "F512"])
def test_sizes_beyond_numbers_are_refused_in_one_line(folder, shape, dtype):
    header = json.dumps({"x": {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}}).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(header)) + header)
    assert "\n" not in refused(folder)


# What a folder may ask for


@pytest.mark.parametrize(
    ("section", "setting", "complaint"),
    [
        ("decoding", {"method": "beam", "beam": 10**9}, "beam: expected at least 1 and below 257"),
        ("network", {"max_chars": 10**9}, "max_chars: expected at least 1 and below 257"),
        ("network", {"char_window": 10**6}, "char_window: expected at least 1 and below 257"),
        ("network", {"char_filters": 10**6}, "char_filters: expected at least 0 and below 16,385"),
        ("network", {"decoder_size": 10**6}, "decoder_size: expected at least 1 and below 16,385"),
    ],
    ids=str,
)
def test_settings_cannot_ask_for_more_than_weights_justify(folder, section, setting, complaint):
    change(folder, CONFIG, lambda table: table["config"][section].update(setting))
    assert complaint in refused(folder)


@pytest.mark.parametrize("name", [CONFIG, VOCAB, WEIGHTS, HEAD_RULES])
@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "huge"])
def test_devices_pipes_and_huge_files_are_refused_at_once(folder, name, kind):
    change(folder, CONFIG, lambda table: table["config"]["data"].update(heads="mine.headrules"))
    (folder / name).unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(folder / name)
    elif kind == "huge":
        with (folder / name).open("wb") as file:
            file.truncate(1 << 40)
    else:
        (folder / name).symlink_to(kind)
    if kind != "huge" or name != WEIGHTS:
        assert "not a plain file" in refused(folder) or "expected at most" in refused(folder)
    if kind != "huge":
        with pytest.raises(ModelError, match="not a plain file"):
            fingerprint(folder)


def test_the_models_own_head_rules_travel_with_it(tmp_path):
    parser = parser_of(network=TINY)
    data = dataclasses.replace(parser.config.data, heads="/home/me/mine.headrules")
    settings = dataclasses.replace(parser.config, data=data)
    model = dataclasses.replace(parser.model, config=settings, own_head_rules="S right VVFIN\n")
    write_model(model, tmp_path / "model")
    assert {path.name for path in (tmp_path / "model").iterdir()} == {CONFIG, VOCAB, WEIGHTS, HEAD_RULES}
    again = Parser.from_pretrained(tmp_path / "model")
    assert again.head_rules.rules == HeadRules.load(tmp_path / "model" / HEAD_RULES).rules != {}
    again.save_pretrained(tmp_path / "shared")
    assert Parser.from_pretrained(tmp_path / "shared").head_rules.rules == again.head_rules.rules
    (tmp_path / "model" / HEAD_RULES).write_text("S left x\n" + "S like S\n")
    assert f"/{HEAD_RULES}:2: 'like' needs" in refused(tmp_path / "model")


def test_head_rules_from_another_path_are_not_read(folder, tmp_path):
    (tmp_path / "secret").write_text("S right VVFIN\n")
    change(folder, CONFIG, lambda table: table["config"]["data"].update(heads=str(tmp_path / "secret")))
    found = Parser.from_pretrained(folder).head_rules
    assert (found.rules, found.marked_first) == ({}, True)


def test_the_fingerprint_covers_all_that_parsing_reads(folder):
    seen = {fingerprint(folder)}
    (folder / "encoder").mkdir()
    for name in ("encoder/config.json", "encoder/tokenizer.json", HEAD_RULES):
        for content in ("{}", "{ }"):
            (folder / name).write_text(content)
            seen.add(fingerprint(folder))
    assert len(seen) == 7
    (folder / "encoder" / "tokenizer.json").rename(folder / "encoder" / "tokenizer2.json")
    assert fingerprint(folder) not in seen
    (folder / "README.md").write_text("a page")
    (folder / "encoder" / "tokenizer2.json").rename(folder / "encoder" / "tokenizer.json")
    assert fingerprint(folder) in seen


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda table: table.update(root="R" * 2000), "a symbol of 2,000 characters"),
        (lambda table: table["labels"].__setitem__(0, "A+" * 200 + "A#1"), "a chain of more than 100 phrases"),
        (lambda table: table["labels"].__setitem__(0, "A" * 2000), "a symbol of 2,000 characters"),
        (lambda table: table["outputs"]["tag"].__setitem__(0, "A" * 2000), "a symbol of 2,000 characters"),
    ],
)
def test_symbols_that_every_tree_would_repeat_are_short(folder, edit, complaint):
    change(folder, VOCAB, edit)
    assert complaint in refused(folder)
