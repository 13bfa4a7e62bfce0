"""Starts as many web processes as fit this machine, restarts processes that end, and stops them all together."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from access.errors import Unavailable
from storage.machine import available_cores, memory_bytes

_DEFAULT_MAX = 2  # more processes would take memory that the user did not ask Loci to take
# A process needs 300 to 500 MB for up to a million memories; the rest is for the database and other programs. The kernel
# reports about 3.8 of 4 GiB.
_BYTES_PER_PROCESS = 7 * 1024**3 // 4


def count_web_processes(configured: int) -> int:
    """The most web processes to run: the configured number, or for 0 what cores and memory allow, at most two.

    One process nearly uses up one core, since Python runs one thread at a time.
    """
    if configured:
        return configured
    return max(1, min(available_cores(), memory_bytes() // _BYTES_PER_PROCESS, _DEFAULT_MAX))


logger = logging.getLogger(__name__)

FIRST_WAIT_S = 1.0  # before a restart; doubles with each death in a row
_LONGEST_WAIT_S = 30.0
_STEADY_S = 60.0  # after this time, a death starts a new row
DEATHS_IN_A_ROW = 5
STOP_S = 15.0  # for a graceful end; after that, processes are killed
CHECK_EVERY_S = 0.5
_CHECK_EAGERLY_S = 0.03  # until everything is ready
LOAD_S = 5.0  # of processor time that LoadWatch compares with _BUSY_CORES
_BUSY_CORES = 0.9
QUIET_S = 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class ServerPart:
    """A process to keep running.

    `is_vital`: the supervisor gives up once all vital parts keep dying. `is_first`: starts at once; the other parts start
    when the server is ready. `fds`: file descriptors that the process inherits. `is_wanted`: whether the process is needed,
    given the ids of the vital processes; if not it is ended, which does not count as a death.
    """

    name: str
    command: Sequence[str]
    is_vital: bool = False
    is_first: bool = False
    fds: Sequence[int] = ()
    is_wanted: Callable[[Sequence[int]], bool] = lambda _: True


class LoadWatch:
    """Whether the web processes have used nearly a core for a while, so that another one answers more.

    It stays wanted for some time after that: a start takes a second of a core.
    """

    def __init__(self) -> None:
        self._is_wanted, self._busy_at, self._read_at, self._used_s = False, 0.0, 0.0, 0.0

    def __call__(self, pids: Sequence[int]) -> bool:
        now = time.monotonic()
        if (passed := now - self._read_at) >= LOAD_S:
            used_s = sum(map(_cpu_seconds, pids))
            if used_s - self._used_s >= _BUSY_CORES * passed:
                self._is_wanted, self._busy_at = True, now
            self._is_wanted &= now - self._busy_at < QUIET_S
            self._read_at, self._used_s = now, used_s
        return self._is_wanted


def _cpu_seconds(pid: int) -> float:
    """The processor time that a process has used; 0 for one that has ended. Linux only."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@dataclass
