"""The grammar of queries: text → expressions. docs/search.md shows it to users.

graph     = conjunct { "|" conjunct }
conjunct  = unit { "&" unit }
unit      = "(" graph ")" | "without" "(" graph ")" | [ "!" ] predicate | node [ relation node ]
node      = variable [ ":" "[" features "]" ] | "[" features "]"
features  = nothing, or feature tests joined by "|", "&", "!" and brackets
feature   = "T" | "NT" | name ( "=" | "!=" ) value
value     = string | regex | variable | value tests joined by "|", "&" and "!" in brackets
"""

import re
import warnings
from collections.abc import Callable

from discotree.errors import QueryError
from discotree.queries.language import (
    FEATURES,
    And,
    Described,
    Exactly,
    Expression,
    Feature,
    Holds,
    Kind,
    Matching,
    Not,
    Or,
    Related,
    Relation,
    RelationName,
    SameAs,
    Without,
)
from discotree.queries.lexer import END, QueryToken, tokens, unquoted
from discotree.queries.predicates import PREDICATES

MAX_DEPTH = 100  # brackets inside brackets, and negations
KINDS = {"T": True, "NT": False}
WITHOUT = "without"
VALUE = 'a value ("…", /…/ or a variable)'
NODE = "a node ([…] or a variable)"


