"""A lock that lets one process at a time scan watched folders."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the lock, after waiting for others."""
    with (Path(settings.LOCI.home) / "watching.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
