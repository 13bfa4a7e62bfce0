"""Events of several topics with real vectors, and a step driven as a run drives it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from access.models import Group
from access.tokens import operator
from maintenance.cycle.recorder import Recorder, step_change
from maintenance.cycle.step import Step, Turn
from maintenance.models import Run
from memories.draft import Draft
from memories.models import Memory
from memories.store.bulk import store_many
from storage.changes import changing

NOW = datetime(2023, 7, 1, 12, 0, tzinfo=UTC)
MONDAY = datetime(2023, 5, 8, 9, 0, tzinfo=UTC)  # 54 days before NOW

TOMATOES = (
    "Anna planted tomatoes in the raised bed",
    "The tomato seedlings were watered twice",
    "We built a trellis for the tomato plants",
    "Aphids on the tomatoes were sprayed with soap water",
    "First ripe tomatoes were harvested from the raised bed",
)
DEPLOYS = (
    "Deployed release 2.4.1 of the billing service to production",
    "The deploy of billing 2.4.2 failed on the database migration",
    "Rolled back the billing service to 2.4.1",
    "Fixed the migration and deployed billing 2.4.3",
    "The billing deploy pipeline runs its migrations as a dry run first",
)
LISBON = (
    "Maria: I booked the flight to Lisbon for June",
    "Tom: the hotel in Lisbon is near the river",
    "Maria: our Lisbon trip starts with a tram tour",
    "Tom: I bought museum tickets for Lisbon",
    "Maria: packing for Lisbon is done",
)
UNRELATED = (
    "The office coffee machine is broken",
    "Parking permit renewed at the town hall",
    "Bob's cat had three kittens",
    "The quarterly tax report was filed",
    "Team lunch moved to noon",
    "A new keyboard was ordered for Eva",
)


def happen(
    texts: Iterable[str],
    *,
    start: datetime = MONDAY,
    step: timedelta = timedelta(hours=5),
    group: str = "ledger",
    **fields: Any,
) -> list[Memory]:
    """Store texts as events, `step` apart from `start`; return them in order."""
    drafts = [
        Draft(text, type="episodic", group=group, valid_from=start + at * step, **fields)
        for at, text in enumerate(texts)
    ]
    ids = [id_ for id_ in store_many(operator(), drafts).ids if id_ is not None]
    rows = {row.id: row for row in Memory.objects.select_related("group", "thread").filter(id__in=ids)}
    return [rows[id_] for id_ in ids]


def turn_of(group: Group, *, now: datetime = NOW, mark: Any = None, **limits: Any) -> Turn:
    """A group's turn in a run; `limits` overrides settings of the section maintenance."""
    return Turn(operator(), group, now, replace(settings.LOCI.maintenance, **limits), mark)


def drive(step: Step, turn: Turn) -> tuple[Counter[str], Any, Run]:
    """Run a step to its end, one transaction per batch, as the cycle does; return its counts, its mark and the run."""
    run = Run.objects.create(kind="cycle", actor=turn.actor.name, now=turn.now)
    turn = replace(turn, actor=replace(turn.actor, run=run.id))
    counts: Counter[str] = Counter()
    cursor, mark = None, turn.mark
    while (batch := step.next_batch(turn, cursor)) is not None:
        with changing(step_change(run.id, step.name)), transaction.atomic():
            recorder = Recorder(turn.actor, run, step.name)
            counts.update(dict(batch.write(recorder)))
            recorder.flush()
        cursor, mark = batch.cursor, mark if batch.mark is None else batch.mark
    Run.objects.filter(pk=run.pk).update(status="done")
    return counts, mark, run
