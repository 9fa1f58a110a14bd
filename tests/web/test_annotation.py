"""The calls of the annotation page: what they save, whom they refuse, and that a killed server has lost nothing."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.annotation import flat, project_at
from support.models import saved_model
from support.networks import TREES
from support.servers import serving
from support.web import problem

import discotree as dt
from discotree.web import create_app
from discotree.web.annotation.project import Project
from discotree.web.annotation.session import AcceptedTreesFile, AnnotationSession, Predictor
from discotree.web.endpoints import AnnotationEndpoints
from discotree.web.security import Access

KEY = "0123456789abcdef-key"
Shared = tuple[AnnotationEndpoints, httpx.Client]


def service_at(path: Path, parser: dt.Parser) -> AnnotationSession:
    project = project_at(path / "a.jsonl")
    predictor = Predictor(project, parser, project.use_model("nl", "f" * 64))
    predictor.is_done.set()
    output = AcceptedTreesFile(project, str(path / "trees.export"), None, None)
    return AnnotationSession(project, parser, "xx", predictor, output, annotator="Ann", title="in.txt")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, parsers: dict[str, dt.Parser]) -> Iterator[Shared]:
    """One server for all tests: starting one takes longer than all that they ask of it."""
    service = service_at(tmp_path_factory.mktemp("first"), parsers["xx"])
    app = create_app({"xx": parsers["xx"]}, access=Access(api_keys=(KEY,)), annotation=service)
    with serving(app) as client:
        yield app.state.annotation, client


@pytest.fixture
def server(shared: Shared, tmp_path: Path, parsers: dict[str, dt.Parser]) -> Iterator[httpx.Client]:
    """The server with a project of its own."""
    calls, client = shared
    first, calls.session = calls.session, service_at(tmp_path, parsers["xx"])
    client.headers["Authorization"] = f"Bearer {KEY}"
    yield client
    calls.session.close()
    calls.session = first


def ask(client: httpx.Client, call: str, **body: Any) -> Any:
    response = client.post(f"/api/annotate/{call}", json={"session": "a", "who": "Ann"} | body)
    assert response.status_code == 200, response.text
    return response.json()


def step(client: httpx.Client, number: int, action: str, **body: Any) -> httpx.Response:
    sent = {"sentence": number, "action": action, "who": "Ann", "session": "a"} | body
    return client.post("/api/annotate/step", json=sent)


def test_an_annotation_from_the_first_sentence_to_the_last(server: httpx.Client) -> None:
    overview = server.get("/api/annotate").json()
    assert (overview["sentences"], overview["annotator"], overview["order"]) == (6, "Ann", "unsure")
    assert set(overview["inventory"]) == {"labels", "tags", "functions"}
    seen = []
    while (found := ask(server, "next"))["sentence"]:
        number = found["sentence"]
        seen.append(number)
        more = {"tree": flat(number)} if number == 3 else {}
        saved = step(server, number, "correct" if more else "accept", version=found["version"], **more)
        assert saved.status_code == 200, saved.text
    assert seen == [2, 4, 3, 6, 1, 5]
    assert server.get("/api/annotate").json()["counts"]["corrected"] == 1
    rows = ask_rows(server, status="corrected")
    assert [(row["sentence"], row["status"]) for row in rows["rows"]] == [(3, "corrected")]
    text = server.post("/api/annotate/trees", json={"format": "discbracket"}).text
    assert len(text.splitlines()) == 6
    assert "(X " in text.splitlines()[2]


def ask_rows(client: httpx.Client, **body: Any) -> Any:
    return client.post("/api/annotate/rows", json=body).json()


@pytest.mark.slow
def test_the_file_is_complete_when_the_server_ends(tmp_path: Path, parsers: dict[str, dt.Parser]) -> None:
    service = service_at(tmp_path, parsers["xx"])
    with serving(create_app({"xx": parsers["xx"]}, annotation=service)) as client:
        assert step(client, 1, "accept").status_code == 200
    assert list(dt.read(tmp_path / "trees.export")) == [TREES[0]]
    Project.open(str(tmp_path / "a.jsonl")).close()  # nobody holds it any more


def test_a_sentence_that_somebody_has_open_goes_to_nobody_else(server: httpx.Client) -> None:
    assert [ask(server, "next", session=name)["sentence"] for name in "abcdef"] == [2, 4, 3, 6, 1, 5]
    assert ask(server, "next", session="g")["sentence"] is None
    assert ask(server, "next", session="a")["sentence"] == 2
    assert ask(server, "open", session="g", sentence=2, who="Eve")["opened_by"] == "Ann"
    assert ask(server, "next", session="a", after=2)["sentence"] == 2  # all others are open elsewhere


def test_sentences_that_were_left_come_last(server: httpx.Client) -> None:
    assert ask(server, "next", passed=[2, 4])["sentence"] == 3
    assert ask(server, "next", passed=[1, 2, 3, 4, 5, 6])["sentence"] == 2
    assert ask(server, "next", order="given", after=2)["sentence"] == 3


def test_two_who_save_the_same_sentence(server: httpx.Client) -> None:
    first = ask(server, "open", sentence=1)
    second = ask(server, "open", sentence=1, session="b", who="Bob")
    assert step(server, 1, "correct", version=first["version"], tree=flat(1, "A")).status_code == 200
    refused = step(server, 1, "correct", version=second["version"], tree=flat(1, "B"), who="Bob", session="b")
    assert refused.status_code == 409
    answer = refused.json()
    assert "Ann has changed sentence 1 in the meantime" in answer["detail"]
    assert answer["current"]["tree"]["constituents"][1]["label"] == "A"
    again = step(server, 1, "correct", version=answer["current"]["version"], tree=flat(1, "B"), who="Bob", session="b")
    assert [entry["who"] for entry in again.json()["history"]] == ["Ann", "Bob"]
    earlier = server.post("/api/annotate/earlier", json={"step": 1}).json()["tree"]
    assert earlier["constituents"][1]["label"] == "A"
    assert "step 9 has no tree" in problem(server.post("/api/annotate/earlier", json={"step": 9}))
    undone = step(server, 1, "undo", version=again.json()["version"])
    assert undone.json()["tree"]["constituents"][1]["label"] == "A"


WHOLE = flat(1)
HOSTILE: list[tuple[str, Any, int]] = [
    ("step", b"", 400),
    ("step", b"[" * 100_000, 400),
    ("step", b"{" * 100_000, 400),
    ("step", b'{"sentence": 1}', 422),
    ("step", b"x" * 2**20 + b"x", 413),
    ("step", {"action": "dance"}, 422),
    ("step", {"sentence": 10**30}, 422),
    ("step", {"sentence": 99}, 422),
    ("step", {"sentence": "1; DROP"}, 422),
    ("step", {"who": "\u202eevil"}, 422),
    ("step", {"who": "x" * 300}, 422),
    ("step", {"who": ""}, 422),
    ("step", {"session": "../../etc"}, 422),
    ("step", {"more": 1}, 422),
    ("step", {"action": "correct"}, 422),
    ("step", {"action": "comment", "text": ""}, 422),
    ("step", {"action": "comment", "text": "x" * 10_001}, 422),
    ("step", {"action": "undo"}, 422),
    ("step", {"action": "undo", "tree": WHOLE}, 422),
    ("step", {"action": "correct", "tree": flat(2)}, 422),
    ("step", {"action": "correct", "tree": WHOLE | {"constituents": []}}, 422),
    ("step", {"action": "correct", "tree": flat(1, "A\nB")}, 422),
    ("step", {"action": "correct", "tree": flat(1, "A B")}, 422),
    ("step", {"action": "correct", "tree": WHOLE | {"secondary": [{"label": "a", "child": 0, "parent": 99}]}}, 422),
    ("step", {"action": "correct", "tree": WHOLE | {"comment": "x" * 100_001}}, 422),
    ("step", {"action": "correct", "tree": WHOLE | {"constituents": WHOLE["constituents"] * 3000}}, 413),
    ("step", {"action": "adjudicate"}, 422),
    ("step", {"action": "adjudicate", "tree": WHOLE}, 422),
    ("next", {"passed": [1] * 1001}, 422),
    ("next", {"status": "corrected"}, 422),
    ("next", {"after": -1}, 422),
    ("next", {"after": 77}, 422),
    ("rows", {"session": None, "limit": 10**9}, 422),
    ("rows", {"status": "done"}, 422),
    ("trees", {"format": "../../x"}, 422),
]  # fmt: skip


def test_hostile_bodies_are_refused_and_nothing_changes(server: httpx.Client, tmp_path: Path) -> None:
    before = (tmp_path / "a.jsonl").read_bytes()
    for call, body, status in HOSTILE:
        common = {"session": "a", "who": "Ann"} | ({"sentence": 1, "action": "accept"} if call == "step" else {})
        content = body if isinstance(body, bytes) else json.dumps((common if call in ("step", "next") else {}) | body)
        response = server.post(f"/api/annotate/{call}", content=content, headers={"Content-Type": "application/json"})
        assert response.status_code == status, (call, str(body)[:100], response.text)
        assert len(response.json()["detail"]) < 600
    assert server.post("/api/annotate/step", content=b"{}").status_code == 415
    assert (tmp_path / "a.jsonl").read_bytes() == before


def test_a_full_disk_is_told_and_nothing_changes(server: httpx.Client, tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "a.jsonl").stat().st_size + 20, limits[1]))
    try:
        refused = step(server, 1, "accept")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "cannot save: File too large" in problem(refused, 507)
    assert step(server, 1, "accept").json()["status"] == "accepted"


def test_the_calls_need_the_key_and_exist_only_with_a_project(server: httpx.Client, client: httpx.Client) -> None:
    assert client.get("/api/annotate").status_code == client.get("/annotate").status_code == 404
    assert client.get("/page/annotate.html").status_code == 404
    assert server.get("/api/annotate").status_code == 200
    assert server.get("/api/annotate", headers={"Origin": "https://evil.example"}).status_code == 403
    del server.headers["Authorization"]
    page = server.get("/annotate")
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    for name in re.findall(r'(?:src|href)="(page/[^"]+)"', page.text):
        assert server.get(f"/{name}").status_code == 200
    assert server.get("/api/annotate").status_code == 401
    assert step(server, 1, "accept").status_code == 401


# Real processes


def start(folder: Path, *more: str) -> tuple["subprocess.Popen[str]", httpx.Client]:
    """Start discotree annotate and return the process and a client, when it is ready."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "discotree",
        "annotate",
        "in.txt",
        "--from",
        "tokens",
        "-m",
        "model",
    ]
    process = subprocess.Popen(
        [*command, "--port", "0", *more], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip().removesuffix("/annotate")
    if not url:
        pytest.fail(process.communicate()[1])
    return process, httpx.Client(base_url=url, timeout=60)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    saved_model(tmp_path / "model")
    (tmp_path / "in.txt").write_text("".join(" ".join(tree.words) + "\n" for tree in TREES))
    return tmp_path


@pytest.mark.slow
def test_nothing_that_was_confirmed_is_lost_when_the_server_is_killed(work: Path) -> None:
    """Kill the server with -9 in the middle of saving, again and again; every confirmed step is there."""
    confirmed: list[tuple[int, str]] = []
    for round_ in range(4):
        process, client = start(work, "-o", "trees.export")
        killer = subprocess.Popen(["sh", "-c", f"sleep 0.{3 + 2 * round_}; kill -9 {process.pid}"])
        try:
            for k in range(10_000):
                text = f"comment {round_} {k}"
                if step(client, k % 3 + 1, "comment", text=text).status_code == 200:
                    confirmed.append((k % 3 + 1, text))
        except httpx.HTTPError:
            pass
        finally:
            killer.wait()
            process.communicate()
            client.close()
        assert process.returncode == -signal.SIGKILL
    assert confirmed
    project = Project.open(str(work / "in.txt.annotation.jsonl"))
    kept = [(number, text) for number in (1, 2, 3) for text in project.comments(number)]
    assert set(confirmed) <= set(kept)
    assert len(kept) <= len(confirmed) + 4  # one step of each round may have been saved without an answer
    project.close()


@pytest.mark.slow
def test_the_command_from_start_to_export(work: Path) -> None:
    dt.write(TREES[:5], work / "gold.export")
    process, client = start(work, "-o", "trees.export", "--annotator", "Ann", "--held-out", "gold.export")
    try:
        second = subprocess.run(
            [sys.executable, "-m", "discotree", "annotate", "in.txt", "-m", "model", "--port", "0"],
            cwd=work,
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 1
        assert "another process is writing to it" in second.stderr
        for number in (2, 3):
            assert step(client, number, "accept").status_code == 200
        command = [sys.executable, "-m", "discotree", "annotate", "in.txt", "--export", "-o"]
        done = subprocess.run([*command, "now.tiger.xml"], cwd=work, capture_output=True, text=True, check=True)
        assert "2 accepted trees written to now.tiger.xml" in done.stderr
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
        client.close()
    trees = list(dt.read(work / "trees.export"))
    assert [tree.words for tree in trees] == [TREES[1].words, TREES[2].words]
    assert list(dt.read(work / "now.tiger.xml")) == trees
    assert not os.path.exists(work / "in.txt.annotation.jsonl.lock")
    (work / "in.txt").write_text("Ein anderer Text .\n")
    other = subprocess.run(
        [sys.executable, "-m", "discotree", "annotate", "in.txt", "--from", "tokens", "-m", "model", "--port", "0"],
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 1
    assert "with another input" in other.stderr
    (work / "in.txt").unlink()
    process, client = start_journal(work)
    try:
        overview = client.get("/api/annotate").json()
        assert overview["counts"]["accepted"] == 2
        assert [entry["held_out"] for entry in overview["scores"]] == ["gold.export"]
    finally:
        process.kill()
        process.communicate()
        client.close()


def start_journal(folder: Path) -> tuple["subprocess.Popen[str]", httpx.Client]:
    (folder / "in.txt").write_text((folder / "in.txt.annotation.jsonl").read_text())
    (folder / "in.txt.annotation.jsonl").unlink()
    return start(folder)
