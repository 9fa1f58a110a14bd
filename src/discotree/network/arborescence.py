"""The best tree of weighted arcs with exactly one word on the root: Chu-Liu and Edmonds, without recursion.

Heads are columns here: column 0 is the root, column j is word j - 1. The words, too, count from 1 inside, so
that a word's row and its column have one number.

That only one word may hang on the root is usually bought with a penalty on the root's arcs, which costs digits.
We need none. Let every node take its best arc from another word, and call *gain* what it would win by
hanging on the root instead. A tree with one root child cannot be better than all the best arcs together plus the
largest gain, so if these arcs form a tree, it is the best one. If not, they form cycles, which are contracted
into one node each, as Chu-Liu and Edmonds taught, and the same holds for what is left.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

IMPOSSIBLE = -1e9  # the weight of an arc to avoid at all costs: far below any sum of log-probabilities, yet finite


def arborescence(weights: Floats) -> Ints:
    """(n,) heads, columns 0..n, of the best tree over arcs of the given finite weights (n, n+1).

    A word's weight on itself is ignored. Every contraction takes O(n) per node of the cycle: O(n²) in all.
    """
    size = len(weights) + 1
    every = np.arange(size)
    table = np.empty((size, size))  # weights of the arcs between the nodes that are left, a row per dependent
    table[0] = 0.0  # the root has no head: nobody looks at this row
    table[1:] = weights
    table.ravel()[:: size + 1] = -np.inf
    arcs = np.arange(size * size).reshape(size, size)  # row * size + column of the words' arc behind each weight

    heads = table[:, 1:].argmax(1) + 1  # the best ones, the root aside
    best = table[every, heads]
    gain = table[:, 0] - best
    heads[0], gain[0] = 0, -np.inf

    node = list(range(size))  # what stands in each row: a word, or a contracted cycle with a number of its own
    parent = [0] * size  # of each node: the one that it was contracted into
    chosen = [0] * size  # of each node: the words' arc that it took
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
            row = cycle[0]  # here the contracted cycle will stand
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
    """The cycles of a function over 0..n; what leads to 0 ends there."""
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
    """The words' heads: where an arc enters a contracted cycle, the nodes that hold its word give up their own."""
    heads = np.zeros(size, np.int64)
    entered = [False] * len(parent)
    for node in range(len(parent) - 1, 0, -1):  # what was contracted last comes first
        if not entered[node]:
            word, heads[word] = divmod(chosen[node], size)
            while word != node:
                entered[word] = True
                word = parent[word]
    return heads[1:]
