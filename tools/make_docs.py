"""Make what is made, not written, in docs/: the pictures, the reference of the command line and that of the settings.

    python tools/make_docs.py

A test makes all of it again and compares, so whoever changes a command, a setting or a drawing runs this, too.
"""

import dataclasses
import inspect
import typing
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import typer

import discotree as dt
from discotree import Tree, config
from discotree.cli import app
from discotree.drawing import draw_arcs, draw_comparison, draw_svg
from discotree.drawing.markup import SIZES, Picture, box_around, text_at
from discotree.network.batch import Corpus
from discotree.validation import DESCRIPTION

DOCS = Path(__file__).parent.parent / "docs"
ICON = DOCS.parent / "src" / "discotree" / "integrations" / "web" / "page" / "icon.svg"
CELL, ROW = 54, 28  # of a table in a picture
MADE = "<!-- Made by tools/make_docs.py: change the source that it is made of, and run that again. -->"

TABLE = "| setting | description |\n|---|---|"

SHORT = "Wie komt er ?"
LOOP = ("Lacht", "zij", "weer")
LOOP_SCORES = [[0.45, 0, 0.50, 0.05], [0.05, 0.92, 0, 0.03], [0.03, 0.95, 0.02, 0]]
LOOP_BEST, LOOP_EXACT = (2, 1, 1), (0, 1, 1)  # columns: every word's best head, and the best tree
ODD = "(ROOT (S (PPER 0=Es) (VVFIN 1=kam) (NP (PIS 2=nichts) (NN 3=Interessantes))) ($. 4=.))"


def made() -> Iterator[tuple[str, str]]:
    """Paths below docs/ and what belongs there."""
    for name, picture in pictures().items():
        yield f"pictures/{name}.svg", picture
    yield "pictures/icon.svg", ICON.read_text("utf-8")
    yield "reference/cli.md", "\n".join(command_line())
    yield "reference/settings.md", "\n".join(settings())


def pictures() -> dict[str, str]:
    figure1 = next(dt.read(DOCS / "figure1.export"))
    gold = next(dt.read(DOCS / "how" / "zeggen.export"))
    dependencies = gold.dependencies("alpino")
    heads = list(dependencies.heads)
    heads[2] = 5  # the object of the other verb
    other = dt.to_tree(dataclasses.replace(dependencies, heads=tuple(heads)))
    return {
        "figure1": draw_svg(figure1),
        "figure1-arcs": draw_arcs(figure1.dependencies("negra")),
        "figure1-comparison": draw_comparison(figure1, Tree.parse(ODD)),
        "tree": draw_svg(gold),
        "arcs": draw_arcs(dependencies),
        "comparison": draw_comparison(gold, other),
        **_numbers(gold),
        "loop": matrix("Best heads and best tree", LOOP, LOOP_SCORES, LOOP_BEST, LOOP_EXACT),
    }


def _numbers(tree: dt.Tree) -> dict[str, str]:
    """What the network gets and gives: two sentences as numbers, and the scores of one."""
    parser = dt.load("nl", "cpu")
    tokens = [list(tree.tokens), parser.tokens(SHORT.split())]
    (both,) = parser.scores(Corpus(tokens, parser.forms()))
    batch = Corpus(tokens, parser.forms()).batch(both[0])
    rows = [
        [(token.form, str(number)) for token, number in zip(tokens[sentence], row, strict=False)]
        for sentence, row in zip(both[0].tolist(), batch.words.tolist(), strict=True)
    ]
    ((_, scores),) = parser.scores(Corpus(tokens[:1], parser.forms()))
    arcs = scores.arcs[0].exp().tolist()
    best = [max(range(len(row)), key=row.__getitem__) for row in arcs]
    return {"batch": grid(rows), "scores": matrix("Probabilities of heads", tree.words, arcs, best)}


def matrix(
    title: str,
    words: Sequence[str],
    probabilities: Sequence[Sequence[float]],
    boxed: Sequence[int],
    chosen: Sequence[int] = (),
) -> str:
    """A row for every word, a column for every head; the darker, the more probable."""
    left, top = SIZES.margin + 2 * CELL, SIZES.margin + ROW
    elements = []
    for column, word in enumerate(["(root)", *words]):
        elements.append(text_at("tag", left + CELL * column, SIZES.margin + ROW / 2, SIZES.tag, word))
    for row, word in enumerate(words):
        y = top + ROW * row + ROW / 2
        elements.append(text_at("form", SIZES.margin + CELL / 2, y, SIZES.form, word))
        for column, value in enumerate(probabilities[row]):
            x, percent = left + CELL * column, round(100 * value)
            elements.append(f'<g opacity="{percent}%">{box_around(x, y, CELL - 4, ROW - 4, "tip")}</g>')
            if percent:
                lit = ' style="fill:var(--dt-page)"' if percent > 50 else ""
                elements.append(text_at("tag", x, y, SIZES.tag, f"{percent}").replace(" x=", f"{lit} x=", 1))
        for columns, mark in ((boxed, "hue0"), (chosen, "hue1")):
            if columns:
                shrunk = 6 if mark == "hue1" else 0
                box = box_around(left + CELL * columns[row], y, CELL - 2 - shrunk, ROW - 2 - shrunk)
                elements.append(f'<g class="{mark}">{box}</g>')
    width = left + CELL * len(words) + CELL // 2 + SIZES.margin
    return Picture(title, "In percent", width, top + ROW * len(words) + SIZES.margin, elements).svg("auto")


