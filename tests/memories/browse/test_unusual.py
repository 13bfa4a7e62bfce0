"""What is unusual for a token is listed, and the token is suspended from there."""

from datetime import timedelta
from math import inf

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from access import audit
from access.actor import Actor, Via
from access.audit.operations import Operation
from access.errors import Conflict, NotAuthenticated, NotPermitted
from access.models import ApiToken, AuditEntry, Group
from access.tokens import actor_for_secret, operator
from access.tokens.suspend import resume_token, suspend_token
from memories.browse.unusual import find_unusual, find_write_rates
from memories.models import RecallLog
from tests.people import alice, ledger, make_token, person

__all__ = ["alice", "ledger"]
pytestmark = pytest.mark.django_db


@pytest.fixture
def laptop(alice: User, ledger: Group) -> tuple[ApiToken, str]:
    return make_token(alice, name="laptop")


def write(actor: Actor, count: int, *, days_ago: float = 0, operation: Operation = Operation.STORE) -> None:
    with time_machine.travel(timezone.now() - timedelta(days=days_ago), tick=False):
        for _ in range(count):
            audit.append(actor, operation, subject="a test")


def read(actor: Actor, count: int, *, days_ago: float = 0) -> None:
    at = timezone.now() - timedelta(days=days_ago)
    RecallLog.objects.bulk_create(
        RecallLog(at=at, actor=actor.name, via="mcp", mode="hybrid", query="q", duration_ms=1)
        for _ in range(count)
    )


def kinds(actor: Actor) -> list[tuple[str, int]]:
    return [(each.kind, each.count) for each in find_unusual(actor)]


def test_ten_times_the_usual_is_listed(alice: User, laptop: tuple[ApiToken, str]) -> None:
    agent = actor_for_secret(laptop[1], via=Via.MCP)
    for days_ago in (2, 3, 5):
        write(agent, 6, days_ago=days_ago)
        read(agent, 8, days_ago=days_ago)
    write(agent, 59)
    read(agent, 79)
    assert kinds(operator()) == []
    write(agent, 1)
    read(agent, 1)
    assert kinds(operator()) == [("reads", 80), ("writes", 60)]
    writes = find_unusual(operator())[1]
    assert (writes.actor, writes.usual, writes.token) == (agent.name, 6, laptop[0])
    assert "usually 6 a day" in writes.words


def test_a_new_token_has_no_habit(laptop: tuple[ApiToken, str]) -> None:
    agent = actor_for_secret(laptop[1], via=Via.MCP)
    read(agent, 199)
    assert kinds(operator()) == []
    read(agent, 1)
    assert kinds(operator()) == [("reads", 200)]


def test_exports_purges_and_many_withdrawals_are_listed(laptop: tuple[ApiToken, str]) -> None:
    agent = actor_for_secret(laptop[1], via=Via.MCP)
    write(agent, 19, operation=Operation.RETRACT)
    write(operator(), 1, operation=Operation.EXPORT)
    write(operator(), 2, operation=Operation.EXPORT, days_ago=9)
    assert kinds(operator()) == [("export", 1)]
    write(agent, 1, operation=Operation.PURGE)
    assert set(kinds(operator())) == {("export", 1), ("purge", 1), ("withdrawal", 20)}


def test_write_rates_are_shown(laptop: tuple[ApiToken, str]) -> None:
    agent = actor_for_secret(laptop[1], via=Via.MCP)
    write(agent, 3)
    write(agent, 4, days_ago=0.5)
    [rate] = find_write_rates(operator())
    assert (rate.token, rate.hour, rate.day) == (laptop[0], 3, 7)
    assert (rate.limit, rate.left) == (0, inf)  # the tests set no limit


def test_only_an_admin_of_all_groups_sees_it(laptop: tuple[ApiToken, str]) -> None:
    agent = actor_for_secret(laptop[1], via=Via.MCP)
    for read_list in (find_unusual, find_write_rates):
        with pytest.raises(NotPermitted):
            read_list(agent)


def test_a_suspended_token_is_refused_until_a_person_resumes_it(
    alice: User, laptop: tuple[ApiToken, str]
) -> None:
    token, secret = laptop
    agent = actor_for_secret(secret, via=Via.MCP)
    suspend_token(person(alice), token, reason="too many reads")
    with pytest.raises(NotAuthenticated, match="suspended"):
        actor_for_secret(secret, via=Via.MCP)
    with pytest.raises(Conflict):
        suspend_token(person(alice), token)
    with pytest.raises(NotPermitted):
        resume_token(agent, token)
    resume_token(person(alice), token)
    assert actor_for_secret(secret, via=Via.MCP).name == agent.name
    rows = AuditEntry.objects.filter(operation=Operation.TOKEN, subject=f"token:{token.id}").order_by("key")
    assert [row.payload["action"] for row in rows] == ["create", "suspend", "resume"]


def test_nobody_suspends_somebody_elses_token(laptop: tuple[ApiToken, str], db: None) -> None:
    stranger = person(User.objects.create_user("charlie"))
    for change in (suspend_token, resume_token):
        with pytest.raises(NotPermitted):
            change(stranger, laptop[0])


def test_the_page_lists_it_and_suspends(client: Client, laptop: tuple[ApiToken, str]) -> None:
    owner = User.objects.create_superuser("owner", password="a-long-password")
    client.force_login(owner)
    read(actor_for_secret(laptop[1], via=Via.MCP), 200)
    page = client.get("/admin/access/auditentry/unusual/").content.decode()
    assert "200 reads" in page
    german = client.get("/admin/access/auditentry/unusual/", headers={"accept-language": "de"})
    assert "200 Abrufe am " in german.content.decode()
    assert f"/admin/access/apitoken/{laptop[0].id}/suspend/" in page
    client.post(f"/admin/access/apitoken/{laptop[0].id}/suspend/")
    assert ApiToken.objects.get(pk=laptop[0].pk).state == "suspended"
    client.post(f"/admin/access/apitoken/{laptop[0].id}/resume/")
    assert ApiToken.objects.get(pk=laptop[0].pk).state == "valid"
