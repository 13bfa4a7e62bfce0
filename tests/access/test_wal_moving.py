"""Pages are moved from the WAL between the transactions of a long work, not at their commits."""

import pytest
from django.db import connection, transaction

from access import wal_moving
from access.models import Group
from access.wal_moving import pages_moved_between

pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> int:
    """Give the number of pages that stand in the WAL and not yet in the file."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(NOOP)")
        _busy, pages, moved = cursor.fetchone()
    return int(pages - moved)


def usual() -> int:
    """Give after how many pages a commit moves them."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_autocheckpoint")
        return int(cursor.fetchone()[0])


def cache() -> int:
    """Give how many pages the connection keeps, below nought in KiB."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size")
        return int(cursor.fetchone()[0])


def write(pages: int) -> None:
    """Write about so many pages in one transaction."""
    with transaction.atomic():
        group = Group.objects.create(slug=f"room-{Group.objects.count()}")
        group.instructions = "x" * 4096 * pages
        group.save()


@pytest.fixture(autouse=True)
def nothing_waits() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_commit_moves_none_and_what_is_called_between_moves_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wal_moving, "MOST_PAGES", 1500)
    with pages_moved_between() as move:
        write(1200)
        assert waiting() >= 1200  # a commit would have moved them from a thousand on
        move()
        assert waiting() >= 1200  # not so many yet
        write(400)
        move()
        assert waiting() == 0


def test_afterwards_commits_move_them_as_before() -> None:
    assert usual() == 1000
    with pages_moved_between():
        assert usual() == 0
        write(1200)
    assert usual() == 1000
    assert waiting() == 0


def test_meanwhile_more_pages_are_kept_but_never_fewer() -> None:
    before = cache()
    assert before == -16 * 1024
    with pages_moved_between():
        assert cache() == -64 * 1024
    assert cache() == before
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size = -100000")
    with pages_moved_between():
        assert cache() == -100_000
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA cache_size = {before}")


def test_that_is_so_after_a_fault_too() -> None:
    with pytest.raises(ValueError, match="at fault"), pages_moved_between():
        raise ValueError("at fault")
    assert usual() == 1000


def test_inside_a_transaction_it_does_nothing() -> None:
    with transaction.atomic(), pages_moved_between() as move:
        Group.objects.create(slug="ledger")
        move()
        assert usual() == 1000
    assert Group.objects.filter(slug="ledger").exists()
