"""A headless Chromium driven over its DevTools pipe, with nothing but the standard library."""

import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BINARY = next(filter(None, map(shutil.which, NAMES)), None)
PATIENCE = 60  # seconds until a silent browser counts as dead
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """One tab. `complaints`: everything that landed in the console since the last `open`."""

    def __enter__(self):
        self.profile = TemporaryDirectory(ignore_cleanup_errors=True)
        there, self.to = os.pipe()
        self.come, back = os.pipe()
        # Chromium reads its commands from file descriptor 3 and answers on 4
        command = [BINARY, *OPTIONS, f"--user-data-dir={self.profile.name}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{there} 4>&{back}', "-", *command],
            pass_fds=(there, back), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there), os.close(back)
        self.number, self.read, self.complaints, self.session = 0, b"", [], None
        (tab,) = (t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        target = {"targetId": tab["targetId"], "flatten": True}
        self.session = self.ask("Target.attachToTarget", **target)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        os.close(self.to), os.close(self.come)  # which is how Chromium learns that it can go
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.profile.cleanup()

    def ask(self, method: str, **parameters) -> dict:
        """The answer to a command of the DevTools protocol."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        command |= {"sessionId": self.session} if self.session else {}
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while (message := self.next()).get("id") != self.number:
            pass
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message["result"]

    def next(self) -> dict:
        """The next message; complaints among them are kept."""
        while b"\0" not in self.read:
            ready, _, _ = select.select([self.come], [], [], PATIENCE)
            piece = os.read(self.come, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("Chromium has ended, or does not answer")
            self.read += piece
        text, _, self.read = self.read.partition(b"\0")
        message = json.loads(text)
        match message.get("method"):
            case "Log.entryAdded" | "Runtime.exceptionThrown" | "Runtime.consoleAPICalled":
                self.complaints.append(message["params"])
            case "Page.loadEventFired":
                self.loaded = True
            case "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    self.complaints.append(url)
        return message

    def look(self, width: int, height: int = 900, dark: bool = False) -> None:
        """A window of that size, on a system with that colour scheme."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.ask("Emulation.setDeviceMetricsOverride", **size)

    def open(self, page: Path) -> None:
        """Loads a page to its end."""
        self.complaints, self.loaded = [], False
        if error := self.ask("Page.navigate", url=page.resolve().as_uri()).get("errorText"):
            raise RuntimeError(f"{page}: {error}")
        while not self.loaded:
            self.next()

    def value(self, expression: str):
        """What a JavaScript expression gives on the page."""
        found = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")
