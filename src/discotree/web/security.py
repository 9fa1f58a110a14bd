"""Middleware that checks hosts, origins and keys, and limits the size and the duration of transfers."""

import asyncio
import hashlib
import hmac
import ipaddress
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discotree.log import logger
from discotree.web.endpoints import ANNOTATOR, CLIENT, RETRY_HEADERS, problem
from discotree.web.limits import ByteBudget, Limits, spread

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
ANY_ORIGIN = "*"
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
CLOSE = {"Connection": "close"}  # the remainder of a refused body is not read
KEY_PATHS = ("/api/", "/metrics")  # these paths need a key if keys are set
CHUNK_BYTES = 2**16  # a client that does not read its response receives at most one chunk
MAX_DRAINED_BODIES = 8  # a refused body is read and discarded up to this multiple of the size limit
PACE_SECONDS = 10.0  # for a body or a response, plus one second per PACE_BYTES_PER_SECOND
PACE_BYTES_PER_SECOND = 32 * 1024


@dataclass(frozen=True)
class Access:
    """Who may use the server.

    ``hosts`` are the accepted names in the Host header (None accepts all), ``origins`` those of other sites whose pages
    may call the API. If there are ``api_keys``, every API call must send one. ``invited`` returns the hashes of the
    tokens of annotators by name, which are also keys, or None if nobody was invited.
    """

    hosts: frozenset[str] | None = LOOPBACK_HOSTS
    origins: frozenset[str] = frozenset()
    api_keys: tuple[str, ...] = ()
    root_path: str = ""
    invited: Callable[[], Mapping[str, bytes] | None] = lambda: None


