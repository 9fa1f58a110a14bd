"""Requests to the web server, and their responses."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import httpx
from support.helpers import written

import discotree as dt
from discotree.trees.tree import Tree
from discotree.web import Limits

TEXT = "Es kam nichts Interessantes. Den Hund hat er gesehen."
LIMITS = Limits()


def post(client: httpx.Client, call: str, **body: Any) -> httpx.Response:
    return client.post(f"/api/{call}", json=body)


def answer(client: httpx.Client, call: str, **body: Any) -> Any:
    response = post(client, call, **body)
    assert response.status_code == 200, response.text
    return response.json()


def problem(response: httpx.Response, status: int = 422) -> str:
    assert response.status_code == status, response.text
    (detail,) = response.json().values()
    return str(detail)


def upload(trees: Sequence[Tree], format: str = "export") -> dict[str, str]:
    return {"content": written(trees, format), "format": format}


def changed(trees: Sequence[Tree]) -> list[Tree]:
    """Return the trees, every third one flat."""
    return [
        tree if k % 3 else dataclasses.replace(tree, root=dt.Node("ROOT", range(len(tree))))
        for k, tree in enumerate(trees)
    ]
