"""Sentences are read and parsed once, in their order, whatever stops the program in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.networks import TREES

import discotree as dt
from discotree.parsing.inputs import InputSentence, Sentences, find_sources
from discotree.web.annotation.project import Project
from discotree.web.annotation.session import MAX_WINDOW, Predictor, score_held_out

USE = ("xx", "a" * 64)


def sentences(count: int = 12, damaged: int = 0) -> Sentences:
    for number, tree in enumerate(TREES[:count], 1):
        if number == damaged:
            yield dt.TreebankError("byte 0xff is not utf-8", "in.txt", number)
        else:
            yield InputSentence(str(number), list(tree.words), f"in.txt:{number}")


def opened(path: Path, parser: dt.Parser, use: tuple[str, str] = USE) -> Predictor:
    project = Project.open(str(path), {})
    return Predictor(project, parser, project.use_model(*use))


def run(predictor: Predictor, items: Sentences) -> Project:
    predictor._run(predictor.skip_known(items))
    predictor.project.close()
    return predictor.project


def test_sentences_are_parsed_once(tmp_path: Path, parser: dt.Parser) -> None:
    path = tmp_path / "a.jsonl"
    predictor = opened(path, parser)
    predictor.start(predictor.skip_known(sentences()))
    assert predictor.is_done.wait(60)
    project = predictor.project
    assert (len(project), project.is_complete, predictor.problem) == (12, True, "")
    words = [tuple(token["form"] for token in project.detail(k)["tree"]["tokens"]) for k in range(1, 13)]
    assert words == [tree.words for tree in TREES[:12]]
    assert project.detail(3)["where"] == "in.txt:3"
    assert 0 <= project.detail(3)["tree"]["confidence"] <= 1
    project.close()
    before = path.read_bytes()
    run(opened(path, parser), sentences())
    assert path.read_bytes() == before


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, parser: dt.Parser) -> None:
    predictor = opened(tmp_path / "a.jsonl", parser)

    def stopping() -> Iterator[InputSentence | dt.TreebankError]:
        for number, sentence in enumerate(predictor.skip_known(sentences()), 1):
            if number == 5:
                predictor.is_stopped.set()
            yield sentence

    predictor._run(stopping())
    predictor.project.close()
    done = len(predictor.project)
    assert 0 < done < 12
    assert not predictor.project.is_complete
    project = run(opened(tmp_path / "a.jsonl", parser), sentences())
    assert (len(project), project.is_complete) == (12, True)


def test_an_input_that_has_grown_is_read_on_and_another_one_is_refused(tmp_path: Path, parser: dt.Parser) -> None:
    run(opened(tmp_path / "a.jsonl", parser), sentences(5))
    assert len(run(opened(tmp_path / "a.jsonl", parser), sentences(8))) == 8
    for other in (sentences(4), sentences(8, damaged=2), iter([])):
        predictor = opened(tmp_path / "a.jsonl", parser)
        with pytest.raises(dt.DiscotreeError, match="another input: this one differs within the first 8 sentences"):
            predictor.skip_known(other)
        predictor.project.close()


def test_what_cannot_be_read_or_parsed_does_not_stop_the_rest(tmp_path: Path, parser: dt.Parser) -> None:
    predictor = opened(tmp_path / "a.jsonl", parser)
    items = [*sentences(3, damaged=2), InputSentence("4", [], "in.txt:4"), *sentences(1)]
    predictor._run(predictor.skip_known(iter(items)))
    project = predictor.project
    assert [project.status(number) for number in range(1, 6)] == ["open", "failed", "open", "failed", "open"]
    assert "byte 0xff" in project.detail(2)["failed"]
    project.close()


def test_another_model_parses_open_sentences_again(tmp_path: Path, parser: dt.Parser) -> None:
    path = tmp_path / "a.jsonl"
    run(opened(path, parser), sentences(6))
    project = Project.open(str(path))
    project.step(2, "accept", "Ann")
    project.close()
    project = run(opened(path, parser, ("new", "b" * 64)), sentences(7))
    assert list(project.predicted_by) == [2, 1, 2, 2, 2, 2, 2]
    assert run(opened(path, parser, ("new", "b" * 64)), sentences(7)).input_digest == project.input_digest


def test_a_treebank_is_read_as_parse_reads_it(tmp_path: Path, parser: dt.Parser, data: Path) -> None:
    (source,) = find_sources([str(data / "figure1.export")], None)
    project = run(opened(tmp_path / "a.jsonl", parser), source.sentences("de"))
    assert len(project) == 1


def test_memory_does_not_grow_with_the_trees(tmp_path: Path, parser: dt.Parser) -> None:
    """A project of many windows holds numbers, and no trees."""
    items = [sentence for _ in range(11) for sentence in sentences(12)]
    project = run(opened(tmp_path / "a.jsonl", parser), iter(items))
    assert len(project) == 132 > MAX_WINDOW
    columns = (project.offsets, project.confidences, project.predicted_by, project.states)
    assert sum(column.itemsize for column in columns) + 1 < 32


def test_scores_of_a_model_are_kept_once(tmp_path: Path, parser: dt.Parser) -> None:
    predictor = opened(tmp_path / "a.jsonl", parser)
    project = predictor.project
    for _ in range(2):
        score_held_out(project, parser, predictor.model, TREES[:8], "gold.export")
    (entry,) = project.scores
    score = dt.evaluate(TREES[:8], [parser([token.form for token in tree.tokens]) for tree in TREES[:8]])
    assert entry["scores"]["sentences"] == 8
    assert entry["scores"]["f1"] == pytest.approx(score.f1, nan_ok=True) or entry["scores"]["f1"] is None
    assert (entry["held_out"], entry["finished"], entry["model"]) == ("gold.export", 0, 1)
    other = project.use_model("other", "c" * 64)
    score_held_out(project, parser, other, TREES[:8], "gold.export")
    score_held_out(project, parser, other, TREES[:4], "gold.export")
    project.close()
    again = Project.open(str(tmp_path / "a.jsonl"))
    assert [entry["model"] for entry in again.scores] == [1, 2, 2]
    again.close()
