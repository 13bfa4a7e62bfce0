"""Maintenance runs over REST: curators preview, start, read and undo them."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import Group
from maintenance.cycle import job as cycle_job
from maintenance.jobs import job_actor
from maintenance.models import JobLock, Run
from memories.models import Memory
from tests.loci_site.api.conftest import Caller
from tests.memories.builders import fresh, row
from tests.people import make_token

pytestmark = pytest.mark.django_db


@pytest.fixture
def curator(alice: User) -> Caller:
    """Alice through a token that may curate everywhere."""
    return Caller(make_token(alice, name="curates", scopes=("read", "write", "curate"))[1])


@pytest.fixture
def over(ledger: Group) -> Memory:
    """A memory whose time is over."""
    return row(
        ledger, "until yesterday", expires_at=timezone.now() - timedelta(days=1), created_at=timezone.now()
    )


def test_a_run_is_done_read_and_taken_back(curator: Caller, over: Memory) -> None:
    done = curator.post("/maintenance/runs", {"group": "ledger"})
    assert (done["run"]["status"], done["run"]["counts"]) == ("done", {"expired": 1})
    assert fresh(over).state == "expired"
    read = curator.get(f"/maintenance/runs/{done['run']['id']}")
    [change] = read["changes"]
    assert (change["id"], change["fields"]["state"]) == (str(over.id), ["live", "expired"])
    undone = curator.post(f"/maintenance/runs/{done['run']['id']}/undo")
    assert (undone["restored"], undone["kept"], undone["dry_run"]) == (1, [], False)
    assert fresh(over).state == "live"
    again = curator.post(f"/maintenance/runs/{done['run']['id']}/undo", status=409)
    assert again["code"] == "conflict"


@pytest.mark.django_db(transaction=True)
def test_a_dry_run_says_what_would_happen_and_changes_nothing(curator: Caller, over: Memory) -> None:
    tried = curator.post("/maintenance/runs", {"dry_run": True})
    assert (tried["run"]["dry_run"], tried["run"]["counts"], tried["total"]) == (True, {"expired": 1}, 1)
    assert fresh(over).state == "live"
    assert not Run.objects.exists()


def test_a_cleanup_is_a_run_of_its_own(curator: Caller, ledger: Group) -> None:
    long_ago = timezone.now() - timedelta(days=100)
    doubt = row(ledger, "an old doubt", confidence=0.03, created_at=long_ago)
    done = curator.post("/maintenance/runs", {"kind": "cleanup"})
    assert (done["run"]["kind"], done["run"]["counts"]) == ("cleanup", {"put_to_sleep": 1})
    assert fresh(doubt).state == "dormant"


def test_a_run_longer_than_a_request_is_left_to_a_worker(
    curator: Caller, over: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loci_site.api.maintenance.WAIT_S", 0.0)
    begun = curator.post("/maintenance/runs", {"group": "ledger"})
    assert begun["run"]["status"] == "running"
    assert JobLock.objects.get(name="cycle").asked_by == "alice/curates"
    cycle_job.run_scheduled_cycle(job_actor("cycle"))
    assert fresh(over).state == "expired"
    assert not Run.objects.filter(status="running").exists()


@pytest.mark.parametrize(
    "call",
    [
        lambda caller, run: caller.post("/maintenance/runs", {"group": "ledger"}, status=403),
        lambda caller, run: caller.post("/maintenance/runs", {"dry_run": True}, status=403),
        lambda caller, run: caller.post(f"/maintenance/runs/{run}/undo", status=403),
    ],
    ids=["run", "dry run", "undo"],
)
def test_who_does_not_curate_neither_runs_nor_undoes(
    curator: Caller, member: Caller, over: Memory, call: Callable[[Caller, str], Any]
) -> None:
    run = curator.post("/maintenance/runs", {"group": "ledger"})["run"]["id"]
    call(member, run)
    assert fresh(over).state == "expired"


def test_a_stranger_does_not_learn_of_a_run(curator: Caller, stranger: Caller, over: Memory) -> None:
    run = curator.post("/maintenance/runs", {"group": "ledger"})["run"]["id"]
    stranger.get(f"/maintenance/runs/{run}", status=404)
    stranger.post(f"/maintenance/runs/{run}/undo", status=404)


@pytest.mark.parametrize(
    ("body", "named"),
    [({"kind": "tidy"}, "kind"), ({"max_share": 2}, "max_share"), ({"grup": "ledger"}, "grup")],
    ids=str,
)
def test_a_wrong_field_is_named(curator: Caller, body: dict[str, Any], named: str) -> None:
    error = curator.post("/maintenance/runs", body, status=422)
    assert named in str(error)
    assert not Run.objects.exists()
