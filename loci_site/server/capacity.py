"""What this machine has, and how many web processes fit it."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from memories.embedding.concurrency import available_cores

MOST_UNASKED = 2  # more would take memory that nobody asked to be taken
# A process needs 300 to 500 MB up to a million memories; the rest is for the database and others. Of 4 GiB the kernel
# leaves about 3.8 to count.
MEMORY_EACH = 7 * 1024**3 // 4
# A container's own limit, in either version of its kernel's groups.
LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def web_processes(wanted: int) -> int:
    """Give how many web processes to run: those wanted, or for 0 one for each core that has memory, at most two.

    One process answers most of what one core can, since Python works in one thread at a time.
    """
    if wanted:
        return wanted
    return max(1, min(available_cores(), memory_bytes() // MEMORY_EACH, MOST_UNASKED))


def memory_bytes(limit_files: Sequence[Path] = LIMIT_FILES) -> int:
    """Give the memory that the processes of this machine, or of this container, may take together."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in limit_files:
        with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
            memory = min(memory, int(file.read_text(encoding="ascii")))
    return memory
