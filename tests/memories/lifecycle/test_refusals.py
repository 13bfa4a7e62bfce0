"""Withdrawn or rejected text does not come back in any spelling; each group has its own rules."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.errors import GroupNotFound, InvalidInput, NotFound, NotPermitted
from access.models import AuditEntry, Group, Membership
from memories.lifecycle.verbs import forget, purge, reject, restore, retract
from memories.models import Link, LinkKind, Memory, Tombstone
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

WRONG = "The scope of the cache is public."
DISGUISES = {
    "letter by letter": WRONG,
    "in capitals": "THE SCOPE OF THE CACHE IS PUBLIC.",
    "with white space": "The  scope of\tthe\n\ncache is public.",
    "with a zero-width space": "The sc\u200bope of the cache is public.",
    "with a soft hyphen": "The sco\u00adpe of the cache is public.",
    "with Cyrillic letters": "Th\u0435 sc\u043ep\u0435 \u043ef the c\u0430che is public.",
    "with Greek letters": "The sc\u03bfpe of the cache is public.",
    "in full width": "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in WRONG),
    "with a tag character": "The scope\U000e0061 of the cache is public.",
}


@pytest.mark.parametrize("text", DISGUISES.values(), ids=DISGUISES)
def test_a_retracted_text_is_refused(alice: User, ledger: Group, text: str) -> None:
    memory = kept(person(alice), WRONG, group="ledger")
    retract(person(alice), memory.id, reason="it is private")
    stored = keep(person(alice), text, group="ledger")
    assert (stored.outcome, stored.memory) == ("refused", None)
    assert stored.why.startswith("this text was retracted here before: it is private.")
    assert Memory.objects.count() == 1
    assert AuditEntry.objects.filter(operation="refuse", memory_id=memory.id).count() == 1


def test_a_near_restatement_of_a_retracted_text_waits_with_a_conflict(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    retract(person(alice), memory.id)
    stored = keep(person(alice), "The nightly backups go to the NAS.", group="ledger")
    assert stored.outcome == "queued"
    assert stored.memory is not None
    assert stored.memory.trust == "candidate"
    link = Link.objects.get()
    assert (link.kind, link.source, link.target) == (LinkKind.CONFLICT, stored.memory, memory)


def test_a_tick_does_not_launder_a_retracted_text(alice: User, ledger: Group) -> None:
    retract(person(alice), kept(person(alice), WRONG, group="ledger").id)
    assert keep(person(alice), f"{WRONG} ✅", group="ledger").outcome == "queued"


def test_another_fact_near_a_retracted_one_is_stored(alice: User, ledger: Group) -> None:
    retract(person(alice), kept(person(alice), "The deploy port is 8081.", group="ledger").id)
    kept(person(alice), "The deploy port is 8082.", group="ledger")


def test_a_tombstone_bars_its_own_group_alone(alice: User, ledger: Group, garden: Group) -> None:
    retract(person(alice), kept(person(alice), WRONG, group="ledger", scope="group").id)
    kept(person(alice), WRONG, group="garden", scope="group")


def test_neither_superseding_nor_a_source_gets_past_a_tombstone(alice: User, ledger: Group) -> None:
    retract(person(alice), kept(person(alice), WRONG, group="ledger").id)
    other = kept(person(alice), "The queue holds a thousand jobs.", group="ledger")
    assert keep(person(alice), WRONG, supersedes=other.id).outcome == "refused"
    assert keep(person(alice), WRONG, group="ledger", source="wiki", source_ref="1").outcome == "refused"
    assert fresh(other).state == "live"


def test_a_purged_text_is_refused_and_the_tombstone_does_not_hold_it(
    alice: User, ledger: Group, home: Path
) -> None:
    memory = kept(person(alice), WRONG, group="ledger")
    purge(person(alice), memory.id, reason="asked for")
    assert keep(person(alice), DISGUISES["in capitals"], group="ledger").outcome == "refused"
    assert Memory.objects.count() == 0
    mark = Tombstone.objects.get()
    assert (mark.kind, mark.memory_id, len(mark.hmac)) == ("purged", memory.id, 64)
    assert (home / "keys" / f"tombstone-{mark.key_id}.key").stat().st_size == 32


def test_purging_what_was_retracted_drops_the_reason_that_may_quote_it(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), WRONG, group="ledger")
    retract(person(alice), memory.id, reason=f"wrong: {WRONG}")
    purge(person(alice), memory.id, reason="asked for")
    assert [(t.kind, t.reason) for t in Tombstone.objects.all()] == [("purged", "asked for")]


def test_a_rejected_text_is_refused(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), WRONG, group="ledger")
    reject(person(alice), memory.id)
    stored = keep(person(alice), WRONG, group="ledger")
    assert (stored.outcome, stored.memory) == ("refused", memory)
    assert fresh(memory).confidence == 0.7


def test_a_forgotten_twin_of_a_retracted_text_cannot_be_restored(alice: User, ledger: Group) -> None:
    first = kept(person(alice), WRONG, group="ledger")
    forget(person(alice), first.id)
    retract(person(alice), kept(person(alice), WRONG, group="ledger").id)
    with pytest.raises(Exception, match="was retracted here"):
        restore(person(alice), first.id)
    assert fresh(first).state == "forgotten"


def test_a_wording_that_went_into_a_retracted_memory_cannot_be_restored(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), "The nightly backup goes to the NAS.", group="ledger")
    keep(person(alice), "The nightly backups go to the NAS.", group="ledger")
    wording = Memory.objects.get(state="merged")
    retract(person(alice), memory.id)
    with pytest.raises(Exception, match="which was retracted"):
        restore(person(alice), wording.id)
    assert fresh(wording).state == "merged"


# Policies and groups


@pytest.mark.parametrize(
    ("policy", "is_agent", "confidence", "outcome"),
    [
        ("none", True, 0.1, "created"),
        ("below", True, 0.4, "queued"),
        ("below", True, 0.5, "created"),
        ("agents", True, 1.0, "queued"),
        ("agents", False, 0.1, "created"),
        ("all", False, 1.0, "queued"),
    ],
)
def test_the_groups_policy_decides_what_waits(
    alice: User, ledger: Group, policy: str, is_agent: bool, confidence: float, outcome: str
) -> None:
    Group.objects.filter(pk=ledger.pk).update(policy=policy, policy_confidence=0.5)
    actor = agent(alice) if is_agent else person(alice)
    stored = keep(actor, WRONG, group="ledger", confidence=confidence)
    assert stored.outcome == outcome
    assert stored.memory is not None
    assert stored.memory.trust == ("candidate" if outcome == "queued" else "active")


def test_a_private_group_keeps_everything_inside(alice: User, ledger: Group) -> None:
    Group.objects.filter(pk=ledger.pk).update(private=True)
    assert kept(person(alice), WRONG, group="ledger").scope == "group"
    with pytest.raises(InvalidInput) as error:
        keep(person(alice), "Another text.", group="ledger", scope="global")
    assert error.value.field == "scope"
    assert Memory.objects.count() == 1


def test_a_store_makes_a_group_only_with_the_right(alice: User, bob: User) -> None:
    with pytest.raises(GroupNotFound) as error:
        keep(agent(bob), WRONG, group="ledgr")
    assert error.value.hint.startswith("You cannot make the group: an operator can (loci group create ledgr)")
    stored = keep(agent(bob, scopes=["read", "write", "create-group"]), WRONG, group="orchard")
    assert (stored.outcome, stored.group, stored.group_created) == ("created", "orchard", True)
    assert Membership.objects.get(group__slug="orchard").user == bob


def test_a_failed_store_makes_no_group(alice: User, ledger: Group) -> None:
    with pytest.raises(InvalidInput):
        keep(person(alice), "   ", group="orchard")
    with pytest.raises(InvalidInput):
        keep(person(alice), WRONG, group="Orchard House")
    assert not Group.objects.exclude(pk=ledger.pk).exists()


def test_a_viewer_and_a_stranger_write_nothing(ledger: Group, bob: User, charlie: User) -> None:
    Membership.objects.filter(user=bob).update(role="viewer")
    with pytest.raises(NotPermitted):
        keep(agent(bob), WRONG, group="ledger")
    with pytest.raises(GroupNotFound):
        keep(agent(charlie), WRONG, group="ledger")
    with pytest.raises(NotPermitted):
        keep(agent(bob, name="reader", scopes=["read"]), WRONG, group="ledger")
    assert Memory.objects.count() == 0


def test_a_short_id_that_leads_to_nothing_visible_is_no_successor(
    alice: User, bob: User, ledger: Group, garden: Group
) -> None:
    memory = kept(person(bob), WRONG, group="ledger")
    hidden = kept(person(alice), "The garden gate is green.", group="garden", scope="group")
    for short in (hidden.id.hex[-12:], "0" * 12):
        with pytest.raises(NotFound):
            retract(person(bob), memory.id, successor=short)
    assert fresh(memory).state == "live"
    assert Memory.objects.count() == 2
