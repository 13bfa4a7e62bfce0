"""The explore pages: correct contents, nothing of other groups, clear errors for bad input."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.models import Group
from memories.models import Thread
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.exploring import get, text
from tests.people import make_token

pytestmark = [pytest.mark.django_db, pytest.mark.model]
PAGES = ["ask/", "groups/", "groups/ledger/"]
HOSTILE = "<script>alert(1)</script> \"'><img src=x onerror=alert(2)>"


# Rights


def test_nobody_sees_them_without_a_login(client: Client, ledger: Group) -> None:
    for page in [*PAGES, "graph/around/", "timeline/then/"]:
        answer = client.get(f"/admin/{page}")
        assert answer.status_code == 302, page
        assert "login" in answer.headers["Location"]


def test_the_graph_says_nothing_of_a_foreign_memory(member: Client, remember: Remember) -> None:
    theirs = remember("Their port is 4711.", group="garden")
    assert " 4711" not in text(member, "timeline/then/", status=404, group="garden", q="port")
    for of in (str(theirs.id), "nonsense"):
        body = get(member, "graph/around/", status=404 if of != "nonsense" else 422, of=of).content.decode()
        assert " 4711" not in body


def test_every_page_of_the_admin_has_the_search(owner: Client, remember: Remember) -> None:
    remember("something")
    for page in ("/admin/", "/admin/memories/memory/", "/admin/groups/ledger/map/"):
        body = owner.get(page).content.decode()
        assert 'id="palette"' in body
        assert "loci/palette.js" in body
        assert 'data-suggest="/api/suggest"' in body


# Suggestions over REST


def suggested(client: Client, **asked: Any) -> list[str]:
    answer = client.get("/api/suggest", asked)
    assert answer.status_code == 200, answer.content
    assert answer.headers["Cache-Control"] == "no-store"
    return [item["text"] for item in json.loads(answer.content)["items"]]


def test_the_search_asks_rest_with_the_session(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("Our deployment port is 8081.")
    remember("Their deployment port is 4711.", group="garden")
    assert len(suggested(owner, q="deploym")) == 2
    assert suggested(member, q="deploym") == ["Our deployment port is 8081."]
    assert suggested(member, q="4711") == suggested(stranger, q="deploym") == []
    assert suggested(owner, q="deploym", limit="1", group="garden") == ["Their deployment port is 4711."]
    assert member.get("/api/suggest", {"q": "port", "group": "garden"}).status_code == 404
    assert Client().get("/api/suggest", {"q": "port"}).status_code == 401
    assert owner.get("/api/suggest", {"q": "port", "limit": "99"}).status_code == 422
    assert owner.get("/api/suggest").status_code == 422


def titled(client: Client, typed: str, **asked: Any) -> list[str]:
    answer = client.get("/api/suggest", {"q": typed} | asked)
    assert answer.status_code == 200, answer.content
    return [thread["text"] for thread in json.loads(answer.content)["threads"]]


def test_the_search_offers_threads_by_title_name_and_id(
    owner: Client, member: Client, stranger: Client, remember: Remember
) -> None:
    remember("We begin at nine.", thread="standup-october")
    remember("We begin at ten.", thread="standup-garden", group="garden")
    remember("We ended.", thread="session-77")
    thread = Thread.objects.get(name="session-77")
    assert titled(owner, "stand") == ["standup-garden", "standup-october"]
    assert titled(owner, "october standup", group="ledger") == ["standup-october"]
    assert titled(member, "standup") == ["standup-october"]
    assert titled(stranger, "standup") == titled(stranger, str(thread.id)) == []
    assert titled(member, str(thread.id)) == titled(member, "session-77") == ["session-77"]
    Thread.objects.filter(key=thread.key).update(title="Release of the ledger")
    assert titled(member, "RELEASE led") == ["Release of the ledger"]
    assert (
        titled(member, "session-77")
        == titled(member, "r")
        == titled(member, "release", by_meaning="true")
        == []
    )
    Thread.objects.filter(key=thread.key).update(deleted_at=timezone.now())
    assert titled(member, "release") == []


def test_a_token_is_bound_to_its_groups(alice: User, ledger: Group, remember: Remember) -> None:
    remember("Our deployment port is 8081.")
    remember("Their deployment port is 4711.", group="garden")
    _, secret = make_token(alice, groups=[ledger], scopes=("read",))
    client = Client(headers={"Authorization": f"Bearer {secret}"})
    assert suggested(client, q="deploym") == ["Our deployment port is 8081."]
