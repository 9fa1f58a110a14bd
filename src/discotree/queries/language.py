"""The query language: expressions, lexer, grammar, and the normal form of a query. docs/search.md explains it to users.

graph     = conjunct { "|" conjunct }
conjunct  = unit { "&" unit }
unit      = "(" graph ")" | "without" "(" graph ")" | [ "!" ] predicate | node [ relation node ]
node      = variable [ ":" "[" features "]" ] | "[" features "]"
features  = nothing, or feature tests joined by "|", "&", "!" and brackets
feature   = "T" | "NT" | name ( "=" | "!=" ) value
value     = string | regex | variable [ ":" value ] | value tests joined by "|", "&" and "!" in brackets

``And``, ``Or`` and ``Not`` combine three kinds of expressions: tests of a value (``"NN" | /V.*/``), features of a node
(``pos="NN" & !(lemma="x")``) and statements about a tree (``#a > #b & root(#a)``).

A tree has nodes of two kinds: terminals, which are its words, and non-terminals, which are its constituents, including
the root. A query names nodes by variables (``#n``) or leaves them anonymous.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias
from unicodedata import normalize

from discotree.errors import QueryError, printable

TERMINAL_FEATURES = ("word", "lemma", "pos", "morph")
FEATURES = (*TERMINAL_FEATURES, "cat", "edge")
"""``edge`` is the label of the edge above a node; the root has none. Words have no cat, constituents have only that."""


class And(NamedTuple):
    """True if all parts are; without parts, always."""

    parts: tuple["Expression", ...]


class Or(NamedTuple):
    """True if one part is."""

    parts: tuple["Expression", ...]


class Not(NamedTuple):
    """True if its part is not."""

    part: "Expression"


# Tests of a value


class Exactly(NamedTuple):
    """The value is this string."""

    text: str


def exactly(text: str) -> "Expression":
    """Return the test for a string, whether its accents are part of a letter or characters of their own."""
    forms = dict.fromkeys([text, normalize("NFC", text), normalize("NFD", text)])
    tests = tuple(map(Exactly, forms))
    return Or(tests) if len(tests) > 1 else tests[0]


class Matching(NamedTuple):
    """The whole value matches a regular expression."""

    pattern: str


class SameAs(NamedTuple):
    """The value is that of a variable, which is the same everywhere in a match."""

    variable: str
    offset: int  # in the query, for error messages


# Features of a node


class Feature(NamedTuple):
    """The node has this feature, and its value passes a test. A node without the feature fails every test of it."""

    name: str
    test: "Expression"


class Kind(NamedTuple):
    """The node is a terminal, or a non-terminal."""

    terminal: bool


# Statements about a tree; ``node``, ``left`` and ``right`` are variables, with a number in place of a name if anonymous


class Described(NamedTuple):
    """A node has features."""

    node: str
    features: "Expression"


RelationName = Literal[">", ">@l", ">@r", ".", "$", "$.*", ">~"]


class Relation(NamedTuple):
    """A relation between two nodes; conditions.py defines each."""

    name: RelationName
    nearest: int = 1  # the smallest and the largest distance, for > and .
    farthest: int | None = 1  # None: any
    label: "Expression | None" = None  # test of the edge's label, for > and >~


class Related(NamedTuple):
    """A relation holds between two nodes."""

    left: str
    relation: Relation
    right: str


class Holds(NamedTuple):
    """A predicate holds of nodes; conditions.py defines each."""

    predicate: str
    nodes: tuple[str, ...]
    numbers: tuple[float, ...]
    comparison: str = ""
    all_gaps: bool = False  # whether gaps of only punctuation count, for predicates about gaps


class Without(NamedTuple):
    """The graph does not hold for any choice of the nodes that occur only inside it."""

    graph: "Expression"


Expression: TypeAlias = (
    And | Or | Not | Exactly | Matching | SameAs | Feature | Kind | Described | Related | Holds | Without
)


MAX_CHARACTERS = 20_000

END = "end"


class QueryToken(NamedTuple):
    """A token of a query and its offset."""

    kind: str
    text: str
    offset: int


_STRING = r'"(?:[^"\\]|\\.)*"'
_REGEX = r"/(?:[^/\\]|\\.)+/"
LABEL_NAME = re.compile(r"[^\W\d][\w-]*")  # a label that needs no quotes after >
_LABEL = rf"(?:{_STRING}|{_REGEX}|{LABEL_NAME.pattern})"
_RANGE = r"\d{1,9}(?:,\d{1,9})?"
_TOKENS = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>//[^\n]*)
  | (?P<variable>\#\w+)
  | (?P<string>{_STRING})
  | (?P<regex>{_REGEX})
  | (?P<relation>!?(?:>~{_LABEL}?|>@[lr]\b|>\*|>{_RANGE}|>{_LABEL}?|\$\.\*|\$|\.\*|\.{_RANGE}|\.))
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<name>[^\W\d][\w-]*)
  | (?P<symbol>!=|[\[\]():&|=!,])
    """,
    re.VERBOSE | re.DOTALL,
)

