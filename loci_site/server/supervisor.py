"""Starts as many web processes as fit this machine, restarts processes that end, and stops them all together."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from memories.embedding.concurrency import available_cores

_DEFAULT_MAX = 2  # more processes would take memory that the user did not ask Loci to take
# A process needs 300 to 500 MB for up to a million memories; the rest is for the database and other programs. The kernel
# reports about 3.8 of 4 GiB.
_BYTES_PER_PROCESS = 7 * 1024**3 // 4
# A container's memory limit, in cgroup v2 and v1.
_LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def count_web_processes(configured: int) -> int:
    """The number of web processes to run: the configured one, or for 0 what cores and memory allow, at most two.

    One process nearly uses up one core, since Python runs one thread at a time.
    """
    if configured:
        return configured
    return max(1, min(available_cores(), memory_bytes() // _BYTES_PER_PROCESS, _DEFAULT_MAX))


def memory_bytes(limit_files: Sequence[Path] = _LIMIT_FILES) -> int:
    """The memory of this machine, or the limit of this container if that is lower."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in limit_files:
        with suppress(OSError, ValueError):  # not a container, or one without a limit ("max")
            memory = min(memory, int(file.read_text(encoding="ascii")))
    return memory


logger = logging.getLogger(__name__)

FIRST_WAIT_S = 1.0  # before a restart; doubles with each death in a row
_LONGEST_WAIT_S = 30.0
_STEADY_S = 60.0  # after this time, a death starts a new row
DEATHS_IN_A_ROW = 5
STOP_S = 15.0  # for a graceful end; after that, processes are killed
CHECK_EVERY_S = 0.2
_CHECK_EAGERLY_S = 0.03  # until everything is ready
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class ServerPart:
    """A process to keep running.

    `is_vital`: the supervisor gives up once all vital parts keep dying. `is_first`: starts at once; the other parts start
    when those are ready. `fds`: file descriptors that the process inherits. `wanted`: a file that is there while the process
    is needed; without it, an end does not count as a death, and it does not start again.
    """

    name: str
    command: Sequence[str]
    is_vital: bool = False
    is_first: bool = False
    fds: Sequence[int] = ()
    wanted: Path | None = None

    @property
    def is_wanted(self) -> bool:
        return self.wanted is None or self.wanted.exists()


@dataclass
class _RunningPart:
    """A part with its current process, or the time of its next start (monotonic seconds)."""

    part: ServerPart
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    deaths: int = field(default=0)

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

    def kill_group(self) -> None:
        if self.process is None:
            return
        # The group is gone; macOS raises PermissionError for a process that ended but was not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Supervisor:
    """Runs parts until a signal arrives or every vital part keeps dying.

    The first parts start at once. Once `is_ready()` is true, `on_ready` is called and the others start: earlier, they
    would only slow the vital ones down on a small machine.
    """

    def __init__(
        self,
        parts: Sequence[ServerPart],
        *,
        env: Mapping[str, str],
        is_ready: Callable[[], bool],
        on_ready: Callable[[], None],
    ) -> None:
        self._children = [_RunningPart(part) for part in parts]
        self._env = env
        self._is_ready = is_ready
        self._on_ready = on_ready
        self._wake = threading.Event()
        self._stops = 0

    def run(self) -> bool:
        """Keep all parts running. True if a signal ended it, False if the vital parts kept dying."""
        previous = {number: signal.signal(number, self._stop) for number in _SIGNALS}
        try:
            return self._watch()
        finally:
            self._end_all()
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _watch(self) -> bool:
        was_ready = False
        while not self._stops:
            for child in self._children:
                if child.part.is_first or was_ready:
                    self._look_after(child)
            if self._is_hopeless(was_ready=was_ready):
                return False
            if not was_ready and self._is_ready():
                was_ready = True
                self._on_ready()
            self._wake.wait(CHECK_EVERY_S if was_ready else _CHECK_EAGERLY_S)
        return True

    def _is_hopeless(self, *, was_ready: bool) -> bool:
        """True if every vital part that was started has died too often in a row."""
        vital = [c for c in self._children if c.part.is_vital and (c.part.is_first or was_ready)]
        return bool(vital) and all(child.deaths >= DEATHS_IN_A_ROW for child in vital)

    def _look_after(self, child: _RunningPart) -> None:
        if child.process is None:
            if time.monotonic() >= child.start_at and child.part.is_wanted:
                child.start(self._env)
        elif child.process.poll() == 0 and not child.part.is_wanted:
            child.process = None
        elif child.process.poll() is not None:
            child.note_death(child.process)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
        self._wake.set()

    def _end_all(self) -> None:
        """Terminate every process, wait, and kill the rest; a second signal cuts the wait short."""
        running = [child for child in self._children if child.process is not None]
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
