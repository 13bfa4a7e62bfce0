"""What counts is destroyed only by whoever named it: a wording of it, or a quote in it, is not enough."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from access.errors import NotPermitted
from access.models import Group
from access.tokens import operator
from maintenance.retention import enforce_retention
from memories.lifecycle.purge import Because, Why, destroy
from memories.lifecycle.purge.targets import PurgeTargets
from memories.lifecycle.verbs import forget, purge, verify
from memories.models import Checkpoint, Memory, Thread, Tombstone
from memories.recall import RecallRequest, recall
from memories.sessions.checkpoints import save_checkpoint
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.model]
TEXT = "The launch code of heronry is eight."


def edited_source(alice: User) -> tuple[Memory, Memory, Memory]:
    """An agent's memory, the wording that an import's line gave it, and the line's next version, which a person verified."""
    first = kept(agent(alice), "The deploy port is 8081.", group="ledger")
    source = {"group": "ledger", "source": "wiki", "source_ref": "line-7"}
    assert keep(person(alice), "The deploy port is 8081", **source).outcome == "reinforced"
    wording = Memory.objects.get(state="merged")
    current = keep(person(alice), "The deploy port is 9090 since May.", **source).memory
    assert current is not None
    if (
        current.root_id is None
    ):  # a store that begins a chain here; older ones have the edit as its next version
        Memory.objects.filter(pk=current.pk).update(root=wording, version=2)
    verify(person(alice), current.id)
    return first, fresh(wording), fresh(current)


def test_retention_leaves_a_live_memory_that_grew_from_a_wording(alice: User, ledger: Group) -> None:
    first, wording, current = edited_source(alice)
    forget(person(alice), first.id)
    Memory.objects.filter(pk=first.pk).update(state_changed_at=timezone.now() - timedelta(days=31))
    enforce_retention(person(alice), now=timezone.now())
    assert not Memory.objects.filter(pk=first.pk).exists()
    assert (fresh(current).state, fresh(current).trust) == ("live", "verified")
    assert (fresh(wording).state, fresh(wording).superseded_by_id) == ("superseded", current.key)


def test_a_purge_names_what_grew_from_a_wording_and_leaves_it(alice: User, ledger: Group) -> None:
    first, wording, current = edited_source(alice)
    would = purge(person(alice), first.id, dry_run=True)
    assert (
        f"{wording.id}, a wording of it, is a former version of {current.id}, which stays"
        in would.consequences
    )
    done = purge(person(alice), first.id)
    assert done.certificate is not None
    assert (done.certificate.ids, done.certificate.spared) == ((first.id,), ())
    assert f"1 other memories quote it: {wording.id}" in done.certificate.remains
    assert fresh(current).state == "live"


@pytest.mark.parametrize("why", list(Why))
def test_a_row_that_counts_needs_a_reason_of_its_own(
    alice: User, ledger: Group, garden: Group, why: Why
) -> None:
    past = timezone.now() - timedelta(days=1)
    plain, ended = (kept(person(alice), text, group="ledger") for text in ("It is so.", "It was so."))
    Memory.objects.filter(pk=ended.pk).update(expires_at=past)
    rows = (fresh(plain), fresh(ended))
    group = garden if why is Why.MOVED else None
    done = destroy(person(alice), PurgeTargets(rows), Because(why, "test", group)).certificate
    gone = {Why.ENDED: {ended.id}, Why.MOVED: {plain.id, ended.id}}.get(why, set())
    assert (set(done.ids), set(done.spared)) == (gone, {plain.id, ended.id} - gone)
    stays = set(Memory.objects.values_list("id", flat=True))
    assert stays == {plain.id, ended.id} - (gone if why is not Why.MOVED else set())
    assert not Tombstone.objects.exists()


