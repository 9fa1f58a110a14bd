"""Curves of secondary edges: they leave a child upwards and reach the other parent from the side."""

from collections.abc import Sequence

Point = tuple[int, int]
Curve = tuple[Point, Point, Point, Point]  # a cubic Bézier curve
Rectangle = tuple[int, int, int, int]  # left, top, right, bottom
LABEL_PARAMETERS = (0.75, 0.65, 0.85, 0.55, 0.45, 0.35, 0.25)  # candidates for a label, best first


def secondary_curve(child: Point, parent: Point, beside: int) -> Curve:
    """Return a curve from the child to a point ``beside`` its parent's middle; y grows downwards."""
    (x, y), (to, level) = child, parent
    towards = 1 if to > x else -1
    x += towards * 6
    to -= towards * beside
    up, across = max(16, abs(y - level) // 2), max(24, abs(to - x) // 2)
    return (x, y), (x, y - up if y > level else y + up), (to - towards * across, level), (to, level)


def point_at(curve: Curve, t: float) -> Point:
    """Return the point of a curve at ``t``, from 0 to 1."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (round(sum(weight * at[axis] for weight, at in zip(weights, curve, strict=True))) for axis in (0, 1))
    return x, y


def label_parameter(curve: Curve, width: int, height: int, obstacles: Sequence[Rectangle]) -> float:
    """Return the ``t`` at which a label of this size covers the fewest obstacles."""

    def hits(t: float) -> int:
        x, y = point_at(curve, t)
        left, top, right, bottom = x - width // 2, y - height // 2, x + width // 2, y + height // 2
        return sum([box[0] <= right and left <= box[2] and box[1] <= bottom and top <= box[3] for box in obstacles])

    return min(LABEL_PARAMETERS, key=hits)