def grid(rows: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Sentences of words with their numbers, one below the other; what is missing at the end is padding."""
    width, height = 72, 54
    longest = max(len(row) for row in rows)
    elements = []
    for y, row in enumerate(rows):
        middle = SIZES.margin + height * y + height / 2
        for x in range(longest):
            at = SIZES.margin + width * x + width / 2
            box = box_around(at, middle, width - 4, height - 6)
            if x >= len(row):
                elements.append(f'<g opacity="35%" stroke-dasharray="2 4">{box}</g>')
                continue
            form, number = row[x]
            below = text_at("tag", at, middle + 11, SIZES.tag, number)
            elements.append(box + text_at("form", at, middle - 9, SIZES.form, form) + below)
    title = "Two sentences as numbers, padded on the right"
    size = (2 * SIZES.margin + width * longest, 2 * SIZES.margin + height * len(rows))
    return Picture(title, " / ".join(" ".join(form for form, _ in row) for row in rows), *size, elements).svg("auto")


def command_line() -> Iterator[str]:
    """The reference of the command line: what ``--help`` says, command by command."""
    group: Any = typer.main.get_command(app)
    yield MADE
    yield f"\n# The command line\n\n{group.help}\n"
    yield "`discotree COMMAND --help` says the same. Exit codes: 0 done, 1 something is wrong with the data,"
    yield "2 something is wrong with the command, 130 interrupted.\n"
    top = group.make_context("discotree", [], resilient_parsing=True)
    for name, command in group.commands.items():
        context = command.make_context(name, [], parent=top, resilient_parsing=True)
        yield f"## {name}\n"
        yield f"`{context.get_usage().removeprefix('Usage: ')}`\n"
        yield f"{inspect.cleandoc(command.help)}\n"
        examples = [paragraph for paragraph in command.epilog.split("\n\n") if "discotree " in paragraph]
        yield "<!-- not run: examples with files of your own -->\n```sh"
        yield from examples
        yield "```\n"
        yield "| | |\n|---|---|"
        for parameter in command.get_params(context):
            if "--help" not in parameter.opts:
                names, said = parameter.get_help_record(context)
                names = names.replace(" <str>", "").replace(" <list[str]>", "")
                yield f"| {code(names)} | {escape(said, quote=False).replace('|', '&#124;')} |"
        yield ""


def code(text: str) -> str:
    """Code in a table, whose columns a bar would end."""
    return f"<code>{escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def settings() -> Iterator[str]:
    """The reference of the settings: every field of the configuration, its values in the presets, its description."""
    yield MADE
    yield "\n# Settings\n\nEvery setting of a recipe and of `--set SECTION.NAME=VALUE` on the command line,"
    yield "with its value in each of the [presets](../training.md#presets-and-scenarios).\n"
    yield f"## Top level\n\n{TABLE}"
    for name, description in descriptions(config.Config).items():
        yield f"| `{name}` | {description} |"
    yield "| `preset` | The preset that the recipe starts from. |"
    yield "| `base` | The recipe that this one is a variant of: a name or a file. |\n"
    names = "".join(f" `{name}` |" for name in config.PRESETS)
    for section in sections():
        kind = type(getattr(config.Config(), section))
        yield f"## {section}\n\n{inspect.getdoc(kind)}\n"
        yield f"| setting |{names} description |\n|---|{'---|' * (len(config.PRESETS) + 1)}"
        for name, description in descriptions(kind).items():
            values = [shown(getattr(getattr(preset, section), name)) for preset in config.PRESETS.values()]
            yield f"| `{section}.{name}` | {' | '.join(values)} | {description} |"
        yield ""
    yield f"## Sources\n\n{inspect.getdoc(config.DataSource)}\n\n{TABLE}"
    for name, description in descriptions(config.DataSource).items():
        yield f"| `{name}` | {description} |"
    yield ""


def sections() -> list[str]:
    """The names of the sections of a recipe."""
    sections = [entry.name for entry in dataclasses.fields(config.Config)]
    return [name for name in sections if dataclasses.is_dataclass(getattr(config.Config(), name))]


def shown(value: object) -> str:
    if value in ("", ()):
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def descriptions(kind: type) -> dict[str, str]:
    """The fields of a dataclass with their choices and descriptions; sections have a table of their own."""
    found = {}
    for entry in dataclasses.fields(kind):
        hint = typing.get_type_hints(kind)[entry.name]
        if not dataclasses.is_dataclass(hint):
            choices = typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()
            listed = ", ".join(f"`{choice}`" for choice in choices if choice)
            description = entry.metadata[DESCRIPTION]
            found[entry.name] = f"{listed}. {description}" if listed else description
    return found


if __name__ == "__main__":
    for path, text in made():
        (DOCS / path).write_text(text, "utf-8")
        print(path)
