"""Constraints on the tree of a sentence, and partial trees in brackets, whose constituents are constraints."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from discotree.errors import ConstraintError, InputError
from discotree.trees.tree import NONE, ROOT, Token, Tree


@dataclass(frozen=True)
class _OverWords:
    words: Sequence[int]  # positions, ascending
    label: str | None = None

    def __post_init__(self) -> None:
        positions = sorted(set(self.words)) if isinstance(self.words, Iterable) else []
        if not positions or not all(isinstance(position, int) and position >= 0 for position in positions):
            raise InputError(f"words are given by their positions, counted from 0; got {self.words!r:.50}")
        object.__setattr__(self, "words", tuple(positions))

    @property
    def mask(self) -> int:
        """A bit for every word, as in ``Node``."""
        return sum(1 << position for position in self.words)


@dataclass(frozen=True)
class IsConstituent(_OverWords):
    """The words at these positions form a constituent, with this label and this function if they are given.

    Example: ``dt.IsConstituent([0, 1, 4], "NP")``.
    """

    function: str | None = None


@dataclass(frozen=True)
class NotConstituent(_OverWords):
    """The words at these positions do not form a constituent, or none with this label.

    Example: ``dt.NotConstituent(range(2, 5))``.
    """


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


Constraint = IsConstituent | NotConstituent | WordHas


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
    if isinstance(constraint, WordHas):
        values = {"tag": constraint.tag, "head": constraint.head, "function": constraint.function}
        named = ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
        return f"{named} of word {constraint.position} ({forms[constraint.position]!r})"
    name = ("no " if isinstance(constraint, NotConstituent) else "") + (constraint.label or "constituent")
    words = f"word{'s' if len(constraint.words) > 1 else ''} {', '.join(map(str, constraint.words))}"
    return f"{name} over {words} ({' '.join(forms[position] for position in constraint.words)!r:.60})"


def check_constraints(constraints: Sequence[Constraint], forms: Sequence[str]) -> None:
    """Raise an InputError for a word that is not in the sentence, a ConstraintError for two that cannot both hold."""
    for one in constraints:
        if not isinstance(one, IsConstituent | NotConstituent | WordHas):
            raise TypeError(f"expected an IsConstituent, a NotConstituent or a WordHas, got {one!r:.50}")
        if max((one.position, one.head or 0) if isinstance(one, WordHas) else one.words) >= len(forms):
            raise InputError(f"{one!r}: the sentence has only {len(forms)} words, counted from 0")
    for one, other in combinations(constraints, 2):
        if reason := _conflict(one, other):
            both = f"{describe(one, forms)} and {describe(other, forms)}"
            raise ConstraintError(f"conflicting constraints: {both}: {reason}", [one, other])


def _conflict(one: Constraint, other: Constraint) -> str:
    """Return why two constraints cannot both hold, or "" if no reason is obvious."""
    if isinstance(one, WordHas) or isinstance(other, WordHas):
        if isinstance(one, WordHas) and isinstance(other, WordHas) and one.position == other.position:
            for name in ("tag", "head", "function"):
                if len({getattr(one, name), getattr(other, name)} - {None}) > 1:
                    return f"a word has one {name}"
        return ""
    if isinstance(one, IsConstituent) and isinstance(other, IsConstituent):
        if one.mask & other.mask not in (0, one.mask, other.mask):
            return "they share words, and neither contains the other"
        if one.words == other.words and one.label == other.label and len({one.function, other.function} - {None}) > 1:
            return "a constituent has one function"
    elif one.words == other.words and type(one) is not type(other):
        absent, present = (one, other) if isinstance(one, NotConstituent) else (other, one)
        if absent.label in (None, present.label):
            return "they contradict each other"
    return ""


def impose(tree: Tree, constraints: Iterable[Constraint]) -> Tree:
    """Return a tree with the tags and functions of constraints whose words and constituents it has."""
    tokens, (token_parents, nodes) = list(tree.tokens), tree.parents()
    masks = [node.mask for node in tree.nodes()][1:]
    for one in constraints:
        if isinstance(one, WordHas):
            old = tokens[one.position]
            morph = old.morph if one.tag in (None, old.tag) else NONE  # it was predicted for the other tag
            tag, function = one.tag or old.tag, one.function or old.function
            tokens[one.position] = old._replace(tag=tag, morph=morph, function=function)
        elif isinstance(one, IsConstituent) and one.function is not None:
            fits = [k for k, mask in enumerate(masks) if mask == one.mask and one.label in (None, nodes[k][0])]
            for index in fits[:1]:
                nodes[index] = (nodes[index][0], one.function, nodes[index][2])
    whole = tree.rebuild(token_parents, nodes, tokens)
    return replace(whole, confidence=tree.confidence, confidences=tree.confidences, heads=tree.heads)


# Brackets in a text

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
    nodes = [IsConstituent(words, label or None) for label, _, words in reversed(spans)]
    check_constraints(nodes, forms)
    nodes.sort(
        key=lambda node: len(node.words)
    )  # of two over the same words, the one that was opened later comes first

    def parent(mask: int, first: int) -> int:
        return next((k for k in range(first, len(nodes)) if nodes[k].mask & mask == mask), -1)

    above = [(node.label or NONE, NONE, parent(node.mask, k + 1)) for k, node in enumerate(nodes)]
    return Tree.from_parents(list(map(Token, forms)), [parent(1 << k, 0) for k in range(len(forms))], above, id=id)
