"""People with addresses, a mail server that is Django's outbox, and a real server that takes webhooks."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone

from access.actor import Actor
from access.models import Group, Membership, Role
from loci_site.app.notifications import work
from maintenance.jobs import do_job, job_actor
from maintenance.schedule import JOBS
from tests.people import alice, bob, charlie, garden, ledger

__all__ = ["alice", "bob", "charlie", "garden", "ledger"]
Chosen = Callable[..., None]


@dataclass
class Receiver:
    """A server that notes what it gets and answers with `status`."""

    url: str
    status: int = 204
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    @property
    def last(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self.got[-1][1])
        return said


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            found.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(found.status)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found = Receiver(f"http://127.0.0.1:{server.server_port}/hook?team=a")
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        yield found
        server.shutdown()


@pytest.fixture
def chosen(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """`chosen(quote=True)`: these settings of [notifications]; mail and webhooks to this machine are on."""
    monkeypatch.setattr(work, "LOOK_EVERY", timedelta(seconds=6))

    def choose(**values: Any) -> None:
        usual = {
            "mail_host": "mail.example.org",
            "mail_from": "loci@example.org",
            "webhook_hosts": ("127.0.0.0/8",),
        }
        settings.LOCI = replace(
            settings.LOCI, notifications=replace(settings.LOCI.notifications, **usual | values)
        )

    choose()
    return choose


@pytest.fixture
def curator(bob: User, ledger: Group) -> User:
    """Bob, who curates `ledger` and has an address."""
    Membership.objects.filter(user=bob).update(role=Role.CURATOR)
    User.objects.filter(pk=bob.pk).update(email="bob@example.org")
    bob.refresh_from_db()
    return bob


@pytest.fixture
def owner(alice: User) -> User:
    """Alice, a superuser with an address."""
    alice.email = "alice@example.org"
    alice.save()
    return alice


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


def job() -> Actor:
    return job_actor("notify")


def turn(clock: time_machine.Traveller, *, minutes: float = 1) -> str | None:
    """A turn of the worker's job after some minutes, as the schedule would take it."""
    clock.shift(timedelta(minutes=minutes))
    [notify] = [each for each in JOBS if each.name == "notify"]
    assert notify.is_due is not None
    if not notify.is_due():
        return None
    do_job(notify, actor=job())
    return "done"
