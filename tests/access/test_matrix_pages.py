"""The pages of the matrix: redirects to the login, refusals, and no foreign content on any page."""

import re
from collections.abc import Iterator
from itertools import product

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from tests.access.matrix import Face, read_matrix
from tests.access.world import MARKER, World
from tests.sizes import part

pytestmark = [pytest.mark.django_db, pytest.mark.model]
# The object in a page's address: that of the model's name in the world, or this one.
OBJECTS = {
    "memories/recalllog": "recall",
    "access/apitoken": "token",
    "access/auditentry": "entry",
    "maintenance/run/batch": "batch",
    "admin/groups": "group",
    "review/card": "candidate",
    "memories/memory/links": "link",
    "admin/conversations": "conversation",
}
WORDS = {
    "form": "jsonl",
    "verb": "forget",
    "change": "revoke",
    "tab": "map",
    "action": "forget",
    "kind": "candidate",
    "handle": "0",
    "uidb64": "MQ",
    "token": "x",
    "doc": "how-to/review",
    "rest": "account/",
}


def pages(*rules: str) -> list[Face]:
    mounted = [
        face for face in read_matrix().of("page") if not face.name.startswith(("oauth/", ".well-known/"))
    ]
    return [face for face in mounted if face.rule in rules and "^" not in face.name and "(" not in face.name]


def at(face: Face, place: dict[str, str]) -> str:
    """The page's URL for the object at a place; empty if the test data has no such object."""
    if "<" not in face.name:
        return f"/{face.name}"
    filled = re.sub(r"<\w*:?(\w+)>", lambda m: WORDS.get(m[1], m[0]), face.name)
    if "<" not in filled:
        return f"/{filled}"
    kind = object_in(filled)
    return "/" + re.sub(r"<[^>]+>", place[kind], filled) if kind in place else ""


def object_in(name: str) -> str:
    """The world's name of the object that a page is about."""
    # The longest prefix: a memory's filters are no memories.
    kinds = sorted((prefix for prefix in OBJECTS if f"{prefix}/" in name), key=len)
    return OBJECTS[kinds[-1]] if kinds else "".join(name.split("/")[2:3])  # admin/app/model/…


def browser(user: User | None) -> Client:
    client = Client(raise_request_exception=False)
    if user is not None:
        client.force_login(user)
    return client


def shown(client: Client, address: str, *, posted: bool = False) -> tuple[int, str, str]:
    """The status, the redirect and the text; every effect is rolled back."""
    with transaction.atomic():
        answer = client.post(address, {"reason": "because"}) if posted else client.get(address)
        transaction.set_rollback(True)
    text = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, answer.get("Location", ""), text.decode()


def test_every_page_about_one_row_is_tried(world: World) -> None:
    """A page without a URL would be skipped by all tests below: add its row to the places of tests/access/world.py."""
    skipped = {face.name for face in pages("row", "login", "never") if not at(face, world.places["own"])}
    # Leads from a row to its own address, which Loci's models do not have.
    assert skipped == {"admin/r/<path:content_type_id>/<path:object_id>/"}


def test_what_loci_does_not_use_is_there_for_nobody(world: World) -> None:
    wrong = []
    for face in pages("never"):
        for name in ("owner", "curator", "stranger"):
            for posted in (False, True):
                status, _, _ = shown(browser(world.users[name]), at(face, world.places["own"]), posted=posted)
                if status not in (403, 404, 405):
                    wrong.append((face.name, name, posted, status))
    assert wrong == []


def test_an_account_that_is_switched_off_is_sent_to_the_login(world: World) -> None:
    client, wrong = browser(User.objects.get(username="admin")), []
    User.objects.filter(username="admin").update(is_active=False)
    for face in pages("login", "row", "superuser"):
        address = at(face, world.places["own"]) or f"/{re.sub('<[^>]+>', '7', face.name)}"
        for posted in (False, True)[: 2 if face.name else 1]:  # the start page is only read
            status, leads, text = shown(client, address, posted=posted)
            if status != 302 or "login" not in leads or "ordinary" in text:
                wrong.append((face.name, posted, status, leads))
    assert wrong == []


def test_who_is_not_logged_in_is_sent_to_the_login(world: World) -> None:
    nobody, wrong = browser(None), []
    for face in pages("login", "row", "superuser", "never"):
        address = at(face, world.places["own"]) or f"/{re.sub('<[^>]+>', '7', face.name)}"
        status, leads, text = shown(nobody, address)
        if status != 302 or "login" not in leads or "ordinary" in text:
            wrong.append((face.name, status, leads))
    assert wrong == []


def test_what_is_open_says_nothing_of_what_is_remembered(world: World) -> None:
    for face in pages("open"):
        status, _, text = shown(browser(None), at(face, {}))
        assert status in (200, 301, 302, 405), face
        assert not {"ordinary", MARKER} & set(re.findall(r"\w+", text)), face


def people(world: World) -> Iterator[tuple[str, Client]]:
    for name in ("curator", "viewer", "stranger"):
        yield name, browser(world.users[name])


def test_pages_for_superusers_are_for_nobody_else(world: World) -> None:
    wrong = []
    for face in pages("superuser"):
        address = f"/{re.sub('<[^>]+>', str(world.users['owner'].pk), face.name)}"
        for (name, client), posted in product(people(world), (False, True)):
            status, leads, _ = shown(client, address, posted=posted)
            # A row's short address leads on; Django leads from a row that is not there to the dashboard.
            leads_on = status == 302 and (leads.endswith("/change/") or leads == "/admin/")
            if status not in (403, 404, 405) and not leads_on:
                wrong.append((face.name, name, posted, status))
    assert wrong == []


def test_a_foreign_row_is_not_there(world: World) -> None:
    wrong = []
    for number, face in enumerate(pages("row")):
        for turn, place in enumerate(("foreign", "missing")):
            address = at(face, world.places[place])
            tries = [*product(people(world) if address else (), (False, True))]
            for (name, client), posted in part(tries, 7, first=number + turn):
                status, leads, text = shown(client, address, posted=posted)
                # The short address of a row leads to its page; 405: it is only read, or only written.
                is_redirect = status in (301, 302) and re.search("/change/$", leads)
                if (status not in (403, 404, 405) and not is_redirect) or MARKER in text:
                    wrong.append((face.name, place, name, posted, status, leads))
    assert wrong == []


def test_ones_own_row_is_there_for_members_alone(world: World) -> None:
    for face in pages("row"):
        if not face.name.endswith("<path:object_id>/change/") or not at(face, world.places["own"]):
            continue
        address = at(face, world.places["own"])
        assert shown(browser(world.users["curator"]), address)[0] == 200, face
        if "recalllog" not in face.name:
            assert shown(browser(world.users["stranger"]), address)[0] == 404, face


def test_no_list_and_no_suggestion_shows_what_is_foreign(world: World) -> None:
    wrong = []
    queries = ("", f"?q={MARKER[:7]}", "?group=garden")
    for number, face in enumerate(pages("login")):
        address = at(face, world.places["foreign"])
        for at_person, (name, client) in enumerate(people(world) if address else ()):
            for query in part(queries, len(queries), first=number + at_person):
                _, _, text = shown(client, address + query)
                if MARKER in text:
                    wrong.append((face.name + query, name))
    assert wrong == []
