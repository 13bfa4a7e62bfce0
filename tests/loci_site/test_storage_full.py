"""A disk that is full or read-only is named in words on every face, and writing works again without a restart."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from pytest_django import Settings

from access.errors import as_storage_error
from access.models import Group
from loci_site.server.health import WATCH
from memories.models import Memory
from storage.faults import COMMIT_HOOKS, StorageFault, find_storage_fault
from storage.sqlite.base import connect_to_copy
from tests.fresh_homes import with_tables
from tests.loci_site.api.conftest import Caller, caller
from tests.loci_site.mcp.people import Agent
from tests.loci_site.server.running import free_port
from tests.model import encoder
from tests.people import agent, alice, bob, garden, ledger, make_token
from tests.settings import REPOSITORY

__all__ = ["alice", "bob", "caller", "encoder", "garden", "ledger"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite(reason="a database made full or read-only by a pragma"),
]
LARGE = "a word " * 13_000
FULL = "It was not saved: the disk is full."


def pragma(name: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {name}")
        return int(cursor.fetchone()[0])


@contextmanager
def full_disk() -> Iterator[None]:
    """The database may take a few more pages: enough for a short memory, not for a large one."""
    before = pragma("max_page_count")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # no free pages
    pragma(f"max_page_count = {pragma('page_count') + 12}")
    try:
        yield
    finally:
        pragma(f"max_page_count = {before}")


@contextmanager
def read_only() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA query_only = OFF")


@pytest.fixture(autouse=True)
def fresh_watch(settings: Settings) -> Iterator[None]:
    """As a server watches its writes."""
    WATCH.last = None
    WATCH.watch(connection=connection)
    COMMIT_HOOKS.append(WATCH.note_failure)
    yield
    COMMIT_HOOKS.clear()
    connection.execute_wrappers.clear()
    WATCH.last = None


def test_rest_answers_507_and_works_again(bob: User, caller: Callable[..., Caller]) -> None:
    one = caller(bob)
    kept = one.store("The port is 8081.")
    with full_disk():
        error = one.store(LARGE, status=507)
        assert (error["code"], error["message"]) == ("storage_full", FULL)
        assert error["hint"].startswith("Free space on the disk")
        assert one.get(f"/memories/{kept['id']}")["content"] == "The port is 8081."
        assert one.post("/recall", {"query": "port", "group": "ledger"})["results"]
    assert one.store(LARGE)["outcome"] == "created"
    assert Memory.objects.count() == 2


def test_a_read_only_store_is_named_too(bob: User, caller: Callable[..., Caller]) -> None:
    one = caller(bob)
    with read_only():
        error = one.store("The port is 8081.", status=507)
    assert error["message"] == "It was not saved: the store is read-only."
    assert "writable" in error["hint"]


def test_a_purge_that_cannot_be_written_is_a_507(alice: User, ledger: Group) -> None:
    _, secret = make_token(alice, scopes=("read", "write", "curate", "admin"))
    one = Caller(secret)
    kept = one.store("The port is 8081.")
    with read_only():
        error = one.post(f"/memories/{kept['id']}/purge", status=507)
    assert error["code"] == "storage_full"
    assert Memory.objects.count() == 1


def test_an_agent_is_told(bob: User) -> None:
    with full_disk():
        told = Agent(agent(bob)).error("store_memory", content=LARGE, group="ledger", scope="group")
    assert told.startswith(FULL)
    assert told.endswith("[storage_full]")


def test_the_login_and_the_forms_in_the_browser_say_it(bob: User) -> None:
    browser = Client(raise_request_exception=False)
    with read_only():
        answer = browser.post("/login/", {"username": "bob", "password": "a-long-password"})
        assert answer.status_code == 507
        assert "the store is read-only" in answer.content.decode()
    browser.force_login(bob)
    form = {"content": LARGE, "type": "semantic", "group": "ledger", "importance": 5, "confidence": 0.7}
    with full_disk():
        answer = browser.post("/admin/memories/memory/add/", form)
    assert answer.status_code == 507
    assert "the disk is full" in answer.content.decode()
    assert "Traceback" not in answer.content.decode()


def test_another_error_still_has_the_plain_page(bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OperationalError("no such table: memories_memory")

    monkeypatch.setattr("memories.admin.memory.store", fail)
    browser = Client(raise_request_exception=False)
    browser.force_login(bob)
    form = {"content": "x y", "type": "semantic", "group": "ledger", "importance": 5, "confidence": 0.7}
    answer = browser.post("/admin/memories/memory/add/", form)
    assert answer.status_code == 500
    assert "Something went wrong in Loci" in answer.content.decode()


def test_health_fails_at_the_first_failed_write_until_as_much_can_be_written_again(
    bob: User, caller: Callable[..., Caller], client: Client
) -> None:
    one = caller(bob)
    one.store("The port is 8081.")
    assert client.get("/health").json()["checks"]["last_write"]["ok"]
    with full_disk():
        one.store(LARGE, status=507)
        one.store("The queue is called ledger-events.", status=201)  # this one still finds room
        answer = client.get("/health")
        assert (answer.status_code, answer.json()["status"]) == (503, "failing")
        told = {"ok": False, "detail": "the last write failed: the disk is full"}
        assert answer.json()["checks"]["last_write"] == told
    assert client.get("/health").json()["checks"]["last_write"]["ok"]


def test_a_commit_that_fails_counts_as_a_failed_write() -> None:
    try:
        raise OperationalError("database or disk is full")
    except OperationalError as error:
        for hook in COMMIT_HOOKS:
            hook(error)
    assert WATCH.last is not None
    assert WATCH.last.error == "the disk is full"


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (OSError(28, "No space left on device"), StorageFault.FULL),
        (OSError(30, "Read-only file system"), StorageFault.READ_ONLY),
        (OperationalError("disk I/O error"), StorageFault.BROKEN),
        (OperationalError("database is locked"), None),
        (OSError(2, "No such file"), None),
        (ValueError("database or disk is full"), None),
    ],
)
def test_only_faults_of_the_disk_are_taken_for_such(error: Exception, fault: StorageFault | None) -> None:
    assert find_storage_fault(error) == fault
    assert (as_storage_error(error) is None) == (fault is None)


LIMITED = 64 * 1024
PAGE = 4096


def limited(home: Path, *words: str, most: int = LIMITED) -> subprocess.CompletedProcess[str]:
    """Run a command whose files cannot grow beyond `most` bytes."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=REPOSITORY,
        # A module compiled here would be cut off at the limit, and every later process would read the rest.
        env={
            **os.environ,
            "LOCI_HOME": str(home),
            "LOCI_PORT": str(free_port()),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )


def test_a_recall_that_cannot_be_counted_is_answered(tmp_path: Path) -> None:
    home = with_tables(tmp_path / "home")
    stored = limited(home, "remember", "The port is 8081.", "--group", "ledger", most=1 << 30)
    assert stored.returncode == 0, stored.stderr
    with closing(connect_to_copy(home / "memory.db")) as reader:  # keeps the files beside the database
        reader.execute("SELECT count(*) FROM memories_memory").fetchone()
        done = limited(home, "recall", "which port", "--group", "ledger", most=PAGE)
    assert (done.returncode, "The port is 8081." in done.stdout) == (0, True), done.stderr
    assert "The recall was not counted: " in done.stderr


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("remember", "The port is 8081.", "--group", "ledger"), LIMITED),
        (("backup",), LIMITED),
        (("group", "create", "garden"), 0),
        (("up", "--no-model"), 0),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_ends_with_a_sentence(tmp_path: Path, words: tuple[str, ...], most: int) -> None:
    home = with_tables(tmp_path / "home")
    done = limited(home, *words, most=most)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    assert "It was not saved: " in done.stderr
