"""A query as a choice of conjunctions: every ``|`` between statements is multiplied out."""

from collections.abc import Iterator

from discotree.errors import QueryError
from discotree.queries.language import And, Described, Expression, Holds, Not, Or, Related, Without

MAX_CONJUNCTIONS = 1000

Conjunction = tuple[Expression, ...]  # Described, Related, Holds, Without, or Not around a Related or Holds


def conjunctions(graph: Expression, query: str) -> list[Conjunction]:
    """Return conjunctions, one of which holds exactly where the graph does."""
    if isinstance(graph, Or):
        found = [conjunction for part in graph.parts for conjunction in conjunctions(part, query)]
    elif isinstance(graph, And):
        found = [()]
        for part in graph.parts:
            choices = conjunctions(part, query)
            _check(len(found) * len(choices), query)
            found = [(*left, *right) for left in found for right in choices]
    else:
        found = [(graph,)]
    _check(len(found), query)
    return found


def _check(count: int, query: str) -> None:
    if count > MAX_CONJUNCTIONS:
        raise QueryError(f"its alternatives (|) multiply to more than {MAX_CONJUNCTIONS:,}", query, 0)


def node_variables(conjunction: Conjunction) -> dict[str, None]:
    """Return the node variables of a conjunction, in order, without those inside ``without``."""
    found: dict[str, None] = {}
    for statement in conjunction:
        found |= dict.fromkeys(variables_of(statement))
    return found


def variables_of(statement: Expression) -> Iterator[str]:
    """Yield the node variables of one statement."""
    if isinstance(statement, Not):
        statement = statement.part
    if isinstance(statement, Described):
        yield statement.node
    elif isinstance(statement, Related):
        yield from (statement.left, statement.right)
    elif isinstance(statement, Holds):
        yield from statement.nodes


def all_variables(graph: Expression) -> set[str]:
    """Return the node variables of a graph, those inside ``without`` included."""
    if isinstance(graph, And | Or):
        return {variable for part in graph.parts for variable in all_variables(part)}
    if isinstance(graph, Without):
        return all_variables(graph.graph)
    return set(variables_of(graph))
