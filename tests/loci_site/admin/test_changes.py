"""Changes made in the browser reach the rows and the audit log."""

import re
from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client

from access.models import ApiToken, AuditEntry, Group
from access.tokens import actor_for_secret, hash_secret
from memories.models import Link, LinkKind, Memory
from tests.loci_site.admin.conftest import Remember, page


def last_entry() -> AuditEntry:
    entry = AuditEntry.objects.select_related("payload_row").order_by("-key").first()
    assert entry is not None
    return entry


def said(client: Client, address: str, **form: object) -> str:
    answer = client.post(address, form, follow=True)
    assert answer.status_code in (200, 422)  # a form at fault
    return answer.content.decode()


@pytest.mark.parametrize(
    ("verb", "before", "after", "operation"),
    [
        ("forget", {}, {"state": "forgotten"}, "forget"),
        ("retract", {}, {"state": "retracted"}, "retract"),
        ("restore", {"state": "forgotten"}, {"state": "live"}, "restore"),
        ("approve", {"trust": "candidate"}, {"trust": "active"}, "trust"),
        ("reject", {"trust": "candidate"}, {"trust": "rejected"}, "trust"),
        ("verify", {}, {"trust": "verified"}, "verify"),
        ("pin", {}, {"pinned": True}, "pin"),
        ("unpin", {"pinned": True}, {"pinned": False}, "unpin"),
    ],
)
def test_a_button_asks_then_does_and_is_logged(
    owner: Client,
    remember: Remember,
    verb: str,
    before: dict[str, object],
    after: dict[str, object],
    operation: str,
) -> None:
    memory = remember("The port is 8081.")
    Memory.objects.filter(pk=memory.pk).update(**before)
    asked = owner.get(page(memory, verb)).content.decode()
    assert "The port is 8081." in asked
    assert "Consequences" in asked
    memory.refresh_from_db()
    assert all(getattr(memory, name) != value for name, value in after.items())
    said(owner, page(memory, verb), reason="for a reason")
    memory.refresh_from_db()
    assert {name: getattr(memory, name) for name in after} == after
    entry = last_entry()
    assert (entry.operation, entry.memory_id, entry.actor, entry.via) == (
        operation,
        memory.id,
        "alice",
        "admin",
    )
    assert entry.payload_row.payload["reason"] == "for a reason"


def test_the_question_shows_every_field_that_a_person_would_see_change(
    owner: Client, remember: Remember
) -> None:
    memory = remember("The port is 8081.")
    past = datetime(2024, 5, 3, tzinfo=UTC)
    Memory.objects.filter(pk=memory.pk).update(state="expired", expires_at=past)
    asked = owner.get(page(memory, "restore")).content.decode()
    assert "<dt>state</dt><dd>expired → live</dd>" in asked
    assert "<dt>expires at</dt><dd>2024-05-03 00:00 → —</dd>" in asked
    assert "decayed at" not in asked


def test_a_purge_needs_a_reason_and_says_what_it_destroyed(owner: Client, remember: Remember) -> None:
    memory = remember("The secret recipe.")
    assert "This field is required" in said(owner, page(memory, "purge"), reason="")
    assert Memory.objects.filter(pk=memory.pk).exists()
    assert "Purged: 1 memory, 1 pieces, 0 links" in said(owner, page(memory, "purge"), reason="asked for it")
    assert not Memory.objects.filter(pk=memory.pk).exists()
    assert last_entry().operation == "purge"
    assert owner.get(page(memory)).status_code == 404


def test_a_verb_that_does_not_fit_says_so_and_does_nothing(owner: Client, remember: Remember) -> None:
    memory = remember("The port is 8081.")
    before = AuditEntry.objects.count()
    assert "needs a memory that is" in said(owner, page(memory, "restore"), reason="")
    assert AuditEntry.objects.count() == before