class _RunningPart:
    """A part with its current process, or the time of its next start (monotonic seconds)."""

    part: ServerPart
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    deaths: int = 0
    is_ending: bool = False

    def start(self, env: Mapping[str, str]) -> None:
        """Start the process as leader of its own session, so that the terminal's signals do not reach it."""
        self.process = subprocess.Popen(  # noqa: S603 - our own modules
            self.part.command,
            stdin=subprocess.DEVNULL,
            env=dict(env),
            pass_fds=self.part.fds,
            start_new_session=True,
        )
        self.started_at = time.monotonic()

    def note_death(self, ended: subprocess.Popen[bytes]) -> None:
        """Kill the children it left behind, and set the time of the restart."""
        now = time.monotonic()
        self.kill_group()
        self.process = None
        self.deaths = 1 if now - self.started_at >= _STEADY_S else self.deaths + 1
        wait = restart_wait_s(self.deaths)
        self.start_at = now + wait
        logger.warning(
            "The %s process ended (%s); it restarts in %g s (it was process %s).",
            self.part.name,
            describe_exit(ended.returncode),
            wait,
            ended.pid,
        )

    def end(self) -> None:
        """Terminate the process of a part that is no longer wanted; the part has none once it has ended."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.is_ending = True
        elif self.process is not None:
            self.kill_group()
            self.process, self.is_ending = None, False

    def kill_group(self) -> None:
        if self.process is None:
            return
        # The group is gone; macOS raises PermissionError for a process that ended but was not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Supervisor:
    """Runs parts until a signal arrives or every vital part keeps dying.

    The first parts start at once, with the process that prepares the store. The others start when that one has ended, which
    waits for an answer of the server: earlier, they would only slow the first ones down on a small machine.
    """

    def __init__(self, parts: Sequence[ServerPart], preparing: ServerPart, *, env: Mapping[str, str]) -> None:
        self._children = [_RunningPart(part) for part in parts]
        self._preparing = _RunningPart(preparing)
        self._env = env
        self._wake = threading.Event()
        self._stops = 0

    def run(self) -> None:
        """Keep all parts running until a signal arrives.

        Raises:
            Unavailable: the vital parts kept dying.
            SystemExit: the store could not be prepared.
        """
        previous = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        try:
            self._watch()
        finally:
            self._end_all()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _watch(self) -> None:
        self._preparing.start(self._env)
        is_ready = False
        while not self._stops:
            for child in self._children:
                if child.part.is_first or is_ready:
                    self._look_after(child)
            if self._is_hopeless(is_ready=is_ready):
                raise Unavailable(
                    f"The web process ended {DEATHS_IN_A_ROW} times in a row; its messages are above."
                )
            if not is_ready and self._preparing.process is not None:
                if status := self._preparing.process.poll():
                    sys.exit(abs(status))
                is_ready = status == 0
            self._wake.wait(CHECK_EVERY_S if is_ready else _CHECK_EAGERLY_S)

    def _is_hopeless(self, *, is_ready: bool) -> bool:
        """True if every vital part that was started has died too often in a row."""
        vital = [
            c
            for c in self._children
            if c.part.is_vital and (c.part.is_first or (is_ready and self._wants(c)))
        ]
        return bool(vital) and all(child.deaths >= DEATHS_IN_A_ROW for child in vital)

    def _wants(self, child: _RunningPart) -> bool:
        return child.part.is_wanted([c.process.pid for c in self._children if c.part.is_vital and c.process])

    def _look_after(self, child: _RunningPart) -> None:
        is_wanted = self._wants(child)
        if child.process is None:
            if time.monotonic() >= child.start_at and is_wanted:
                child.start(self._env)
        elif child.is_ending or not is_wanted:
            child.end()
        elif child.process.poll() is not None:
            child.note_death(child.process)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
        self._wake.set()

    def _end_all(self) -> None:
        """Terminate every process, wait, and kill the rest; a second signal cuts the wait short."""
        running = [child for child in (*self._children, self._preparing) if child.process is not None]
        for child in running:
            if child.process is not None and child.process.poll() is None:
                child.process.terminate()
        stops_before, deadline = self._stops, time.monotonic() + STOP_S
        while self._stops <= max(stops_before, 1) and time.monotonic() < deadline:
            if all(child.process is None or child.process.poll() is not None for child in running):
                break
            time.sleep(_CHECK_EAGERLY_S)
        for child in running:
            child.kill_group()
            if child.process is not None:
                child.process.wait()


def restart_wait_s(deaths: int) -> float:
    """Seconds before a restart after that many deaths in a row: 1, 2, 4, 8, 16, then 30."""
    return min(FIRST_WAIT_S * 2.0 ** min(deaths - 1, 10), _LONGEST_WAIT_S)


def describe_exit(code: int) -> str:
    """How a process ended, from Popen's return code: its status or the signal."""
    return f"status {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
