"""Questions about the past over REST: the times reach every route that returns texts, and history is labelled."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from tests.loci_site.api.conftest import Caller
from tests.memories.builders import NOW, day, row

pytestmark = pytest.mark.django_db
Ask = Callable[..., Caller]
STORED = {"created_at": day(-10), "valid_from": day(-20)}
ENDED = {"valid_to": day(-5), "valid_to_known_at": day(-5)}
BEFORE, AFTER = "2026-04-24", "2026-04-29T12:00:00Z"
OLD = "superseded: was true until 2026-04-26"


@pytest.fixture
def actor(caller: Ask, alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """Alice, at NOW."""
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    return caller(alice)


@pytest.fixture
def chain(ledger: Group) -> tuple[str, str]:
    """A superseded version and the one that counts, by their ids."""
    old = row(ledger, "The harbour master is Jonas.", **STORED, **ENDED, state="superseded")
    new = row(
        ledger, "The harbour master is Ebba.", created_at=day(-5), valid_from=day(-5), root=old, version=2
    )
    type(old).objects.filter(pk=old.pk).update(superseded_by=new)
    return str(old.id), str(new.id)


def labels(items: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(item["content"].split()[-1], item["label"]) for item in items]


def test_a_list_of_then(actor: Caller, chain: tuple[str, str]) -> None:
    assert labels(actor.get("/memories")["items"]) == [("Ebba.", "")]
    assert labels(actor.get(f"/memories?as_of={BEFORE}")["items"]) == [("Jonas.", OLD)]
    assert labels(actor.get(f"/memories?known_at={BEFORE}")["items"]) == [("Jonas.", OLD)]
    assert labels(actor.get(f"/memories?as_of={AFTER}")["items"]) == [("Ebba.", "")]
    assert labels(actor.get(f"/memories?as_of={BEFORE}&state=live")["items"]) == []
    assert labels(actor.get("/memories?state=all")["items"]) == [("Ebba.", ""), ("Jonas.", OLD)]


def test_an_inspection_of_then(actor: Caller, chain: tuple[str, str]) -> None:
    old, new = chain
    seen = actor.get(f"/memories/{new}/inspect?as_of={BEFORE}")
    assert (seen["memory"]["id"], seen["memory"]["label"], seen["head"]) == (old, OLD, new)
    spans = [
        (v["id"], v["label"], v["valid_from"], v["valid_to"], v["known_from"], v["known_to"])
        for v in seen["versions"]
    ]
    assert spans == [
        (
            old,
            OLD,
            "2026-04-11T12:00:00+00:00",
            "2026-04-26T12:00:00+00:00",
            "2026-04-21T12:00:00+00:00",
            None,
        ),
        (new, "", "2026-04-26T12:00:00+00:00", None, "2026-04-26T12:00:00+00:00", None),
    ]
    assert actor.get(f"/memories/{old}/inspect?known_at={AFTER}")["memory"]["id"] == new
    refused = actor.get(f"/memories/{old}/inspect?as_of=2020-01-01", status=404)
    assert refused["message"] == "No version of this memory was true at 2020-01-01 00:00 UTC."


def test_a_context_and_a_recall_of_then(actor: Caller, chain: tuple[str, str]) -> None:
    _, new = chain
    pack = actor.get(f"/context?group=ledger&as_of={BEFORE}")["text"]
    assert (f'trust="{OLD}"' in pack, "Jonas" in pack, "Ebba" in pack) == (True, True, False)
    answer = actor.get(f"/recall?id={new}&known_at={BEFORE}")
    assert labels(answer["results"]) == [("Jonas.", OLD)]
    asked = {"query": "harbour master", "group": "ledger", "mode": "keyword", "where": {"as_of": BEFORE}}
    assert labels(actor.post("/recall", asked)["results"]) == [("Jonas.", OLD)]


@pytest.mark.parametrize("route", ["/memories?", "/context?group=ledger&", "/memories/{id}/inspect?"])
@pytest.mark.parametrize(
    ("asked", "field", "message"),
    [
        ("known_at=2026-05-02", "known_at", "known_at is in the future (2026-05-02 00:00 UTC)"),
        ("as_of=yesterday", "as_of", "'yesterday' in as_of is not a date."),
        ("known_at=2026-13-01", "known_at", "'2026-13-01' in known_at is not a date."),
    ],
)
def test_a_wrong_moment_is_named(
    actor: Caller, chain: tuple[str, str], route: str, asked: str, field: str, message: str
) -> None:
    refused = actor.get(route.replace("{id}", chain[0]) + asked, status=422)
    assert refused["field"] == field
    assert refused["message"].startswith(message)


def test_a_moment_without_a_zone_is_in_utc(actor: Caller, ledger: Group) -> None:
    row(ledger, "The tide turns.", **STORED, valid_to=day(-5), valid_to_known_at=day(-5))
    before, at = "2026-04-26T11:59:59", "2026-04-26T12:00:00"
    assert len(actor.get(f"/memories?as_of={before}")["items"]) == 1
    assert actor.get(f"/memories?as_of={at}")["items"] == []
    assert len(actor.get("/memories?as_of=2026-04-26T13:59:59%2B02:00")["items"]) == 1


HISTORY: list[tuple[dict[str, Any], str]] = [
    (ENDED | {"state": "superseded"}, OLD),
    (
        {"state": "superseded", "retired_at": day(-5)},
        "superseded: its text was corrected on 2026-04-26",
    ),
    ({"state": "retracted", "retired_at": day(-5)}, "retracted since 2026-04-26: it was wrong"),
    (
        {"state": "expired", "expires_at": day(-5)},
        "expired since 2026-04-26: its time to live ended",
    ),
    ({"state": "dormant", "state_changed_at": day(-5)}, "dormant since 2026-04-26: not used for long"),
    ({"state": "forgotten", "retired_at": day(-5)}, "forgotten since 2026-04-26"),
    ({"state": "merged", "retired_at": day(-5)}, "merged: combined into another memory"),
    (ENDED, "ended: was true until 2026-04-26"),
    ({"expires_at": day(-5)}, "expired since 2026-04-26: its time to live ended"),
    ({"trust": "candidate"}, "candidate"),
]


@pytest.mark.parametrize(("fields", "label"), HISTORY)
def test_no_route_shows_history_without_its_label(
    actor: Caller, ledger: Group, fields: dict[str, Any], label: str
) -> None:
    memory = row(ledger, "The harbour master is Jonas.", **STORED, **fields)
    entity = row(ledger, "Harbour: a place", type="entity")
    actor.post(
        "/relations",
        {"subject": str(memory.id), "predicate": "works_at", "object": str(entity.id), "group": "ledger"},
        status=201,
    )
    shown = [
        actor.get(f"/memories/{memory.id}"),
        actor.get(f"/memories/{memory.id}?versions=true")["versions"][0],
        actor.get(f"/memories/{memory.id}/inspect")["memory"],
        actor.get(f"/memories/{memory.id}/inspect")["versions"][0],
        actor.get("/memories?state=all&type=semantic")["items"][0],
        actor.get(f"/relations?of={entity.id}")["items"][0]["subject"],
        actor.get(f"/memories/{entity.id}/inspect")["relations"][0]["subject"],
    ]
    assert [(body["id"], body["label"]) for body in shown] == [(str(memory.id), label)] * len(shown)
