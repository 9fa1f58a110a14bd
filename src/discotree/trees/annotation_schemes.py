"""Tree → Tree between annotation schemes, so that treebanks can be trained on together.

``squoia``: SQUOIA's trees are those of TIGER made deeper: a phrase over every single noun, adjective and adverb,
a noun phrase inside every prepositional phrase, heads marked everywhere. ``squoia_to_tiger`` undoes that.
"""

from collections.abc import Callable

from discotree.trees.tree import Tree

HEAD, KERNEL, ADPOSITION = "HD", "NK", "AC"
OVER_A_WORD = ("NP", "AP", "AVP")
NAMES = ("PN", "CNP", "CH")  # phrases that need no noun phrase above them
ADPOSITIONS = ("APPR", "APPRART", "APPO", "APZR")
FLAT = ("NP", "PP")  # phrases in which TIGER marks no head


def squoia_to_tiger(tree: Tree) -> Tree:
    """SQUOIA's trees in the flat scheme of TIGER and PCC. Secondary edges go, since their ends may."""
    token_parents, nodes = tree.parents()
    labels = [label for label, _, _ in nodes]
    functions = [function for _, function, _ in nodes]
    parents = [parent for _, _, parent in nodes]
    roles = [token.function for token in tree.tokens]
    below = _below(parents, token_parents)

    gone: set[int] = set()
    for node in reversed(range(len(nodes))):  # children first
        words, phrases = below[node]
        if len(words) + len(phrases) != 1:
            continue
        if words and labels[node] in OVER_A_WORD:
            roles[words[0]] = functions[node]
            gone.add(node)
        elif phrases and labels[node] == "NP" and labels[phrases[0]] in NAMES:
            functions[phrases[0]] = functions[node]
            gone.add(node)
    for node, (words, phrases) in enumerate(below):
        if labels[node] != "PP":
            continue
        inner = [child for child in phrases if labels[child] == "NP" and child not in gone]
        adposition = any(tree.tokens[word].tag in ADPOSITIONS for word in words)
        alone = all(functions[child] != KERNEL for child in phrases if child not in inner)
        if adposition and len(inner) == 1 and alone:
            gone.add(inner[0])

    token_parents = [_kept(parent, parents, gone) for parent in token_parents]
    parents = [_kept(parent, parents, gone) for parent in parents]
    for position, parent in enumerate(token_parents):
        if parent >= 0 and labels[parent] in FLAT and roles[position] == HEAD:
            is_adposition = labels[parent] == "PP" and tree.tokens[position].tag in ADPOSITIONS
            roles[position] = ADPOSITION if is_adposition else KERNEL
    for node, parent in enumerate(parents):
        if parent >= 0 and labels[parent] in FLAT and functions[node] == HEAD:
            functions[node] = KERNEL
    number = {node: k for k, node in enumerate(node for node in range(len(nodes)) if node not in gone)}
    number[-1] = -1
    return Tree.from_parents(
        [token._replace(function=role) for token, role in zip(tree.tokens, roles, strict=True)],
        [number[parent] for parent in token_parents],
        [(labels[node], functions[node], number[parents[node]]) for node in number if node >= 0],
        root=(tree.root.label, tree.root.function),
        id=tree.id,
        comment=tree.comment,
    )


def _below(parents: list[int], token_parents: list[int]) -> list[tuple[list[int], list[int]]]:
    """The words and the phrases right below every node."""
    below: list[tuple[list[int], list[int]]] = [([], []) for _ in parents]
    for position, parent in enumerate(token_parents):
        if parent >= 0:
            below[parent][0].append(position)
    for node, parent in enumerate(parents):
        if parent >= 0:
            below[parent][1].append(node)
    return below


def _kept(node: int, parents: list[int], gone: set[int]) -> int:
    """The node, or the lowest one above it that is kept."""
    while node in gone:
        node = parents[node]
    return node


SCHEMES: dict[str, Callable[[Tree], Tree]] = {"squoia": squoia_to_tiger}
