"""The log: its lines as text or JSON, its file with rotation, and errors whose traceback adds nothing."""

import fcntl
import json
import logging
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from itertools import pairwise
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loci_site.config import Config

LINE = "{asctime} {process} {levelname} {name}: {message}"
FILE = "loci.log"
_FILES_KEPT = 5  # older ones
# Set by `up` for its processes: commands, which may be many and short, log to stderr alone.
SERVING_VARIABLE = "LOCI_UP"


# A long run of letters and digits, or a password in an address; ids and times have shorter ones.
_MAY_HOLD_SECRET = re.compile(r"[A-Za-z0-9_]{17}|%[0-9A-Fa-f]{2}|://[^/\s]{1,200}@")


class _RefusedHost(logging.Filter):
    """Turns the error for an unknown host name into one line that names the setting."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record; always keep it."""
        request = getattr(record, "request", None)
        host = request.META.get("HTTP_HOST", "") if request is not None else ""
        record.msg = "Refused a request for host %r; if it is yours, add it to LOCI_ALLOWED_HOSTS."
        record.args = (host,)
        record.exc_info = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _without_secrets(line: str) -> str:
    """The line with secrets of a published format masked, such as a token in the address of a request that failed.

    Without a fingerprint: the log may be written before the settings are read.
    """
    if _MAY_HOLD_SECRET.search(line) is None:
        return line
    from guard import find_secrets, kind_of, mask  # noqa: PLC0415 - most processes never log such a line

    found = [each for each in find_secrets(line) if kind_of(each.kind).family == "secret"]
    return mask(line, found, fingerprint=lambda value: "masked") if found else line


class _PlainLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The line, and the traceback of an error."""
        return _without_secrets(super().format(record))


class JsonLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """The object: time (UTC), level, logger, process, message, and the traceback of an error."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": _without_secrets(record.getMessage()),
        }
        if record.exc_info:
            line["error"] = _without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class RotatingFile(WatchedFileHandler):
    """A log file that several processes append to; whoever finds it too large renames it to `.1`, `.2` and so on.

    The standard library's rotating handlers lose lines if processes share a file: each would go on writing to its own.
    This one looks before each line whether the file was renamed, and renames it under a lock.
    """

    def __init__(self, path: Path, *, max_bytes: int, kept: int) -> None:
        super().__init__(path, encoding="utf-8", delay=True)
        self._path, self._max_bytes, self._kept = path, max_bytes, kept

    def _open(self) -> TextIOWrapper:
        """The file, for its owner only."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
        return super()._open()

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; a full disk or a missing folder loses the line and nothing else."""
        try:
            super().emit(record)
            if self.stream is not None and os.fstat(self.stream.fileno()).st_size >= self._max_bytes:
                self._rotate()
        except OSError:
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: the line is on stderr as well, and a traceback for each line would bury it."""

    def _rotate(self) -> None:
        with (self._path.parent / f".{self._path.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if self._path.stat().st_size < self._max_bytes:  # another process was first
                return
            names = [self._path, *(Path(f"{self._path}.{number}") for number in range(1, self._kept + 1))]
            for newer, older in reversed([*pairwise(names)]):
                if newer.exists():
                    newer.replace(older)
            if not self._kept:
                self._path.unlink()


def logging_settings(config: "Config", env: Mapping[str, str]) -> dict[str, Any]:
    """Django's LOGGING. The processes of `up` also write to LOCI_HOME/logs/loci.log."""
    level = config.server.log_level
    # Always stderr: with `mcp --stdio`, stdout belongs to the protocol.
    handlers: dict[str, dict[str, Any]] = {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}}
    if env.get(SERVING_VARIABLE) == "1" and config.server.log_file_mb:
        handlers["file"] = {"()": file_handler, "config": config, "formatter": "line"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": line_format, "form": config.server.log_format}},
        "filters": {"refused_host": {"()": _RefusedHost}},
        "handlers": handlers,
        "root": {"handlers": [*handlers], "level": level},
        "loggers": {
            # Django configures handlers for these two; here everything goes through the root logger.
            "django": {"handlers": [], "level": level, "propagate": True},
            "django.server": {"handlers": [], "propagate": True},
            "django.security.DisallowedHost": {"filters": ["refused_host"]},
            # These log several lines per request at INFO.
            "mcp.server.streamable_http_manager": {"level": "WARNING"},
            "mcp.server.streamable_http": {"level": "WARNING"},
            "httpx2": {"level": "WARNING"},
            # This logs codes and tokens at DEBUG.
            "oauthlib": {"level": "INFO"},
            # So does this; at INFO it counts six kinds of expired rows each day, most of them 0.
            "oauth2_provider": {"level": "WARNING"},
        },
    }


def line_format(form: str) -> logging.Formatter:
    return JsonLine() if form == "json" else _PlainLine(LINE, style="{")


def file_handler(config: "Config") -> RotatingFile:
    """The handler of LOCI_HOME/logs/loci.log, which opens the file with the first line."""
    server = config.server
    return RotatingFile(config.home / "logs" / FILE, max_bytes=server.log_file_mb * 1024**2, kept=_FILES_KEPT)


def log_to_file(config: "Config") -> None:
    """Write what this process logs to the file too."""
    if config.server.log_file_mb:
        handler = file_handler(config)
        handler.setFormatter(line_format(config.server.log_format))
        logging.getLogger().addHandler(handler)
