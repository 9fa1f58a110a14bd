"""The state of an annotation: what steps do, who wins, what comes next, and that a new process knows all of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.annotation import CONFIDENCES, accept, correct, flat, predicted, project_at
from support.networks import TREES

import discotree as dt
from discotree.web.annotation.journal import Journal
from discotree.web.annotation.project import ConflictError, Project


@pytest.fixture
def project(tmp_path: Path) -> Any:
    project = project_at(tmp_path / "a.jsonl")
    yield project
    project.close()


def everything(project: Project) -> list[Any]:
    return [project.detail(number) for number in range(1, len(project) + 1)] + [project.counts(), project.models]


def test_accepting_and_correcting(project: Project) -> None:
    accepted = accept(project, 1)
    assert (accepted["status"], accepted["history"][0]["action"]) == ("accepted", "accept")
    assert dt.Tree.from_dict(accepted["tree"]) == TREES[0]
    assert "confidence" not in accepted["tree"]
    corrected = correct(project, 2)
    assert corrected["status"] == "corrected"
    assert corrected["tree"]["constituents"][1]["label"] == "X"
    assert corrected["prediction"]["confidence"] == 0.3
    same = project.step(3, "correct", "Ann", tree=TREES[2].to_dict())
    assert same["status"] == "accepted"  # nothing was corrected
    changed = project.step(4, "accept", "Ann", tree=flat(4))
    assert changed["status"] == "corrected"
    assert {name: n for name, n in project.counts().items() if n} == {"open": 2, "accepted": 2, "corrected": 2}


def test_skipping_keeps_what_was_edited(project: Project) -> None:
    skipped = project.step(1, "skip", "Ann", tree=flat(1))
    assert (skipped["status"], skipped["tree"]["constituents"][1]["label"]) == ("skipped", "X")
    assert project.step(2, "skip", "Ann")["tree"] == predicted()[1]["tree"]
    reopened = project.step(1, "reopen", "Bob")
    assert (reopened["status"], reopened["tree"]) == ("open", skipped["tree"])


def test_undo_goes_back_step_by_step(project: Project) -> None:
    states = [project.detail(1)]
    states.append(correct(project, 1, "A"))
    states.append(correct(project, 1, "B"))
    states.append(project.step(1, "skip", "Ann"))
    for before in reversed(states[:-1]):
        found = project.step(1, "undo", "Bob")
        assert (found["status"], found["tree"], found["version"]) == (
            before["status"],
            before["tree"],
            before["version"],
        )
    with pytest.raises(dt.InputError, match="nothing to undo in sentence 1"):
        project.step(1, "undo", "Bob")
    assert [entry["action"] for entry in project.history(1)] == ["correct", "correct", "skip", "undo", "undo", "undo"]


def test_comments_on_a_sentence_are_bounded(project: Project, tmp_path: Path) -> None:
    """Thousands of long ones made everybody wait who opened it. A journal that has more can still be opened."""
    for _ in range(9):
        project.step(1, "comment", "Bob", text="x" * 10_000)
    with pytest.raises(dt.InputError, match="comments on sentence 1 would exceed 100,000"):
        project.step(1, "comment", "Bob", text="x" * 10_000)
    project.step(1, "comment", "Bob", text="short")
    old = [
        {"step": 11 + k, "sentence": 2, "action": "comment", "time": "", "who": "Bob", "text": "x"} for k in range(900)
    ]
    project.journal.append(old)
    project.close()
    project = Project(Journal(str(tmp_path / "a.jsonl")))
    assert (len(project.comments(1)), len(project.comments(2))) == (10, 900)
    with pytest.raises(dt.InputError, match="comments on sentence 2 would exceed 100,000"):
        project.step(2, "comment", "Bob", text="x")
    assert accept(project, 2)["status"] == "accepted"
    project.close()


def test_comments_do_not_disturb(project: Project) -> None:
    version = project.detail(1)["version"]
    project.step(1, "comment", "Bob", text=" is this  \n right? ")
    assert project.comments(1) == ["is this\n right?"]
    assert accept(project, 1, version=version)["status"] == "accepted"
    for text in ("", "  \n", "x" * 10_001):
        with pytest.raises(dt.InputError, match="a comment must have"):
            project.step(1, "comment", "Bob", text=text)


def test_the_second_of_two_annotators_gets_a_conflict_and_the_first_ones_tree_stays(project: Project) -> None:
    version = project.detail(1)["version"]
    correct(project, 1, "A", "Ann", version=version)
    before = project.detail(1)
    for action in ("accept", "correct", "skip", "reopen", "undo"):
        with pytest.raises(ConflictError, match="Ann has changed sentence 1 in the meantime"):
            project.step(1, action, "Bob", version, flat(1, "B") if action == "correct" else None)
    assert project.detail(1) == before
    assert correct(project, 1, "B", "Bob", version=before["version"])["status"] == "corrected"
    assert [entry["who"] for entry in project.history(1)] == ["Ann", "Bob"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "expected tokens as a list"),
        (TREES[1].to_dict(), "the words differ from those of sentence 1"),
        ({**flat(1), "constituents": [{"label": "A B", "positions": [0, 1, 2, 3, 4]}]}, "invalid label 'A B'"),
        ({**flat(1), "constituents": [{"label": "A", "positions": [0, 1, 2, 3]}]}, "must be the root"),
        ({**flat(1), "comment": "a\nb"}, "contains control characters"),
        ({**flat(1), "constituents": [{"label": "", "positions": [0, 1, 2, 3, 4]}]}, "label"),
    ],
)
def test_what_is_no_tree_of_the_sentence_is_refused(project: Project, record: Any, message: str) -> None:
    with pytest.raises(dt.DiscotreeError, match=message):
        project.step(1, "skip", "Ann", tree=record or {"tokens": 1})
    assert project.detail(1)["status"] == "open"


def test_names_and_numbers_are_checked(project: Project) -> None:
    for name in ("", "  ", "x" * 101, "a\x00b", "\u202e"):
        with pytest.raises(dt.InputError, match="annotator name required"):
            accept(project, 1, name)
    for number in (0, -1, 7):
        with pytest.raises(dt.InputError, match="no sentence"):
            accept(project, number)


def test_the_most_uncertain_comes_first_or_the_first(project: Project) -> None:
    assert project.ordered("given").tolist() == [1, 2, 3, 4, 5, 6]
    assert project.ordered("unsure").tolist() == [2, 4, 3, 6, 1, 5]
    seen = []
    while (number := project.next("unsure")) is not None:
        seen.append(number)
        (accept if number % 2 else correct)(project, number)
    assert seen == [2, 4, 3, 6, 1, 5]
    assert project.ordered("unsure", "corrected").tolist() == [2, 4, 6]


def test_going_on_after_a_sentence_wraps_around(project: Project) -> None:
    assert [project.next("given", after=number) for number in range(7)] == [1, 2, 3, 4, 5, 6, 1]
    assert [project.next("unsure", after=number) for number in (2, 4, 3, 6, 1, 5)] == [4, 3, 6, 1, 5, 2]
    assert project.next("given", taken=[1, 2]) == 3
    for number in range(2, 7):
        accept(project, number)
    assert project.next("given", after=1) == 1
    assert project.next("given", taken=[1]) is None


def test_a_sentence_that_cannot_be_read_is_listed_but_not_handed_out(tmp_path: Path) -> None:
    project = project_at(tmp_path / "a.jsonl", [*predicted()[:1], {"failed": "byte 0xff is not utf-8"}])
    assert project.counts()["failed"] == 1
    assert project.next("unsure") == 1
    assert project.detail(2)["failed"] == "byte 0xff is not utf-8"
    with pytest.raises(dt.InputError, match="could not be read"):
        accept(project, 2)
    project.step(2, "comment", "Ann", text="look at the file")
    project.close()


def test_another_model_changes_open_sentences_and_no_finished_one(project: Project) -> None:
    accepted = accept(project, 1)
    edited = project.step(2, "skip", "Ann", tree=flat(2))
    seen = project.detail(3)
    assert project.use_model("again", "f" * 64) == 1
    model = project.use_model("better", "e" * 64)
    assert list(project.outdated(model)) == [2, 3, 4, 5, 6]
    trees = [dt.Tree.from_dict(flat(number)) for number in range(1, 7)]
    project.predict(list(enumerate(predicted(trees, [0.5] * 6), 1)), model)
    assert list(project.outdated(model)) == []
    assert project.detail(1) == accepted
    assert project.detail(2)["tree"] == edited["tree"]  # what a person did stays
    assert project.detail(3)["model"] == "better"
    assert project.detail(3)["tree"]["confidence"] == 0.5
    with pytest.raises(ConflictError, match="sentence 3 has changed in the meantime"):
        accept(project, 3, version=seen["version"])


ACTIONS = st.tuples(
    st.integers(1, 6),
    st.sampled_from(["accept", "correct", "skip", "reopen", "undo", "comment"]),
    st.sampled_from("ABC"),
)


@settings(max_examples=3, deadline=None)
@given(steps=st.lists(ACTIONS, min_size=3, max_size=9))
def test_a_new_process_knows_what_the_old_one_knew(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    path = tmp_path_factory.mktemp("project") / "a.jsonl"
    project = project_at(path)
    for number, action, who in steps:
        tree = flat(number, who) if action == "correct" else None
        if action != "undo" or project.states[number - 1]:
            project.step(number, action, who, tree=tree, text="why?")
    known = everything(project)
    project.close()
    again = Project.open(str(path))
    assert everything(again) == known
    again.close()


def test_confidences_are_those_of_the_trees(project: Project) -> None:
    assert np.allclose(project.confidences, CONFIDENCES)
