"""Query: a query that is checked, planned and ready to be matched with trees.

A match binds every variable of the query to a node or, for ``pos=#p``, to a value; every binding is reported once.
Anonymous nodes only have to exist, but in a query without variables they are bound like variables. Variables that occur
only inside ``without``, or in an alternative (``|``) that did not match, are not part of a match.

A query is a choice of conjunctions. The ``Plan`` of a conjunction is a sequence of steps, and each step binds one node:
among the nodes that a relation to a bound node allows, or else among those with the required features. A statement is
checked as soon as all its variables are bound. The order of the steps is fixed before any tree is searched, so later
steps only read the bindings of earlier ones.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from discotree.errors import QueryError
from discotree.queries.conditions import (
    FeatureTest,
    asks_for_gaps,
    conjuncts,
    exact_values,
    feature_test,
    holds,
    partners,
    related,
    value_test,
    value_uses,
)
from discotree.queries.language import (
    XPATH,
    XPATH_MESSAGE,
    Conjunction,
    Described,
    Expression,
    Feature,
    Grammar,
    Holds,
    Kind,
    Not,
    Related,
    SameAs,
    Without,
    conjunctions,
    node_variables,
    variables_of,
    walk,
)
from discotree.queries.match import Match, TreeView
from discotree.trees.tree import Tree

Nodes = dict[str, int]  # address by variable
Strings = dict[str, str]  # value by variable
Check = Callable[[TreeView, Nodes, Strings], bool]

# Roughly how many nodes have one value of a feature, from few to many; then ranks for nodes that pass other tests.
SELECTIVITY = {"word": 0, "lemma": 1, "morph": 2, "cat": 2, "pos": 2, "edge": 2}
TESTED, OF_A_KIND, ANY = 3, 4, 5


@dataclass
class Step:
    """Binds one node."""

    variable: str
    tests: list[FeatureTest] = field(default_factory=list)  # about the node alone
    requirements: list[Feature] = field(default_factory=list)  # features that it must have
    lookups: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # a feature, and the values it may have
    gaps: list[Holds] = field(default_factory=list)  # predicates that require gaps
    terminal: bool | None = None
    relations: list[Related] = field(default_factory=list)  # to nodes that are known by then
    values: list[tuple[str, str]] = field(default_factory=list)  # a feature, and the variable that gets its value
    checks: list[Check] = field(default_factory=list)

    @property
    def rank(self) -> int:
        """Roughly how many nodes may be bound."""
        if self.lookups:
            return min(SELECTIVITY[feature] for feature, _ in self.lookups)
        return TESTED if self.tests else ANY if self.terminal is None else OF_A_KIND

    def candidates(self, view: TreeView, nodes: Nodes) -> Iterable[int]:
        """Return the nodes to try; all nodes that may be bound are among them."""
        for statement in self.relations:
            is_left = statement.right == self.variable  # the known one
            known = nodes[statement.left if is_left else statement.right]
            candidates = partners(view, statement.relation, known, is_left)
            if candidates is not None:
                return candidates
        if self.lookups:
            feature, values = self.lookups[0]
            if len(self.lookups) > 1:
                feature, values = min(self.lookups, key=lambda lookup: SELECTIVITY[lookup[0]])
            if len(values) == 1:
                return view.with_value(feature, values[0])
            return [node for value in dict.fromkeys(values) for node in view.with_value(feature, value)]
        return view.addresses(self.terminal)

    def binds(self, node: int, view: TreeView, nodes: Nodes, strings: Strings) -> bool:
        """Bind a node if it passes all tests and checks; return whether it does."""
        for test in self.tests:  # a loop here and below: all() with a generator takes twice as long
            if not test(view, node, strings):
                return False
        nodes[self.variable] = node
        for feature, variable in self.values:
            value = view.value(node, feature)
            if value is None:
                return False
            strings[variable] = value
        for check in self.checks:  # noqa: SIM110
            if not check(view, nodes, strings):
                return False
        return True


class Plan:
    """Finds all ways to bind the nodes of one conjunction."""

    def __init__(
        self, conjunction: Conjunction, query: "Query", known: Mapping[str, None], known_values: Mapping[str, None]
    ) -> None:
        """``known`` nodes and values are already bound: those outside a ``without`` around the conjunction."""
        self.query = query
        self.known = dict(known)
        self.known_values = dict(known_values)
        steps = {name: Step(name) for name in node_variables(conjunction) if name not in known}
        query.count_work(len(conjunction) * (1 + len(steps)))
        for statement in conjunction:
            if isinstance(statement, Described) and statement.node in steps:
                _describe(steps[statement.node], statement.features)
            elif isinstance(statement, Related) and statement.right in steps:
                name, label = statement.relation.name, statement.relation.label
                if name == ">" and label is not None:
                    _describe(steps[statement.right], Feature("edge", label))
        self.steps = _order(steps, conjunction, known)
        self.first_checks: list[Check] = []  # about known nodes alone
        self._bind_values(conjunction)
        for statement in conjunction:
            self._check(statement)

    def solutions(self, view: TreeView, nodes: Nodes, strings: Strings, needed: int) -> Iterator[Nodes]:
        """Return the bindings of all nodes one by one, each in the same dictionary.

        Bindings that agree in the first ``needed`` steps are returned once.
        """
        for check in self.first_checks:
            if not check(view, nodes, strings):
                return iter(())
        return self._from_step(0, view, nodes, strings, needed) if self.steps else iter((nodes,))

    def _from_step(self, number: int, view: TreeView, nodes: Nodes, strings: Strings, needed: int) -> Iterator[Nodes]:
        step = self.steps[number]
        is_last = number + 1 == len(self.steps)
        for node in step.candidates(view, nodes):
            if not step.binds(node, view, nodes, strings):
                continue
            if is_last:
                yield nodes
                if number >= needed:
                    return
            else:
                for solution in self._from_step(number + 1, view, nodes, strings, needed):
                    yield solution
                    if number >= needed:
                        return

    def steps_for(self, variables: Collection[str]) -> int:
        """Return the number of first steps that bind these variables and all values."""
        needed = [k for k, step in enumerate(self.steps, 1) if step.variable in variables or step.values]
        return max(needed, default=0)

    def is_possible(self, view: TreeView) -> bool:
        """Return whether every node that is required to have a value has a candidate."""
        for step in self.steps:
            for feature, values in step.lookups:
                if view.values(feature).keys().isdisjoint(values):
                    return False
        return True

    def _bind_values(self, conjunction: Conjunction) -> None:
        """Bind each value variable at the first step that determines its value."""
        bound = self.known_values
        for step in self.steps:
            descriptions = [s for s in conjunction if isinstance(s, Described) and s.node == step.variable]
            for part in (part for described in descriptions for part in conjuncts(described.features)):
                if isinstance(part, Feature) and isinstance(part.test, SameAs) and part.test.variable not in bound:
                    bound[part.test.variable] = None
                    step.values.append((part.name, part.test.variable))
        self.value_steps = {variable: k for k, step in enumerate(self.steps) for _, variable in step.values}

    def _check(self, statement: Expression) -> None:
        """Add the checks of a statement to the step that binds the last of its variables."""
        negated = isinstance(statement, Not)
        inner = statement.part if isinstance(statement, Not) else statement
        if isinstance(inner, Described):
            for part in conjuncts(inner.features):
                used = list(value_uses(part))
                if used or inner.node in self.known:
                    self._add(partial(_described, inner.node, feature_test(part)), [inner.node], used)
        elif isinstance(inner, Related):
            left, relation, right = inner.left, inner.relation, inner.right
            label = None if relation.label is None else value_test(relation.label)
            self._add(
                lambda view, nodes, _: related(view, nodes[left], relation, nodes[right], label) != negated,
                [left, right],
            )
        elif isinstance(inner, Holds):
            names = inner.nodes
            for step in self.steps:
                if step.variable in names and not negated and asks_for_gaps(inner):
                    step.gaps.append(inner)
            self._add(lambda view, nodes, _: holds(view, inner, [nodes[x] for x in names]) != negated, names)
        elif isinstance(inner, Without):
            outside = dict.fromkeys([*self.known, *[step.variable for step in self.steps]])
            plans = [
                Plan(conjunction, self.query, outside, self.known_values)
                for conjunction in conjunctions(inner.graph, self.query.text)
            ]
            inside = {name for part in walk(inner.graph) for name in variables_of(part)}
            values = [use for use in value_uses(inner.graph) if use.variable in self.known_values]
            self._add(partial(_without, plans), [name for name in outside if name in inside], values)

    def _add(self, check: Check, nodes: Iterable[str], uses: Iterable[SameAs] = ()) -> None:
        names = [step.variable for step in self.steps]
        last = max([names.index(variable) for variable in nodes if variable not in self.known], default=-1)
        for use in uses:
            if use.variable in self.value_steps:
                last = max(last, self.value_steps[use.variable])
            elif use.variable not in self.known_values:
                message = f"{use.variable} never gets a value; add feature={use.variable} to a node, outside | and !"
                raise QueryError(message, self.query.text, use.offset)
        (self.steps[last].checks if last >= 0 else self.first_checks).append(check)


def _describe(step: Step, features: Expression) -> None:
    """Add the features of a node to its step, except those that depend on other nodes."""
    for part in conjuncts(features):
        if any(value_uses(part)):
            continue
        if isinstance(part, Kind) and step.terminal in (None, part.terminal):
            step.terminal = part.terminal
        if isinstance(part, Feature):
            step.requirements.append(part)
            if values := exact_values(part.test):
                step.lookups.append((part.name, values))
        step.tests.append(feature_test(part))


def _order(steps: dict[str, Step], conjunction: Conjunction, known: Mapping[str, None]) -> list[Step]:
    """Order the steps so that each starts from a bound node, if there is such a relation."""
    relations = [statement for statement in conjunction if isinstance(statement, Related)]
    done = dict(known)
    ordered: list[Step] = []
    waiting = dict(steps)
    while waiting:
        for step in waiting.values():
            step.relations = [
                statement
                for statement in relations
                if step.variable in (statement.left, statement.right)
                and ({statement.left, statement.right} - {step.variable}) & done.keys()
            ]
        step = min(waiting.values(), key=lambda step: (not step.relations, step.rank))
        ordered.append(waiting.pop(step.variable))
        done[step.variable] = None
    return ordered


def _described(node: str, test: FeatureTest, view: TreeView, nodes: Nodes, strings: Strings) -> bool:
    return test(view, nodes[node], strings)


def _without(plans: list[Plan], view: TreeView, nodes: Nodes, strings: Strings) -> bool:
    return not any(next(plan.solutions(view, dict(nodes), dict(strings), 0), None) for plan in plans)


MAX_NODES = 50  # in one query
MAX_WORK = 100_000  # statements times nodes, in all plans of one query: planning takes at most about a second


class Query:
    """A query that is ready to be matched with trees.

    A match binds ``variables``, in the order of the query; ``node_variables`` are those that stand for nodes.
    With ``all_gaps``, every predicate about gaps also counts those of only punctuation.
    """

    def __init__(self, text: str, all_gaps: bool = False) -> None:
        if not isinstance(text, str):
            raise TypeError(f"expected the text of a query, got {type(text).__name__}: {text!r:.50}")
        self.text = text
        self.all_gaps = all_gaps
        try:
            grammar = Grammar(text, all_gaps)
            self.graph = grammar.read()
        except QueryError:
            if XPATH.search(text):
                raise QueryError(XPATH_MESSAGE, text, 0) from None
            raise
        for use in value_uses(self.graph):
            if use.variable in grammar.where:
                message = f"{use.variable} is used as a node elsewhere and cannot also be a value"
                raise QueryError(message, text, use.offset)
        if grammar.anonymous + len(grammar.where) > MAX_NODES:
            raise QueryError(f"the query has more than {MAX_NODES} nodes", text, 0)
        choices = conjunctions(self.graph, text)
        self.work = 0
        self.plans = [Plan(conjunction, self, {}, {}) for conjunction in choices]
        if not all(node_variables(conjunction) for conjunction in choices):
            raise QueryError("every alternative needs a node outside without(…)", text, 0)
        nodes = {name: None for conjunction in choices for name in node_variables(conjunction)}
        values = {name: None for plan in self.plans for name in plan.known_values}
        self.node_variables = tuple(nodes)
        self.variables = tuple([name for name in (*nodes, *values) if name.startswith("#")] or nodes)

    def count_work(self, work: int) -> None:
        """Count the work of planning, and refuse a query that takes too much."""
        self.work += work
        if self.work > MAX_WORK:
            raise QueryError(
                "the query is too complex; use fewer relations, alternatives (|) or nested without(…)", self.text, 0
            )

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def nodes(self, tree: Tree) -> dict[str, tuple[int, ...]]:
        """Return the addresses of the nodes that each variable stands for in any match, in the order of the query.

        A token's address is its position, that of the k-th node in the order of ``Tree.nodes`` is ``len(tree) + k``.
        """
        bound_nodes: dict[str, set[int]] = {name: set() for name in self.variables if name in self.node_variables}
        for match in self.matches(tree):
            for name, addresses in bound_nodes.items():
                if isinstance(bound := match.bindings[name], int):
                    addresses.add(bound)
        return {name: tuple(sorted(addresses)) for name, addresses in bound_nodes.items()}

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
                binding = tuple([nodes.get(name, strings.get(name)) for name in self.variables])
                if binding not in seen:
                    seen.add(binding)
                    yield Match(view, dict(zip(self.variables, binding, strict=True)), self.node_variables)
