"""Middleware for every request: hosts, origins and keys; the size and the pace of bodies; headers; internal errors."""

import asyncio
import hashlib
import hmac
import ipaddress
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discotree.integrations.web.budget import ByteBudget
from discotree.integrations.web.connections import spread
from discotree.integrations.web.endpoints import CLIENT
from discotree.integrations.web.limits import Limits

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
CLOSE = {"Connection": "close"}  # the rest of a refused body is not read
KEY_PATHS = ("/api/", "/metrics")  # need a key, if there are keys
PIECE_BYTES = 2**16  # pieces of a response; a client that does not read gets no more than one
MAX_DRAINED_BODIES = 8  # a refused body is read and discarded up to this multiple of the size limit

logger = logging.getLogger("discotree")


@dataclass(frozen=True)
class Access:
    """Who may use the server. ``hosts`` are the allowed names in the Host header, None allows all."""

    hosts: frozenset[str] | None = LOOPBACK_HOSTS
    origins: frozenset[str] = frozenset()  # pages of others that may call the API
    api_keys: tuple[str, ...] = ()
    root_path: str = ""


def is_loopback(host: str) -> bool:
    """Tell whether a server that listens on this host is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SecurityMiddleware:
    """ASGI middleware.

    A foreign page can reach this server in two ways. Through a name of its own that resolves to this machine (DNS
    rebinding), it sends that name as Host; with a direct request, it sends its Origin. Both are refused.
    """

    def __init__(self, app: ASGIApp, access: Access, limits: Limits) -> None:
        self.app = app
        self.access = access
        self.limits = limits
        # Apart, or requests that wait for their turn would keep finished ones from being answered
        self.requests = ByteBudget(limits.bodies_bytes, limits.client_bodies_bytes, limits.small_body_bytes)
        self.responses = ByteBudget(limits.responses_bytes, limits.client_responses_bytes, limits.small_body_bytes)
        self.key_hashes = [_hash(key) for key in access.api_keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self.access.root_path:
            scope["root_path"] = self.access.root_path
        headers = Headers(scope=scope)
        exchange = _Exchange(self.limits, receive, send)
        key = self._key(headers)
        scope[CLIENT] = client = f"key {key}" if key is not None else _network(scope)
        if refusal := self.refusal(scope, headers, key):
            await exchange.drain(MAX_DRAINED_BODIES * self.limits.body_bytes)
            await refusal(scope, receive, exchange.send)
            return
        size = int(headers.get("content-length", 0))
        if "transfer-encoding" in headers:  # announces no length
            size = self.limits.body_bytes
        async with self._reserved(client, size, exchange):
            try:
                if exchange.is_refused:
                    await exchange.drain(size)
                    await self._busy()(scope, receive, exchange.send)
                else:
                    await self.app(scope, exchange.receive, exchange.send)
            except (ClientDisconnect, _TooSlow):
                pass  # nobody is there to read an answer
            except Exception as error:  # an internal error must not end the server
                logger.error("request %s failed: %r", scope.get("discotree.id", ""), error, exc_info=error)
                if not exchange.response_started:
                    await _problem(500, "internal server error")(scope, receive, exchange.send)

    @asynccontextmanager
    async def _reserved(self, client: str, size: int, exchange: "_Exchange") -> AsyncIterator[None]:
        """Keep memory for the request, and then for its response as soon as the size is known."""
        exchange.is_refused = not self.requests.reserve(client, size)
        request_bytes, response_bytes = 0 if exchange.is_refused else size, 0

        def respond(size: int) -> bool:
            nonlocal request_bytes, response_bytes
            self.requests.release(client, request_bytes)  # the endpoint does not keep the body
            request_bytes = 0
            response_bytes = size if self.responses.reserve(client, size) else 0
            return response_bytes == size

        exchange.reserve = respond
        exchange.busy = self._busy()
        try:
            yield
        finally:
            self.requests.release(client, request_bytes)
            self.responses.release(client, response_bytes)

    def _busy(self) -> JSONResponse:
        headers = CLOSE | {"Retry-After": str(self.limits.retry_seconds)}
        return _problem(503, "the server is busy with large requests: try again later", headers)

    def _key(self, headers: Headers) -> int | None:
        """Return the index of the key in a request; all keys are compared, whichever matches."""
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        given = _hash(credentials.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", ""))
        matching = [index for index, key in enumerate(self.key_hashes) if hmac.compare_digest(key, given)]
        return matching[0] if matching else None

    def refusal(self, scope: Scope, headers: Headers, key: int | None) -> JSONResponse | None:
        """Return the response to a request that must not be served, None if it may be."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.access.hosts is not None and _without_port(host) not in self.access.hosts:
            return _problem(403, "this server only accepts its own name as Host")
        if origin is not None and origin.partition("://")[2] != host and not self._allows(origin):
            return _problem(403, "this server only accepts requests from its own pages")
        is_preflight = scope["method"] == "OPTIONS" and origin is not None
        path = scope["path"].removeprefix(self.access.root_path)
        if self.key_hashes and key is None and path.startswith(KEY_PATHS) and not is_preflight:
            return _problem(
                401, "this server needs a key: send it as Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"}
            )
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.limits.body_bytes:
            return _problem(413, _too_large(self.limits))
        return None

    def _allows(self, origin: str) -> bool:
        return ANY_ORIGIN in self.access.origins or origin in self.access.origins


