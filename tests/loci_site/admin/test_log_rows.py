"""A row of the audit log is named by its chain and its number there, as `loci audit show` names it."""

import pytest
from django.test import Client
from django.urls import reverse

from access.models import AuditEntry
from tests.loci_site.admin.conftest import Remember

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
