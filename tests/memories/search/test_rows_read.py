"""On PostgreSQL a recall or store in one group reads that group's rows and the global ones, by the database's own counters.

The counters see what plans do not show: rows read by triggers and functions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from pytest_django import DjangoDbBlocker

from access.actor import Actor
from access.models import Group, Membership, Role
from access.tokens import actor_for_user
from access.visibility import Narrowing
from memories.embedding import get_encoder
from memories.language.cleaning import content_hash
from memories.language.dress import fold_hash
from memories.lifecycle.verbs import forget
from memories.models import IndexState, Link, Memory, Piece, Tombstone
from memories.recall import RecallRequest, recall
from tests.memories.builders import NOW, kept, unit_vector
from tests.postgres import copy_template

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql, pytest.mark.model]

OTHERS, EACH, OWN, GLOBAL = 500, 6, 40, 10
# A statement reads a list of texts for each word. There are more groups than this, and many more rows of other groups.
MOST_READ = 8 * (OWN + GLOBAL)
_READ = """
SELECT relname, pg_stat_get_xact_tuples_returned(oid) + pg_stat_get_xact_tuples_fetched(oid)
FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'i')
"""
Reads = list[tuple[int, str, str]]


def rows_read() -> dict[str, int]:
    """Rows and index entries that this transaction has read, by table and index."""
    with connection.cursor() as cursor:
        cursor.cursor.execute(_READ)  # type: ignore[union-attr]  # past the wrapper that counts
        return dict(cursor.cursor.fetchall())  # type: ignore[union-attr]


@contextmanager
def counted() -> Iterator[Reads]:
    """Fills the list with the reads of each statement: their number, table or index, and the statement."""
    reads: Reads = []

    def count(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        before = rows_read()
        result = execute(sql, params, many, context)
        reads.extend(
            (number - before.get(name, 0), name, sql)
            for name, number in rows_read().items()
            if number > before.get(name, 0)
        )
        return result

    with connection.execute_wrapper(count):
        yield reads


def assert_own_rows_alone(reads: Reads) -> None:
    """No statement read more of a table or index than the group and the global rows have.

    The list of groups may be read whole: it is short, and has no row of theirs.
    """
    assert reads
    assert [read for read in reads if read[0] > MOST_READ and not read[1].startswith("access_group")] == []


def memories_of(group: Group, count: int, *, scope: str = "group") -> list[Memory]:
    """Rows of one group, unsaved."""
    return [
        Memory(
            content=(
                content := f"Service {n} of {group.slug} listens on the deploy port {8000 + n} ({scope})."
            ),
            content_hash=content_hash(content),
            fold_hash=fold_hash(content),
            type="semantic",
            scope=scope,
            group=group,
            created_at=NOW,
            source=f"host-{n % 7}",
            state="retracted" if n == EACH - 1 else "live",
            trust="rejected" if n == EACH - 2 else "active",
        )
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def fresh_database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A database of these tests alone: the rolled back rows of others stay in its indexes, which are read and counted."""
    usual = connection.settings_dict["NAME"]
    fresh = f"{usual}_fresh"
    with django_db_blocker.unblock():
        connection.close()
        copy_template(fresh)
        connection.settings_dict["NAME"] = fresh
        yield
        connection.close()
        connection.settings_dict["NAME"] = usual


@pytest.fixture(scope="module")
def member(fresh_database: None, shared_rows: None) -> Actor:
    """A small group and a few global memories in a store of many groups, with what belongs to each."""
    IndexState.objects.update_or_create(name="model", defaults={"value": get_encoder(timeout_s=60).model_id})
    groups = Group.objects.bulk_create(Group(slug=f"team-{n}") for n in range(OTHERS))
    ledger = Group.objects.create(slug="ledger")
    rows = [memory for group in groups for memory in memories_of(group, EACH)]
    rows += [*memories_of(ledger, OWN), *memories_of(ledger, GLOBAL, scope="global")]
    Memory.objects.bulk_create(rows)
    model, vectors = get_encoder().model_id, [unit_vector(n).astype("<f4").tobytes() for n in range(50)]
    Piece.objects.bulk_create(
        Piece(memory=row, ordinal=0, start=0, end=9, tokens=9, embedding=vectors[n % 50], model=model)
        for n, row in enumerate(rows)
    )
    Link.objects.bulk_create(
        Link(kind="conflict", source=one, target=other)
        for one, other in zip(rows[::2], rows[1::2], strict=True)
    )
    Tombstone.objects.bulk_create(
        Tombstone(group=row.group, hmac=f"{n:064}", key_id="0", kind="rejected", memory_id=row.id)
        for n, row in enumerate(rows)
    )
    bob = User.objects.create_user("bob")
    Membership.objects.create(user=bob, group=ledger, role=Role.CONTRIBUTOR)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        # Small tables are read whole, since that is faster. Large ones are not; this store stands for a large one.
        cursor.execute("SET LOCAL enable_seqscan = off")
    return actor_for_user(bob, via="rest")


@pytest.mark.parametrize(
    "narrowing",
    [
        Narrowing(),
        Narrowing(thread="t"),
        Narrowing(tags=frozenset({"x"})),
        Narrowing(source="host-1"),
        Narrowing(as_of=NOW),
        Narrowing(after=NOW),
    ],
    ids=["plain", "thread", "tags", "source", "as of", "after"],
)
def test_a_recall_reads_its_group_s_rows_and_the_global_ones(member: Actor, narrowing: Narrowing) -> None:
    question = RecallRequest("which deploy port has service 7?", group="ledger", narrowing=narrowing)
    with counted() as reads:
        recall(member, question)
    assert_own_rows_alone(reads)


def test_a_store_reads_its_group_s_rows_and_the_global_ones(member: Actor) -> None:
    with counted() as reads:
        kept(member, "The harbour master of the ledger is Ebba Lind.", group="ledger", scope="group")
    assert_own_rows_alone(reads)


def test_a_change_reads_its_group_s_rows_and_the_global_ones(member: Actor) -> None:
    memory = kept(member, "The crane on pier 4 is out of order.", group="ledger", scope="group")
    with counted() as reads:
        forget(member, memory.id)
    assert_own_rows_alone(reads)
