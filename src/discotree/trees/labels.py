"""Names of labels, listed in labels.txt, such as "participle clause" for Alpino's ``ppart``, and labels of clauses."""

from functools import cache, lru_cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

from discotree.errors import InputError
from discotree.trees.tree import NONE, Tree

Kind = Literal["constituent", "function", "tag"]
COMMON_SCHEMES = ("alpino", "tiger", "penn", "icepahc")
SCHEMES = (*COMMON_SCHEMES, "mcvf", "ppchy", "n1904", "squoia-es")
SAME_SCHEMES = {"negra": "tiger", "ptb": "penn", "nl": "alpino", "de": "tiger", "en": "penn", "is": "icepahc"}
SAME_SCHEMES |= {"fo": "icepahc", "fro": "mcvf", "yi": "ppchy", "grc": "n1904", "es": "squoia-es"}
EXTENDED = {"mcvf": "icepahc", "ppchy": "icepahc"}  # schemes that add labels to another one
HEAD_RULES = {"alpino": "alpino", "tiger": "negra", "penn": "ptb", "icepahc": "icepahc"}  # of each scheme
HEAD_RULES |= {"mcvf": "icepahc", "ppchy": "icepahc", "n1904": "n1904", "squoia-es": "squoia-es"}
NOT_NAMED = frozenset([NONE, "ROOT", "TOP", "VROOT", "top"])
MIN_KNOWN = 0.8  # share of a tree's labels that its scheme must have


class ClauseLabels(NamedTuple):
    """Regular expressions for the finite clauses of a scheme: nodes with a label and a finite verb of their own."""

    clauses: str  # labels
    verbs: str  # tags of finite verbs
    phrases: str  # labels of phrases, perhaps nested, between a clause and its verb
    imperative: str = ""  # the tag of imperatives, if infinitives have the same
    infinitive: str = ""  # the tag of the word before an infinitive


_FINITE = "(BE|DO|HV|MD|RD|VB)([DP][IS]|I)"  # in IcePaHC also the label of coordinated verbs
CLAUSES = {
    "alpino": ClauseLabels("smain|ssub|sv1", "ww|verb", "conj|mwu"),
    "tiger": ClauseLabels("S", "V.(FIN|IMP)", ""),
    "penn": ClauseLabels("S|SINV|SQ", "MD|VB[DPZ]", "VP", imperative="VB", infinitive="TO"),
    "icepahc": ClauseLabels("IP", _FINITE, f"VP|{_FINITE}"),
    "mcvf": ClauseLabels("IP", "VJ|EJ|AJ|MDJ|LJ", "VP|VJ|EJ|AJ|MDJ|LJ"),
    "ppchy": ClauseLabels("IP", "(BE|DO|HV|MD|RD|VB|VL)[FI]", "VP|(BE|DO|HV|MD|RD|VB|VL)[FI]"),
    "n1904": ClauseLabels("CL", "verb", "VP"),  # here and in Spanish, participles and infinitives have the same tag
    "squoia-es": ClauseLabels("S", "V[AMS]", "SVC"),
}


def explain(label: str | None, scheme: object = None, kind: Kind | None = None) -> str | None:
    """Return the full name of a label, or None if it is unknown.

    ``scheme`` is alpino, tiger (or negra), penn (or ptb), icepahc, mcvf, ppchy, n1904, squoia-es, a model or its name,
    or a tree. Without it, the names in the first four are joined, or if there are none, those in the others. ``kind``
    is constituent, function or tag, for labels with several meanings.

    Example: ``dt.explain("ppart", "alpino")``, which is "participle clause".
    """
    if kind is not None and kind not in get_args(Kind):
        raise InputError(f"kind: expected {', '.join(get_args(Kind))}, got {kind!r}")
    kinds = get_args(Kind) if kind is None else (kind,)
    for chosen in (COMMON_SCHEMES, SCHEMES) if scheme is None else ([find_scheme(scheme)],):
        names = [_name(label, each, name) for name in chosen if label and name for each in kinds]
        if found := dict.fromkeys(filter(None, names)):
            return "; ".join(found)
    return None


def guess_scheme(tree: Tree) -> str | None:
    """Return the scheme that has names for most labels of a tree; None if no scheme has enough."""
    labels = _labels_of(tree)
    known = {scheme: sum([_name(*label, scheme) is not None for label in labels]) for scheme in SCHEMES}
    best = max(SCHEMES, key=known.__getitem__)
    return best if known[best] and known[best] >= MIN_KNOWN * len(labels) else None


def explain_tree(tree: Tree) -> dict[tuple[str, Kind], str]:
    """Return the names of the labels of a tree, without the root: constituents, functions, then tags."""
    scheme = guess_scheme(tree)
    names = {label: _name(*label, scheme) for label in _labels_of(tree)} if scheme else {}
    return {label: name for label, name in names.items() if name}


def _labels_of(tree: Tree) -> dict[tuple[str, Kind], None]:
    nodes = [(node.label, node.function) for node in tree.nodes()]
    words = [(token.tag, token.function or NONE) for token in tree.tokens]
    labels: list[tuple[str, Kind]] = [(label, "constituent") for label, _ in nodes]
    labels += [(function, "function") for _, function in nodes + words]
    labels += [(tag, "tag") for tag, _ in words]
    return dict.fromkeys([label for label in labels if label[0] not in NOT_NAMED])


def find_scheme(scheme: object) -> str | None:
    """Return the scheme of a tree, a model, or the name of either; None for a tree that fits no scheme."""
    if isinstance(scheme, Tree):
        return guess_scheme(scheme)
    if not isinstance(scheme, str) and not hasattr(scheme, "config"):
        raise TypeError(f"expected a tree, a model, or the name of a scheme or a model, got {type(scheme).__name__}")
    config = getattr(scheme, "config", None)  # a parser: its head rules are those of its scheme
    name = str(scheme) if config is None else str(config.data.heads)
    language = SAME_SCHEMES.get(config.language, "") if config else ""
    if HEAD_RULES.get(language) == name:  # several schemes share the rules icepahc
        return language
    for candidate in (name, name.partition("-")[0]):  # nl-large: its language
        if candidate in (*SCHEMES, *SAME_SCHEMES):
            return SAME_SCHEMES.get(candidate, candidate)
    raise InputError(f"unknown scheme {name!r}; expected {', '.join(SCHEMES)} or a model such as nl")


@cache
def label_names() -> dict[str, dict[str, dict[str, str]]]:
    """Return the names of all labels by scheme, kind and label."""
    names: dict[str, dict[str, dict[str, str]]] = {scheme: {} for scheme in SCHEMES}
    _, *sections = (resources.files(__package__) / "labels.txt").read_text("utf-8").split("\n[")
    for heading, *lines in map(str.splitlines, sections):
        scheme, kind = heading.rstrip("]").split()
        base = names.get(EXTENDED.get(scheme, ""), {})
        names[scheme] = names[scheme] or {kind: dict(known) for kind, known in base.items()}
        names[scheme].setdefault(kind, {}).update(dict([line.split(" ", 1) for line in lines if line]))
    return names


@lru_cache(maxsize=1 << 12)
def _name(label: str, kind: str, scheme: str) -> str | None:
    """Return the name of a label or of its parts: SBJ-TPC is two functions, N-D a noun in the dative."""
    names = label_names()[scheme]
    known = names[kind]
    if label in known:
        return known[label]
    endings = names.get("case", {}) if kind == "tag" else names["function"]
    base, *others = label.split("-")
    try:
        return ", ".join([" + ".join([known[part] for part in base.split("+")]), *[endings[part] for part in others]])
    except KeyError:
        return None
