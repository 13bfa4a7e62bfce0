"""Pages are moved from the WAL between the transactions of a long work, not at their commits."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import DatabaseError, connection, transaction

from access.models import Group
from storage import wal_checkpoints as wal_moving
from storage.wal_checkpoints import deferred_checkpoints

pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> int:
    """Number of pages in the WAL that are not yet in the file."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(NOOP)")
        _busy, pages, moved = cursor.fetchone()
    return int(pages - moved)


def in_wal() -> int:
    """Number of pages in the WAL, moved or not."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(NOOP)")
        return int(cursor.fetchone()[1])


def usual() -> int:
    """Number of pages after which a commit moves them."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_autocheckpoint")
        return int(cursor.fetchone()[0])


def cache() -> int:
    """Size of the connection's page cache: pages, or KiB if negative."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size")
        return int(cursor.fetchone()[0])


def write(pages: int) -> None:
    """Write about so many pages in one transaction."""
    with transaction.atomic():
        group = Group.objects.create(slug=f"group-{Group.objects.count()}")
        group.instructions = "x" * 4096 * pages
        group.save()


@pytest.fixture(autouse=True)
def nothing_waits() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait until a thread has done its work."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_commit_moves_none_and_what_is_called_between_has_them_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wal_moving, "CHECKPOINT_PAGES", 1500)
    with deferred_checkpoints() as move:
        write(1200)
        assert waiting() >= 1200  # a commit would have moved them from a thousand on
        move()
        assert waiting() >= 1200  # not so many yet
        write(400)
        move()
        wait_until(lambda: waiting() == 0)
        write(100)
        assert waiting() >= 100  # the WAL goes on where it was
        move()
        assert waiting() == 0  # what was written meanwhile; now it begins anew
        write(10)
        assert in_wal() < 100
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("loci-pages")]


def test_where_the_thread_falls_behind_the_work_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal_moving, "CHECKPOINT_PAGES", 100)
    monkeypatch.setattr(wal_moving, "REST_PAGES", 1)
    monkeypatch.setattr(wal_moving, "MAX_WAL_PAGES", 600)
    real, may_move = wal_moving.checkpoint, threading.Event()

    def slow(most: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            assert may_move.wait(timeout=30)
        real(most)

    monkeypatch.setattr(wal_moving, "checkpoint", slow)
    with deferred_checkpoints() as move:
        write(150)
        move()
        write(150)
        move()  # still under way, and not too many
        assert waiting() >= 300
        write(400)
        threading.Timer(0.2, may_move.set).start()
        move()
        assert waiting() == 0


def test_a_fault_of_the_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal_moving, "CHECKPOINT_PAGES", 100)

    def broken(most: int) -> None:
        raise DatabaseError("disk I/O error")

    with deferred_checkpoints() as move:
        write(150)
        with monkeypatch.context() as patch:
            patch.setattr(wal_moving, "checkpoint", broken)
            move()
            with pytest.raises(DatabaseError, match="disk I/O error"):
                wait_until(lambda: bool(move()))
    assert usual() == 1000


def test_afterwards_commits_move_them_as_before() -> None:
    assert usual() == 1000
    with deferred_checkpoints():
        assert usual() == 0
        write(1200)
    assert usual() == 1000
    assert waiting() == 0


def test_meanwhile_more_pages_are_kept_but_never_fewer() -> None:
    before = cache()
    assert before == -16 * 1024
    with deferred_checkpoints():
        assert cache() == -64 * 1024
    assert cache() == before
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size = -100000")
    with deferred_checkpoints():
        assert cache() == -100_000
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA cache_size = {before}")


def test_that_is_so_after_a_fault_too() -> None:
    with pytest.raises(ValueError, match="at fault"), deferred_checkpoints():
        raise ValueError("at fault")
    assert usual() == 1000


def test_inside_a_transaction_it_does_nothing() -> None:
    with transaction.atomic(), deferred_checkpoints() as move:
        Group.objects.create(slug="ledger")
        move()
        assert usual() == 1000
    assert Group.objects.filter(slug="ledger").exists()
