"""What draw hides, collapses, glosses and highlights, tree by tree."""

from dataclasses import dataclass, field, replace
from os import path
from typing import cast, get_args

import typer

from discotree.cli.common import err
from discotree.drawing.glosses import GlossFile
from discotree.drawing.highlights import Highlight
from discotree.drawing.look import WHOLE, Look, TokenGloss
from discotree.errors import QueryError
from discotree.queries.query import Query
from discotree.trees.tree import Tree

QUERY_SIGNS = "[#"  # a query has one of them; anything else is a label


@dataclass(slots=True)
class NodeQuery:
    """Option that chooses nodes by a query or by a label, and whether it has found any."""

    option: str
    query: Query
    used: bool = field(default=False, init=False)
    found: bool = field(default=False, init=False)

    @classmethod
    def of(cls, option: str, text: str) -> "NodeQuery":
        if not any(sign in text for sign in QUERY_SIGNS):
            label = text.replace("\\", r"\\").replace('"', r"\"")
            text = f'[cat="{label}"]'
        try:
            return cls(option, Query(text))
        except QueryError as error:
            raise typer.BadParameter(f"{option}: {error}") from None

    def nodes(self, tree: Tree) -> dict[str, tuple[int, ...]]:
        """Return the addresses that each variable stands for."""
        nodes = self.query.nodes(tree)
        self.used = True
        self.found |= any(nodes.values())
        return nodes


@dataclass(frozen=True, slots=True)
class Looks:
    """How each tree is drawn: a look that all share, and what depends on the tree."""

    shared: Look = WHOLE
    triangles: tuple[NodeQuery, ...] = ()
    highlighted: NodeQuery | None = None
    plain: bool = False
    glosses: GlossFile | None = None

    @property
    def is_plain(self) -> bool:
        """Whether no option changes a tree's look."""
        return self == AS_IT_IS

    def of(self, tree: Tree) -> Look:
        """Return the look of a tree; ask once for each, in their order."""
        look = self.shared
        if self.triangles:
            look = replace(look, triangles={node for query in self.triangles for node in _first(query.nodes(tree))})
        if self.glosses is not None:
            glosses, translation = self.glosses.of(tree)
            look = replace(look, glosses=glosses, translation=translation)
        return look

    def highlight(self, tree: Tree) -> Highlight:
        return not self.plain if self.highlighted is None else self.highlighted.nodes(tree)

    def report(self) -> None:
        """Say which queries have found nothing in any tree."""
        for query in (*self.triangles, *[self.highlighted] * (self.highlighted is not None)):
            if query is not None and query.used and not query.found:
                err.print(f"discotree: {query.option} {query.query.text}: no match in these trees", style="yellow",
                          markup=False, soft_wrap=True)  # fmt: skip


AS_IT_IS = Looks()


def looks_for(shared: Look, triangles: list[str], highlighted: str | None, plain: bool, gloss: str | None) -> Looks:
    """Return the looks that the options of the command line ask for."""
    glosses = None
    if gloss in get_args(TokenGloss):
        shared = replace(shared, glosses=cast(TokenGloss, gloss))
    elif gloss is not None:
        if not path.isfile(gloss):
            raise typer.BadParameter(f"--gloss: {gloss} is neither {' nor '.join(get_args(TokenGloss))} nor a file")
        glosses = GlossFile.read(gloss)
    if plain and highlighted is not None:
        raise typer.BadParameter("--plain and --highlight do not go together")
    return Looks(
        shared,
        tuple([NodeQuery.of("--triangle", text) for text in triangles]),
        None if highlighted is None else NodeQuery.of("--highlight", highlighted),
        plain,
        glosses,
    )


def _first(nodes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    """Return what the first variable of a query stands for."""
    return next(iter(nodes.values()), ())
