"""A database server that does not answer, or no longer: every interface says so, and none calls it a fault of Loci."""

import pytest
from django.db import OperationalError

from access.errors import Unavailable, as_storage_error
from loci_site.mcp.calls import explain_failure

psycopg = pytest.importorskip("psycopg")
# What the driver said while a server was killed under writers.
SAID = (
    'connection is bad: connection to server on socket "/srv/db/.s.PGSQL.5432" failed: Connection refused',
    'connection failed: connection to server on socket "/srv/db/.s.PGSQL.5432" failed: FATAL:  the database system is starting up',
    "consuming input failed: server closed the connection unexpectedly",
    "the connection is lost",
)


@pytest.mark.parametrize("text", SAID)
def test_a_lost_server_is_no_fault_inside_loci(text: str) -> None:
    error = as_storage_error(OperationalError(text))
    assert isinstance(error, Unavailable)
    assert error.status == 503


def test_an_agent_is_told_to_try_again() -> None:
    with pytest.raises(psycopg.OperationalError) as refused:
        psycopg.connect("postgresql://nobody@127.0.0.1:1/none")
    told = explain_failure(refused.value, what="store_memory")
    assert told.startswith("The database does not answer. Try again in a moment.")
    assert told.endswith("[unavailable]")


@pytest.mark.parametrize(
    "text", ["database is locked", "deadlock detected", "no such table: memories_memory"]
)
def test_other_errors_are_not_taken_for_it(text: str) -> None:
    assert as_storage_error(OperationalError(text)) is None
