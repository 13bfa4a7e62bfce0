"""Memory and cores of this machine, and how many web processes fit."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

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
