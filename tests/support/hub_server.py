"""A Hugging Face hub in the memory of this process: as much of its API as huggingface_hub uses for models.

Repositories have branches, commits and large files (LFS), and are private or not. Whoever has the token WRITER may
read and write everything, READER may read everything, others see what is not private. What it answers when something is
wrong (status, X-Error-Code) is what the real one says.
"""

import base64
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

import yaml
from fastapi import FastAPI, HTTPException, Request, Response

WRITER, READER = "hf_writer", "hf_reader"
LARGE = (".safetensors", ".bin", ".model")  # files that go into LFS


@dataclass
class Repository:
    private: bool
    gated: bool = False  # its owners want to be asked
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, message: str, files: dict[str, bytes]) -> str:
        sha = hashlib.sha1(f"{len(self.commits)} {message}".encode()).hexdigest()
        self.commits[sha] = files
        self.branches[branch] = sha
        self.messages.append(message)
        return sha


@dataclass
class Hub:
    """The state of the server, for tests to look at and to spoil."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    large: dict[str, bytes] = field(default_factory=dict)  # by SHA-256
    requests: list[str] = field(default_factory=list)
    fetched: set[str] = field(default_factory=set)  # files that somebody downloaded
    truncates: bool = False  # send only half of every large file
    refuse: int = 0  # answer everything with this status

    def clear(self) -> None:
        vars(self).update(vars(Hub()))

    def add(self, name: str, files: dict[str, bytes], private: bool = False) -> str:
        """A repository as somebody else may have made it."""
        repository = self.repositories.setdefault(name, Repository(private))
        return repository.commit("main", "by hand", files)


def refusal(status: int, code: str = "", message: str = "") -> HTTPException:
    return HTTPException(status, message or code, {"X-Error-Code": code, "X-Error-Message": message or code})


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def create_hub(hub: Hub) -> FastAPI:
    app = FastAPI()

    def token(request: Request) -> str:
        return request.headers.get("authorization", "").removeprefix("Bearer ")

    def writing(request: Request) -> None:
        if not token(request):
            raise refusal(401, message="Invalid username or password.")
        if token(request) not in (WRITER, READER):
            raise refusal(401, message="Invalid credentials in Authorization header")
        if token(request) != WRITER:
            raise refusal(403, message="You don't have the rights")

    def found(request: Request, name: str) -> Repository:
        repository = hub.repositories.get(name)
        if repository is None or (repository.private and token(request) not in (WRITER, READER)):
            raise refusal(404 if token(request) else 401, "RepoNotFound", "Repository not found")
        if repository.gated:
            raise refusal(403, "GatedRepo", "Access to this model is restricted")
        return repository

    def at(repository: Repository, revision: str) -> str:
        sha = repository.branches.get(revision, revision)
        if sha not in repository.commits:
            raise refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return sha

    @app.middleware("http")
    async def note(request: Request, call: Any) -> Response:
        hub.requests.append(f"{request.method} {request.url.path}")
        if hub.refuse:
            return Response(status_code=hub.refuse)
        response: Response = await call(request)
        return response

    @app.post("/api/repos/create")
    async def create(request: Request) -> Response:
        writing(request)
        asked = await request.json()
        name = f"{asked['organization']}/{asked['name']}"
        there = name in hub.repositories
        if not there:
            private = asked.get("visibility") == "private" or asked.get("private") is True
            hub.repositories[name] = Repository(private)
            hub.repositories[name].commit("main", "initial commit", {".gitattributes": b""})
        answer = {"url": f"{request.base_url}{name}", "name": name} | ({"error": "it exists"} if there else {})
        return Response(json.dumps(answer), 409 if there else 200, media_type="application/json")

    @app.get("/api/models/{org}/{name}")
    def main(request: Request, org: str, name: str) -> dict[str, Any]:
        return info(request, org, name, "main")

    @app.get("/api/models/{org}/{name}/revision/{revision}")
    def info(request: Request, org: str, name: str, revision: str) -> dict[str, Any]:
        repository = found(request, f"{org}/{name}")
        sha = at(repository, revision)
        return {
            "id": f"{org}/{name}",
            "sha": sha,
            "private": repository.private,
            "siblings": [{"rfilename": path} for path in repository.commits[sha]],
        }

    @app.get("/api/models/{org}/{name}/tree/{revision}")
    def tree(request: Request, org: str, name: str, revision: str) -> list[dict[str, Any]]:
        repository = found(request, f"{org}/{name}")
        return [listed(path, content) for path, content in repository.commits[at(repository, revision)].items()]

    def listed(path: str, content: bytes) -> dict[str, Any]:
        row: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": blob(content)}
        if path.endswith(LARGE):
            row["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return row

    @app.api_route("/{org}/{name}/resolve/{revision}/{path:path}", methods=["GET", "HEAD"])
    def resolve(request: Request, org: str, name: str, revision: str, path: str) -> Response:
        repository = found(request, f"{org}/{name}")
        sha = at(repository, revision)
        if path not in repository.commits[sha]:
            raise refusal(404, "EntryNotFound", f"{path} does not exist")
        content = repository.commits[sha][path]
        headers = {"X-Repo-Commit": sha, "ETag": f'"{blob(content)}"'}
        if request.method == "GET":
            hub.fetched.add(path)
        if path.endswith(LARGE):
            oid = hashlib.sha256(content).hexdigest()
            hub.large[oid] = content
            elsewhere = request.base_url.replace(hostname="localhost")  # large files come from another host
            headers |= {"X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(len(content))}
            return Response(status_code=302, headers=headers | {"Location": f"{elsewhere}large/{oid}"})
        return Response(content, headers=headers)

    @app.get("/large/{oid}")
    def large(request: Request, oid: str) -> Response:
        assert not token(request)  # it is nobody's business there
        content = hub.large[oid]
        return Response(content[: len(content) // 2] if hub.truncates else content)

    @app.post("/api/validate-yaml")
    async def validate(request: Request) -> Response:
        """Less strict than the real one, but what it complains of would be wrong there, too."""
        content = (await request.json())["content"]
        metadata = yaml.safe_load(content.split("---\n")[1]) if content.startswith("---\n") else None
        wrong = [] if isinstance(metadata, dict) and "license" in metadata else [{"message": "there is no licence"}]
        answer = {"errors": wrong, "warnings": []}
        return Response(json.dumps(answer), 400 if wrong else 200, media_type="application/json")

    @app.post("/api/models/{org}/{name}/branch/{branch}")
    def branch(request: Request, org: str, name: str, branch: str) -> Response:
        writing(request)
        repository = found(request, f"{org}/{name}")
        if branch in repository.branches:
            raise refusal(409, message="Reference already exists")
        repository.branches[branch] = repository.branches["main"]
        return Response()

    @app.post("/api/models/{org}/{name}/preupload/{revision}")
    async def preupload(request: Request, org: str, name: str, revision: str) -> dict[str, Any]:
        writing(request)
        repository = found(request, f"{org}/{name}")
        there = repository.commits[at(repository, revision)]
        return {
            "files": [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                    "oid": oid(file["path"], there[file["path"]]) if file["path"] in there else None,
                }
                for file in (await request.json())["files"]
            ]
        }

    def oid(path: str, content: bytes) -> str:
        return hashlib.sha256(content).hexdigest() if path.endswith(LARGE) else blob(content)

    @app.post("/{org}/{name}.git/info/lfs/objects/batch")
    async def batch(request: Request, org: str, name: str) -> dict[str, Any]:
        writing(request)
        found(request, f"{org}/{name}")
        objects = []
        for wanted in (await request.json())["objects"]:
            row = {"oid": wanted["oid"], "size": wanted["size"]}
            if wanted["oid"] not in hub.large:
                row["actions"] = {"upload": {"href": f"{request.base_url}large/{wanted['oid']}"}}
            objects.append(row)
        return {"transfer": "basic", "objects": objects}

    @app.put("/large/{oid}")
    async def upload(request: Request, oid: str) -> Response:
        content = await request.body()
        if hashlib.sha256(content).hexdigest() != oid:
            raise refusal(400, message="the content does not match its name")
        hub.large[oid] = content
        return Response()

    @app.post("/api/models/{org}/{name}/commit/{revision}")
    async def commit(request: Request, org: str, name: str, revision: str) -> dict[str, Any]:
        writing(request)
        repository = found(request, f"{org}/{name}")
        files = dict(repository.commits[at(repository, revision)])
        message = ""
        for line in (await request.body()).splitlines():
            row = json.loads(line)
            value = row["value"]
            if row["key"] == "header":
                message = value["summary"]
            elif row["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif row["key"] == "lfsFile":
                files[value["path"]] = hub.large[value["oid"]]
            elif row["key"] == "deletedFile":
                del files[value["path"]]
        sha = repository.commit(revision, message, files)
        return {"commitUrl": f"{request.base_url}{org}/{name}/commit/{sha}", "commitOid": sha}

    return app
