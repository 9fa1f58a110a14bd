"""Change trees by rule: find nodes with a query, then relabel, move, insert or delete them.

Rules are applied to a tree in their order. A rule is applied in rounds. A round finds all matches in the tree as it is
and applies them one after the other: the deepest nodes first, nodes of the same depth from left to right. A match that
no longer holds after an earlier change is skipped. Rounds follow until one changes nothing; ``once`` allows only one.

Actions change an ``EditedTree`` in place, and queries see it as any other tree: building a Tree and a view of it for
every change would take longer than reading the tree.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from itertools import product
from math import nan
from pathlib import Path
from typing import Any, Literal, NamedTuple, NewType, get_args

from discotree.errors import ConfigError, QueryError, TreeError, expected
from discotree.queries.language import conjunctions
from discotree.queries.match import FIELDS, FoundNode, TreeView
from discotree.queries.query import Plan, Query
from discotree.trees.tree import NONE, SecondaryEdge, Tree
from discotree.validation import from_table, read_toml, with_line

CHANGES_PER_NODE, MAX_ROUNDS = 100, 1000  # a rule that changes a tree more often does not end
SUFFIX = ".toml"


class EditedTree(TreeView):
    """A tree that is being changed. The address of a node stays the same; that of a deleted node is not used again."""

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree)
        self.original = tree
        self.root = self.terminals
        self.changes = 0
        self.deleted: set[int] = set()
        self.left: list[int] = []  # nodes that lost a child to another node

    @cached_property
    def masks(self) -> list[int]:
        """The terminals of every non-terminal as a bit set; here, a parent may have a higher address than its child."""
        if not self.changes:
            return super().masks
        masks = [1 << position for position in range(self.terminals)] + [0] * (self.size - self.terminals)
        missing = Counter(self.parents)  # the children of every node that have not been added to it
        complete = list(range(self.terminals))
        for node in complete:  # grows during the loop
            if (parent := self.parents[node]) >= 0:
                masks[parent] |= masks[node]
                missing[parent] -= 1
                if not missing[parent]:
                    complete.append(parent)
        return masks[self.terminals :]

    def addresses(self, terminal: bool | None = None) -> Sequence[int]:
        addresses = super().addresses(terminal)
        return [x for x in addresses if x not in self.deleted] if self.deleted and not terminal else addresses

    def set_value(self, address: int, feature: str, value: str) -> None:
        """Set the label (cat) of a constituent, a feature of a word, or the function (edge) of either."""
        column: list[Any] = self.edges if feature == "edge" else self._column(feature)
        index = address - self.terminals if feature == "cat" else address
        if column[index] != value:
            column[index] = value
            self.changes += 1
            self._by_value.pop(feature, None)
            self.__dict__.pop("_words_mask", None)

    def move(self, node: int, parent: int) -> None:
        """Make a node the child of another parent."""
        self.left.append(self.parents[node])
        self.parents[node] = parent
        self._restructure()

    def insert(self, label: str, function: str, nodes: Sequence[int]) -> int:
        """Put a new constituent between nodes and their common parent; return its address."""
        self.parents.append(self.parents[nodes[0]])
        self.edges.append(function)
        self.columns.labels.append(label)
        self.columns.confidences.append(nan)
        self.size += 1
        for node in nodes:
            self.parents[node] = self.size - 1
        self._restructure()
        return self.size - 1

    def delete(self, node: int) -> None:
        """Remove a constituent; its children become those of its parent."""
        parent, below = self.parents[node], self.below(node)
        for child in below:
            self.parents[child] = parent
        siblings = self.children[parent - self.terminals]  # updated here, because deletions are frequent
        siblings[:] = sorted([*below, *[child for child in siblings if child != node]], key=self.first.__getitem__)
        self.children[node - self.terminals] = []
        self.parents[node], self.columns.labels[node - self.terminals], self.edges[node] = -1, NONE, None
        self.columns.secondary[:] = [edge for edge in self.columns.secondary if node not in edge[1:]]
        self.deleted.add(node)
        self._restructure("_by_first")

    def _restructure(self, *changed: str) -> None:
        self.changes += 1
        self._by_value.pop("cat", None)
        self._by_value.pop("edge", None)
        for name in changed or ("children", "masks", "first", "_by_first"):  # computed again when they are needed
            self.__dict__.pop(name, None)

    def build(self) -> Tree:
        """Return the tree as it is now: the original one, or a new one without confidences and heads."""
        if not self.changes:
            return self.original
        columns, parents, edges, root = self.columns, self.parents, self.edges, self.root
        remaining = [root, *[address for address in range(root + 1, self.size) if address not in self.deleted]]
        number = {address: k for k, address in enumerate(remaining, -1)}
        values = zip(columns.tokens[FIELDS["pos"]], columns.tokens[FIELDS["lemma"]], edges, strict=False)
        tokens = [
            token._replace(tag=tag, lemma=lemma, function=function or NONE)
            for token, (tag, lemma, function) in zip(self.original.tokens, values, strict=False)
        ]

        def renumber(address: int) -> int:
            return address if address < root else root + 1 + number[address]

        return Tree.from_parents(
            tokens,
            [number[parent] for parent in parents[:root]],
            [(columns.labels[node - root], edges[node] or NONE, number[parents[node]]) for node in remaining[1:]],
            root=(columns.labels[0], columns.functions[0]),
            id=self.original.id,
            secondary=[SecondaryEdge(label, renumber(a), renumber(b)) for label, a, b in columns.secondary],
            comment=self.original.comment,
        )


# Actions: functions whose names and parameters are the keys of a table in a rule file. A parameter of the type Address
# stands for a node of the match, and one of the type str for a label or another value.

Address = NewType("Address", int)
Addresses = NewType("Addresses", list[int])


def relabel(tree: EditedTree, relabel: Address, to: str) -> None:
    """Give a constituent another label."""
    if relabel < tree.terminals:
        raise TreeError("it is a word; set its tag instead")
    tree.set_value(relabel, "cat", to)


def set_feature(tree: EditedTree, set: Literal["function", "tag", "lemma"], on: Address, to: str) -> None:
    """Set the function of a node, or the tag or lemma of a word."""
    if on == tree.root or (on > tree.root and set != "function"):
        raise TreeError("it is the root" if on == tree.root else "it is a constituent")
    tree.set_value(on, {"function": "edge", "tag": "pos", "lemma": "lemma"}[set], to)


def attach(tree: EditedTree, attach: Address, to: Address) -> None:
    """Make a node a child of another one."""
    if to < tree.terminals:
        raise TreeError("a word has no children")
    if attach == to or attach in tree.ancestors(to):
        raise TreeError("a node cannot be below itself")
    if tree.parents[attach] != to:
        tree.move(attach, to)


def detach(tree: EditedTree, detach: Address) -> None:
    """Move a node one level up, to the parent of its parent."""
    above = tree.ancestors(detach)
    if len(above) < 2:
        raise TreeError("it is a child of the root" if above else "it is the root")
    tree.move(detach, above[1])


def insert(tree: EditedTree, insert: str, above: Addresses, function: str = NONE) -> None:
    """Put a new constituent above a node, or above several children of one constituent."""
    if tree.root in above:
        raise TreeError("nothing can be above the root")
    if len({tree.parents[node] for node in above}) > 1:
        raise TreeError("the nodes are not children of the same constituent")
    tree.insert(insert, function, above)


def delete(tree: EditedTree, delete: Address) -> None:
    """Remove a constituent; its children take its place."""
    if delete <= tree.root:
        raise TreeError("it is the root" if delete == tree.root else "it is a word")
    tree.delete(delete)


ACTIONS: dict[str, Callable[..., None]] = {
    "relabel": relabel, "set": set_feature, "attach": attach, "detach": detach, "insert": insert, "delete": delete
}  # fmt: skip


@dataclass(frozen=True)
class Action:
    """One change to the nodes of a match, as a table such as ``{attach = "#a", to = "#b"}`` describes it."""

    text: str
    function: Callable[..., None]
    arguments: tuple[str | list[str], ...]
    nodes: tuple[str, ...]  # the variables for nodes
    values: tuple[str, ...]  # the labels and other values, which may be variables of the query

    @classmethod
    def of(cls, table: object) -> "Action":
        """Read an action from its table."""
        names = [key for key in table if key in ACTIONS] if isinstance(table, Mapping) else []
        if not isinstance(table, Mapping) or len(names) != 1:
            raise ConfigError(f"expected a table with one of the keys {', '.join(ACTIONS)}, got {table!r:.50}")
        function = ACTIONS[names[0]]
        parameters = [parameter for parameter in signature(function).parameters.values() if parameter.name != "tree"]
        if unknown := table.keys() - {parameter.name for parameter in parameters}:
            raise ConfigError(f"{names[0]}: unknown key {min(unknown)!r}")
        texts: dict[Any, list[str]] = {Address: [], Addresses: [], str: []}
        arguments: list[str | list[str]] = []
        for parameter in parameters:
            kind, value = parameter.annotation, table.get(parameter.name, parameter.default)
            if value is parameter.empty:
                raise ConfigError(f"{names[0]}: {parameter.name!r} is missing")
            items = value if kind is Addresses and isinstance(value, list) else [value]
            if not items or not all(isinstance(item, str) and item for item in items):
                raise ConfigError(f"{names[0]}: expected a string for {parameter.name!r}, got {value!r:.50}")
            if (choices := get_args(kind)) and value not in choices:
                raise ConfigError(f"{names[0]}: unknown value {value!r}{expected(value, choices)}")
            texts.setdefault(kind, []).extend(items)
            arguments.append(items if kind is Addresses else value)
        text = " ".join(f"{key} {', '.join(x) if isinstance(x, list) else x}" for key, x in table.items())
        return cls(text, function, tuple(arguments), (*texts[Address], *texts[Addresses]), tuple(texts[str]))

    def apply(self, tree: EditedTree, bound: Mapping[str, Any]) -> None:
        """Change the tree; a change that is impossible raises a TreeError."""
        arguments = [bound.get(x, x) if x.__class__ is str else [*map(bound.get, x)] for x in self.arguments]
        try:
            self.function(tree, *arguments)
        except TreeError as error:
            raise TreeError(f"cannot {self.text}: {error}") from None


# Rules


class Alternative(NamedTuple):
    """One alternative (``|``) of a query."""

    plan: Plan
    nodes: tuple[str, ...]  # its variables for nodes
    steps: int  # the number of the plan's steps that bind these variables
    check: Plan  # checks a match again


class Binding(NamedTuple):
    """A match of a rule: its nodes and values by variable."""

    nodes: dict[str, int]
    values: dict[str, str]
    alternative: Alternative

    def holds(self, tree: EditedTree) -> bool:
        """Return whether the match is still one after changes to the tree."""
        if not tree.deleted.isdisjoint(self.nodes.values()):
            return False
        return any(self.alternative.check.solutions(tree, self.nodes.copy(), self.values, 0))


@dataclass(frozen=True)
class Rule:
    """A query, and the actions to take on its variables, in this order. With ``once``, there is one round."""

    name: str
    query: str
    actions: tuple[Action, ...]
    once: bool = False

    def __post_init__(self) -> None:
        """Check the query, and that its variables are those of the actions."""
        try:
            alternatives = self._alternatives
        except QueryError as error:
            raise ConfigError(f"query: rule {self.name!r}: {error}") from None
        if not self.actions:
            raise ConfigError(f"actions: rule {self.name!r} has none")
        for action, (plan, nodes, *_) in product(self.actions, alternatives):
            unknown = [f"a node {name}" for name in action.nodes if name not in nodes]
            variables = [x for x in action.values if x in nodes or (x[0] == "#" and x[1:].isidentifier())]
            unknown += [f"a value {name}, as in edge={name}" for name in variables if name not in plan.known_values]
            if unknown:
                everywhere = " in every alternative" if len(alternatives) > 1 else ""
                raise ConfigError(f"actions: rule {self.name!r}: the query does not have {unknown[0]}{everywhere}")

    @cached_property
    def _alternatives(self) -> list[Alternative]:
        query = Query(self.query)
        alternatives = []
        for plan, conjunction in zip(query.plans, conjunctions(query.graph, query.text), strict=True):
            bound = {step.variable for step in plan.steps}
            nodes = tuple([name for name in query.node_variables if name in bound and name.startswith("#")])
            check = Plan(conjunction, query, dict.fromkeys(nodes), plan.known_values)
            alternatives.append(Alternative(plan, nodes, plan.steps_for(nodes), check))
        return alternatives

    def matches(self, tree: EditedTree) -> list[Binding]:
        """Return the matches in the order in which they are applied."""
        found: dict[tuple[object, ...], Binding] = {}
        for alternative in self._alternatives:
            if alternative.plan.is_possible(tree):
                names, values = alternative.nodes, dict[str, str]()
                for solution in alternative.plan.solutions(tree, {}, values, alternative.steps):
                    binding = Binding({name: solution[name] for name in names}, values.copy(), alternative)
                    found.setdefault((names, *binding.nodes.values(), *values.values()), binding)
        above, first = tree.ancestors, tree.first
        return sorted(found.values(), key=lambda match: [(-len(above(x)), first[x]) for x in match.nodes.values()])

    def apply(self, tree: EditedTree, match: Binding) -> None:
        """Take the actions on one match."""
        bound = {**match.nodes, **match.values}
        before = len(tree.deleted)
        for action in self.actions:
            if len(tree.deleted) > before and not tree.deleted.isdisjoint([bound[name] for name in action.nodes]):
                raise TreeError(f"cannot {action.text}: an earlier action has deleted the node")
            action.apply(tree, bound)
        for node in tree.left:
            if node not in tree.deleted and not tree.below(node):
                label = tree.columns.labels[node - tree.terminals]
                raise TreeError(f"{label} has no children left; delete it in the same rule")
        tree.left.clear()


@dataclass(frozen=True)
class _RuleFile:
    rule: tuple[Rule, ...]


RuleSource = str | os.PathLike[str] | Rule | Mapping[str, Any]
"""A rule, its table, the name of a file with rules, or of one that comes with discotree."""


def load_rules(sources: RuleSource | Iterable[RuleSource]) -> list[Rule]:
    """Return the rules of one or several sources."""
    if isinstance(sources, Rule):
        return [sources]
    if isinstance(sources, Mapping):
        return [from_table(Rule, sources, "rule")]
    if not isinstance(sources, str | os.PathLike):
        return [rule for source in sources for rule in load_rules(source)]
    path = _FOLDER / f"{sources}{SUFFIX}" if str(sources) in rule_names() else Path(sources)
    if not path.exists():
        raise ConfigError(f"{sources}: neither a file nor the name of rules{expected(str(sources), rule_names())}")
    try:
        return list(from_table(_RuleFile, read_toml(path), str(path)).rule)
    except ConfigError as error:
        raise with_line(error, path, error.keys) from None


_FOLDER = Path(__file__).parent / "schemes"


def rule_names() -> list[str]:
    """Return the names of the rule files that come with discotree."""
    return sorted(path.stem for path in _FOLDER.glob(f"*{SUFFIX}"))


# Trees


class Change(NamedTuple):
    """One application of a rule: the nodes by variable with their labels and positions, and the two trees."""

    rule: str
    nodes: dict[str, dict[str, Any]]
    before: Tree
    after: Tree


OnChange = Callable[[Change], object]


class Editor:
    """Applies rules to trees, and counts the changes and the changed trees of each rule.

    Example: ``editor = Editor("rules.toml"); trees = list(map(editor, trees)); editor.changes``.
    """

    def __init__(self, rules: RuleSource | Iterable[RuleSource], on_change: OnChange | None = None) -> None:
        """``on_change`` is called with every change."""
        self.rules = load_rules(rules)
        self.on_change = on_change
        self.changes = Counter({rule.name: 0 for rule in self.rules})
        self.trees = Counter(self.changes)
        if len(self.changes) < len(self.rules):
            names = [rule.name for rule in self.rules]
            raise ConfigError(f"two rules are called {max(names, key=names.count)!r}; give them different names")

    def __call__(self, tree: Tree) -> Tree:
        """Return the changed tree, or the tree itself if no rule changes it."""
        edited = EditedTree(tree)
        for rule in self.rules:
            before = edited.changes
            try:
                self._apply(rule, edited)
            except TreeError as error:
                raise TreeError(f"sentence {tree.id}: rule {rule.name!r}: {error}") from None
            self.trees[rule.name] += edited.changes > before
        return edited.build()

    def _apply(self, rule: Rule, edited: EditedTree) -> None:
        """Apply a rule in rounds."""
        limit = CHANGES_PER_NODE * edited.size
        count = rounds = 0
        is_changed = True
        while is_changed:
            is_changed = False
            rounds += 1
            for match in rule.matches(edited):
                if is_changed and not match.holds(edited):
                    continue
                before, tree = edited.changes, edited.build() if self.on_change else edited.original
                nodes = _describe(edited, match.nodes) if self.on_change else {}
                rule.apply(edited, match)
                if edited.changes == before:
                    continue
                is_changed = True
                count += 1
                if count > limit or rounds > MAX_ROUNDS:
                    raise TreeError(f"it still matches after {count - 1:,} changes; make its query exclude the result")
                if self.on_change:
                    self.on_change(Change(rule.name, nodes, tree, edited.build()))
            if rule.once:
                break
        self.changes[rule.name] += count


def _describe(edited: EditedTree, nodes: dict[str, int]) -> dict[str, dict[str, Any]]:
    found = {name: FoundNode(edited, node) for name, node in nodes.items()}
    return {name: {"label": node.cat or node.pos, "positions": list(node.positions)} for name, node in found.items()}


def edit(
    trees: Iterable[Tree], rules: RuleSource | Iterable[RuleSource], on_change: OnChange | None = None
) -> Iterator[Tree]:
    """Return the trees as rules change them, one by one; trees that no rule changes are the same objects.

    ``rules`` is a file, the name of rules that come with discotree, a table with the keys of a rule, or a list of them.
    ``on_change`` is called with every Change. A change that is impossible raises a TreeError.
    Example: ``dt.write(dt.edit(dt.read("figure1.export"), "squoia"), "new.export")``.
    """
    return map(Editor(rules, on_change), trees)
