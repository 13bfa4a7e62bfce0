"""What this machine, or this container, has: cores and memory."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# A container's share of the processor: microseconds that it may work in a period, and the period.
_QUOTA_FILES = (
    (Path("/sys/fs/cgroup/cpu.max"),),
    (Path("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), Path("/sys/fs/cgroup/cpu/cpu.cfs_period_us")),
)
# A container's memory limit, in cgroup v2 and v1.
_LIMIT_FILES = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def available_cores(quota_files: Sequence[Sequence[Path]] = _QUOTA_FILES) -> int:
    """The number of cores that this process may use; a fraction of a container's quota counts as one."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    for files in quota_files:
        with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
            quota, period = map(int, " ".join(file.read_text(encoding="ascii") for file in files).split())
            if quota > 0 < period:
                cores = min(cores, -(-quota // period))
    return cores


def memory_bytes(limit_files: Sequence[Path] = _LIMIT_FILES) -> int:
    """The memory of this machine, or the limit of this container if that is lower."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in limit_files:
        with suppress(OSError, ValueError):  # not a container, or one without a limit ("max")
            memory = min(memory, int(file.read_text(encoding="ascii")))
    return memory
