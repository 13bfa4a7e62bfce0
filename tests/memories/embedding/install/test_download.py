"""A download goes on where it stopped, takes nothing but the published bytes, and gives up soon without a way out."""

import hashlib
import http.server
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memories.embedding.install import sources as module
from memories.embedding.install.sources import SourceFailed, download

CONTENT = bytes(range(256)) * 4096  # 1 MiB
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class FileServer(http.server.ThreadingHTTPServer):
    """Serves CONTENT; notes the ranges asked for. `breaks_at` ends an answer early, `ranges` may be ignored."""

    daemon_threads = False  # closing waits for them, so that no socket is left open
    breaks_at: int | None = None
    knows_ranges = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FileHandler)
        self.asked: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class FileHandler(http.server.BaseHTTPRequestHandler):
    server: FileServer

    def do_GET(self) -> None:
        asked = self.headers["Range"]
        self.server.asked.append(asked)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            self.end_headers()
        elif self.path != "/file":
            self.send_error(404)
        else:
            self.send_file(int(asked[len("bytes=") : -1]) if asked and self.server.knows_ranges else 0)

    def send_file(self, start: int) -> None:
        if start >= len(CONTENT):
            self.send_error(416)
            return
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.breaks_at])

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


@pytest.fixture
def part(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors.part"


def fetch(url: str, target: Path, *, sha256: str = SHA256) -> list[tuple[int, int | None]]:
    shown: list[tuple[int, int | None]] = []
    download(url, target, sha256=sha256, progress=lambda there, total: shown.append((there, total)))
    return shown


def test_the_file_arrives_and_progress_is_told(server: FileServer, target: Path, part: Path) -> None:
    shown = fetch(f"{server.url}/file", target)

    assert target.read_bytes() == CONTENT
    assert not part.exists()
    assert shown[-1] == (1_048_576, 1_048_576)


def test_a_broken_download_is_gone_on_with(server: FileServer, target: Path, part: Path) -> None:
    server.breaks_at = 300_000
    with pytest.raises(SourceFailed, match=r"cannot be read: .*300000 bytes"):
        fetch(f"{server.url}/file", target)
    assert part.stat().st_size == 300_000
    assert not target.exists()

    server.breaks_at = None
    fetch(f"{server.url}/file", target)

    assert server.asked == [None, "bytes=300000-"]
    assert target.read_bytes() == CONTENT


def test_a_redirect_keeps_the_range(server: FileServer, target: Path, part: Path) -> None:
    part.write_bytes(CONTENT[:1000])

    fetch(f"{server.url}/moved", target)

    assert server.asked == ["bytes=1000-", "bytes=1000-"]
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_sends_the_whole_file(server: FileServer, target: Path, part: Path) -> None:
    server.knows_ranges = False
    part.write_bytes(CONTENT[:1000])

    fetch(f"{server.url}/file", target)

    assert target.read_bytes() == CONTENT


def test_a_whole_part_needs_nothing_more(server: FileServer, target: Path, part: Path) -> None:
    part.write_bytes(CONTENT)

    fetch(f"{server.url}/file", target)

    assert target.read_bytes() == CONTENT


def test_the_start_of_another_file_is_thrown_away(server: FileServer, target: Path, part: Path) -> None:
    part.write_bytes(b"something else")

    fetch(f"{server.url}/file", target)

    assert server.asked == ["bytes=14-", None]
    assert target.read_bytes() == CONTENT


def test_a_wrong_file_is_refused_and_nothing_is_left(server: FileServer, target: Path) -> None:
    with pytest.raises(SourceFailed, match="its SHA-256 differs"):
        fetch(f"{server.url}/file", target, sha256="0" * 64)

    assert list(target.parent.iterdir()) == []


def test_a_missing_file_is_told(server: FileServer, target: Path) -> None:
    with pytest.raises(SourceFailed, match="answers 404"):
        fetch(f"{server.url}/other", target)


def test_a_closed_port_is_told_at_once(target: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(SourceFailed, match="cannot be read"):
        fetch(f"http://127.0.0.1:{port}/file", target)


def test_a_server_that_never_answers_is_given_up(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (module.TIMEOUT.connect, module.TIMEOUT.read) == (5.0, 30.0)
    monkeypatch.setattr(module, "TIMEOUT", 0.05)

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(SourceFailed, match="cannot be read: timed out"):
            fetch(f"http://127.0.0.1:{port}/file", target)


def test_only_http_is_spoken(target: Path) -> None:
    with pytest.raises(SourceFailed, match=r"cannot be read: .* is missing an"):
        fetch("file:///etc/hostname", target)
