"""Only one process looks through watched folders at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the lock; waits for others."""
    with (Path(settings.LOCI.home) / "watching.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
