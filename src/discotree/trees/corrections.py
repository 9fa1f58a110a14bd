"""Corrections of a tree as constraints, and the tree that is proposed after the rest was parsed again around them."""

from collections.abc import Iterable, Sequence

from discotree.trees.constraints import Constraint, IsConstituent, NotConstituent, WordHas
from discotree.trees.tree import NONE, Node, SecondaryEdge, Tree

Key = tuple[int, str]  # the words of a constituent as a bit set, and its label


def corrections(before: Tree, after: Tree, earlier: Iterable[Constraint] = ()) -> list[Constraint]:
    """Return the constraints that the correction of a tree stands for, after those of earlier corrections.

    Constituents that only the tree ``after`` the correction has are required, with those around them, and constituents
    that only the tree ``before`` has are forbidden. Words and constituents keep tags and functions that differ. The
    root is not compared, since a parser does not change it. Earlier constraints that the corrected tree does not
    satisfy are dropped.
    """
    old, new = _constituents(before), _constituents(after)
    made, removed = _only_in(new, old), _only_in(old, new)
    found = [constraint for constraint in earlier if satisfies(after, constraint)]
    for node in made:
        # A constituent that was relabelled or has got other words keeps its function, but nobody has checked it.
        is_kept = any(node.mask & other.mask and node.function == other.function for other in removed)
        function = None if is_kept or node.function == NONE else node.function
        found.append(IsConstituent(node.positions, node.label, function))
    for key, node in new.items():
        if key in old and node.function != old[key].function:
            found.append(IsConstituent(node.positions, node.label, node.function))
        elif key in old and any(node.mask & other.mask == other.mask for other in (*made, *removed)):
            found.append(IsConstituent(node.positions, node.label))
    filled = {after.root.mask, *(mask for mask, _ in new)}
    found += [
        NotConstituent(node.positions, node.label if node.mask in filled else None)
        for node in removed
        if node.mask != after.root.mask or node.label != after.root.label
    ]
    for position, (was, token) in enumerate(zip(before.tokens, after.tokens, strict=True)):
        tag = token.tag if token.tag != was.tag else None
        function = (token.function or NONE) if token.function != was.function else None
        if tag or function:
            found.append(WordHas(position, tag, function=function))
    return list(dict.fromkeys(found))


def secondary_ends(tree: Tree) -> list[Constraint]:
    """Return the constituents at the ends of secondary edges, which parsing again would lose, as constraints."""
    nodes = list(tree.nodes())
    ends = {end - len(tree.tokens) for edge in tree.secondary for end in (edge.child, edge.parent)}
    return [IsConstituent(nodes[end].positions, nodes[end].label) for end in sorted(ends) if end > 0]


def satisfies(tree: Tree, constraint: Constraint) -> bool:
    """Return whether a tree satisfies a constraint; a head is not checked in a tree without heads."""
    if isinstance(constraint, WordHas):
        token, head = tree.tokens[constraint.position], constraint.head
        has_head = head is None or not tree.heads or tree.heads[constraint.position] == head
        has_tag = constraint.tag in (None, token.tag)
        return has_head and has_tag and constraint.function in (None, token.function or NONE)
    mask = sum(1 << position for position in constraint.words)
    nodes = [node for node in tree.nodes() if node.mask == mask and constraint.label in (None, node.label)]
    if isinstance(constraint, NotConstituent):
        return not nodes
    return any(constraint.function in (None, node.function) for node in nodes)


