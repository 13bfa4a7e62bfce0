"""Keeps processes running: starts them, starts them again when they end, and ends them all together."""

import logging
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import FrameType

logger = logging.getLogger(__name__)

FIRST_WAIT_S = 1.0  # before a process that ended is started again; doubles each time
LONGEST_WAIT_S = 30.0
STEADY_S = 60.0  # a process that ran this long has not "died in a row"
DEATHS_IN_A_ROW = 5
STOP_S = 15.0  # for a graceful end, then all that is left is killed
LOOK_EVERY_S = 0.2
LOOK_EAGERLY_S = 0.03  # until everything is ready
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class ServerPart:
    """A process to keep running. Without any vital one the whole makes no sense; those that are not `first` wait for them."""

    name: str
    command: Sequence[str]
    is_vital: bool = False
    is_first: bool = False
    fds: Sequence[int] = ()


@dataclass
class RunningPart:
    """A part and the process that it is now, or when it is to be started again."""

    part: ServerPart
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    deaths: int = field(default=0)

    def start(self, env: Mapping[str, str]) -> None:
        """Start the process as the leader of its own group, out of the terminal's reach."""
        self.process = subprocess.Popen(  # noqa: S603 - our own modules
            self.part.command,
            stdin=subprocess.DEVNULL,
            env=dict(env),
            pass_fds=self.part.fds,
            start_new_session=True,
        )
        self.started_at = time.monotonic()

    def note_death(self, ended: subprocess.Popen[bytes]) -> None:
        """Kill what the process left behind, and set when it is started again."""
        now = time.monotonic()
        self.kill_group()
        self.process = None
        self.deaths = 1 if now - self.started_at >= STEADY_S else self.deaths + 1
        wait = wait_before(self.deaths)
        self.start_at = now + wait
        logger.warning(
            "The %s process ended (%s); it starts again in %g s. It was process %s.",
            self.part.name,
            reason(ended.returncode),
            wait,
            ended.pid,
        )

    def kill_group(self) -> None:
        """Kill the process and everything below it."""
        if self.process is None:
            return
        # Nothing is left; macOS says PermissionError of what has ended but was not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)


class Supervisor:
    """Runs parts until a signal comes or every vital one keeps dying.

    The first ones start at once. When `is_ready` says so, `on_ready` is called and the others start: on a small machine
    they would only keep the vital ones waiting.
    """

    def __init__(
        self,
        parts: Sequence[ServerPart],
        *,
        env: Mapping[str, str],
        is_ready: Callable[[], bool],
        on_ready: Callable[[], None],
    ) -> None:
        self._children = [RunningPart(part) for part in parts]
        self._env = env
        self._is_ready = is_ready
        self._on_ready = on_ready
        self._wake = threading.Event()
        self._stops = 0

    def run(self) -> bool:
        """Keep everything running; True where a signal ended it, False where a vital part kept dying."""
        before = {number: signal.signal(number, self._stop) for number in SIGNALS}
        try:
            return self._watch()
        finally:
            self._end_all()
            for number, handler in before.items():
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
            self._wake.wait(LOOK_EVERY_S if was_ready else LOOK_EAGERLY_S)
        return True

    def _is_hopeless(self, *, was_ready: bool) -> bool:
        """Say whether every vital part that was started has died too often in a row."""
        vital = [c for c in self._children if c.part.is_vital and (c.part.is_first or was_ready)]
        return bool(vital) and all(child.deaths >= DEATHS_IN_A_ROW for child in vital)

    def _look_after(self, child: RunningPart) -> None:
        if child.process is None:
            if time.monotonic() >= child.start_at:
                child.start(self._env)
        elif child.process.poll() is not None:
            child.note_death(child.process)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stops += 1
        self._wake.set()

    def _end_all(self) -> None:
        """Ask every process to end, wait, and kill what is left; a second signal cuts the wait short."""
        running = [child for child in self._children if child.process is not None]
        for child in running:
            if child.process is not None and child.process.poll() is None:
                child.process.terminate()
        asked, deadline = self._stops, time.monotonic() + STOP_S
        while self._stops <= max(asked, 1) and time.monotonic() < deadline:
            if all(child.process is None or child.process.poll() is not None for child in running):
                break
            time.sleep(LOOK_EAGERLY_S)
        for child in running:
            child.kill_group()
            if child.process is not None:
                child.process.wait()


def wait_before(deaths: int) -> float:
    """Give the seconds before a start after so many deaths in a row: 1, 2, 4, 8, 16, then 30."""
    return min(FIRST_WAIT_S * 2.0 ** min(deaths - 1, 10), LONGEST_WAIT_S)


def reason(code: int) -> str:
    """Say how a process ended, from Popen's return code."""
    return f"status {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"
