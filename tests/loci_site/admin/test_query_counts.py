"""A list page needs the same number of queries for any number of rows, and reads only what it shows."""

import re

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from unfold.templatetags.unfold_list import items_for_result

from access.admin import page as page_module
from access.models import ApiToken, AuditEntry, Group
from maintenance.models import Run
from memories.models import Link, LinkKind, Memory, RecallLog, Tombstone
from relations.models import Relation
from tests.loci_site.admin.conftest import page
from tests.memories.builders import NOW, doubt, row
from tests.people import make_token

pytestmark = pytest.mark.django_db
LISTS = (
    "/admin/memories/memory/",
    "/admin/memories/memory/?type__exact=semantic&state__exact=live",
    "/admin/memories/memory/?o=4",
    "/admin/memories/memory/?mine=1",
    "/admin/memories/memory/?q=pear",
    "/admin/memories/recalllog/",
    "/admin/memories/tombstone/",
    "/admin/relations/relation/",
    "/admin/access/apitoken/",
    "/admin/access/auditentry/",
    "/admin/maintenance/run/",
    "/admin/auth/user/",
)
SETTINGS = "/admin/groups/ledger/settings/"
MOST = 60  # queries of a page of a group
PAGES = (
    *LISTS,
    "/admin/",
    "/admin/review/",
    "/admin/maintenance/joblock/",
    "/admin/groups/",
    "/admin/groups/ledger/",
    "/admin/groups/ledger/changes/",
    "/admin/groups/ledger/asked/",
    "/admin/groups/ledger/files/",
    "/admin/groups/ledger/map/",
    "/admin/groups/ledger/map/?view=time",
    SETTINGS,
    "/admin/ask/",
    "/admin/ask/?q=pear",
)


# It asks recall, which with more memories than candidates looks whether any is verified.
ASKS = "/admin/ask/?q=pear"


def fill(group: Group, author: User, first: int, last: int) -> None:
    """Create one row of every listed kind for each number."""
    for n in range(first, last):
        own = {"author": author, "author_name": "alice"}
        entities = [
            row(group, f"Pear {n}, {name}", type="entity", tags=["pear"], **own) for name in ("tree", "plot")
        ]
        row(group, f"A pear {n} waits.", trust="candidate", **own)
        doubt(row(group, f"A pear {n} is doubted.", pinned=True, **own))
        Relation.objects.create(group=group, subject=entities[0], predicate="stands_on", object=entities[1])
        for kind in (LinkKind.CONFLICT, LinkKind.DUPLICATE):
            Link.objects.create(kind=kind, source=entities[0], target=entities[1], score=0.9)
        RecallLog.objects.create(
            at=NOW, group=group, actor="alice", via="rest", query="pear", mode="hybrid", duration_ms=1
        )
        Tombstone.objects.create(
            group=group, kind="retracted", hmac=f"{n:064}", key_id="k", memory_id=entities[0].id
        )
        AuditEntry.objects.create(
            seq=10_000 + n, at=NOW, operation="store", memory_id=entities[0].id, group=group.id, actor="alice",
            via="rest", digest="d", hash=f"{n}",
        )  # fmt: skip
        Group.objects.create(slug=f"orchard-{n}")
        Run.objects.create(kind="decay", actor="job", group=group, counts={"decayed": n})
        make_token(User.objects.create_user(f"gardener-{n}"), name=f"agent {n}")


def queries(client: Client, address: str) -> int:
    client.get(address)  # what is worked out once stays out of the count
    with CaptureQueriesContext(connection) as seen:
        answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code, answer.content[:300])
    return len(seen)


def test_fifty_of_everything_cost_as_many_queries_as_five(owner: Client, ledger: Group, alice: User) -> None:
    fill(ledger, alice, 0, 5)
    one = page(Memory.objects.filter(type="entity").earliest("key"))
    few = {address: queries(owner, address) for address in (*PAGES, one)}
    fill(ledger, alice, 5, 50)
    assert ApiToken.objects.count() >= 50
    assert {address: queries(owner, address) for address in few} == few | {ASKS: few[ASKS] + 1}
    assert max(count for address, count in few.items() if "/groups/" in address) <= MOST


def test_a_member_s_pages_cost_as_many_queries_too(member: Client, ledger: Group, alice: User) -> None:
    pages = [
        address
        for address in PAGES
        if not any(each in address for each in ("auth/user", "joblock", SETTINGS))
    ]
    fill(ledger, alice, 0, 5)
    few = {address: queries(member, address) for address in pages}
    fill(ledger, alice, 5, 50)
    assert {address: queries(member, address) for address in pages} == few | {ASKS: few[ASKS] + 1}


def test_rows_are_drawn_as_the_theme_draws_them(owner: Client, ledger: Group, alice: User) -> None:
    """Same tags, classes and texts, but for the words of a time and the mark of a cell without a value."""
    fill(ledger, alice, 0, 3)
    drawn = 0
    for address in LISTS[:-1]:  # people are listed by the theme itself
        changes = owner.get(address).context["cl"]
        wished = ["".join(items_for_result(changes, one, None)) for one in changes.result_list]
        assert [plain(html) for html in changes.table["rows"]] == [plain(html) for html in wished], address
        drawn += len(wished)
    assert drawn > 60


def plain(html: str) -> str:
    html = re.sub(r'<time [^>]*title="(.{16})[^<]*</time>', r"\1", html)  # the theme shows the exact time
    html = html.replace(" loci-none", "")
    return re.sub(r"\s+", " ", html).replace(" >", ">")


@pytest.mark.sqlite(reason="plans of SQLite's planner")
@pytest.mark.parametrize(
    "asked",
    [
        "",
        "?type__exact=procedural",
        "?trust__exact=candidate",
        "?scope__exact=global",
        "?state__exact=retracted",
    ],
)
def test_a_page_of_memories_is_found_without_reading_texts(owner: Client, ledger: Group, asked: str) -> None:
    row(ledger, "one", trust="candidate")
    with CaptureQueriesContext(connection) as seen:
        owner.get(f"/admin/memories/memory/{asked}")
    lists = [one["sql"] for one in seen if 'FROM "memories_memory"' in one["sql"]]
    narrow = [sql for sql in lists if '"memories_memory"."content"' not in sql]
    assert len(narrow) in (1, 2)  # the count, and the keys where there are any
    for sql in narrow:
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql.replace('%', '%%')}")
            plan = " ".join(step[3] for step in cursor.fetchall())
        assert "COVERING INDEX" in plan, (sql, plan)
    for sql in set(lists) - set(narrow):
        assert '"memories_memory"."key" IN (' in sql


def test_a_list_that_is_too_long_to_sort_is_shown_in_its_order_and_says_so(
    owner: Client, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, author in enumerate(["bob", "charlie", "alice"]):
        row(ledger, f"number {number}", author_name=author)

    def shown() -> tuple[list[str], bool]:
        answer = owner.get("/admin/memories/memory/?o=4")
        return [
            one.content for one in answer.context["cl"].result_list
        ], "Filter it to sort it" in answer.content.decode()

    assert shown() == (["number 2", "number 0", "number 1"], False)
    monkeypatch.setattr(page_module, "MAX_COUNTED_ROWS", 2)
    assert shown() == (["number 2", "number 1"], True)
