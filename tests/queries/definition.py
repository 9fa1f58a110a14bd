"""What queries mean, by enumeration: every way to bind the variables is tried. Slow, short and independent."""

import re
from itertools import chain, pairwise, product

from discotree.queries.language import (
    And,
    Described,
    Exactly,
    Feature,
    Holds,
    Kind,
    Matching,
    Not,
    Or,
    Related,
    SameAs,
    Without,
)
from discotree.trees.punctuation import is_punctuation
from discotree.trees.tree import FUNCTION, LEMMA, MORPH, NONE, Node


class Definition:
    """One tree, and what is true in it."""

    def __init__(self, tree):
        self.tree = tree
        self.all = [*range(len(tree)), *tree.nodes()]  # words are positions, constituents are Nodes
        self.above = {id(tree.root): []}
        for node in tree.nodes():
            for child in node.children:
                self.above[self.key(child)] = [node, *self.above[id(node)]]

    def key(self, node):
        return node if isinstance(node, int) else id(node)

    def parents(self, node):
        return self.above[self.key(node)]

    def words(self, node):
        return [node] if isinstance(node, int) else list(node.positions)

    def features(self, node):
        if isinstance(node, int):
            token = self.tree.tokens[node]
            found = {"word": token.form, "pos": token.tag, "lemma": token[LEMMA], "morph": token[MORPH]}
        else:
            found = {"cat": node.label}
        found = {name: value for name, value in found.items() if value != NONE}
        if node is not self.tree.root:
            found["edge"] = self.tree.tokens[node][FUNCTION] if isinstance(node, int) else node.function
        return found

    def is_true(self, statement, nodes, values):
        match statement:
            case And(parts):
                return all(self.is_true(part, nodes, values) for part in parts)
            case Not(part):
                return not self.is_true(part, nodes, values)
            case Described(name, features):
                return self.has(nodes[name], features, values)
            case Related(left, relation, right):
                return self.related(nodes[left], relation, nodes[right])
            case Holds(predicate, names, numbers, comparison, all_gaps):
                return self.holds(predicate, [nodes[name] for name in names], numbers, comparison, all_gaps)
            case Without(graph):
                return not any(True for _ in self.solutions(graph, nodes, values))
        raise AssertionError(statement)

    def has(self, node, features, values):
        match features:
            case And(parts):
                return all(self.has(node, part, values) for part in parts)
            case Or(parts):
                return any(self.has(node, part, values) for part in parts)
            case Not(part):
                return not self.has(node, part, values)
            case Kind(terminal):
                return isinstance(node, int) == terminal
            case Feature(name, test):
                found = self.features(node).get(name)
                return found is not None and self.passes(found, test, values)
        raise AssertionError(features)

    def passes(self, value, test, values):
        match test:
            case And(parts):
                return all(self.passes(value, part, values) for part in parts)
            case Or(parts):
                return any(self.passes(value, part, values) for part in parts)
            case Not(part):
                return not self.passes(value, part, values)
            case Exactly(text):
                return value == text
            case Matching(pattern):
                return re.fullmatch(pattern, value) is not None
            case SameAs(variable):
                return values[variable] == value
        raise AssertionError(test)

    def related(self, left, relation, right):
        ups = [self.key(node) for node in self.parents(right)]
        first = {"left": self.words(left)[0], "right": self.words(right)[0]}
        distance = first["right"] - first["left"]
        farthest = relation.farthest or 10**9
        label = self.features(right).get("edge")
        match relation.name:
            case ">":
                steps = [k for k, above in enumerate(ups, 1) if above == self.key(left) and not isinstance(left, int)]
                passed = relation.label is None or (label is not None and self.passes(label, relation.label, {}))
                return passed and any(relation.nearest <= k <= farthest for k in steps)
            case ".":
                return relation.nearest <= distance <= farthest
            case "$" | "$.*":
                same = [self.key(node) for node in self.parents(left)[:1]] == ups[:1] != []
                return same and self.key(left) != self.key(right) and (relation.name == "$" or distance > 0)
            case ">@l" | ">@r":
                corner = self.words(left)[0 if relation.name == ">@l" else -1]
                return isinstance(left, Node) and isinstance(right, int) and right == corner
            case ">~":
                address = {self.key(node): k for k, node in enumerate(self.all)}
                return any(
                    (edge.parent, edge.child) == (address[self.key(left)], address[self.key(right)])
                    and (relation.label is None or self.passes(edge.label, relation.label, {}))
                    for edge in self.tree.secondary
                )
        raise AssertionError(relation)

    def gaps(self, node, all_gaps):
        """The number of gaps, in the sentence without punctuation unless ``all_gaps``."""
        kept = [k for k, token in enumerate(self.tree.tokens) if all_gaps or not is_punctuation(token)]
        order = [k for k, position in enumerate(kept) if position in self.words(node)]
        return sum(1 for a, b in pairwise(order) if b > a + 1)

    def holds(self, predicate, nodes, numbers, comparison, all_gaps):
        node = nodes[0]
        words = self.words(node)
        gaps = self.gaps(node, all_gaps)
        if predicate == "confidence":
            order = {self.key(node): k for k, node in enumerate(self.tree.nodes())}
            if isinstance(node, int) or not self.tree.confidences:
                return False
            found = self.tree.confidences[order[self.key(node)]]
            x = numbers[0]
            return {"<": found < x, "<=": found <= x, ">": found > x, ">=": found >= x}[comparison]
        if predicate == "within":
            return any(abs(a - b) <= numbers[0] for a in words for b in self.words(nodes[1]))
        value = {
            "root": lambda: node is self.tree.root,
            "continuous": lambda: gaps == 0,
            "discontinuous": lambda: gaps > 0,
            "arity": lambda: numbers[0] <= (0 if isinstance(node, int) else len(node.children)) <= numbers[-1],
            "tokenarity": lambda: numbers[0] <= len(words) <= numbers[-1],
            "gap-degree": lambda: numbers[0] <= gaps <= numbers[-1],
        }
        return value[predicate]()

    def solutions(self, graph, nodes=None, values=None):
        """Yield every way to bind the variables of one alternative of a graph so that it is true."""
        nodes, values = nodes or {}, values or {}
        strings = {value for node in self.all for value in self.features(node).values()}
        for alternative in alternatives(graph):
            names, used = variables(alternative)
            names = [name for name in names if name not in nodes]
            used = [name for name in used if name not in values]
            for choice in product(self.all, repeat=len(names)):
                for texts in product(sorted(strings), repeat=len(used)):
                    bound = nodes | dict(zip(names, choice, strict=True))
                    texts = values | dict(zip(used, texts, strict=True))
                    if all(self.is_true(statement, bound, texts) for statement in alternative):
                        yield bound | texts


