"""A real server process on a free port of 127.0.0.1, which a proof may kill."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.proof.home import Home
from bench.proof.proof import REPOSITORY, ProofError
from bench.speed.calls import cpu_ms

START_S = 180  # beside writers, on a busy machine
STOP_S = 30
LOOK_S = 0.5
STARTED_MS = 500  # of CPU time, which a process takes before it answers
# Words of a log that no proof may bring about.
BAD_WORDS = ("Traceback (most recent call last)", "database is locked", " ERROR ", " CRITICAL ")


@dataclass
class Server:
    """A running server; its log is kept where the proof says."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    killed: bool = field(default=False)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it with SIGKILL, and make sure that this is what ended it, with all that it had started.

        Raises ProofError where it had ended before: then nothing was killed and the round shows nothing.
        """
        if self.process.poll() is not None:
            raise ProofError(
                f"The server had ended by itself with {self.process.returncode}; see {self.log}."
            )
        os.kill(self.process.pid, signal.SIGKILL)
        self.killed = True
        status = self.process.wait(timeout=STOP_S)
        if status != -signal.SIGKILL:
            raise ProofError(f"The server ended with {status}, not by our signal; see {self.log}.")
        deadline = time.monotonic() + STOP_S
        while is_open(self.port):
            if time.monotonic() > deadline:
                raise ProofError(f"What the killed server had started lives on; see {self.log}.")
            time.sleep(0.05)

    def stop(self) -> None:
        """Ask it to end, as Ctrl-C does."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


@contextmanager
def running(
    home: Home,
    log: Path,
    *,
    supervised: bool = False,
    variables: Mapping[str, str] = {},
    port: int | None = None,
) -> Iterator[Server]:
    """Start the server as start() does; it is stopped in the end unless it was killed."""
    server = start(home, log, supervised=supervised, variables=variables, port=port)
    try:
        yield server
    finally:
        if not server.killed:
            server.stop()


def start(
    home: Home,
    log: Path,
    *,
    supervised: bool = False,
    variables: Mapping[str, str] = {},
    port: int | None = None,
) -> Server:
    """Start a web process in `home`, adding its words to `log`, and wait until its port is open.

    `supervised` starts `manage.py up`, which runs two web processes and the worker below itself. `variables` are added
    to its environment. `port` is that of a server that has ended.
    """
    port = port or free_port()
    command = [sys.executable, *(["manage.py", "up"] if supervised else ["-m", "loci_site.server.web"])]
    environment = home.environment | {
        "LOCI_HOST": "127.0.0.1",
        "LOCI_PORT": str(port),
        "LOCI_WEB_PROCESSES": "2",
        **variables,
    }
    with log.open("ab") as words:
        process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=words, stderr=words)
    server = Server(process, port, log)
    try:
        _wait_until_open(server)
    except BaseException:
        server.stop()
        raise
    return server


def web_processes(up: int) -> list[int]:
    """The ids of the idle web processes of an `up`; those that answer."""
    found = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(up)], capture_output=True, text=True, check=True
    )
    lines = [line.split(maxsplit=1) for line in found.stdout.splitlines()]
    pids = [int(pid) for pid, command in lines if "loci_site.server.web" in command]
    before = [cpu_ms(pid) for pid in pids]
    time.sleep(LOOK_S)
    return [
        pid
        for pid, ms in zip(pids, before, strict=True)
        if ms > STARTED_MS and cpu_ms(pid) - ms < LOOK_S * 50
    ]


def bad_lines(log: Path) -> list[str]:
    """The lines of a log that report a fault."""
    if not log.exists():
        return []
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [f"{log.name}:{n}: {line}" for n, line in enumerate(lines, 1) if any(w in line for w in BAD_WORDS)]


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    """Say whether somebody listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _wait_until_open(server: Server) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise ProofError(f"The server ended with {server.process.returncode}; see {server.log}.")
        if is_open(server.port):
            return
        time.sleep(0.02)
    raise ProofError(f"The server did not open its port within {START_S} s; see {server.log}.")
