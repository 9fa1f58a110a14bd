"""A server process: models by name, a socket, and uvicorn."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from discotree.errors import DiscotreeError, ModelError
from discotree.integrations.web.app import create_app
from discotree.integrations.web.guard import LOOPBACK, is_loopback
from discotree.integrations.web.limits import Limits
from discotree.models import finding as bundled
from discotree.models.finding import CARD, Card

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

BACKLOG = 512


def application(
    models: Sequence[str], device: str, hosts: frozenset[str] | None, batching: bool, limits: Limits
) -> FastAPI:
    """The application for some models; without a name, all that come with discotree."""
    names = models or bundled.names()
    if not names:
        raise ModelError("no models come with this discotree: name a folder with --model")
    parsers: dict[str, Parser] = {}
    cards: dict[str, Card] = {}
    for name in names:
        folder = bundled.find(name)
        short = _short(name, folder)
        if short in parsers:
            raise ModelError(f"there are two models {short!r}")
        parsers[short] = bundled.load(name, device)
        if (folder / CARD).exists():
            cards[short] = Card.read(folder / CARD)
    return create_app(parsers, limits=limits, batching=batching, hosts=hosts, cards=cards)


def _short(name: str, folder: Path) -> str:
    """What clients call a model: nobody needs to know where it lies."""
    return folder.resolve().name if Path(name).is_dir() else name


def listen(host: str, port: int) -> socket.socket:
    """A socket that is bound; port 0 is any that is free."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise DiscotreeError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def names_of(host: str, bound: socket.socket) -> frozenset[str] | None:
    """What a server that only this machine can reach may be called; None for one that others can reach."""
    return LOOPBACK | {host.lower(), f"[{host.lower()}]"} if is_loopback(bound.getsockname()[0]) else None


def run(app: FastAPI, bound: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal comes. Requests are not logged: what people parse is their own business."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=app.state.service.limits.clients,
        timeout_graceful_shutdown=5,
    )
    ready()
    uvicorn.Server(config).run([bound])
