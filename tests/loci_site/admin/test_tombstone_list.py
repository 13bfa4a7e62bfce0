"""The list of tombstones, page and command: who did what when, how far it reaches, and the text if it still exists."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from memories.lifecycle import verbs
from memories.models import Tombstone
from tests.loci_site.admin.conftest import Remember
from tests.people import person

pytestmark = pytest.mark.django_db
TEXT = "The archive is kept in the northern cellar."


def run(*words: str) -> str:
    out = StringIO()
    call_command("memory", "tombstones", *words, stdout=out)
    return out.getvalue()


def test_page_and_command_tell_what_was_withdrawn(owner: Client, alice: User, remember: Remember) -> None:
    kept = remember(TEXT)
    gone = remember("The key is under the mat by the door.", scope="global")
    verbs.retract(person(alice), kept.id, reason="it was sold")
    verbs.purge(person(alice), gone.id)
    Tombstone.objects.filter(kind="purged").update(dress="")
    page = owner.get(reverse("admin:memories_tombstone_changelist")).content.decode()
    for words in (TEXT[:30], "alice", "it was sold", "global", "also in other dress", "exactly the text"):
        assert words in page, words
    assert "under the mat" not in page
    items = {item["kind"]: item for item in json.loads(run("--json"))["items"]}
    retracted, purged = items["retracted"], items["purged"]
    assert (retracted["verb"], retracted["scope"], retracted["author"]) == ("retract", "group", "alice")
    assert (retracted["recognises"], retracted["text"][:20]) == ("the text, also in other dress", TEXT[:20])
    assert (purged["verb"], purged["scope"], purged["recognises"], purged["text"]) == (
        "purge",
        "global",
        "exactly the text",
        "",
    )
    said = run()
    assert all(
        word in said for word in ("verb", "scope", "since", "by", "recognises", "text", "retract", "alice")
    )
