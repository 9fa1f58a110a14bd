"""Random trees: Hypothesis strategies, and a plain generator for tests that need many thousands.

Both grow a tree in the same way: over any of the parts made so far, neighbours or not, goes a new node, until the
root takes what is left. So words and phrases, unary chains and gaps of all kinds come up.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from discotree import Node, SecondaryEdge, Token, Tree
from discotree.trees.tree import NONE, ROOT

LABELS = ("S", "NP", "VP", "PP", "CS", "AVP", "IP", "conj", "smain", "NP-SBJ", ROOT, "VROOT", "TOP")
TAGS = ("NN", "VVFIN", "$,", "$.", "ADV", "let", "ww", "VBDI", "N-A", ".", "--")
FUNCTIONS = (NONE, NONE, "HD", "SB", "hd", "su", "OC-HD")
ODD_LABELS = ("+", "#", "\\", "^", "=", "|", "%", "a b", "NP#2", "S+VP", "\\^ROOT", "\\+", "#1", "ROOT#1", "\\^", "é",
              "_", "--", "(", "1", "%20;", "S#", "+#1", "\\\\", "^ROOT", ",", "\t", "\n")  # fmt: skip
ODD_ROOTS = (ROOT, ROOT, "VROOT", "S", "+", "\\", "\\^ROOT", "#1", "--", "a+b", "^", "ROOT#1", "a b")


def random_tree(rng: random.Random, size: int, *, odd: bool = False) -> Tree:
    """Return a tree over ``size`` words; ``odd`` labels hold characters that mean something in a format."""
    labels = LABELS + ODD_LABELS if odd else LABELS
    functions = FUNCTIONS + ODD_LABELS if odd else FUNCTIONS
    choice = rng.choice
    parts: list[Node | int] = list(range(size))
    for _ in range(rng.randrange(2 * size + 1)):
        rng.shuffle(parts)
        taken = min(1 + int(rng.expovariate(0.8)), len(parts))
        parts[:taken] = [Node(choice(labels), parts[:taken], choice(functions))]
    tokens = tuple([Token(f"w{k}", choice(TAGS), function=choice(functions)) for k in range(size)])
    return Tree(tokens, Node(choice(ODD_ROOTS) if odd else ROOT, parts, choice(functions) if odd else NONE), "1")


def random_heads(rng: random.Random, size: int) -> tuple[int, ...]:
    """Return heads that form a tree, mostly with one word on the dummy root, sometimes with several."""
    order = list(range(size))
    rng.shuffle(order)
    heads = [-1] * size
    several = rng.random() < 0.2
    for k in range(1, size):
        heads[order[k]] = -1 if several and rng.random() < 0.3 else order[rng.randrange(k)]
    return tuple(heads)


@dataclass(frozen=True)
class Holds:
    """What a format can hold: a strategy for every text in a tree, or None where it has no field."""

    forms: st.SearchStrategy[str]
    tags: st.SearchStrategy[str]
    labels: st.SearchStrategy[str]
    ids: st.SearchStrategy[str]
    functions: st.SearchStrategy[str] | None = None
    token_functions: st.SearchStrategy[str] | None = None
    lemmas: st.SearchStrategy[str] | None = None
    morphs: st.SearchStrategy[str] | None = None
    roots: st.SearchStrategy[str] | None = None
    root_functions: st.SearchStrategy[str] | None = None
    secondary: st.SearchStrategy[str] | None = None


def _or_none(strategy: st.SearchStrategy[str] | None) -> st.SearchStrategy[str]:
    return st.just(NONE) if strategy is None else st.just(NONE) | strategy


@st.composite
def trees(draw: st.DrawFn, holds: Holds, max_size: int = 8) -> Tree:
    """Trees that a format can hold."""
    size = draw(st.integers(1, max_size))
    token = st.builds(
        Token,
        holds.forms,
        holds.tags,
        _or_none(holds.lemmas),
        _or_none(holds.morphs),
        _or_none(holds.token_functions),
    )
    functions = _or_none(holds.functions)
    parts: list[Node | int] = list(range(size))
    for _ in range(draw(st.integers(0, size + 2))):
        chosen = draw(st.sets(st.integers(0, len(parts) - 1), min_size=1, max_size=4))
        node = Node(draw(holds.labels), [parts[k] for k in chosen], draw(functions))
        parts = [part for k, part in enumerate(parts) if k not in chosen] + [node]
    root = Node(ROOT if holds.roots is None else draw(holds.roots), parts, draw(_or_none(holds.root_functions)))
    tokens = tuple(draw(st.lists(token, min_size=size, max_size=size)))
    tree = Tree(tokens, root, draw(holds.ids))
    if holds.secondary is None:
        return tree
    end = size + sum(1 for _ in tree.nodes())
    children = st.integers(0, end - 1).filter(lambda child: child != size)  # the root has no parent
    edge = st.builds(SecondaryEdge, holds.secondary, children, st.integers(size, end - 1))
    return replace(tree, secondary=tuple(draw(st.lists(edge, max_size=3))))


def text_without(characters: str = "", *, controls: bool = True, strange: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Draw text that is not empty and has none of these characters, and now and then a strange word."""
    alphabet = st.characters(exclude_characters=characters, exclude_categories=["Cs"] if controls else ["Cs", "Cc"])
    plain = st.text(alphabet, min_size=1, max_size=6)
    return plain | st.sampled_from(strange) if strange else plain


