"""What a store asks of the database: few statements, and none that reads a whole group."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from access.models import Group
from memories.draft import Draft
from memories.lifecycle.verbs import approve, retract
from memories.models import Link, LinkKind, Memory
from memories.queries.by_text import find_twin, live_copies
from memories.search.in_memory import sync as following
from memories.store.bulk import store_many
from memories.store.existing import dress_key, find_sources, find_texts, text_key
from memories.store.neighbours import ComparedText, neighbours_since
from tests.memories.builders import add_piece, fresh, keep, kept, row, unit_vector
from tests.people import person

pytestmark = [
    pytest.mark.sqlite(reason="its planner's choice of an index"),
    pytest.mark.django_db,
    pytest.mark.model,
]

TEXTS = [f"The {thing} of the ledger stands in room {room}." for room, thing in enumerate(["safe", "press", "desk"])]  # fmt: skip
OLD, NEW = "The port is 8081.", "The port is 9090."


@pytest.fixture
def many(ledger: Group) -> Group:
    """A group in which a plan that reads every row differs from one that looks a text up."""
    for number in range(60):
        row(ledger, f"Bicycle {number} was mended.")
    return ledger


@pytest.fixture(autouse=True)
def no_vectors_in_memory() -> None:
    """Other tests of the process leave them there."""
    following._followers.clear()


def statements(seen: CaptureQueriesContext) -> list[str]:
    return [query["sql"] for query in seen.captured_queries if not query["sql"].startswith(("SAVEPOINT", "RELEASE"))]  # fmt: skip


def plan_of(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        return " ".join(line[-1] for line in cursor.fetchall() if "memories_" in line[-1])


def test_a_store_takes_few_statements(alice: User, ledger: Group) -> None:
    keep(person(alice), TEXTS[0], group="ledger")  # claims the index, compiles
    with CaptureQueriesContext(connection) as seen:
        keep(person(alice), TEXTS[1], group="ledger")
    assert len(statements(seen)) <= 19
    assert len(seen) <= 21  # with the transaction's own


def test_what_was_retracted_of_other_types_is_found_by_the_same_search(alice: User, ledger: Group) -> None:
    ends = {"semantic": "", "entity": "!", "procedural": ".."}
    said = [kept(person(alice), TEXTS[0][:-1] + end, group="ledger", type=type_) for type_, end in ends.items()]  # fmt: skip
    for memory in said:
        retract(person(alice), memory.id)
    with CaptureQueriesContext(connection) as seen:
        stored = keep(person(alice), TEXTS[0], group="ledger")
    assert {near.id for near in stored.neighbours} == {memory.id for memory in said}
    assert sum("FROM memories_vec " in sql for sql in statements(seen)) == 1


def test_a_turn_of_a_conversation_takes_few_more(alice: User, ledger: Group) -> None:
    for text in TEXTS[:2]:
        keep(person(alice), text, group="ledger", thread="monday")
    with CaptureQueriesContext(connection) as seen:
        third = kept(person(alice), TEXTS[2], group="ledger", thread="monday")
    # Its thread, the last place, who stands on each side, and the neighbour's own neighbour and context.
    assert len(statements(seen)) <= 19 + 6
    first, second, _ = Memory.objects.order_by("key")
    assert (third.position, third.context) == (2, TEXTS[1])
    assert (second.context, first.context) == (f"{TEXTS[0]}\n{TEXTS[2]}", TEXTS[1])


def test_a_text_is_looked_up_by_its_hash(many: Group) -> None:
    wanted = row(many, OLD)
    with CaptureQueriesContext(connection) as seen:
        found = find_texts([(many.key, Draft(OLD, scope=wanted.scope, type=wanted.type))])
    assert found.live == {text_key(wanted): wanted}
    [sql] = statements(seen)
    assert "memory_texts (<expr>=? AND group_id=? AND type=?)" in plan_of(sql)


def test_many_texts_are_looked_up_by_their_hashes(many: Group) -> None:
    wanted = row(many, OLD)
    drafts = [(many.key, Draft(text, scope=wanted.scope, type=wanted.type)) for text in (OLD, *TEXTS)]
    with CaptureQueriesContext(connection) as seen:
        assert list(find_texts(drafts).live.values()) == [wanted]
    hashes, rows = statements(seen)
    assert "memory_texts (<expr>=?)" in plan_of(hashes)
    assert "INTEGER PRIMARY KEY" in plan_of(rows)


def test_texts_that_are_only_spelt_alike_are_told_apart(many: Group) -> None:
    wanted, shouted = row(many, OLD), row(many, OLD.upper())
    assert wanted.fold_hash == shouted.fold_hash
    said, loud = (Draft(text, scope=wanted.scope, type=wanted.type) for text in (OLD, OLD.upper()))
    another = (many.key, Draft(TEXTS[0], scope="group"))
    for draft, memory in ((said, wanted), (loud, shouted)):
        for drafts in ([(many.key, draft)], [(many.key, draft), another]):
            found = find_texts(drafts)
            assert found.live[text_key(memory)] == memory
            assert found.dressed[dress_key(memory)] == wanted


def test_twins_are_looked_up_by_their_fold(many: Group) -> None:
    wanted, shouted = row(many, OLD), row(many, OLD.upper())
    with CaptureQueriesContext(connection) as seen:
        assert live_copies(wanted) == [shouted]
    assert "memory_texts (<expr>=? AND group_id=?)" in plan_of(statements(seen)[0])
    again = row(many, OLD, state="superseded")
    for counts in (False, True):
        with CaptureQueriesContext(connection) as seen:
            assert find_twin(again, counts=counts) == wanted
        assert "memory_texts (<expr>=? AND group_id=? AND type=? AND scope=?)" in plan_of(statements(seen)[0])


@pytest.mark.parametrize("tie", ["thread", "superseded_by", "root", "author", "token"])
def test_rows_are_found_by_a_tie_that_few_have(many: Group, tie: str) -> None:
    alone = Memory.objects.filter(**{f"{tie}_id": 7}).order_by().values_list("key")
    either = Memory.objects.filter(Q(key=7) | Q(**{f"{tie}_id__in": [7, 8]})).order_by().values_list("key")
    for rows in (alone, either):
        assert f"INDEX memory_{tie}" in plan_of(str(rows.query))
        assert "SCAN" not in plan_of(str(rows.query))


def test_a_text_of_another_group_is_not_the_same(many: Group) -> None:
    other = Group.objects.create(slug="other")
    row(other, OLD)
    same, another = (many.key, Draft(OLD, scope="group")), (many.key, Draft(TEXTS[0], scope="group"))
    assert find_texts([same]).live == find_texts([same, another]).live == {}


def test_sources_are_looked_up_by_name(many: Group) -> None:
    wanted = row(many, OLD, source="wiki", source_ref="a")
    drafts = [(many.key, Draft(OLD, source="wiki", source_ref=ref)) for ref in "abc"]
    with CaptureQueriesContext(connection) as seen:
        assert [origin.row for origin in find_sources(drafts).values()] == [wanted]
    assert "memory_source_once (group_id=? AND source=? AND source_ref=?)" in plan_of(statements(seen)[0])


def test_what_came_since_the_probe_is_found_by_its_key(many: Group) -> None:
    newest = max(Memory.objects.values_list("key", flat=True))
    said = ComparedText("Bicycle 61 was mended.", "semantic")
    late = row(many, "Bicycle 61 was mended.")
    piece = add_piece(late, unit_vector(1))
    with CaptureQueriesContext(connection) as seen:
        found = neighbours_since(said, unit_vector(1), since=newest, group=many.key, model=piece.model)
    assert [near.memory for near in found] == [late]
    rows, pieces = (plan_of(sql) for sql in statements(seen))
    assert "INTEGER PRIMARY KEY (rowid>?)" in rows
    assert "memory_id=?" in pieces
    assert neighbours_since(said, unit_vector(1), since=late.key, group=many.key, model=piece.model) == ()
    assert neighbours_since(said, unit_vector(1), since=newest, group=many.key, model="another") == ()


def test_a_new_memory_is_tied_to_each_near_one_once(alice: User, ledger: Group) -> None:
    kept(person(alice), OLD, group="ledger")
    other = keep(person(alice), NEW, group="ledger")
    [tie] = Link.objects.all()
    assert (tie.kind, tie.source, tie.target.content) == (LinkKind.CONFLICT, other.memory, OLD)
    assert tie.author_name == "alice"
    assert tie.score is not None
    assert 0.55 < tie.score < 1
    assert tie.reason == other.neighbours[0].why


@pytest.mark.parametrize("several", [False, True], ids=["alone", "as a batch"])
def test_a_restated_superseded_text_waits_to_take_its_successors_place(
    alice: User, ledger: Group, several: bool
) -> None:
    kept(person(alice), OLD, group="ledger")
    new = kept(person(alice), NEW, supersedes=Memory.objects.get().id)
    draft = Draft(OLD, group="ledger")
    if several:
        store_many(person(alice), [draft])
    else:
        keep(person(alice), OLD, group="ledger")
    candidate = Memory.objects.get(trust="candidate")
    [tie] = Link.objects.filter(source=candidate)
    assert (tie.kind, tie.status, tie.evidence["on_approval"]) == ("conflict", "open", "supersede")
    assert tie.target_id == new.root_key
    approve(person(alice), candidate.id)
    assert (fresh(candidate).state, fresh(candidate).trust) == ("live", "active")
    assert (fresh(new).state, fresh(new).superseded_by_id) == ("superseded", candidate.key)
    assert fresh(candidate).version == 3


def test_a_superseded_text_whose_successor_was_forgotten_counts_again(alice: User, ledger: Group) -> None:
    old = kept(person(alice), OLD, group="ledger")
    new = kept(person(alice), NEW, supersedes=old.id)
    Memory.objects.filter(pk=new.pk).update(state="forgotten")
    assert keep(person(alice), OLD, group="ledger").outcome == "created"
    assert not Link.objects.filter(evidence__has_key="on_approval").exists()
