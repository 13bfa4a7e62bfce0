"""A curator lifts a tombstone, and the text may be stored again; a missing key is reported."""

import hashlib
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from access.errors import NotFound, NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.doctor import examine
from memories.lifecycle.purge.lift_tombstone import lift_tombstones, list_tombstones
from memories.lifecycle.verbs import purge, retract
from memories.models import Tombstone
from memories.store.withdrawn.tombstones import missing_keys
from tests.loci_site.admin.conftest import browser_of
from tests.loci_site.api.conftest import Caller
from tests.loci_site.management.conftest import Run, run
from tests.memories.builders import keep, kept
from tests.people import agent, make_token, person

__all__ = ["run"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT = "The scope of the cache is public."


@pytest.fixture
def mark(alice: User, ledger: Group) -> Tombstone:
    """The tombstone of a purged text."""
    purge(person(alice), kept(person(alice), TEXT, group="ledger").id, reason="asked for")
    return Tombstone.objects.get()


@pytest.mark.parametrize("name", ["id", "memory_id"])
def test_a_lifted_text_is_stored_again(alice: User, mark: Tombstone, name: str) -> None:
    assert keep(person(alice), TEXT, group="ledger").outcome == "refused"
    lift_tombstones(person(alice), getattr(mark, name), reason="it was right")
    assert keep(person(alice), TEXT, group="ledger").outcome == "created"
    entry = AuditEntry.objects.get(operation="lift")
    assert (entry.memory_id, entry.subject) == (mark.memory_id, f"tombstone:{mark.id}")
    assert entry.payload_row.payload == {"kind": "purged", "reason": "it was right"}
    assert list_tombstones(person(alice)).rows == ()


def test_a_lifted_retraction_no_longer_refuses(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    retract(person(alice), memory.id)
    lift_tombstones(person(alice), memory.id)
    assert keep(person(alice), TEXT, group="ledger").outcome != "refused"


def test_only_a_person_who_curates_the_group_lifts(
    alice: User, bob: User, charlie: User, mark: Tombstone
) -> None:
    for actor in (agent(alice, scopes=["read", "curate"]), person(bob)):
        with pytest.raises(NotPermitted):
            lift_tombstones(actor, mark.id)
    with pytest.raises(NotFound):
        lift_tombstones(person(charlie), mark.id)
    assert list_tombstones(person(bob)).rows == ()
    set_member(operator(), mark.group, user=bob, role="curator")
    lift_tombstones(person(bob), mark.id)
    with pytest.raises(NotFound):
        lift_tombstones(person(bob), mark.id)


def test_a_key_is_named_by_its_fingerprint_and_missed_when_it_is_gone(
    alice: User, mark: Tombstone, home: Path
) -> None:
    path = home / "keys" / f"tombstone-{mark.key_id}.key"
    assert mark.key_id == hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    assert missing_keys() == {}
    path.rename(home / "elsewhere")
    assert missing_keys() == {mark.key_id: 1}
    said = {f.check: f.detail for f in examine(operator()).findings}["tombstones"]
    assert said.startswith(f"key missing: 1 tombstones recognise nothing without the key {mark.key_id}")
    # Another store's key beside its own one: both recognise what they marked.
    other = home / "keys" / "tombstone-0001.key"
    other.write_bytes(b"k" * 32)
    (home / "elsewhere").rename(path)
    assert keep(person(alice), TEXT, group="ledger").outcome == "refused"
    other.unlink()  # the next tombstone would be marked with it


def test_rest_lists_and_a_logged_in_person_lifts(alice: User, mark: Tombstone) -> None:
    client = browser_of(alice)
    listed = client.get("/api/tombstones?group=ledger").json()
    assert [item["id"] for item in listed["items"]] == [str(mark.id)]
    answer = client.post(f"/api/tombstones/{mark.id}/lift", {"reason": "x"}, content_type="application/json")
    assert (answer.status_code, len(answer.json()["lifted"])) == (200, 1)
    assert client.get("/api/tombstones").json()["items"] == []


def test_a_token_may_not_lift(alice: User, mark: Tombstone) -> None:
    from_token = Caller(make_token(alice, scopes=["read", "curate"])[1])
    assert from_token.post(f"/tombstones/{mark.id}/lift", {}, status=403)["code"] == "not_permitted"


def test_the_browser_asks_then_lifts(alice: User, mark: Tombstone) -> None:
    client = browser_of(alice)
    assert "asked for" in client.get("/admin/memories/tombstone/").content.decode()
    page = f"/admin/memories/tombstone/{mark.id}/change/"
    assert "Lift this tombstone?" in client.get(page).content.decode()
    assert Tombstone.objects.get().lifted_at is None
    client.post(page, {"reason": "right after all"})
    lifted = Tombstone.objects.get()
    assert (lifted.lifted_at is not None, lifted.lifted_by) == (True, "alice")


def test_the_command_lists_and_lifts(run: Run, mark: Tombstone) -> None:
    assert str(mark.id) in run("memory", "tombstones", "--group", "ledger", columns=200).out
    assert run("memory", "lift", str(mark.id)).out.startswith("1 lifted")
    assert run("memory", "lift", str(mark.id)).status == 1