SPACES = " \t\r\n\f\v\x1c\x1d\x1e\x1f"
STRANGE = (
    "#501",
    "%%",
    "=",
    "0",
    "_",
    "--",
    "(",
    "-LRB-",
    "<",
    "&amp;",
    '"',
    "#",
    "+",
    "*",
    "\u00a0",
    "\ufeff",
    "\u2028",
)
_any = text_without(strange=STRANGE)
_in_xml = text_without("\ufffe\uffff", controls=False, strange=(*STRANGE, "a\tb", "\n", "\r", "a  b"))
_line = text_without(SPACES, strange=STRANGE)
_in_dbr = text_without(SPACES + "()", strange=("#501", "=", "0=a", "--", "S-SB", "[", "#LRB", "\u00a0"))
_in_penn = text_without(SPACES + "()\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", controls=False)
_category = st.sampled_from(["S", "NP", "VP", "ADVP|PRT", "X", "É", "NP", ROOT, "a*b", "0", "#"])
_penn_tag = st.sampled_from(["NN", "N-A", "-LRB-", "--", "VBPI", "$", ",", ".", "P+NP", "''", "D-", ":"])
_penn_function = st.sampled_from(["SBJ", "LOC-CLR", "TTL", "ob1", "É"])
_psd_word = st.sampled_from(["a", "Gull-Anna", "maður$", "$inn", "-", "--", "a-", "-a", "%", "00", "1*"])
_ids = st.sampled_from(["1", "2", "cdb/28", "maz-00001/s2165", "1150.X-Y,.1", "s1", "ä", "#5", "007"])


def _unbroken(text: str) -> bool:
    """Return whether a word survives the escapes of discbracket."""
    escaped = text.replace("(", "#LRB#").replace(")", "#RRB#")
    return escaped.replace("#LRB#", "(").replace("#RRB#", ")") == text


def _is_plain(word: str) -> bool:
    """Return whether a word can be part of a running text: no space around it, no line end in it."""
    return word == word.strip() and not set(word) & set("\t\r\n")


_everywhere = {"functions": _in_xml, "token_functions": _in_xml, "lemmas": _in_xml, "morphs": _in_xml}

HOLDS: dict[str, Holds] = {
    "export": Holds(
        _line.filter(lambda word: not word.startswith(("#BOS", "#EOS"))),
        _line,
        _line,
        _ids,
        functions=_line,
        token_functions=_line,
        lemmas=_line,
        morphs=_line,
        secondary=_line.filter(lambda label: not label.startswith("%%")),
    ),
    "tigerxml": Holds(_in_xml, _in_xml, _in_xml, _ids, **_everywhere, secondary=_in_xml),
    "alpino": Holds(_in_xml, _in_xml, _in_xml, _ids, **_everywhere, secondary=_in_xml),
    "folia": Holds(
        _in_xml.filter(lambda word: word == word.strip() and not set(word) & set("\t\r\n")),
        _in_xml,
        _in_xml,
        _ids,
        **_everywhere,
    ),
    "discbracket": Holds(
        text_without(SPACES, strange=("(", ")", "a(b)c", "=", "1=", "#501")).filter(_unbroken),
        _in_dbr | st.just("$("),
        _in_dbr,
        _ids,
        roots=_in_dbr,
    ),
    "penn": Holds(
        _in_penn | st.sampled_from(["0", "*", "*T*-1", "-", "$"]), _penn_tag, _category, _ids, functions=_penn_function
    ),
    "psd": Holds(
        _psd_word, _penn_tag, _category, _ids, functions=_penn_function, lemmas=st.sampled_from(["a", "a-b", "*", "0"])
    ),
    "conllu": Holds(
        _any,
        _any,
        _any,
        _ids,
        functions=_any,
        token_functions=_any,
        lemmas=_any,
        morphs=_any,
        roots=_any,
        root_functions=_any,
    ),
}
HOLDS["brat"] = replace(HOLDS["conllu"], forms=_any.filter(_is_plain), roots=None, root_functions=None)
HOLDS["webanno"] = HOLDS["folia"]
HOLDS["parquet"] = HOLDS["arrow"] = HOLDS["json"] = replace(HOLDS["conllu"], secondary=_any)
HOLDS["export3"] = replace(HOLDS["export"], lemmas=None)


@st.composite
def trees_with_edges(draw: st.DrawFn) -> Tree:
    """Random trees with a secondary edge or two."""
    rng = random.Random(draw(st.integers(0, 2**32)))
    tree = random_tree(rng, draw(st.integers(1, 12)))
    end = len(tree) + sum(1 for _ in tree.nodes())
    edges = [SecondaryEdge("MO", rng.randrange(end), rng.randrange(len(tree), end)) for _ in range(rng.randrange(3))]
    return Tree(tree.tokens, tree.root, tree.id, tuple(edges))