def proposal(parsed: Tree, before: Tree, corrected: Tree, constraints: Sequence[Constraint]) -> Tree | None:
    """Return the tree to propose after a correction, given the tree that was parsed under its constraints.

    Words that the correction has moved, and words of a new constituent, are attached as in the ``parsed`` tree if all
    other constituents stay as they are. Otherwise the parser evades the correction with a constituent that is nearly
    the one that was removed, and only its functions are used. Everything that is not predicted again is as in the
    ``corrected`` tree. Return None if nothing would change, or if a constraint is not satisfied.
    """
    moved = _moved(_constituents(before), _constituents(corrected))
    if _without(parsed, moved) == _without(corrected, moved):
        tree = _with_words(parsed, corrected)
    else:
        tree = _with_functions(parsed, corrected)
    is_allowed = all(satisfies(tree, constraint) for constraint in constraints)
    return tree if is_allowed and tree != corrected else None


def _moved(old: dict[Key, Node], new: dict[Key, Node]) -> int:
    """Return the words that have come to a constituent or left it, and those of new constituents, as a bit set."""
    moved, removed = 0, _only_in(old, new)
    for node in _only_in(new, old):
        same = [other.mask for other in removed if other.label == node.label and other.mask & node.mask]
        relabelled = any(other.mask == node.mask for other in removed)
        moved |= 0 if relabelled else node.mask ^ max(same, key=lambda m: (m & node.mask).bit_count(), default=0)
    return moved


def _without(tree: Tree, words: int) -> set[Key]:
    """Return the constituents of a tree without some of its words."""
    return {(mask & ~words, label) for mask, label in _constituents(tree) if mask & ~words}


def _with_words(parsed: Tree, corrected: Tree) -> Tree:
    """Return a parsed tree with the words, the root and the secondary edges of the corrected one."""
    words = zip(corrected.tokens, parsed.tokens, strict=True)
    token_parents, nodes = parsed.parents()
    return Tree.from_parents(
        [token._replace(function=other.function) for token, other in words],
        token_parents,
        nodes,
        root=(corrected.root.label, corrected.root.function),
        id=corrected.id,
        secondary=_secondary(corrected, parsed),
        comment=corrected.comment,
        confidence=parsed.confidence,
        confidences=parsed.confidences,
    )


def _with_functions(parsed: Tree, corrected: Tree) -> Tree:
    """Return the corrected tree with the functions of the parsed one, where both have the same constituents."""
    functions = {key: node.function for key, node in _constituents(parsed).items()}
    token_parents, nodes = corrected.parents()
    keys, parsed_keys = _keys(corrected), _keys(parsed)
    parents = zip(token_parents, parsed.parents()[0], strict=True)
    tokens = [
        token._replace(function=other.function) if keys[parent] == parsed_keys[parsed_parent] else token
        for token, other, (parent, parsed_parent) in zip(corrected.tokens, parsed.tokens, parents, strict=True)
    ]
    rows = zip(keys, nodes, strict=False)
    new = [(label, functions.get(key, function), parent) for key, (label, function, parent) in rows]
    return corrected.rebuild(token_parents, new, tokens, corrected.secondary)


def _secondary(corrected: Tree, parsed: Tree) -> list[SecondaryEdge]:
    """Return the secondary edges of the corrected tree whose ends the parsed tree has."""
    n = len(corrected.tokens)
    numbers = {key: n + k for k, key in enumerate(_keys(parsed), 1)}
    ends: list[int | None] = [*range(n + 1), *(numbers.get(key) for key in _keys(corrected)[:-1])]
    edges = [(label, ends[child], ends[parent]) for label, child, parent in corrected.secondary]
    return [SecondaryEdge(label, a, b) for label, a, b in edges if a is not None and b is not None]


def _keys(tree: Tree) -> list[Key]:
    """Return the constituents of a tree in the order of ``Tree.parents``, with the root as the last one, [-1]."""
    return [*((node.mask, node.label) for node in tree.nodes() if node is not tree.root), (tree.root.mask, "")]


def _constituents(tree: Tree) -> dict[Key, Node]:
    return {(node.mask, node.label): node for node in tree.nodes() if node is not tree.root}


def _only_in(these: dict[Key, Node], those: dict[Key, Node]) -> list[Node]:
    return [node for key, node in these.items() if key not in those]
