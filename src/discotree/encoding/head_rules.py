"""Head rules: which child of a node holds its head word.

A rule file is plain text, one rule a line, in disco-dop's syntax (``%`` starts a comment, case does not matter):

    PARENT  DIRECTION  LABEL LABEL …

Several lines for one parent are tried in turn. Directions:

    left-to-right, left    for each label in order: the first child from the left that has it
    right-to-left, right   for each label in order: the first child from the right that has it
    leftdis                the first child from the left that has any of the labels
    rightdis               the first child from the right that has any of the labels
    function               for each function in order: the first child from the left that plays it
    like OTHER             the rules of another parent

Three things go beyond disco-dop: the direction ``function``, labels that end in ``*`` (any ending), and
the parent ``*``, whose rules are tried after those of every parent.

When no rule matches, the head is the first child that is not punctuation, seen from the side of the last rule tried
(the left without any); a line without labels, which disco-dop skips, only names that side. Where all children are
punctuation, it is the first of them. So every node has a head.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from discotree.errors import HeadRuleError
from discotree.files.reading import read_regular_file
from discotree.trees.punctuation import is_punctuation_tag
from discotree.trees.tree import FUNCTION, Node, Token

ANY = "*"
MARKED = "HD"  # the function that marks a head in NEGRA, TIGER and Alpino
DIRECTIONS = {
    "LEFT-TO-RIGHT": "left",
    "LEFT": "left",
    "RIGHT-TO-LEFT": "right",
    "RIGHT": "right",
    "LEFTDIS": "leftdis",
    "RIGHTDIS": "rightdis",
    "FUNCTION": "function",
}
FOLDER = Path(__file__).with_name("rules")
MAX_BYTES = 1 << 20  # limit for a rule file, which may come with a foreign model
MAX_SYMBOLS = 20_000  # rules and their labels, with those that "like" repeats; the bundled ones have up to 400
MAX_CACHED, MAX_CACHED_CHILDREN = 20_000, 50  # remembered nodes; a treebank has a few thousand distinct ones


class Rule(NamedTuple):
    """A line of a rule file."""

    direction: str
    labels: tuple[str, ...]


Child = tuple[str, str, bool]  # label or tag, function, whether it is punctuation


class HeadRules:
    """Rules for all parents. Nodes with the same label and children are decided once and remembered."""

    def __init__(self, rules: dict[str, list[Rule]], *, marked_first: bool = False) -> None:
        """With ``marked_first``, a child that the treebank marks as head (HD, hd) wins before any rule."""
        self.rules = rules
        self.marked_first = marked_first
        self.uses_functions = marked_first or any(
            rule.direction == "function" for lines in rules.values() for rule in lines
        )
        self._cache: dict[tuple[str, tuple[str, ...]], int] = {}

    @classmethod
    def load(cls, name: "str | Path | HeadRules", *, marked_first: bool = False) -> "HeadRules":
        """Return rules that come with discotree (see ``names``), or those of a file of your own."""
        if isinstance(name, HeadRules):
            return cls(name.rules, marked_first=True) if marked_first and not name.marked_first else name
        if str(name) in cls.names():
            return cls(dict(_bundled(str(name))), marked_first=marked_first)
        try:
            text = read_regular_file(name, MAX_BYTES).decode("utf-8")
        except (OSError, ValueError) as error:
            known = ", ".join(cls.names())
            raise HeadRuleError(f"{name}: neither one of {known} nor a readable file ({error})") from None
        return cls(parse(text, str(name)), marked_first=marked_first)

    @classmethod
    def marked(cls) -> "HeadRules":
        """Return rules that follow the treebank's own marks: a child with the function HD is the head."""
        return cls({}, marked_first=True)

    @classmethod
    def of(cls, heads: "HeadRules | str | Path | None") -> "HeadRules":
        """Return head rules as they are, those of a name, or for None those that follow the treebank's marks."""
        if isinstance(heads, HeadRules):
            return heads
        if heads is None:
            return cls.marked()
        if not isinstance(heads, (str, Path)):
            raise TypeError(f"expected HeadRules, their name or None, got {type(heads).__name__}: {heads!r:.50}")
        return cls.load(heads)

    @staticmethod
    def names() -> list[str]:
        """Return the names of the rules that come with discotree."""
        return sorted(path.stem for path in FOLDER.glob("*.headrules"))

    def head_child(self, node: Node, tokens: Sequence[Token]) -> int:
        """Return the index of the head among ``node.children``."""
        children = node.children
        if len(children) == 1:
            return 0
        if self.uses_functions:
            signature = tuple(
                [
                    f"{tokens[c].tag}\t{tokens[c][FUNCTION]}" if c.__class__ is int else f"{c.label}\t{c.function}"  # type: ignore[union-attr]
                    for c in children
                ]
            )
        else:
            signature = tuple([tokens[c].tag if c.__class__ is int else c.label for c in children])  # type: ignore[union-attr]
        key = (node.label, signature)
        head = self._cache.get(key)
        if head is None:
            head = self._decide(node, tokens)
            if len(children) <= MAX_CACHED_CHILDREN:
                if len(self._cache) >= MAX_CACHED:
                    self._cache.clear()
                self._cache[key] = head
        return head

    def _decide(self, node: Node, tokens: Sequence[Token]) -> int:
        children = [_child(c, tokens) for c in node.children]
        if self.marked_first:
            for index, (_, function, _) in enumerate(children):
                if MARKED in function.split("-"):
                    return index
        lines = self.rules.get(node.label.upper(), []) + self.rules.get(ANY, [])
        for rule in lines:
            head = _apply(rule, children)
            if head is not None:
                return head
        from_right = bool(lines) and lines[-1].direction.startswith("right")
        order = range(len(children))[::-1] if from_right else range(len(children))
        return next((i for i in order if not children[i][2]), order[0])


