"""Background work: Celery on Redis where REDIS_URL is set, else on files in LOCI_HOME/queue.

A message may be lost or come late: it only asks whether a job is due, and the next one asks again.
"""

import logging
import os
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import beat_embedded_init, setup_logging
from django.conf import settings

from loci_site.server.parent_watch import end_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
# Seconds between two looks into the folder. At Celery's own 1 s, 33 of 50 messages came later than after 4 s.
POLLING_S = 0.2
QUEUE = "loci"


def broker_settings(home: Path, redis_url: str) -> dict[str, Any]:
    """Give Celery's settings of the broker."""
    if redis_url:
        return {"broker_url": redis_url}
    messages, control = queue_folders(home)
    folders = {
        "data_folder_in": str(messages),
        "data_folder_out": str(messages),
        "control_folder": str(control),
    }
    return {
        "broker_url": "filesystem://localhost",
        "broker_transport_options": {**folders, "polling_interval": POLLING_S},
    }


def queue_folders(home: Path) -> tuple[Path, Path]:
    """Name the two folders of the file broker: messages, and what Celery keeps of its queues."""
    return home / "queue" / "messages", home / "queue" / "control"


app = Celery("loci")
app.conf.update(
    **broker_settings(settings.LOCI.home, settings.LOCI.redis_url),
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue=QUEUE,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    # A Redis that is away for an hour is still found again; Celery would give up after 100 tries.
    broker_connection_max_retries=None,
    # What is due stands in the jobs' rows. Celery's own file of last runs would only be one more thing that a kill breaks.
    beat_scheduler="celery.beat:Scheduler",
    beat_max_loop_interval=5,
    timezone="UTC",
    imports=["loci_site.worker.tasks"],
)


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_logging(**_: Any) -> None:
    """Leave logging as Django's settings have it; Celery sets up its own where nobody answers this."""
    if settings.LOCI.server.log_level != "DEBUG":
        # Several lines a minute for work that was done as always.
        for name in ("celery", "kombu"):
            logging.getLogger(name).setLevel(logging.WARNING)


@beat_embedded_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def end_with_worker(**_: Any) -> None:
    """The clock is a process below the worker: left alone it would fill the queue of the next one."""
    end_with_parent(os.getppid())
