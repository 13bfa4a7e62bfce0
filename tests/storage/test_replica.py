"""Which database answers a read: a replica, unless the reader must see the latest or the replica has just failed."""

import pytest
from django.db import DEFAULT_DB_ALIAS

from access.limits.throttle import has_just_written, now_us
from access.models import PersonWrites
from storage.postgresql import replica
from storage.postgresql.replica import REPLICA, database_of, leave_alone


@pytest.fixture
def with_replica(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the settings named a replica, which is not opened here."""
    monkeypatch.setattr(replica, "has_replica", lambda: True)
    monkeypatch.setattr(replica.Away, "until", 0.0)


def test_without_a_replica_the_store_answers() -> None:
    assert database_of(None, may_be_old=True) == DEFAULT_DB_ALIAS


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("with_replica")
def test_a_replica_answers_what_may_be_old_until_it_fails() -> None:
    assert database_of(None, may_be_old=True) == REPLICA
    assert database_of(None, may_be_old=False) == DEFAULT_DB_ALIAS
    leave_alone(ConnectionError())
    assert database_of(None, may_be_old=True) == DEFAULT_DB_ALIAS


@pytest.mark.django_db
@pytest.mark.usefixtures("with_replica")
def test_a_transaction_reads_its_own_writes() -> None:
    assert database_of(None, may_be_old=True) == DEFAULT_DB_ALIAS


def test_a_token_reads_the_latest_for_two_seconds_after_its_write() -> None:
    assert not has_just_written(PersonWrites())
    assert has_just_written(PersonWrites(last_at=now_us()))
    assert has_just_written(PersonWrites(last_at=now_us() - 1_900_000))
    assert not has_just_written(PersonWrites(last_at=now_us() - 2_000_001))
