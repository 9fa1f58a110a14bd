"""The relations of queries: when they hold, and which nodes may stand on the other side.

>  >LABEL  >2,4  >*   dominance: the right node is a child of the left one, 2 to 4 steps below it, anywhere below it.
                      A label is that of the edge above the right node.
>@l  >@r              the right node is the left-most, right-most terminal of a non-terminal
.  .2,4  .*           precedence of the left-most terminals: the right one is 1 word later, 2 to 4 words, any number
$  $.*                two children of one node; the left-most terminal of the left one comes first
>~  >~LABEL           a secondary edge leads from the left node, the parent, to the right one
"""

from collections.abc import Callable, Iterable

from discotree.queries.language import Relation
from discotree.queries.tree_view import TreeView

LabelTest = Callable[[str], bool]


def related(view: TreeView, left: int, relation: Relation, right: int, label: LabelTest | None) -> bool:
    """Tell whether a relation holds between two nodes; ``label`` is its test of the edge's label."""
    name = relation.name
    if name == ">":
        if label and not ((edge := view.edges[right]) is not None and label(edge)):
            return False
        above, steps = right, 0
        while above >= 0 and (relation.farthest is None or steps < relation.farthest):
            above, steps = view.parents[above], steps + 1
            if above == left:
                return steps >= relation.nearest  # a node is above another one only once
        return False
    if name == ".":
        distance = view.first[right] - view.first[left]
        return distance >= relation.nearest and (relation.farthest is None or distance <= relation.farthest)
    if name in ("$", "$.*"):
        parent = view.parents[left]
        if parent < 0 or parent != view.parents[right] or left == right:
            return False
        return name == "$" or view.first[left] < view.first[right]
    if name == ">~":
        return any(
            edge.parent == left and edge.child == right and (label is None or label(edge.label))
            for edge in view.secondary_edges
        )
    if left < view.terminals:
        return False
    return right == (view.first[left] if name == ">@l" else view.last(left))


def partners(view: TreeView, relation: Relation, known: int, known_is_left: bool) -> Iterable[int] | None:
    """Return nodes among which are all that a relation allows on the other side; None if that is hardly any fewer."""
    name = relation.name
    if name == ">":
        if known_is_left:
            return view.below(known) if relation.farthest == 1 else view.descendants(known)
        return view.ancestors(known)[: relation.farthest]
    if name in ("$", "$.*"):
        return view.siblings(known)
    if name == ">~":
        return view.secondary(known)
    if name == ".":
        if relation.farthest is None:
            return None
        steps = range(relation.nearest, min(relation.farthest, view.terminals) + 1)
        sign = 1 if known_is_left else -1
        return [node for step in steps for node in view.beginning(view.first[known] + sign * step)]
    if known_is_left:
        return (view.first[known] if name == ">@l" else view.last(known),)
    return view.ancestors(known)
