"""The work on a window: a text for every sentence, or the reason why there is none."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.helpers import parsed
from support.models import saved_model
from support.networks import TREES

from discotree.errors import TreebankError
from discotree.parsing import outputs
from discotree.parsing.inputs import InputSentence
from discotree.parsing.outputs import OUTPUTS, FailedSentence, ParseJob, ParseWorker, Window


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_model(tmp_path_factory.mktemp("models") / "model")


def worker_for(model: Path, output: str, k: int | None = None) -> ParseWorker:
    return ParseWorker(ParseJob(str(model), output, "cpu", k=k))


WINDOW: Window = [
    InputSentence("1", list(TREES[0].words), "in:1"),
    TreebankError("byte 0xff is not utf-8", "in", 2),
    InputSentence("3", [], "in:3"),
    InputSentence("4", ["Wir", "lachen", "."], "in:4"),
]


def test_every_sentence_has_a_text_or_a_reason_in_its_place(model: Path) -> None:
    first, damaged, empty, last = worker_for(model, "export")(WINDOW, 7)
    assert isinstance(first, str)
    assert "#BOS 1" in first
    assert damaged == FailedSentence("in:2: byte 0xff is not utf-8")
    assert empty == FailedSentence("in:3: the sentence has no words")
    assert isinstance(last, str)
    assert "lachen" in last


def test_numbers_count_what_is_written(model: Path) -> None:
    """An id that is the number of its line in the file is left out, so failed sentences must not count."""
    first, *_, last = worker_for(model, "discbracket")(WINDOW, 1)
    assert isinstance(first, str)
    assert isinstance(last, str)
    assert "\t" not in first
    assert last.endswith("\t4\n")


def test_a_text_that_the_format_cannot_hold_fails_alone(model: Path) -> None:
    window: Window = [InputSentence("1", ["a b"], "in:1"), InputSentence("2", ["Ja"], "in:2")]
    refused, written = worker_for(model, "export")(window, 1)
    assert isinstance(refused, FailedSentence)
    assert refused.reason.startswith("in:1: ")
    assert isinstance(written, str)


def test_k_trees_per_sentence(model: Path) -> None:
    (text,) = worker_for(model, "discbracket", k=3)(WINDOW[:1], 1)
    assert isinstance(text, str)
    assert [line.rpartition("\t")[2] for line in text.splitlines()] == ["1.1", "1.2", "1.3"]


@pytest.mark.parametrize("format", [name for name in OUTPUTS if name not in ("draw", "json")])
def test_header_sentences_and_footer_make_a_file(model: Path, format: str) -> None:
    worker = worker_for(model, format)
    sentences = [InputSentence(tree.id, list(tree.words), "") for tree in TREES]
    pairs = enumerate(zip(sentences, TREES, strict=True), 1)
    text = "".join(worker.text(sentence, [tree], number) for number, (sentence, tree) in pairs)
    assert [tree.words for tree in parsed(worker.header + text + worker.footer, format)] == [t.words for t in TREES]


def test_json_has_offsets_where_there_was_a_text(model: Path) -> None:
    tree = TREES[0]
    offsets = [(3 * k, 3 * k + 2) for k in range(len(tree))]
    text = worker_for(model, "json").text(InputSentence("1", list(tree.words), "", offsets), [tree], 1)
    assert [(token["start"], token["end"]) for token in json.loads(text)["tokens"]] == offsets


def test_headings_tell_several_drawings_apart(model: Path) -> None:
    sentence = InputSentence("1", list(TREES[0].words), "")
    plain = worker_for(model, "draw").text(sentence, TREES[:1], 1)
    assert plain == f"{TREES[0].draw()}\n\n"
    assert worker_for(model, "draw", k=2).text(sentence, TREES[:1], 1) == f"{TREES[0].id}\n{plain}"


@pytest.mark.parametrize(
    ("device", "forks", "size", "cores", "expected"),
    [
        ("cpu", True, 10, 16, 16),  # they start when there is enough to do
        ("cpu", True, None, 16, 16),  # standard input
        ("cpu", True, 10_000_000, 2, 1),  # one process keeps two cores busy
        ("cpu", False, 10, 16, 1),
        ("cpu", False, None, 16, 1),
        ("cpu", False, 10_000_000, 16, 4),
        ("cuda", False, 10_000_000, 16, 1),
        ("cuda:1", False, 100_000_000, 16, 16),
    ],
)
def test_more_processes_for_more_work(monkeypatch, device, forks, size, cores, expected) -> None:
    monkeypatch.setattr(outputs, "usable_cores", lambda: cores)
    assert outputs.suitable_workers(SimpleNamespace(device=device, _forks=forks), size) == expected


def test_processes_get_small_windows_where_there_are_many_cores(model: Path, monkeypatch) -> None:
    worker = worker_for(model, "export")
    monkeypatch.setattr(outputs, "usable_cores", lambda: 2)
    assert worker.max_window == worker.parser._window
    monkeypatch.setattr(outputs, "usable_cores", lambda: 16)
    assert worker.max_window == outputs.MAX_WINDOW