def is_loopback(host: str) -> bool:
    """Return whether a server that listens on this host is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SecurityMiddleware:
    """ASGI middleware.

    A page from another site can reach this server in two ways. With a host name of its own that resolves to this
    machine (DNS rebinding), it sends that name as Host; with a direct request, it sends its Origin. Both are refused.
    """

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        # Two budgets: with a common one, requests that wait for their turn would block the responses to others.
        self.request_budget = ByteBudget(3 * limits.body_bytes, 2 * limits.body_bytes)
        self.response_budget = ByteBudget(3 * limits.response_bytes // 2, limits.response_bytes)
        self.key_hashes = [hash_key(key) for key in access.api_keys]
        self.routes: set[str | None] = set()  # the paths of the app, known when it is complete

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self._locate(scope)
        headers = Headers(scope=scope)
        invited = self.access.invited()
        key = self._key(headers, invited or {})
        scope[CLIENT] = client = f"key {key}" if key is not None else _network(scope)
        scope[ANNOTATOR] = key if isinstance(key, str) else ""
        exchange = _Exchange(self, client, receive, send)
        has_access = key is not None or (not self.key_hashes and invited is None)
        refusal = self.refusal(scope, headers, has_access)
        # A chunked body has no Content-Length, so it may have the maximum.
        size = self.limits.body_bytes if "transfer-encoding" in headers else int(headers.get("content-length") or 0)
        if refusal is None and not exchange.reserve_request(size):
            refusal = _busy()
        try:
            if refusal is not None:
                await exchange.drain()
                await refusal(scope, receive, exchange.send)
            else:
                await self.app(scope, exchange.receive, exchange.send)
        except (ClientDisconnect, _TooSlow):
            pass  # the client does not read the response
        except Exception as error:  # an internal error must not end the server
            logger.error("request %s failed: %r", scope.get("discotree.id", ""), error, exc_info=error)
            if not exchange.response_started:
                await problem(500, "internal server error")(scope, receive, exchange.send)
        finally:
            exchange.release()

    def _locate(self, scope: Scope) -> None:
        """Let the path begin with the root path, whether or not a proxy has removed it, for the routes and the keys."""
        root_path, path = self.access.root_path, scope["path"]
        self.routes = self.routes or {getattr(route, "path", None) for route in scope["app"].routes}
        if path.removeprefix(root_path) not in self.routes or path in self.routes:
            path = root_path + path
        scope["root_path"], scope["path"] = root_path, path

    def _key(self, headers: Headers, invited: Mapping[str, bytes]) -> int | str | None:
        """Return the index of the API key in a request, or the name of the annotator whose token it is.

        All keys are compared, so the time does not depend on the match.
        """
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        sent = hash_key(credentials.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", ""))
        hashes: list[tuple[int | str, bytes]] = [*enumerate(self.key_hashes), *invited.items()]
        matching = [name for name, key in hashes if hmac.compare_digest(key, sent)]
        return matching[0] if matching else None

    def refusal(self, scope: Scope, headers: Headers, has_access: bool) -> JSONResponse | None:
        """Return the response to a request that must not be served, or None."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.access.hosts is not None and _without_port(host) not in self.access.hosts:
            return problem(403, "the Host header must be the name of this server")
        is_foreign = origin is not None and origin.partition("://")[2] != host
        if is_foreign and self.access.origins.isdisjoint({origin, ANY_ORIGIN}):
            return problem(403, "requests from pages of another origin are not allowed")
        is_preflight = scope["method"] == "OPTIONS" and origin is not None
        path = scope["path"].removeprefix(scope["root_path"])
        if not has_access and path.startswith(KEY_PATHS) and not is_preflight:
            message = "API key missing or wrong; send the header Authorization: Bearer KEY"
            return problem(401, message, headers={"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.limits.body_bytes:
            return problem(413, _too_large(self.limits))
        return None


class _TooSlow(Exception):
    """The client reads its response too slowly."""


class _Exchange:
    """A request and its response, with limits on their size, their memory and the time that a transfer may take."""

    def __init__(self, server: SecurityMiddleware, client: str, receive: Receive, send: Send) -> None:
        self.server = server
        self.client = client
        self._receive = receive
        self._send = send
        self.request_bytes = self.response_bytes = 0  # reserved
        self.received = 0
        self.has_more = True
        self.response_started = False
        self.is_replaced = False  # the response is dropped in favour of a 503
        self.pace_seconds = spread(PACE_SECONDS)
        self.start = asyncio.get_running_loop().time()

    def reserve_request(self, size: int) -> bool:
        self.request_bytes = size if self.server.request_budget.reserve(self.client, size) else 0
        return self.request_bytes == size

    def _reserve_response(self, size: int) -> bool:
        """Exchange the memory of the request, whose body is no longer needed, for that of the response."""
        self.release()
        self.response_bytes = size if self.server.response_budget.reserve(self.client, size) else 0
        return self.response_bytes == size

    def release(self) -> None:
        self.server.request_budget.release(self.client, self.request_bytes)
        self.server.response_budget.release(self.client, self.response_bytes)
        self.request_bytes = self.response_bytes = 0

    async def _receive_part(self) -> Message:
        """Receive a part of the body, or raise a TimeoutError."""
        seconds = self.pace_seconds + min(self.received, self.server.limits.body_bytes) / PACE_BYTES_PER_SECOND
        message = await asyncio.wait_for(self._receive(), self.start + seconds - asyncio.get_running_loop().time())
        self.received += len(message.get("body", b""))
        self.has_more = message.get("more_body", False)
        return message

    async def receive(self) -> Message:
        """Receive a part of the body; after the last part, wait for the client to disconnect."""
        if not self.has_more:
            return await self._receive()
        try:
            message = await self._receive_part()
        except asyncio.TimeoutError:
            raise HTTPException(408, "the request body arrives too slowly", CLOSE) from None
        if self.received > self.server.limits.body_bytes:
            await self.drain()
            raise HTTPException(413, _too_large(self.server.limits), CLOSE)
        return message

    async def drain(self) -> None:
        """Read and discard a refused body: most clients send the whole body before they read the response."""
        with suppress(asyncio.TimeoutError):
            while self.has_more and self.received <= MAX_DRAINED_BODIES * self.server.limits.body_bytes:
                await self._receive_part()

    async def send(self, message: Message) -> None:
        """Send a response in chunks, with the security headers."""
        if self.is_replaced:
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if not self._reserve_response(int(headers.get("content-length", 0))):
                await _busy()({"type": "http", "method": "GET"}, self._receive, self.send)
                self.is_replaced = True
                return
            self.response_started = True
            headers.update(SECURITY_HEADERS)
            if self.has_more and self.received:
                headers["Connection"] = "close"
        if message["type"] == "http.response.start" or len(message.get("body", b"")) <= CHUNK_BYTES:
            await self._send(message)  # GuardedProtocol limits the time of a single chunk
            return
        seconds = self.pace_seconds + len(message.get("body", b"")) / PACE_BYTES_PER_SECOND
        try:
            await asyncio.wait_for(self._send_chunks(message), seconds)
        except asyncio.TimeoutError:
            raise _TooSlow from None

    async def _send_chunks(self, message: Message) -> None:
        body = memoryview(message.get("body", b""))
        for begin in range(0, max(len(body), 1), CHUNK_BYTES):
            chunk = bytes(body[begin : begin + CHUNK_BYTES])
            has_more = begin + CHUNK_BYTES < len(body) or message.get("more_body", False)
            await self._send({**message, "body": chunk, "more_body": has_more})


def _busy() -> JSONResponse:
    return problem(503, "the server is busy with large requests; try again later", headers=CLOSE | RETRY_HEADERS)


def _too_large(limits: Limits) -> str:
    return f"the request body is too large; at most {limits.body_bytes:,} bytes are allowed"


def hash_key(key: str) -> bytes:
    """Return a hash of a key: comparing hashes does not reveal the length of the key."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()


def _network(scope: Scope) -> str:
    """Return the address of a client; for IPv6 its /64 network, since one client has very many addresses."""
    host = scope["client"][0] if scope.get("client") else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False)) if address.version == 6 else host


def _without_port(host: str) -> str:
    """Return the name in a Host header."""
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isdecimal() else host.lower()
