"""From raw text to an encoder: its folder, its record, resuming it, going on from another one, and a parser on top."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from support.encoders import saved_bert
from support.texts_raw import TINY_SETTINGS, tiny, written_text
from support.tiny import TINY, set_all, small_recipe
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM

from discotree.errors import ConfigError, DiscotreeError, ModelError
from discotree.network.pytorch.transformer import load_transformer
from discotree.training.pretraining.encoder import Bert, fill, read_encoder
from discotree.training.pretraining.pretrain import prepare_text, pretrain
from discotree.version import __version__

WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    written_text(folder / "a.txt", 60)
    return str(written_text(folder / "b.txt", 20, seed=2).parent)


def inputs(text, *, repeat=2):
    return [f"{text}/a.txt", f"{text}/b.txt*{repeat}"]


@pytest.fixture(scope="module")
def finished(text, tmp_path_factory):
    """A folder with an encoder, and what the run returned and reported."""
    folder = tmp_path_factory.mktemp("run") / "encoder"
    events = []
    record = pretrain(inputs(text), folder, tiny(), report=lambda *event: events.append(event))
    return folder, record, events


def same_weights(one, other):
    found, expected = load_file(one / WEIGHTS), load_file(other / WEIGHTS)
    return found.keys() == expected.keys() and all(torch.equal(found[name], expected[name]) for name in found)


# The folder


def test_the_library_computes_the_same_from_the_folder(finished):
    folder, *_ = finished
    theirs, report = AutoModel.from_pretrained(folder, add_pooling_layer=False, output_loading_info=True)
    assert not report["missing_keys"]
    encoder = read_encoder(folder)
    ours = Bert(encoder.config).eval()
    fill({f"bert.{name}": weight for name, weight in ours.named_weights().items()}, encoder.weights)
    pieces = AutoTokenizer.from_pretrained(folder)("De man ziet een hond.", return_tensors="pt")
    with torch.no_grad():
        expected = theirs.eval()(**pieces).last_hidden_state
        torch.testing.assert_close(ours(pieces["input_ids"]), expected, rtol=0, atol=1e-5)
    _, report = BertForMaskedLM.from_pretrained(folder, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]


def test_the_parser_takes_the_folder(finished):
    folder, *_ = finished
    loaded = load_transformer(str(folder))
    assert (loaded.size, loaded.layers, loaded.config.room) == (16, 2, 32)
    assert loaded.before == [2]
    assert loaded.after == [3]
    assert loaded.pieces("De") != loaded.pieces("de")


def test_the_record_says_where_the_encoder_comes_from(finished):
    folder, record, events = finished
    assert json.loads((folder / "pretraining.json").read_text("utf-8")) == record
    assert [(file["name"], file["repeat"], file["lines"]) for file in record["text"]] == [
        ("a.txt", 1, 60), ("b.txt", 2, 20)
    ]  # fmt: skip
    assert all(len(file["sha256"]) == 64 for file in record["text"])
    assert record["words"] == record["text"][0]["words"] + 2 * record["text"][1]["words"]
    assert record["config"]["network"]["layers"] == 2
    assert record["versions"]["discotree"] == __version__
    assert record["steps"] == 12
    rows = [json.loads(line) for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]
    assert rows == record["history"] == [metrics for event, metrics in events if event == "step"]
    assert record["loss"] == rows[-1]["loss"]
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS, "pretraining.json", "log.jsonl",
                     "held-out.tsv"}  # fmt: skip


def test_the_same_command_does_nothing_more_and_another_is_refused(finished, text):
    folder, record, _ = finished
    before = (folder / WEIGHTS).stat().st_mtime_ns
    assert pretrain(inputs(text), folder, tiny(), report=lambda *_: pytest.fail("it trains")) == record
    assert (folder / WEIGHTS).stat().st_mtime_ns == before
    with pytest.raises(DiscotreeError, match=r"different settings: network.layers was 2, now 3"):
        pretrain(inputs(text), folder, tiny("network.layers=3"))
    with pytest.raises(DiscotreeError, match=r"different settings: text was \['b.txt', 2, .* now \['b.txt', 3,"):
        pretrain(inputs(text, repeat=3), folder, tiny())
    with pytest.raises(DiscotreeError, match=r"different settings: training.steps was 12, now 13"):
        pretrain(inputs(text), folder, tiny("training.steps=13"))


def test_a_folder_with_another_model_is_left_alone(text, tmp_path):
    saved_bert(tmp_path / "bert")
    before = {path.name: path.read_bytes() for path in (tmp_path / "bert").iterdir()}
    with pytest.raises(DiscotreeError, match="contains a model that discotree pretrain did not write"):
        pretrain(inputs(text), tmp_path / "bert", tiny())
    assert {path.name: path.read_bytes() for path in (tmp_path / "bert").iterdir()} == before


def test_a_run_that_fails_early_leaves_nothing(text, tmp_path):
    with pytest.raises(ConfigError, match=r"text\.vocab_size"):
        pretrain(inputs(text), tmp_path / "runs" / "one", tiny("text.vocab_size=20"))
    assert not (tmp_path / "runs").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "log.jsonl").write_text("mine")
    with pytest.raises(ConfigError):
        prepare_text(inputs(text), tmp_path / "mine", tiny("text.vocab_size=20"))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["log.jsonl"]


# Resuming


class Stop(Exception):
    """An interruption."""


def test_an_interrupted_run_is_resumed_and_its_log_too(finished, text, tmp_path):
    def stop(_, metrics):
        if metrics["step"] == 9:
            raise Stop

    folder = tmp_path / "encoder"
    with pytest.raises(Stop):
        pretrain(inputs(text), folder, tiny(), report=stop)
    assert (folder / "unfinished").is_dir()
    with pytest.raises(DiscotreeError, match=r"different settings: training.seed was 1, now 2"):
        pretrain(inputs(text), folder, tiny("training.seed=2"))
    stale = folder / "unfinished" / "checkpoint.safetensors.0a1b2c3d.tmp"
    stale.write_bytes(b"half a checkpoint")
    events = []
    pretrain(inputs(text), folder, tiny(), report=lambda *event: events.append(event))
    assert events[0] == ("resume", {"step": 6, "progress": 0.5})
    assert same_weights(folder, finished[0])
    steps = [json.loads(line)["step"] for line in (folder / "log.jsonl").read_text("utf-8").splitlines()]
    assert steps == [3, 6, 9, 12]
    assert not (folder / "unfinished").exists()


@pytest.mark.slow
def test_a_run_survives_kill_9_and_ends_with_the_same_weights(text, tmp_path):
    """Real processes; one is killed after a checkpoint, another before it, while text is read."""
    settings = set_all([*TINY_SETTINGS, "training.steps=75", "training.report_steps=15"])
    command = [sys.executable, "-m", "discotree", "pretrain", f"{text}/a.txt", f"{text}/b.txt*2", *settings, "--output"]
    subprocess.run([*command, "whole"], cwd=tmp_path, check=True, capture_output=True)
    for name, sign in (("late", "unfinished/checkpoint.safetensors"), ("early", "unfinished/text")):
        process = subprocess.Popen([*command, name], cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        while not (tmp_path / name / sign).exists():
            assert process.poll() is None, "it ended too early"
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (tmp_path / name / WEIGHTS).exists()
        done = subprocess.run([*command, name], cwd=tmp_path, check=True, capture_output=True, text=True)
        assert ("resuming after step" in done.stderr) == (name == "late")
        assert (tmp_path / name / WEIGHTS).read_bytes() == (tmp_path / "whole" / WEIGHTS).read_bytes()


def test_one_process_writes_a_folder_at_a_time(text, tmp_path):
    folder = tmp_path / "encoder"

    def second(*_):
        with pytest.raises(DiscotreeError, match="another process is writing to it"):
            pretrain(inputs(text), folder, tiny())
        raise Stop

    with pytest.raises(Stop):
        pretrain(inputs(text), folder, tiny(), report=second)


# Prepared text, another encoder, the other objective


def test_prepared_text_serves_several_runs(finished, text, tmp_path):
    prepare_text(inputs(text), tmp_path / "prepared", tiny())
    ready = str(tmp_path / "prepared")
    pretrain([], tmp_path / "one", tiny(), prepared=ready)
    assert same_weights(tmp_path / "one", finished[0])
    assert (tmp_path / "prepared" / "text.json").exists()  # it is the user's
    record = pretrain([], tmp_path / "two", tiny("training.optimizer=adamw"), prepared=ready)
    assert set(record["history"][0]) >= {"loss", "passes", "pieces_per_second"}
    assert {name.split(".")[0] for name in load_file(tmp_path / "two" / WEIGHTS)} == {"bert", "cls"}
    assert load_transformer(str(tmp_path / "two")).layers == 2


def test_prepared_text_keeps_its_settings_and_is_whole(text, tmp_path):
    """A run on prepared text says what that text is, and fails before it trains where a file is missing."""
    prepare_text(inputs(text), tmp_path / "prepared", tiny("text.vocab_size=80"))
    ready = str(tmp_path / "prepared")
    record = pretrain([], tmp_path / "one", tiny("text.vocab_size=90"), prepared=ready)
    assert record["config"]["text"]["vocab_size"] == 80
    (tmp_path / "prepared" / "held-out.tsv").unlink()
    with pytest.raises(ModelError, match=r"not a folder of prepared text: .*held-out\.tsv"):
        pretrain([], tmp_path / "two", tiny(), prepared=ready)


@pytest.mark.parametrize("given", [{}, {"texts": ["a"], "prepared": "b"}, {"prepared": "b", "hold_out": ["c"]}])
def test_text_comes_from_files_or_is_prepared(given, tmp_path):
    with pytest.raises(ConfigError):
        pretrain(**{"texts": [], "folder": tmp_path / "out", "config": tiny(), **given})


def test_training_goes_on_from_an_encoder_with_its_own_vocabulary(text, tmp_path):
    start = saved_bert(tmp_path / "start", hidden_size=24, num_attention_heads=3)
    before = {name: value.clone() for name, value in load_file(start / WEIGHTS).items()}
    record = pretrain(inputs(text), tmp_path / "still", tiny("training.learning_rate=0"), start=str(start))
    assert record["config"]["network"]["hidden_size"] == 16  # not used: the encoder has its own size
    assert (tmp_path / "still" / "tokenizer.json").read_text() == (start / "tokenizer.json").read_text()
    after = load_file(tmp_path / "still" / WEIGHTS)
    same = [name for name in before if not name.startswith("pooler")]
    assert all(torch.equal(after[f"bert.{name}"], before[name]) for name in same)
    pretrain(inputs(text), tmp_path / "moved", tiny(), start=str(start))
    moved = load_file(tmp_path / "moved" / WEIGHTS)
    assert not torch.equal(moved[f"bert.{same[0]}"], before[same[0]])
    assert load_transformer(str(tmp_path / "moved")).size == 24
    with pytest.raises(ConfigError, match=r"text\.length: .*start reads at most 64 pieces, got 128"):
        pretrain(inputs(text), tmp_path / "long", tiny("text.length=128"), start=str(start))
    prepare_text(inputs(text), tmp_path / "prepared", tiny())
    with pytest.raises(ConfigError, match="was not prepared with --continue"):
        pretrain([], tmp_path / "other", tiny(), prepared=str(tmp_path / "prepared"), start=str(start))


def test_the_head_of_an_encoder_goes_on_too(finished, text, tmp_path):
    folder, *_ = finished
    pretrain(inputs(text), tmp_path / "more", tiny("training.learning_rate=0"), start=str(folder))
    assert same_weights(tmp_path / "more", folder)


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda folder: (folder / "config.json").write_text("{}"), "model_type: expected 'bert', got None"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot continue this encoder"),
        (lambda folder: (folder / WEIGHTS).unlink(), "model.safetensors is missing"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"12345678"), "cannot continue this encoder"),
        (lambda folder: save_file({"x": torch.ones(1)}, folder / WEIGHTS), "word_embeddings.weight is missing"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "tokenizer.json"),
    ],
)
def test_what_is_no_encoder_is_refused(finished, tmp_path, damage, complaint):
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder)
    damage(folder)
    with pytest.raises(ModelError, match=complaint):
        read_encoder(folder)


def test_a_weight_that_is_no_number_is_refused(finished, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder)
    weights = load_file(folder / WEIGHTS)
    weights["cls.predictions.bias"][0] = float("nan")
    save_file(weights, folder / WEIGHTS)
    with pytest.raises(ModelError, match="contains NaN or infinity"):
        read_encoder(folder)


# Real paths

WITHOUT_TORCH = """
import sys
for name in ("torch", "transformers"):
    sys.modules[name] = None  # not there
