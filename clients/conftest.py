"""A real Loci server for the tests of the packages, and a stand-in for the Messages API.

`LOCI_PYTHON` is a Python that has what Loci needs (default: .venv of the checkout), `LOCI_TEST_MODELS` a folder of models.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from loci_team_memory_client import Loci

CLIENTS = Path(__file__).resolve().parent
CHECKOUT = CLIENTS.parent
PYTHON = os.environ.get("LOCI_PYTHON", str(CHECKOUT / ".venv/bin/python"))
START_S = 180


@dataclass(frozen=True)
class Server:
    """A running server with an empty store of its own, whose maintenance runs when a test says so; `token` may read, write and make groups, `loci` has it."""

    url: str
    token: str
    environment: dict[str, str]
    loci: Loci

    def manage(self, *arguments: str) -> Any:
        """The answer of a command of `loci`, as JSON."""
        command = [PYTHON, "manage.py", *arguments, "--json"]
        done = subprocess.run(command, cwd=CHECKOUT, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def new_token(self, name: str, *options: str) -> str:
        return str(self.manage("token", "create", name, *options)["secret"])

    def approve_all(self, group: str) -> None:
        """What waits in the group's Review counts from now on, as its curator decides."""
        for row in self.loci.review_candidates(group=group).items:
            self.manage("memory", "approve", row.id)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home", numbered=True)
    home.chmod(0o700)
    if models := os.environ.get("LOCI_TEST_MODELS"):
        (home / "models").symlink_to(models)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "LOCI_HOME": str(home)}
    log = home / "up.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [PYTHON, "manage.py", "up", "--no-worker", "--port", str(port)],
            cwd=CHECKOUT, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        token = _wait_for(process, log, r"Bearer (loci_[\w-]+)")
        url = f"http://127.0.0.1:{port}"
        with Loci(url, token) as loci:
            _wait_for_model(loci)
            yield Server(url, token, environment, loci)
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def _wait_for(process: subprocess.Popen[bytes], log: Path, pattern: str) -> str:
    until = time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        if found := re.search(pattern, log.read_text()):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(f"Loci did not start:\n{log.read_text()}")


def _wait_for_model(loci: Loci) -> None:
    """Until what is stored gets its vector at once."""
    until = time.monotonic() + START_S
    text = 0
    while loci.store_memory(
        f"The model answers, try {text}.", group="warm-up", type="episodic"
    ).embedding_owed:
        assert time.monotonic() < until, "the model does not load"
        time.sleep(1)
        text += 1


@pytest.fixture
def group(server: Server, request: pytest.FixtureRequest) -> str:
    """A group of the test's own."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[-40:].strip("-")
    return server.loci.add_group(f"{name}-{time.time_ns() % 10**6}").slug


@pytest.fixture
def run_quickstart(server: Server) -> Callable[..., str]:
    """Run the one program of a package's README in a process of its own; returns what it prints."""

    def run(package: str, **environment: str) -> str:
        [program] = re.findall(
            r"```python\n(.*?)```", (CLIENTS / package / "README.md").read_text(), re.DOTALL
        )
        assert len(program.splitlines()) <= 10
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
            env={**os.environ, "LOCI_URL": server.url, "LOCI_TOKEN": server.token, **environment},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@contextmanager
def serve(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server of this process."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{http.server_port}"
        finally:
            http.shutdown()


@pytest.fixture
def serving() -> Callable[..., Any]:
    return serve


@pytest.fixture
def messages_api() -> Callable[..., Any]:
    """A stand-in for the Messages API: the model calls the memory tool with these inputs, one after the other, and ends.

    Yields the address and the requests that came.
    """

    @contextmanager
    def stand_in(*inputs: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        asked: list[dict[str, Any]] = []

        class Messages(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name that http.server calls
                asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                turn = len(asked) - 1
                call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "memory"}
                is_over = turn >= len(inputs)
                content = (
                    [{"type": "text", "text": "Done."}] if is_over else [{**call, "input": inputs[turn]}]
                )
                answer = {
                    "id": f"msg_{turn}", "type": "message", "role": "assistant", "model": asked[-1]["model"],
                    "content": content, "stop_reason": "end_turn" if is_over else "tool_use", "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1},
                }  # fmt: skip
                body = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        with serve(Messages) as url:
            yield url, asked

    return stand_in
