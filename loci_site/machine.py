"""What this machine has, and how many web processes fit it."""

import os
from pathlib import Path

from memories.embedding.cores import available_cores

MOST_UNASKED = 2  # more would take memory that nobody asked to be taken
MEMORY_EACH = (
    2 * 1024**3
)  # a process needs 300 to 500 MB up to a million memories; the rest is for the database and others
LIMIT_FILE = Path("/sys/fs/cgroup/memory.max")  # a container's own limit


def web_processes(wanted: int) -> int:
    """Give how many web processes to run: those wanted, or for 0 one for each core that has memory, at most two.

    One process answers most of what one core can, since Python works in one thread at a time.
    """
    if wanted:
        return wanted
    return max(1, min(available_cores(), memory_bytes() // MEMORY_EACH, MOST_UNASKED))


def memory_bytes(limit_file: Path = LIMIT_FILE) -> int:
    """Give the memory that the processes of this machine, or of this container, may take together."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(memory, int(limit_file.read_text(encoding="ascii")))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return memory
