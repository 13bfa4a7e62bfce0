"""A conversation keeps all its turns, in order, however many cycles pass."""

from datetime import timedelta

import pytest

from access.models import Group
from access.tokens import operator
from maintenance.cycle import RunPlan, run_cycle
from memories.models import Memory, Thread
from memories.sessions.conversations import read_conversation
from memories.sessions.thread_page import read_thread
from tests.maintenance.events import MONDAY, happen

pytestmark = [pytest.mark.django_db, pytest.mark.model]
TURNS = 160
CYCLES = 20


def test_every_turn_is_shown_in_order_after_twenty_cycles(ledger: Group) -> None:
    texts = [
        f"{'Ann' if at % 2 else 'Ben'}: turn {at}, about shelf {at * 7 % 31} of the cellar"
        for at in range(TURNS)
    ]
    happen(texts, step=timedelta(hours=3), thread="cellar", confidence=0.05)
    Memory.objects.update(created_at=MONDAY)
    for week in range(CYCLES):
        run_cycle(operator(), RunPlan(now=MONDAY + timedelta(days=20, weeks=week), max_share=1))
    assert Memory.objects.exclude(summary=None).count() > TURNS / 2, "the cycles did their work"
    assert [memory.content for memory in _on_the_page()] == texts
    assert _in_the_tool() == texts


def _on_the_page() -> list[Memory]:
    thread, turns, after = Thread.objects.get(name="cellar"), list[Memory](), -1
    while True:
        found = read_conversation(operator(), thread.id, after=after)
        assert found.conversation.turns == TURNS
        turns += found.turns
        if found.next is None:
            return turns
        after = found.next


def _in_the_tool() -> list[str]:
    texts, cursor = list[str](), ""
    while True:
        page = read_thread(operator(), "cellar", group="ledger", cursor=cursor)
        texts += [shown.row.content for shown in page.turns]
        if not (cursor := page.next):
            return texts
