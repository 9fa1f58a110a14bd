"""Matches as rows: a table of bindings, and counts by features of variables."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from discotree.errors import ConfigError
from discotree.queries.language import FEATURES
from discotree.queries.match import FoundNode, Match
from discotree.queries.query import Query

NOTHING = ""  # the value of a feature that a node lacks, in a table

COLUMNS: dict[str, Callable[[FoundNode], str]] = {
    **{name: (lambda node, name=name: node.view.value(node.address, name) or NOTHING) for name in FEATURES},  # type: ignore[misc]
    "label": lambda node: node.cat or node.pos or NOTHING,
    "text": lambda node: node.text,
    "gaps": lambda node: str(node.gap_degree),
    "words": lambda node: str(len(node.positions)),
}
SHOWN = ("text", "label", "edge")  # columns of every variable in a table of bindings


class GroupKey:
    """What matches are counted by: a feature of a variable (``#n.cat``), or the value of one (``#p``)."""

    def __init__(self, text: str, query: Query) -> None:
        self.text = text
        self.variable, _, self.column = text.partition(".")
        if self.variable not in query.variables:
            known = ", ".join(name for name in query.variables if name.startswith("#")) or "none"
            raise ConfigError(f"{text!r}: the query has no variable {self.variable!r}; it has {known}")
        if self.column and self.column not in COLUMNS:
            raise ConfigError(f"{text!r}: there is no {self.column!r}; there are {', '.join(COLUMNS)}")

    def value(self, match: Match) -> str:
        bound = match[self.variable]
        if isinstance(bound, FoundNode):
            return COLUMNS[self.column or "text"](bound)
        return bound or NOTHING


def count(matches: Iterable[Match], keys: Sequence[GroupKey]) -> Counter[tuple[str, ...]]:
    """Count matches by the values of some keys."""
    return Counter(tuple([key.value(match) for key in keys]) for match in matches)


def header(query: Query) -> list[str]:
    """Return the names of the columns of ``rows``."""
    return ["id", *[f"{name}.{column}" for name in query.variables for column in (*SHOWN, "positions")]]


def rows(matches: Iterable[Match]) -> Iterator[list[str]]:
    """Yield a row for every match: the id of the sentence, then what each variable stands for."""
    for match in matches:
        row = [match.tree.id]
        for bound in match.values():
            if isinstance(bound, FoundNode):
                row += [COLUMNS[name](bound) for name in SHOWN]
                row.append(" ".join(map(str, bound.positions)))
            else:
                row += [bound or NOTHING, *[NOTHING] * len(SHOWN)]
        yield row
