"""A real `up` in a home of its own; what waits here waits for the process itself, never for the clock."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.settings import REPOSITORY

READY = "Ctrl-C stops everything."
WEB_READY = "Application startup complete."  # said at DEBUG alone
WORKER_READY = "celery.apps.worker: celery@"  # said at DEBUG alone
LONGEST_S = 200


@dataclass
class Running:
    """A started `up`: its output so far, its address, its processes."""

    process: subprocess.Popen[str]
    home: Path
    port: int
    lines: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def read_until(self, text: str) -> str:
        """The line that contains the text; fails with the whole output if the process ends before."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if text in line:
                return line
        raise AssertionError(f"{text!r} was never said:\n{self.output}")

    def health(self) -> tuple[int, dict[str, Any]]:
        """The answer of /health; while the web process restarts, the request waits in the open socket."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=LONGEST_S) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as failing:
            with failing:
                return failing.code, json.load(failing)

    def child(self, name: str) -> int:
        """Process id of the web or worker process."""
        (pid,) = self.children(name)
        return pid

    def children(self, name: str) -> list[int]:
        """Process ids of all web or worker processes."""
        return sorted(pid for pid in children_of(self.process.pid) if f"loci_site.{name}" in command_of(pid))

    def stop(self, number: int = signal.SIGINT) -> int:
        """Send a signal, read the output, return the exit status."""
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)
        return self.process.wait(LONGEST_S)


@contextmanager
def running(
    home: Path, *, with_worker: bool = False, web_processes: int = 1, folder: Path = REPOSITORY
) -> Iterator[Running]:
    """Start `up` in a folder without fetching a model, wait until it says that it is ready, and end it in any case."""
    port = free_port()
    env = (
        environment(home)
        | {"LOCI_WEB_PROCESSES": str(web_processes)}
        | ({"LOCI_LOG_LEVEL": "DEBUG"} if with_worker or web_processes > 1 else {})
    )
    options = () if with_worker else ("--no-worker",)
    process = subprocess.Popen(
        [sys.executable, str(REPOSITORY / "manage.py"), "up", "--port", str(port), "--no-model", *options],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        run = Running(process, home, port)
        try:
            run.read_until(READY)
            if with_worker:
                run.read_until(WORKER_READY)
            yield run
        finally:
            if process.poll() is None:
                run.stop()


def manage(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=LONGEST_S,
        check=False,
    )


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "LOCI_HOME": str(home), "DJANGO_SETTINGS_MODULE": "loci_site.settings"}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def children_of(parent: int) -> list[int]:
    """Ids of a process's children."""
    stats = (
        (int(path.name), _text(path / "stat")) for path in Path("/proc").iterdir() if path.name.isdigit()
    )
    # The name, in brackets, may hold anything; the parent is the second field after it.
    return [pid for pid, stat in stats if stat and int(stat.rpartition(")")[2].split()[1]) == parent]


def command_of(pid: int) -> str:
    return _text(Path(f"/proc/{pid}/cmdline")).replace("\0", " ")


@dataclass
class Handle:
    """Holds on to a process, whoever its parent is."""

    fd: int

    def has_ended(self) -> bool:
        """Wait for its end; False where it does not come."""
        return bool(select.select([self.fd], [], [], LONGEST_S)[0])


@contextmanager
def held(*pids: int) -> Iterator[list[Handle]]:
    fds = [os.pidfd_open(pid) for pid in pids]
    try:
        yield [Handle(fd) for fd in fds]
    finally:
        for fd in fds:
            os.close(fd)


def found(pattern: str, text: str) -> str:
    """The pattern's group in the text; fails without a match."""
    match = re.search(pattern, text)
    assert match, f"{pattern} is not in:\n{text}"
    return match[1]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:  # it ended meanwhile
        return ""