import discotree
parser = discotree.load("runs/small/model")
print(parser.engine.name, *(tree.words[0] for tree in parser.parse([["De", "man", "slaapt"]])))
"""


@pytest.mark.slow
def test_from_text_to_a_parser_without_torch(text, tmp_path, monkeypatch):
    """pretrain, then train with the encoder, then parse with ONNX Runtime: commands as users type them."""
    small_recipe(tmp_path)
    monkeypatch.delenv("DISCOTREE_DATA", raising=False)

    def run(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "discotree", *arguments], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done

    done = run("pretrain", f"{text}/a.txt", "-o", "encoder", "--hold-out", "small.toml", *set_all([*TINY_SETTINGS]))
    assert "pieces/s" in done.stderr
    run(
        "train",
        "small.toml",
        "--preset",
        "bert",
        "--set",
        "network.encoder=hf:encoder",
        *set_all(TINY),
    )
    with safe_open(tmp_path / "runs/small-bert/model/weights.safetensors", "np") as file:
        assert any("encoder.layer.1" in name for name in file.keys())  # noqa: SIM118
    shutil.move(tmp_path / "runs/small-bert", tmp_path / "runs/small")
    shutil.rmtree(tmp_path / "encoder")  # the model has what it needs
    parsed = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], cwd=tmp_path, capture_output=True, text=True)
    assert parsed.stdout == "onnx De\n", parsed.stderr


@pytest.mark.slow
def test_nothing_here_needs_the_library_transformers():
    """Where a GPU trains, it may be missing."""
    code = "import sys; sys.modules['transformers'] = None; import discotree.training.pretraining.pretrain"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
