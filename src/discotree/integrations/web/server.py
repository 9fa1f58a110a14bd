"""The server process: models by name, a listening socket, uvicorn."""

import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from discotree.errors import ConfigError, DiscotreeError, ModelError
from discotree.integrations.web.app import create_app
from discotree.integrations.web.limits import Limits
from discotree.integrations.web.security import LOOPBACK_HOSTS, is_loopback
from discotree.models import finding
from discotree.models.card import CARD, Card
from discotree.parsing.load import load

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

BACKLOG = 512  # connections that the system queues


def load_app(
    models: Sequence[str], device: str, hosts: frozenset[str] | None, batching: bool, limits: Limits
) -> FastAPI:
    """Load models and return the application that serves them; with no names given, load all installed models."""
    names = models or finding.names()
    if not names:
        raise ModelError("no models are installed: give the folder of one with --model")
    parsers: dict[str, Parser] = {}
    cards: dict[str, Card] = {}
    for name in names:
        folder = finding.find(name)
        public_name = _public_name(name, folder)
        if public_name in parsers:
            raise ConfigError(f"two models are called {public_name!r}: rename the folder of one")
        parsers[public_name] = load(name, device)
        if (folder / CARD).exists():
            cards[public_name] = Card.read(folder / CARD)
    return create_app(parsers, limits=limits, batching=batching, hosts=hosts, cards=cards)


def _public_name(name: str, folder: Path) -> str:
    """Return the name of a model for clients, which need not know its path."""
    return folder.resolve().name if Path(name).is_dir() else name


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket; port 0 takes any free port."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise DiscotreeError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def allowed_hosts(host: str, bound: socket.socket) -> frozenset[str] | None:
    """Return the names a server on the loopback interface answers to; None, for all names, on any other."""
    return LOOPBACK_HOSTS | {host.lower(), f"[{host.lower()}]"} if is_loopback(bound.getsockname()[0]) else None


def run(app: FastAPI, bound: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until a signal arrives. Requests are not logged, to keep what people parse private."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=app.state.endpoints.limits.clients,
        timeout_graceful_shutdown=5,
    )
    ready()
    uvicorn.Server(config).run([bound])
