"""Storing, correcting, flagging and reading: each message states the actual outcome."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from access.groups import GroupChange, update_group
from access.models import AuditEntry, Preference
from access.tokens import operator
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.models import Memory
from tests.loci_site.admin.conftest import page as address
from tests.loci_site.app.conftest import Remember
from tests.memories.builders import doubters
from tests.people import agent, person

FORM = {
    "content": "The port is 8081.",
    "type": "semantic",
    "group": "ledger",
    "scope": "group",
    "tags": "Ops, port",
    "importance": "5",
    "confidence": "0.7",
}
ADD = "/admin/memories/memory/add/"
EDIT = {"type": "semantic", "importance": "5", "tags": "", "version": "1", "reason": ""}
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"
pytestmark = pytest.mark.model


def test_what_is_stored_bears_its_authors_name(member: Client, bob: User) -> None:
    answer = member.post(ADD, FORM, follow=True)
    (memory,) = Memory.objects.all()
    assert answer.redirect_chain == [(address(memory), 302)]
    assert "Saved." in answer.content.decode()
    assert (memory.content, memory.author, memory.tags) == ("The port is 8081.", bob, ["ops", "port"])
    assert (memory.scope, memory.group.slug, memory.trust) == ("group", "ledger", "active")
    entry = AuditEntry.objects.get(memory_id=memory.id)
    assert (entry.operation, entry.actor, entry.via) == ("store", "bob", "admin")


def test_times_of_the_forms_are_the_readers_own(member: Client, bob: User) -> None:
    Preference.objects.create(user=bob, time_zone="Asia/Shanghai")
    form = FORM | {"type": "episodic", "content": "The lift stopped.", "valid_from": "2026-03-05T09:30"}
    member.post(ADD, form)
    memory = Memory.objects.get()
    assert memory.valid_from == datetime(2026, 3, 5, 1, 30, tzinfo=UTC)
    shown = member.get(address(memory, "edit")).content.decode()
    assert 'value="2026-03-05T09:30"' in shown
    assert "In your time zone, Asia/Shanghai." in shown
    untouched = EDIT | {
        "type": "episodic",
        "valid_from": "2026-03-05T09:30",
        "content": "The lift stopped twice.",
    }
    member.post(address(memory, "edit"), untouched)
    assert Memory.objects.get(state="live").valid_from == memory.valid_from


def test_a_question_that_was_asked_stands_above_the_text_and_only_what_is_typed_is_stored(
    member: Client,
) -> None:
    at = f"{ADD}?group=ledger&question=which+%3Cb%3Eport%3F"
    shown = member.get(at).content.decode()
    assert "An agent asked: “which &lt;b&gt;port?”" in shown
    assert '<option value="ledger" selected>' in shown
    assert "which &lt;b&gt;port?" in member.post(at, FORM | {"content": ""}).content.decode()
    member.post(at, FORM)
    assert Memory.objects.get().content == "The port is 8081."


def test_what_is_at_fault_is_open(member: Client) -> None:
    folded = '<details class="memory-fold"><summary>'
    assert folded in member.get(ADD).content.decode()
    shown = member.post(ADD, FORM | {"confidence": "x"}).content.decode()
    assert folded not in shown
    assert 'id="id_confidence_error"' in shown


def test_storing_the_same_again_is_told_so_and_makes_no_second_memory(member: Client) -> None:
    member.post(ADD, FORM)
    said = member.post(ADD, FORM, follow=True).content.decode()
    assert "known already" in said
    assert Memory.objects.count() == 1


def test_a_group_that_holds_writes_back_says_that_it_waits(member: Client, alice: User) -> None:
    update_group(operator(), "ledger", GroupChange(policy="all"))
    said = member.post(ADD, FORM, follow=True).content.decode()
    assert "until a curator approves it" in said
    assert Memory.objects.get().trust == "candidate"
    assert " 8081" not in member.get("/admin/ask/?q=which+port").content.decode()


def test_what_was_retracted_is_not_stored_again_silently(member: Client, remember: Remember) -> None:
    verbs.retract(operator(), remember("The port is 8081.").id, reason="it was never true")
    answer = member.post(ADD, FORM)
    assert answer.status_code == 422
    assert "not stored" in answer.content.decode() or "retracted" in answer.content.decode()
    assert not Memory.objects.filter(state="live").exists()


def test_nothing_or_too_much_is_refused_at_its_field(member: Client) -> None:
    for content in ("", "  ", "x" * 200_000):
        answer = member.post(ADD, FORM | {"content": content})
        assert answer.status_code == 422
        assert 'id="id_content_error"' in answer.content.decode()
    assert not Memory.objects.exists()


def test_a_correction_is_a_new_version_and_the_old_text_stays_to_be_read(
    member: Client, remember: Remember
) -> None:
    old = remember("The port is 8081.")
    form = EDIT | {"content": "The port is 8443.", "reason": "it moved"}
    said = member.post(address(old, "edit"), form, follow=True).content.decode()
    new = Memory.objects.get(content="The port is 8443.")
    assert (new.version, new.state, new.author_name) == (2, "live", "bob")
    assert "Corrected." in said
    assert "The port is 8081." in said
    assert "it moved" in said


def test_tags_alone_change_in_place(member: Client, remember: Remember) -> None:
    memory = remember("The port is 8081.")
    member.post(address(memory, "edit"), EDIT | {"content": memory.content, "tags": "ops"})
    memory.refresh_from_db()
    assert (memory.tags, memory.version, Memory.objects.count()) == (["ops"], 1, 1)


def test_line_ends_of_the_browser_are_no_change(member: Client, remember: Remember) -> None:
    memory = remember("first\nsecond")
    answer = member.post(address(memory, "edit"), EDIT | {"content": "first\r\nsecond"})
    assert answer.status_code == 422
    assert Memory.objects.count() == 1


def test_a_correction_of_what_changed_meanwhile_is_refused_and_keeps_what_was_typed(
    member: Client, remember: Remember, alice: User
) -> None:
    memory = remember("The port is 8081.")
    edit(person(alice), memory.id, EditDraft(content="The port is 9000."))
    answer = member.post(address(memory, "edit"), EDIT | {"content": "The port is 8443."})
    assert answer.status_code == 422
    assert "The port is 8443." in answer.content.decode()
    assert "now has version 2, not 1." in answer.content.decode()
    assert not Memory.objects.filter(content="The port is 8443.").exists()


def test_a_flag_is_a_dispute_with_its_reason(member: Client, remember: Remember) -> None:
    memory = remember("The port is 8081.")
    assert (
        "This field is required." in member.post(address(memory, "dispute"), {"reason": ""}).content.decode()
    )
    said = member.post(address(memory, "dispute"), {"reason": "it is closed"}, follow=True).content.decode()
    memory.refresh_from_db()
    assert (memory.trust, doubters(memory)) == ("active", ["bob"])
    assert "bob doubts it: “it is closed”" in said
    assert address(memory, "dispute") not in said  # it is flagged already


def test_ones_own_are_those_one_wrote_and_those_of_ones_agents(
    member: Client, remember: Remember, bob: User
) -> None:
    from memories.draft import Draft
    from memories.store import store

    remember("Alice wrote this about ports.")
    store(agent(bob), Draft("Bob's agent wrote this about gates.", group="ledger", scope="group"))
    member.post(ADD, FORM)
    said = member.get("/admin/memories/memory/?mine=1").content.decode()
    assert "The port is 8081." in said
    assert "agent wrote this about gates." in said
    assert "Alice wrote" not in said


def test_hostile_text_is_shown_and_never_markup(member: Client, remember: Remember) -> None:
    memory = remember(f"hostile {HOSTILE}", tags=("a<b",))
    member.post(address(memory, "dispute"), {"reason": HOSTILE})
    for place in ("/admin/ask/", f"/admin/ask/?q={HOSTILE}", address(memory), address(memory, "edit")):
        body = member.get(place).content.decode()
        assert "<script>alert" not in body, place
        assert "<img src=x" not in body, place
        assert "&lt;script&gt;" in body, place


def test_a_page_asks_no_more_for_thirty_memories_than_for_fifteen(member: Client, remember: Remember) -> None:
    def queries(place: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert member.get(place).status_code == 200
        return len(asked)

    for number in range(15):  # more than an answer has
        remember(f"Lamp {number} is red.")
    member.get("/admin/ask/?q=lamp")  # what a process reads once: what is withdrawn, how long texts are
    few = {
        place: queries(place)
        for place in ("/admin/ask/", "/admin/memories/memory/?mine=1", "/admin/ask/?q=lamp")
    }
    for number in range(15, 30):
        remember(f"Lamp {number} is red.")
    member.get("/admin/ask/?q=lamp")
    assert {place: queries(place) for place in few} == few
