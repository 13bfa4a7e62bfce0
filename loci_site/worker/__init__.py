"""Background work: a Celery worker with its own clock, whose messages go through Redis if REDIS_URL is set, else its memory.

A lost or late message does no harm: it only checks whether a job is due, and the next one checks again.
"""

import logging
import os
from importlib import import_module
from typing import Any

import django
from celery import Celery
from celery.signals import import_modules, setup_logging
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
# Seconds between two looks at the messages in memory; with Celery's default of 1 s, 33 of 50 messages took more than 4 s.
_POLLING_S = 0.5
QUEUE = "loci"
THREADS = 2


def broker_settings(redis_url: str) -> dict[str, Any]:
    if redis_url:
        return {"broker_url": redis_url}
    # Without a host, kombu warns at each start.
    return {
        "broker_url": "memory://localhost",
        "broker_transport_options": {"polling_interval": _POLLING_S},
    }


# Celery's fixup for Django would put the current folder first among the places of modules.
app = Celery("loci", fixups=())
app.conf.update(
    **broker_settings(settings.LOCI.redis_url),
    accept_content=["json"],
    task_serializer="json",
    task_ignore_result=True,
    task_default_queue=QUEUE,
    worker_pool="threads",
    worker_concurrency=THREADS,
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
    # Reconnect even after Redis was down for an hour; Celery would give up after 100 tries.
    broker_connection_max_retries=None,
    # The database knows which jobs are due; Celery's file of last runs would only be one more file that a kill can break.
    beat_scheduler="celery.beat:Scheduler",
    beat_max_loop_interval=5,
    timezone="UTC",
)


@import_modules.connect  # type: ignore[untyped-decorator]  # Celery has no types
def load_tasks(**_: Any) -> None:
    """Load the task. Celery's setting `imports` would look for it in the current folder first."""
    django.setup()
    import_module("loci_site.worker.tasks")


@setup_logging.connect  # type: ignore[untyped-decorator]  # Celery has no types
def keep_logging(**_: Any) -> None:
    """Keep the logging of Django's settings; without a receiver of this signal, Celery sets up its own."""
    if settings.LOCI.server.log_level != "DEBUG":
        # They log several lines a minute for routine work.
        for name in ("celery", "kombu"):
            logging.getLogger(name).setLevel(logging.WARNING)
