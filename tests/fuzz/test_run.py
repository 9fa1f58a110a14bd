"""The fuzzing harness itself: it finds what is wrong, makes it small, and shows it again."""

import json
import os
import random

import pytest
from fuzz import catalogue, targets
from fuzz.run import main, replay
from fuzz.targets import FOUND, REFUSED, VALID, Target, WrongResult, attempt, smallest
from fuzz.treebanks import TABLES, TARGETS, check_round_trip
from support.mutants import mutate_json

from discotree import FORMATS, TreebankError


class Fragile(Target):
    """A target that fails in every way, by the letters of its input."""

    name = "fragile"

    def seeds(self):
        return [b"ordinary"]

    def run(self, raw):
        if b"!" in raw:
            raise KeyError("!")
        if b"?" in raw:
            raise TreebankError("what?")
        if b"~" in raw:
            raise WrongResult("it came out differently")
        if b"@" in raw:
            while True:
                pass


@pytest.mark.parametrize(
    ("raw", "kind", "problem"),
    [
        (b"plain", VALID, ""),
        (b"a?", REFUSED, ""),
        (b"a!", FOUND, "KeyError"),
        (b"a~", FOUND, "WrongResult"),
        (b"a@", FOUND, "hang of 0.2 seconds"),
    ],
)
def test_an_outcome_is_valid_refused_or_a_finding(raw, kind, problem, monkeypatch):
    monkeypatch.setattr(targets, "PATIENCE_SECONDS", 0.2)
    outcome = attempt(Fragile(), raw)
    assert (outcome.kind, outcome.problem) == (kind, problem)


def test_a_panic_that_is_no_exception_is_a_finding(monkeypatch):
    class PanicError(BaseException):
        pass

    def panic(*_):
        raise PanicError

    monkeypatch.setattr(Fragile, "run", panic)
    assert attempt(Fragile(), b"").problem == "PanicError"


def test_memory_beyond_a_bound_is_a_finding(monkeypatch):
    monkeypatch.setattr(targets, "MAX_GROWTH_BYTES", 0)
    peaks = iter((100, 101))
    monkeypatch.setattr(targets, "peak_bytes", lambda: next(peaks))
    assert attempt(Fragile(), b"plain").problem == "memory beyond 0 MiB"


def test_a_finding_becomes_as_small_as_it_goes():
    raw = b"a long input ! with much around it"
    assert smallest(Fragile(), raw, attempt(Fragile(), raw), lambda: None) == b"!"


def test_an_input_depends_on_seed_and_number_alone():
    target = TARGETS[0]
    target.prepare()
    assert target.mutant(1, 7) == target.mutant(1, 7)
    assert len({target.mutant(seed, number) for seed in (1, 2) for number in range(50)}) > 90


def test_a_round_trip_that_changes_a_tree_is_a_finding(monkeypatch):
    from fuzz import treebanks

    one, other = treebanks.Tree.parse("(ROOT (A 0=a))", "1"), treebanks.Tree.parse("(ROOT (A 0=b))", "1")
    check_round_trip(one, "export", exact=True)
    monkeypatch.setattr(treebanks, "decoded", lambda *_: [other])
    with pytest.raises(WrongResult, match="export changes words"):
        check_round_trip(one, "export", exact=True)


def test_a_run_prints_a_table_and_finds_nothing(tmp_path, capfd):
    arguments = ["--count", "40", "--seed", "1", "--workers", "1", "--target", "discbracket"]
    assert main([*arguments, "--findings", str(tmp_path)]) == 0
    printed = capfd.readouterr().out
    assert "nothing found" in printed
    assert [line.split()[1] for line in printed.splitlines() if line.startswith("discbracket")] == ["40"]
    assert os.listdir(tmp_path) == []


def test_a_finding_is_shown_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(catalogue.ALL, "fragile", Fragile())
    path = tmp_path / "fragile" / "0123"
    path.parent.mkdir()
    path.write_bytes(b"!")
    assert replay([str(path)]) == 1
    assert "found KeyError" in capsys.readouterr().out
    path.write_bytes(b"?")
    assert replay([str(path)]) == 0


def test_what_was_once_found_stays_mended():
    names = [name for name, target in catalogue.ALL.items() if target.corpus()]
    for target in catalogue.ready_targets(names):
        for path in target.corpus():
            outcome = attempt(target, path.read_bytes())
            assert outcome.kind != FOUND, f"{path}: {outcome}"
        target.close()


def test_json_is_damaged_in_its_values_and_stays_json():
    raw = json.dumps({"a": [1, 2, {"b": "c"}], "d": {"e": None}}).encode()
    found = {mutate_json(random.Random(number), raw) for number in range(50)}
    assert len(found) > 30
    assert all(isinstance(json.loads(one), dict) for one in found)


@pytest.mark.slow
def test_every_target_takes_its_seeds():
    for target in catalogue.ready_targets(list(catalogue.ALL)):
        found = {path.read_bytes() for path in target.corpus()}
        assert {attempt(target, raw).kind for raw in set(target.pool) - found} == {VALID}, target.name
        target.close()


def test_every_format_is_a_target():
    readers = {FORMATS[target.name].read for target in (*TARGETS, *TABLES)}
    assert readers == {form.read for form in FORMATS.values()}