def test_a_verb_on_an_old_version_acts_on_the_one_that_counts(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.")
    new = remember("The port is 8443.", supersedes=old.id)
    assert "8443" in owner.get(page(old, "forget"), follow=True).content.decode()
    said(owner, page(new, "forget"), reason="")
    new.refresh_from_db()
    assert new.state == "forgotten"


DRAFT = {"type": "semantic", "group": "ledger", "scope": "group", "importance": "5", "confidence": "0.7"}


def test_a_memory_is_added_through_store(owner: Client, ledger: Group) -> None:
    form = DRAFT | {"content": "The port is 8081.", "tags": "Net, ports", "valid_from": "2026-03-01T08:30"}
    assert "Saved." in said(owner, "/admin/memories/memory/add/", **form)
    memory = Memory.objects.get()
    assert (memory.content, memory.tags, memory.author_name) == (
        "The port is 8081.",
        ["net", "ports"],
        "alice",
    )
    assert memory.valid_from is not None
    assert memory.valid_from.isoformat() == "2026-03-01T08:30:00+00:00"
    assert "This was known already." in said(owner, "/admin/memories/memory/add/", **form)
    assert Memory.objects.count() == 1


def test_a_draft_at_fault_is_shown_again_with_the_fault(owner: Client, ledger: Group) -> None:
    body = said(owner, "/admin/memories/memory/add/", **(DRAFT | {"content": "Kept text", "confidence": "7"}))
    assert "Kept text" in body
    assert "confidence is 7.0; it must be a number from 0 to 1." in body
    assert "Choose a group" in said(
        owner, "/admin/memories/memory/add/", **(DRAFT | {"content": "x", "group": ""})
    )
    assert not Memory.objects.exists()


def test_a_newer_memory_supersedes(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.")
    assert (
        str(old.id)
        in owner.get(f"/admin/memories/memory/add/?supersedes={old.id}&group=ledger").content.decode()
    )
    said(
        owner,
        "/admin/memories/memory/add/",
        **(DRAFT | {"content": "The port is 8443.", "supersedes": str(old.id)}),
    )
    old.refresh_from_db()
    assert old.state == "superseded"


EDITED = {"type": "semantic", "importance": "5", "tags": "", "version": "1", "reason": "moved"}


def test_an_edit_writes_a_new_version(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.\nStill.")
    body = said(owner, page(old, "edit"), **(EDITED | {"content": "The port is 8443.\r\nStill."}))
    assert "Corrected. The old text is listed below." in body
    new = Memory.objects.get(state="live")
    assert (new.content, new.version, new.root_id) == ("The port is 8443.\nStill.", 2, old.pk)
    assert last_entry().operation == "edit"


def test_an_edit_of_what_somebody_else_changed_is_refused(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.")
    said(owner, page(old, "edit"), **(EDITED | {"content": "The port is 8443."}))
    assert "now has version 2, not 1" in said(
        owner, page(old, "edit"), **(EDITED | {"content": "The port is 9000."})
    )


def test_an_edit_that_changes_nothing_says_so(owner: Client, remember: Remember) -> None:
    old = remember("The port is 8081.\nStill.")
    assert "names no field" in said(
        owner, page(old, "edit"), **(EDITED | {"content": "The port is 8081.\r\nStill."})
    )


def test_a_link_is_closed_once(owner: Client, remember: Remember) -> None:
    one, two = remember("First fact."), remember("Second, quite another.")
    link = Link.objects.create(kind=LinkKind.CONFLICT, source=two, target=one)
    said(owner, f"/admin/memories/memory/links/{link.id}/dismiss/", reason="both are true")
    link.refresh_from_db()
    assert (link.status, link.settled_by) == ("dismissed", "alice")
    entry = last_entry()
    assert (entry.operation, entry.payload_row.payload["reason"]) == ("link", "both are true")
    assert "already closed" in said(owner, f"/admin/memories/memory/links/{link.id}/dismiss/", reason="")


def test_a_token_is_made_its_secret_shown_once_and_revoked(owner: Client, alice: User, ledger: Group) -> None:
    form = {
        "name": "agent",
        "client": "Claude Code",
        "user": alice.username,
        "scopes": ["read"],
        "groups": ["ledger"],
        "default_group": "ledger",
        "no_global": "on",
    }
    answer = owner.post("/admin/access/apitoken/add/", form)
    secret = re.findall(r"loci_[\w-]{43}", answer.content.decode())[0]
    assert "no-store" in answer["Cache-Control"]
    page = answer.content.decode().replace("&quot;", '"')
    assert f"Authorization: Bearer {secret}" in page
    assert page.count(secret) == 1
    token = ApiToken.objects.get()
    assert (token.token_hash, token.scopes, token.default_group) == (hash_secret(secret), ["read"], ledger)
    assert actor_for_secret(secret).roles == {ledger.key: "admin"}
    assert actor_for_secret(secret).include_global is False
    shown = owner.get(f"/admin/access/apitoken/{token.id}/change/").content.decode()
    assert "ledger alone, without global memories of other groups" in shown
    assert secret not in shown
    assert token.token_hash not in shown
    said(owner, f"/admin/access/apitoken/{token.id}/revoke/")
    token.refresh_from_db()
    assert token.revoked_at is not None
    assert last_entry().operation == "token"


def test_without_a_client_the_token_stands_alone(owner: Client, alice: User) -> None:
    answer = owner.post("/admin/access/apitoken/add/", {"name": "a", "user": "alice", "scopes": ["read"]})
    assert re.search(r'<pre class="loci-code">loci_[\w-]{43}</pre>', answer.content.decode())
    assert "mcp add" not in answer.content.decode()


def test_a_person_is_found_by_name_where_there_are_many(owner: Client, alice: User) -> None:
    assert '<select name="user"' in owner.get("/admin/access/apitoken/add/").content.decode()
    User.objects.bulk_create(User(username=f"person{n}") for n in range(20))
    page = owner.get("/admin/access/apitoken/add/").content.decode()
    assert re.search(r'<input type="text" name="user" list="(\w+-choices)"[^>]* value="alice"', page)
    assert '<option value="person7">' in page
    refused = owner.post("/admin/access/apitoken/add/", {"name": "a", "user": "eve", "scopes": ["read"]})
    assert "Select a valid choice" in refused.content.decode()
    assert not ApiToken.objects.exists()


def test_a_token_form_at_fault_makes_nothing(owner: Client, alice: User) -> None:
    said(owner, "/admin/access/apitoken/add/", name="", user=alice.username, scopes=["read"])
    body = said(
        owner,
        "/admin/access/apitoken/add/",
        name="a",
        user=alice.username,
        scopes=["read"],
        expires_at="2020-01-01T00:00",
    )
    assert "is in the past" in body
    assert not ApiToken.objects.exists()


def test_people_are_made_and_never_deleted(owner: Client, bob: User) -> None:
    said(owner, "/admin/auth/user/add/", person="dora", how="link")
    assert User.objects.filter(username="dora").exists()
    assert owner.get(f"/admin/auth/user/{bob.pk}/delete/").status_code == 403
