"""A hub on this machine: what transformers and datasets ask of its file API."""

import hashlib
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

API = re.compile(
    r"/api/(?P<kind>models|datasets)/(?P<name>.+?)"
    r"(/(?P<what>revision|tree|paths-info)/(?P<revision>[^/]+)(/(?P<path>.*))?)?"
)
FILE = re.compile(
    r"/(?P<kind>datasets/)?(?P<name>.+?)/resolve/(?P<revision>[^/]+)/(?P<file>.+)"
)


class Hub:
    """Serves folders as repositories at 127.0.0.1; use it as a context.

    `repositories` maps "google-bert/bert-base-uncased" or "datasets/mteb/sts12-sts" to a folder and
    its one revision. With `broken` set each file breaks off in the middle.
    """

    def __init__(self, repositories: dict[str, tuple[Path, str]]):
        self.repositories, self.broken, self.asked = repositories, False, []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                hub.answer(self)

            do_HEAD = do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request) -> None:
        path = unquote(urlsplit(request.path).path)
        self.asked.append(f"{request.command} {path}")
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if found := FILE.fullmatch(path):
            kind = found["kind"] or ""
        elif found := API.fullmatch(path):
            kind = "datasets/" if found["kind"] == "datasets" else ""
        else:
            return self.refuse(request, "EntryNotFound")
        if kind + found["name"] not in self.repositories:
            return self.refuse(request, "RepoNotFound")
        folder, commit = self.repositories[kind + found["name"]]
        if (found["revision"] or "main") not in ("main", commit):
            return self.refuse(request, "RevisionNotFound")
        if "file" in found.groupdict():
            self.send_file(request, folder / found["file"], commit)
        else:
            self.send_json(request, self.described(found, folder, commit, body))

    def described(self, found: re.Match, folder: Path, commit: str, body: bytes):
        """What the API says of a repository: itself, its files, or some of them."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        names = [path.relative_to(folder).as_posix() for path in paths]
        if found["what"] == "tree":
            inside = f"{found['path']}/" if found["path"] else ""
            return [self.entry(folder, n) for n in names if n.startswith(inside)]
        if found["what"] == "paths-info":
            return [self.entry(folder, n) for n in names if n in body.decode()]
        flags = dict.fromkeys(("private", "disabled"), False)
        siblings = [{"rfilename": name} for name in names]
        about = {"id": found["name"], "sha": commit, "siblings": siblings, "tags": []}
        return about | flags | dict.fromkeys(("downloads", "likes"), 0)

    def entry(self, folder: Path, name: str) -> dict:
        content = (folder / name).read_bytes()
        oid = digest(content)[:40]
        return {"type": "file", "path": name, "size": len(content), "oid": oid}

    def send_file(self, request, path: Path, commit: str) -> None:
        if not path.is_file():
            return self.refuse(request, "EntryNotFound")
        content = path.read_bytes()
        headers = {"X-Repo-Commit": commit, "ETag": f'"{digest(content)}"'}
        self.send(request, 200, content, headers, cut=self.broken)

    def send_json(self, request, value) -> None:
        headers = {"Content-Type": "application/json"}
        self.send(request, 200, json.dumps(value).encode(), headers)

    def refuse(self, request, code: str) -> None:
        self.send(request, 404, b"{}", {"X-Error-Code": code})

    def send(self, request, status, content: bytes, headers: dict, cut=False) -> None:
        request.send_response(status)
        for name, value in {**headers, "Content-Length": len(content)}.items():
            request.send_header(name, str(value))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            request.close_connection = True


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
