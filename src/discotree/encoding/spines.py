"""What heads and labels say about spines: the steps that every decoder of dependencies shares."""

from collections import Counter
from collections.abc import Sequence

DUMMY_ROOT = -1

Level = tuple[tuple[str, ...], int]
"""The chain of labels and the level on the head's spine that an arc's label names; see ``split_level``."""


def heads_first(heads: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the dependents of every word, and the words in an order that puts heads before their dependents.

    The last list of dependents, [-1], is that of the dummy root. Words on a cycle, and below one, are not in the order.
    """
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for position, head in enumerate(heads):
        dependents[head].append(position)
    order = list(dependents[DUMMY_ROOT])
    for position in order:  # grows while we walk it
        if dependents[position]:
            order += dependents[position]
    return dependents, order


def spine_phrases(dependents: list[int], levels: Sequence[Level]) -> list[tuple[tuple[str, ...], list[int]]]:
    """Return the phrases of one spine, lowest first: their chain of labels and the dependents that join there.

    ``levels`` has the level of every word's arc. Of two chains at one level the most frequent wins, then the
    leftmost dependent's.
    """
    if not dependents:
        return []
    first = levels[dependents[0]]
    if len(dependents) == 1:
        return [(first[0], dependents)]
    for dependent in dependents:
        if levels[dependent] is not first:
            break
    else:
        return [(first[0], dependents)]
    groups: dict[int, list[int]] = {}
    for dependent in dependents:
        groups.setdefault(levels[dependent][1], []).append(dependent)
    phrases = []
    for level in sorted(groups):
        group = groups[level]
        chain = levels[group[0]][0]
        if any(levels[dependent][0] != chain for dependent in group):
            chain = Counter([levels[dependent][0] for dependent in group]).most_common(1)[0][0]
        phrases.append((chain, group))
    return phrases