@pytest.mark.parametrize(
    "quote",
    [
        "Alice noted: the launch code of heronry is eight.",
        "As I told you, the launch code of\nheronry is eight, so keep it.",
        "- **The launch code** of heronry is _eight_!",
        "So: Ｔｈｅ ｌａｕｎｃｈ　code of heronry is eight",
    ],
)
def test_a_quote_is_named_before_and_after_and_goes_if_asked(alice: User, ledger: Group, quote: str) -> None:
    memory, quoting = kept(person(alice), TEXT, group="ledger"), kept(person(alice), quote, group="ledger")
    kept(person(alice), "The relaunch code of heronry is eighty.", group="ledger")
    would = purge(person(alice), memory.id, dry_run=True)
    assert f"1 other memories quote it: {quoting.id} (left)" in would.consequences
    also = purge(person(alice), memory.id, quotes=True, dry_run=True).consequences
    assert any(line.startswith(f"{quoting.id} is destroyed too: “") for line in also)
    done = purge(person(alice), memory.id)
    assert done.certificate is not None
    assert f"1 other memories quote it: {quoting.id}" in done.certificate.remains


def test_what_quotes_it_is_purged_with_it(alice: User, ledger: Group, garden: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    told = kept(person(alice), f"Alice noted: {TEXT.lower()}", group="garden", scope="group", tags=("codes",))
    kept(person(alice), "It is in the metadata.", group="garden", metadata={"from": [TEXT]})
    stays = kept(person(alice), "The heronry has a code.", group="ledger")
    done = purge(person(alice), memory.id, quotes=True)
    assert done.certificate is not None
    assert len(done.certificate.ids) == 3
    assert f"{told.id} is destroyed too" in done.consequences  # a kept answer has no word of it
    assert told.id in done.certificate.ids
    assert list(Memory.objects.all()) == [stays]
    assert not [line for line in done.certificate.remains if "memories" in line]
    answer = recall(person(alice), RecallRequest("What is the launch code of heronry?", group="garden"))
    assert "eight" not in str(answer)


def test_only_people_purge_what_quotes_and_only_where_they_curate(alice: User, ledger: Group) -> None:
    memory = kept(person(alice), TEXT, group="ledger")
    with pytest.raises(NotPermitted):
        purge(agent(alice), memory.id, quotes=True, dry_run=True)


def test_checkpoints_and_threads_are_named_before_and_lose_the_text_in_any_spelling(
    alice: User, ledger: Group
) -> None:
    memory = kept(person(alice), TEXT, group="ledger", thread=f"Why {TEXT.upper()}?")
    save_checkpoint(
        person(alice),
        group="ledger",
        thread="",
        state={"next": "say that the launch code\nof heronry is eight, ok"},
    )
    would = purge(person(alice), memory.id, dry_run=True).consequences
    assert f"1 checkpoints contain it: {Checkpoint.objects.get().id} (blanked)" in would
    assert f"1 names of threads contain it: {Thread.objects.get().id} (blanked)" in would
    purge(person(alice), memory.id)
    assert Checkpoint.objects.get().state == {"next": "say that [purged], ok"}
    assert Thread.objects.get().name.startswith("Why [purged]?")


def test_every_face_of_people_offers_it(ledger: Group, client: Client) -> None:
    client.force_login(User.objects.create_superuser("owner", password="a-long-password"))
    for face in ("command", "rest", "delete", "page"):
        memory, quoting = (
            kept(operator(), text, group="ledger")
            for text in (f"{face}: {TEXT}", f"He wrote: {face}: {TEXT}")
        )
        address = f"/api/memories/{memory.id}"
        if face == "command":
            call_command("memory", "purge", str(memory.id), "--quotes", "--yes", stdout=StringIO())
        elif face == "rest":
            client.post(f"{address}/purge", {"quotes": True}, "application/json")
        elif face == "delete":
            client.delete(f"{address}?verb=purge&quotes=true")
        else:
            page = f"/admin/memories/memory/{memory.id}/purge/"
            shown = client.get(page).content.decode()
            assert 'name="quotes"' in shown
            assert str(quoting.id) in shown
            client.post(page, {"reason": "asked for", "quotes": "on"})
        assert not Memory.objects.filter(id__in=[memory.id, quoting.id]).exists(), face
