"""One at a time or many at once: the same drafts lead to the same answers and the same rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from access.actor import Actor
from access.models import CandidatePolicy, Group
from memories.draft import Draft
from memories.lifecycle.verbs import reject
from memories.models import Link, Memory
from memories.store import store
from memories.store.bulk import BatchResult, store_many
from relations.models import EntityAlias
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

ANN, BEA, PORT, OTHER_PORT = "Ann leads.", "Bea leads.", "The port is 8081.", "The port is 9000."


def wiki(text: str, ref: str = "", /, **fields: Any) -> Draft:
    """A fact of a wiki page."""
    return Draft(text, **{"source": "wiki", "source_ref": ref} | fields)


def turn(text: str, ref: str, /) -> Draft:
    """A turn of a chat."""
    return Draft(text, type="episodic", thread="monday", source="chat", source_ref=ref)


@dataclass(frozen=True)
class Told:
    """The stored texts, what happens to them, the drafts, the answers, and the texts that are live afterwards."""

    before: Sequence[Draft]
    drafts: Sequence[Draft]
    outcomes: Sequence[str]
    live: Sequence[str]
    meanwhile: Callable[[Actor], object] = field(default=lambda actor: None)


def lapse(actor: Actor) -> None:
    Memory.objects.update(expires_at=timezone.now() - timedelta(days=1))


def end(actor: Actor) -> None:
    Memory.objects.update(valid_to=timezone.now() - timedelta(days=1))


def turn_down(actor: Actor) -> None:
    reject(actor, Memory.objects.get().id)


def doubt(actor: Actor) -> None:
    """Let Bea wait for a curator."""
    Memory.objects.filter(content=BEA).update(trust="candidate")


def hold_back(actor: Actor) -> None:
    Group.objects.update(policy=CandidatePolicy.ALL)


CASES = {
    "a new text": Told([], [wiki(PORT, "a")], ["created"], [PORT]),
    "two sources swap their texts": Told(
        [wiki(ANN, "a"), wiki(BEA, "b")], [wiki(BEA, "a"), wiki(ANN, "b")], ["reinforced", "created"], [ANN]
    ),
    "a text whose time to live ran out": Told([wiki(PORT)], [wiki(PORT)], ["created"], [PORT], lapse),
    "a text that was true until lately": Told([wiki(PORT)], [wiki(PORT)], ["created"], [PORT], end),
    "a lapsed text that another source says": Told(
        [wiki(ANN, "a"), wiki(PORT)], [wiki(PORT, "a")], ["created"], [PORT], lapse
    ),
    "a group's text that changes stays in the group": Told(
        [wiki(PORT, "a", scope="group")], [wiki(OTHER_PORT, "a")], ["created"], [OTHER_PORT]
    ),
    "an entity has the name its text begins with": Told(
        [], [Draft("Otto: mends bicycles", type="entity")], ["created"], ["Otto: mends bicycles"]
    ),
    "a changed turn stays in its place": Told(
        [turn("One.", "a"), turn("Tow.", "b"), turn("Three.", "c")],
        [turn("Two.", "b"), turn("Four.", "d")],
        ["created", "created"],
        ["Four.", "One.", "Three.", "Two."],
    ),
    "a changed turn that waits": Told(
        [turn("Tow.", "b"), turn("Three.", "c")], [turn("Two.", "b")], ["queued"], ["Three.", "Tow.", "Two."], hold_back
    ),
    "a candidate takes nobody's place": Told(
        [wiki(ANN, "a"), wiki(BEA)], [wiki(BEA, "a")], ["reinforced"], [ANN, BEA], doubt
    ),
    "a second source is remembered": Told(
        [wiki(PORT, "a")], [wiki(PORT, "b"), wiki(PORT, "b")], ["reinforced", "unchanged"], [PORT]
    ),
    "a source that shared a text moves on": Told(
        [wiki(ANN, "a"), wiki(ANN, "b")], [wiki(BEA, "b")], ["created"], [ANN, BEA]
    ),
    "a text that a person turned down": Told([wiki(PORT)], [wiki(PORT, "a")], ["refused"], [PORT], turn_down),
    "a superseded text comes back": Told(
        [wiki(PORT, "a"), wiki(OTHER_PORT, "a")], [wiki(PORT)], ["queued"], [PORT, OTHER_PORT]
    ),
    "a text that its source dropped in the same file": Told(
        [wiki(PORT, "a")], [wiki(OTHER_PORT, "a"), wiki(PORT)], ["created", "queued"], [PORT, OTHER_PORT]
    ),
}  # fmt: skip


@pytest.fixture
def actor(alice: User, ledger: Group) -> Actor:
    return replace(person(alice), default_group="ledger")


@pytest.mark.parametrize("name", CASES)
def test_one_at_a_time_and_many_at_once_agree(actor: Actor, name: str) -> None:
    told = CASES[name]
    for draft in told.before:
        store(actor, draft)
    told.meanwhile(actor)
    with transaction.atomic():
        assert [store(actor, draft).outcome for draft in told.drafts] == told.outcomes
        alone = standing()
        transaction.set_rollback(True)
    result = store_many(actor, told.drafts)
    assert counted(result) == {word: told.outcomes.count(word) for word in counted(result)}
    assert standing() == alone
    assert sorted(Memory.objects.filter(state="live").values_list("content", flat=True)) == list(told.live)


def counted(result: BatchResult) -> dict[str, int]:
    return {
        "created": result.created,
        "reinforced": result.reinforced,
        "unchanged": result.unchanged,
        "queued": result.queued,
        "refused": len(result.refused),
    }


def standing() -> dict[str, list[Any]]:
    """All rows without what depends on the clock, and without links of similarity, which a bulk store does not create."""
    rows = Memory.objects.select_related("root", "superseded_by", "thread")
    return {
        "memories": sorted(
            (
                row.content, row.scope, row.state, row.trust, row.version, row.source_ref, row.confidence, row.position,
                row.context, row.thread.name if row.thread else "", row.root.content if row.root else "",
                row.superseded_by.content if row.superseded_by else "",
            )
            for row in rows
        ),
        "names": sorted(EntityAlias.objects.values_list("fold", "memory__content")),
        "conflicts": sorted(
            Link.objects.filter(kind="conflict").values_list("source__content", "target__content")
        ),
    }  # fmt: skip
