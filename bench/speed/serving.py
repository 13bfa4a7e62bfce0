"""A copy of a built store, and web processes that serve it."""

import math
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.proof.home import Home, environment
from bench.proof.proof import FOLDER, REPOSITORY
from bench.proof.server import is_open
from bench.speed.calls import Agent, cpu_ms

START_S = 120
STOP_S = 30
IDLE_MS = 30  # of CPU time in half a second: less, and nothing is at work


@dataclass(frozen=True)
class Serving:
    """A web process on a socket that others can share, and when it was started (time.perf_counter, seconds)."""

    home: Home
    sock: socket.socket
    process: subprocess.Popen[bytes]
    began: float

    @property
    def port(self) -> int:
        """Where it answers, on 127.0.0.1."""
        port: int = self.sock.getsockname()[1]
        return port

    @property
    def pid(self) -> int:
        """The process's id."""
        return self.process.pid


@contextmanager
def copied(built: Path) -> Iterator[Home]:
    """A copy of a built store that may be written to."""
    path = built.with_name(f"{built.name}.copy")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(built, path, symlinks=True)
    migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]  # it may be older than the code
    subprocess.run(migrate, cwd=REPOSITORY, env=environment(path), check=True)
    try:
        yield Home(path, "")
    finally:
        shutil.rmtree(path)


@contextmanager
def served(home: Home, *, beside: Serving | None = None) -> Iterator[Serving]:
    """Start a web process on a socket of its own, which listens then, or on that of one `beside` it, where it comes to."""
    sock = beside.sock if beside else socket.socket()
    if beside is None:
        sock.bind(("127.0.0.1", 0))
    sock.set_inheritable(True)
    port, log = sock.getsockname()[1], FOLDER / "speed" / "server.log"
    env = home.environment | {"LOCI_HOST": "127.0.0.1", "LOCI_PORT": str(port)}
    command = [sys.executable, "-m", "loci_site.server.web", "--fd", str(sock.fileno())]
    began = time.perf_counter()
    with log.open("ab") as words:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=env, stdout=words, stderr=words, pass_fds=[sock.fileno()]
        )
    try:
        while not is_open(port):
            if process.poll() is not None or time.perf_counter() - began > START_S:
                raise RuntimeError(f"The server did not start; see {log}.")
            time.sleep(0.005)
        yield Serving(home, sock, process, began)
    finally:
        process.terminate()
        try:
            process.wait(timeout=STOP_S)
        finally:
            process.kill()
            if beside is None:
                sock.close()


def until_ready(agent: Agent, facts: dict[str, Any], pid: int) -> None:
    """Wait for the model, and until the vectors are read: then the process has nothing to do."""
    deadline = time.monotonic() + START_S
    while agent.recall(facts["questions"]["main"][1], "main").get("degraded"):
        if time.monotonic() > deadline:
            raise RuntimeError("The model was never there.")
        time.sleep(0.1)
    until_idle(pid)
    for question in facts["questions"]["four"][-10:]:
        agent.recall(question, "four")


def until_idle(pid: int) -> None:
    """Wait until the process has nothing to do."""
    deadline = time.monotonic() + START_S
    before = -math.inf
    while (now := cpu_ms(pid)) - before > IDLE_MS and time.monotonic() < deadline:
        before = now
        time.sleep(0.5)
