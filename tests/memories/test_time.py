"""What was true then, and what Loci knew then: every cell of the table in docs/how-to/ask-about-the-past.md.

The clock stands at NOW. What a row tells of was stored ten days before and true since twenty; five days before NOW
something happened to it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from access import audit
from access.audit import AuditEvent
from access.audit.operations import Operation
from access.errors import InvalidInput, NotFound
from access.models import Group
from access.tokens import operator
from access.visibility import Narrowing
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.lifecycle.verbs import dispute
from memories.models import Memory
from memories.queries.labels import label_of
from memories.recall import RecallRequest, recall
from memories.sessions.context_pack import get_context
from memories.types import Trust
from tests.memories.builders import NOW, day, row
from tests.people import agent, person
from tests.settings import REPOSITORY

pytestmark = pytest.mark.django_db

TEXT = "The lighthouse keeper is Jonas."
CORRECTED = "The lighthouse keeper is Ebba."
Moments = dict[str, Any]

TRUE_BEFORE: Moments = {"as_of": day(-7)}
TRUE_AFTER: Moments = {"as_of": day(-2)}
KNOWN_TOO_EARLY: Moments = {"known_at": day(-15)}
KNOWN_BEFORE: Moments = {"known_at": day(-8)}
KNOWN_AFTER: Moments = {"known_at": day(-2)}
BEFORE_KNOWN_AFTER: Moments = TRUE_BEFORE | KNOWN_AFTER
AFTER_KNOWN_BEFORE: Moments = TRUE_AFTER | KNOWN_BEFORE
# The columns of the table, in its order.
QUESTIONS: list[Moments] = [
    TRUE_BEFORE,
    TRUE_AFTER,
    KNOWN_TOO_EARLY,
    KNOWN_BEFORE,
    KNOWN_AFTER,
    BEFORE_KNOWN_AFTER,
    AFTER_KNOWN_BEFORE,
]
HAPPENED = {"state_changed_at": day(-5)}
WITHDRAWN = HAPPENED | {"retired_at": day(-5)}
ENDED = HAPPENED | {"valid_to": day(-5), "valid_to_known_at": day(-5)}

# What was done → the row, its label, and for each question whether it comes back.
CELLS: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "", "yes yes no yes yes yes yes"),
    "its time ended": (ENDED, "ended: was true until 2026-04-26", "yes no no yes no yes yes"),
    "its time to live ran out": (
        {"expires_at": day(-5)},
        "expired since 2026-04-26: its time to live ended",
        "yes no no yes no yes no",
    ),
    "expired": (
        HAPPENED | {"state": "expired", "expires_at": day(-5)},
        "expired since 2026-04-26: its time to live ended",
        "yes no no yes no yes no",
    ),
    "expired and retired": (
        WITHDRAWN | {"state": "expired", "expires_at": day(-5)},
        "expired since 2026-04-26: its time to live ended",
        "yes no no yes no yes no",
    ),
    "superseded": (
        ENDED | {"state": "superseded"},
        "superseded: was true until 2026-04-26",
        "yes no no yes no yes yes",
    ),
    "superseded, learned late": (
        ENDED | {"state": "superseded", "valid_to_known_at": day(-1)},
        "superseded: was true until 2026-04-26",
        "yes no no yes yes yes yes",
    ),
    "edited": (
        WITHDRAWN | {"state": "superseded"},
        "superseded: its text was corrected on 2026-04-26",
        "no no no yes no no yes",
    ),
    "retracted": (
        WITHDRAWN | {"state": "retracted"},
        "retracted since 2026-04-26: it was wrong",
        "no no no yes no no yes",
    ),
    "dormant": (
        HAPPENED | {"state": "dormant", "type": "episodic", "state_changed_at": day(-5)},
        "dormant since 2026-04-26: not used for long",
        "yes yes no yes yes yes yes",
    ),
    "forgotten": (WITHDRAWN | {"state": "forgotten"}, "forgotten since 2026-04-26", "no no no yes no no yes"),
    "merged": (
        WITHDRAWN | {"state": "merged"},
        "merged: combined into another memory",
        "no no no yes no no yes",
    ),
    "merged when it was stored": (
        HAPPENED | {"state": "merged", "retired_at": day(-10)},
        "merged: combined into another memory",
        "no no no no no no no",
    ),
}
# Rows whose bookkeeping differs, and which the same rule covers.
BY_HAND = {"expired and retired", "merged when it was stored"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the clock to a number of days from NOW."""

    def move(days: int) -> None:
        monkeypatch.setattr("django.utils.timezone.now", lambda: day(days))

    move(0)
    return move


