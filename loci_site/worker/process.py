"""The worker process: Celery with its clock and a small pool of threads."""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from loci_site.server.parent_watch import end_with_parent
from loci_site.server.runtime_tuning import take_short_turns
from loci_site.worker import app, queue_folders
from memories.embedding.concurrency import spare_a_core
from storage.home import ensure_home

NICENESS = 10  # answers come first: a job gets a tenth of a core that a web process wants
AUTOGROUP = Path("/proc/self/autogroup")
THREADS = 2  # one may be busy for long while the other sends the heartbeat


def main(argv: Sequence[str] | None = None) -> None:
    """Process the queue until a signal arrives."""
    parser = argparse.ArgumentParser(prog="python -m loci_site.worker.process")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    parent = parser.parse_args(argv).parent
    if parent:
        end_with_parent(parent)
    take_short_turns()
    prefer_other_processes()
    spare_a_core()
    create_queue_folders()
    # `up` has run the relevant checks; Celery's would import every view.
    os.environ["CELERY_SKIP_CHECKS"] = "1"
    # Root is dangerous with pickled messages; ours are JSON, and root is common in containers.
    warnings.filterwarnings("ignore", message=".*superuser privileges.*")
    app.worker_main(worker_options())


def prefer_other_processes() -> None:
    """Lower this process's priority, and that of its session: Linux weighs sessions before the processes in them."""
    os.nice(NICENESS)
    if sys.platform == "linux" and os.getsid(0) == os.getpid():
        with suppress(OSError):  # a kernel that does not group by session
            AUTOGROUP.write_text(str(NICENESS), encoding="ascii")


def worker_options() -> list[str]:
    """The arguments of the `celery` command."""
    level = settings.LOCI.server.log_level
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    return ["--quiet", "worker", "-B", "--pool", "threads", "-c", str(THREADS), "-l", level, *quiet]


def create_queue_folders() -> None:
    """Create the file broker's folders with access for their owner only."""
    ensure_home(settings.LOCI.home)
    for folder in queue_folders(settings.LOCI.home):
        folder.mkdir(mode=0o700, exist_ok=True)


if __name__ == "__main__":
    main()
