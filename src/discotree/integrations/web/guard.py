"""What every request passes through: who may ask, how much may be sent, and what the browser is told to forbid."""

import ipaddress
import logging

from fastapi import HTTPException
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PATIENCE = 8  # times what a request may have is read from one that has too much, and forgotten

notices = logging.getLogger("discotree")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """ASGI middleware. ``hosts`` are the names that the server may be called by, None: all.

    A page from elsewhere whose name leads to this machine (DNS rebinding) calls it by that name; one that sends its
    requests here directly says where it comes from. Both are refused.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None, body: int) -> None:
        self.app = app
        self.hosts = hosts
        self.body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        begun = False

        async def answer(message: Message) -> None:
            nonlocal begun
            begun = True
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        if refusal := self.refusal(headers):
            await self.drain(receive)
            await refusal(scope, receive, answer)
            return
        try:
            await self.app(scope, self.metered(receive), answer)
        except Exception as error:  # ours: the client learns that, and the server lives on
            notices.error("a request failed: %r", error, exc_info=error)
            if not begun:
                await _said(500, "the server made a mistake")(scope, receive, answer)

    def refusal(self, headers: Headers) -> JSONResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if self.hosts is not None and _name(host) not in self.hosts:
            return _said(403, "this server answers only to its own name")
        if origin is not None and origin.partition("://")[2] != host:
            return _said(403, "this server answers only to its own pages")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.body:
            return _said(413, self.too_large)
        return None

    @property
    def too_large(self) -> str:
        return f"a request may have {self.body:,} bytes at most"

    def metered(self, receive: Receive) -> Receive:
        """Bodies may come in pieces without a length: count."""
        left = self.body

        async def count() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                if message.get("more_body", False):
                    await self.drain(receive)
                raise HTTPException(413, self.too_large)
            return message

        return count

    async def drain(self, receive: Receive) -> None:
        """Let a client finish what it sends, within reason: before that, most would not hear the answer."""
        left = PATIENCE * self.body
        more = True
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)


def _name(host: str) -> str:
    """A Host header without its port."""
    name, separator, port = host.lower().rpartition(":")
    return name if separator and port.isdecimal() else host.lower()


def _said(status: int, message: str) -> JSONResponse:
    return JSONResponse({"detail": message}, status)
