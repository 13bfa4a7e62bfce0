"""What the registry says of each verb is what the verb does."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.actor import CURATE, WRITE
from access.errors import NotPermitted
from access.groups.members import set_member
from access.models import AuditEntry, Group
from access.tokens import operator
from memories.lifecycle.verbs import EVERYBODY, VERBS, Face, Verb, forget, offered_by
from memories.models import Memory
from tests.memories.builders import fresh, kept
from tests.memories.tables import all_rows
from tests.people import person
from tests.settings import REPOSITORY

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TEXT, OTHER = "The deploy port is 8081.", "Kim answers for the deployments."
CORRECTING = (REPOSITORY / "docs" / "how-to" / "correct.md").read_text(encoding="utf-8")
each_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
# A memory in one of these states for every button.
BEFORE: list[dict[str, Any]] = [{}, {"trust": "candidate"}, {"pinned": True}, {"state": "forgotten"}]


@pytest.fixture
def other(alice: User, ledger: Group) -> Memory:
    return kept(person(alice), OTHER, group="ledger")


def fitting(verb: Verb, alice: User) -> Memory:
    """A memory whose page shows the verb's button."""
    memory = kept(person(alice), TEXT, group="ledger")
    if verb.name == "restore-version":
        kept(person(alice), "The deploy port is 8082.", group="ledger", supersedes=memory.id)
        return fresh(memory)
    for fields in BEFORE:
        Memory.objects.filter(pk=memory.pk).update(**fields)
        if verb.button.fits(fresh(memory)):
            return fresh(memory)
    pytest.fail(f"no memory here fits the button of '{verb.name}'; add its state to BEFORE")


def second(verb: Verb, other: Memory) -> str:
    """What a verb takes besides its memory: another one, or a group."""
    return "garden" if verb.button.takes_group else str(other.id)


@each_verb
def test_a_verb_does_what_its_button_offers_and_logs_its_operation(
    verb: Verb, alice: User, other: Memory, garden: Group
) -> None:
    memory = fitting(verb, alice)
    rows = all_rows()
    would = verb.apply(person(alice), memory.id, other=second(verb, other), reason="so", dry_run=True)
    assert (would.dry_run, would.changed, all_rows()) == (True, 0, rows)
    done = verb.apply(person(alice), memory.id, other=second(verb, other), reason="so")
    assert done.changed >= 1
    assert done.consequences
    row = AuditEntry.objects.filter(operation=verb.operation).latest("seq")
    assert (row.actor, row.memory_id in (memory.id, done.id)) == ("alice", True)
    assert row.payload_row.payload.get("reason", "") == "so"


@each_verb
def test_a_verb_needs_the_right_that_the_registry_names(
    verb: Verb, alice: User, bob: User, ledger: Group, garden: Group, other: Memory
) -> None:
    set_member(operator(), garden, user=bob, role="curator")
    memory = fitting(verb, alice)
    too_little, enough = {WRITE: ("viewer", "contributor"), CURATE: ("contributor", "curator")}[
        verb.people_right or verb.right
    ]
    set_member(operator(), ledger, user=bob, role=too_little)
    with pytest.raises(NotPermitted):
        verb.apply(person(bob), memory.id, other=second(verb, other))
    set_member(operator(), ledger, user=bob, role=enough)
    assert verb.apply(person(bob), memory.id, other=second(verb, other)).changed >= 1


@each_verb
def test_a_verb_is_explained(verb: Verb) -> None:
    assert verb.help
    if verb.offered:
        is_named = re.search(rf"[*`]{verb.name}\b", CORRECTING)
        assert is_named, f"docs/how-to/correct.md does not explain *{verb.name}*"


def test_agents_read_of_every_verb_that_they_are_offered() -> None:
    help_text = "; ".join(verb.agents_help for verb in VERBS.values())
    for name, verb in offered_by(Face.AGENTS).items():
        assert name in help_text
        assert verb.offered == EVERYBODY, "a verb of agents is also for people"
    assert not [name for name, verb in VERBS.items() if verb.agents_help and Face.AGENTS not in verb.offered]


def test_no_two_buttons_share_a_place() -> None:
    places = [verb.button.order for verb in VERBS.values()]
    assert len(set(places)) == len(places)


def test_arguments_that_a_verb_does_not_take_are_ignored(alice: User, other: Memory) -> None:
    done = VERBS["forget"].apply(person(alice), other.id, other="nonsense", text="nonsense")
    assert (VERBS["forget"].run, done.state) == (forget, "forgotten")
