"""The server process: loading models, the listening socket, and uvicorn with timeouts for connections.

uvicorn limits neither the time until the headers of a request are complete nor the time a client takes to read a
response, and with too many idle connections it refuses new ones. ``GuardedProtocol`` adds these limits; the middleware
(``security``) limits the time that a body may take.
"""

import asyncio
import logging
import re
import socket
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from discotree.errors import ConfigError, DiscotreeError, ModelError
from discotree.log import logger
from discotree.models import finding
from discotree.models.card import CARD, Card
from discotree.models.finding import Candidates, install_hint
from discotree.parsing.parser import load
from discotree.web import security
from discotree.web.app import create_app
from discotree.web.limits import Limits, spread
from discotree.web.security import ANY_ORIGIN, LOOPBACK_HOSTS, Access, is_loopback
from discotree.web.served_treebanks import ServedTreebank

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

HEADER_SECONDS = 10.0  # until the headers of the next request are complete
BACKLOG = 2048  # connections that the system queues
SWITCH_SECONDS = 0.001  # how often a parsing thread yields to others; responses are faster than with 0.005
SEND_BUFFER_BYTES = 2**18  # system memory for a client that does not read
MIN_KEY_CHARACTERS = 16
ROOT_PATH = re.compile(r"(/[\w.~-]+)+/?", re.ASCII)
OTHER_FILES = 100  # open files that are not connections


class GuardedProtocol(H11Protocol):
    """A connection with timeouts. ``guarded_protocol`` returns the subclass for one server."""

    max_connections: int
    idle: "OrderedDict[GuardedProtocol, None]"  # connections without a request, the longest idle one first
    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            victim = next(iter(self.idle), self)  # if none is idle, the new connection is closed
            victim.transport.abort()
            self.idle.pop(victim, None)
        self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._check_request()

    def on_response_complete(self) -> None:
        self._wait_for_request()
        super().on_response_complete()  # may start the next request if it has already arrived
        self._check_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self not in self.idle:
            self._abort_after(security.PACE_SECONDS)

    def resume_writing(self) -> None:
        if self not in self.idle:
            self._stop_waiting()
        super().resume_writing()

    def _check_request(self) -> None:
        """Stop the timer if the headers of a request are complete."""
        if self.cycle is not None and not self.cycle.response_complete and self in self.idle:
            self._stop_waiting()

    def _wait_for_request(self) -> None:
        self._abort_after(spread(HEADER_SECONDS))
        self.idle[self] = None

    def _abort_after(self, seconds: float) -> None:
        self._stop_waiting()
        self.deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        self.idle.pop(self, None)
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def guarded_protocol(max_connections: int) -> type[GuardedProtocol]:
    """Return the protocol class of one server."""
    return type("GuardedProtocol", (GuardedProtocol,), {"max_connections": max_connections, "idle": OrderedDict()})


def load_app(
    models: Sequence[str],
    device: str,
    engine: str,
    access: Access,
    limits: Limits,
    treebanks: Mapping[str, ServedTreebank] | None = None,
) -> FastAPI:
    """Load models and return the application that serves them; by default all that allow commercial use."""
    installed = Candidates.installed() if not models else Candidates({})
    names = models or list(installed.languages)
    for name, card in installed.restricted.items():
        logger.warning(
            "%s is not served because it is for non-commercial use only (%s); to serve it, pass --model %s",
            name,
            card.licence,
            name,
        )
    if not names:
        raise ModelError(f"no model is installed: {install_hint()}, or pass the folder of one with --model")
    parsers: dict[str, Parser] = {}
    cards: dict[str, Card] = {}
    for name in names:
        folder = finding.find(name)
        public_name = folder.resolve().name if Path(name).is_dir() else name  # clients do not see paths
        if public_name in parsers:
            raise ConfigError(f"two models have the name {public_name!r}; rename the folder of one of them")
        parsers[public_name] = load(name, device or None, engine=engine or None)
        if (folder / CARD).exists():
            cards[public_name] = Card.read(folder / CARD)
    return create_app(parsers, limits=limits, access=access, cards=cards, treebanks=treebanks)


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket; port 0 takes any free port."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        # Connections inherit both options. Without TCP_NODELAY, a body is sent 40 ms after its headers.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return bound
    except OSError as error:
        raise DiscotreeError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def allowed_hosts(host: str, bound: socket.socket) -> frozenset[str] | None:
    """Return the host names that a server accepts: those of the loopback interface, or None for all names."""
    return LOOPBACK_HOSTS | {host.lower(), f"[{host.lower()}]"} if is_loopback(bound.getsockname()[0]) else None


def make_access(
    host: str, bound: socket.socket, origins: Sequence[str], api_keys: Sequence[str], root_path: str
) -> Access:
    """Validate the access options. The server also accepts the hosts of allowed origins, for use behind a proxy."""
    for origin in origins:
        parts = urlsplit(origin)
        is_plain = parts.scheme in ("http", "https") and origin == f"{parts.scheme}://{parts.netloc}" and parts.netloc
        if origin != ANY_ORIGIN and not is_plain:
            raise ConfigError(f"--allow-origin {origin}: expected an origin such as https://example.org, or *")
    for key in api_keys:
        if len(key) < MIN_KEY_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key:
            message = f"an API key must have at least {MIN_KEY_CHARACTERS} printable ASCII characters and no space"
            raise ConfigError(message)
    if root_path and not ROOT_PATH.fullmatch(root_path):
        raise ConfigError(f"--root-path {root_path}: expected a path such as /discotree")
    hosts = allowed_hosts(host, bound)
    if hosts is not None:
        hosts |= {name for origin in origins if (name := urlsplit(origin).hostname)}
    return Access(hosts, frozenset(origins), tuple(dict.fromkeys(api_keys)), root_path.rstrip("/"))


def uvicorn_config(app: FastAPI, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Return uvicorn's settings. ``proxies`` are addresses whose X-Forwarded-For header is trusted."""
    return uvicorn.Config(
        app,
        http=guarded_protocol(app.state.endpoints.limits.connections),
        ws="none",
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=int(HEADER_SECONDS) + 1,  # GuardedProtocol closes idle connections earlier
        timeout_graceful_shutdown=5,
    )


def run(app: FastAPI, bound: socket.socket, proxies: Sequence[str] = ()) -> None:
    """Serve until a signal arrives. Texts are never logged, to keep them private."""
    _raise_file_limit(app.state.endpoints.limits.connections + OTHER_FILES)
    sys.setswitchinterval(SWITCH_SECONDS)
    with suppress(KeyboardInterrupt):  # Ctrl-C is how a server is stopped
        uvicorn.Server(uvicorn_config(app, proxies)).run([bound])


def _raise_file_limit(count: int) -> None:
    """Allow this many open files; many systems set the limit to about a thousand."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard) if hard > 0 else count, hard))
