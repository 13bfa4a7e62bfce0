"""What is late ends with a sentence; a pack has what it found in time."""

import pytest
from django.contrib.auth.models import User

from access.errors import OutOfTime
from access.limits.deadline import CURRENT, Deadline
from access.models import Group
from access.tokens import actor_for_user
from memories.browse.suggest import suggest
from memories.sessions import context_pack
from memories.sessions.context_pack import get_context
from tests.memories.builders import row

pytestmark = pytest.mark.django_db


def test_a_pack_whose_search_takes_too_long_says_so_and_has_the_rest(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    row(ledger, "The deploy port is 8081.", pinned=True)
    monkeypatch.setattr(context_pack, "RELEVANT_S", 0)
    pack = get_context(actor_for_user(alice, via="rest"), group="ledger", query="deploy port")
    assert "The deploy port is 8081." in pack.text
    assert context_pack.TOO_LATE in pack.text


def test_a_suggestion_without_time_ends_with_a_sentence(
    alice: User, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Deadline()
    gone.abandon()
    actor = actor_for_user(alice, via="rest")
    with CURRENT.holding(gone), pytest.raises(OutOfTime, match="was ended"):
        suggest(actor, "deploy", group="ledger")
