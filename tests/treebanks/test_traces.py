"""Fillers move to the nearest trace that they do not dominate by then, in time that grows with the tree."""

import random
import sys
from contextlib import suppress

import pytest
from support.helpers import parsed

from discotree import TreebankError, TreeError
from discotree.treebanks import brackets
from discotree.treebanks.brackets import MOVEMENT, Item, _leaves, _phrase_of, move_fillers
from discotree.trees.tree import NONE


def move_fillers_plainly(leaves, top):
    """The definition: climb from every trace to see whether the filler dominates it."""
    found = {}
    for leaf in leaves:
        phrase = _phrase_of(leaf)
        if leaf.trace in MOVEMENT and (leaf.index or phrase.index):
            found.setdefault(leaf.index or phrase.index, []).append(phrase)
    targets = {id(phrase) for phrases in found.values() for phrase in phrases}
    stack, fillers = [top], []
    while stack:
        item = stack.pop()
        if item.index in found and not item.trace and id(item) not in targets and item is not top:
            fillers.append(item)
        stack.extend(reversed(item.children))

    def dominates(item, other):
        while other is not None and other is not item:
            other = other.parent
        return other is item

    def category(item):
        return item.label.removeprefix("WH")

    taken = []
    for filler in fillers:
        candidates = found[filler.index]
        rivals = [category(other) for other in fillers if other.index == filler.index]
        if len(rivals) > 1:
            own = [phrase for phrase in candidates if category(phrase) == category(filler)]
            candidates = own or [phrase for phrase in candidates if category(phrase) not in rivals]
        candidates = [phrase for phrase in candidates if phrase not in taken and not dominates(filler, phrase)]
        if candidates:
            target = min(candidates, key=lambda phrase: abs(phrase.first_leaf - filler.first_leaf))
            if filler.function == NONE and filler.word is None:
                filler.function = target.function
            filler.parent.children.remove(filler)
            filler.parent = target.parent
            target.parent.children.append(filler)
            taken.append(target)


def random_brackets(draw, depth=0):
    index = draw.choice(["", "", "-1", "-2", "-3"])
    kind = draw.random()
    if depth > 5 or (depth and kind < 0.25):
        return f"(N{index} w{draw.randrange(1000)})"
    if depth and kind < 0.5:
        return f"({draw.choice(['NP', 'NP-SBJ', 'X', 'Y'])} (-NONE- *T*-{draw.randint(1, 3)}))"
    inner = " ".join(random_brackets(draw, depth + 1) for _ in range(draw.randint(1, 4)))
    return f"({draw.choice(['X', 'Y', 'NP', 'WHNP'])}{index if depth else ''} {inner})"


def items(text):
    """Return the leaves and the outermost bracket of a text."""
    top = current = None
    for piece in text.replace("(", " ( ").replace(")", " ) ").split():
        if piece == "(":
            item = Item(1, current)
            if current is None:
                top = item
            else:
                current.children.append(item)
            current = item
        elif piece == ")":
            current = current.parent
        elif current.label:
            current.word = piece
        else:
            current.label = piece
    return _leaves(top, psd=False), top


def shape(item):
    """Return a bracket with its children in one order: moved ones may stand anywhere."""
    return item.label, item.function, item.word, sorted((shape(child) for child in item.children), key=repr)


@pytest.mark.slow
def test_fillers_move_as_the_definition_says():
    draw = random.Random(7)
    moved = 0
    for _ in range(3000):
        text = random_brackets(draw)
        expected_leaves, expected = items(text)
        before = shape(expected)
        move_fillers_plainly(expected_leaves, expected)
        leaves, top = items(text)
        move_fillers(leaves, top)
        assert shape(top) == shape(expected), text
        moved += shape(expected) != before
    assert moved > 500


def nested(n):
    """Fillers inside each other around all their traces: none of them moves."""
    return "( " + "(X-1 " * n + "(N w) " + "(NP (-NONE- *T*-1)) " * n + ")" * n + ")"


def pairs(n):
    """A filler and a trace for every index, the traces deep inside each other."""
    inner = "".join(f"(X (NP (-NONE- *T*-{k})) " for k in range(1, n))
    return "( " + " ".join(f"(N-{k} w{k})" for k in range(1, n)) + inner + "(N w)" + ")" * n


def chained(n):
    """Every filler moves into the next one."""
    return "( " + " ".join(f"(X-{k} (N w{k}) (NP (-NONE- *T*-{k + 1})))" for k in range(1, n)) + f" (X-{n} (N w)))"


def captured(n):
    """A phrase with many traces moves into fillers of their index, which then pass over all of them."""
    inner = "(NP (-NONE- *T*-1)) " * n
    return f"( (Y-2 (N v) {inner})" + "(X-1 " * n + "(N w) (NP (-NONE- *T*-2))" + ")" * n + ")"


def lines_run(text):
    """Count the lines of brackets.py that run while a text is read."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != brackets.__file__:
            return None
        count += event == "line"
        return trace

    leaves, top = items(text)
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        with suppress(TreeError):
            move_fillers(leaves, top)
    finally:
        sys.settrace(previous)
    return count


def reused(n):
    """One index for all fillers and traces, of many categories."""
    inner = "".join(f"(X (C{k % 50} (-NONE- *T*-1)) " for k in range(1, n))
    return "( " + " ".join(f"(C{k % 50}-1 (N w{k}))" for k in range(1, n)) + inner + "(N w)" + ")" * n


@pytest.mark.parametrize("shape", [nested, pairs, reused, chained, captured])
def test_work_is_limited(monkeypatch, shape):
    assert len(parsed(shape(40), "penn")) == 1
    monkeypatch.setattr(brackets, "MAX_STEPS", 0)
    monkeypatch.setattr(brackets, "MAX_STEPS_PER_LEAF", 5)
    with pytest.raises(TreebankError, match="<memory>:1: too many fillers and traces are inside each other"):
        parsed(shape(100), "penn")
    assert lines_run(shape(400)) < 6 * lines_run(shape(100))
