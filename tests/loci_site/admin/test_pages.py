"""Every page responds, shows what it should, and needs no more queries for fifty rows than for five."""

import re

import pytest
from django.contrib.auth.models import User
from django.core import checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access.actor import Via
from access.models import ApiToken, AuditEntry, Group
from access.tokens import operator
from maintenance.models import Run
from memories.draft import EditDraft
from memories.entities.store_relation import RelationDraft, store_relation
from memories.lifecycle.edit import edit
from memories.models import Link, LinkKind, Memory, RecallLog
from memories.recall import RecallRequest, recall
from memories.recall_log import COUNTER
from relations.models import Relation
from tests.loci_site.admin.conftest import Remember, page
from tests.people import make_token, person

LISTS = [
    "/admin/",
    "/admin/memories/memory/",
    "/admin/memories/recalllog/",
    "/admin/relations/relation/",
    "/admin/groups/",
    "/admin/access/apitoken/",
    "/admin/access/auditentry/",
    "/admin/maintenance/run/",
    "/admin/auth/user/",
]
ADDING = [
    "/admin/memories/memory/add/",
    "/admin/access/apitoken/add/",
    "/admin/auth/user/add/",
]
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"


def text(client: Client, address: str, *, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, (address, answer.status_code)
    return answer.content.decode()


def fill(owner: Client, remember: Remember, *, hostile: str = "") -> dict[str, str]:
    """Create one row of each kind; the URLs of their pages."""
    alice = person(
        ApiToken.objects.none().model._meta.get_field("user").related_model.objects.get(username="alice")
    )
    memory = remember(f"We settled on PostgreSQL 16. {hostile}", tags=("database",), source=hostile[:100])
    other = remember(f"The database is PostgreSQL 16 now, they say. {hostile}")
    link = Link.objects.filter(source=other).first() or Link.objects.create(
        kind=LinkKind.DUPLICATE, source=other, target=memory, reason=hostile, score=0.9
    )
    relation = store_relation(
        alice, RelationDraft(f"Ines {hostile[:80]}", "uses", "PostgreSQL", group="ledger")
    ).relation
    make_token(memory.author, name=f"agent {hostile[:80]}")  # type: ignore[arg-type]
    recall(alice, RecallRequest(query=f"PostgreSQL {hostile}", group="ledger"))
    COUNTER.flush()
    run = Run.objects.create(
        kind="decay",
        actor=hostile[:80] or "job",
        steps=[{"step": hostile, "batches": 1, "counts": {}, "seconds": 0.1, "longest_lock_s": 0.0}],
        counts={"decayed": 2},
    )
    log, recalled = AuditEntry.objects.filter(operation="store").last(), RecallLog.objects.last()
    token = ApiToken.objects.last()
    assert log is not None
    assert recalled is not None
    assert token is not None
    return {
        "memory": page(memory),
        "asked": page(memory) + "?query=which+database",
        "dismiss": f"/admin/memories/memory/links/{link.id}/dismiss/",
        "relation": f"/admin/relations/relation/{relation.id}/change/",
        "token": f"/admin/access/apitoken/{token.id}/change/",
        "revoke": f"/admin/access/apitoken/{token.id}/revoke/",
        "group": "/admin/groups/ledger/settings/",
        "log": f"/admin/access/auditentry/{log.name}/change/",
        "recall": f"/admin/memories/recalllog/{recalled.key}/change/",
        "run": f"/admin/maintenance/run/{run.id}/change/",
        "edit": page(memory, "edit"),
        **{
            verb: page(memory, verb)
            for verb in ("verify", "reject", "dispute", "pin", "forget", "retract", "purge")
        },
    }


def test_the_admin_has_no_faults_of_its_own() -> None:
    assert checks.run_checks(tags=["admin"]) == []


@pytest.mark.parametrize("address", [*LISTS, *ADDING])
def test_lists_and_forms_answer_when_there_is_nothing(owner: Client, address: str) -> None:
    text(owner, address)


def test_every_page_answers_when_there_is_something(owner: Client, remember: Remember) -> None:
    pages = fill(owner, remember)
    for address in [*LISTS, *pages.values()]:
        text(owner, address)


def test_hostile_text_is_shown_and_never_runs(owner: Client, remember: Remember) -> None:
    pages = fill(owner, remember, hostile=HOSTILE)
    shown = 0
    for address in [*LISTS, *pages.values(), "/admin/memories/memory/?q=alert"]:
        body = text(owner, address)
        assert "<script>alert" not in body, address
        assert "<img src=x" not in body, address
        shown += "&lt;script&gt;alert" in body
    assert shown >= 10


def test_line_breaks_of_a_memory_are_kept(owner: Client, remember: Remember) -> None:
    assert "first<br>second" in text(owner, page(remember("first\nsecond")))


def test_nothing_is_asked_of_other_machines(owner: Client, remember: Remember) -> None:
    pages = fill(owner, remember)
    outside = re.compile(r"""(?:src|href|action)\s*=\s*["'](?:https?:)?//""")
    for address in ["/admin/login/", *LISTS, *ADDING, *pages.values()]:
        assert not outside.search(owner.get(address).content.decode()), address


@pytest.mark.parametrize(
    "address",
    ["/admin/memories/memory/", "/admin/memories/memory/?q=pear", "/admin/", "/admin/access/auditentry/"],
)
def test_fifty_rows_cost_as_many_queries_as_five(owner: Client, remember: Remember, address: str) -> None:
    def queries() -> int:
        text(owner, address)  # what is worked out once stays out of the count
        with CaptureQueriesContext(connection) as seen:
            text(owner, address)
        return len(seen)

    for number in range(5):
        remember(f"The pear tree number {number} was planted.", type="episodic")
    few = queries()
    for number in range(5, 50):
        remember(f"The pear tree number {number} was planted.", type="episodic")
    assert queries() == few


def test_the_list_never_counts_the_whole_table(owner: Client, remember: Remember) -> None:
    remember("one")
    with CaptureQueriesContext(connection) as seen:
        text(owner, "/admin/memories/memory/")
    counts = [query["sql"] for query in seen if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT 10001" in sql for sql in counts)


def test_search_finds_by_word_and_by_id(owner: Client, remember: Remember) -> None:
    found, other = remember("The deploy port is 8081."), remember("Lunch is at noon.")
    for term in ("deploy", "deploys", str(found.id)):
        body = text(owner, f"/admin/memories/memory/?q={term}")
        assert str(found.id) in body, term
        assert str(other.id) not in body, term
    assert "No matches" in text(owner, '/admin/memories/memory/?q="AND ((*')


def test_best_matches_come_first(owner: Client, remember: Remember) -> None:
    best = remember("port port port")
    worse = remember(
        "The harbour is a port, as old people in the long street by the sea like to tell everybody."
    )
    body = text(owner, "/admin/memories/memory/?q=port")
    assert body.index(str(best.id)) < body.index(str(worse.id))


@pytest.mark.parametrize(
    ("narrowing", "shown"),
    [
        ("group=garden", {"rose"}),
        ("type__exact=procedural", {"rose"}),
        ("tag=Flower", {"rose"}),
        ("pinned__exact=1", set()),
        ("scope__exact=group", {"rose", "invoice"}),
        ("state__exact=forgotten", set()),
        ("trust__exact=active", {"rose", "invoice"}),
    ],
)
def test_the_list_is_narrowed(owner: Client, remember: Remember, narrowing: str, shown: set[str]) -> None:
    remember("Cut the rose in March.", group="garden", type="procedural", tags=("flower",))
    remember("An invoice has seven parts.")
    body = text(owner, f"/admin/memories/memory/?{narrowing}")
    assert {word for word in ("rose", "invoice") if word in body} == shown


def test_a_memory_page_tells_its_versions_and_why_recall_hides_one(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.")
    new = remember("The port is 8443.", supersedes=old.id)
    body = text(owner, page(old))
    assert f"/{new.id}/change/" in body
    assert "recall hides it because it is superseded." in body
    assert "recall returns it" in text(owner, page(new))


def test_numbers_behind_a_rank_have_words(owner: Client, remember: Remember) -> None:
    memory = remember("The port is 8081.")
    body = text(owner, page(memory) + "?query=port")
    assert "for its meaning" in body
    assert "<dt>fact_meaning" not in body


def test_a_question_says_its_rank(owner: Client, remember: Remember) -> None:
    memory = remember("The port is 8081.")
    assert "Yes: it ranks 1." in text(owner, page(memory) + "?query=port")


def test_the_chain_is_verified_by_a_button(owner: Client, remember: Remember) -> None:
    remember("something")
    rows = AuditEntry.objects.count()
    said = owner.post("/admin/access/auditentry/verify/", follow=True).content.decode()
    assert f"The log is intact: {rows} rows in 2 chains." in said
    AuditEntry.objects.filter(operation="store").update(actor="mallory")
    assert (
        "The chain ledger is broken at row"
        in owner.post("/admin/access/auditentry/verify/", follow=True).content.decode()
    )


def test_every_actor_of_the_admin_says_so_in_the_log(owner: Client, remember: Remember) -> None:
    owner.post(page(remember("noise"), "forget"), {"reason": "noise"})
    last = AuditEntry.objects.order_by("-key").first()
    assert last is not None
    assert (last.operation, last.actor, last.via) == ("forget", "alice", Via.ADMIN)
    assert operator().name != last.actor


def test_rows_of_relations_and_memories_count(owner: Client, remember: Remember) -> None:
    fill(owner, remember)
    assert Relation.objects.count() == 1
    assert Memory.objects.filter(type="entity").count() == 2


def test_a_relation_shows_its_ends_as_they_stand_now(owner: Client, ledger: Group, alice: User) -> None:
    tied = store_relation(person(alice), RelationDraft("Anna", "leads", "Data team", group="ledger"))
    edit(person(alice), tied.subject.id, EditDraft(content="Berta Berg"))
    for address in ("/admin/relations/relation/", f"/admin/relations/relation/{tied.relation.id}/change/"):
        said = text(owner, address)
        assert ("Berta Berg" in said, "Anna" in said) == (True, False)


def test_a_relation_is_listed_if_the_heads_of_its_ends_may_be_seen(
    member: Client, alice: User, ledger: Group, garden: Group
) -> None:
    tied = store_relation(person(alice), RelationDraft("Anna", "leads", "Data team", group="ledger"))
    address = f"/admin/relations/relation/{tied.relation.id}/change/"
    newer = edit(person(alice), tied.subject.id, EditDraft(content="Berta Berg")).memory.id
    assert "Berta Berg" in text(member, "/admin/relations/relation/")
    Memory.objects.filter(id=newer).update(group=garden, scope="group")
    assert "Data team" not in text(member, "/admin/relations/relation/")
    text(member, address, status=404)
