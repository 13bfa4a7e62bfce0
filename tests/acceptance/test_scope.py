"""Scope: the store decides who sees what, the same for every interface."""

import pytest
from django.contrib.auth.models import User

from access.errors import GroupRequired, LociError, NotPermitted
from access.models import Group
from access.tokens import operator
from access.visibility import Narrowing
from maintenance.cycle import RunPlan, run_cycle
from memories.browse.listing import ListFilter, list_memories
from memories.entities.store_relation import RelationDraft, store_relation
from memories.models import Link, Memory
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import get_context
from memories.types import Scope
from tests.acceptance.house import House
from tests.acceptance.reading import HANDED_OUT, LOOKED_AT, Wanted, tellers
from tests.maintenance.events import NOW, TOMATOES, happen
from tests.memories.builders import fresh, keep, kept
from tests.people import agent

pytestmark = [pytest.mark.django_db, pytest.mark.model]

QUESTION = "Who keeps the north lighthouse?"
OURS = "The north lighthouse is kept by Jonas."
THEIRS = "The north lighthouse is kept by Quokkazebu."
MINE = "A new text of mine."
READERS = HANDED_OUT | LOOKED_AT


def wanted(memory: Memory, *, group: str) -> Wanted:
    return Wanted(QUESTION, "north lighthouse", str(memory.id), group)


def test_another_groups_text_never_comes_back(house: House, bob: User, garden: Group) -> None:
    """No interface returns a group's memories to outsiders, not even by id."""
    theirs = kept(house.person, THEIRS, group="garden", scope=Scope.GROUP)
    ours = kept(house.person, OURS, group="ledger", scope=Scope.GROUP)
    stranger = House.of(bob, scopes=("read", "write", "curate"))
    assert tellers(READERS, house, wanted(theirs, group="garden"), "Quokkazebu") == [*READERS]
    assert tellers(READERS, stranger, wanted(ours, group="ledger"), "Jonas") == [*READERS]
    for group in ("ledger", "garden"):
        assert tellers(READERS, stranger, wanted(theirs, group=group), "Quokkazebu") == []
    answer = keep(stranger.agent, THEIRS, group="ledger")  # nor does it appear as what is near
    assert (
        answer.outcome,
        {near.group_id for near in (n.memory for n in answer.neighbours)} & {garden.key},
    ) == (
        "created",
        set(),
    )


@pytest.mark.parametrize("holder", ["a member's token", "an owner's token bound to one group"])
def test_a_caller_cannot_widen_its_scope(
    house: House, bob: User, ledger: Group, garden: Group, holder: str
) -> None:
    """Naming another group, leaving the group out, or reaching across by id gives nothing beyond one's rights."""
    theirs = kept(house.person, THEIRS, group="garden", scope=Scope.GROUP)
    kept(house.person, OURS, group="ledger", scope=Scope.GROUP)
    bound = House.of(bob) if holder == "a member's token" else House.of(house.user, groups=[ledger])
    narrow = bound.agent
    # Reading answers as for a group that does not exist.
    for slug in ("garden", "meadow"):
        nothing = recall(narrow, RecallRequest(QUESTION, group=slug))
        assert (nothing.items, nothing.nearest, nothing.abstained) == ((), (), True)
        assert nothing.note.startswith(f"Nothing is stored yet in '{slug}'.")
        assert get_context(narrow, group=slug).text == nothing.note
    reaches = {
        "list": lambda actor, group: list_memories(actor, ListFilter(group=group)),
        "store": lambda actor, group: keep(actor, MINE, group=group, scope=Scope.GROUP),
        "cycle": lambda actor, group: run_cycle(actor, RunPlan(group=Group.objects.get(slug=group))),
    }
    for name, reach in reaches.items():
        with pytest.raises(LociError):
            reach(narrow, "garden")
        assert reach(house.agent, "garden"), f"who may do it is refused {name}"
    for across in (
        lambda: keep(narrow, "It is kept by me.", supersedes=theirs.id),
        lambda: store_relation(
            narrow, RelationDraft("A", "is", "B", group="ledger", evidence=(str(theirs.id),))
        ),
        lambda: list_memories(narrow, ListFilter(group="garden", words="lighthouse")),
    ):
        with pytest.raises(LociError):
            across()
    everything = Narrowing(scope="global", min_confidence=0.0, as_of=NOW, known_at=NOW)
    found = recall(narrow, RecallRequest(ids=(theirs.id,), narrowing=everything))
    assert (found.items, found.missing) == ((), (str(theirs.id),))
    assert {row.group for row in list_memories(narrow, ListFilter()).rows} == {ledger}
    assert fresh(theirs).state == "live"


def test_a_group_left_out_is_a_default_or_an_error_and_never_all(house: House, ledger: Group) -> None:
    """A write without a group asks for one, unless the token has its own."""
    kept(house.person, THEIRS, group="garden", scope=Scope.GROUP)
    kept(house.person, OURS, group="ledger", scope=Scope.GROUP)
    with pytest.raises(GroupRequired, match="garden"):
        recall(house.agent, RecallRequest(QUESTION))
    settled = agent(house.user, name="settled", default_group=ledger)
    assert [item.text for item in recall(settled, RecallRequest(QUESTION)).items] == [OURS]


def test_background_jobs_respect_groups(house: House, ledger: Group, garden: Group, bob: User) -> None:
    """Maintenance never puts two groups' events into one summary, fact or link, and stays in the group it is given."""
    alike = ["The pump of the raised bed needs a new seal"] * 3
    few = happen(TOMATOES[:2], group="ledger") + happen(TOMATOES[2:], group="garden")
    same = happen(alike[:2], group="ledger") + happen(alike[2:], group="garden")
    run_cycle(operator(), RunPlan(now=NOW, max_share=1))
    derived = Memory.objects.filter(source__startswith="loci:")
    assert not derived.exists()
    assert {fresh(event).state for event in [*few, *same]} == {"live"}
    happen(TOMATOES[2:], group="ledger")  # now the week is whole in one group
    whole = run_cycle(operator(), RunPlan(now=NOW, max_share=1))
    assert whole.counts["summaries"] == 1
    (summary,) = derived
    ends = Link.objects.filter(source=summary).values_list("target__group", flat=True)
    assert (summary.group, summary.scope, set(ends)) == (ledger, "group", {ledger.key})
    happen(TOMATOES[:2], group="garden")
    only_ledger = run_cycle(operator(), RunPlan(group=ledger, now=NOW, max_share=1))
    assert only_ledger.counts.get("summaries", 0) == 0
    assert not derived.filter(group=garden).exists()
    with pytest.raises(NotPermitted):
        run_cycle(agent(bob, scopes=("read", "write", "curate")), RunPlan(group=garden, now=NOW))
    run_cycle(operator(), RunPlan(group=garden, now=NOW, max_share=1))
    assert derived.filter(group=garden).count() == 1
