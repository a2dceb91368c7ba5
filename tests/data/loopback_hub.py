"""A hub on this machine: what transformers and datasets ask of its file API."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit


class Hub(ThreadingHTTPServer):
    """Serves folders as repositories at 127.0.0.1; use it as a context.

    `repositories` maps "google-bert/bert-base-uncased" or "datasets/mteb/sts12-sts" to
    a folder and its one revision. With `broken` set each file breaks off in the middle.
    """

    daemon_threads = True

    def __init__(self, repositories: dict[str, tuple[Path, str]]):
        super().__init__(("127.0.0.1", 0), Handler)
        self.broken, self.asked = False, []
        self.described, self.files = {}, {}  # by the path of an address
        for name, repository in repositories.items():
            self.add(name, *repository)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def add(self, name: str, folder: Path, commit: str) -> None:
        files = {path.name: path.read_bytes() for path in folder.iterdir()}
        entries = [
            {"type": "file", "path": name, "size": len(text), "oid": digest(text)[:40]}
            for name, text in files.items()
        ]
        siblings = [{"rfilename": file} for file in files]
        about = {"id": name.removeprefix("datasets/"), "sha": commit, "tags": []}
        about |= {"downloads": 0, "likes": 0, "private": False, "siblings": siblings}
        api = f"/api/{name if name.startswith('datasets/') else f'models/{name}'}"
        self.described[api] = about
        for revision in ("main", commit):
            self.described[f"{api}/revision/{revision}"] = about
            for what in ("tree", "paths-info"):
                self.described[f"{api}/{what}/{revision}"] = entries
            for file, content in files.items():
                headers = {"X-Repo-Commit": commit, "ETag": f'"{digest(content)}"'}
                self.files[f"/{name}/resolve/{revision}/{file}"] = content, headers

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
        status, content, headers = 404, b"{}", {"X-Error-Code": "EntryNotFound"}
        if path in self.server.files:
            status, (content, headers) = 200, self.server.files[path]
        elif (found := self.server.described.get(path)) is not None:
            if "paths-info" in path:
                found = [entry for entry in found if entry["path"] in body]
            status, content, headers = 200, json.dumps(found).encode(), {}
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(content)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.server.broken and path in self.server.files:
            content, self.close_connection = content[: len(content) // 2], True
        if self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_POST = do_GET


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
