"""The packed extension in a real Firefox, driven over Marionette, which is part of the browser: no driver is installed."""

import json
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.proof.proof import ProofError, wait_until
from bench.proof.server import free_port, is_open

PROGRAMS = ("firefox-esr", "firefox")
ID, UUID = "extension@loci-memory.example", "6f1d3c52-7a4e-4f0b-9d0e-2b8f6a5c1e77"
PAGES = f"moz-extension://{UUID}/pages"
START_S, WAIT_S = 90, 30
ASK = """
const [message, done] = arguments;
chrome.runtime.sendMessage(message).then(answer => done(answer ?? {value: null}), error => done({error: String(error)}));
"""


@dataclass
class Firefox:
    """A connection to the browser's own remote control."""

    connection: socket.socket
    version: str = ""
    last: int = 0

    def __post_init__(self) -> None:
        self.file = self.connection.makefile("rb")
        self._receive()  # what it is

    def send(self, command: str, **values: Any) -> Any:
        """Carry out a command; its result."""
        self.last += 1
        body = json.dumps([0, self.last, command, values]).encode()
        self.connection.sendall(b"%d:%s" % (len(body), body))
        _, _, error, result = self._receive()
        if error:
            raise AssertionError(f"Firefox, {command}: {error['error']} {error['message']}")
        return result

    def _receive(self) -> Any:
        length = b""
        while (digit := self.file.read(1)) != b":":
            if not digit:
                raise ProofError("Firefox has closed its remote control.")
            length += digit
        return json.loads(self.file.read(int(length)))

    def go(self, url: str) -> None:
        """Open an address in the tab."""
        self.send("WebDriver:Navigate", url=url)

    def fill(self, selector: str, text: str) -> None:
        """Type into a field."""
        element = self._find(selector)
        self.send("WebDriver:ElementClear", id=element)
        self.send("WebDriver:ElementSendKeys", id=element, text=text)

    def click(self, selector: str) -> None:
        """Click as a person does: the browser asks for some rights only then."""
        self.send("WebDriver:ElementClick", id=self._find(selector))

    def _find(self, selector: str) -> str:
        found = self.send("WebDriver:FindElement", using="css selector", value=selector)["value"]
        return str(next(iter(found.values())))

    def run(self, script: str, *values: Any) -> Any:
        """Run a script in the page; what it returns."""
        return self.send("WebDriver:ExecuteScript", script=script, args=list(values), sandbox=None)["value"]

    def ask(self, kind: str, **values: Any) -> Any:
        """The background's answer to the extension's page that is open."""
        sent = {"script": ASK, "args": [{"kind": kind, **values}], "sandbox": None}
        answer = self.send("WebDriver:ExecuteAsyncScript", **sent)["value"]
        if "error" in answer:
            raise AssertionError(f"Firefox, {kind}: {answer['error']}")
        return answer["value"]


def firefox_program() -> str | None:
    """The browser's path; None where there is none."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def firefox(profile: Path, package: Path, replicas_port: int) -> Iterator[Firefox]:
    """A Firefox with the extension, in a new profile; https goes to the replicas, whatever the host."""
    program = firefox_program()
    assert program is not None
    profile.mkdir()
    port = free_port()
    with tunnel(replicas_port) as proxy:
        settings = {
            "marionette.port": port,
            "extensions.webextensions.uuids": json.dumps({ID: UUID}),
            "network.proxy.type": 1,
            "network.proxy.ssl": "127.0.0.1",
            "network.proxy.ssl_port": proxy,
            # The sites' real certificates are known to the browser; the replicas have their own.
            "network.stricttransportsecurity.preloadlist": False,
            "security.cert_pinning.enforcement_level": 0,
        }
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()]
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        command = [program, "--headless", "--marionette", "--remote-allow-system-access", "--no-remote"]
        process = subprocess.Popen(
            [*command, "--profile", str(profile)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            with closing(connect(port)) as connection:
                at = Firefox(connection)
                session = at.send("WebDriver:NewSession", acceptInsecureCerts=True)
                at.version = session["capabilities"]["browserVersion"]
                at.send("Addon:Install", path=str(package), temporary=True)
                yield at
        finally:
            process.terminate()
            process.wait(timeout=WAIT_S)


def connect(port: int) -> socket.socket:
    """The remote control, as soon as the browser listens."""
    wait_until(lambda: is_open(port), "Firefox does not listen.", seconds=START_S)
    return socket.create_connection(("127.0.0.1", port), timeout=START_S)


@contextmanager
def tunnel(target: int) -> Iterator[int]:
    """A proxy that connects every host to one port of this machine; its own port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=join, args=(server.accept()[0], target), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def join(client: socket.socket, target: int) -> None:
    """Answer a CONNECT and pass on what both sides send."""
    with client, suppress(OSError), socket.create_connection(("127.0.0.1", target)) as site:
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            asked += client.recv(1)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        back = threading.Thread(target=pump, args=(site, client), daemon=True)
        back.start()
        pump(client, site)
        back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Pass on until the source ends."""
    with suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
