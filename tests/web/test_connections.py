"""Connections that are held for nothing: idle ones, slow headers, slow bodies, clients that do not read."""

import contextlib
import json
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.networks import TREES
from support.servers import serving
from support.web import post, upload

import discotree as dt
from discotree.web import Limits, create_app, limits, security, server
from discotree.web.limits import ByteBudget

LIMITS = Limits(connections=20)
SOON = 15.0  # seconds; mostly half a second on a machine that is not busy
HEAD = "POST /api/parse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def impatient(parsers: dict[str, dt.Parser]) -> Iterator[httpx.Client]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "HEADER_SECONDS", 0.4)
        patch.setattr(security, "PACE_SECONDS", 0.4)
        patch.setattr(security, "PACE_BYTES_PER_SECOND", 100_000)
        with serving(create_app({"xx": parsers["xx"]}, limits=LIMITS)) as client:
            yield client


def connect(client: httpx.Client) -> socket.socket:
    return socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=2 * SOON)


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    content = b""
    with contextlib.suppress(ConnectionError):
        while piece := connection.recv(65536):
            content += piece
    return content


def drip(connection: socket.socket, seconds: float = 2 * SOON) -> float:
    """Send a byte at a time; return after how many seconds the server has had enough."""
    begin = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() - begin < seconds:
        try:
            connection.sendall(b" ")
            if connection.recv(65536) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begin


def test_an_idle_connection_is_closed(impatient: httpx.Client) -> None:
    with connect(impatient) as connection:
        begin = time.monotonic()
        assert read_all(connection) == b""
        assert 0.2 < time.monotonic() - begin < SOON


def test_slow_headers_are_cut_off_on_a_new_and_on_a_used_connection(impatient: httpx.Client) -> None:
    with connect(impatient) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nX:")
        assert drip(connection) < SOON
    with connect(impatient) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(b"GET /health HTTP/1.1\r\nX:")
        assert drip(connection) < SOON


@pytest.mark.parametrize("length", ["Content-Length: 50000", "Transfer-Encoding: chunked"])
def test_slow_bodies_are_cut_off(impatient: httpx.Client, length: str) -> None:
    with connect(impatient) as connection:
        connection.sendall(f"{HEAD}{length}\r\n\r\n".encode())
        begin = time.monotonic()
        answer = read_all(connection)
        assert time.monotonic() - begin < SOON
        assert b"408" in answer.partition(b"\r\n")[0]
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == {"detail": "the request body arrives too slowly"}


def test_slow_bodies_are_cut_off_where_nobody_reads_them(impatient: httpx.Client) -> None:
    with connect(impatient) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n")
        assert drip(connection) < SOON
    with connect(impatient) as connection:  # refused, and read for a while only
        connection.sendall(b"POST /api/parse HTTP/1.1\r\nHost: evil\r\nContent-Length: 50000\r\n\r\n")
        assert drip(connection) < SOON


def test_a_body_that_comes_steadily_may_take_longer(impatient: httpx.Client) -> None:
    body = b'{"text": "Ja."' + b" " * 120_000 + b"}"
    with connect(impatient) as connection:
        connection.sendall(f"{HEAD}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        for start in range(0, len(body), 10_000):
            connection.sendall(body[start : start + 10_000])
            time.sleep(0.05)
        assert b"200 OK" in read_all(connection)


@pytest.mark.slow
def test_a_client_that_does_not_read_is_cut_off(impatient: httpx.Client) -> None:
    tree = {
        "tokens": [{"form": "w"}] * 700,
        "constituents": [{"label": "S", "positions": list(range(k, 700))} for k in range(700)],
    }
    body = json.dumps({"tree": tree, "output": "text"}).encode()
    begin = time.monotonic()
    assert len(impatient.post("/api/draw", content=body, headers={"Content-Type": "application/json"}).content) > 10**6
    seconds = time.monotonic() - begin
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((impatient.base_url.host, impatient.base_url.port or 0))
        connection.sendall(f"{HEAD.replace('parse', 'draw')}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(3 + 3 * seconds)  # a busy machine takes longer to draw
        connection.settimeout(10)
        assert len(read_all(connection)) < 10**6


def test_many_idle_connections_lock_nobody_out(impatient: httpx.Client) -> None:
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(impatient)) for _ in range(3 * LIMITS.connections)]
        for _ in range(5):
            begin = time.monotonic()
            assert httpx.get(f"{impatient.base_url}/health").status_code == 200
            assert time.monotonic() - begin < SOON
        assert read_all(idle[0]) == b""


@pytest.mark.slow
def test_large_bodies_share_a_budget_and_small_ones_need_none(
    parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SMALL_BODY_BYTES", 1000)
    budgets = [ByteBudget(60_000, 40_000), ByteBudget(60_000, 15_000)]  # for requests, for responses
    monkeypatch.setattr(security, "ByteBudget", lambda *_: budgets.pop(0))
    app = create_app({"xx": parsers["xx"]}, limits=Limits(body_bytes=20_000))
    with serving(app) as client, connect(client) as holding, connect(client) as second:
        holding.sendall(f"{HEAD}Content-Length: 20000\r\n\r\n{{".encode())
        second.sendall(f"{HEAD}Content-Length: 19500\r\n\r\n{{".encode())
        time.sleep(0.2)
        padding = " " * 2000
        refused = client.post(
            "/api/parse", content='{"text": "Ja."}' + padding, headers={"Content-Type": "application/json"}
        )
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        assert "large requests" in refused.json()["detail"]
        assert post(client, "parse", text="Ja.").status_code == 200
        # Responses have a budget of their own
        assert post(client, "draw", tree=TREES[0].to_dict(), output="svg").status_code == 200
        wide = "(S " + " ".join(f"(A {k}=a)" for k in range(60)) + ")"
        assert post(client, "draw", tree={"content": wide}, output="svg").status_code == 503
        holding.close()
        time.sleep(0.2)
        for _ in range(3):
            response = client.post(
                "/api/parse", content='{"text": "Ja."}' + padding, headers={"Content-Type": "application/json"}
            )
            assert response.status_code == 200


@pytest.mark.slow
def test_eight_large_uploads_at_once_are_answered_or_told_when_to_try_again(
    parsers: dict[str, dt.Parser], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = upload(TREES, "discbracket")
    monkeypatch.setattr(limits, "SMALL_BODY_BYTES", 1000)
    size = len(json.dumps(file))

    def send(_: int) -> httpx.Response:
        return httpx.post(f"{client.base_url}/api/treebank", json=file, timeout=30)

    app = create_app({"xx": parsers["xx"]}, limits=Limits(body_bytes=size))  # memory for two of one client at a time
    with serving(app) as client, ThreadPoolExecutor(8) as clients:
        answers = list(clients.map(send, range(8)))
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses[200] >= 2
        assert statuses[200] + statuses[503] == 8
        assert all(answer.headers["retry-after"] == "2" for answer in answers if answer.status_code == 503)
        assert send(0).json()["trees"] == len(TREES)
