"""Correction: what was wrong or has changed is labelled as such, and stays so."""

from datetime import UTC, datetime, timedelta

import pytest

from access.tokens import operator
from access.visibility import Narrowing
from maintenance.cycle import RunPlan, run_cycle
from maintenance.doctor import repair
from maintenance.embeddings.reembed import reembed
from maintenance.models import Run
from memories.browse.inspection import inspect_memory
from memories.draft import EditDraft
from memories.lifecycle import verbs
from memories.lifecycle.edit import edit
from memories.models import Memory
from memories.recall import RecallRequest, recall
from memories.search.base import search_index
from memories.sessions.context_pack import get_context
from tests.acceptance.conftest import Clock
from tests.acceptance.house import House
from tests.acceptance.reading import HANDED_OUT, Wanted, having, read_out, tellers
from tests.memories.builders import fresh, kept

pytestmark = [pytest.mark.django_db, pytest.mark.model]

QUESTION = "Who maintains the billing service?"
FIRST = "The billing service is maintained by Quokkazebu."
SECOND = "The billing service is maintained by Ximena."
BESIDE = "The billing service runs on port 8081."
NOON, DAY = datetime(2026, 5, 1, 12, 0, tzinfo=UTC), timedelta(days=1)


def wanted(memory: Memory) -> Wanted:
    return Wanted(QUESTION, "is maintained by", str(memory.id))


def worked_over(moment: datetime) -> None:
    """Run everything that rebuilds indexes or visits all rows: a cycle, a rebuild, a repair, a re-embed."""
    Run.objects.all().delete()
    run_cycle(operator(), RunPlan(now=moment, max_share=1))
    search_index().rebuild()
    repair(operator())
    reembed(operator())


@pytest.mark.parametrize(
    "way", ["superseded", "edited", "retracted with a successor", "disputed and replaced"]
)
def test_a_correction_survives_a_reindex(house: House, clock: Clock, way: str) -> None:
    """Recall returns the correction first and never the wrong text, before and after every index is rebuilt."""
    clock(NOON - 10 * DAY)
    old = kept(house.person, FIRST, group="ledger", confidence=1.0, importance=10)
    for _ in range(5):  # being asked for often does not make a text true
        recall(house.agent, RecallRequest(QUESTION, group="ledger"))
    assert tellers(HANDED_OUT, house, wanted(old), "Quokkazebu") == [*HANDED_OUT]
    clock(NOON - 5 * DAY)
    if way == "superseded":
        kept(house.agent, SECOND, supersedes=old.id, confidence=0.3)
    elif way == "edited":
        edit(house.person, old.id, EditDraft(content=SECOND))
    elif way == "retracted with a successor":
        verbs.retract(house.person, old.id, successor=SECOND)
    else:
        verbs.dispute(house.agent, old.id)
        kept(house.agent, SECOND, supersedes=old.id)
    for work in (lambda: clock(NOON), lambda: worked_over(NOON + 60 * DAY)):
        work()
        answers = read_out(HANDED_OUT, house, wanted(old))
        assert having("Quokkazebu", answers) == []
        assert having("Ximena", answers) == [*HANDED_OUT]
        best = recall(house.agent, RecallRequest(QUESTION, group="ledger")).items[0]
        assert (best.text, best.label) == (SECOND, "")
    assert [row.content for row in inspect_memory(house.person, old.id).versions] == [FIRST, SECOND]


def test_a_retraction_needs_no_replacement(house: House, clock: Clock) -> None:
    """A wrong text can be retracted without knowing what is right; then Loci answers that it knows nothing."""
    clock(NOON - 10 * DAY)
    wrong = kept(house.agent, FIRST, group="ledger")
    beside = kept(house.agent, BESIDE, group="ledger")
    assert recall(house.agent, RecallRequest(QUESTION, group="ledger")).items[0].memory == wrong
    clock(NOON - 5 * DAY)
    done = house.tool("forget_memory", id=str(wrong.id), verb="retract", reason="nobody knows")
    assert not done.is_error
    for work in (lambda: clock(NOON), lambda: worked_over(NOON)):
        work()
        assert tellers(HANDED_OUT, house, wanted(wrong), "Quokkazebu") == []
        assert beside.content in get_context(house.agent, group="ledger", query=QUESTION).text
    assert (fresh(wrong).state, fresh(wrong).superseded_by) == ("retracted", None)
    then = recall(
        house.person, RecallRequest(QUESTION, group="ledger", narrowing=Narrowing(known_at=NOON - 7 * DAY))
    )
    assert [(item.text, item.label) for item in then.items if item.memory == wrong] == [
        (FIRST, "retracted since 2026-04-26: it was wrong")
    ]
    refused = house.tool_text("store_memory", content=FIRST, group="ledger")
    assert "this text was retracted here before: nobody knows" in refused
