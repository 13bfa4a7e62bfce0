"""Every page that shows the text of a retired memory shows its state beside it."""

import pytest
from django.test import Client

from access.models import AuditEntry, Group
from memories.models import Memory
from relations.models import Relation
from tests.memories.builders import day, row

pytestmark = pytest.mark.django_db
TEXT = "The harbour master is Jonas."


@pytest.fixture
def relation(ledger: Group) -> Relation:
    """A retracted memory with a link to a live one and an audit entry."""
    wrong = row(ledger, TEXT, state="retracted", retired_at=day(-5))
    harbour = row(ledger, "Harbour: a place", type="entity")
    AuditEntry.objects.create(
        seq=900,
        at=day(-5),
        operation="store",
        memory_id=wrong.id,
        group=ledger.id,
        actor="alice",
        via="admin",
    )
    return Relation.objects.create(subject=wrong, predicate="works_at", object=harbour, group=ledger)


def text_and_next(client: Client, address: str) -> str:
    """The markup right after the retracted text on a page."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    page = answer.content.decode()
    assert TEXT in page
    return page.split(TEXT, 1)[1][:250]


def test_every_page_says_so(owner: Client, relation: Relation) -> None:
    wrong: Memory = relation.subject
    entry = AuditEntry.objects.get(seq=900)
    for address in (
        f"/admin/memories/memory/{relation.object.id}/change/",
        f"/admin/relations/relation/{relation.id}/change/",
        "/admin/relations/relation/",
        f"/admin/access/auditentry/{entry.name}/change/",
    ):
        assert "retracted" in text_and_next(owner, address), address
    Memory.objects.filter(pk=wrong.pk).update(state="live", retired_at=None)
    assert "retracted" not in text_and_next(owner, f"/admin/relations/relation/{relation.id}/change/")
