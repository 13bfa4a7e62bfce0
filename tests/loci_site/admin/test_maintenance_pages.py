"""The maintenance pages: runs shown, previewed, started and undone; backups; the doctor; rights."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.models import AuditEntry, Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from maintenance.models import Run
from maintenance.runs.preview import read_changes
from memories.lifecycle import verbs
from memories.models import Memory
from tests.loci_site.admin.conftest import Remember
from tests.loci_site.admin.test_pages import text
from tests.maintenance.events import DEPLOYS, happen
from tests.people import person

RUNS, JOBS = "/admin/maintenance/run/", "/admin/maintenance/joblock/"
# A preview works on a copy of the file, which holds what is committed.
pytestmark = pytest.mark.django_db(transaction=True)


def expired(remember: Remember, *texts: str, group: str = "ledger") -> list[Memory]:
    """Store memories that have just expired: one that expired a minute ago is refused."""
    at = timezone.now() - timedelta(seconds=20)
    return [remember(said, group=group, expires_at=at) for said in texts]


def cycled(group: Group) -> Run:
    return run_cycle(operator(), RunPlan(group=group, max_share=1))


def states(*memories: Memory) -> list[str]:
    return [Memory.objects.get(pk=memory.pk).state for memory in memories]


def test_a_run_names_what_it_changed_before_and_after(
    member: Client, remember: Remember, ledger: Group
) -> None:
    (memory,) = expired(remember, "The gate is open until noon.")
    run = cycled(ledger)
    body = text(member, f"{RUNS}{run.id}/change/")
    assert f"/admin/memories/memory/{memory.id}/change/" in body
    assert "<del>live</del> → <ins>expired</ins>" in body
    assert "1 expired" in body


def test_changes_come_page_by_page(member: Client, remember: Remember, ledger: Group) -> None:
    expired(remember, *(f"Shelf {number} is booked." for number in range(53)))
    run = run_cycle(operator(), RunPlan(group=ledger, max_share=1.0))
    first = text(member, f"{RUNS}{run.id}/change/")
    rest = text(member, f"{RUNS}{run.id}/change/?page=2")
    shown = [[n for n in range(53) if f"Shelf {n} is booked." in body] for body in (first, rest)]
    assert shown == [list(range(25)), list(range(25, 50))]
    assert "1–25 of 53" in first
    assert "26–50 of 53" in rest
    assert "?page=2" in first
    assert "?page=3" in rest
    for odd in ("0", "-1", "x", "²", "9" * 40):
        text(member, f"{RUNS}{run.id}/change/?page={odd}")


def test_undo_is_shown_first_and_done_only_when_asked(
    member: Client, remember: Remember, ledger: Group
) -> None:
    gone, other = expired(remember, "The gate is open.", "The lift is closed.")
    run = cycled(ledger)
    verbs.restore(operator(), other.id)
    place = f"{RUNS}{run.id}/undo/"
    assert member.get(place).headers["Location"] == f"{RUNS}{run.id}/change/"
    body = member.post(place, {"do": "preview"}).content.decode()
    assert "<dt>Restored</dt><dd>1</dd>" in body
    assert "<dt>Unchanged</dt><dd>1</dd>" in body
    assert "changed since" in body
    assert states(gone) == ["expired"]
    member.post(place, {"do": "undo"})
    assert states(gone, other) == ["live", "live"]
    run.refresh_from_db()
    assert (run.status, run.undone_by) == ("undone", "bob")
    assert AuditEntry.objects.filter(operation="run", subject="cycle undone", actor="bob").count() == 1
    again = member.post(place, {"do": "undo"}, follow=True).content.decode()
    assert "already undone" in again


def test_later_runs_stand_in_the_way_and_go_first(member: Client, remember: Remember, ledger: Group) -> None:
    (memory,) = expired(remember, "The gate is open.")
    first = cycled(ledger)
    Memory.objects.filter(pk=memory.pk).update(state="live")
    second = cycled(ledger)
    place = f"{RUNS}{first.id}/undo/"
    body = member.post(place, {"do": "preview"}).content.decode()
    assert f"{RUNS}{second.id}/change/" in body
    assert "Undo them first" in body
    assert 'value="undo"' not in body
    refused = member.post(place, {"do": "undo"}, follow=True).content.decode()
    assert "Later runs changed the same memories" in refused
    both = member.post(place, {"do": "preview", "with_later": "1"}).content.decode()
    assert "<dt>Later runs undone too</dt><dd>1</dd>" in both
    member.post(place, {"do": "undo", "with_later": "1"})
    assert {run.status for run in Run.objects.all()} == {"undone"}


def test_a_preview_of_the_cycle_changes_nothing_and_the_run_does_what_it_said(
    member: Client, remember: Remember, ledger: Group, garden: Group
) -> None:
    mine, foreign = [
        *expired(remember, "The gate is open."),
        *expired(remember, "The pond is full.", group="garden"),
    ]
    form = {"kind": "cycle", "group": str(ledger.id), "max_percent": ""}
    body = member.post(f"{RUNS}begin/", form | {"do": "preview"}).content.decode()
    assert "The gate is open." in body
    assert "pond" not in body
    assert "1 expired" in body
    assert (Run.objects.count(), states(mine)) == (0, ["live"])
    member.post(f"{RUNS}begin/", form | {"do": "run"})
    (run,) = Run.objects.all()
    assert (run.status, run.counts, run.actor) == ("done", {"expired": 1}, "bob")
    assert states(mine, foreign) == ["expired", "live"]


@pytest.mark.model
def test_a_preview_begins_with_every_text_and_leads_on_to_the_other_changes(
    member: Client, remember: Remember, ledger: Group
) -> None:
    now = timezone.now()
    happen(DEPLOYS, start=now - timedelta(days=60))
    expired(remember, *(f"Shelf {number} is booked." for number in range(53)))
    form = {"kind": "cycle", "group": str(ledger.id), "max_percent": "100", "do": "preview"}
    pages = [member.post(f"{RUNS}begin/", form | {"page": n}).content.decode() for n in ("1", "2", "3")]
    run = read_changes(cycled(ledger), limit=0)
    assert run.texts == 1
    assert [run.changes[0].text.splitlines()[0] in body for body in pages] == [True, False, False]
    assert f"1–26 of {run.total}" in pages[0]
    assert f"27–51 of {run.total}" in pages[1]
    assert '<button class="loci-button" type="submit" form="begin" name="page" value="2">' in pages[0]
    all_of_them = "".join(pages)
    assert all(f"Shelf {number} is booked." in all_of_them for number in range(53))


def test_a_run_that_would_put_too_much_away_says_so(owner: Client, remember: Remember, ledger: Group) -> None:
    for number in range(30):
        remember(f"Shelf {number} is booked.", confidence=0.03)
    Memory.objects.update(created_at=timezone.now() - timedelta(days=100))
    form = {"kind": "cycle", "group": str(ledger.id), "max_percent": "10"}
    for do in ("preview", "run"):
        body = owner.post(f"{RUNS}begin/", form | {"do": do}, follow=True).content.decode()
        assert "More than 3 of the 30 memories of &#x27;ledger&#x27; would be put away within 7 days" in body
    assert Run.objects.get().status == "stopped"
    assert set(Memory.objects.values_list("state", flat=True)) == {"live"}


@pytest.mark.parametrize(
    ("field", "value"), [("kind", "tidy"), ("group", "0"), ("max_percent", "0"), ("max_percent", "x")]
)
def test_what_is_no_choice_begins_nothing(owner: Client, ledger: Group, field: str, value: str) -> None:
    form = {"kind": "cycle", "group": str(ledger.id), "max_percent": "50", "do": "run"}
    assert owner.post(f"{RUNS}begin/", form | {field: value}).status_code == 200
    assert not Run.objects.exists()


def test_foreign_runs_are_not_found_and_foreign_groups_no_choice(
    member: Client, stranger: Client, remember: Remember, ledger: Group, garden: Group
) -> None:
    expired(remember, "The pond is full.", group="garden")
    run = cycled(garden)
    for client in (member, stranger):
        assert client.get(f"{RUNS}{run.id}/change/").status_code == 404
        for do in ("preview", "undo"):
            assert client.post(f"{RUNS}{run.id}/undo/", {"do": do}).status_code == 404
        form = {"kind": "cycle", "group": str(garden.id), "max_percent": "", "do": "run"}
        assert client.post(f"{RUNS}begin/", form).status_code == 200
    assert Run.objects.count() == 1
    assert "Every group" not in text(member, f"{RUNS}begin/")
    assert "begin/" not in text(stranger, RUNS)


def test_who_curates_nothing_there_sees_the_run_and_may_not_take_it_back(
    bob: User, remember: Remember, ledger: Group
) -> None:
    from tests.loci_site.admin.conftest import browser_of

    (memory,) = expired(remember, "The gate is open.")
    run, client = cycled(ledger), browser_of(bob)  # a contributor
    assert "Preview undo" not in text(client, f"{RUNS}{run.id}/change/")
    for do in ("preview", "undo"):
        assert client.post(f"{RUNS}{run.id}/undo/", {"do": do}).status_code == 403
    assert states(memory) == ["expired"]


def test_a_backup_is_made_listed_and_a_damaged_one_named(
    owner: Client, remember: Remember, home: Path
) -> None:
    remember("The gate is open.")
    assert "No backups yet." in text(owner, f"{JOBS}backups/")
    said = owner.post(f"{JOBS}backups/", follow=True).content.decode()
    (made,) = (home / "backups").glob("loci-*.zip")
    try:
        assert made.name in said
        assert "Backed up and verified" in said
        assert f"restore {made.name} --dry-run" in said
        made.write_bytes(made.read_bytes()[:100])
        assert "damaged" in text(owner, f"{JOBS}backups/")
    finally:
        made.unlink()


def test_the_doctor_says_what_to_do_and_repairs(owner: Client, remember: Remember, home: Path) -> None:
    memory = remember("The gate is open.")
    Memory.objects.filter(pk=memory.pk).update(context="stale words")
    quick = text(owner, f"{JOBS}doctor/")
    assert "This was a quick check." in quick
    whole = text(owner, f"{JOBS}doctor/?whole=1")
    assert "Problems found" in whole
    assert "--repair" in whole
    repaired = owner.post(f"{JOBS}doctor/").content.decode()
    assert "Rewrote 1 contexts" in repaired
    assert Memory.objects.get(pk=memory.pk).context == ""


@pytest.mark.parametrize("place", ["", "backups/", "doctor/"])
def test_backups_and_the_doctor_are_for_who_administers_everything(
    member: Client, stranger: Client, home: Path, place: str
) -> None:
    for client in (member, stranger):
        assert client.get(f"{JOBS}{place}").status_code == 403
        assert client.post(f"{JOBS}{place}").status_code == 403
    assert list(home.glob("backups/*.zip")) == []


def test_alice_may_run_every_group_at_once(
    owner: Client, alice: User, remember: Remember, ledger: Group, garden: Group
) -> None:
    both = [*expired(remember, "The gate is open."), *expired(remember, "The pond is full.", group="garden")]
    owner.post(f"{RUNS}begin/", {"kind": "cycle", "group": "", "max_percent": "", "do": "run"})
    assert states(*both) == ["expired", "expired"]
    assert Run.objects.get().actor == person(alice).name


@pytest.mark.parametrize("page", ["change", "delete", "history"])
def test_a_job_has_no_page_of_its_own(owner: Client, page: str) -> None:
    for name in ("0190c2a4-77aa-7000-8000-0123456789ab", "heartbeat", "7"):
        assert owner.get(f"/admin/maintenance/joblock/{name}/{page}/").status_code in (403, 404)
