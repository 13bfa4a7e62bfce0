"""The dashboard's first steps tick themselves off, and cards that say nothing are left out."""

import re

from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access.models import ApiToken, Group
from tests.loci_site.admin.conftest import Remember
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


def test_cards_that_say_nothing_are_left_out(owner: Client, remember: Remember) -> None:
    def headings() -> set[str]:
        found = re.findall(r'<h2 class="loci-heading"[^>]*>([^<]+)', owner.get("/admin/").content.decode())
        return {heading.strip() for heading in found}

    assert headings() == {"First steps", "Review", "Groups", "Health"}
    remember("The bell rings at noon.")
    remember("Open the gate, then ring the bell.", type="procedural")
    assert headings() >= {"Stored per week", "Live memories by type", "Last writes"}
    assert not headings() & {
        "Recalls per day",
        "Maintenance per week",
        "Live memories by trust",
        "All memories by state",
    }
