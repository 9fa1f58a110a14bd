"""Convert trees between annotation schemes, so that one model can learn from several treebanks.

``squoia``: SQUOIA deepens the trees of TIGER: a phrase over every single noun, adjective and adverb, a noun phrase
inside every prepositional phrase, and heads marked everywhere. ``squoia_to_tiger`` undoes that.

``squoia-low``: as ``squoia``, and verb dependents are attached to the verb phrase. In a clause with a VP, SQUOIA
attaches modifiers in front of the finite verb to the clause. TIGER attaches them to the VP, which then has a gap:
*Im selben Jahr wurde … gestellt*.

``genia``, ``masc``: see english.py.
"""

from collections.abc import Callable

from discotree.treebanks.schemes.english import genia_to_craft, masc_to_craft
from discotree.trees.tree import FUNCTION, Tree

HEAD, KERNEL, ADPOSITION = "HD", "NK", "AC"
UNARY_PHRASES = ("NP", "AP", "AVP")  # phrases that SQUOIA puts over single words
NAMES = ("PN", "CNP", "CH")  # phrases that need no noun phrase over them
ADPOSITIONS = ("APPR", "APPRART", "APPO", "APZR")
FLAT = ("NP", "PP")  # phrases in which TIGER marks no head
CLAUSE, VERB_PHRASE, VERBAL = "S", "VP", "OC"  # VERBAL is the function of a verb phrase below a finite verb
OBJECTS = ("OA", "OA2", "DA", "OG", "OP", "CVC")
MODIFIER, MODIFIERS = "MO", ("PP", "AP", "AVP", "NP")  # single adverbs are often those of the whole clause


def squoia_to_tiger(tree: Tree) -> Tree:
    """Return a tree of SQUOIA in the flat scheme of TIGER and PCC, without secondary edges."""
    token_parents, nodes = tree.parents()
    labels = [label for label, _, _ in nodes]
    functions = [function for _, function, _ in nodes]
    parents = [parent for _, _, parent in nodes]
    roles = [token[FUNCTION] for token in tree.tokens]
    children = _children(parents, token_parents)

    removed: set[int] = set()
    for node in reversed(range(len(nodes))):  # children first
        words, phrases = children[node]
        if len(words) + len(phrases) != 1:
            continue
        if words and labels[node] in UNARY_PHRASES:
            roles[words[0]] = functions[node]
            removed.add(node)
        elif phrases and labels[node] == "NP" and labels[phrases[0]] in NAMES:
            functions[phrases[0]] = functions[node]
            removed.add(node)
    for node, (words, phrases) in enumerate(children):
        if labels[node] != "PP":
            continue
        inner = [child for child in phrases if labels[child] == "NP" and child not in removed]
        adposition = any(tree.tokens[word].tag in ADPOSITIONS for word in words)
        is_only_kernel = all(functions[child] != KERNEL for child in phrases if child not in inner)
        if adposition and len(inner) == 1 and is_only_kernel:
            removed.add(inner[0])

    token_parents = [_remaining(parent, parents, removed) for parent in token_parents]
    parents = [_remaining(parent, parents, removed) for parent in parents]
    for position, parent in enumerate(token_parents):
        if parent >= 0 and labels[parent] in FLAT and roles[position] == HEAD:
            is_adposition = labels[parent] == "PP" and tree.tokens[position].tag in ADPOSITIONS
            roles[position] = ADPOSITION if is_adposition else KERNEL
    for node, parent in enumerate(parents):
        if parent >= 0 and labels[parent] in FLAT and functions[node] == HEAD:
            functions[node] = KERNEL
    number = {node: k for k, node in enumerate(node for node in range(len(nodes)) if node not in removed)}
    number[-1] = -1
    return tree.rebuild(
        [number[parent] for parent in token_parents],
        [(labels[node], functions[node], number[parents[node]]) for node in number if node >= 0],
        [token._replace(function=role) for token, role in zip(tree.tokens, roles, strict=True)],
    )


def attach_verb_dependents_low(tree: Tree) -> Tree:
    """Return a tree in which objects and modifying phrases of a clause with one verb phrase are in that phrase.

    Objects join the lowest verb phrase, modifiers the highest.
    """
    token_parents, nodes = tree.parents()
    verbal: dict[int, list[int]] = {}  # the verb phrases below each node
    for node, (label, function, parent) in enumerate(nodes):
        if (label, function) == (VERB_PHRASE, VERBAL):
            verbal.setdefault(parent, []).append(node)

    def lower(label: str, function: str, parent: int) -> int:
        if parent < 0 or nodes[parent][0] != CLAUSE or len(verbal.get(parent, ())) != 1:
            return parent
        if function == MODIFIER and label in MODIFIERS:
            return verbal[parent][0]
        while function in OBJECTS and len(verbal.get(parent, ())) == 1:
            (parent,) = verbal[parent]
        return parent

    return tree.rebuild(
        [lower("", token[FUNCTION], parent) for token, parent in zip(tree.tokens, token_parents, strict=True)],
        [(label, function, lower(label, function, parent)) for label, function, parent in nodes],
    )


def _children(parents: list[int], token_parents: list[int]) -> list[tuple[list[int], list[int]]]:
    """Return the words and the phrases that are children of every node."""
    children: list[tuple[list[int], list[int]]] = [([], []) for _ in parents]
    for position, parent in enumerate(token_parents):
        if parent >= 0:
            children[parent][0].append(position)
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent][1].append(node)
    return children


def _remaining(node: int, parents: list[int], removed: set[int]) -> int:
    """Return the node, or its lowest ancestor that is not removed."""
    while node in removed:
        node = parents[node]
    return node


SCHEMES: dict[str, Callable[[Tree], Tree]] = {
    "squoia": squoia_to_tiger,
    "squoia-low": lambda tree: attach_verb_dependents_low(squoia_to_tiger(tree)),
    "genia": genia_to_craft,
    "masc": masc_to_craft,
}
