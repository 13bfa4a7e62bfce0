"""The worker: starts the jobs of maintenance.schedule that are due.

The database says what is due and who does it, so a killed worker and a second one do no harm.
"""

import logging
import shutil
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

from django.conf import settings
from django.db import OperationalError, connections

from loci_site.server.process import take_short_turns
from maintenance.jobs import HEARTBEAT, Job, run_job
from maintenance.schedule import JOBS
from memories.embedding.concurrency import ENDING, spare_a_core
from storage.home import ensure_home

THREADS = 2
_LOOK_S = 0.2  # between two looks at the clock
logger = logging.getLogger(__name__)


def run(stop: threading.Event) -> None:
    """Ask each job at its ticks whether it is due, until `stop`; then end with the jobs under way.

    The heartbeat has a thread of its own, however long the other jobs take. A job that waits for a thread or is under way
    is not asked again, so no backlog builds up.
    """
    shutil.rmtree(ensure_home(settings.LOCI.home) / "queue", ignore_errors=True)  # of an earlier version
    take_short_turns()
    spare_a_core()
    asked: dict[str, Future[None]] = {}
    next_tick = dict.fromkeys((job.name for job in JOBS), 0.0)  # what was missed is asked at once
    with ThreadPoolExecutor(1, "loci-heartbeat") as own, ThreadPoolExecutor(THREADS, "loci-job") as shared:
        logger.debug("The worker is ready.")
        while not stop.wait(_LOOK_S):
            now = time.monotonic()
            for job in JOBS:
                if now < next_tick[job.name] or (job.name in asked and not asked[job.name].done()):
                    continue
                next_tick[job.name] = now + job.tick.total_seconds()
                asked[job.name] = (own if job.name == HEARTBEAT else shared).submit(_run_if_due, job)
        ENDING.set()  # a job that embeds stops after the current text; else `up` kills the worker
        shared.shutdown(cancel_futures=True)


def _run_if_due(job: Job) -> None:
    """Run the job if it is due. Its row has what went wrong, and a later tick tries again."""
    try:
        run_job(job)
    except Exception as error:
        logger.error("%s failed: %s", job.name, error, exc_info=not isinstance(error, OperationalError))
    finally:
        connections.close_all()
