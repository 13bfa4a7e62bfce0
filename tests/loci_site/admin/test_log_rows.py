"""A row of the audit log is named by its chain and its number there, as `loci audit show` names it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from access.groups import GroupChange, update_group
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import create_token, operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.cycle.undo import undo_run
from maintenance.models import Run
from memories.lifecycle.verbs import retract
from tests.loci_site.admin.conftest import Remember
from tests.people import person

pytestmark = pytest.mark.django_db


def test_the_page_names_chain_and_number(owner: Client, member: Client, remember: Remember) -> None:
    remember("one")
    remember("two", group="garden")
    entry = AuditEntry.objects.filter(operation="store").order_by("-key")[1]
    for client in (owner, member):
        body = client.get(reverse("admin:access_auditentry_changelist")).content.decode()
        assert f"ledger {entry.seq}" in body
        assert ("garden " in body) == (client is owner)
        url = reverse("admin:access_auditentry_change", args=[entry.name])
        assert f"Audit row ledger {entry.seq}" in client.get(url).content.decode()


def test_the_row_of_a_step_leads_to_what_it_changed_in_its_group(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("The gate is open.", confidence=0.8)
    remember("The pond is full.", group="garden", confidence=0.8)
    run_cycle(operator(), RunPlan(now=timezone.now() + timedelta(days=1, hours=1)))
    decays = AuditEntry.objects.filter(operation="decay").order_by("key")
    mine, foreign = (reverse("admin:maintenance_run_batch", args=[entry.name]) for entry in decays)
    address = f"{reverse('admin:access_auditentry_changelist')}?operation="
    for client, operation in ((owner, "decay"), (member, "decay"), (owner, "compact"), (owner, "run")):
        body = client.get(address + operation).content.decode()
        assert (mine in body) == (operation == "decay")
        assert (foreign in body) == (operation == "decay" and client is owner)
    body = member.get(mine).content.decode()
    assert "The gate is open." in body
    assert "<del>0.8</del> → <ins>0.792</ins>" in body
    assert "pond" not in body
    page = reverse("admin:maintenance_run_change", args=[Run.objects.get().id])
    assert page not in body  # that run was about other groups too
    assert page in owner.get(foreign).content.decode()
    assert (
        mine in member.get(reverse("admin:access_auditentry_change", args=[decays[0].name])).content.decode()
    )
    store = AuditEntry.objects.filter(operation="store").first()
    assert store is not None
    refused = [(member, foreign), (stranger, mine), (owner, mine.replace(decays[0].name, store.name))]
    assert {client.get(url).status_code for client, url in refused} == {404}
    assert "Undone on" not in body
    undo_run(operator(), Run.objects.get().id)
    assert "Undone on" in member.get(mine).content.decode()


def test_a_row_shows_fields_before_and_after_and_what_it_stored(owner: Client, remember: Remember) -> None:
    old = remember("The <b>pump</b> is blue.")
    remember("The pump is green.", supersedes=old.id)

    def shown(operation: str) -> str:
        entry = AuditEntry.objects.filter(operation=operation, memory_id=old.id).get()
        address = reverse("admin:access_auditentry_change", args=[entry.name])
        return owner.get(address).content.decode()

    assert "<del>live</del> → <ins>superseded</ins>" in shown("supersede")
    stored = shown("store")
    assert "The &lt;b&gt;pump&lt;/b&gt; is blue." in stored
    assert "<b>pump</b>" not in stored
    assert "<del>" not in stored


def test_every_row_of_a_log_has_a_page(owner: Client, alice: User, ledger: Group, remember: Remember) -> None:
    memory = remember("The gate is open.")
    update_group(operator(), ledger.slug, GroupChange(title="Ledger"))
    set_member(operator(), ledger, user=alice, role="viewer")
    set_member(operator(), ledger, user=alice, role="curator")
    create_token(operator(), user=alice, name="a", scopes=["read"])
    retract(person(alice), memory.id, reason="closed")
    for entry in AuditEntry.objects.all():
        address = reverse("admin:access_auditentry_change", args=[entry.name])
        assert owner.get(address).status_code == 200, (entry.operation, entry.payload)