def alternatives(graph):
    """A graph with its | multiplied out."""
    match graph:
        case Or(parts):
            return [choice for part in parts for choice in alternatives(part)]
        case And(parts):
            return [list(chain(*choice)) for choice in product(*map(alternatives, parts))]
    return [[graph]]


def variables(statements):
    """The variables of nodes and of values, except inside ``without``."""
    nodes, values = {}, {}
    for statement in statements:
        if isinstance(statement, Not):
            statement = statement.part
        match statement:
            case Described(name, features):
                nodes[name] = None
                values |= dict.fromkeys(re.findall(r"SameAs\(variable='(#\w+)'", repr(features)))
            case Related(left, _, right):
                nodes |= {left: None, right: None}
            case Holds(_, names, _, _):
                nodes |= dict.fromkeys(names)
    return list(nodes), list(values)


def tries(query, tree):
    """How many ways to bind the variables are tried at most."""
    definition = Definition(tree)
    strings = {value for node in definition.all for value in definition.features(node).values()}

    def of(graph, known):
        total = 0
        for alternative in alternatives(graph):
            names, used = ([name for name in found if name not in known] for found in variables(alternative))
            inside = [part.graph for part in alternative if isinstance(part, Without)]
            below = sum(of(inner, {*known, *names, *used}) for inner in inside)
            total += len(definition.all) ** len(names) * len(strings) ** len(used) * (1 + below)
        return total

    return of(query.graph, set())


def matches(query, tree):
    """The matches of a query in a tree, as a set of bindings in the order of the query's variables."""
    definition = Definition(tree)
    address = {definition.key(node): k for k, node in enumerate(definition.all)}

    def plain(value):
        return value if value is None or isinstance(value, str) else address[definition.key(value)]

    return {tuple(plain(bound.get(name)) for name in query.variables) for bound in definition.solutions(query.graph)}
