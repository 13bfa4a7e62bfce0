"""Vectors that go into the index as whole chunks stand there as vec0 itself would have put them."""

from typing import Any

import numpy as np
import pytest
from django.db import connection, transaction

from access.models import Group
from memories.embedding import Span
from memories.index import whole_chunks
from memories.index.base import search_index
from memories.index.schema import apply_index_schema
from memories.models import IndexChange, Memory, Piece
from memories.pieces import Embedded, insert_pieces
from tests.memories.builders import MODEL, day, row, unit_vector

pytestmark = pytest.mark.django_db

TABLES = (
    "chunks", "rowids", "vector_chunks00", "metadatachunks00", "metadatachunks01", "metadatachunks02", "metadatatext02",
)  # fmt: skip


@pytest.fixture
def room() -> Group:
    return Group.objects.create(slug="ledger")


def embedded(*seeds: int) -> Embedded:
    """Give a text's pieces, one for each seed."""
    return Embedded(
        tuple(Span(at, at + 1, 1) for at in range(len(seeds))),
        np.stack([unit_vector(seed) for seed in seeds]),
        MODEL,
    )


def told(room: Group, count: int, *, start: int = 0, **fields: Any) -> list[tuple[Memory, Embedded]]:
    """Give stored memories with the pieces that they are to have."""
    numbers = range(start, start + count)
    return [(row(room, f"lighthouse {n}", **fields), embedded(n)) for n in numbers]


def index() -> dict[str, list[tuple[Any, ...]]]:
    """Give all that vec0's tables hold."""
    found = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT _rowid_, * FROM memories_vec_{table} ORDER BY _rowid_")
            found[table] = cursor.fetchall()
        cursor.execute("SELECT * FROM sqlite_sequence WHERE name LIKE 'memories_vec%' ORDER BY name")
        found["given"] = cursor.fetchall()
    return found


def inserted(rows: list[tuple[Memory, Embedded]], *, by_vec0: bool) -> dict[str, list[tuple[Any, ...]]]:
    """Insert pieces and take it back; give what the index held meanwhile."""
    with pytest.MonkeyPatch.context() as patch, transaction.atomic():
        if by_vec0:
            patch.setattr(whole_chunks, "VERSIONS", set())
        insert_pieces(rows)
        assert search_index().faults() == []
        followed = IndexChange.objects.filter(op="+").values_list("piece", flat=True)
        assert len(followed) == len({*followed})
        assert {*Piece.objects.values_list("key", flat=True)} <= {*followed}
        found = index()
        transaction.set_rollback(True)
    return found


@pytest.mark.parametrize("before", [0, 5, 16, 21])
@pytest.mark.parametrize("count", [31, 32, 43, 96])
def test_the_tables_are_those_that_vec0_writes(room: Group, before: int, count: int) -> None:
    if before:
        insert_pieces(told(room, before, start=1000))
    rows = told(room, count)
    assert inserted(rows, by_vec0=False) == inserted(rows, by_vec0=True)


def test_holes_in_the_last_chunk_are_filled_first(room: Group) -> None:
    insert_pieces(told(room, 30, start=1000))
    Piece.objects.filter(pk__in=Piece.objects.order_by("-key").values_list("key")[3:8]).delete()
    rows = told(room, 50)
    whole = inserted(rows, by_vec0=False)
    assert whole == inserted(rows, by_vec0=True)
    assert len(whole["chunks"]) == 5  # 25 and 50 of them


def test_what_the_index_says_of_a_memory_is_said_of_each(room: Group) -> None:
    rows = told(room, 20) + told(room, 20, start=100, state="retracted", expires_at=day(3))
    rows += told(room, 20, start=200, type="procedural", trust="candidate", valid_to=day(9))
    rows += told(room, 20, start=300, type="episodic")
    assert inserted(rows, by_vec0=False) == inserted(rows, by_vec0=True)


def test_global_ones_stand_in_a_room_of_their_own_and_mixed_ones_are_vec0s_work(room: Group) -> None:
    rows = told(room, 40, scope="global")
    whole = inserted(rows, by_vec0=False)
    assert whole == inserted(rows, by_vec0=True)
    assert {chunk[4] for chunk in whole["chunks"]} == {0}
    mixed = [*rows, *told(room, 40, start=100)]
    assert inserted(mixed, by_vec0=False) == inserted(mixed, by_vec0=True)


def test_long_memories_have_many_pieces(room: Group) -> None:
    rows = [(row(room, f"a long text {n}"), embedded(n, n + 100, n + 200)) for n in range(30)]
    assert inserted(rows, by_vec0=False) == inserted(rows, by_vec0=True)


def test_each_of_them_is_found(room: Group) -> None:
    insert_pieces(told(room, 100))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT p.memory_id FROM memories_vec AS v JOIN memories_piece AS p ON p.key = v.piece"
            " WHERE v.embedding MATCH %s AND v.k = 1",
            [unit_vector(57).tobytes()],
        )
        [(found,)] = cursor.fetchall()
    assert Memory.objects.get(pk=found).content == "lighthouse 57"


def test_what_is_owed_or_another_models_is_not_indexed(room: Group) -> None:
    insert_pieces(told(room, 40))
    before = index()
    others = [
        (memory, Embedded(made.spans, made.vectors, "another-model"))
        for memory, made in told(room, 40, start=100)
    ]
    insert_pieces(others)
    owed = Embedded((Span(0, 1, 0),), np.zeros((0, 384), dtype=np.float32), "")
    insert_pieces([(memory, owed) for memory, _ in told(room, 40, start=200)])
    assert index() == before
    assert Piece.objects.count() == 120


def test_a_trigger_of_an_earlier_release_is_left_to_its_work_until_it_is_replaced(room: Group) -> None:
    trigger = "SELECT sql FROM sqlite_master WHERE name = 'memories_vec_insert'"
    with connection.cursor() as cursor:
        cursor.execute(trigger)
        [(now,)] = cursor.fetchall()
        cursor.execute("DROP TRIGGER memories_vec_insert")
        cursor.execute(
            now.replace("AND NOT EXISTS (SELECT 1 FROM memories_vec_rowids WHERE rowid = new.key)", "")
        )
    insert_pieces(told(room, 40))
    assert search_index().faults() == []
    apply_index_schema(connection)
    with connection.cursor() as cursor:
        cursor.execute(trigger)
        assert cursor.fetchall() == [(now,)]


def test_a_library_whose_tables_nobody_has_looked_at_writes_them_itself(room: Group) -> None:
    rows = told(room, 40)
    put = list[int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_chunks.NewVectors, "put", lambda vectors, start, first: put.append(first))
        patch.setattr(whole_chunks, "VERSIONS", {"v0.0.0"})
        insert_pieces(rows)
    assert not put
    assert search_index().faults() == []
