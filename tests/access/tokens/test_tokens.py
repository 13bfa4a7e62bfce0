"""Tokens: the last use, and the reach of new ones."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
import time_machine
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from access.actor import Via
from access.errors import InvalidInput, NotAuthenticated, NotPermitted
from access.groups import create_group
from access.models import ApiToken, Group
from access.tokens import (
    PENDING_TOKEN_USES,
    actor_for_secret,
    actor_for_token,
    create_token,
    operator,
    resume_token,
    suspend_token,
)
from memories.recall_log import COUNTER
from tests.people import agent, make_token, person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def none_waits() -> Iterator[None]:
    """No pending token use is left from an earlier test."""
    PENDING_TOKEN_USES.clear()
    yield
    PENDING_TOKEN_USES.clear()


def test_a_use_is_written_though_nothing_was_recalled(bob: User) -> None:
    token, secret = make_token(bob)
    before = timezone.now()
    actor_for_secret(secret)
    assert ApiToken.objects.get(pk=token.pk).last_used_at is None
    assert COUNTER.flush() == 0
    used = ApiToken.objects.get(pk=token.pk).last_used_at
    assert used is not None
    assert used >= before


def test_a_use_alone_starts_the_timer(bob: User, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    _, secret = make_token(bob)
    asked: list[None] = []
    monkeypatch.setattr(COUNTER, "_start_timer", lambda: asked.append(None))
    actor_for_secret(secret)
    assert len(asked) == 1


def test_the_default_group_is_one_that_the_token_and_its_maker_reach(
    bob: User, ledger: Group, garden: Group
) -> None:
    with pytest.raises(NotPermitted, match="garden"):
        create_token(person(bob), user=bob, name="a", default_group=garden)
    with pytest.raises(InvalidInput, match="'garden' is not one of the token's groups"):
        make_token(bob, groups=[ledger], default_group=garden)
    assert ApiToken.objects.count() == 0
    made = create_token(person(bob), user=bob, name="a", groups=[ledger], default_group=ledger)
    assert made.token.default_group == ledger


def test_global_memories_are_hidden_only_with_groups_and_granted_only_by_those_who_see_them(
    bob: User, ledger: Group
) -> None:
    with pytest.raises(InvalidInput, match="needs groups of its own"):
        make_token(bob, include_global=False)
    kept_away, _ = make_token(bob, groups=[ledger], include_global=False)
    actor = actor_for_token(kept_away, via=Via.REST)
    with pytest.raises(NotPermitted, match="hidden from you"):
        create_token(actor, user=bob, name="wider", groups=[ledger])
    made = create_token(actor, user=bob, name="same", groups=[ledger], include_global=False)
    assert actor_for_token(made.token, via=Via.REST).include_global is False


def test_a_group_that_was_not_made_gives_no_role(charlie: User, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = agent(charlie, scopes=["read", "write", "create-group"])

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("access.groups.audit.append", broken)
    with pytest.raises(RuntimeError), transaction.atomic():
        create_group(actor, "orchard")
    assert actor.roles == {}
    assert not Group.objects.filter(slug="orchard").exists()


def test_a_browsers_token_works_in_its_extension_alone(bob: User) -> None:
    origin = "chrome-extension://abcdef"
    made = create_token(operator(), user=bob, name="browser", scopes=("read", "capture"), origin=origin)
    assert actor_for_secret(made.secret, origin=origin).origin == origin
    for other in ("", "chrome-extension://other", "https://example.org"):
        with pytest.raises(NotPermitted, match="nowhere else"):
            actor_for_secret(made.secret, origin=other)
    with pytest.raises(NotAuthenticated, match="in a browser extension only"):
        actor_for_secret(made.secret, via=Via.MCP, origin=origin)


def test_a_token_ends_at_the_moment_that_it_names(bob: User) -> None:
    with time_machine.travel("2026-05-01 12:00:00+00:00", tick=False) as clock:
        end = timezone.now() + timedelta(days=1)
        token = create_token(operator(), user=bob, name="agent", expires_at=end).token
        clock.move_to(end - timedelta(microseconds=1))
        assert token.is_valid()
        clock.move_to(end)
        assert token.state == "expired"


def test_a_person_resumes_a_token_and_the_token_never_itself(bob: User, charlie: User) -> None:
    token, _ = make_token(bob)
    itself = actor_for_token(token, via=Via.REST)
    suspend_token(itself, token)
    with pytest.raises(NotPermitted, match="Only a person"):
        resume_token(itself, token)
    with pytest.raises(NotPermitted, match="another user's token"):
        resume_token(person(charlie), token)
    assert resume_token(person(bob), token).is_valid()
