"""Punctuation: which tokens are punctuation marks, and transforms that move or remove them.

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
    "historical": frozenset({"PON", "PONFP", "PUNC"}),  # MCVF and PPCHF; PPCHY
    "squoia_es": frozenset({"F", "F$"}),
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


def gap_degree(mask: int, keep: int) -> int:
    """Return the number of gaps of a set of words if all tokens but those of ``keep`` are left out."""
    mask &= keep
    blocks = 0
    while mask:
        outside = keep & ~mask & -(mask & -mask)  # kept words after the start of the block that are not in it
        mask = mask & -(outside & -outside) if outside else 0
        blocks += 1
    return max(blocks - 1, 0)


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
    n = len(tree)
    token_parents, nodes = tree.parents()
    # Addresses: tokens, then nodes. The root is -1.
    up = [parent + n if parent >= 0 else -1 for parent in (*token_parents, *(parent for _, _, parent in nodes))]
    root, *inner = tree.nodes()
    masks = [*(1 << k for k in range(n)), *(node.mask for node in inner), root.mask]
    units = _units(marks, n, up, masks)
    moved = True
    while moved:  # a mark that leaves may open a gap around one that stayed
        moved = False
        for unit in list(units):
            home = _home(unit, words, up, masks)
            if home is None:
                continue
            above = up[unit]
            while above >= 0:
                masks[above] &= ~masks[unit]
                above = up[above]
            up[unit] = home
            while home >= 0:
                masks[home] |= masks[unit]
                home = up[home]
            units.remove(unit)
            moved = True
    parents = [max(parent - n, -1) for parent in up]
    return _rebuild(
        tree,
        parents[:n],
        [(label, function, parent) for (label, function, _), parent in zip(nodes, parents[n:], strict=True)],
    )


def _units(marks: int, n: int, up: list[int], masks: list[int]) -> list[int]:
    """Return the addresses that move: single marks, and continuous phrases that consist of marks."""
    units: dict[int, None] = {}
    for position in range(n):
        if marks >> position & 1:
            unit, above = position, up[position]
            while above >= 0 and not masks[above] & ~marks:
                if not masks[above] & (masks[above] + (masks[above] & -masks[above])):  # without a gap
                    unit = above
                above = up[above]
            units[unit] = None
    return list(units)


def _home(unit: int, words: int, parents: list[int], masks: list[int]) -> int | None:
    """Return the node that a unit moves to, or None where it may stay."""
    mask = masks[unit]
    before = words & ((mask & -mask) - 1)
    after = words >> mask.bit_length()
    left = before.bit_length() - 1  # position of the word before; -1 at the start of the sentence
    right = (after & -after).bit_length() - 1 + mask.bit_length() if after else -1
    common = -1
    if left >= 0 and right >= 0:
        common = parents[left]
        while common >= 0 and not masks[common] >> right & 1:
            common = parents[common]
    up = parents[unit]
    while up != common:
        if up < 0:
            return common
        # A node inside the common phrase must reach from the mark to one of the two words without a gap.
        from_left = ((mask & -mask) - 1) & ~((1 << left) - 1) if left >= 0 else None
        to_right = ((2 << right) - 1) & ~((1 << mask.bit_length()) - 1) if right >= 0 else None
        if not any(stretch is not None and not stretch & ~masks[up] for stretch in (from_left, to_right)):
            return common
        up = parents[up]
    return None


def remove_punctuation(tree: Tree) -> Tree:
    """Delete punctuation and the phrases that it leaves empty; a sentence of nothing else stays."""
    return remove_tokens(tree, {k for k, token in enumerate(tree.tokens) if is_punctuation(token)}) or tree


def remove_tokens(tree: Tree, removed: set[int]) -> Tree | None:
    """Delete the tokens at these positions and the phrases that they leave empty; None if nothing is left."""
    if len(removed) == len(tree):
        return None
    return _rebuild(tree, *tree.parents(), removed) if removed else tree


def root_punctuation(tree: Tree) -> Tree:
    """Hang punctuation on the root, as NEGRA, TIGER and Alpino do."""
    if not any(map(is_punctuation, tree.tokens)):
        return tree
    token_parents, nodes = tree.parents()
    for position, token in enumerate(tree.tokens):
        if is_punctuation(token):
            token_parents[position] = -1
    return _rebuild(tree, token_parents, nodes)


def _rebuild(
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
    remaining = [k for k in range(len(nodes)) if filled[k]]
    node_index = {k: new for new, k in enumerate(remaining)} | {-1: -1}
    address = {old: new for new, old in enumerate(tokens)}
    address |= {n + 1 + old: len(tokens) + 1 + new for old, new in node_index.items()}
    secondary = [
        SecondaryEdge(label, address[child], address[parent])
        for label, child, parent in tree.secondary
        if child in address and parent in address
    ]
    return tree.rebuild(
        [node_index[token_parents[k]] for k in tokens],
        [(label, function, node_index[parent]) for label, function, parent in (nodes[k] for k in remaining)],
        [tree.tokens[k] for k in tokens],
        secondary,
    )
