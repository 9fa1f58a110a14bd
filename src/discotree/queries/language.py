"""What a query is made of, after it has been read.

``And``, ``Or`` and ``Not`` combine three kinds of things: tests of a value (``"NN" | /V.*/``), features of a node
(``pos="NN" & !(lemma="x")``) and statements about a tree (``#a > #b & root(#a)``).

A tree has nodes of two kinds: terminals, which are its words, and non-terminals, which are its constituents, the root
included. A query is about some of them, which it names by variables (``#n``) or leaves anonymous.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

TERMINAL_FEATURES = ("word", "lemma", "pos", "morph")
FEATURES = (*TERMINAL_FEATURES, "cat", "edge")
"""``edge`` is the label of the edge above a node; the root has none. Words have no cat, constituents have only that."""


@dataclass(frozen=True, slots=True)
class And:
    """Holds if all parts do; without parts, always."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Holds if one part does."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Holds if its part does not."""

    part: "Expression"


# Tests of a value


@dataclass(frozen=True, slots=True)
class Exactly:
    """The value is this string."""

    text: str


@dataclass(frozen=True, slots=True)
class Matching:
    """The whole value matches a regular expression."""

    pattern: str


@dataclass(frozen=True, slots=True)
class SameAs:
    """The value is that of a variable, which it has wherever the variable stands."""

    variable: str
    offset: int  # in the query, for error messages


# Features of a node


@dataclass(frozen=True, slots=True)
class Feature:
    """The node has this feature, and its value passes a test. A node without the feature fails every test of it."""

    name: str
    test: "Expression"


@dataclass(frozen=True, slots=True)
class Kind:
    """The node is a terminal, or a non-terminal."""

    terminal: bool


# Statements about a tree; ``node``, ``left`` and ``right`` are variables, with a number in place of a name if anonymous


@dataclass(frozen=True, slots=True)
class Described:
    """A node has features."""

    node: str
    features: "Expression"


RelationName = Literal[">", ">@l", ">@r", ".", "$", "$.*", ">~"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two nodes, as ``relations`` defines it."""

    name: RelationName
    nearest: int = 1  # the smallest and the largest distance, for > and .
    farthest: int | None = 1  # None: any
    label: "Expression | None" = None  # test of the edge's label, for > and >~


@dataclass(frozen=True, slots=True)
class Related:
    """A relation holds between two nodes."""

    left: str
    relation: Relation
    right: str


@dataclass(frozen=True, slots=True)
class Holds:
    """A predicate holds of nodes, as ``predicates`` defines it."""

    predicate: str
    nodes: tuple[str, ...]
    numbers: tuple[float, ...]
    comparison: str = ""


@dataclass(frozen=True, slots=True)
class Without:
    """No choice of the nodes that are named inside alone makes the graph hold."""

    graph: "Expression"


Expression: TypeAlias = (
    And | Or | Not | Exactly | Matching | SameAs | Feature | Kind | Described | Related | Holds | Without
)
