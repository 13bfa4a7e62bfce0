"""Chromium without a window, driven over its debugging pipe: no library is needed."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Browser:
    """One page of one browser; `with Browser() as browser:` ends it."""

    def __init__(self) -> None:
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            raise SystemExit("No Chromium was found. On Debian: apt-get install chromium")
        self._profile = tempfile.TemporaryDirectory()
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # Chromium reads from descriptor 3 and writes to descriptor 4.
        command = ["bash", "-c", 'exec "$@" 3<&"$IN" 4>&"$OUT"', "browser", program, "--headless=new", "--no-sandbox",
                   "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
                   f"--user-data-dir={self._profile.name}", "about:blank"]  # fmt: skip
        self._process = subprocess.Popen(
            command,
            env=os.environ | {"IN": str(to_read), "OUT": str(to_write)},
            pass_fds=(to_read, to_write),
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._rest, self._last, self._session = b"", 0, ""
        self.asked: list[str] = []  # every address that a page asked for
        self.said: list[str] = []  # what pages wrote to the console, and faults
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()
        self._profile.cleanup()

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method and give its result."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._receive()).get("id") != self._last:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            self._rest += os.read(self._read, 1 << 16)
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.said.append(
                    params["exceptionDetails"].get("exception", {}).get("description", "exception")
                )
            case "Log.entryAdded" if params["entry"]["level"] == "error":
                self.said.append(params["entry"]["text"])
        return message

    def open(self, url: str, *, width: int, height: int, dark: bool = False) -> None:
        """Show an address at a size, in light or dark, and wait until it has loaded."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.send("Page.navigate", url=url)
        self.wait_for_load()
        self.run("document.fonts.ready.then(() => new Promise(done => setTimeout(done, 150)))")

    def wait_for_load(self) -> None:
        """Wait until the page that is coming has loaded."""
        while self._receive().get("method") != "Page.loadEventFired":
            pass

    def run(self, program: str) -> Any:
        """Run a program in the page, wait for its promise, and give its value."""
        result = self.send("Runtime.evaluate", expression=program, awaitPromise=True, returnByValue=True)
        return result["result"].get("value")

    def picture(self, path: Path, *, width: int = 0, height: int = 0) -> None:
        """Save what is seen as PNG; with a width and a height that much of the page, scrolled to or not."""
        whole = {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1},
        }
        taken = self.send("Page.captureScreenshot", format="png", **(whole if height else {}))
        path.write_bytes(base64.b64decode(taken["data"]))
