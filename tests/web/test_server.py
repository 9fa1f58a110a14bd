"""The server process and the command discotree serve."""

import re
import shutil
import signal
import socket
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import httpx
import pytest
from support.models import CARD, with_card
from support.packages import model_package, use_models_of
from support.web import LIMITS

import discotree as dt
from discotree.cli import main
from discotree.web import create_app
from discotree.web.security import Access
from discotree.web.server import allowed_hosts, listen, load_app


def test_models_are_called_by_short_names_and_only_once(folder: Path) -> None:
    with pytest.raises(dt.ConfigError, match="two models have the name 'xx'"):
        load_app([str(folder / "xx"), f"{folder}/./xx"], "cpu", "", Access(), LIMITS)
    with pytest.raises(dt.ModelError, match="there is no model"):
        load_app(["nowhere"], "cpu", "", Access(), LIMITS)
    with pytest.raises(dt.ConfigError, match="needs at least one model"):
        create_app({})


def test_a_response_does_not_wait_for_the_receipt_of_its_headers() -> None:
    """Without this option, every request on a used connection takes 40 ms longer."""
    with listen("127.0.0.1", 0) as bound, socket.create_connection(bound.getsockname()), bound.accept()[0] as accepted:
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_without_a_name_all_installed_models_but_the_non_commercial_are_served(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shelf = tmp_path / "shelf"
    for name, terms in (("mute", {}), ("tags", {"commercial": True}), ("xx", {"commercial": True})):
        with_card(Path(shutil.copytree(folder / name, model_package(shelf, name))), CARD | {"name": name} | terms)
    use_models_of(shelf, monkeypatch)
    service = load_app([], "cpu", "", Access(), LIMITS).state.endpoints
    assert list(service.parsers) == ["tags", "xx"]
    assert "mute is not served because it is for non-commercial use only (CC BY-NC 4.0)" in caplog.text
    service.close()
    use_models_of(tmp_path / "nothing", monkeypatch)
    with pytest.raises(dt.ModelError, match=r"no model is installed: pip install discotree-NAME \(nl, "):
        load_app([], "cpu", "", Access(), LIMITS)


@pytest.mark.slow
def test_the_command_serves_until_it_is_stopped(folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "discotree", "serve", "--model", str(folder / "xx"), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+", url)
        assert httpx.get(f"{url}/health").json()["models"] == ["xx"]
        text = httpx.post(f"{url}/api/parse", json={"text": "Es kam.", "output": "discbracket"}).text
        assert text.startswith("(ROOT ")
        server.send_signal(signal.SIGINT)
        _, printed = server.communicate(timeout=20)
        assert printed == (
            "discotree: the model xx is for non-commercial use only (CC BY-NC 4.0)\npress Ctrl-C to stop the server\n"
        )
        assert server.returncode in (0, 130, -signal.SIGINT)
    finally:
        server.kill()
        server.communicate()


def test_a_port_in_use_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with listen("127.0.0.1", 0) as bound:
        port = str(bound.getsockname()[1])
        monkeypatch.setattr(sys, "argv", ["discotree", "serve", "--model", str(folder / "xx"), "--port", port])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in capsys.readouterr().err


def test_a_missing_package_is_reported_with_its_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "discotree.web.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.setattr(sys, "argv", ["discotree", "serve", "--model", str(folder / "xx")])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert "pip install 'discotree[web]'" in capsys.readouterr().err


def test_importing_the_application_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "discotree.web.app")
    monkeypatch.setitem(sys.modules, "fastapi", None)
    with pytest.raises(dt.MissingExtraError, match=r"^fastapi is missing: pip install 'discotree\[web\]'$"):
        getattr(import_module("discotree.web"), "create_app")  # noqa: B009


def test_a_loopback_server_accepts_the_host_it_was_started_with():
    for host in ("127.0.0.1", "127.0.0.2", "localhost"):
        with listen(host, 0) as bound:
            names = allowed_hosts(host, bound)
            assert names is not None
            assert {host, "localhost"} <= names
    with listen("0.0.0.0", 0) as bound:
        assert allowed_hosts("0.0.0.0", bound) is None
