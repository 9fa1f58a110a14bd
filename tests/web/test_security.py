"""Hosts, origins, headers and paths."""

import http.client
import json

import httpx
import pytest
from support.web import problem

from discotree.web.security import SECURITY_HEADERS, is_loopback


@pytest.mark.parametrize("path", ["/", "/page/main.js", "/health", "/docs", "/openapi.json", "/nothing", "/api/parse"])
def test_every_answer_has_the_security_headers(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert {name: response.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "default-src 'none'" in SECURITY_HEADERS["Content-Security-Policy"]
    assert "unsafe" not in SECURITY_HEADERS["Content-Security-Policy"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "LOCALHOST", "localhost:8000", "[::1]:8000"])
def test_own_names_are_answered(client: httpx.Client, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::2]"]
)
def test_foreign_names_are_refused(client: httpx.Client, small: httpx.Client, host: str) -> None:
    response = client.get("/health", headers={"Host": host})
    assert "the Host header must be" in problem(response, 403)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert small.get("/health", headers={"Host": host}).status_code == 200  # this server accepts every Host


def test_pages_from_elsewhere_are_refused(client: httpx.Client) -> None:
    own = str(client.base_url).rstrip("/")
    assert client.post("/api/parse", json={"text": "Ja", "model": "xx"}, headers={"Origin": own}).status_code == 200
    for origin in ("https://evil.example", "null", own + "0"):
        response = client.post("/api/parse", json={"text": "Ja"}, headers={"Origin": origin})
        assert "another origin are not allowed" in problem(response, 403)
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page//etc/passwd",
        "/page/",
        "/page",
        "/../../../../etc/passwd",
        "//etc/passwd",
        "/page/..\\app.py",
        "/page/main.js%00.html",
        "/etc/passwd",
        "/api/models/xx",
        "/api/models/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_path_leads_to_a_file(client: httpx.Client, path: str) -> None:
    connection = http.client.HTTPConnection(client.base_url.host, client.base_url.port or 0)
    connection.request("GET", path)  # unchanged: httpx would normalise it
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 404
    assert json.loads(body) == {"detail": "Not Found"}


def test_loopback_addresses_are_known() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.1", "example.org")] == [False] * 4
