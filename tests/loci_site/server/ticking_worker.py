"""A real worker that does nothing but tick, and the process that keeps it running as `up` does.

`python -m tests.loci_site.server.ticking_worker` starts the worker, `… keep` the supervisor over it. What happens is written to the
file that TICKS names, one JSON object a line, with one write each.
"""

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import django
from celery.signals import task_prerun, worker_ready

from loci_site.server.supervisor import ServerPart, Supervisor

TICKS = "LOCI_PROOF_TICKS"
BUSY = "LOCI_PROOF_BUSY"  # so many other jobs that never end
WORK_S = "LOCI_PROOF_WORK"  # how long the job takes
JOB = "tick"
EVERY = timedelta(seconds=2)
TICK = timedelta(seconds=1)
HELD = timedelta(seconds=4)  # a killed worker's lock is free after this


def note(what: str, **more: Any) -> None:
    """Add a line to the file; lines of several processes never mix."""
    line = json.dumps({"what": what, "at": time.time(), "pid": os.getpid(), **more}) + "\n"
    file = os.open(Path(os.environ[TICKS]), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def work() -> None:
    """Run the worker that `up` runs, with one quick job instead of Loci's own."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    from maintenance import jobs, schedule

    jobs.LONGEST_TICK = TICK
    schedule.JOBS = (
        *(
            jobs.Job(f"busy-{n}", every=EVERY, work=wait_for_ever)
            for n in range(int(os.environ.get(BUSY, "0")))
        ),
        jobs.Job(JOB, every=EVERY, work=tick, held=HELD),
        jobs.Job(jobs.HEARTBEAT, every=EVERY, work=lambda actor: note("beat"), held=HELD),
    )
    from loci_site.worker import process as worker

    # Celery keeps weak references, so these must have names.
    task_prerun.connect(note_message)
    worker_ready.connect(note_ready)
    worker.main(sys.argv[1:])


def tick(actor: Any) -> None:
    """The job: it notes its begin and its end."""
    note("ran")
    time.sleep(float(os.environ.get(WORK_S, "0")))
    note("done")


def wait_for_ever(actor: Any) -> None:
    """A job that takes longer than any test."""
    note("busy")
    time.sleep(3600)


def note_message(task_id: str, **_: Any) -> None:
    """A message was taken that had not expired."""
    note("message", id=task_id)


def note_ready(**_: Any) -> None:
    """The worker is connected to its broker."""
    note("ready")


def keep() -> None:
    """Keep the worker running until a signal comes."""
    command = [sys.executable, "-m", "tests.loci_site.server.ticking_worker", "--parent", str(os.getpid())]
    supervisor = Supervisor(
        [ServerPart("worker", command)], ServerPart("preparing", [sys.executable, "-c", ""]), env=os.environ
    )
    supervisor.run()


if __name__ == "__main__":
    keep() if sys.argv[1:] == ["keep"] else work()
