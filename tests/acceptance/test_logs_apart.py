"""What happens in a group that the caller may not enter changes no number, row or list of the log that they see."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from access.actor import Via
from access.audit.retention import link_heads
from access.groups.members import remove_member, set_member
from access.models import AuditEntry, Group
from access.sign_in.users import PersonChange, add_person
from access.tokens import actor_for_token, create_token, operator
from maintenance.schedule import pause_job, resume_job
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, pin, purge, retract
from memories.models import Memory
from tests.acceptance.steady_text import steady_text
from tests.examples import examples
from tests.loci_site.api.conftest import Caller
from tests.loci_site.mcp.people import Agent
from tests.memories.builders import kept
from tests.people import alice, bob, garden, ledger, make_token, person

__all__ = ["alice", "bob", "garden", "ledger"]

Act = Callable[[User, Group, int], object]


def _memory(user: User, group: Group, number: int) -> Memory:
    text = f"Bed {number} of the {group.slug} holds tulips."
    found = Memory.objects.filter(group=group, state="live", content=text).first()
    return found or kept(person(user), text, group=group.slug, scope="group")


IN_A_GROUP: dict[str, Act] = {
    "store": _memory,
    "pin": lambda user, group, n: pin(person(user), _memory(user, group, n).id),
    "edit": lambda user, group, n: edit(
        person(user),
        _memory(user, group, n).id,
        EditDraft(content=f"Bed {n}0 holds roses, since {group.slug}."),
    ),
    "forget": lambda user, group, n: forget(person(user), _memory(user, group, n).id),
}
OUTSIDE: dict[str, Act] = IN_A_GROUP | {
    "retract": lambda user, group, n: retract(person(user), _memory(user, group, n).id, reason="wrong"),
    "purge": lambda user, group, n: purge(person(user), _memory(user, group, n).id),
    "member": lambda user, group, n: (
        set_member(person(user), group, user=user, role="admin"),
        remove_member(person(user), group, user=user),
    ),
    "token": lambda user, group, n: create_token(operator(), user=user, name=f"t{n}"),
    "person": lambda user, group, n: add_person(operator(), f"person{n}", PersonChange(), password=None),
    "schedule": lambda user, group, n: (pause_job(operator(), "cycle"), resume_job(operator(), "cycle")),
    "link": lambda user, group, n: link_heads(operator()),
}


def command(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def views(member: User, group: Group) -> dict[str, str]:
    """The log as the member meets it."""
    token, secret = make_token(member, name="reader", scopes=["read"])
    rest, agent = Caller(secret), Agent(actor_for_token(token, via=Via.MCP))
    browser = Client()
    browser.force_login(member)
    first = rest.get("/log?limit=3")
    answers: dict[str, Any] = {
        "rest": first,
        "rest, all": rest.get("/log?group=ledger"),
        "rest, next": rest.get(f"/log?limit=3&cursor={first['next']}") if first["next"] else None,
        "command": command("audit", "show", "--group", "ledger", "--json"),
        "page": browser.get("/admin/access/auditentry/").content.decode(),
    }
    for row in AuditEntry.objects.filter(group=group.id).order_by("seq"):
        page = browser.get(f"/admin/access/auditentry/{row.name}/change/")
        assert page.status_code == 200
        answers[f"page of {row.seq}"] = page.content.decode()
    for memory in Memory.objects.filter(group=group).order_by("key"):
        answers[f"rest memory {memory.content}"] = rest.get(f"/memories/{memory.id}/inspect")
        answers[f"mcp memory {memory.content}"] = agent.answer("memory_inspect", id=str(memory.id))
    return {
        name: steady_text(answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))
        for name, answer in answers.items()
    }


@pytest.mark.django_db
@pytest.mark.model
@settings(
    max_examples=examples(2),
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking takes too long
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    own=st.lists(st.sampled_from(sorted(IN_A_GROUP)), min_size=2, max_size=4),
    foreign=st.lists(st.lists(st.sampled_from(sorted(OUTSIDE)), max_size=4), min_size=4, max_size=4),
)
def test_actions_elsewhere_change_nothing_of_the_log(
    alice: User, bob: User, ledger: Group, garden: Group, own: list[str], foreign: list[list[str]]
) -> None:
    worlds = []
    for elsewhere in ([[]] * len(own), foreign):
        with transaction.atomic():
            set_member(operator(), ledger, user=bob, role="curator")
            for at, (name, others) in enumerate(zip(own, elsewhere, strict=False)):
                for number, other in enumerate(others):
                    OUTSIDE[other](alice, garden, 10 * at + number)
                IN_A_GROUP[name](bob, ledger, at)
            worlds.append(views(bob, ledger))
            transaction.set_rollback(True)
    alone, beside = worlds
    assert alone.keys() == beside.keys()
    for name, answer in alone.items():
        assert beside[name] == answer, name
