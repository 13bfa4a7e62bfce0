"""Background work: Celery on Redis if REDIS_URL is set, else on files in LOCI_HOME/queue.

A lost or late message does no harm: it only checks whether a job is due, and the next one checks again.
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
# Seconds between two scans of the folder. With Celery's default of 1 s, 33 of 50 messages took more than 4 s.
POLLING_S = 0.2
QUEUE = "loci"


def broker_settings(home: Path, redis_url: str) -> dict[str, Any]:
    """Celery's settings for the broker."""
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
    """The two folders of the file broker: messages, and Celery's own state of its queues."""
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
    # Reconnect even after Redis was down for an hour; Celery would give up after 100 tries.
    broker_connection_max_retries=None,
    # The database knows which jobs are due; Celery's file of last runs would only be one more file that a kill can break.
    beat_scheduler="celery.beat:Scheduler",
    beat_max_loop_interval=5,
    timezone="UTC",
    imports=["loci_site.worker.tasks"],
)


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_logging(**_: Any) -> None:
    """Keep the logging of Django's settings; without a receiver of this signal, Celery sets up its own."""
    if settings.LOCI.server.log_level != "DEBUG":
        # They log several lines a minute for routine work.
        for name in ("celery", "kombu"):
            logging.getLogger(name).setLevel(logging.WARNING)


@beat_embedded_init.connect  # type: ignore[untyped-decorator]  # Celery has no types
def end_with_worker(**_: Any) -> None:
    """End Celery's clock, a child process of the worker, with it: an orphan would fill the next worker's queue."""
    end_with_parent(os.getppid())
