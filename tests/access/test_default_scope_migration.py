"""The upgrade keeps facts global by default where memories exist, and nowhere else."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from access.models import Group
from memories.models import IndexState
from tests.memories.builders import row

pytestmark = pytest.mark.django_db
keep_old_rule = import_module("access.migrations.0005_default_scope").keep_old_rule


def kept() -> list[str]:
    with connection.schema_editor() as editor:
        keep_old_rule(apps, editor)
    return [*IndexState.objects.filter(name="default_scope").values_list("value", flat=True)]


@pytest.mark.django_db(transaction=True)
def test_a_store_with_memories_keeps_the_rule_by_type() -> None:
    row(Group.objects.create(slug="ledger"), "The port is 8081.")
    assert kept() == ["by-type"]


@pytest.mark.django_db(transaction=True)
def test_an_empty_store_has_the_new_rule() -> None:
    Group.objects.create(slug="ledger")
    assert kept() == []
