"""Keys, other people's pages, proxies."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.servers import serving
from support.web import problem

import discotree as dt
from discotree.web import create_app
from discotree.web.security import Access, _network
from discotree.web.server import listen, make_access

KEYS = ("correct-horse-battery", "another-key-of-length")
FRIEND = "https://friend.example"


@pytest.fixture(scope="module")
def locked(parsers: dict[str, dt.Parser]) -> Iterator[httpx.Client]:
    access = Access(origins=frozenset({FRIEND}), api_keys=KEYS, root_path="/disco")
    with serving(create_app({"xx": parsers["xx"]}, access=access)) as client:
        yield client


@pytest.mark.parametrize("path", ["/api/models", "/api/parse", "/metrics", "/disco/api/models", "/api/nothing"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {KEYS[0]}"},
        {"Authorization": "Bearer"},
        {"X-API-Key": KEYS[0][:-1]},
        {"X-API-Key": ""},
    ],
)
def test_without_a_key_the_api_is_closed(locked: httpx.Client, path: str, headers: dict[str, str]) -> None:
    response = locked.get(path, headers=headers)
    assert "API key missing or wrong" in problem(response, 401)
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("headers", [{"Authorization": f"Bearer {KEYS[0]}"}, {"X-API-Key": KEYS[1]}])
def test_a_key_opens_it(locked: httpx.Client, headers: dict[str, str]) -> None:
    assert locked.get("/api/models", headers=headers).status_code == 200
    assert locked.post("/api/parse", json={"text": "Ja."}, headers=headers).status_code == 200
    assert locked.get("/metrics", headers=headers).status_code == 200


def test_the_page_and_the_health_need_no_key(locked: httpx.Client) -> None:
    for path in ("/", "/docs", "/page/main.js", "/health", "/openapi.json"):
        assert locked.get(path).status_code == 200


def test_allowed_pages_may_ask_and_others_may_not(locked: httpx.Client) -> None:
    asked = {"Origin": FRIEND, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
    preflight = locked.options("/api/parse", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == FRIEND
    headers = {"Origin": FRIEND, "X-API-Key": KEYS[0]}
    response = locked.post("/api/parse", json={"text": "Ja."}, headers=headers)
    assert response.headers["access-control-allow-origin"] == FRIEND
    assert "X-Request-ID" in response.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in response.headers
    assert locked.post("/api/parse", json={"text": "Ja."}, headers={"Origin": FRIEND}).status_code == 401
    for origin in ("https://evil.example", "http://friend.example", f"{FRIEND}.evil.example", "null"):
        refused = locked.options("/api/parse", headers=asked | {"Origin": origin})
        assert "another origin" in problem(refused, 403)


def test_a_star_allows_all_pages(parsers: dict[str, dt.Parser]) -> None:
    with serving(create_app({"xx": parsers["xx"]}, access=Access(origins=frozenset({"*"})))) as client:
        response = client.post("/api/parse", json={"text": "Ja."}, headers={"Origin": "https://anyone.example"})
        assert response.headers["access-control-allow-origin"] == "*"


def test_the_server_lives_under_a_path_with_and_without_a_proxy_that_strips_it(locked: httpx.Client) -> None:
    for prefix in ("", "/disco"):
        page = locked.get(f"{prefix}/")
        assert 'src="page/main.js"' in page.text
        assert locked.get(f"{prefix}/page/main.js").status_code == 200
        assert locked.get(f"{prefix}/health").status_code == 200
    assert locked.get("/openapi.json").json()["servers"] == [{"url": "/disco"}]


@pytest.mark.parametrize("root_path", ["/a", "/ap", "/api", "/m", "/metrics"])
def test_no_root_path_opens_the_api_or_hides_it(parsers: dict[str, dt.Parser], root_path: str) -> None:
    access = Access(api_keys=KEYS, root_path=root_path)
    with serving(create_app({"xx": parsers["xx"]}, access=access)) as client:
        for prefix in ("", root_path):
            for path in ("/api/models", "/metrics"):
                assert client.get(prefix + path).status_code == 401
                assert client.get(prefix + path, headers={"X-API-Key": KEYS[0]}).status_code == 200
            assert client.get(f"{prefix}/health").status_code == 200


@pytest.mark.parametrize(
    ("origins", "keys", "root_path", "message"),
    [
        (["example.org"], [], "", "--allow-origin example.org"),
        (["https://example.org/"], [], "", "--allow-origin"),
        ([], ["short"], "", "at least 16"),
        ([], ["with a space in the key"], "", "no space"),
        ([], [], "disco", "--root-path disco"),
        ([], [], "/a//b", "--root-path"),
    ],
)
def test_wrong_settings_are_refused(origins: list[str], keys: list[str], root_path: str, message: str) -> None:
    with listen("127.0.0.1", 0) as bound, pytest.raises(dt.ConfigError, match=message):
        make_access("127.0.0.1", bound, origins, keys, root_path)


def test_the_host_of_an_allowed_origin_is_a_name_of_the_server() -> None:
    with listen("127.0.0.1", 0) as bound:
        access = make_access("127.0.0.1", bound, ["https://trees.example:8443", "*"], [], "/a/")
    assert access.hosts is not None
    assert {"trees.example", "localhost"} <= access.hosts
    assert access.root_path == "/a"


@pytest.mark.slow
def test_the_options_of_the_command(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISCOTREE_API_KEY", " ".join(KEYS))
    log = tmp_path / "log"
    options = [
        "--allow-origin",
        FRIEND,
        "--root-path",
        "/disco",
        "--access-log",
        str(log),
        "--trust-proxy",
        "127.0.0.1",
    ]
    command = [sys.executable, "-m", "discotree", "serve", "--model", str(folder / "xx"), "--port", "0", *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert httpx.get(f"{url}/api/models").status_code == 401
        headers = {"X-API-Key": KEYS[1], "Host": "friend.example", "Origin": FRIEND, "X-Forwarded-For": "203.0.113.7"}
        assert httpx.get(f"{url}/disco/api/models", headers=headers).status_code == 200
        assert httpx.get(f"{url}/disco/health", headers={"X-Forwarded-For": "203.0.113.7"}).status_code == 200
    finally:
        server.terminate()
        server.communicate(timeout=20)
    lines = log.read_text().splitlines()
    assert len(lines) == 3
    assert '"client": "key 1"' in lines[1]
    assert '"client": "203.0.113.7"' in lines[2]


def test_clients_of_one_ipv6_network_are_one_client() -> None:
    names = {_network({"client": (host, 1)}) for host in ("2001:db8::1", "2001:db8::2:3", "2001:db8:0:1::1")}
    assert names == {"2001:db8::/64", "2001:db8:0:1::/64"}
    assert _network({"client": ("192.0.2.1", 1)}) == "192.0.2.1"
    assert _network({}) == ""
