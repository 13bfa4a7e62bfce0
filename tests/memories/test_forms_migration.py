"""Migrating an older store adds other forms of its words, and searches use them at once."""

from collections.abc import Iterator

import pytest
from django.core.management import call_command

from access.models import Group
from maintenance.doctor.report import CheckStatus
from maintenance.doctor.text_columns import check_forms, repair_forms
from memories.models import Memory
from memories.search.base import search_index
from memories.search.query_terms import match_for
from memories.search.sqlite.vectors import fetch_rows
from tests.memories.builders import row

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {
    "部署端口是8081。": "部署 署端 端口 口是 是",
    "The deploy port is 8081.": "",
    "getUserName logs in": "get user name",
}


def migrate(*target: str) -> None:
    call_command("migrate", *target, verbosity=0, interactive=False)


@pytest.fixture
def old_store() -> Iterator[None]:
    """Rows as they were before there was the column."""
    group = Group.objects.create(slug="ledger")
    for text in TEXTS:
        row(group, text)
    try:
        migrate("memories", "0003")
        yield
    finally:
        migrate()


def found(question: str) -> list[str]:
    match = match_for(question)
    assert match is not None
    keys = [
        key
        for (key,) in fetch_rows(
            "SELECT rowid FROM memories_fts WHERE memories_fts MATCH %s", [match.expression]
        )
    ]
    return list(Memory.objects.filter(key__in=keys).values_list("content", flat=True))


def test_stored_texts_get_their_forms_and_are_found_by_them(old_store: None) -> None:
    migrate()
    assert dict(Memory.objects.values_list("content", "forms")) == TEXTS
    assert found("端口") == ["部署端口是8081。"]
    assert found("user name") == ["getUserName logs in"]
    assert found("deploy") == ["The deploy port is 8081."]
    assert search_index().find_errors() == []


def test_what_is_stored_afterwards_is_found_as_well(old_store: None) -> None:
    migrate()
    row(Group.objects.get(slug="ledger"), "数据库的密码")
    assert found("密码") == ["数据库的密码"]
    Memory.objects.filter(content="数据库的密码").delete()
    assert found("密码") == []
    assert search_index().find_errors() == []


def test_forms_that_are_out_of_date_are_found_and_written_anew() -> None:
    memory = row(Group.objects.create(slug="ledger"), "部署端口是8081。")
    Memory.objects.filter(pk=memory.pk).update(forms="")
    assert found("端口") == []
    assert check_forms().verdict is CheckStatus.WRONG
    assert repair_forms() == "rewrote the word forms of 1 memories"
    assert found("端口") == ["部署端口是8081。"]
    assert check_forms().verdict is CheckStatus.OK
    assert repair_forms() == ""
