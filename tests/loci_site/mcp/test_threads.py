"""Database work of async code: one small pool, the caller's context, and the test's own thread in tests."""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import replace

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from pytest_django import Settings

from loci_site.server import db_threads as threads
from loci_site.server.db_threads import in_db_thread, page_thread

caller: ContextVar[str] = ContextVar("caller", default="nobody")


@pytest.fixture
def pool(settings: Settings, request: pytest.FixtureRequest) -> Iterator[None]:
    """A pool for this test alone, of two threads or as many as its parameter says."""
    settings.LOCI_DB_THREADS = "pool"
    count = getattr(request, "param", 2)
    settings.LOCI = replace(settings.LOCI, server=replace(settings.LOCI.server, db_threads=count))
    threads.read_pool.cache_clear()
    yield
    threads.read_pool().shutdown()
    threads.read_pool.cache_clear()


@in_db_thread
def thread_name(prefix: str = "", *, suffix: str = "") -> str:
    """Where it runs."""
    return f"{prefix}{threading.current_thread().name}{suffix}"


@in_db_thread
def who() -> str:
    return caller.get()


@in_db_thread
def fail() -> None:
    raise LookupError("no such memory")


@pytest.mark.usefixtures("pool")
async def test_jobs_share_as_many_threads_as_the_setting_says() -> None:
    both = threading.Barrier(2)  # passed only when two jobs run at once

    @in_db_thread
    def meet() -> str:
        both.wait()
        return threading.current_thread().name

    names = await asyncio.gather(*(meet() for _ in range(20)))
    assert set(names) == {"loci-db_0", "loci-db_1"}


@pytest.mark.usefixtures("pool")
async def test_arguments_result_and_name_are_those_of_the_function() -> None:
    assert await thread_name("<", suffix=">") == "<loci-db_0>"
    assert (thread_name.__name__, thread_name.__doc__) == ("thread_name", "Where it runs.")


@pytest.mark.usefixtures("pool")
async def test_an_error_comes_back_as_it_is() -> None:
    with pytest.raises(LookupError, match="no such memory"):
        await fail()


@pytest.mark.usefixtures("pool")
async def test_each_job_sees_its_own_callers_context() -> None:
    async def ask(name: str) -> str:
        caller.set(name)
        return await who()

    assert await asyncio.gather(ask("alice"), ask("bob")) == ["alice", "bob"]
    assert await who() == "nobody"


@pytest.mark.usefixtures("pool")
async def test_a_cancelled_caller_leaves_the_job_to_its_end() -> None:
    started, go, done = threading.Event(), threading.Event(), threading.Event()

    @in_db_thread
    def write() -> None:
        started.set()
        go.wait()
        done.set()

    task = asyncio.ensure_future(write())
    await asyncio.to_thread(started.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert await asyncio.to_thread(done.wait)


@pytest.mark.sqlite(reason="temporary tables of SQLite")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pool", [1], indirect=True)
def test_a_thread_keeps_its_connection_from_job_to_job(pool: None) -> None:
    """Two jobs, one after the other, find a mark that only their connection holds.

    One thread: of two, the second job may get the other one, when the first is not back in line yet.
    """

    @in_db_thread
    def mark() -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE mark (value INTEGER)")

    @in_db_thread
    def is_marked() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM temp.sqlite_master WHERE name = 'mark'")
            return bool(cursor.fetchone()[0])

    @in_db_thread
    def hang_up() -> None:
        connection.close()

    async def both() -> bool:
        await mark()
        found = await is_marked()
        await hang_up()  # the pool of this test ends here
        return found

    assert asyncio.run(both())


@pytest.fixture
def idle_pages(pool: None, monkeypatch: pytest.MonkeyPatch) -> deque[ThreadPoolExecutor]:
    """The threads that wait for pages, none at first."""
    idle = deque[ThreadPoolExecutor]()
    monkeypatch.setattr(threads, "_IDLE", idle)
    return idle


async def page(during: Callable[[], object] = lambda: None) -> str:
    """What a page does; the name of its thread."""
    async with page_thread():
        await sync_to_async(during)()
        return await sync_to_async(lambda: threading.current_thread().name)()


async def wait_for_idle(idle: deque[ThreadPoolExecutor], count: int) -> None:
    while len(idle) < count:
        await asyncio.sleep(0.001)


async def test_pages_one_after_the_other_have_the_same_thread(idle_pages: deque[ThreadPoolExecutor]) -> None:
    names = set[str]()
    for _ in range(5):
        names.add(await page())
        await wait_for_idle(idle_pages, 1)
    assert len(names) == 1
    assert names.pop().startswith("loci-page")


async def test_pages_at_once_wait_for_none_and_only_the_set_number_is_kept(
    idle_pages: deque[ThreadPoolExecutor],
) -> None:
    all_five = threading.Barrier(5)  # passed only when five pages are made at once
    await asyncio.gather(*(page(lambda: all_five.wait(timeout=60)) for _ in range(5)))
    await wait_for_idle(idle_pages, 2)
    await asyncio.gather(*(asyncio.to_thread(thread.submit(int).result) for thread in tuple(idle_pages)))
    assert len(idle_pages) == 2


async def test_the_thread_of_a_client_that_has_gone_serves_no_other_before_it_is_done(
    idle_pages: deque[ThreadPoolExecutor],
) -> None:
    started, go = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        go.wait(timeout=60)

    gone = asyncio.ensure_future(page(work))
    await asyncio.to_thread(started.wait)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert not idle_pages
    await asyncio.wait_for(page(), 30)
    go.set()
    await wait_for_idle(idle_pages, 2)


async def test_sensitive_mode_keeps_to_the_thread_of_other_sensitive_work(settings: Settings) -> None:
    settings.LOCI_DB_THREADS = "sensitive"
    assert not (await thread_name()).startswith("loci-db")


def test_sensitive_mode_runs_in_the_tests_own_thread(settings: Settings) -> None:
    from asgiref.sync import async_to_sync

    settings.LOCI_DB_THREADS = "sensitive"
    assert async_to_sync(thread_name)() == threading.current_thread().name
