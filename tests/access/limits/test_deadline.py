"""An answer has so much time; the statement of one that has none left is interrupted, unless a transaction would suffer."""

import pytest
from django.db import OperationalError, connection, transaction

from access.errors import OutOfTime
from access.limits import deadline
from access.limits.deadline import CURRENT, Deadline, answering, check_time

# Counts for minutes, on both databases.
SLOW = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT COUNT(*) FROM n"


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


@pytest.mark.django_db(transaction=True)
def test_a_long_statement_ends_with_the_time() -> None:
    with pytest.raises(OutOfTime, match=r"took longer than .* was ended"), answering(0.2):
        run(SLOW)
    run("SELECT 1")  # the connection goes on


@pytest.mark.django_db(transaction=True)
def test_a_transaction_is_not_interrupted_but_checked() -> None:
    with transaction.atomic(), answering(0.0):
        run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) SELECT COUNT(*) FROM n"
        )
        with pytest.raises(OutOfTime):
            check_time()


@pytest.mark.django_db(transaction=True)
def test_other_errors_of_the_database_stay_what_they_are() -> None:
    with pytest.raises(OperationalError), answering():
        raise OperationalError("no such table")


@pytest.mark.django_db
def test_the_sooner_of_two_ends_counts() -> None:
    with answering(60), answering(0), pytest.raises(OutOfTime):
        check_time()
    with answering(0), answering(60), pytest.raises(OutOfTime):
        check_time()
    check_time()  # after both


@pytest.mark.django_db
def test_who_has_gone_needs_no_answer() -> None:
    gone = Deadline()
    with CURRENT.holding(gone), answering(60):
        check_time()
        gone.abandon()
        with pytest.raises(OutOfTime):
            check_time()


def test_the_interrupter_ends_when_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "TICK_S", 0.001)
    monkeypatch.setattr(deadline, "IDLE_TICKS", 3)
    interrupter = deadline.Interrupter()
    with interrupter.interrupting(Deadline(), None):
        thread = interrupter._thread
    assert thread is not None
    thread.join(10)
    assert not thread.is_alive()
