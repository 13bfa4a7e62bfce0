"""A real server process on a free port of 127.0.0.1, which a proof may kill, and what processes cost."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from bench.proof.home import COMMAND_S, Home
from bench.proof.proof import REPOSITORY, ProofError, wait_until

START_S = 180  # beside writers, on a busy machine
STOP_S = 30
LOOK_S = 0.5
IDLE_SHARE = 0.05  # of a core
STARTED_MS = 500  # of CPU time, which a process takes before it answers
# Words of a log that no proof may bring about.
BAD_WORDS = ("Traceback (most recent call last)", "database is locked", " ERROR ", " CRITICAL ")


@dataclass
class Server:
    """A running server; its log is kept where the proof says. `began` is of time.perf_counter()."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    began: float = field(default_factory=time.perf_counter)
    killed: bool = False

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The id of its first process."""
        return self.process.pid

    def kill(self) -> None:
        """End it with SIGKILL, and make sure that this is what ended it, with all that it had started.

        Raises ProofError where it had ended before: then nothing was killed and the round shows nothing.
        """
        kill(self.process, f"The server ({self.log.name})")
        self.killed = True
        fault = f"What the killed server had started lives on; see {self.log}."
        wait_until(lambda: not is_open(self.port), fault, seconds=STOP_S)

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
def running(home: Home, log: Path, **options: object) -> Iterator[Server]:
    """Start the server as start() does, with its options; it is stopped in the end unless it was killed."""
    server = start(home, log, **options)  # type: ignore[arg-type]
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
    checkout: Path = REPOSITORY,
) -> Server:
    """Start a web process in `home`, adding its words to `log`, and wait until its port is open.

    `supervised` starts `manage.py up`, which runs two web processes and the worker below itself. `variables` are added
    to its environment. `port` is that of a server that has ended. `checkout` is the code that runs.
    """
    port = port or free_port()
    command = [sys.executable, *(["manage.py", "up"] if supervised else ["-m", "loci_site.server.web"])]
    own = {"LOCI_HOST": "127.0.0.1", "LOCI_PORT": str(port), "LOCI_WEB_PROCESSES": "2"}
    return spawn(command, port, log, home.environment | own | {**variables}, cwd=checkout)


def spawn(
    command: Sequence[str], port: int, log: Path, environment: dict[str, str], *, cwd: Path = REPOSITORY
) -> Server:
    """Start a program that listens on `port`, and wait until it does."""
    with log.open("ab") as words:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=words, stderr=words)
    server = Server(process, port, log)

    def has_opened() -> bool:
        if process.poll() is not None:
            raise ProofError(f"The server ended with {process.returncode}; see {log}.")
        return is_open(port)

    try:
        fault = f"The server did not open its port within {START_S} s; see {log}."
        wait_until(has_opened, fault, seconds=START_S, every_s=0.01)
    except BaseException:
        server.stop()
        raise
    return server


def kill(process: "subprocess.Popen[bytes] | subprocess.Popen[str]", what: str) -> None:
    """End a process with SIGKILL. Raises ProofError where something else ended it."""
    if process.poll() is not None:
        raise ProofError(f"{what} had ended by itself with {process.returncode}.")
    process.send_signal(signal.SIGKILL)
    if process.wait(timeout=STOP_S) != -signal.SIGKILL:
        raise ProofError(f"{what} ended with {process.returncode}, not by our signal.")


def killed(
    home: Home,
    *words: str,
    log: Path,
    begun: Callable[[], bool],
    after_s: float,
    with_children: bool = False,
    **streams: Any,
) -> bool:
    """Start a command of Loci and kill it so long after it has begun; False where it was over before."""
    with log.open("a", encoding="utf-8") as said:
        process = home.start(*words, **{"stdout": said, "stderr": said} | streams)
        wait_until(
            lambda: process.poll() is not None or begun(),
            f"{words[0]} did not begin; see {log}.",
            seconds=COMMAND_S,
            every_s=0.002,
        )
        time.sleep(after_s)
        if process.poll() is not None:
            return False
        children = psutil.Process(process.pid).children(recursive=True) if with_children else []
        process.kill()
        kill_all(children)
        return process.wait(timeout=STOP_S) == -signal.SIGKILL  # it may have ended just now


def kill_all(processes: Sequence[psutil.Process]) -> None:
    """End processes with SIGKILL, and wait until they are gone. Raises ProofError where one lives on."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _, alive = psutil.wait_procs(processes, timeout=STOP_S)
    if alive:
        raise ProofError(f"{len(alive)} killed processes live on.")


def growth(size: Callable[[], int], *, by: int = 1) -> Callable[[], bool]:
    """Whether something is larger than now, by so many bytes: a command has begun to write."""
    start = size()
    return lambda: size() >= start + by


def web_processes(up: int) -> list[int]:
    """The ids of the idle web processes of an `up`; those that answer."""
    try:
        children = psutil.Process(up).children()
        pids = [child.pid for child in children if "loci_site.server.web" in " ".join(child.cmdline())]
        before, began = [cpu_ms(pid) for pid in pids], time.monotonic()
        time.sleep(LOOK_S)
        spent = [cpu_ms(pid) - ms for pid, ms in zip(pids, before, strict=True)]
        idle_ms = IDLE_SHARE * 1000 * (time.monotonic() - began)  # on a busy machine a look takes longer
    except psutil.NoSuchProcess:  # one of them ended meanwhile
        return []
    rows = zip(pids, before, spent, strict=True)
    return [pid for pid, ms, more in rows if ms > STARTED_MS and more < idle_ms]


def both_web_processes(server: Server) -> list[int]:
    """The ids of the two web processes of an `up`, as soon as both are at rest."""
    fault = f"There were never two web processes at rest; see {server.log}."
    pids: list[int] = wait_until(
        lambda: found if len(found := web_processes(server.pid)) == 2 else [], fault, seconds=300
    )
    return pids


def cpu_ms(pid: int) -> float:
    """The CPU time that a process has used so far, in ms."""
    spent = psutil.Process(pid).cpu_times()
    return (spent.user + spent.system) * 1000


def resident_mb(pid: int) -> float:
    """The memory that a process holds now, in MB."""
    return psutil.Process(pid).memory_info().rss / 2**20


def bad_lines(log: Path) -> list[str]:
    """The lines of a log that report a fault."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    return [f"{log.name}:{n}: {line}" for n, line in enumerate(lines, 1) if any(w in line for w in BAD_WORDS)]


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    """Whether something listens on this port of 127.0.0.1."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
