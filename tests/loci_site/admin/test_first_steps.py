"""Home's first steps tick themselves off, and cards that say nothing are left out."""

import re

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.models import ApiToken, Group, Membership
from tests.loci_site.admin.conftest import Remember, browser_of
from tests.people import make_token


def steps(client: Client) -> dict[str, bool]:
    return {step.text: step.is_done for step in client.get("/admin/").context["steps"]}


def test_steps_tick_themselves_off(owner: Client, alice: User, ledger: Group, remember: Remember) -> None:
    todo = {
        "Connect an agent": False,
        "Store a memory": False,
        "Invite your team": False,
        "Make a backup": False,
    }
    assert steps(owner) == todo
    remember("The bell rings at noon.")
    make_token(alice)
    ApiToken.objects.update(last_used_at=timezone.now())
    User.objects.create_user("ben")
    assert steps(owner) == {name: name != "Make a backup" for name in todo}


def test_a_curators_list_is_shorter_and_goes(member: Client, bob: User, remember: Remember) -> None:
    remember("The bell rings at noon.")
    assert steps(member) == {"Connect an agent": False, "Store a memory": True}
    make_token(bob)
    ApiToken.objects.update(last_used_at=timezone.now())
    assert "First steps" not in member.get("/admin/").content.decode()


def test_a_reader_is_not_asked_to_store(ledger: Group) -> None:
    vera = User.objects.create_user("vera")
    Membership.objects.create(user=vera, group=ledger, role="viewer")
    assert steps(browser_of(vera)) == {"Connect an agent": False}


def test_an_empty_store_has_one_button_and_a_full_one_its_cards(owner: Client, remember: Remember) -> None:
    def headings() -> set[str]:
        found = re.findall(r'<h2 class="loci-heading"[^>]*>([^<]+)', owner.get("/admin/").content.decode())
        return {heading.strip() for heading in found} - {"Keyboard shortcuts"}

    assert headings() <= {"First steps", "Needs care"}
    body = owner.get("/admin/").content.decode()
    assert "No memories yet" in body
    assert 'href="/admin/account/connect/">Connect your client' in body
    remember("The bell rings at noon.")
    assert headings() >= {"Asked without an answer", "Corrected this week", "Newest", "Who uses it, 7 days"}
    assert not headings() & {"Waits for you", "Last night"}
    assert "No memories yet" not in owner.get("/admin/").content.decode()