# A relation never follows a closing bracket, and a comparison follows nothing else: confidence(#n) > 0.6.
_COMPARISON = re.compile(r"(?P<comparison><=|>=|<|>)")

# The beginning of an XPath expression, or a test of an attribute, as in //node[@cat="pp"].
XPATH = re.compile(r"\A\s*\(*(?:count\()?\.?//?[\w*]|[\[(\s]@\w+\s*!?=")
XPATH_MESSAGE = (
    """this looks like XPath, but queries use the language of TIGERSearch: //node[@cat="pp"] is [cat="pp"]; """
    """the table "From GrETEL" in docs/search.md has more examples"""
)

# Errors for characters that cannot begin a token.
_UNTERMINATED = {'"': "unterminated string", "/": "unterminated regular expression"}


def tokens(query: str) -> list[QueryToken]:
    """Return the tokens of a query, with an END after the last one."""
    if len(query) > MAX_CHARACTERS:
        raise QueryError(f"the query is longer than {MAX_CHARACTERS:,} characters", query[:100], 0)
    result: list[QueryToken] = []
    offset = 0
    while offset < len(query):
        after_bracket = result and result[-1].text == ")"
        token = (after_bracket and _COMPARISON.match(query, offset)) or _TOKENS.match(query, offset)
        if token is None:
            character = query[offset]
            raise QueryError(
                _UNTERMINATED.get(character, f"unexpected character {printable(character)!r}"), query, offset
            )
        kind = str(token.lastgroup)
        if kind not in ("space", "comment"):
            result.append(QueryToken(kind, token.group(), offset))
        offset = token.end()
    return [*result, QueryToken(END, "", len(query))]


def unquote(text: str) -> str:
    """Return the text between quotes; a backslash escapes any character."""
    return re.sub(r"\\(.)", r"\1", text[1:-1], flags=re.DOTALL)


def quote(text: str) -> str:
    """Return a text as a string of the query language; the inverse of ``unquote``."""
    return '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


CONTINUOUS, DISCONTINUOUS, GAP_DEGREE = "continuous", "discontinuous", "gap-degree"
ALL = "all"  # the last argument of a predicate about gaps


class Signature(NamedTuple):
    """The arguments of a predicate."""

    nodes: int = 1
    min_numbers: int = 0
    max_numbers: int = 0
    is_compared: bool = False  # a value of the node, compared with a number
    about_gaps: bool = False  # may end in ALL


PREDICATES = {
    "root": Signature(),
    "arity": Signature(1, 1, 2),
    "tokenarity": Signature(1, 1, 2),
    CONTINUOUS: Signature(about_gaps=True),
    DISCONTINUOUS: Signature(about_gaps=True),
    GAP_DEGREE: Signature(1, 1, 2, about_gaps=True),
    "within": Signature(2, 1, 1),
    "confidence": Signature(is_compared=True),
}

MAX_DEPTH = 100  # brackets inside brackets, and negations
KINDS = {"T": True, "NT": False}
WITHOUT = "without"
VALUE = 'a value ("…", /…/ or a variable)'
NODE = "a node ([…] or a variable)"


