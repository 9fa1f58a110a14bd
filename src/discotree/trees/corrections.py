"""Corrections of a tree as constraints, and the tree that is proposed after the rest was parsed again around them."""

from collections.abc import Iterable, Sequence

from discotree.trees.constraints import Constraint, IsConstituent, NotConstituent, WordHas
from discotree.trees.tree import NONE, Node, SecondaryEdge, Tree

Key = tuple[int, str]  # the words of a constituent as a bit set, and its label


def corrections(before: Tree, after: Tree, earlier: Iterable[Constraint] = ()) -> list[Constraint]:
    """Return the constraints that the correction of a tree stands for, after those of earlier corrections.

    Constituents that only the tree ``after`` the correction has are required, with the larger ones around them, and
    constituents that only the tree ``before`` has are forbidden. Words and constituents keep tags and functions that
    differ. The root is not compared, since a parser does not change it. Earlier constraints that the corrected tree
    does not satisfy are dropped.
    """
    old, new = _constituents(before), _constituents(after)
    made, removed = _only_in(new, old), _only_in(old, new)
    changed = {node.mask for node in (*made, *removed)}
    found = [constraint for constraint in earlier if satisfies(after, constraint)]
    for node in made:
        # A constituent that was relabelled or has got other words keeps its function, but nobody has checked it.
        is_kept = any(node.mask & other.mask and node.function == other.function for other in removed)
        function = None if is_kept or node.function == NONE else node.function
        found.append(IsConstituent(node.positions, node.label, function))
    for key, node in new.items():
        if key in old and node.function != old[key].function:
            found.append(IsConstituent(node.positions, node.label, node.function))
        elif key in old and any(node.mask & mask == mask != node.mask for mask in changed):
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
    mask = constraint.mask
    nodes = [node for node in tree.nodes() if node.mask == mask and constraint.label in (None, node.label)]
    if isinstance(constraint, NotConstituent):
        return not nodes
    return any(constraint.function in (None, node.function) for node in nodes)


def proposal(parsed: Tree, corrected: Tree, constraints: Sequence[Constraint]) -> Tree | None:
    """Return the tree to propose after a correction, given the tree that was parsed under its constraints.

    It has the constituents and functions of the ``parsed`` tree; everything else is as in the ``corrected`` one. Return
    None if nothing would change, or if a constraint is not satisfied.
    """
    words = zip(corrected.tokens, parsed.tokens, strict=True)
    token_parents, nodes = parsed.parents()
    tree = Tree.from_parents(
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
    is_allowed = all(satisfies(tree, constraint) for constraint in constraints)
    return tree if is_allowed and tree != corrected else None


def _secondary(corrected: Tree, parsed: Tree) -> list[SecondaryEdge]:
    """Return the secondary edges of the corrected tree whose ends the parsed tree has."""
    n = len(corrected.tokens)
    numbers = {(node.mask, node.label): n + k for k, node in enumerate(parsed.nodes())}
    ends: list[int | None] = [*range(n), *(numbers.get((node.mask, node.label)) for node in corrected.nodes())]
    ends[n] = n  # the root, whose label may differ
    edges = [(label, ends[child], ends[parent]) for label, child, parent in corrected.secondary]
    return [SecondaryEdge(label, a, b) for label, a, b in edges if a is not None and b is not None]


def _constituents(tree: Tree) -> dict[Key, Node]:
    return {(node.mask, node.label): node for node in tree.nodes() if node is not tree.root}


def _only_in(these: dict[Key, Node], those: dict[Key, Node]) -> list[Node]:
    return [node for key, node in these.items() if key not in those]
