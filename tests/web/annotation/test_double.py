"""Sentences for two annotators: who gets them, what they see, and how adjudication ends."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.annotation import accept, correct, flat, predicted, project_at
from support.networks import TREES

import discotree as dt
from discotree.web.annotation.project import STATUSES, ConflictError, Project, is_double
from discotree.web.annotation.session import AnnotationSession, Leases, Predictor


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """A project in which every sentence is for two annotators."""
    project = project_at(tmp_path / "a.jsonl", double=1.0)
    yield project
    project.close()


def reopen(project: Project) -> Project:
    path = project.journal.path
    project.close()
    return Project.open(path)


def test_the_choice_of_sentences_depends_on_nothing_but_their_numbers() -> None:
    chosen = [number for number in range(1, 10_001) if is_double(number, 0.2)]
    assert chosen[:5] == [2, 6, 17, 18, 23]
    assert 1900 < len(chosen) < 2100
    assert set(chosen) < {number for number in range(1, 10_001) if is_double(number, 0.3)}
    assert all(is_double(number, 1.0) for number in range(1, 1001))


def test_an_annotator_sees_nothing_of_the_other(project: Project) -> None:
    before = project.detail(1, "Bob")
    correct(project, 1, "A", "Ann")
    project.step(1, "comment", "Ann", text="odd")
    assert project.detail(1, "Bob") == before
    assert project.status(1, "Ann") == "corrected"
    assert project.comments(1, "Ann") == ["odd"]
    assert project.comments(1, "Bob") == project.comments(1) == []
    assert project.earlier_tree(1, "Ann") == flat(1, "A")
    with pytest.raises(dt.InputError, match="step 1 has no tree"):
        project.earlier_tree(1, "Bob")
    assert project.ordered("given", "corrected", "Ann").tolist() == [1]
    assert project.ordered("given", "open", "Bob").tolist() == [1, 2, 3, 4, 5, 6]
    assert project.counts()["open"] == 6
    assert list(project.accepted_trees()) == []


def test_steps_of_one_annotator_do_not_touch_the_other(project: Project) -> None:
    project.step(1, "skip", "Bob", tree=flat(1, "B"))
    correct(project, 1, "A", "Ann")
    correct(project, 1, "A2", "Ann")
    project.step(1, "undo", "Ann")
    assert project.tree(1, "Ann") == flat(1, "A")
    assert (project.status(1, "Bob"), project.tree(1, "Bob")) == ("skipped", flat(1, "B"))
    project.step(1, "reopen", "Bob")
    project.step(1, "undo", "Ann")
    assert (project.status(1, "Ann"), project.tree(1, "Ann")) == ("open", predicted()[0]["tree"])
    with pytest.raises(dt.InputError, match="nothing to undo"):
        project.step(1, "undo", "Ann")


def test_equal_trees_need_no_adjudication(project: Project) -> None:
    accept(project, 1, "Ann")
    assert accept(project, 1, "Bob")["status"] == "accepted"
    correct(project, 2, "A", "Ann")
    assert correct(project, 2, "A", "Bob")["status"] == "corrected"
    assert [tree.id for tree in project.accepted_trees()] == ["s1", "s2"]
    reopened = project.step(2, "reopen", "Eve")
    assert (reopened["status"], reopened["tree"]) == ("differing", flat(2, "A"))
    assert project.step(2, "undo", "Eve")["status"] == "corrected"


def test_different_trees_wait_for_adjudication(project: Project) -> None:
    correct(project, 1, "A", "Ann")
    found = correct(project, 1, "B", "Bob")
    assert (found["status"], found["tree"]) == ("differing", flat(1, "A"))
    assert found["annotations"] == [{"who": "Ann", "tree": flat(1, "A")}, {"who": "Bob", "tree": flat(1, "B")}]
    assert [entry["who"] for entry in project.history(1, "Eve")] == ["Ann", "Bob"]
    assert list(project.accepted_trees()) == []
    assert project.next("given", who="Eve", status="differing") == 1
    decided = project.step(1, "adjudicate", "Eve", found["version"], flat(1, "C"))
    assert (decided["status"], decided["history"][-1]["who"]) == ("adjudicated", "Eve")
    with pytest.raises(ConflictError, match="Eve has changed sentence 1"):
        project.step(1, "adjudicate", "Dan", found["version"], flat(1, "D"))
    assert [tree.to_dict() for tree in project.accepted_trees()] == [flat(1, "C")]
    for who, label in (("Ann", "A"), ("Bob", "B")):
        assert [tree.to_dict() for tree in project.accepted_trees(who)] == [flat(1, label)]
    assert project.step(1, "undo", "Eve")["version"] == found["version"]
    project.step(1, "adjudicate", "Dan", found["version"], flat(1, "D"))
    assert project.accepted_count == 1


@pytest.mark.parametrize("action", ["accept", "correct", "skip", "undo"])
@pytest.mark.parametrize("who", ["Ann", "Bob", "Eve"])
def test_nobody_can_change_a_tree_after_seeing_the_other(project: Project, action: Any, who: str) -> None:
    correct(project, 1, "A", "Ann")
    correct(project, 1, "B", "Bob")
    with pytest.raises(dt.InputError, match="sentence 1 has the trees of Ann and Bob; adjudicate it to change it"):
        project.step(1, action, who, tree=flat(1) if action == "correct" else None)


def test_one_tree_cannot_be_adjudicated(project: Project) -> None:
    correct(project, 1, "A", "Ann")
    with pytest.raises(dt.InputError, match="cannot adjudicate sentence 1: it does not have the trees of two"):
        project.step(1, "adjudicate", "Eve", tree=flat(1))


def test_a_new_process_knows_both_trees(project: Project) -> None:
    correct(project, 1, "A", "Ann")
    correct(project, 1, "B", "Bob")
    correct(project, 2, "A", "Ann")
    accept(project, 3, "Ann")
    accept(project, 3, "Bob")
    correct(project, 4, "A", "Ann")
    correct(project, 4, "B", "Bob")
    project.step(4, "adjudicate", "Eve", tree=flat(4, "C"))
    names = ("Ann", "Bob", "Eve", "")
    known = [project.detail(number, who) for number in range(1, 7) for who in names]
    again = reopen(project)
    assert [again.detail(number, who) for number in range(1, 7) for who in names] == known
    assert again.double == 1.0
    again.close()


def test_a_step_that_is_restored_can_be_the_second_tree(project: Project) -> None:
    correct(project, 1, "A", "Ann")
    project.step(1, "skip", "Ann")
    correct(project, 1, "B", "Bob")
    assert project.status(1, "Bob") == "corrected"
    assert project.step(1, "undo", "Ann")["status"] == "differing"
    again = reopen(project)
    assert again.detail(1)["status"] == "differing"
    again.close()


ACTIONS = ("accept", "correct", "skip", "reopen", "undo", "comment", "adjudicate")


def test_random_steps_of_three_annotators_are_the_same_in_a_new_process(tmp_path: Path) -> None:
    rng = random.Random(5)
    project = project_at(tmp_path / "a.jsonl", double=0.5)
    seen: set[str] = set()
    for _ in range(400):
        number, action, who = rng.randint(1, 6), rng.choice(ACTIONS), rng.choice(["Ann", "Bob", "Eve"])
        tree = flat(number, rng.choice("AB")) if action in ("correct", "adjudicate") else None
        hidden = [project.detail(number, name) for name in ("Ann", "Bob", "Eve") if name != who]
        was_blind = project.is_blind(number)
        try:
            project.step(number, action, who, tree=tree, text="why")
        except dt.InputError:
            continue
        if was_blind and project.is_blind(number):
            assert [project.detail(number, name) for name in ("Ann", "Bob", "Eve") if name != who] == hidden
        seen.add(project.status(number, who))
    assert seen == {"open", "accepted", "corrected", "skipped", "differing", "adjudicated"}
    numbers, names = range(1, 7), ("Ann", "Bob", "Eve", "")
    for name in names:
        statuses = [project.status(number, name) for number in numbers]
        for status in STATUSES:
            expected = [number for number in numbers if statuses[number - 1] == status]
            assert project.ordered("given", status, name).tolist() == expected
    known = [project.detail(number, name) for number in numbers for name in names]
    again = reopen(project)
    assert [again.detail(number, name) for number in numbers for name in names] == known
    again.close()


def test_another_model_does_not_change_a_sentence_that_one_annotator_has_seen(project: Project) -> None:
    correct(project, 1, "A", "Ann")
    model = project.use_model("better", "e" * 64)
    assert list(project.outdated(model)) == [2, 3, 4, 5, 6]
    project.predict([(1, predicted()[1])], model)
    assert project.detail(1, "Bob")["model"] == "nl"


def test_a_sentence_goes_to_two_annotators_and_not_to_a_third(project: Project, parser: dt.Parser) -> None:
    session = AnnotationSession(project, parser, "xx", Predictor(project, parser, 1), order="given", leases=Leases())

    def next_for(who: str, window: str = "") -> Any:
        return session.next(f"{who}{window}", who)["sentence"]

    assert [next_for(who) for who in ("Ann", "Bob", "Eve")] == [1, 1, 2]
    assert next_for("Ann", "2") == 2  # a second window of the same annotator
    assert session.open(1, "Bob", "Bob")["opened_by"] == ""
    session.step(1, "accept", "Ann", "Ann")
    assert [next_for(who) for who in ("Ann", "Eve")] == [3, 2]  # 2 is open in the second window
    session.step(1, "accept", "Bob", "Bob")
    assert session.rows(None, "accepted", 0, 10, "Eve")["matching"] == 1


def test_journals_without_doubles_keep_their_format(tmp_path: Path) -> None:
    """Earlier versions can open them, but not a journal whose sentences have two trees."""
    for double, format in ((0.0, 1), (0.2, 2)):
        path = tmp_path / f"{format}.jsonl"
        project_at(path, double=double).close()
        assert json.loads(path.read_bytes().splitlines()[0])["annotation"] == format


def test_own_trees_of_a_project_without_doubles(tmp_path: Path) -> None:
    project = project_at(tmp_path / "a.jsonl")
    accept(project, 1, "Ann")
    correct(project, 2, who="Bob")
    correct(project, 3, who="Ann")
    project.step(3, "skip", "Ann")
    assert list(project.accepted_trees("Ann")) == [TREES[0]]
    with pytest.raises(dt.InputError, match=r"a.jsonl has no annotator 'Anne'; did you mean 'Ann'"):
        list(project.accepted_trees("Anne"))
    project.close()