class Grammar:
    """Reads one query. With ``all_gaps``, predicates count gaps of only punctuation even without ``ALL``."""

    def __init__(self, query: str, all_gaps: bool = False) -> None:
        self.query = query
        self.all_gaps = all_gaps
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
        got = "the query ends" if token.kind == END else f"found {token.text!r}"
        raise QueryError(f"expected {what}, {got}", self.query, token.offset)

    def join(self, unit: Callable[[], Expression]) -> Expression:
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

    def negate(self, unit: Callable[[], Expression]) -> Expression:
        """Read the unit after a !, which counts as a level of brackets."""
        self.deeper()
        part = unit()
        self.depth -= 1
        return Not(part)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QueryError(f"brackets are nested more than {MAX_DEPTH} deep", self.query, self.token.offset)

    # Statements about a tree

    def graph(self) -> Expression:
        return self.join(self.unit)

    def unit(self) -> Expression:
        if self.accept("("):
            graph = self.graph()
            self.require(")")
            return graph
        if self.accept("!"):
            if self.token.text in ("(", "[") or self.token.kind == "variable":
                message = "only a predicate or a relation can be negated: #a !> #b says that these two nodes are not "
                message += "related this way, and without(#a > #b) that there are no such nodes"
                raise QueryError(message, self.query, self.token.offset)
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
            features = self.join(self.feature)
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
        argument = text.removeprefix(name)
        offset = token.offset + token.text.index(name) + len(name)
        if argument == "*":
            return Relation(name, 1, None)
        if argument[:1].isdigit():
            near, _, far = argument.partition(",")
            nearest, farthest = int(near), int(far or near)
            if not 1 <= nearest <= farthest:
                raise QueryError("expected distances of at least 1, the smaller one first", self.query, offset)
            return Relation(name, nearest, farthest)
        if not argument:
            return Relation(name)
        if argument[0] == '"':
            return Relation(name, label=Exactly(unquote(argument)))
        return Relation(name, label=self.regex(argument, offset) if argument[0] == "/" else Exactly(argument))

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
        while len(numbers) < signature.min_numbers or (
            len(numbers) < signature.max_numbers and self.token.text == "," and self.tokens[self.next + 1].text != ALL
        ):
            self.require(",")
            numbers.append(self.number())
        all_gaps = signature.about_gaps and self.all_gaps
        if signature.about_gaps and self.accept(","):
            all_gaps = True
            self.require(ALL)
        if numbers and numbers[0] > numbers[-1]:
            raise QueryError("expected the smaller number first", self.query, token.offset)
        self.require(")")
        comparison = ""
        if signature.is_compared:
            if self.token.kind != "comparison":
                self.expected("<, <=, > or >=")
            comparison = self.take().text
            numbers.append(self.number())
        return Holds(token.text, tuple(nodes), tuple(numbers), comparison, all_gaps)

    def number(self) -> float:
        if self.token.kind != "number":
            self.expected("a number")
        return float(self.take().text)

    # Features of a node, tests of a value

    def feature(self) -> Expression:
        if self.accept("!"):
            return self.negate(self.feature)
        if self.accept("("):
            features = self.join(self.feature)
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
        test = self.value()
        if isinstance(test, And):  # pos=#c:("NN"|"NE") binds #c, which only a test of its own can do
            return And(tuple([Feature(token.text, part) for part in test.parts]))
        return Feature(token.text, test)

    def value(self) -> Expression:
        if self.accept("!"):
            return self.negate(self.value)
        if self.accept("("):
            test = self.join(self.value)
            self.require(")")
            return test
        token = self.take()
        if token.kind == "string":
            return exactly(unquote(token.text))
        if token.kind == "regex":
            return self.regex(token.text, token.offset)
        if token.kind != "variable":
            self.expected(VALUE, token)
        same = SameAs(token.text, token.offset)
        return And((same, self.value())) if self.accept(":") else same

    def regex(self, text: str, offset: int) -> Matching:
        pattern = text[1:-1].replace("\\/", "/")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # a pattern whose meaning may change is ambiguous today
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError, Warning) as error:
            place = offset + 1 + (getattr(error, "pos", None) or 0)
            raise QueryError(f"invalid regular expression: {error}", self.query, place) from None
        return Matching(pattern)


MAX_CONJUNCTIONS = 1000

Conjunction = tuple[Expression, ...]  # Described, Related, Holds, Without, or Not around a Related or Holds


def conjunctions(graph: Expression, query: str) -> list[Conjunction]:
    """Multiply out every ``|`` between statements: return conjunctions, one of which holds wherever the graph does."""
    if isinstance(graph, Or):
        result = [conjunction for part in graph.parts for conjunction in conjunctions(part, query)]
    elif isinstance(graph, And):
        result = [()]
        for part in graph.parts:
            choices = conjunctions(part, query)
            result = [(*left, *right) for left in result for right in choices]
            if len(result) > MAX_CONJUNCTIONS:
                break
    else:
        result = [(graph,)]
    if len(result) > MAX_CONJUNCTIONS:
        raise QueryError(f"the alternatives (|) multiply to more than {MAX_CONJUNCTIONS:,}", query, 0)
    return result


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions inside it, in the order of the query."""
    yield expression
    inside: tuple[Expression, ...] = ()
    if isinstance(expression, And | Or):
        inside = expression.parts
    elif isinstance(expression, Not):
        inside = (expression.part,)
    elif isinstance(expression, Feature):
        inside = (expression.test,)
    elif isinstance(expression, Described):
        inside = (expression.features,)
    elif isinstance(expression, Without):
        inside = (expression.graph,)
    for part in inside:
        yield from walk(part)


def node_variables(conjunction: Conjunction) -> dict[str, None]:
    """Return the node variables of a conjunction, in order, without those inside ``without``."""
    variables: dict[str, None] = {}
    for statement in conjunction:
        variables |= dict.fromkeys(variables_of(statement))
    return variables


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