class _TooSlow(Exception):
    """The client takes a response too slowly."""


class _Exchange:
    """A request and its response, each of limited size and minimal pace."""

    def __init__(self, limits: Limits, receive: Receive, send: Send) -> None:
        self.limits = limits
        self._receive = receive
        self._send = send
        self.received = 0
        self.has_more = True
        self.is_refused = False
        self.response_started = False
        self.is_replaced = False  # by a refusal: the response is not sent
        self.reserve: Callable[[int], bool] = _always
        self.busy = _problem(503, "")
        self.pace_seconds = spread(limits.pace_seconds)
        self.start = asyncio.get_running_loop().time()

    def _seconds_left(self, transferred: int) -> float:
        due = self.start + self.pace_seconds + transferred / self.limits.pace_bytes_per_second
        return due - asyncio.get_running_loop().time()

    async def receive(self) -> Message:
        """Receive a piece of the body; once it is complete, wait for the client to leave."""
        if not self.has_more:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), self._seconds_left(self.received))
        except asyncio.TimeoutError:
            raise HTTPException(408, "the body arrives too slowly", CLOSE) from None
        self.received += len(message.get("body", b""))
        self.has_more = message.get("more_body", False)
        if self.received > self.limits.body_bytes:
            await self.drain(MAX_DRAINED_BODIES * self.limits.body_bytes)
            raise HTTPException(413, _too_large(self.limits), CLOSE)
        return message

    async def drain(self, max_bytes: int) -> None:
        """Read and discard a refused body: most clients read no response before they have sent everything."""
        left = max_bytes
        while self.has_more and left > 0:
            try:
                message = await asyncio.wait_for(self._receive(), self._seconds_left(0))
            except asyncio.TimeoutError:
                return
            left -= len(message.get("body", b""))
            self.has_more = message.get("more_body", False)

    async def send(self, message: Message) -> None:
        """Send a response in pieces, with the security headers."""
        if self.is_replaced:
            return
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if not self.reserve(int(headers.get("content-length", 0))):
                self.reserve = _always
                await self.busy({"type": "http", "method": "GET"}, self._receive, self.send)
                self.is_replaced = True
                return
            self.response_started = True
            self.start = asyncio.get_running_loop().time()
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            if self.has_more and self.received:
                headers["Connection"] = "close"
            await self._send(message)
            return
        body = memoryview(message.get("body", b""))
        for begin in range(0, max(len(body), 1), PIECE_BYTES):
            piece = bytes(body[begin : begin + PIECE_BYTES])
            more = begin + PIECE_BYTES < len(body) or message.get("more_body", False)
            try:
                await asyncio.wait_for(
                    self._send({**message, "body": piece, "more_body": more}), self._seconds_left(begin)
                )
            except asyncio.TimeoutError:
                raise _TooSlow from None


def _always(_size: int) -> bool:
    return True


def _too_large(limits: Limits) -> str:
    return f"the request is too large: at most {limits.body_bytes:,} bytes"


def _hash(key: str) -> bytes:
    """Return a digest: comparing digests tells nothing about the length of a key."""
    return hashlib.sha256(key.encode(errors="surrogatepass")).digest()


def _network(scope: Scope) -> str:
    """Return the address of a client; for IPv6 its network, since one client has very many addresses."""
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


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": message}, status, headers)
