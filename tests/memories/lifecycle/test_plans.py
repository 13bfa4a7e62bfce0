"""A plan's day and the end of what it replaces move together: at each day exactly one version counts."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from access.errors import InvalidInput
from access.models import Group
from access.visibility import Narrowing
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, merge, reject, restore, retract, supersede
from memories.models import Memory
from memories.queries.versions import head_of
from memories.queries.visibility import as_q, recallable_by
from memories.review.decide import ReviewDecision, decide
from tests.memories.builders import fresh, keep, kept
from tests.people import agent, person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TODAY, PLAN, OTHER, THIRD = (
    f"The office of the harbour is in {town}." for town in ("Kiel", "Bremen", "Oslo", "Riga")
)
DAYS = (-300, -50, -5, 0, 10, 30, 50, 70, 85, 95, 120, 150, 250, 400)


def at(days: int) -> datetime:
    """The moment so many days from today, in the middle between two days that the changes name."""
    return timezone.now().replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=days)


def date(actor: Any, memory: Memory, days: int) -> None:
    """Edit the day on which a memory begins."""
    edit(actor, memory.id, EditDraft(valid_from=at(days)))


def reword(actor: Any, memory: Memory, text: str = PLAN[:-1] + " again.") -> None:
    """Edit the text of a memory."""
    edit(actor, memory.id, EditDraft(content=text))


def follow(actor: Any, text: str, memory: Memory, days: int) -> Memory:
    """Store a plan that takes the place of a memory."""
    return kept(actor, text, group="ledger", supersedes=memory.id, valid_from=at(days))


def dated(actor: Any, text: str, days: int) -> Memory:
    """Store a fact that begins at a day of its own."""
    return kept(actor, text, group="ledger", valid_from=at(days))


def counting(actor: Any, group: Group, days: int | None = None) -> list[str]:
    """The texts that count on a day; without one, now."""
    narrowing = Narrowing(as_of=at(days)) if days is not None else None
    rows = Memory.objects.filter(as_q(recallable_by(actor, group, narrowing=narrowing)))
    return sorted(rows.values_list("content", flat=True))


def _merged(actor: Any, plan: Memory, days: int, text: str = OTHER, **fields: Any) -> Memory:
    other = dated(actor, text, days)
    merge(actor, plan.id, other.id, **fields)
    return head_of(fresh(other))


def _dated_twice_after(change: Callable[[Any, Memory], Any]) -> Callable[[Any, Memory], None]:
    def run(actor: Any, plan: Memory) -> None:
        change(actor, plan)
        date(actor, plan, 100)
        date(actor, plan, 200)

    return run


def _third(actor: Any, plan: Memory, *days: int) -> Memory:
    third = follow(actor, THIRD, plan, days[0])
    for each in days[1:]:
        date(actor, third, each)
    return third


def _edit_approved(actor: Any, plan: Memory, days: int, **fields: Any) -> None:
    Group.objects.filter(slug="ledger").update(policy="all")
    draft = EditDraft(valid_from=at(days), **fields)
    waiting = edit(agent(User.objects.get(pk=actor.user_id)), plan.id, draft)
    assert waiting.outcome == "queued"
    by_id = {"proposal": waiting.proposal} if waiting.proposal else {"id": waiting.memory.id}
    decide(actor, ReviewDecision("approve", **by_id))


# What is done to a plan that begins in 90 days.
CHANGES: dict[str, Callable[[Any, Memory], Any]] = {
    "day after a new text": lambda actor, plan: (reword(actor, plan), date(actor, plan, 200)),
    "two days": _dated_twice_after(lambda *_: None),
    "two days after a new type": _dated_twice_after(
        lambda actor, plan: edit(actor, plan.id, EditDraft(type="procedural"))
    ),
    "an earlier day after another": lambda actor, plan: (date(actor, plan, 100), date(actor, plan, 20)),
    "a past day": lambda actor, plan: (date(actor, plan, 100), date(actor, plan, -20)),
    "a past day before all": lambda actor, plan: (date(actor, plan, 100), date(actor, plan, -250)),
    "a past day and one ahead again": lambda actor, plan: (date(actor, plan, -20), date(actor, plan, 100)),
    "many texts": lambda actor, plan: (
        [reword(actor, plan, f"{PLAN} Room {n}.") for n in range(22)],
        date(actor, plan, 200),
    ),
    "another plan, earlier": lambda actor, plan: (date(actor, plan, 100), _third(actor, plan, 40)),
    "another plan, earlier, after two days": lambda actor, plan: (
        reword(actor, plan), date(actor, plan, 100), _third(actor, plan, 40),
    ),
    "another plan, later": lambda actor, plan: (reword(actor, plan), _third(actor, plan, 200)),
    "another plan's day": lambda actor, plan: _third(actor, plan, 40, 20, 60),
    "another plan's day behind the first": lambda actor, plan: _third(actor, plan, 40, 200),
    "another plan's day before the first": lambda actor, plan: _third(actor, plan, 200, 40),
    "another plan's day past and ahead": lambda actor, plan: _third(actor, plan, 200, -20, 140),
    "another plan is withdrawn": lambda actor, plan: (
        reword(actor, plan), forget(actor, _third(actor, plan, 40, 20).id),
    ),
    "another plan is withdrawn, then the first": lambda actor, plan: (
        forget(actor, _third(actor, plan, 40, 20).id), forget(actor, plan.id),
    ),
    "a fact of today takes its place": lambda actor, plan: (
        reword(actor, plan), supersede(actor, plan.id, dated(actor, OTHER, -20).id),
    ),
    "a restatement from an earlier day": lambda actor, plan: keep(
        actor, PLAN, group="ledger", valid_from=at(20)
    ),
    "a restatement from a past day": lambda actor, plan: keep(
        actor, PLAN, group="ledger", valid_from=at(-20)
    ),
    "a restatement after a new text": lambda actor, plan: (
        reword(actor, plan, OTHER), keep(actor, OTHER, group="ledger", valid_from=at(20)),
    ),
    "a merge of an earlier day": lambda actor, plan: merge(actor, dated(actor, OTHER, 20).id, plan.id),
    "a merge of a past day": lambda actor, plan: merge(actor, dated(actor, OTHER, -20).id, plan.id),
    "a merge of an earlier day with a new text": lambda actor, plan: merge(
        actor, dated(actor, OTHER, 20).id, plan.id, content=THIRD
    ),
    "merged into an earlier one": lambda actor, plan: _merged(actor, plan, 20),
    "merged into a later one": lambda actor, plan: _merged(actor, plan, 200),
    "merged into a past one": lambda actor, plan: _merged(actor, plan, -20),
    "merged, and the survivor withdrawn": lambda actor, plan: forget(actor, _merged(actor, plan, 20).id),
    "merged, and the survivor rejected": lambda actor, plan: reject(actor, _merged(actor, plan, 200).id),
    "merged, and the survivor dated": lambda actor, plan: date(actor, _merged(actor, plan, 20), 200),
    "merged with a new text, and dated": lambda actor, plan: date(
        actor, _merged(actor, plan, 20, content=THIRD), 200
    ),
    "merged, the survivor dated, and separated": lambda actor, plan: (
        date(actor, (other := _merged(actor, plan, 20)), 200),
        restore(actor, plan.id),
        forget(actor, other.id),
    ),
    "a right text from another day": lambda actor, plan: retract(
        actor, plan.id, successor=str(dated(actor, OTHER, 20).id)
    ),
    "a right text from a later day": lambda actor, plan: retract(
        actor, plan.id, successor=str(dated(actor, OTHER, 200).id)
    ),
    "a former day restored": lambda actor, plan: (date(actor, plan, 200), restore(actor, plan.id)),
    "a former day restored from the past": lambda actor, plan: (date(actor, plan, -20), restore(actor, plan.id)),
    "a day that waited": lambda actor, plan: _edit_approved(actor, plan, 200),
    "a day that waited with a text": lambda actor, plan: _edit_approved(actor, plan, 200, content=OTHER),
    "a past day that waited with a text": lambda actor, plan: _edit_approved(actor, plan, -20, content=OTHER),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_at_each_day_exactly_one_version_counts(alice: User, ledger: Group, name: str) -> None:
    today = dated(person(alice), TODAY, -200)
    plan = follow(person(alice), PLAN, today, 90)
    CHANGES[name](person(alice), plan)
    found = {days: counting(person(alice), ledger, days) for days in DAYS[1:]}
    assert {days: texts for days, texts in found.items() if len(texts) != 1} == {}
    assert len(counting(person(alice), ledger)) == 1


def test_an_end_of_its_own_stays(alice: User, ledger: Group) -> None:
    actor = person(alice)
    today = kept(actor, TODAY, group="ledger", valid_from=at(-200), valid_to=at(60))
    plan = follow(actor, PLAN, today, 90)
    for days, end in ((100, 60), (20, 20), (40, 40), (-20, -20), (200, 60), (30, 30)):
        date(actor, plan, days)
        assert fresh(today).valid_to == at(end), days
    forget(actor, plan.id)
    assert (fresh(today).state, fresh(today).valid_to) == ("live", at(60))


@pytest.mark.parametrize("kind", ["semantic", "procedural"])
def test_a_plan_that_would_never_count_is_refused(alice: User, ledger: Group, kind: str) -> None:
    today = dated(person(alice), TODAY, -200)
    fields: dict[str, Any] = {"type": kind, "group": "ledger", "supersedes": today.id}
    with pytest.raises(InvalidInput, match="never count"):
        keep(person(alice), PLAN, valid_from=at(90), valid_to=at(90), **fields)
    plan = keep(person(alice), PLAN, valid_from=at(90), valid_to=at(100), **fields).memory
    assert plan is not None
    with pytest.raises(InvalidInput, match="never count"):
        date(person(alice), plan, 100)
    assert (fresh(today).valid_to, fresh(plan).valid_from) == (at(90), at(90))
