"""Plans: in which order to look for the nodes of a conjunction, and what to check at each step.

A step binds one node. It looks among the nodes that a relation to a known node allows, or else among those with the
features that were asked for. What a statement says is checked as soon as all its variables are known. The order is
fixed before any tree is seen, so nothing has to be taken back: a later step only reads what earlier steps have bound.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from math import inf

from discotree.errors import QueryError
from discotree.queries.language import Described, Expression, Feature, Holds, Kind, Not, Related, SameAs, Without
from discotree.queries.normal_form import Conjunction, all_variables, conjunctions, node_variables
from discotree.queries.predicates import asks_for_gaps, decide
from discotree.queries.relations import LabelTest, partners, related
from discotree.queries.tree_view import TreeView
from discotree.queries.values import FeatureTest, alternatives, conjuncts, feature_test, same_as, value_test

Nodes = dict[str, int]  # address by variable
Strings = dict[str, str]  # value by variable
Check = Callable[[TreeView, Nodes, Strings], bool]

# How many nodes have a given value of a feature, roughly, from few to many; then those that pass other tests.
FEW = {"word": 0, "lemma": 1, "morph": 2, "cat": 2, "pos": 2, "edge": 2}
TESTED, OF_A_KIND, ANY = 3, 4, 5


@dataclass
class Step:
    """Binds one node."""

    variable: str
    tests: list[FeatureTest] = field(default_factory=list)  # about the node alone
    requirements: list[Feature] = field(default_factory=list)  # features that it must have
    lookups: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)  # a feature, and the values it may have
    gap_degrees: list[tuple[float, ...]] = field(default_factory=list)  # bounds, where it must have gaps
    terminal: bool | None = None
    relations: list[Related] = field(default_factory=list)  # to nodes that are known by then
    values: list[tuple[str, str]] = field(default_factory=list)  # a feature, and the variable that gets its value
    checks: list[Check] = field(default_factory=list)

    @property
    def is_discontinuous(self) -> bool:
        """Whether the node must have gaps."""
        return bool(self.gap_degrees)

    @property
    def rank(self) -> int:
        """Roughly how many nodes may be bound."""
        if self.lookups:
            return min(FEW[feature] for feature, _ in self.lookups)
        return TESTED if self.tests else ANY if self.terminal is None else OF_A_KIND

    def candidates(self, view: TreeView, nodes: Nodes) -> Iterable[int]:
        """Return nodes among which are all that may be bound."""
        for statement in self.relations:
            is_left = statement.right == self.variable  # the known one
            known = nodes[statement.left if is_left else statement.right]
            found = partners(view, statement.relation, known, is_left)
            if found is not None:
                return found
        if self.lookups:
            feature, values = min(self.lookups, key=lambda lookup: FEW[lookup[0]])
            if len(values) == 1:
                return view.with_value(feature, values[0])
            return [node for value in dict.fromkeys(values) for node in view.with_value(feature, value)]
        if self.terminal is None:
            return range(view.size)
        return range(view.terminals) if self.terminal else range(view.terminals, view.size)

    def binds(self, node: int, view: TreeView, nodes: Nodes, strings: Strings) -> bool:
        """Bind a node if all that is known allows it."""
        if not all(test(view, node, strings) for test in self.tests):
            return False
        nodes[self.variable] = node
        for feature, variable in self.values:
            value = view.value(node, feature)
            if value is None:
                return False
            strings[variable] = value
        return all(check(view, nodes, strings) for check in self.checks)


class Plan:
    """Finds all ways to bind the nodes of one conjunction."""

    def __init__(
        self, conjunction: Conjunction, query: str, known: Mapping[str, None], known_values: Mapping[str, None]
    ) -> None:
        """``known`` nodes and values are bound already: the conjunction stands inside ``without``."""
        self.query = query
        self.known = dict(known)
        self.known_values = dict(known_values)
        steps = {name: Step(name) for name in node_variables(conjunction) if name not in known}
        for statement in conjunction:
            if isinstance(statement, Described) and statement.node in steps:
                _describe(steps[statement.node], statement.features)
            elif isinstance(statement, Related) and (label := _edge_label(statement)) and statement.right in steps:
                _describe(steps[statement.right], Feature("edge", label))
        self.steps = _ordered(steps, conjunction, known)
        self.first_checks: list[Check] = []  # about known nodes alone
        self._bind_values(conjunction)
        for statement in conjunction:
            self._check(statement)

    def solutions(self, view: TreeView, nodes: Nodes, strings: Strings, needed: int) -> Iterator[Nodes]:
        """Yield the ways to bind all nodes, each in the same dictionary; of those that agree in the first steps, one.

        ``needed`` is the number of these first steps.
        """
        if not all(check(view, nodes, strings) for check in self.first_checks):
            return
        yield from self._from_step(0, view, nodes, strings, needed)

    def _from_step(self, number: int, view: TreeView, nodes: Nodes, strings: Strings, needed: int) -> Iterator[Nodes]:
        if number == len(self.steps):
            yield nodes
            return
        step = self.steps[number]
        for node in step.candidates(view, nodes):
            if step.binds(node, view, nodes, strings):
                for found in self._from_step(number + 1, view, nodes, strings, needed):
                    yield found
                    if number >= needed:
                        return

    def steps_for(self, variables: Collection[str]) -> int:
        """Return how many of the first steps bind these variables, and all values."""
        needed = [k for k, step in enumerate(self.steps, 1) if step.variable in variables or step.values]
        return max(needed, default=0)

    def is_possible(self, view: TreeView) -> bool:
        """Tell whether every node that is asked for by a value has a candidate at all."""
        return all(
            any(view.with_value(feature, value) for value in values)
            for step in self.steps
            for feature, values in step.lookups
        )

    def _bind_values(self, conjunction: Conjunction) -> None:
        """Let each value variable get its value at the first step that says what it is."""
        bound = self.known_values
        for step in self.steps:
            for statement in conjunction:
                if isinstance(statement, Described) and statement.node == step.variable:
                    for part in conjuncts(statement.features):
                        if isinstance(part, Feature) and isinstance(part.test, SameAs):
                            variable = part.test.variable
                            if variable not in bound:
                                bound[variable] = None
                                step.values.append((part.name, variable))
        self.value_steps = {variable: step for step in self.steps for _, variable in step.values}

    def _check(self, statement: Expression) -> None:
        """Add the checks of a statement to the step that binds the last of its variables."""
        negated = isinstance(statement, Not)
        inner = statement.part if isinstance(statement, Not) else statement
        if isinstance(inner, Described):
            for part in conjuncts(inner.features):
                used = list(same_as(part))
                if used or inner.node in self.known:
                    self._add(partial(_described, inner.node, feature_test(part)), [inner.node], used)
        elif isinstance(inner, Related):
            label = _label_test(inner)
            self._add(partial(_related, inner, label, negated), [inner.left, inner.right])
        elif isinstance(inner, Holds):
            for step in self.steps:
                if step.variable in inner.nodes and not negated and asks_for_gaps(inner.predicate, inner.numbers):
                    step.gap_degrees.append(inner.numbers or (1, inf))
            self._add(partial(_holds, inner, negated), inner.nodes)
        elif isinstance(inner, Without):
            names = dict.fromkeys([*self.known, *[step.variable for step in self.steps]])
            plans = [
                Plan(conjunction, self.query, names, self.known_values)
                for conjunction in conjunctions(inner.graph, self.query)
            ]
            shared = [name for name in names if name in all_variables(inner.graph)]
            values = [use for use in value_uses(inner.graph) if use.variable in self.known_values]
            self._add(partial(_without, plans), shared, values)

    def _add(self, check: Check, nodes: Iterable[str], uses: Iterable[SameAs] = ()) -> None:
        last = -1
        for variable in nodes:
            if variable not in self.known:
                last = max(last, self._number_of(variable))
        for use in uses:
            if use.variable in self.value_steps:
                last = max(last, self.steps.index(self.value_steps[use.variable]))
            elif use.variable not in self.known_values:
                message = f"{use.variable} never gets a value: say feature={use.variable} of a node, outside | and !"
                raise QueryError(message, self.query, use.offset)
        (self.steps[last].checks if last >= 0 else self.first_checks).append(check)

    def _number_of(self, variable: str) -> int:
        return next(number for number, step in enumerate(self.steps) if step.variable == variable)


def _describe(step: Step, features: Expression) -> None:
    """Tell a step which features its node has, as far as that does not depend on others."""
    for part in conjuncts(features):
        if any(same_as(part)):
            continue
        if isinstance(part, Kind) and step.terminal in (None, part.terminal):
            step.terminal = part.terminal
        if lookup := alternatives(part):
            step.lookups.append(lookup)
        if isinstance(part, Feature):
            step.requirements.append(part)
        step.tests.append(feature_test(part))


def _ordered(steps: dict[str, Step], conjunction: Conjunction, known: Mapping[str, None]) -> list[Step]:
    """Put steps in an order in which each can start from a known node, where there is such a relation."""
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


def _edge_label(statement: Related) -> Expression | None:
    """Return the test of the edge above the right node, if a relation has one."""
    return statement.relation.label if statement.relation.name == ">" else None


def _label_test(statement: Related) -> LabelTest | None:
    if statement.relation.label is None:
        return None
    test = value_test(statement.relation.label)
    return lambda label: test(label, {})


def _described(node: str, test: FeatureTest, view: TreeView, nodes: Nodes, strings: Strings) -> bool:
    return test(view, nodes[node], strings)


def _related(
    statement: Related, label: LabelTest | None, negated: bool, view: TreeView, nodes: Nodes, _: Strings
) -> bool:
    left, right = nodes[statement.left], nodes[statement.right]
    return related(view, left, statement.relation, right, label) != negated


def _holds(statement: Holds, negated: bool, view: TreeView, nodes: Nodes, _: Strings) -> bool:
    addresses = [nodes[name] for name in statement.nodes]
    return decide(view, statement.predicate, addresses, statement.numbers, statement.comparison) != negated


def _without(plans: list[Plan], view: TreeView, nodes: Nodes, strings: Strings) -> bool:
    return not any(next(plan.solutions(view, dict(nodes), dict(strings), 0), None) for plan in plans)


def value_uses(graph: Expression) -> Iterator[SameAs]:
    """Yield the uses of value variables in all descriptions of a graph."""
    if isinstance(graph, Described):
        yield from same_as(graph.features)
    elif isinstance(graph, Without):
        yield from value_uses(graph.graph)
    else:
        yield from chain.from_iterable(value_uses(part) for part in getattr(graph, "parts", ()))