@lru_cache
def _bundled(name: str) -> dict[str, list[Rule]]:
    return parse((FOLDER / f"{name}.headrules").read_text("utf-8"), name)


def _child(child: Node | int, tokens: Sequence[Token]) -> Child:
    if isinstance(child, int):
        return tokens[child].tag.upper(), tokens[child][FUNCTION].upper(), is_punctuation_tag(tokens[child].tag)
    return child.label.upper(), child.function.upper(), False


def _apply(rule: Rule, children: list[Child]) -> int | None:
    order = list(range(len(children)))
    if rule.direction.startswith("right"):
        order.reverse()
    if rule.direction == "function":  # punctuation may have the same function as words
        order.sort(key=lambda index: children[index][2])
    labels_and_functions = (children[index][:2] for index in order)
    names = [function if rule.direction == "function" else label for label, function in labels_and_functions]
    if rule.direction in ("leftdis", "rightdis"):
        pairs = ((index, label) for index in range(len(order)) for label in rule.labels)
    else:
        pairs = ((index, label) for label in rule.labels for index in range(len(order)))
    return next((order[index] for index, label in pairs if _matches(label, names[index])), None)


def _matches(pattern: str, label: str) -> bool:
    return label.startswith(pattern[:-1]) if pattern.endswith("*") else label == pattern


def parse(text: str, source: str = "<rules>") -> dict[str, list[Rule]]:
    """Parse the text of a rule file."""
    rules: dict[str, list[Rule]] = {}
    symbols = 0
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("%")[0].upper().split()
        if not fields:
            continue
        if len(fields) < 2:
            raise HeadRuleError(f"{source}:{number}: expected 'PARENT DIRECTION LABEL …', got {line.strip()!r}")
        parent, direction, *labels = fields
        if direction == "LIKE":
            if len(labels) != 1 or labels[0] not in rules or labels[0] == parent:
                raise HeadRuleError(f"{source}:{number}: 'like' needs one other parent that has rules above")
            added = rules[labels[0]]
        elif direction in DIRECTIONS:
            added = [Rule(DIRECTIONS[direction], tuple(labels))]
        else:
            known = ", ".join([*DIRECTIONS, "LIKE"]).lower()
            raise HeadRuleError(f"{source}:{number}: unknown direction {direction.lower()!r}; known: {known}")
        symbols += sum(1 + len(rule.labels) for rule in added)
        if symbols > MAX_SYMBOLS:
            raise HeadRuleError(f"{source}:{number}: more than {MAX_SYMBOLS:,} rules and labels, 'like' included")
        rules.setdefault(parent, []).extend(added)
    return rules
