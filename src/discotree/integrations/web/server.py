"""The server process: models by name, a listening socket, uvicorn."""

import logging
import re
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI

from discotree.errors import ConfigError, DiscotreeError, ModelError
from discotree.integrations.web.app import create_app
from discotree.integrations.web.connections import guarded
from discotree.integrations.web.limits import Limits
from discotree.integrations.web.security import ANY_ORIGIN, LOOPBACK_HOSTS, Access, is_loopback
from discotree.integrations.web.served_treebanks import ServedTreebank
from discotree.models import finding
from discotree.models.card import CARD, Card
from discotree.models.choice import Candidates
from discotree.models.published import install_hint
from discotree.parsing.load import load

if TYPE_CHECKING:
    from discotree.parsing.parser import Parser

BACKLOG = 2048  # connections that the system queues
SWITCH_SECONDS = 0.001  # a thread that parses lets the others run so often; answers come sooner than with 0.005
SEND_BUFFER_BYTES = 2**18  # memory of the system for a client that does not read
MIN_KEY_CHARACTERS = 16
ROOT_PATH = re.compile(r"(/[\w.~-]+)+/?", re.ASCII)
OTHER_FILES = 100  # open files that are no connections

notices = logging.getLogger("discotree")


def load_app(
    models: Sequence[str],
    device: str,
    engine: str,
    access: Access,
    batching: bool,
    limits: Limits,
    treebanks: Mapping[str, ServedTreebank] | None = None,
) -> FastAPI:
    """Load models and return the application that serves them; without names, all that need no permission."""
    installed = Candidates.installed() if not models else Candidates({})
    names = models or list(installed.languages)
    for name, card in installed.restricted.items():
        notices.warning("%s is for non-commercial use only (%s): offer it with --model %s", name, card.licence, name)
    if not names:
        raise ModelError(f"no model is installed: {install_hint()}, or give the folder of one with --model")
    parsers: dict[str, Parser] = {}
    cards: dict[str, Card] = {}
    for name in names:
        folder = finding.find(name)
        public_name = _public_name(name, folder)
        if public_name in parsers:
            raise ConfigError(f"two models are called {public_name!r}: rename the folder of one")
        parsers[public_name] = load(name, device, engine=engine)
        if (folder / CARD).exists():
            cards[public_name] = Card.read(folder / CARD)
    return create_app(parsers, limits=limits, batching=batching, access=access, cards=cards, treebanks=treebanks)


def _public_name(name: str, folder: Path) -> str:
    """Return the name of a model for clients, which need not know its path."""
    return folder.resolve().name if Path(name).is_dir() else name


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket; port 0 takes any free port."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.create_server(address[:2], family=family, backlog=BACKLOG)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES)  # connections inherit it, and this:
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else a body waits 40 ms for its headers' receipt
        return bound
    except OSError as error:
        raise DiscotreeError(f"cannot listen on {host}, port {port}: {error.strerror or error}") from None


def allowed_hosts(host: str, bound: socket.socket) -> frozenset[str] | None:
    """Return the names a server on the loopback interface answers to; None, for all names, on any other."""
    return LOOPBACK_HOSTS | {host.lower(), f"[{host.lower()}]"} if is_loopback(bound.getsockname()[0]) else None


def make_access(
    host: str, bound: socket.socket, origins: Sequence[str], api_keys: Sequence[str], root_path: str
) -> Access:
    """Check who may use a server. The host of an allowed origin is a name the server answers to, as behind a proxy."""
    for origin in origins:
        parts = urlsplit(origin)
        is_plain = parts.scheme in ("http", "https") and origin == f"{parts.scheme}://{parts.netloc}" and parts.netloc
        if origin != ANY_ORIGIN and not is_plain:
            raise ConfigError(f"--allow-origin {origin}: expected something like https://example.org, or *")
    for key in api_keys:
        if len(key) < MIN_KEY_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key:
            raise ConfigError(f"a key needs at least {MIN_KEY_CHARACTERS} printable ASCII characters and no space")
    if root_path and not ROOT_PATH.fullmatch(root_path):
        raise ConfigError(f"--root-path {root_path}: expected something like /discotree")
    hosts = allowed_hosts(host, bound)
    if hosts is not None:
        hosts |= {name for origin in origins if (name := urlsplit(origin).hostname)}
    return Access(hosts, frozenset(origins), tuple(dict.fromkeys(api_keys)), root_path.rstrip("/"))


def configuration(app: FastAPI, proxies: Sequence[str] = ()) -> uvicorn.Config:
    """Return uvicorn's settings. ``proxies`` are addresses whose X-Forwarded-For header is believed."""
    limits: Limits = app.state.endpoints.limits
    return uvicorn.Config(
        app,
        http=guarded(limits),
        ws="none",
        log_level=logging.ERROR,
        access_log=False,
        server_header=False,
        backlog=BACKLOG,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=int(limits.header_seconds) + 1,  # the connection's own deadline comes first
        timeout_graceful_shutdown=5,
    )


def run(
    app: FastAPI, bound: socket.socket, ready: Callable[[], None] = lambda: None, proxies: Sequence[str] = ()
) -> None:
    """Serve until a signal arrives. Texts are never logged, to keep what people parse private."""
    _allow_files(app.state.endpoints.limits.connections + OTHER_FILES)
    sys.setswitchinterval(SWITCH_SECONDS)
    ready()
    uvicorn.Server(configuration(app, proxies)).run([bound])


def _allow_files(count: int) -> None:
    """Raise the number of open files, which many systems set to about a thousand."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < count:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, hard) if hard > 0 else count, hard))
