"""Reading past Django's cursor: the same rows and errors, and nobody who follows the statements is passed by."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from access.models import Group
from storage.compiled_queries import LOOKS_AT_WRITES, CompiledQuery, fetch

SLUGS = "SELECT slug, length(slug) FROM access_group WHERE slug LIKE %s AND slug != '50%%' ORDER BY slug"


@pytest.fixture
def groups(db: None) -> None:
    for slug in ("ledger", "lexicon", "payroll"):
        Group.objects.create(slug=slug)


@pytest.mark.usefixtures("groups")
def test_rows_are_those_that_djangos_cursor_gives() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SLUGS, ["le%"])
        whole = cursor.fetchall()
    assert fetch(SLUGS, ["le%"]) == whole == [("ledger", 6), ("lexicon", 7)]
    assert fetch("SELECT %s, %s, %s, %s", ["é", 2**40, 0.5, b"\0"]) == [("é", 2**40, 0.5, b"\0")]


@pytest.mark.usefixtures("groups")
def test_whoever_counts_statements_sees_it() -> None:
    with CaptureQueriesContext(connection) as seen:
        fetch(SLUGS, ["p%"])
    assert len(seen) == 1
    assert "payroll" in str(fetch(SLUGS, ["p%"]))
    assert len(seen) == 1


def note_into(seen: list[str]) -> Callable[..., Any]:
    def follow(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        seen.append(sql)
        return execute(sql, *rest)

    return follow


@pytest.mark.usefixtures("groups")
def test_a_wrapper_is_asked_unless_it_looks_at_writes_alone() -> None:
    seen: list[str] = []
    with connection.execute_wrapper(note_into(seen)):
        assert len(fetch(SLUGS, ["le%"])) == 2
    assert seen == [SLUGS]
    of_writes = note_into(seen)
    setattr(of_writes, LOOKS_AT_WRITES, True)
    with connection.execute_wrapper(of_writes):
        assert len(fetch(SLUGS, ["le%"])) == 2
        assert seen == [SLUGS]
        Group.objects.create(slug="fourth")
    assert len(seen) > 1


@pytest.mark.django_db
def test_an_error_is_djangos() -> None:
    with pytest.raises(OperationalError, match="no such table"), transaction.atomic():
        fetch("SELECT 1 FROM nothing_of_that_name", [])
    with pytest.raises(DatabaseError), transaction.atomic():
        fetch("SELECT %s", [1, 2])


@pytest.mark.usefixtures("groups")
def test_nothing_is_read_in_a_transaction_that_is_broken() -> None:
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic(savepoint=False):
            Group.objects.create(slug="ledger")
        with pytest.raises(TransactionManagementError):
            fetch(SLUGS, ["le%"])
        transaction.set_rollback(False)


@pytest.mark.django_db(transaction=True)
def test_a_connection_that_was_closed_is_opened() -> None:
    Group.objects.create(slug="ledger")
    connection.close()
    assert fetch(SLUGS, ["le%"]) == [("ledger", 6)]


@pytest.mark.usefixtures("groups")
def test_a_prepared_query_reads_this_way() -> None:
    by_slug = CompiledQuery(lambda slug: Group.objects.filter(slug=slug).order_by())
    found = by_slug.first("ledger")
    assert found is not None
    assert (found.slug, found.pk) == ("ledger", Group.objects.get(slug="ledger").pk)
    assert by_slug.first("nowhere") is None
