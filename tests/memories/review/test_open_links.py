"""An open link closes when one of its memories is no longer live."""

import pytest

from access.models import Group
from access.tokens import operator
from memories.browse.listing import list_open_links
from memories.lifecycle import verbs
from memories.models import Link
from tests.memories.builders import row

pytestmark = pytest.mark.django_db


def test_an_open_link_waits_while_both_memories_count(ledger: Group) -> None:
    one, other = row(ledger, "The port is 8081."), row(ledger, "The port is 8082.")
    link = Link.objects.create(kind="conflict", source=one, target=other)
    assert [found.pk for found in list_open_links(operator()).rows] == [link.pk]
    verbs.retract(operator(), other.id)
    assert not list_open_links(operator()).rows


def test_a_newer_version_keeps_the_link_open(ledger: Group) -> None:
    old = row(ledger, "The port is 8081.", state="superseded")
    row(ledger, "The port is 8083.", root=old, version=2)
    other = row(ledger, "The port is 8082.")
    Link.objects.create(kind="conflict", source=old, target=other)
    assert len(list_open_links(operator()).rows) == 1
