"""The vectors in memory follow the database: the next search finds what any process wrote, and nothing deleted."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from access.models import Group
from access.visibility import Visibility
from memories.models import IndexChange, IndexState, Memory, Piece
from memories.queries.visibility import EVERY_TRUST, RECALLED
from memories.search import keyword
from memories.search.base import search_index
from memories.search.in_memory import sync as following
from memories.search.in_memory.sync import read_progress
from memories.search.in_memory.table import Keys, VectorTable
from memories.search.keyword import TermCounts
from memories.search.query_terms import Match
from memories.search.rows import RankingFields, Vector, read_visible
from memories.search.sqlite import engine as sqlite
from memories.types import State
from tests.memories.builders import NOW, add_piece, row, unit_vector

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.sqlite(reason="vectors in the memory of each process"),
]


@pytest.fixture(autouse=True)
def in_memory() -> Iterator[None]:
    """Each test begins with nothing in memory and the table in use."""
    following._followers.clear()
    following.load_table()
    yield
    following._followers.clear()


@pytest.fixture
def ledger() -> Group:
    return Group.objects.create(slug="ledger")


def seen(ledger: Group, **fields: object) -> Visibility:
    return Visibility(
        **{
            "groups": frozenset({ledger.key}),
            "include_global": True,
            "states": frozenset({"live"}),
            "trusts": RECALLED,
            "now": NOW,
        }
        | fields
    )


def remembered(ledger: Group, seed: int, /, **fields: object) -> Memory:
    memory = row(ledger, f"lighthouse {seed}", **fields)
    add_piece(memory, unit_vector(seed))
    return memory


def near(ledger: Group, seed: int, **fields: object) -> list[int]:
    """The memories found, nearest first; fails if the table in memory was not used."""
    assert following.current_table(read_progress()) is not None
    return [hit.key for hit in search_index().nearest(unit_vector(seed), seen(ledger, **fields), limit=5)]


def test_what_was_retracted_is_found_where_it_is_asked_for(ledger: Group) -> None:
    fact, wrong_fact = remembered(ledger, 1), remembered(ledger, 2, state="retracted")
    remembered(ledger, 4, type="entity", state="retracted")
    remembered(ledger, 5, type="episodic", state="retracted")
    asked = {
        "states": frozenset({"live", "retracted"}),
        "trusts": EVERY_TRUST,
        "types": frozenset({"semantic"}),
    }
    with transaction.atomic():  # by SQL, while the table is behind
        assert following.current_table(read_progress()) is None
        hits = search_index().nearest(unit_vector(2), seen(ledger, **asked), limit=5)
        best = search_index().nearest(unit_vector(2), seen(ledger, **asked), limit=1)
    found = [hit.key for hit in hits]
    assert found == [wrong_fact.key, fact.key]
    assert best == hits[:1]
    assert near(ledger, 2, **asked) == found


def test_what_is_written_is_found_by_the_next_search(ledger: Group) -> None:
    first = remembered(ledger, 1)
    assert near(ledger, 1) == [first.key]
    second = remembered(ledger, 2)
    assert near(ledger, 2) == [second.key, first.key]


@pytest.mark.parametrize(
    "change",
    [
        {"state": State.FORGOTTEN},
        {"trust": "quarantined"},
        {"expires_at": NOW},
        {"valid_to": NOW},
    ],
)
def test_what_no_longer_counts_is_not_found(ledger: Group, change: dict[str, object]) -> None:
    memory, other = remembered(ledger, 1), remembered(ledger, 2)
    assert near(ledger, 1) == [memory.key, other.key]
    Memory.objects.filter(pk=memory.pk).update(**change)
    assert near(ledger, 1) == [other.key]


def test_what_moves_is_found_where_it_is_now(ledger: Group) -> None:
    memory, elsewhere = remembered(ledger, 1), Group.objects.create(slug="atlas")
    assert near(ledger, 1) == [memory.key]
    Memory.objects.filter(pk=memory.pk).update(group=elsewhere)
    assert near(ledger, 1) == []
    assert near(elsewhere, 1) == [memory.key]
    Memory.objects.filter(pk=memory.pk).update(scope="global")
    assert near(ledger, 1) == [memory.key]


def test_what_is_deleted_is_gone(ledger: Group) -> None:
    memory, other = remembered(ledger, 1), remembered(ledger, 2)
    assert near(ledger, 1) == [memory.key, other.key]
    memory.delete()
    assert near(ledger, 1) == [other.key]


def test_a_vector_that_was_owed_is_found_once_it_is_made(ledger: Group) -> None:
    owed = row(ledger, "lighthouse 1")
    piece = Piece.objects.create(memory=owed, ordinal=0, start=0, end=1, tokens=0)
    later = remembered(ledger, 2)
    assert near(ledger, 1) == [later.key]
    made = Piece(embedding=unit_vector(1).astype("<f4").tobytes(), model="test-model")
    Piece.objects.filter(pk=piece.pk).update(embedding=made.embedding, model=made.model)
    assert near(ledger, 1) == [owed.key, later.key]


def test_another_model_makes_the_table_anew(ledger: Group) -> None:
    memory, other = remembered(ledger, 1), remembered(ledger, 2)
    assert near(ledger, 1) == [memory.key, other.key]
    Piece.objects.filter(memory=other).update(model="next-model")
    IndexState.objects.filter(name="model").update(value="next-model")
    assert near(ledger, 1) == [other.key]


def test_a_list_of_changes_that_was_cut_off_makes_the_table_anew(ledger: Group) -> None:
    memory = remembered(ledger, 1)
    assert near(ledger, 1) == [memory.key]
    other = remembered(ledger, 2)
    last = remembered(ledger, 3)
    IndexChange.objects.exclude(seq=IndexChange.objects.latest("seq").seq).delete()
    assert near(ledger, 2)[0] == other.key
    IndexChange.objects.all().delete()
    assert sorted(near(ledger, 2)) == [memory.key, other.key, last.key]


def test_inside_a_transaction_its_own_writes_are_found_and_nobody_else_sees_them(ledger: Group) -> None:
    memory = remembered(ledger, 1)
    assert near(ledger, 1) == [memory.key]

    def write_and_fail() -> None:
        mine = remembered(ledger, 2)
        assert near(ledger, 2) == [mine.key, memory.key]
        raise RuntimeError

    with pytest.raises(RuntimeError), transaction.atomic():
        write_and_fail()
    assert near(ledger, 2) == [memory.key]


@pytest.mark.parametrize("fields", [{"tags": frozenset({"red"})}, {"min_confidence": 0.9}, {"known_at": NOW}])
def test_what_only_the_rows_know_is_asked_of_them_until_enough_are_found(
    ledger: Group, fields: dict[str, object]
) -> None:
    """Sixty nearer ones are not allowed; the first look of six is not enough."""
    for number in range(60):
        memory = row(ledger, f"lighthouse {number}", created_at=NOW.replace(year=2027))
        add_piece(memory, unit_vector(1))
    far = row(ledger, "a lighthouse far away", tags=["red"], confidence=0.95)
    add_piece(far, unit_vector(2))
    assert near(ledger, 1, **fields) == [far.key]
    words = search_index().find(Match(("lighthouse",)), unit_vector(1), seen(ledger, **fields), limit=5)
    assert [hit.key for hit in words.words] == [hit.key for hit in words.nearest] == [far.key]


def test_both_searches_at_once_say_what_each_alone_says(ledger: Group) -> None:
    other = Group.objects.create(slug="atlas")
    rows = [remembered(ledger if n % 3 else other, n) for n in range(30)]
    add_piece(rows[1], unit_vector(99), ordinal=1)
    v = seen(ledger)
    match = Match(("lighthouse", "7", "8", "11"))
    together = search_index().find(match, unit_vector(99), v, limit=4)
    assert together.nearest[0].key == rows[1].key
    assert together.nearest == search_index().nearest(unit_vector(99), v, limit=4)
    with transaction.atomic():
        by_sql = search_index().find(match, unit_vector(99), v, limit=4)
    assert [hit.key for hit in together.words] == [hit.key for hit in by_sql.words]
    assert [hit.score for hit in together.words] == pytest.approx([hit.score for hit in by_sql.words])
    assert together.keyword == pytest.approx(by_sql.keyword)
    assert together.vector == pytest.approx(by_sql.vector, abs=1e-5)
    assert [hit.score for hit in together.nearest] == pytest.approx(
        [hit.score for hit in by_sql.nearest], abs=1e-5
    )


def test_what_is_near_in_a_large_room_is_chosen_on_another_core(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        remembered(ledger, number)
    match, v = Match(("lighthouse", "7", "8", "11")), seen(ledger)
    here = search_index().find(match, unit_vector(7), v, limit=4, also=(29,))
    with ThreadPoolExecutor(1) as pool:
        threads: list[int] = []
        monkeypatch.setattr(sqlite, "chooser_pool", lambda: pool)
        monkeypatch.setattr(sqlite, "LARGE_GROUP_ROWS", 1)
        choose = VectorTable.choose

        def choosing(table: VectorTable, *args: Any, **named: Any) -> Keys:
            threads.append(threading.get_ident())
            return choose(table, *args, **named)

        monkeypatch.setattr(VectorTable, "choose", choosing)
        assert search_index().find(match, unit_vector(7), v, limit=4, also=(29,)) == here
    assert len(threads) == 1
    assert threads != [threading.get_ident()]


def test_words_are_looked_for_and_read_while_the_vector_is_made(
    ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is the same, and no row is read twice."""
    for number in range(30):
        remembered(ledger, number)
    match, v, vector = Match(("lighthouse", "7", "8", "11")), seen(ledger), unit_vector(7)
    at_once = search_index().find(match, vector, v, limit=4, also=(29,))
    slow, rows_read = Future[Vector](), list[int]()

    def reading(keys: Iterable[int], visibility: Visibility) -> dict[int, RankingFields]:
        asked = [*keys]
        rows_read.extend(asked)
        if not slow.done():
            slow.set_result(vector)  # a search that waited for it before would wait for ever
        return read_visible(asked, visibility)

    monkeypatch.setattr("memories.search.rows.read_visible", reading)
    assert search_index().find(match, slow, v, limit=4, also=(29,)) == at_once
    assert len(rows_read) == len({*rows_read}) >= 5