class Grammar:
    """Reads one query."""

    def __init__(self, query: str) -> None:
        self.query = query
        self.tokens = tokens(query)
        self.next = 0
        self.depth = 0
        self.anonymous = 0  # nodes without a name, so far
        self.where: dict[str, int] = {}  # offset of every node variable's first use

    def read(self) -> Expression:
        """Return the whole query."""
        if self.tokens[0].kind == END:
            self.expected(NODE)
        graph = self.graph()
        if self.token.kind != END:
            self.expected("& or | or the end")
        return graph

    @property
    def token(self) -> QueryToken:
        return self.tokens[self.next]

    def take(self) -> QueryToken:
        token = self.token
        self.next += 1
        return token

    def accept(self, *texts: str) -> bool:
        """Step over a symbol if it comes next."""
        if self.token.kind not in ("string", "regex") and self.token.text in texts:
            self.next += 1
            return True
        return False

    def require(self, text: str) -> None:
        if not self.accept(text):
            self.expected(text)

    def expected(self, what: str, token: QueryToken | None = None) -> None:
        token = token or self.token
        found = "the query ends" if token.kind == END else f"found {token.text!r}"
        raise QueryError(f"expected {what}, {found}", self.query, token.offset)

    def joined(self, unit: Callable[[], Expression]) -> Expression:
        """Read units that are joined by | and &, of which & binds more tightly."""
        self.deeper()
        choices: list[Expression] = []
        while not choices or self.accept("|"):
            parts = [unit()]
            while self.accept("&"):
                parts.append(unit())
            choices.append(parts[0] if len(parts) == 1 else And(tuple(parts)))
        self.depth -= 1
        return choices[0] if len(choices) == 1 else Or(tuple(choices))

    def negated(self, unit: Callable[[], Expression]) -> Expression:
        """Read what follows a !, which counts as a bracket does."""
        self.deeper()
        part = unit()
        self.depth -= 1
        return Not(part)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QueryError(f"more than {MAX_DEPTH} brackets inside each other", self.query, self.token.offset)

    # Statements about a tree

    def graph(self) -> Expression:
        return self.joined(self.unit)

    def unit(self) -> Expression:
        if self.accept("("):
            graph = self.graph()
            self.require(")")
            return graph
        if self.accept("!"):
            if self.token.text not in PREDICATES:
                self.expected(f"a predicate after ! ({', '.join(PREDICATES)})")
            return Not(self.predicate())
        if self.token.kind == "name":
            if self.accept(WITHOUT):
                self.require("(")
                graph = self.graph()
                self.require(")")
                return Without(graph)
            return self.predicate()
        left, described = self.node()
        if self.token.kind != "relation":
            return described
        token = self.take()
        right, also_described = self.node()
        related: Expression = Related(left, self.relation(token), right)
        if token.text.startswith("!"):
            related = Not(related)
        return And((described, related, also_described))

    def node(self) -> tuple[str, Expression]:
        """Read a node; return its variable and its description."""
        token = self.token
        if token.kind == "variable":
            self.next += 1
            self.where.setdefault(token.text, token.offset)
            if not self.accept(":"):
                return token.text, Described(token.text, And(()))
            if self.token.text != "[":
                self.expected("[")
            name = token.text
        else:
            self.anonymous += 1
            name = str(self.anonymous)
        if not self.accept("["):
            self.expected(NODE)
        features: Expression = And(())
        if self.token.text != "]":
            features = self.joined(self.feature)
        self.require("]")
        return name, Described(name, features)

    def relation(self, token: QueryToken) -> Relation:
        text = token.text.removeprefix("!")
        name: RelationName
        for name in (">@l", ">@r", "$.*", "$"):
            if text == name:
                return Relation(name)
        for name in (">~", ">", "."):
            if text.startswith(name):
                break
        rest = text.removeprefix(name)
        offset = token.offset + token.text.index(name) + len(name)
        if rest == "*":
            return Relation(name, 1, None)
        if rest[:1].isdigit():
            nearest, _, farthest = rest.partition(",")
            return Relation(name, *self.distances(int(nearest), int(farthest or nearest), offset))
        if not rest:
            return Relation(name)
        if rest[0] == '"':
            return Relation(name, label=Exactly(unquoted(rest)))
        return Relation(name, label=self.regex(rest, offset) if rest[0] == "/" else Exactly(rest))

    def distances(self, nearest: int, farthest: int, offset: int) -> tuple[int, int]:
        if not 1 <= nearest <= farthest:
            raise QueryError("distances are at least 1, and go from the smaller to the larger", self.query, offset)
        return nearest, farthest

    def predicate(self) -> Expression:
        token = self.take()
        if token.text not in PREDICATES:
            self.expected(f"{NODE}, {WITHOUT}(…) or a predicate ({', '.join(PREDICATES)})", token)
        signature = PREDICATES[token.text]
        self.require("(")
        nodes: list[str] = []
        for _ in range(signature.nodes):
            if nodes:
                self.require(",")
            if self.token.kind != "variable":
                self.expected("a variable")
            self.where.setdefault(self.token.text, self.token.offset)
            nodes.append(self.take().text)
        numbers: list[float] = []
        while len(numbers) < signature.max_numbers and self.accept(","):
            numbers.append(self.number())
        if len(numbers) < signature.min_numbers:
            self.require(",")
        if numbers and numbers[0] > numbers[-1]:
            raise QueryError("two numbers go from the smaller to the larger", self.query, token.offset)
        self.require(")")
        comparison = ""
        if signature.is_compared:
            if self.token.kind != "comparison":
                self.expected("<, <=, > or >=")
            comparison = self.take().text
            numbers.append(self.number())
        return Holds(token.text, tuple(nodes), tuple(numbers), comparison)

    def number(self) -> float:
        if self.token.kind != "number":
            self.expected("a number")
        return float(self.take().text)

    # Features of a node, tests of a value

    def feature(self) -> Expression:
        if self.accept("!"):
            return self.negated(self.feature)
        if self.accept("("):
            features = self.joined(self.feature)
            self.require(")")
            return features
        token = self.take()
        if token.text in KINDS:
            return Kind(KINDS[token.text])
        if token.text not in FEATURES or token.kind != "name":
            self.expected(f"a feature ({', '.join(FEATURES)}), T or NT", token)
        if self.accept("!="):
            return Feature(token.text, Not(self.value()))
        if not self.accept("="):
            self.expected("= or !=")
        return Feature(token.text, self.value())

    def value(self) -> Expression:
        if self.accept("!"):
            return self.negated(self.value)
        if self.accept("("):
            test = self.joined(self.value)
            self.require(")")
            return test
        token = self.take()
        if token.kind == "string":
            return Exactly(unquoted(token.text))
        if token.kind == "regex":
            return self.regex(token.text, token.offset)
        if token.kind != "variable":
            self.expected(VALUE, token)
        return SameAs(token.text, token.offset)

    def regex(self, text: str, offset: int) -> Matching:
        pattern = text[1:-1].replace("\\/", "/")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a pattern whose meaning may change is ambiguous today
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError, Warning) as error:
            place = offset + 1 + (getattr(error, "pos", None) or 0)
            raise QueryError(f"not a regular expression: {error}", self.query, place) from None
        return Matching(pattern)
