"""Request ids, metrics, the access log."""

import json
import logging
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.web import post

from discotree.web.metrics import access_logger, log_access


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "access.log"
    log_access(str(file))
    yield file
    for handler in list(access_logger.handlers):
        access_logger.removeHandler(handler)
        handler.close()
    access_logger.setLevel(logging.NOTSET)


def test_every_answer_has_a_request_id(client: httpx.Client) -> None:
    first, second = (client.get("/health").headers["x-request-id"] for _ in range(2))
    assert first != second
    assert re.fullmatch("[0-9a-f]{32}", first)
    for path in ("/health", "/nothing", "/api/parse"):
        assert client.get(path, headers={"X-Request-ID": "proxy-1.2_x"}).headers["x-request-id"] == "proxy-1.2_x"
    for bad in ("a" * 65, "a b", "a\tb"):
        assert client.get("/health", headers={"X-Request-ID": bad}).headers["x-request-id"] != bad
    assert client.get("/health", headers={"Host": "evil.example"}).headers["x-request-id"]


def test_metrics_count_requests_and_words(client: httpx.Client) -> None:
    def value(line: str) -> float:
        found = re.search(rf"^{re.escape(line)} (\S+)$", client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    parsed = 'discotree_requests_total{method="POST",path="/api/parse",status="200"}'
    unknown = 'discotree_requests_total{method="GET",path="other",status="404"}'
    before = [value(line) for line in (parsed, unknown)]
    assert post(client, "parse", text="Ja.", model="xx").status_code == 200
    for path in ("/a", "/b"):
        assert client.get(path).status_code == 404
    assert [value(line) for line in (parsed, unknown)] == [before[0] + 1, before[1] + 2]
    text = client.get("/metrics").text
    assert 'discotree_queued_words{model="xx"} 0.0' in text
    assert 'discotree_request_seconds_bucket{le="1.0",path="/api/parse"}' in text
    assert "process_resident_memory_bytes" in text
    assert "/a" not in re.findall('path="([^"]*)"', text)


def test_the_access_log_has_a_line_per_request_and_no_texts(client: httpx.Client, log: Path) -> None:
    post(client, "parse", text="Geheim.", model="xx")
    client.get("/x%1b[31m?query=secret", headers={"X-Request-ID": "abc"})
    deadline = time.monotonic() + 60
    entries: list[dict[str, Any]] = []
    while len(entries) < 2 and time.monotonic() < deadline:  # a line follows its answer
        time.sleep(0.01)
        entries = [json.loads(line) for line in log.read_text().splitlines()]
        entries = [entry for entry in entries if entry["path"] != "/metrics"]  # of the test before, perhaps
    first, second = entries
    assert (first["method"], first["path"], first["status"], first["client"]) == (
        *("POST", "/api/parse", 200, "127.0.0.1"),
    )
    assert first["bytes"] > 100
    assert 0 < first["seconds"] < 60
    assert (second["id"], second["path"], second["status"]) == ("abc", "/x\x1b[31m", 404)
    raw = log.read_text()
    assert "\x1b" not in raw
    assert "secret" not in raw
    assert "Geheim" not in raw
