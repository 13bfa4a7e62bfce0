"""A withdrawn text does not return with the escapes of JSON."""

import json

import pytest
from django.contrib.auth.models import User

from access.errors import Conflict
from access.models import Group
from memories.lifecycle import verbs
from memories.sessions.checkpoints import save_checkpoint
from memories.types import Trust
from tests.memories.builders import keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]
GNOME = "The gnome statue weighs ninety stone exactly."


@pytest.fixture
def rejected(alice: User, bob: User, ledger: Group) -> None:
    verbs.reject(person(alice), kept(agent(bob), GNOME, group="ledger").id)


@pytest.mark.usefixtures("rejected")
@pytest.mark.parametrize(
    "text",
    [
        '{"note": "The gnome st\\u0061tue weighs ninety stone exactly."}',
        json.dumps(json.dumps({"note": GNOME.replace(" ", "\n")})),
        "Bob says: the gn\\x6fme statue weighs ninety stone exactly.",
        "Bob says: the gnome st\\\\u0061tue weighs ninety stone exactly.",
    ],
)
def test_escapes_do_not_bring_it_back(bob: User, text: str) -> None:
    again = keep(agent(bob), text, group="ledger")
    assert again.memory is not None
    assert again.memory.trust == Trust.CANDIDATE


@pytest.mark.usefixtures("rejected")
@pytest.mark.parametrize(
    "state", [{"a": GNOME.replace("a", "\\u0061")}, {"a": json.dumps({"b": "\ud800 " + GNOME})}]
)
def test_a_checkpoint_with_escapes_is_refused(bob: User, state: dict[str, str]) -> None:
    with pytest.raises(Conflict, match=r"state\.a"):
        save_checkpoint(agent(bob), group="ledger", thread="t", state=state)


@pytest.mark.usefixtures("rejected")
def test_escapes_of_another_text_do_no_harm(bob: User) -> None:
    other = keep(agent(bob), 'The path is C:\\new\\temp and {"note": "st\\u0061tue"}.', group="ledger")
    assert other.memory is not None
    assert other.memory.trust == Trust.ACTIVE
