"""Bar charts as SVG: self-contained, readable in light and dark, without a plotting library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discotree.files.xml_text import escape

WIDTH, HEIGHT = 640, 280
LEFT, RIGHT, TOP, BOTTOM = 16, 16, 40, 56
CHARACTER_WIDTH = 7  # pixels, about
MIN_SLANTED_STEP = 24  # pixels between bars whose labels can be slanted
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:14px}"
    "rect{fill:#3b6ea5}line{stroke:#888}.page{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}rect{fill:#7fb0e0}.page{fill:#1b1b1b}}"
)


@dataclass(frozen=True)
class Chart:
    """Bars with their labels, and what the numbers mean."""

    title: str
    axis: str
    bars: Sequence[tuple[str, float]]
    logarithmic: bool = False
    digits: int = 0  # decimals of the numbers on the bars


def svg(charts: Sequence[Chart]) -> str:
    """Return the charts in one SVG, one below the other."""
    height = HEIGHT * len(charts)
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img"><title>{escape("; ".join(chart.title for chart in charts))}</title><style>{STYLE}</style>',
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
    ]
    for k, chart in enumerate(charts):
        pieces.append(f'<g transform="translate(0,{k * HEIGHT})">{"".join(_bars(chart))}</g>')
    return "\n".join(pieces) + "\n</svg>\n"


def _bars(chart: Chart) -> list[str]:
    base = HEIGHT - BOTTOM
    step = (WIDTH - LEFT - RIGHT) / max(len(chart.bars), 1)
    widest = max((len(label) for label, _ in chart.bars), default=0) * CHARACTER_WIDTH + 8
    slanted = widest > step >= MIN_SLANTED_STEP  # labels that would overlap are slanted, or some left out
    every = 1 if slanted else math.ceil(widest / step)
    largest = max((_scaled(value, chart) for _, value in chart.bars), default=0) or 1
    note = " (logarithmic)" if chart.logarithmic else ""
    pieces = [
        f'<text class="title" x="{LEFT}" y="22">{escape(chart.title)}{note}</text>',
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(chart.axis)}</text>',
    ]
    for k, (label, value) in enumerate(chart.bars):
        height = _scaled(value, chart) / largest * (base - TOP - 16)
        x = LEFT + k * step
        middle = x + step / 2
        pieces.append(
            f'<rect x="{x + step * 0.1:.1f}" y="{base - height:.1f}" width="{step * 0.8:.1f}" height="{height:.1f}">'
            f"<title>{escape(label)}: {value:,.{chart.digits}f}</title></rect>"
        )
        if k % every == 0:
            at = f'x="{middle:.1f}" y="{base + 16}"'
            turn = f' transform="rotate(-40 {middle:.1f} {base + 16})"' if slanted else ""
            pieces.append(f'<text {at} text-anchor="{"end" if slanted else "middle"}"{turn}>{escape(label)}</text>')
            if every == 1:
                top = base - height - 5
                pieces.append(
                    f'<text x="{middle:.1f}" y="{top:.1f}" text-anchor="middle">{value:,.{chart.digits}f}</text>'
                )
    return pieces


def _scaled(value: float, chart: Chart) -> float:
    return math.log10(1 + value) if chart.logarithmic else value
