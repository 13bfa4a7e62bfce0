"""Tokens: the last use, and the reach of new ones."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone
from pytest_django import Settings

from access.errors import InvalidInput, NotPermitted
from access.groups import create_group
from access.models import ApiToken, Group
from access.tokens import PENDING_TOKEN_USES, actor_for_secret, create_token
from memories.recall.recall_log import COUNTER
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


def test_a_group_that_was_not_made_gives_no_role(charlie: User, monkeypatch: pytest.MonkeyPatch) -> None:
    actor = agent(charlie, scopes=["read", "write", "create-group"])

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("access.groups.audit.append", broken)
    with pytest.raises(RuntimeError), transaction.atomic():
        create_group(actor, "orchard")
    assert actor.roles == {}
    assert not Group.objects.filter(slug="orchard").exists()
