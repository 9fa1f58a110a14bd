"""Run the cells of a notebook and store their outputs in it: python tools/run_notebook.py docs/notebook.ipynb

It needs no Jupyter. The text of an output is its repr; pictures and tables are stored beside it.
"""

import ast
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

RICH = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_"}


def run(notebook: dict[str, Any]) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Run the cells in order; yield every cell of code with its outputs."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate([cell for cell in notebook["cells"] if cell["cell_type"] == "code"], 1):
        module = ast.parse("".join(cell["source"]))
        last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(module, f"cell {number}", "exec"), namespace)
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace) if last else None
        outputs: list[dict[str, Any]] = []
        if printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
        if value is not None:
            data = {"text/plain": lines(repr(value))}
            data |= {kind: lines(getattr(value, name)()) for kind, name in RICH.items() if hasattr(value, name)}
            outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        yield cell, outputs


def lines(text: str) -> list[str]:
    """Return a text as notebooks store it."""
    return text.splitlines(keepends=True)


def main() -> None:
    for path in map(Path.resolve, map(Path, sys.argv[1:])):
        notebook = json.loads(path.read_text("utf-8"))
        with TemporaryDirectory() as folder:
            os.chdir(folder)
            for number, (cell, outputs) in enumerate(run(notebook), 1):
                cell |= {"execution_count": number, "outputs": outputs}
            os.chdir(path.parent)
        path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
