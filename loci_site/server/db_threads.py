"""Database work of async code, in one small pool of threads that keeps its connections.

Django gives each ASGI request a thread of its own for such work, and a connection belongs to a thread:
every request would open a new one (measured: 1,344 connections for 1,340 requests, with the pool 4).
"""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")


def in_db_thread(fn: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """`fn` as a coroutine function that runs in a database thread, with the caller's context variables.

    Give it a whole unit of work, not one query: each call is a hop between threads. A caller that is
    cancelled stops waiting, but `fn` runs to its end. Settings: LOCI_DB_THREADS "pool" (the default) or
    "sensitive", which tests need because it keeps to the thread, connection and transaction of the test.
    """
    in_test_thread = sync_to_async(fn, thread_sensitive=True)

    @wraps(fn)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if getattr(settings, "LOCI_DB_THREADS", "pool") == "sensitive":
            return await in_test_thread(*args, **kwargs)
        job = partial(copy_context().run, _with_fresh_connections, partial(fn, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(_pool(), job)

    return run


def _with_fresh_connections(job: Callable[[], R]) -> R:
    """Run `job` on a usable connection: no request signal reaches these threads, so the check is ours.

    It costs microseconds, and on SQLite it never closes a connection that works.
    """
    close_old_connections()
    try:
        return job()
    finally:
        close_old_connections()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.LOCI.server.db_threads, thread_name_prefix="loci-db")
