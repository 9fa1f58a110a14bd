"""Query: what to look for in trees.

A match binds every variable of the query to a node (or, for ``pos=#p``, to a value); of those that agree in all
variables there is one. Anonymous nodes only have to exist. In a query without variables, its anonymous nodes count.
Variables inside ``without`` alone are no part of a match, nor are those of an alternative (``|``) that was not taken.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from discotree.errors import QueryError
from discotree.queries.grammar import Grammar
from discotree.queries.language import Expression
from discotree.queries.match import Match
from discotree.queries.normal_form import conjunctions, node_variables
from discotree.queries.plan import Plan, value_uses
from discotree.queries.tree_view import TreeView
from discotree.trees.tree import Tree

MAX_NODES = 50  # in one query


@dataclass(frozen=True)
class Query:
    """A query, checked and ready to be matched with trees."""

    text: str
    graph: Expression = field(init=False, repr=False, compare=False)
    variables: tuple[str, ...] = field(init=False, compare=False)  # what a match binds, in the order of the query
    node_variables: tuple[str, ...] = field(init=False, repr=False, compare=False)  # those that stand for nodes
    plans: tuple[Plan, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"expected the text of a query, got {type(self.text).__name__}: {self.text!r:.50}")
        grammar = Grammar(self.text)
        graph = grammar.read()
        for use in value_uses(graph):
            if use.variable in grammar.where:
                raise QueryError(f"{use.variable} is a node elsewhere, and cannot be a value", self.text, use.offset)
        if grammar.anonymous + len(grammar.where) > MAX_NODES:
            raise QueryError(f"more than {MAX_NODES} nodes", self.text, 0)
        choices = conjunctions(graph, self.text)
        plans = tuple(Plan(conjunction, self.text, {}, {}) for conjunction in choices)
        if not all(node_variables(conjunction) for conjunction in choices):
            raise QueryError("nothing to find: without(…) needs a node beside it, in every alternative", self.text, 0)
        nodes = {name: None for conjunction in choices for name in node_variables(conjunction)}
        values = {name: None for plan in plans for name in plan.known_values}
        named = [name for name in (*nodes, *values) if name.startswith("#")]
        object.__setattr__(self, "graph", graph)
        object.__setattr__(self, "variables", tuple(named or nodes))
        object.__setattr__(self, "node_variables", tuple(nodes))
        object.__setattr__(self, "plans", plans)

    def nodes(self, tree: Tree) -> dict[str, tuple[int, ...]]:
        """Return the addresses of all nodes that each variable stands for in any match, in the order of the query.

        A token's address is its position, that of the k-th node in the order of ``Tree.nodes`` is ``len(tree) + k``.
        """
        found: dict[str, set[int]] = {name: set() for name in self.variables if name in self.node_variables}
        for match in self.matches(tree):
            for name, addresses in found.items():
                if isinstance(bound := match.bindings[name], int):
                    addresses.add(bound)
        return {name: tuple(sorted(addresses)) for name, addresses in found.items()}

    def matches(self, tree: Tree) -> Iterator[Match]:
        """Yield all matches in a tree."""
        return self.matches_in(TreeView(tree))

    def matches_in(self, view: TreeView) -> Iterator[Match]:
        """Yield all matches in the tree of a view."""
        seen: set[tuple[int | str | None, ...]] = set()
        for plan in self.plans:
            if not plan.is_possible(view):
                continue
            strings: dict[str, str] = {}
            for nodes in plan.solutions(view, {}, strings, plan.steps_for(self.variables)):
                found = tuple([nodes.get(name, strings.get(name)) for name in self.variables])
                if found not in seen:
                    seen.add(found)
                    yield Match(view, dict(zip(self.variables, found, strict=True)), self.node_variables)
