"""Punctuation: the one place that decides which token is a mark, and transforms that move marks in a tree.

The tag decides: ``TAGS`` lists the punctuation tags of every treebank family. No family uses another's punctuation tag
for words, so a token is checked against all of them. A token without a tag (``--``, ``_``, ``__``, or the ``UNKNOWN``
of untagged text) is punctuation when every character of its form is Unicode punctuation, except signs that are read
aloud as words (% & # @ * §).
"""

import unicodedata

from discotree.trees.tree import SecondaryEdge, Token, Tree

TAGS: dict[str, frozenset[str]] = {
    "stts": frozenset({"$,", "$.", "$(", "$[", "$LRB", "$*LRB*"}),  # NEGRA, TIGER, PCC, SQUOIA
    "alpino": frozenset({"let", "LET", "LET()", "LET[]", "punct"}),
    "ptb": frozenset({",", ".", ":", "``", "''", '"', "-LRB-", "-RRB-", "HYPH", "NFP", "PUNCT"}),
    "icepahc": frozenset({",", ".", ":", ";", '"', "'", "-", ".-TTT"}),
}
UNTAGGED = frozenset({"", "--", "_", "__", "UNKNOWN"})
WORDLIKE = frozenset("%&#@*§")

_ALL_TAGS = frozenset().union(*TAGS.values())


def is_punctuation_tag(tag: str) -> bool:
    return tag in _ALL_TAGS


def is_punctuation(token: Token) -> bool:
    if token.tag in UNTAGGED:
        return all(unicodedata.category(c)[0] == "P" and c not in WORDLIKE for c in token.form)
    return token.tag in _ALL_TAGS


def move_punctuation(tree: Tree) -> Tree:
    """Attach punctuation low, so that no gap is due to punctuation alone.

    A mark that neither makes nor fills a gap stays. Any other moves to the lowest phrase that holds both the word
    before and the word after it; at the edge of a sentence, that is the root. Every phrase around the mark then
    contains it, and no phrase that ends or begins next to it does.
    """
    marks = sum(1 << k for k, token in enumerate(tree.tokens) if is_punctuation(token))
    words = tree.root.mask & ~marks
    if not marks or not words:
        return tree
    token_parents, nodes = tree.parents()
    masks = [node.mask for node in tree.nodes()]
    masks.append(masks.pop(0))  # as in parents(), the root is the last one, [-1]
    units = _units(tree, marks, token_parents, nodes, masks)
    moved = True
    while moved:  # a mark that leaves may open a gap around one that stayed
        moved = False
        for unit in list(units):
            home = _home(unit, words, token_parents, nodes, masks)
            if home is None:
                continue
            is_node, name, mask = unit
            up = nodes[name][2] if is_node else token_parents[name]
            while up >= 0:
                masks[up] &= ~mask
                up = nodes[up][2]
            if is_node:
                nodes[name] = (nodes[name][0], nodes[name][1], home)
            else:
                token_parents[name] = home
            while home >= 0:
                masks[home] |= mask
                home = nodes[home][2]
            units.remove(unit)
            moved = True
    return _rebuilt(tree, token_parents, nodes)


Unit = tuple[bool, int, int]  # whether it is a node or a token, its index, its mask


def _units(
    tree: Tree, marks: int, token_parents: list[int], nodes: list[tuple[str, str, int]], masks: list[int]
) -> list[Unit]:
    """Return what moves as one: a mark, or an unbroken phrase of nothing but marks."""
    units: dict[tuple[bool, int], int] = {}
    for position in range(len(tree)):
        if not marks >> position & 1:
            continue
        unit, mask = (False, position), 1 << position
        up = token_parents[position]
        while up >= 0 and not masks[up] & ~marks:
            if _is_unbroken(masks[up]):
                unit, mask = (True, up), masks[up]
            up = nodes[up][2]
        units[unit] = mask
    return [(is_node, name, mask) for (is_node, name), mask in units.items()]


def _is_unbroken(mask: int) -> bool:
    return not mask & (mask + (mask & -mask))


def _home(
    unit: Unit, words: int, token_parents: list[int], nodes: list[tuple[str, str, int]], masks: list[int]
) -> int | None:
    """Return the node that a unit moves to, or None where it may stay."""
    is_node, name, mask = unit
    before = words & ((mask & -mask) - 1)
    after = words >> mask.bit_length()
    left = before.bit_length() - 1  # position of the word before; -1 at the start of the sentence
    right = (after & -after).bit_length() - 1 + mask.bit_length() if after else -1
    common = -1
    if left >= 0 and right >= 0:
        common = token_parents[left]
        while common >= 0 and not masks[common] >> right & 1:
            common = nodes[common][2]
    up = nodes[name][2] if is_node else token_parents[name]
    while up != common:
        if up < 0:
            return common
        # A node inside the common phrase must reach from the mark to one of the two words without a gap.
        from_left = ((mask & -mask) - 1) & ~((1 << left) - 1) if left >= 0 else None
        to_right = ((2 << right) - 1) & ~((1 << mask.bit_length()) - 1) if right >= 0 else None
        reaches = any(stretch is not None and not stretch & ~masks[up] for stretch in (from_left, to_right))
        if not reaches:
            return common
        up = nodes[up][2]
    return None


def remove_punctuation(tree: Tree) -> Tree:
    """Delete punctuation and the phrases that it leaves empty; a sentence of nothing else stays."""
    removed = {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}
    if not removed or len(removed) == len(tree):
        return tree
    return _rebuilt(tree, *tree.parents(), removed)


def root_punctuation(tree: Tree) -> Tree:
    """Hang punctuation on the root, as NEGRA, TIGER and Alpino do."""
    if not any(map(is_punctuation, tree.tokens)):
        return tree
    token_parents, nodes = tree.parents()
    for position, token in enumerate(tree.tokens):
        if is_punctuation(token):
            token_parents[position] = -1
    return _rebuilt(tree, token_parents, nodes)


def _rebuilt(
    tree: Tree,
    token_parents: list[int],
    nodes: list[tuple[str, str, int]],
    removed: set[int] | frozenset[int] = frozenset(),
) -> Tree:
    """Return the tree with new parents and without the removed tokens; empty nodes disappear."""
    n = len(tree)
    filled = [False] * len(nodes)
    for position, parent in enumerate(token_parents):
        up = -1 if position in removed else parent
        while up >= 0 and not filled[up]:
            filled[up] = True
            up = nodes[up][2]
    tokens = [k for k in range(n) if k not in removed]
    kept = [k for k in range(len(nodes)) if filled[k]]
    node_index = {k: new for new, k in enumerate(kept)} | {-1: -1}
    address = {old: new for new, old in enumerate(tokens)}
    address |= {n + 1 + old: len(tokens) + 1 + new for old, new in node_index.items()}
    secondary = [
        SecondaryEdge(label, address[child], address[parent])
        for label, child, parent in tree.secondary
        if child in address and parent in address
    ]
    return Tree.from_parents(
        [tree.tokens[k] for k in tokens],
        [node_index[token_parents[k]] for k in tokens],
        [(label, function, node_index[parent]) for label, function, parent in (nodes[k] for k in kept)],
        root=(tree.root.label, tree.root.function),
        id=tree.id,
        comment=tree.comment,
        secondary=secondary,
    )
