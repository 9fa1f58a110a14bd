"""The files of the web page."""

import json
from importlib import resources

from discotree.drawing.measure import WIDTHS
from discotree.drawing.svg import DARK, LIGHT, RULES, SIZES, stylesheet
from discotree.trees.labels import label_names


def page_files() -> dict[str, bytes]:
    """Return the files of the page by name, including those that are made from tables in Python."""
    files = {file.name: file.read_bytes() for file in (resources.files(__package__) / "page").iterdir()}
    return files | {"tree.css": _tree_style().encode(), "tables.js": _tables().encode()}


def _tree_style() -> str:
    """Return the style sheet of trees: the theme of the system, unless the page sets ``data-theme``."""
    overrides = [
        f':root[data-theme="{name}"] .discotree{{{";".join(f"--dt-{key}:{value}" for key, value in colors.items())}}}\n'
        for name, colors in (("light", LIGHT._asdict()), ("dark", DARK._asdict()))
    ]
    return stylesheet() + "".join(overrides)


def _tables() -> str:
    """Return the module with the constants that drawing in Python and in JavaScript share."""
    tables = {
        "SIZES": SIZES._asdict(),
        "WIDTHS": WIDTHS,
        "RULES": RULES,
        "COLORS": {"light": LIGHT._asdict(), "dark": DARK._asdict()},
        "LABEL_NAMES": label_names(),
    }
    lines = [f"export const {name} = {json.dumps(table, ensure_ascii=False)};\n" for name, table in tables.items()]
    return "".join(lines)
