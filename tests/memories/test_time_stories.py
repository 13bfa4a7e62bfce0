"""The table of docs/how-to/ask-about-the-past.md again, with the real verbs and a moved clock."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from access.models import Group
from access.visibility import Narrowing
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.draft import EditDraft
from memories.lifecycle.edit import edit
from memories.lifecycle.verbs import forget, restore, retract
from memories.models import Memory
from memories.queries.as_of import known_span, true_span
from memories.queries.labels import label_of
from memories.recall import RecallRequest, recall
from tests.memories.builders import day, kept
from tests.memories.test_time import (
    CORRECTED,
    KNOWN_AFTER,
    KNOWN_BEFORE,
    QUESTIONS,
    TEXT,
    TRUE_AFTER,
    TRUE_BEFORE,
    clock,
    listed,
    told,
)
from tests.people import person

__all__ = ["clock"]
pytestmark = [pytest.mark.django_db, pytest.mark.model]


def _supersede(actor: Any, memory: Memory) -> None:
    kept(actor, CORRECTED, supersedes=memory.id)


def _edit(actor: Any, memory: Memory) -> None:
    edit(actor, memory.id, EditDraft(content=CORRECTED))


def _retract(actor: Any, memory: Memory) -> None:
    retract(actor, memory.id, reason="it was never so")


def _forget(actor: Any, memory: Memory) -> None:
    forget(actor, memory.id)


def _nothing(actor: Any, memory: Memory) -> None:
    pass


OLD_ENDED = {TEXT: "superseded: was true until 2026-04-26"}
HIDDEN_SINCE = {TEXT: "forgotten since 2026-04-26"}
OLD_WORDING = {TEXT: "superseded: its text was corrected on 2026-04-26"}
WRONG = {TEXT: "retracted since 2026-04-26: it was wrong"}
EXPIRED = {TEXT: "expired since 2026-04-26: its time to live ended"}
PLAIN, NEW = {TEXT: ""}, {CORRECTED: ""}
NONE: dict[str, str] = {}

# The act of five days ago, what was said when it was stored, then the answers now and to QUESTIONS in their order.
STORIES: dict[str, tuple[Callable[[Any, Memory], None], dict[str, Any], list[dict[str, str]]]] = {
    "nothing": (_nothing, {}, [PLAIN, PLAIN, PLAIN, NONE, PLAIN, PLAIN, PLAIN, PLAIN]),
    "superseded": (
        _supersede,
        {},
        [NEW, OLD_ENDED, NEW, NONE, OLD_ENDED, NEW, OLD_ENDED, OLD_ENDED],
    ),
    "edited": (_edit, {}, [NEW, NEW, NEW, NONE, OLD_WORDING, NEW, NEW, OLD_WORDING]),
    "retracted": (_retract, {}, [NONE, NONE, NONE, NONE, WRONG, NONE, NONE, WRONG]),
    "forgotten": (_forget, {}, [NONE, NONE, NONE, NONE, HIDDEN_SINCE, NONE, NONE, HIDDEN_SINCE]),
    "expired": (
        _nothing,
        {"expires_at": day(-5)},
        [NONE, EXPIRED, NONE, NONE, EXPIRED, NONE, EXPIRED, NONE],
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_the_verbs_leave_what_the_table_says(
    clock: Callable[[int], None], alice: User, ledger: Group, story: str
) -> None:
    act, fields, answers = STORIES[story]
    actor = person(alice)
    clock(-10)
    memory = kept(actor, TEXT, group="ledger", valid_from=day(-20), **fields)
    clock(-5)
    act(actor, memory)
    clock(0)
    for moments, expected in zip([{}, *QUESTIONS], answers, strict=True):
        assert told(actor, moments) == expected, moments
        if moments:
            assert listed(actor, moments) == expected, moments


def test_what_was_restored_was_believed_all_along(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    clock(-10)
    memory = kept(person(alice), TEXT, group="ledger", valid_from=day(-20))
    clock(-5)
    forget(person(alice), memory.id)
    clock(-3)
    restore(person(alice), memory.id)
    clock(0)
    assert told(person(alice), KNOWN_BEFORE) == told(person(alice), TRUE_AFTER) == PLAIN


def test_a_text_stored_anew_after_its_time_to_live_is_another_version(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    clock(-10)
    old = kept(person(alice), TEXT, group="ledger", valid_from=day(-20), expires_at=day(-5))
    clock(-4)
    new = kept(person(alice), TEXT, group="ledger", valid_from=day(-4))
    clock(0)
    rows = list_memories(person(alice), ListFilter(group="ledger", as_of=day(-7))).rows
    assert [(memory, label_of(memory)) for memory in rows] == [(old, EXPIRED[TEXT])]
    assert list_memories(person(alice), ListFilter(group="ledger", as_of=day(-2))).rows == (new,)


def test_any_versions_id_leads_to_the_version_of_then(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    actor = person(alice)
    clock(-10)
    first = kept(actor, TEXT, group="ledger", valid_from=day(-20))
    clock(-5)
    second = kept(actor, CORRECTED, supersedes=first.id)
    clock(-3)
    third = edit(actor, second.id, EditDraft(content="The lighthouse keeper is Ebba Lind.")).memory
    clock(0)
    expected = [
        (TRUE_BEFORE, first),
        ({"as_of": day(-5)}, third),  # the correction holds for all of its time
        (KNOWN_BEFORE, first),
        ({"known_at": day(-4)}, second),
        ({"as_of": day(-7), "known_at": day(-4)}, first),
        (KNOWN_AFTER, third),
    ]
    for moments, version in expected:
        for asked in (first, second, third):
            seen = inspect_memory(actor, asked.id, narrowing=Narrowing(**moments))
            assert (seen.memory, seen.head, seen.versions) == (version, third, (first, second, third))
            answer = recall(actor, RecallRequest(ids=(asked.id,), narrowing=Narrowing(**moments)))
            assert [item.memory for item in answer.items] == [version]
    spans = [
        (true_span(v).start, true_span(v).end, known_span(v).start, known_span(v).end) for v in seen.versions
    ]
    assert spans == [
        (day(-20), day(-5), day(-10), None),
        (day(-5), None, day(-5), day(-3)),
        (day(-5), None, day(-3), None),
    ]
