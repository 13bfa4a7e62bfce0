"""The watching process: scans folders after a change that the file system reports, or at intervals."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from django.db import DatabaseError, close_old_connections
from watchfiles import watch

from access.actor import ALL_SCOPES, Actor, Via
from access.errors import LociError
from sources.models import WatchedFolder, WatchState
from sources.watching.disk import QUIET_S, is_note
from sources.watching.folders import add_from_config, show_wanted, wanted_mark
from sources.watching.scan import FolderReport, one_at_a_time, scan_folder

_SCAN_S = 30.0  # between full scans; changes are noticed at once
POLL_S = 2.0  # between scans if the file system reports no changes
logger = logging.getLogger(__name__)
logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it tells of each change

LOOK_S: Final = 0.2  # between two looks at what is due
_ROWS_S: Final = 2.0  # between two looks at which folders there are
_ROOMS_S: Final = 15.0
_SHARE: Final = 20  # a large folder is looked through for a twentieth of the time
_STEP_MS: Final = 50
PROCESS: Final = Actor(name="watching", via=Via.JOB, scopes=ALL_SCOPES, all_groups=True)


class _FolderWatch:
    """When a folder is due: soon after a change that its own thread hears, else at intervals."""

    def __init__(self, folder: WatchedFolder) -> None:
        self.key, self.poll, self.due_at = folder.key, folder.poll, 0.0
        self._path, self._stop = folder.path, threading.Event()
        self._is_told = not folder.poll  # False too where the file system reports no changes
        if self._is_told:
            threading.Thread(target=self._listen, name=f"loci-watch {self._path}", daemon=True).start()

    def _listen(self) -> None:
        try:
            for changes in watch(
                self._path, stop_event=self._stop, debounce=int(QUIET_S * 1000), step=_STEP_MS, watch_filter=None,
                rust_timeout=1000, yield_on_timeout=False, raise_interrupt=False, ignore_permission_denied=True,
            ):  # fmt: skip
                if any(is_note(Path(path).name) or "." not in Path(path).name for _, path in changes):
                    self.due_at = min(self.due_at, time.monotonic())
        except Exception as error:
            logger.warning(
                "Changes in %s are not reported (%s); it is looked through regularly.", self._path, error
            )
        self._is_told = False

    def note(self, report: FolderReport) -> None:
        often = max(POLL_S, _SHARE * report.seconds)
        wait = QUIET_S if report.again else _SCAN_S if self._is_told else often
        self.due_at = time.monotonic() + wait

    def stop(self) -> None:
        self._stop.set()


class WatchLoop:
    """Watches all folders until stopped or until none is left; calls `refresh_rooms` at intervals."""

    def __init__(self, stop: threading.Event, refresh_rooms: Callable[[], None] = lambda: None) -> None:
        self._stop = stop
        self._write_rooms = refresh_rooms
        self._watches: dict[int, _FolderWatch] = {}
        self._rooms_at = 0.0

    def run(self) -> None:
        """Watch; returns when nothing needs to be watched."""
        for wrong in add_from_config(PROCESS):
            logger.warning("%s", wrong)
        rows_at = 0.0
        try:
            while not self._stop.is_set():
                if time.monotonic() >= rows_at:
                    close_old_connections()
                    show_wanted()
                    if not wanted_mark().exists():
                        return
                    self._follow_rows()
                    rows_at = time.monotonic() + _ROWS_S
                self._scan_due()
                self._refresh_rooms()
                self._stop.wait(LOOK_S)
        finally:
            for each in self._watches.values():
                each.stop()

    def _follow_rows(self) -> None:
        rows = {row.key: row for row in WatchedFolder.objects.exclude(state=WatchState.PAUSED)}
        for key in [
            key for key, each in self._watches.items() if key not in rows or each.poll != rows[key].poll
        ]:
            self._watches.pop(key).stop()
        for key, row in rows.items():
            if key not in self._watches:
                self._watches[key] = _FolderWatch(row)

    def _scan_due(self) -> None:
        for key, each in self._watches.items():
            if time.monotonic() < each.due_at or self._stop.is_set():
                continue
            each.due_at = float("inf")  # a change that is heard from here on makes it due again
            report = _scan_safely(key)
            is_heard = each.due_at != float("inf")
            each.note(FolderReport(again=True) if is_heard else report)

    def _refresh_rooms(self) -> None:
        if time.monotonic() >= self._rooms_at:
            try:
                self._write_rooms()
            except (LociError, OSError, DatabaseError) as error:
                logger.warning("The rooms on disk could not be written: %s", error)
            self._rooms_at = time.monotonic() + _ROOMS_S


def _scan_safely(key: int) -> FolderReport:
    """Scan a folder; a failure is logged and the scan repeated later."""
    start = time.monotonic()
    try:
        with one_at_a_time():
            folder = WatchedFolder.objects.select_related("group").filter(key=key).first()
            report = scan_folder(folder) if folder is not None else FolderReport()
    except (LociError, OSError, DatabaseError) as error:
        logger.warning("A watched folder could not be read: %s", error)
        return FolderReport()
    if report.counts:
        did = ", ".join(f"{count} {name}" for name, count in report.counts.items())
        logger.info("Watched folder %s: %s", folder.name if folder else key, did)
    return replace(report, seconds=time.monotonic() - start)
