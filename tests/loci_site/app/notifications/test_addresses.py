"""Webhooks reach public addresses and listed ones alone, whatever a name resolves to and when."""

import socket
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User

from access.errors import InvalidInput
from loci_site.app.notifications.addresses import is_public, resolve
from loci_site.app.notifications.choices import change_webhook, create_webhook
from loci_site.app.notifications.models import Delivery, Webhook
from tests.loci_site.app.notifications.conftest import Chosen, Receiver, turn
from tests.model import encoder
from tests.people import person

__all__ = ["encoder"]
pytestmark = pytest.mark.django_db
SECRET_TEXT = "The vault of the ledger opens at noon."
ALL = ["review", "run", "backup"]


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1:8000/", "private address (127.0.0.1)"),
        ("https://localhost/", "private address"),
        ("https://10.1.2.3/", "private address (10.1.2.3)"),
        ("https://169.254.169.254/latest/", "private address"),
        ("https://[::1]/", "private address (::1)"),
        ("https://[::ffff:10.0.0.1]/", "private address"),
        ("https://[::127.0.0.1]/", "private address (::7f00:1)"),
        ("https://[::ffff:0:10.0.0.1]/", "private address"),
        ("https://[64:ff9b::a00:1]/", "private address"),
        ("https://0/", "private address"),
        ("https://0x7f.1/", "private address"),
        ("https://224.0.0.1/", "private address"),
        ("http://8.8.8.8/", "must begin with https://"),
        ("ftp://8.8.8.8/", "must be an address"),
        ("https://ann:secret@8.8.8.8/", "without a name or password"),
        ("https://8.8.8.8:99999/", "must be an address"),
        ("nonsense", "must be an address"),
    ],
)
def test_private_addresses_are_refused(chosen: Chosen, owner: User, url: str, why: str) -> None:
    chosen(webhook_hosts=())
    with pytest.raises(InvalidInput) as refused:
        create_webhook(person(owner), name="x", url=url, events=ALL)
    assert why in str(refused.value)
    assert refused.value.field == "url"
    assert not Webhook.objects.exists()


def test_public_and_listed_addresses_are_allowed(chosen: Chosen) -> None:
    assert resolve("https://8.8.8.8/x?y=1").url == "https://8.8.8.8:443/x?y=1"
    assert resolve("http://127.0.0.2:81/").host_header == "127.0.0.2:81"
    chosen(webhook_hosts=("LOCALHOST",))
    assert resolve("http://localhost:81/").host == "localhost"
    with pytest.raises(InvalidInput):
        resolve("http://127.0.0.1:81/")  # the name is listed, the address is not


def test_a_name_that_changes_its_address_reaches_nothing_private(
    chosen: Chosen,
    clock: time_machine.Traveller,
    owner: User,
    receiver: Receiver,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name service answers differently each time, as one does that attacks."""
    chosen(webhook_hosts=())
    port = int(receiver.url.split(":")[2].split("/")[0])
    answers = iter(["8.8.8.8", "127.0.0.1"])
    asked: list[str] = []

    def lookup(host: str, *args: Any, **kwargs: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    webhook = create_webhook(person(owner), name="x", url=f"https://hooks.example.org:{port}/", events=ALL)
    change_webhook(person(owner), webhook, "test")
    turn(clock)
    assert asked == ["hooks.example.org"] * 2  # once as it was made, once as it was sent
    assert "private address (127.0.0.1)" in Delivery.objects.get().error
    assert receiver.got == []


def test_one_private_address_among_several_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [(2, 1, 6, "", ("8.8.8.8", 443)), (2, 1, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: both)
    with pytest.raises(InvalidInput):
        resolve("https://hooks.example.org/")


def test_what_is_public() -> None:
    from ipaddress import ip_address

    assert is_public(ip_address("2606:4700::1111"))
    for private in ("2002:a00:1::", "fc00::1", "fe80::1", "100.64.0.1", "ff02::1", "192.0.2.1"):
        assert not is_public(ip_address(private)), private
