"""Request bodies may name rows too: foreign rows do not exist for the caller."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from access.models import AuditEntry
from memories.admin.bulk import BULK_ACTIONS
from memories.models import Link, Memory
from tests.access.world import MARKER, World

pytestmark = [pytest.mark.django_db, pytest.mark.model]
FOREIGN, OWN = "garden", "ledger"
CALLERS = ("admin", "curator", "viewer", "stranger")
REVIEW, MANY, UNDO = "/admin/review/decide/", "/admin/review/many/", "/admin/review/undo/"
LIST = "/admin/memories/memory/"


def standing(group: str) -> list[Any]:
    """Everything that a page could change in a group, and its number of log rows."""
    rows = Memory.objects.filter(group__slug=group).order_by("key")
    return [
        *rows.values_list("key", "content", "state", "trust", "pinned", "superseded_by_id"),
        *Link.objects.filter(source__in=rows.order_by()).order_by("pk").values_list("pk", "status"),
        AuditEntry.objects.filter(memory_id__in=rows.order_by().values("id")).count(),
    ]


def named(world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each page that takes ids in its body, with a foreign id in each place."""
    own, foreign = world.places["own"], world.places["foreign"]
    for verb in ("approve", "reject", "edit", "verify"):
        yield REVIEW, {"verb": verb, "id": foreign["candidate"], "content": "new words", "reason": "so"}
    for verb in ("merge", "supersede"):
        yield REVIEW, {"verb": verb, "id": own["memory"], "other": foreign["memory"]}
        yield REVIEW, {"verb": verb, "id": foreign["memory"], "other": own["memory"]}
        yield REVIEW, {"verb": verb, "link": foreign["link"], "id": own["memory"], "other": own["other"]}
    yield REVIEW, {"verb": "dismiss", "link": foreign["link"]}
    entry = AuditEntry.objects.filter(memory_id=foreign["memory"]).first()
    assert entry is not None
    yield UNDO, {"entries": f'[["{entry.name}"]]'}
    for verb in ("merge", "supersede"):
        yield f"{LIST}{own['memory']}/{verb}/", {"other": foreign["memory"], "reason": "so"}
        yield f"{LIST}{foreign['memory']}/{verb}/", {"other": own["memory"], "reason": "so"}
    yield (
        "/admin/memories/memory/add/",
        {"content": "a text of ours", "group": foreign["group"], "type": "semantic", "scope": "group"},
    )


def posted(client: Client, address: str, body: dict[str, Any]) -> tuple[int, str]:
    answer = client.post(address, body)
    text = answer.content.decode()
    if answer.status_code in (301, 302):
        # What the page that it leads to says of it.
        text += client.get(answer["Location"]).content.decode()
    return answer.status_code, text


def logged_in(world: World, name: str) -> Client:
    client = Client()
    client.force_login(world.users[name])
    return client


@pytest.mark.parametrize("name", CALLERS)
def test_a_foreign_row_that_is_named_in_a_body_is_not_there(world: World, name: str) -> None:
    client, wrong = logged_in(world, name), []
    for address, body in named(world):
        before = standing(FOREIGN)
        with transaction.atomic():
            status, text = posted(client, address, body)
            is_changed = standing(FOREIGN) != before
            transaction.set_rollback(True)
        if is_changed or status >= 500 or MARKER in text:
            wrong.append((address, body, status, is_changed, MARKER in text))
    assert wrong == []


@pytest.mark.parametrize("name", CALLERS)
def test_of_many_the_foreign_ones_are_refused_by_themselves(world: World, name: str) -> None:
    client = logged_in(world, name)
    foreign = world.places["foreign"]
    for preview in ("1", "0"):
        before = standing(FOREIGN)
        body = {
            "verb": "reject",
            "preview": preview,
            "reason": "so",
            "chosen": [f"candidate:{foreign['candidate']}"],
        }
        status, text = posted(client, MANY, body)
        assert status in (200, 403, 404)
        assert MARKER not in text
        assert status != 200 or (json.loads(text)["done"], len(json.loads(text)["failed"])) == (0, 1)
        assert standing(FOREIGN) == before


@pytest.mark.parametrize("action", [f"{action.name}_selected" for action in BULK_ACTIONS])
def test_a_list_s_actions_do_nothing_to_foreign_rows(world: World, action: str) -> None:
    before = standing(FOREIGN)
    key = Memory.objects.get(id=world.places["foreign"]["candidate"]).key
    for name, chosen in product(CALLERS, (key, world.places["foreign"]["candidate"])):
        body = {
            "action": action,
            "_selected_action": [chosen],
            "reason": "so",
            "tags": "ours",
            "confirm": "1",
        }
        status, text = posted(logged_in(world, name), LIST, body)
        assert status in (200, 302, 403, 404)
        assert MARKER not in text
    assert standing(FOREIGN) == before


def test_the_same_bodies_with_ones_own_rows_do_something(world: World) -> None:
    """A page that refuses everything would pass the tests above."""
    own, client = world.places["own"], logged_in(world, "curator")
    done: list[tuple[str, dict[str, Any]]] = [
        (REVIEW, {"verb": "approve", "id": own["candidate"]}),
        (REVIEW, {"verb": "merge", "id": own["memory"], "other": own["other"]}),
        (REVIEW, {"verb": "dismiss", "link": own["link"]}),
        (f"{LIST}{own['memory']}/merge/", {"other": own["other"], "reason": "so"}),
        (MANY, {"verb": "reject", "reason": "so", "chosen": [f"candidate:{own['candidate']}"]}),
        (
            "/admin/memories/memory/add/",
            {
                "content": "a text of ours",
                "group": own["group"],
                "type": "semantic",
                "importance": 5,
                "confidence": 0.7,
            },
        ),
    ]
    for address, body in done:
        before = standing(OWN)
        with transaction.atomic():
            status, text = posted(client, address, body)
            is_changed = standing(OWN) != before
            transaction.set_rollback(True)
        assert status in (200, 302), (address, text[:300])
        assert is_changed, (address, body, text[:300])
