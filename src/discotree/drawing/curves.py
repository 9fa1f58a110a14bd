"""Curves for edges beside the tree: they leave a child upwards and come to the other parent from the side."""

from collections.abc import Sequence

Point = tuple[int, int]
Curve = tuple[Point, Point, Point, Point]  # a cubic Bézier curve
Rectangle = tuple[int, int, int, int]  # left, top, right, bottom
STATIONS = (0.75, 0.65, 0.85, 0.55, 0.45, 0.35, 0.25)  # where on a curve its label may stand, best first


def swung(child: Point, parent: Point, beside: int) -> Curve:
    """From the child to its parent, where it ends ``beside`` the middle. Larger numbers are further down."""
    (x, y), (to, level) = child, parent
    towards = 1 if to > x else -1
    x += towards * 6
    to -= towards * beside
    up, across = max(16, abs(y - level) // 2), max(24, abs(to - x) // 2)
    return (x, y), (x, y - up if y > level else y + up), (to - towards * across, level), (to, level)


def on_curve(curve: Curve, t: float) -> Point:
    """The point of a curve at ``t``, from 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (round(sum(weight * at[axis] for weight, at in zip(weights, curve, strict=True))) for axis in (0, 1))
    return x, y


def station(curve: Curve, width: int, height: int, obstacles: Sequence[Rectangle]) -> float:
    """Where on the curve a label of this size stands in the way of the fewest things."""

    def hits(t: float) -> int:
        x, y = on_curve(curve, t)
        left, top, right, bottom = x - width // 2, y - height // 2, x + width // 2, y + height // 2
        return sum([box[0] <= right and left <= box[2] and box[1] <= bottom and top <= box[3] for box in obstacles])

    return min(STATIONS, key=hits)
