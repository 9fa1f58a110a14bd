"""A static host: it serves the files of a folder below a path, as GitHub Pages does, and notes every request."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit


@dataclass
class StaticHost:
    """The address of the page, and the paths and sizes of the responses so far."""

    folder: Path
    path: str
    url: str = ""
    responses: list[tuple[str, int]] = field(default_factory=list)
    missing: tuple[str, ...] = ()  # paths that begin like this are not found

    @property
    def bytes(self) -> int:
        return sum(size for _, size in self.responses)


class _Handler(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, host: StaticHost, *arguments: Any) -> None:
        self.host = host
        super().__init__(*arguments, directory=str(host.folder))

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        inner = path.removeprefix(self.host.path)
        if inner == path or inner.startswith(self.host.missing or ("\0",)):
            self.host.responses.append((path, 0))
            self.send_error(404)
            return
        self.path = f"/{inner}"
        super().do_GET()

    def send_header(self, keyword: str, value: str) -> None:
        if keyword == "Content-Length":
            self.host.responses.append((self.path, int(value)))
        super().send_header(keyword, value)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def hosting(folder: Path, path: str = "/some/path/") -> Iterator[StaticHost]:
    """Serve a folder below a path."""
    host = StaticHost(folder, path)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, host)) as server:
        host.url = f"http://127.0.0.1:{server.server_port}{path}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()
