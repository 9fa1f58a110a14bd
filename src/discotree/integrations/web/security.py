"""Middleware for every request: allowed hosts and origins, body size, security headers, internal errors."""

import ipaddress
import logging

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})
SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
MAX_DRAINED_BODIES = 8  # a refused body is read and discarded up to this multiple of the size limit

logger = logging.getLogger("discotree")


def is_loopback(host: str) -> bool:
    """Tell whether a server that listens on this host is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class SecurityMiddleware:
    """ASGI middleware. ``hosts`` are the allowed names in the Host header, None allows all.

    A foreign page can reach this server in two ways. Through a name of its own that resolves to this machine (DNS
    rebinding), it sends that name as Host; with a direct request, it sends its Origin. Both are refused.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None, max_body_bytes: int) -> None:
        self.app = app
        self.hosts = hosts
        self.max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        response_started = False

        async def send_secured(message: Message) -> None:
            nonlocal response_started
            response_started = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
            await send(message)

        if refusal := self.refusal(Headers(scope=scope)):
            await self.drain(receive)
            await refusal(scope, receive, send_secured)
            return
        try:
            await self.app(scope, self.metered(receive), send_secured)
        except Exception as error:  # an internal error must not end the server
            logger.error("a request failed: %r", error, exc_info=error)
            if not response_started:
                await _problem(500, "internal server error")(scope, receive, send_secured)

    def refusal(self, headers: Headers) -> JSONResponse | None:
        """Return the response to a request that must not be served, None if it may be."""
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts is not None and _without_port(host) not in self.hosts:
            return _problem(403, "this server only accepts its own name as Host")
        if origin is not None and origin.partition("://")[2] != host:
            return _problem(403, "this server only accepts requests from its own pages")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.max_body_bytes:
            return _problem(413, self.too_large)
        return None

    @property
    def too_large(self) -> str:
        return f"the request is too large: at most {self.max_body_bytes:,} bytes"

    def metered(self, receive: Receive) -> Receive:
        """Count the bytes of a body as they arrive: one in chunks announces no length."""
        left = self.max_body_bytes

        async def receive_counted() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                if message.get("more_body", False):
                    await self.drain(receive)
                raise HTTPException(413, self.too_large)
            return message

        return receive_counted

    async def drain(self, receive: Receive) -> None:
        """Read and discard a refused body: most clients read no response before they have sent everything."""
        left = MAX_DRAINED_BODIES * self.max_body_bytes
        more = True
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)


def _without_port(host: str) -> str:
    """Return the name in a Host header."""
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isdecimal() else host.lower()


def _problem(status: int, message: str) -> JSONResponse:
    return JSONResponse({"detail": message}, status)
