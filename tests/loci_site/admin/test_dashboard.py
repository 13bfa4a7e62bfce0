"""Home: what waits, was corrected, asked and missed, within the viewer's rights and in as many queries whatever the store has."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from access.models import Group, Membership
from maintenance.models import Run
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.models import Link, Memory, RecallLog
from memories.review.queue import review_deck
from tests.loci_site.admin.conftest import Remember, browser_of
from tests.memories.builders import doubt
from tests.people import agent, person

pytestmark = pytest.mark.django_db
MOST_QUERIES = 60


@pytest.fixture
def reader(ledger: Group) -> Client:
    """Vera's browser; she may only read `ledger`."""
    vera = User.objects.create_user("vera")
    Membership.objects.create(user=vera, group=ledger, role="viewer")
    return browser_of(vera)


def home(client: Client) -> Any:
    answer = client.get("/admin/")
    assert answer.status_code == 200
    return answer.context


def recalled(
    group: Group | None,
    question: str,
    *,
    at: datetime | None = None,
    missed: bool = True,
    actor: str = "bob/bot",
) -> None:
    RecallLog.objects.create(
        at=at or timezone.now(),
        group=group,
        actor=actor,
        via="mcp",
        mode="hybrid",
        query=question,
        duration_ms=1,
        abstained=missed,
    )