@pytest.mark.parametrize(("budget", "counted"), [(3, True), (4, False)])
def test_common_words_are_counted_where_the_caller_sees_many_texts(
    ledger: Group, monkeypatch: pytest.MonkeyPatch, budget: int, counted: bool
) -> None:
    """The filters of a request do not count, nor do the texts of other groups."""
    other = Group.objects.create(slug="other")
    for number in range(4):
        remembered(ledger, number)
        remembered(other, number)
    cached = TermCounts()
    monkeypatch.setattr(keyword, "POSTING_BUDGET", budget)
    monkeypatch.setattr(keyword, "TERM_COUNTS", cached)
    asked = seen(ledger, types=frozenset({"entity"}))
    search_index().find(Match(("lighthouse", "2")), unit_vector(2), asked, limit=4)
    assert bool(cached._counts) is counted
    if counted:
        place = (connection.settings_dict["NAME"], asked.groups, asked.include_global)
        assert {term: cached._counts[place, term][0] for term in ("lighthouse", "2")} == {
            "lighthouse": 4,
            "2": 1,
        }


# It ends without closing: what closes a database last clears the log that the others read.
WRITER = """
import os
import django; django.setup()
from access.models import Group
from tests.memories.builders import add_piece, row, unit_vector
add_piece(row(Group.objects.get(slug="ledger"), "lighthouse 2"), unit_vector(2))
os._exit(0)
"""


def test_a_write_of_another_process_is_found_within_50_ms(ledger: Group) -> None:
    memory = remembered(ledger, 1)
    assert near(ledger, 1) == [memory.key]
    environment = os.environ | {"LOCI_DB": str(connection.settings_dict["NAME"])}
    root = Path(__file__).resolve().parents[4]
    subprocess.run([sys.executable, "-c", WRITER], env=environment, cwd=root, check=True, timeout=60)
    began = time.thread_time()
    hits = near(ledger, 2)
    assert (time.thread_time() - began) < 0.05
    assert hits == [Memory.objects.latest("key").key, memory.key]


def test_a_process_that_asks_once_does_not_read_all_vectors(ledger: Group) -> None:
    following._followers.clear()
    remembered(ledger, 1)
    asked = [following.current_table(read_progress()) is not None for _ in range(5)]
    assert asked == [False, False, False, True, True]
