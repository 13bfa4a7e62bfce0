"""Database work of async code runs in small pools of threads that keep their connections.

Django starts a thread for each ASGI request, and a connection belongs to its thread, so every request would open a new
one (measured over 1,340 requests: 1,344 connections without the pool, 4 with it). Reads and writes have pools of their own,
so a recall never waits behind stores. Before either, each person waits in turn (access.limits.turns). Pages and what else is
synchronous have threads of their own as well, one each while they are made.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import cache, partial, wraps
from typing import Any, Final, ParamSpec, TypeVar

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from django.db import close_old_connections, connections

from access.limits.deadline import CURRENT, Deadline
from access.limits.turns import MAX_WAITING, PERSON, Turns
from memories.embedding.concurrency import CORES
from memories.embedding.long_texts import LONG_TEXTS, LongVectors, TextKey, VectorsNeeded, restartable
from storage.dialect import dialect

WRITE_THREADS = 8  # stores wait in them, and are written together (memories.store.together)
_WRITING_AT_ONCE = 2  # where many transactions write at a time
# A write lets the recalls that are under way end first, for so long: each of their statements would wait for its turns
# of the interpreter.
_YIELD_S = 0.05
P = ParamSpec("P")
R = TypeVar("R")


def in_db_thread(fn: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """`fn` as a coroutine function that runs in a database thread, with the caller's context variables.

    Pass a whole unit of work that only reads, not one query: each call switches threads. If the caller is cancelled, `fn`
    does not begin, or ends at its next check_time(). The setting LOCI_DB_THREADS is "pool" (the default) or "sensitive",
    which keeps the thread, connection and transaction of a test.
    """

    def work(deadline: Deadline, *args: P.args, **kwargs: P.kwargs) -> R:
        with CURRENT.holding(deadline):
            return fn(*args, **kwargs)

    queued = _run_in_pool(work, lambda: partial(read_pool().submit, PERSON.get() or ""))

    @wraps(fn)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        deadline = Deadline()
        try:
            return await queued(deadline, *args, **kwargs)
        except asyncio.CancelledError:
            deadline.abandon()
            raise

    return run


def in_write_thread(fn: Callable[P, R]) -> Callable[P, Coroutine[Any, Any, R]]:
    """`fn` as in_db_thread() makes it, for work that writes; it may need the vectors of a long text.

    `fn` then leaves its thread, and starts again once they are there (memories.embedding.long_texts). A caller that is
    cancelled meanwhile ends the embedding with its current batch.
    """

    def start(*args: P.args, **kwargs: P.kwargs) -> R:
        CORES.wait_until_free(_YIELD_S)
        return fn(*args, **kwargs)

    started_once = _run_in_pool(start, lambda: partial(write_pool().submit, PERSON.get() or ""))

    @wraps(fn)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        known: dict[TextKey, LongVectors] = {}
        while True:
            try:
                with restartable(known):
                    return await started_once(*args, **kwargs)
            except VectorsNeeded as needed:
                text = needed.text
            known[text.key] = await LONG_TEXTS.embed(text)

    return run


def _run_in_pool(
    fn: Callable[P, R], submit: Callable[[], Callable[[Callable[[], R]], "Future[R]"]]
) -> Callable[P, Coroutine[Any, Any, R]]:
    """`fn` as a coroutine function that runs in the thread that `submit()` finds."""
    in_test_thread = sync_to_async(fn, thread_sensitive=True)

    @wraps(fn)
    async def run(*args: P.args, **kwargs: P.kwargs) -> R:
        if _is_test_thread():
            return await in_test_thread(*args, **kwargs)
        job = partial(copy_context().run, _run_with_usable_connection, partial(fn, *args, **kwargs))
        return await asyncio.wrap_future(submit()(job))

    return run


def _is_test_thread() -> bool:
    """Whether database work stays in the thread of a test."""
    return bool(getattr(settings, "LOCI_DB_THREADS", "pool") == "sensitive")


def _run_with_usable_connection(job: Callable[[], R]) -> R:
    """Run `job` between two checks of the thread's connection, which Django's request signals do not reach.

    A check takes microseconds, and on SQLite it never closes a working connection.
    """
    close_old_connections()
    try:
        return job()
    finally:
        close_old_connections()


class FairPool:
    """Threads of this process; each person's jobs begin in turn."""

    def __init__(self, at_once: int, name: str) -> None:
        self._lock, self._turns = threading.Lock(), Turns[tuple["Future[Any]", Callable[[], Any]]](at_once)
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self.shutdown = self._threads.shutdown

    def submit(self, person: str, job: Callable[[], R]) -> "Future[R]":
        """Run the job in the person's turn; one that is cancelled before does not run."""
        future: Future[R] = Future()
        with self._lock:
            self._turns.add(person, (future, job))
            self._start()
        return future

    def is_full(self, person: str) -> bool:
        """Whether as many jobs of the person wait as are kept."""
        with self._lock:
            return self._turns.waiting(person) >= MAX_WAITING

    def _start(self) -> None:
        while (taken := self._turns.take()) is not None:
            person, (future, job) = taken
            self._threads.submit(self._run, person, future, job)

    def _run(self, person: str, future: "Future[R]", job: Callable[[], R]) -> None:
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(job())
        except BaseException as error:
            future.set_exception(error)
        finally:
            with self._lock:
                self._turns.done(person)
                self._start()


@cache
def read_pool() -> FairPool:
    """The threads of this process that read."""
    return FairPool(settings.LOCI.server.db_threads, "loci-db")


@cache
def write_pool() -> FairPool:
    """The threads of this process that write; reads never wait for them."""
    count = min(WRITE_THREADS, _WRITING_AT_ONCE) if dialect().hold else WRITE_THREADS
    return FairPool(count, "loci-write")


_IDLE: Final = deque[ThreadPoolExecutor]()


@asynccontextmanager
async def page_thread() -> AsyncIterator[None]:
    """A thread for the synchronous code of one request, which keeps its connection for later ones.

    A page never waits for another's thread: there are as many as pages at once, and server.db_threads of them stay. With a new
    thread and connection each time, a card of the Review took 53 ms instead of 46.
    """
    if _is_test_thread():
        yield
        return
    try:
        thread = _IDLE.pop()
    except IndexError:
        thread = ThreadPoolExecutor(1, thread_name_prefix="loci-page")
    try:
        async with ThreadSensitiveContext(executor=thread):
            yield
    finally:
        thread.submit(_keep, thread)  # it comes after what a client that has gone left running


def _keep(thread: ThreadPoolExecutor) -> None:
    """Keep the thread that this runs in for later requests, or end it if enough are kept."""
    if len(_IDLE) < settings.LOCI.server.db_threads:
        _IDLE.append(thread)
    else:
        connections.close_all()
        thread.shutdown(wait=False)