def test_each_sees_the_newest_of_ones_own_groups_and_of_what_is_global(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    for text, where in (
        ("ours", {}),
        ("theirs", {"group": "garden"}),
        ("alls", {"group": "garden", "scope": "global"}),
    ):
        remember(text, **where)
    assert [row.content for row in home(owner)["newest"]] == ["alls", "theirs", "ours"]
    assert [row.content for row in home(member)["newest"]] == ["alls", "ours"]
    assert [row.content for row in home(stranger)["newest"]] == ["alls"]
    assert "theirs" not in member.get("/admin/").content.decode()


def test_what_waits_is_what_the_review_has(
    owner: Client, member: Client, reader: Client, alice: User, bob: User, remember: Remember
) -> None:
    first, second, waiting = (remember(f"fact {name}") for name in ("one", "two", "three"))
    remember("a quarantined one", group="garden")
    Memory.objects.filter(content="a quarantined one").update(trust="quarantined")
    Memory.objects.filter(pk=waiting.pk).update(trust="candidate")
    Link.objects.create(kind="conflict", source=second, target=first)
    doubt(second)
    verbs.verify(person(alice), first.id)
    verbs.forget(agent(bob), first.id)  # of a verified memory: a proposal
    for client, user in ((owner, alice), (member, bob)):
        shown = {str(kind): count.value for kind, count, _ in home(client)["kinds"]}
        assert shown == {str(k): n.value for k, n in review_deck(person(user)).counts.items() if n.value}
        for kind, count, url in home(client)["kinds"]:
            assert client.get(url).context["deck"].filtered.value == count.value, kind
    assert "quarantined" in {str(kind) for kind, *_ in home(owner)["kinds"]}
    assert "quarantined" not in {str(kind) for kind, *_ in home(member)["kinds"]}
    assert "deck" not in home(reader)
    assert "Waits for you" not in reader.get("/admin/").content.decode()


def test_a_correction_shows_the_words_before_and_after_with_who_and_where(
    owner: Client,
    member: Client,
    reader: Client,
    stranger: Client,
    alice: User,
    bob: User,
    remember: Remember,
) -> None:
    ours, theirs = remember("The port is 8081."), remember("The key is brass.", group="garden")
    edit(person(bob), ours.id, EditDraft(content="The port is 8443."))
    edit(person(alice), theirs.id, EditDraft(content="The key is steel."))
    for client in (member, reader):
        [shown] = home(client)["corrections"]
        assert [(part.kind, part.text) for part in shown.parts] == [
            ("same", "The port is "), ("gone", "8081"), ("new", "8443"), ("same", "."),
        ]  # fmt: skip
        body = re.sub(r"\s+", " ", client.get("/admin/").content.decode())
        assert "The port is <del>8081</del><ins>8443</ins>." in body
        assert "steel" not in body
        assert re.search(r"bob(?: · \w+)?<br>ledger", body)
    assert len(home(owner)["corrections"]) == 2
    assert home(stranger).get("corrections") == []
    Memory.objects.update(created_at=timezone.now() - timedelta(days=8))
    assert home(owner)["corrections"] == []


def test_of_long_texts_only_what_is_next_to_the_change_is_shown(
    owner: Client, alice: User, remember: Remember
) -> None:
    long = remember(f"{'before ' * 60}the port is 8081{' after' * 60}.")
    edit(person(alice), long.id, EditDraft(content=long.content.replace("8081", "8443")))
    [shown] = home(owner)["corrections"]
    before, gone, new, after = (part.text for part in shown.parts)
    assert (gone, new) == ("8081", "8443")
    assert before.startswith("…")
    assert before.endswith("the port is ")
    assert after.endswith("…")
    assert len(before) < 90 > len(after)


def test_questions_without_an_answer_lead_to_storing_it(
    owner: Client, member: Client, reader: Client, ledger: Group, garden: Group, remember: Remember
) -> None:
    remember("something")
    recalled(ledger, "Which port do we use?")
    recalled(ledger, "which port do we USE")
    recalled(ledger, "answered", missed=False)
    recalled(garden, "theirs?", actor="alice")
    recalled(ledger, "old?", at=timezone.now() - timedelta(days=9))
    recalled(ledger, "hers?", actor="vera")
    shown = [(each.question, each.times) for each, _ in home(member)["missed"]]
    assert shown == [("hers?", 1), ("which port do we USE", 2)]
    url = home(member)["missed"][1][1]
    assert url == "/admin/memories/memory/add/?group=ledger&question=which+port+do+we+USE"
    assert member.get(url).status_code == 200
    assert {each.question for each, _ in home(owner)["missed"]} == {
        "hers?",
        "which port do we USE",
        "theirs?",
    }
    # A reader sees her own questions, and may not store.
    assert [(each.question, url) for each, url in home(reader)["missed"]] == [("hers?", "")]
    assert "Store the answer" not in reader.get("/admin/").content.decode()


def test_who_stored_asked_and_corrected_is_for_those_who_curate(
    owner: Client, member: Client, reader: Client, alice: User, bob: User, ledger: Group, garden: Group,
    remember: Remember,
) -> None:  # fmt: skip
    ours = remember("The port is 8081.")
    remember("The key is brass.", group="garden")
    edit(person(bob), ours.id, EditDraft(content="The port is 8443."))
    recalled(ledger, "which port?", actor="bob/bot")
    recalled(garden, "which key?", actor="alice")
    recalled(ledger, "long ago?", at=timezone.now() - timedelta(days=9))

    def counts(client: Client) -> dict[str, tuple[int, ...]]:
        return {each.actor: tuple(each.counts.values()) for each in home(client)["activity"]}

    assert counts(member) == {"alice": (1, 0, 0), "bob": (0, 0, 1), "bob/bot": (0, 1, 0)}
    assert counts(owner) == {"alice": (2, 1, 0), "bob": (0, 0, 1), "bob/bot": (0, 1, 0)}
    assert counts(reader) == {}


def test_the_last_run_is_a_sentence_with_its_undo(
    owner: Client, member: Client, reader: Client, ledger: Group, garden: Group, remember: Remember
) -> None:
    remember("something")
    for group, counts in ((ledger, {"decayed": 3}), (garden, {"expired": 2})):
        Run.objects.create(kind="cycle", status="done", actor="x", group=group, counts=counts)
    Run.objects.create(kind="cycle", status="done", actor="x", group=ledger, dry_run=True)
    assert home(owner)["run"]["counts"] == "2 expired"
    shown = home(member)["run"]
    assert shown["counts"] == "3 decayed"
    assert shown["undo_url"].endswith("/undo/")
    body = member.get("/admin/").content.decode()
    assert "3 decayed." in body
    assert f'action="{shown["undo_url"]}"' in body
    assert home(reader)["run"]["undo_url"] == ""
    Run.objects.update(started_at=timezone.now() - timedelta(days=3))
    assert home(owner)["run"] is None


def test_an_operator_sees_what_needs_care_and_only_that(
    owner: Client, member: Client, ledger: Group, remember: Remember, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Old:
        def stat(self) -> object:
            return type("Stat", (), {"st_mtime": (timezone.now() - timedelta(days=15, hours=1)).timestamp()})

    remember("something")
    monkeypatch.setattr("loci_site.admin.dashboard.todo.backup_paths", lambda: [Old()])
    for status in ("failed", "stopped", "done"):
        Run.objects.create(kind="cycle", status=status, actor="x", group=ledger)
    needs = {need.label: need for need in home(owner)["care"]}
    assert needs["days since the last backup"].value == 15
    assert (needs["failed runs"].value, needs["runs stopped at their cap"].value) == (1, 1)
    assert needs["worker"].note  # none runs in a test
    assert not {"database", "disk", "schedule"} & set(needs)
    assert home(member)["care"] == []
    assert "Needs care" not in member.get("/admin/").content.decode()


def test_every_link_of_home_leads_to_a_page_that_answers(
    owner: Client, remember: Remember, alice: User, ledger: Group
) -> None:
    memory, other = remember("a fact"), remember("another one")
    Memory.objects.filter(pk=memory.pk).update(trust="candidate")
    Link.objects.create(kind="conflict", source=memory, target=other)
    edit(person(alice), remember("a third").id, EditDraft(content="a third one"))
    Run.objects.create(kind="cycle", status="done", actor="x", group=ledger, counts={"decayed": 1})
    Run.objects.create(kind="cycle", status="failed", actor="x", group=ledger)
    recalled(ledger, "missed?")
    body = owner.get("/admin/").content.decode()
    links = {link.replace("&amp;", "&") for link in re.findall(r'href="(/admin/[^"]*)"', body)}
    assert len(links) > 15
    for link in sorted(links):
        if "logout" not in link:
            assert owner.get(link, follow=True).status_code == 200, link


def test_the_queries_are_few_and_do_not_grow(
    owner: Client, member: Client, alice: User, ledger: Group, garden: Group, remember: Remember
) -> None:
    def queries(client: Client) -> int:
        client.get("/admin/")
        with CaptureQueriesContext(connection) as seen:
            client.get("/admin/")
        return len(seen)

    def more(number: int) -> None:
        group = garden if number % 2 else ledger
        row = remember(f"event {number}", type="episodic", group=group.slug)
        edit(person(alice), row.id, EditDraft(content=f"event {number}, corrected"))
        Memory.objects.filter(pk=remember(f"waits {number}").pk).update(trust="candidate")
        recalled(group, f"question {number}?", actor=f"agent {number}")

    more(0)
    more(1)
    few = [queries(client) for client in (owner, member)]
    for number in range(2, 12):
        more(number)
    assert [queries(client) for client in (owner, member)] == few
    assert max(few) <= MOST_QUERIES


def test_nothing_is_read_whole(owner: Client, ledger: Group, remember: Remember) -> None:
    """No statement of Home scans memories, the audit log or the recall log without an index."""
    remember("something")
    recalled(ledger, "missed?")
    with CaptureQueriesContext(connection) as seen:
        owner.get("/admin/")
    if connection.vendor != "sqlite":
        pytest.skip("plans of SQLite")
    for query in seen:
        if not query["sql"].startswith("SELECT"):
            continue
        with connection.cursor() as cursor:
            plan = [row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {query['sql']}").fetchall()]
        for step in plan:
            # Newest first with a limit: the rows before it are not read.
            is_whole = re.match(r"SCAN (memories_memory|memory_log|memories_recalllog)$", step)
            assert not is_whole or "LIMIT" in query["sql"], (query["sql"], plan)
