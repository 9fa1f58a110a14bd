"""The best tree of weighted arcs with exactly one word on the root: Chu-Liu and Edmonds, without recursion.

Heads are columns here: column 0 is the root, column j is word j - 1. The words, too, count from 1 inside, so
that a word's row and its column have one number.

The usual way to allow only one word on the root is a penalty on the root's arcs, which costs digits. There is none
here. Let every node take its best arc from another word, and let its *gain* be the difference to hanging on the root
instead. No tree with one root child is better than all the best arcs together plus the largest gain, so if these arcs
form a tree, it is the best one. If not, they form cycles; each is contracted into one node, and the same holds for what
is left.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

IMPOSSIBLE = -1e9  # the weight of an arc to avoid at all costs: far below any sum of log-probabilities, yet finite


def arborescence(weights: Floats) -> Ints:
    """Return the heads (n,), columns 0..n, of the best tree over arcs of the given finite weights (n, n+1).

    A word's weight on itself is ignored. Every contraction takes O(n) per node of the cycle: O(n²) in all.
    """
    size = len(weights) + 1
    every = np.arange(size)
    table = np.empty((size, size))  # weights of arcs between the nodes that are left, a row per dependent
    table[0] = 0.0  # the root has no head: the row is not used
    table[1:] = weights
    table.ravel()[:: size + 1] = -np.inf
    arcs = np.arange(size * size).reshape(size, size)  # row * size + column of the words' arc behind each weight

    heads = table[:, 1:].argmax(1) + 1  # the best heads other than the root
    best = table[every, heads]
    gain = table[:, 0] - best
    heads[0], gain[0] = 0, -np.inf

    node = list(range(size))  # in each row: a word, or a contracted cycle with a number of its own
    parent = [0] * size  # by node: the node that it was contracted into
    chosen = [0] * size  # by node: the arc between words that it took
    while True:
        pointers: list[int] = heads.tolist()
        pointers[int(gain.argmax())] = 0
        cycles = find_cycles(pointers)
        if not cycles:
            break
        for cycle in cycles:
            for row in cycle:
                chosen[node[row]] = int(arcs[row, pointers[row]])
                parent[node[row]] = len(parent)
            row = cycle[0]  # the contracted cycle takes this row
            node[row] = len(parent)
            parent.append(0)
            chosen.append(0)

            rows = np.array(cycle)
            into = table[rows] - best[rows, None]  # (cycle, size): entering here costs the arc that closed the cycle
            enter = into.argmax(0)
            table[row] = into[enter, every]
            arcs[row] = arcs[rows[enter], every]
            leave = rows[table[:, rows].argmax(1)]
            table[:, row] = table[every, leave]
            arcs[:, row] = arcs[every, leave]

            gone = rows[1:]
            table[row, row] = -np.inf
            table[:, gone] = -np.inf
            stands = every.copy()
            stands[rows] = row
            heads = stands[heads]
            heads[gone], gain[gone] = 0, -np.inf
            heads[row] = head = table[row, 1:].argmax() + 1
            best[row] = table[row, head]
            gain[row] = table[row, 0] - best[row]
    if len(parent) == size:
        return np.array(pointers[1:])
    for row in range(1, size):
        if not parent[node[row]]:
            chosen[node[row]] = int(arcs[row, pointers[row]])
    return expand(size, parent, chosen)


def find_cycles(pointers: list[int]) -> list[list[int]]:
    """Return the cycles of a function over 0..n; what leads to 0 ends there."""
    cycles = []
    seen = [0] * len(pointers)
    seen[0] = -1
    for start in range(1, len(pointers)):
        node = start
        while not seen[node]:
            seen[node] = start
            node = pointers[node]
        if seen[node] == start:
            cycle = [node]
            while pointers[cycle[-1]] != node:
                cycle.append(pointers[cycle[-1]])
            cycles.append(cycle)
    return cycles


def expand(size: int, parent: list[int], chosen: list[int]) -> Ints:
    """Return the heads of the words. An arc into a contracted cycle replaces those of the nodes around its word."""
    heads = np.zeros(size, np.int64)
    entered = [False] * len(parent)
    for node in range(len(parent) - 1, 0, -1):  # contracted last, expanded first
        if not entered[node]:
            word, heads[word] = divmod(chosen[node], size)
            while word != node:
                entered[word] = True
                word = parent[word]
    return heads[1:]