def told(actor: Any, moments: Moments, *, mode: str | None = None) -> dict[str, str]:
    """What recall says of the lighthouse: text → label."""
    asked = RecallRequest(
        "who is the lighthouse keeper", group="ledger", narrowing=Narrowing(**moments), mode=mode
    )
    return {item.text: item.label for item in recall(actor, asked).items}


def listed(actor: Any, moments: Moments) -> dict[str, str]:
    rows = list_memories(actor, ListFilter(group="ledger", **moments)).rows
    return {memory.content: label_of(memory) for memory in rows}


def packed(actor: Any, moments: Moments) -> str:
    return get_context(actor, group="ledger", narrowing=Narrowing(**moments)).text


def past_row(group: Group, fields: dict[str, Any]) -> Memory:
    stored = {"created_at": day(-10), "updated_at": day(-10), "valid_from": day(-20)}
    memory = row(group, TEXT, **(stored | fields))
    if fields.get("retired_at") == day(-5) and fields.get("state") in ("forgotten", "merged"):
        # Of a hidden row the log alone tells that it counted before.
        operation = Operation.FORGET if fields["state"] == "forgotten" else Operation.MERGE
        payload = {"changes": {"state": ["live", fields["state"]]}}
        audit.append_many(
            operator(), [AuditEvent(operation, memory.id, group.id, payload=payload)], at=day(-5)
        )
    return memory


@pytest.mark.parametrize("done", CELLS)
def test_every_cell_holds_on_every_face(
    clock: Callable[[int], None], alice: User, ledger: Group, done: str
) -> None:
    fields, label, answers = CELLS[done]
    memory = past_row(ledger, fields)
    actor = person(alice)
    for moments, answer in zip(QUESTIONS, answers.split(), strict=True):
        expected = {TEXT: label} if answer == "yes" else {}
        assert told(actor, moments, mode="keyword") == expected, moments
        assert listed(actor, moments) == expected, moments
        by_id = recall(actor, RecallRequest(ids=(memory.id,), narrowing=Narrowing(**moments)))
        assert {item.text: item.label for item in by_id.items} == expected, moments
        assert by_id.missing == (() if expected else (str(memory.id),))
        pack = packed(actor, moments)
        assert (TEXT in pack) == bool(expected), moments
        assert f'trust="{label}"' in pack or not (expected and label)


def test_the_table_in_the_docs_is_the_table_tested() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "ask-about-the-past.md").read_text(encoding="utf-8")
    lines = page.split("| what happened |")[1].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
    assert {done: " ".join(answers) for done, *answers, _ in rows} == {
        done: answers for done, (_, _, answers) in CELLS.items() if done not in BY_HAND
    }
    for done, *_, label in rows:
        assert (CELLS[done][1] or "none").startswith(label.partition("…")[0].strip())


@pytest.mark.parametrize("done", CELLS)
def test_now_only_what_counts_comes_back(
    clock: Callable[[int], None], alice: User, ledger: Group, done: str
) -> None:
    """Positive control of the table: without a moment history stays away, and an inspection names it."""
    fields, label, _ = CELLS[done]
    memory = past_row(ledger, fields)
    # What sleeps is told where nothing live answers.
    expected = {"nothing": {TEXT: ""}, "dormant": {TEXT: label}}.get(done, {})
    assert told(person(alice), {}, mode="keyword") == expected
    assert (TEXT in packed(person(alice), {})) == (done == "nothing")
    assert inspect_memory(person(alice), memory.id).label == label


