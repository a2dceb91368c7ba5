"""A hub on this machine: what transformers and datasets ask of its file API."""

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

API = re.compile(
    r"/api/(?P<kind>models/|datasets/)(?P<name>.+?)"
    r"(/(?P<what>revision|tree|paths-info)/(?P<revision>[^/]+)(/(?P<path>.*))?)?"
)
FILE = re.compile(
    r"/(?P<kind>(datasets/)?)(?P<name>.+?)/resolve/(?P<revision>[^/]+)/(?P<file>.+)"
)


class Hub(ThreadingHTTPServer):
    """Serves folders as repositories at 127.0.0.1; use it as a context.

    `repositories` maps "google-bert/bert-base-uncased" or "datasets/mteb/sts12-sts" to
    a folder and its one revision. With `broken` set each file breaks off in the middle.
    """

    daemon_threads = True

    def __init__(self, repositories: dict[str, tuple[Path, str]]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.repositories, self.broken, self.asked = repositories, False, []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def __enter__(self):
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers one request; `self.server` is the Hub."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if not (found := FILE.fullmatch(path) or API.fullmatch(path)):
            return self.refuse("EntryNotFound")
        name = found["kind"].removeprefix("models/") + found["name"]
        folder, commit = self.server.repositories.get(name, (None, None))
        if folder is None:
            return self.refuse("RepoNotFound")
        if (found["revision"] or "main") not in ("main", commit):
            return self.refuse("RevisionNotFound")
        if found.re is API:
            text = json.dumps(described(found, folder, commit, body))
            return self.send(200, text.encode(), {"Content-Type": "application/json"})
        if not (folder / found["file"]).is_file():
            return self.refuse("EntryNotFound")
        content = (folder / found["file"]).read_bytes()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{digest(content)}"'}
        self.send(200, content, headers, cut=self.server.broken)

    do_HEAD = do_POST = do_GET

    def refuse(self, code: str) -> None:
        self.send(404, b"{}", {"X-Error-Code": code})

    def send(self, status: int, content: bytes, headers: dict, cut=False) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True


def described(found: re.Match, folder: Path, commit: str, body: str):
    """What the API says of a repository: itself, its files, or some of them."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    entries = [
        {"type": "file", "path": name, "size": len(text), "oid": digest(text)[:40]}
        for name, text in files.items()
    ]
    if found["what"] == "tree":
        inside = f"{found['path']}/" if found["path"] else ""
        return [entry for entry in entries if entry["path"].startswith(inside)]
    if found["what"] == "paths-info":
        return [entry for entry in entries if entry["path"] in body]
    about = {"id": found["name"], "sha": commit, "tags": [], "downloads": 0, "likes": 0}
    siblings = [{"rfilename": name} for name in files]
    return about | {"siblings": siblings, "private": False, "disabled": False}


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
