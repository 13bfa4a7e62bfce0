"""On PostgreSQL nothing outlives a transaction on its connection, as a pooler that hands out connections per transaction needs."""

from collections.abc import Callable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from access.models import Group
from maintenance.cycle import RunPlan, run_cycle
from memories.lifecycle.verbs import forget, restore
from memories.recall import RecallRequest, recall
from storage.postgresql import base
from tests.memories.builders import kept
from tests.memories.conftest import alice, encoder, ledger
from tests.people import agent, person

__all__ = ["alice", "encoder", "ledger"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgresql]
KEPT_BY_SESSION = """
SELECT (SELECT COUNT(*) FROM pg_prepared_statements)
    + (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())
    + (SELECT COUNT(*) FROM pg_cursors WHERE is_holdable)
    + (SELECT COUNT(*) FROM pg_class WHERE relpersistence = 't')
"""


@pytest.fixture
def pooled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Empties the session after each transaction, as if the next one got another connection; what it held each time."""
    found: list[int] = []

    def change_connection() -> None:
        with connection.connection.cursor() as cursor:
            found.append(cursor.execute(KEPT_BY_SESSION).fetchone()[0])
            cursor.execute("DISCARD ALL")

    set_autocommit = connection._set_autocommit

    def end_transaction(autocommit: bool) -> None:
        set_autocommit(autocommit)
        if autocommit:
            change_connection()

    def outside(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        if connection.get_autocommit():
            change_connection()
        return result

    connection.ensure_connection()
    monkeypatch.setattr(connection, "keeps_plans", False)  # as is_direct() finds behind a pooler
    monkeypatch.setattr(connection, "_set_autocommit", end_transaction)
    with connection.execute_wrapper(outside):
        yield found


@pytest.mark.model
def test_each_transaction_may_get_another_connection(alice: User, ledger: Group, pooled: list[int]) -> None:
    actor = agent(alice)
    port = kept(actor, "The deploy port is 8081.", group="ledger")
    kept(actor, "The harbour master is Jonas.", group="ledger")
    forget(actor, port.id)
    restore(actor, port.id)
    run_cycle(person(alice), RunPlan(group=ledger))
    answer = recall(actor, RecallRequest("what is the deploy port?", group="ledger"))
    assert [item.memory.id for item in answer.items][:1] == [port.id]
    assert len(pooled) > 50
    assert set(pooled) == {0}


@pytest.mark.parametrize(
    ("threshold", "is_direct", "prepared"), [(None, True, 0), (2, True, 1), (2, False, 0)]
)
def test_repeated_statements_are_prepared_where_the_server_itself_answers(
    threshold: int | None, is_direct: bool, prepared: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = connection.copy()
    own.settings_dict["OPTIONS"] = {**own.settings_dict["OPTIONS"], "prepare_threshold": threshold}
    if not is_direct:
        monkeypatch.setattr(base, "is_direct", lambda _: False)
    with closing(own):
        for number in range(4):
            with own.repeated_cursor() as cursor:
                cursor.execute("SELECT slug FROM access_group WHERE key = %s", [number])
        with own.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM pg_prepared_statements")
            assert cursor.fetchone() == (prepared,)


def test_a_pooler_is_known_by_its_own_process_number() -> None:
    connection.ensure_connection()
    server = connection.connection
    pooler = SimpleNamespace(
        cursor=server.cursor, info=SimpleNamespace(backend_pid=server.info.backend_pid + 1)
    )
    assert (base.is_direct(server), base.is_direct(pooler)) == (True, False)