@pytest.mark.parametrize(("done", "answers"), [(done, answers) for done, (_, _, answers) in CELLS.items()])
def test_an_inspection_follows_the_same_table(
    clock: Callable[[int], None], alice: User, ledger: Group, done: str, answers: str
) -> None:
    fields, label, _ = CELLS[done]
    memory = past_row(ledger, fields)
    for moments, answer in zip(QUESTIONS, answers.split(), strict=True):
        if answer == "yes":
            seen = inspect_memory(person(alice), memory.id, narrowing=Narrowing(**moments))
            assert (seen.memory, seen.label) == (memory, label)
        else:
            with pytest.raises(NotFound, match="No version of this memory was"):
                inspect_memory(person(alice), memory.id, narrowing=Narrowing(**moments))


def test_asking_what_is_known_now_is_asking_without_a_moment_of_knowing(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    for done, (fields, _, _) in CELLS.items():
        row(ledger, f"{TEXT} {done}", **({"created_at": day(-10), "valid_from": day(-20)} | fields))
    actor = person(alice)
    for as_of in (-25, -20, -7, -5, -2, 0):
        alone = listed(actor, {"as_of": day(as_of)})
        assert listed(actor, {"as_of": day(as_of), "known_at": NOW}) == alone
        assert bool(alone) == (as_of >= -20)


def test_what_no_version_answers_says_when_it_was_true_and_known(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    memory = past_row(ledger, ENDED | {"state": "superseded"})
    with pytest.raises(NotFound) as error:
        inspect_memory(person(alice), memory.id, narrowing=Narrowing(as_of=day(-30), known_at=day(-8)))
    assert error.value.message == (
        "No version of this memory was true at 2026-04-01 12:00 UTC and known at 2026-04-23 12:00 UTC."
    )
    assert error.value.hint == (
        "The given version was true from 2026-04-11 12:00 UTC until 2026-04-26 12:00 UTC, "
        "and known from 2026-04-21 12:00 UTC on."
    )


def test_a_compacted_event_answers_for_itself_and_not_its_summary(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    summary = row(ledger, "Week 16: the lighthouse was painted.", created_at=day(-5), valid_from=day(-4))
    event = past_row(ledger, HAPPENED | {"type": "episodic", "summary": summary})
    actor = person(alice)
    seen = inspect_memory(actor, event.id, narrowing=Narrowing(**TRUE_BEFORE))
    assert (seen.memory, seen.head) == (event, event)
    assert [item.memory for item in recall(actor, RecallRequest(ids=(event.id,))).items] == [event]


def test_what_was_merged_before_it_is_known_leads_to_its_successor(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    other = row(ledger, "Week 16: the lighthouse was painted.", created_at=day(-5), valid_from=day(-4))
    merged = past_row(ledger, WITHDRAWN | {"state": "merged", "retired_at": day(-10), "superseded_by": other})
    seen = inspect_memory(person(alice), merged.id, narrowing=Narrowing(**TRUE_AFTER))
    assert seen.memory == other


def test_an_inspection_explains_a_question_about_the_past(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    memory = past_row(ledger, ENDED | {"state": "superseded"})
    now = inspect_memory(person(alice), memory.id, query="lighthouse keeper").why
    then = inspect_memory(
        person(alice), memory.id, query="lighthouse keeper", narrowing=Narrowing(**TRUE_BEFORE)
    ).why
    assert now is not None
    assert then is not None
    assert (now.rank, then.rank) == (None, 1)


# --- what may be asked ---


@pytest.mark.parametrize(
    "ask",
    [
        lambda actor, n, _: recall(actor, RecallRequest("lighthouse", group="ledger", narrowing=n)),
        lambda actor, n, memory: recall(actor, RecallRequest(ids=(memory.id,), narrowing=n)),
        lambda actor, n, memory: inspect_memory(actor, memory.id, narrowing=n),
        lambda actor, n, _: list_memories(actor, ListFilter(as_of=n.as_of, known_at=n.known_at)),
        lambda actor, n, _: get_context(actor, group="ledger", narrowing=n),
    ],
    ids=["recall", "ids", "inspect", "list", "context"],
)
def test_moments_that_cannot_be_asked_about(
    clock: Callable[[int], None], alice: User, ledger: Group, ask: Callable[..., Any]
) -> None:
    actor, memory = person(alice), past_row(ledger, {})
    with pytest.raises(InvalidInput, match="future knowledge cannot be queried") as error:
        ask(actor, Narrowing(known_at=day(1)), memory)
    assert error.value.field == "known_at"
    with pytest.raises(InvalidInput, match="as_of has no time zone") as error:
        ask(actor, Narrowing(as_of=day(0).replace(tzinfo=None)), memory)
    assert error.value.field == "as_of"
    ask(actor, Narrowing(as_of=day(1)), memory)  # an end may be known before it comes
    ask(actor, Narrowing(known_at=day(0)), memory)


def test_what_will_be_true_can_be_asked(clock: Callable[[int], None], alice: User, ledger: Group) -> None:
    past_row(ledger, {"valid_to": day(3), "valid_to_known_at": day(-10)})
    row(ledger, CORRECTED, valid_from=day(3))
    assert told(person(alice), {"as_of": day(2)}, mode="keyword") == {TEXT: ""}
    assert told(person(alice), {"as_of": day(3)}, mode="keyword") == {CORRECTED: "counts from 2026-05-04"}


def test_only_a_current_memory_is_labelled_as_disputed(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    memory = past_row(ledger, {})
    dispute(person(alice), memory.id)
    assert told(person(alice), TRUE_BEFORE, mode="keyword") == {TEXT: "disputed by alice"}
    Memory.objects.filter(pk=memory.pk).update(**ENDED, state="superseded")
    assert told(person(alice), TRUE_BEFORE, mode="keyword") == {TEXT: "superseded: was true until 2026-04-26"}


@pytest.mark.parametrize("trust", [Trust.CANDIDATE, Trust.REJECTED, Trust.QUARANTINED])
def test_trust_does_not_travel(clock: Callable[[int], None], alice: User, ledger: Group, trust: str) -> None:
    past_row(ledger, ENDED | {"state": "superseded", "trust": trust})
    assert told(person(alice), TRUE_BEFORE, mode="keyword") == {}
    assert listed(person(alice), TRUE_BEFORE) == {TEXT: f"superseded: was true until 2026-04-26, {trust}"}


def test_the_past_of_other_groups_stays_theirs(
    clock: Callable[[int], None], alice: User, bob: User, garden: Group, ledger: Group
) -> None:
    hidden = past_row(garden, ENDED | {"state": "superseded"})
    for moments in QUESTIONS:
        assert list_memories(agent(bob), ListFilter(**moments)).rows == ()
        with pytest.raises(NotFound, match="Memory not found"):
            inspect_memory(agent(bob), hidden.id, narrowing=Narrowing(**moments))
        answer = recall(agent(bob), RecallRequest(ids=(hidden.id,), narrowing=Narrowing(**moments)))
        assert answer.items == ()


def test_a_list_of_named_states_keeps_to_them(
    clock: Callable[[int], None], alice: User, ledger: Group
) -> None:
    old = past_row(ledger, ENDED | {"state": "superseded"})
    gone = row(ledger, "Forgotten since.", created_at=day(-10), state="forgotten", retired_at=day(-5))
    actor = person(alice)
    assert list_memories(actor, ListFilter(states=("live",), as_of=day(-7))).rows == ()
    assert list_memories(actor, ListFilter(states=("superseded",), as_of=day(-7))).rows == (old,)
    assert list_memories(actor, ListFilter(states=(), known_at=day(-8))).rows == (gone, old)
    assert list_memories(actor, ListFilter()).rows == ()
