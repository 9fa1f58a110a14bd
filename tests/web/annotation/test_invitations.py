"""Tokens: what is stored, whom they let in, and that a name is not enough."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.annotation import flat, project_at
from support.servers import serving
from support.web import problem

import discotree as dt
from discotree.web import create_app
from discotree.web.annotation.invitations import Invitations
from discotree.web.annotation.project import STATUSES
from discotree.web.annotation.session import AnnotationSession, Predictor
from discotree.web.security import Access, hash_key

KEY = "0123456789abcdef-key"


def test_only_hashes_are_stored_and_a_new_token_replaces_the_old_one(tmp_path: Path) -> None:
    invitations = Invitations(str(tmp_path / "a.jsonl"))
    assert invitations.read() is None
    name, first = invitations.invite("  Ann   Smith ")
    _, second = invitations.invite("Ann Smith")
    invitations.invite("Bob")
    assert name == "Ann Smith"
    assert len(first) >= 40
    assert first != second
    stored = json.loads((tmp_path / "a.jsonl.invitations").read_text())
    assert list(stored) == ["Ann Smith", "Bob"]
    assert bytes.fromhex(stored["Ann Smith"]) == hash_key(second)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl.invitations"]


def test_revoking_the_last_token_does_not_open_the_project(tmp_path: Path) -> None:
    invitations = Invitations(str(tmp_path / "a.jsonl"))
    invitations.invite("Ann")
    with pytest.raises(dt.DiscotreeError, match="has no annotator 'Anna'; did you mean 'Ann'"):
        invitations.revoke("Anna")
    invitations.revoke("Ann")
    assert invitations.read() == {}


@pytest.mark.parametrize("content", [b"", b"[]", b'{"Ann": 1}', b'{"Ann": "xyz"}', b"\xff"])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, content: bytes) -> None:
    invitations = Invitations(str(tmp_path / "a.jsonl"))
    (tmp_path / "a.jsonl.invitations").write_bytes(content)
    with pytest.raises(dt.DiscotreeError, match="cannot read the invitations"):
        invitations.read()
    with pytest.raises(dt.DiscotreeError, match="cannot read the invitations"):
        invitations.invite("Ann")
    assert invitations.hashes() == {}


def test_a_server_stays_closed_if_the_file_disappears(tmp_path: Path) -> None:
    invitations = Invitations(str(tmp_path / "a.jsonl"))
    assert invitations.hashes() is None
    invitations.invite("Ann")
    assert list(invitations.hashes() or {}) == ["Ann"]
    (tmp_path / "a.jsonl.invitations").unlink()
    assert invitations.hashes() == {}
    assert Invitations(str(tmp_path / "a.jsonl")).hashes() is None


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(dt.DiscotreeError, match=r"none/a.jsonl.invitations: cannot write .*: No such file"):
        Invitations(str(tmp_path / "none" / "a.jsonl")).invite("Ann")


class Team:
    """A server whose sentences are all for two annotators."""

    def __init__(self, client: httpx.Client, invitations: Invitations) -> None:
        self.client = client
        self.invitations = invitations
        self.tokens = {name: invitations.invite(name)[1] for name in ("Ann", "Bob")}

    def post(self, call: str, token: str, **body: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return self.client.post(f"/api/annotate/{call}", json=body, headers=headers)

    def step(self, token: str, **body: Any) -> httpx.Response:
        return self.post("step", token, **{"session": "a", "sentence": 1, "action": "accept"} | body)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, parser: dt.Parser) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    project = project_at(folder / "a.jsonl", double=1.0)
    predictor = Predictor(project, parser, 1)
    predictor.is_done.set()
    invitations = Invitations(str(folder / "a.jsonl"))
    service = AnnotationSession(project, parser, "xx", predictor, annotator="owner")
    access = Access(api_keys=(KEY,), invited=invitations.hashes)
    with serving(create_app({"xx": parser}, access=access, annotation=service)) as client:
        yield Team(client, invitations)


def test_a_token_writes_under_its_own_name_only(team: Team) -> None:
    ann, bob = team.tokens["Ann"], team.tokens["Bob"]
    for call, body in (
        ("step", {"sentence": 1, "action": "accept", "session": "a"}),
        ("open", {"sentence": 1, "session": "a"}),
        ("next", {"session": "a"}),
        ("rows", {}),
        ("earlier", {"step": 1}),
    ):
        refused = team.post(call, bob, who="Ann", **body)
        assert problem(refused, 403) == "this token is for Bob, not for 'Ann'", call
    assert team.step(ann, action="correct", tree=flat(1)).json()["history"][0]["who"] == "Ann"
    assert team.step(bob, who="Bob", sentence=2).json()["history"][0]["who"] == "Bob"
    assert team.post("earlier", ann, step=1).status_code == 200
    assert problem(team.post("earlier", bob, step=1)) == "step 1 has no tree"
    assert team.post("open", bob, session="b", sentence=1).json()["history"] == []
    assert team.post("rows", bob, status="corrected").json()["matching"] == 0


def test_no_call_shows_the_work_of_the_other_annotator(team: Team) -> None:
    ann, bob = team.tokens["Ann"], team.tokens["Bob"]
    assert team.step(ann, sentence=3, action="skip", tree=flat(3, "SECRET")).status_code == 200
    assert team.step(ann, sentence=3, action="comment", text="SECRET").status_code == 200
    assert team.step(ann, sentence=3, action="correct", tree=flat(3, "SECRET")).status_code == 200
    assert "SECRET" in team.post("open", ann, session="a", sentence=3).text
    headers = {"Authorization": f"Bearer {bob}"}
    responses = [team.client.get(path, headers=headers) for path in ("/api/annotate", "/api/treebanks", "/metrics")]
    responses += [team.post("open", bob, session="b", sentence=3), team.post("rows", bob)]
    responses += [team.post("rows", bob, status=status) for status in STATUSES]
    responses += [team.post("next", bob, session="b", status=status) for status in ("open", "differing")]
    responses += [team.post("earlier", bob, step=step) for step in range(1, 10)]
    responses += [team.post("trees", bob, format=format) for format in ("json", "export", "tigerxml")]
    for action in ("undo", "adjudicate", "reopen", "skip"):
        tree = {"tree": flat(3)} if action == "adjudicate" else {}
        responses.append(team.step(bob, sentence=3, action=action, version="0.0", **tree))  # a conflict
        responses.append(team.step(bob, sentence=3, action=action, **tree))
    for response in responses:
        assert response.status_code in (200, 409, 422), response.text
        assert "SECRET" not in response.text
        assert '"Ann"' not in response.text


def test_the_page_is_told_who_has_signed_in(team: Team) -> None:
    for key, name, is_signed_in in ((team.tokens["Ann"], "Ann", True), (KEY, "owner", False)):
        overview = team.client.get("/api/annotate", headers={"Authorization": f"Bearer {key}"}).json()
        assert (overview["annotator"], overview["is_signed_in"]) == (name, is_signed_in)


def test_no_token_a_wrong_one_and_a_hash_are_refused(team: Team) -> None:
    stored = (team.invitations.read() or {})["Ann"].hex()
    for token in ("no", "Ann", stored, team.tokens["Ann"][:-1]):
        assert team.step(token, who="Ann").status_code == 401
    assert team.client.get("/api/models").status_code == 401
    assert team.client.get("/annotate").status_code == 200


def test_invitations_and_revocations_take_effect_while_the_server_runs(team: Team) -> None:
    _, token = team.invitations.invite("Eve")
    assert team.step(token, sentence=5).status_code == 200
    team.invitations.revoke("Eve")
    assert team.step(token, sentence=6).status_code == 401
    assert team.step(KEY, sentence=5, who="Dan").status_code == 200  # an API key is not bound to a name
