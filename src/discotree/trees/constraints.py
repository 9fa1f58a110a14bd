"""Constraints on the tree of a sentence, and partial trees in brackets, whose constituents are constraints."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from discotree.errors import ConstraintError, InputError
from discotree.trees.tree import NONE, ROOT, Node, Token, Tree


@dataclass(frozen=True)
class IsConstituent:
    """The words at these positions form a constituent, if given with this label and this function.

    Example: ``dt.IsConstituent([0, 1, 4], "NP")``.
    """

    words: tuple[int, ...]
    label: str | None = None
    function: str | None = None

    def __init__(self, words: Iterable[int], label: str | None = None, function: str | None = None) -> None:
        object.__setattr__(self, "words", _positions(words))
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "function", function)


@dataclass(frozen=True)
class NotConstituent:
    """The words at these positions do not form a constituent, or none with this label.

    Example: ``dt.NotConstituent(range(2, 5))``.
    """

    words: tuple[int, ...]
    label: str | None = None

    def __init__(self, words: Iterable[int], label: str | None = None) -> None:
        object.__setattr__(self, "words", _positions(words))
        object.__setattr__(self, "label", label)


@dataclass(frozen=True)
class WordHas:
    """The word at this position has this tag, this head (a position, or -1 for the dummy root) and this function.

    Example: ``dt.WordHas(2, tag="NN", head=4)``.
    """

    position: int
    tag: str | None = None
    head: int | None = None
    function: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.position, int) or self.position < 0:
            raise InputError(f"a word is given by its position, counted from 0; got {self.position!r:.50}")
        if self.head is not None and (not isinstance(self.head, int) or self.head < -1 or self.head == self.position):
            raise InputError(f"word {self.position}: its head must be another position, or -1; got {self.head!r:.50}")

    @property
    def words(self) -> tuple[int, ...]:
        """The positions that the constraint names."""
        return (self.position,) if self.head in (None, -1) else (self.position, self.head)


Constraint = IsConstituent | NotConstituent | WordHas


def _positions(words: Iterable[int]) -> tuple[int, ...]:
    positions = sorted(set(words)) if isinstance(words, Iterable) and not isinstance(words, str) else []
    if not positions or not all(isinstance(position, int) and position >= 0 for position in positions):
        raise InputError(f"words are given by their positions, counted from 0; got {words!r:.50}")
    return tuple(positions)


def constraints_of(tree: Tree) -> list[Constraint]:
    """Return the constraints that a partial tree stands for.

    Its constituents have to be in the tree, with the labels and functions that they have, and its words keep their
    tags and functions. A label, function or tag ``--`` is not known. A root labelled ``--``, ROOT, TOP or VROOT is no
    constraint.
    """
    constraints: list[Constraint] = [
        IsConstituent(node.positions, _known(node.label), _known(node.function))
        for node in tree.nodes()
        if node is not tree.root or node.label not in (NONE, ROOT, "TOP", "VROOT", "top")
    ]
    for position, token in enumerate(tree.tokens):
        if _known(token.tag) or _known(token.function):
            constraints.append(WordHas(position, _known(token.tag), function=_known(token.function)))
    return constraints


def _known(name: str | None) -> str | None:
    return name if name and name != NONE else None


def describe(constraint: Constraint, forms: Sequence[str]) -> str:
    """Return a constraint as part of a message."""
    text = " ".join(forms[position] for position in constraint.words if position < len(forms))
    if isinstance(constraint, WordHas):
        values = [("tag", constraint.tag), ("head", constraint.head), ("function", constraint.function)]
        named = ", ".join(f"{name} {value}" for name, value in values if value is not None)
        return f"{named} of word {constraint.position} ({forms[constraint.position]!r})"
    name = "constituent" if constraint.label is None else constraint.label
    words = f"word{'s' if len(constraint.words) > 1 else ''} {', '.join(map(str, constraint.words))}"
    return f"{'no ' if isinstance(constraint, NotConstituent) else ''}{name} over {words} ({text!r:.60})"


def check_constraints(constraints: Sequence[Constraint], forms: Sequence[str]) -> None:
    """Raise an InputError for a word that is not in the sentence, a ConstraintError for two that cannot both hold."""
    for constraint in constraints:
        if not isinstance(constraint, IsConstituent | NotConstituent | WordHas):
            raise TypeError(f"expected an IsConstituent, a NotConstituent or a WordHas, got {constraint!r:.50}")
        if max(constraint.words) >= len(forms):
            raise InputError(f"{constraint!r}: the sentence has only {len(forms)} words, counted from 0")
    for one, other in combinations(constraints, 2):
        if reason := _conflict(one, other):
            both = f"{describe(one, forms)} and {describe(other, forms)}"
            raise ConstraintError(f"conflicting constraints: {both}: {reason}", [one, other])


def _conflict(one: Constraint, other: Constraint) -> str:
    """Return why two constraints cannot both hold, or "" if no reason is obvious."""
    if isinstance(one, WordHas) and isinstance(other, WordHas):
        if one.position == other.position:
            for name in ("tag", "head", "function"):
                first, second = getattr(one, name), getattr(other, name)
                if None not in (first, second) and first != second:
                    return f"a word has one {name}"
        elif one.head == other.position and other.head == one.position:
            return "two words cannot be each other's head"
        elif one.head == other.head == -1:
            return "only one word can hang on the dummy root"
    elif isinstance(one, IsConstituent) and isinstance(other, IsConstituent):
        shared = len(set(one.words).intersection(other.words))
        if shared and shared < min(len(one.words), len(other.words)):
            return "they share words, and neither contains the other"
        alike = one.words == other.words and (one.label == other.label or None in (one.label, other.label))
        if alike and None not in (one.function, other.function) and one.function != other.function:
            return "a constituent has one function"
    elif not isinstance(one, WordHas) and not isinstance(other, WordHas) and one.words == other.words and one != other:
        absent, present = (one, other) if isinstance(one, NotConstituent) else (other, one)
        if isinstance(present, IsConstituent) and absent.label in (None, present.label):
            return "they contradict each other"
    return ""


def impose(tree: Tree, constraints: Iterable[Constraint]) -> Tree:
    """Return a tree with the tags and functions of constraints whose words and constituents it has."""
    tokens = list(tree.tokens)
    token_parents, nodes = tree.parents()
    masks = [node.mask for node in tree.nodes()][1:]
    changed = False
    for constraint in constraints:
        if isinstance(constraint, WordHas):
            old = tokens[constraint.position]
            new = old._replace(tag=constraint.tag or old.tag, function=constraint.function or old.function)
            changed |= new != old
            tokens[constraint.position] = new
        elif isinstance(constraint, IsConstituent) and constraint.function is not None:
            mask = sum(1 << position for position in constraint.words)
            for index, (label, function, parent) in enumerate(nodes):
                if masks[index] == mask and constraint.label in (None, label):
                    changed |= function != constraint.function
                    nodes[index] = (label, constraint.function, parent)
                    break
    if not changed:
        return tree
    whole = tree.rebuild(token_parents, nodes, tokens)
    for name in ("confidence", "confidences", "heads"):
        object.__setattr__(whole, name, getattr(tree, name))
    return whole


# Brackets:
#
#     [NP A man ] arrived                            the first two words are an NP
#     [NP A man ] arrived [ … who nobody knew ]      continues the constituent that was closed last
#     [NP=1 A man ] saw [NP Mary ] [=1 … I know ]    continues the constituent with this number


_PIECE = re.compile(
    r"\[(?P<label>[^\s\[\]=]*)(?:=(?P<number>[0-9]+))?(?P<continues>\s+(?:…|\.\.\.))?(?!\S)"
    r"|(?P<close>\](?!\S))|(?P<word>\S+)"
)


def partial_tree(text: str, id: str = "") -> Tree:
    r"""Return the partial tree of a sentence with some constituents in brackets, and give it an ``id``.

    In the ``text``, words and brackets are separated by spaces. ``[NP`` opens an NP, ``[`` a constituent without a
    label, and ``]`` closes it. ``[ …`` continues the constituent that was closed last, and ``[NP …`` the NP that was
    closed last. Numbers tell constituents apart: ``[=1 …`` continues ``[NP=1``. A backslash before a word that starts
    or ends with a bracket makes it a word, and so does one before a backslash. Errors name the character.
    Example: ``dt.partial_tree("[NP A man ] arrived [ … who nobody knew ]", id="1")``.
    """
    forms: list[str] = []
    spans: list[tuple[str, str, list[int]]] = []  # label, number, words
    still_open: list[tuple[int, int]] = []  # span, character of its bracket
    closed: list[int] = []
    for piece in _PIECE.finditer(text):
        label, number, continues, close, word = piece.groups()
        place = piece.start() + 1
        if continues:
            fits = [span for span in closed if label in ("", spans[span][0]) and number in (None, spans[span][1])]
            if not fits:
                message = "continues a constituent, but none that fits is closed before it"
                raise InputError(f"character {place}: {piece[0]!r} {message}")
            closed.remove(fits[-1])
            still_open.append((fits[-1], place))
        elif label is not None:
            still_open.append((len(spans), place))
            spans.append((label, number, []))
        elif close:
            if not still_open:
                raise InputError(f"character {place}: no bracket is open here")
            span, start = still_open.pop()
            if not spans[span][2] or spans[span][2][-1] != len(forms) - 1:
                raise InputError(f"character {start}: the brackets are empty")
            closed.append(span)
        elif word[0] in "[]" or (word[-1] in "[]" and word[0] != "\\"):
            advice = f"put spaces around brackets, or write \\{word:.40} if this is a word"
            raise InputError(f"character {place}: expected '[', '[LABEL' or ']', got {word!r:.40}; {advice}")
        else:
            for span, _ in still_open:
                spans[span][2].append(len(forms))
            forms.append(word.removeprefix("\\"))
    if still_open:
        raise InputError(f"character {still_open[-1][1]}: the bracket is not closed")
    if not all(forms) or not forms:
        raise InputError("a backslash stands alone; write \\\\ for a backslash" if forms else "the text has no words")
    return _nested(forms, [(label, words) for label, _, words in spans], id)


def _nested(forms: Sequence[str], spans: Sequence[tuple[str, list[int]]], id: str) -> Tree:
    """Return the tree of constituents; raises ConstraintError for two that cross."""
    check_constraints([IsConstituent(words, label or None) for label, words in spans], forms)
    top: list[Node | int] = list(range(len(forms)))
    masks = [sum(1 << k for k in words) for _, words in spans]
    # Smaller constituents first; of two over the same words, the inner one, which was opened later.
    for number in sorted(range(len(spans)), key=lambda k: (len(spans[k][1]), -k)):
        inside = [child for child in top if _mask(child) & masks[number]]
        top = [child for child in top if not _mask(child) & masks[number]]
        top.append(Node(spans[number][0] or NONE, inside))
    return Tree(tuple(map(Token, forms)), Node(ROOT, top), id)


def _mask(child: Node | int) -> int:
    return 1 << child if isinstance(child, int) else child.mask
