"""What the numbers were measured on, in one line without names or dates."""

import os
import platform
from pathlib import Path

from storage.sqlite.driver import DRIVER


def machine() -> str:
    """Give processor, cores, memory, system, Python and SQLite."""
    library = DRIVER.module.sqlite_version if DRIVER.module is not None else "none"
    parts = [
        f"{os.cpu_count()} cores of {_processor()}",
        f"{_memory_gib():.0f} GiB",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"SQLite {library}",
    ]
    return ", ".join(parts)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _memory_gib() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**30
