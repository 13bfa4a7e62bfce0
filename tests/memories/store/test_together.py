"""Stores that wait are written in one transaction, and each is as if it had been alone."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from access.actor import Actor
from access.audit import Work, collecting_rows
from access.audit.verify import is_log_whole
from access.errors import GroupNotFound, LociError
from access.models import AuditEntry, Group
from access.models.audit import RowChange
from access.tokens import actor_for_secret
from memories.draft import Draft
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import retract
from memories.models import Memory, Piece
from memories.search.base import search_index
from memories.store import StoreResult, prepare_store, store, store_prepared, together
from memories.store.prepare import PreparedDraft
from tests.memories.builders import kept
from tests.people import make_token, person

pytestmark = [
    pytest.mark.sqlite(reason="where one transaction writes at a time"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.model,
]
# Of matters far apart, so that none is compared with another.
TEXTS = (
    "The deploy port of the harbour service is 8443.",
    "Anna keeps bees behind the town hall.",
    "Invoices of suppliers are paid after thirty days.",
    "The night train to Vienna has a dining car.",
    "Our logo was drawn with a brush in 1984.",
    "Backups of the ledger are kept in Falkenstein.",
    "Choir practice is in the church on Mondays.",
    "The cat of the neighbours is called Momo.",
)
Answer = StoreResult | Exception


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many stores each transaction had."""
    sizes: list[int] = []
    work = together._TOGETHER._work

    def noted(stores: list[together._Store]) -> Sequence[together.Written | None]:
        sizes.append(len(stores))
        return work(stores)

    monkeypatch.setattr(together._TOGETHER, "_work", noted)
    return sizes


def at_once(calls: Sequence[Callable[[], StoreResult]]) -> list[Answer]:
    """Make each call in a thread while another transaction writes: the first waits for it, and the others for the first."""

    def run(call: Callable[[], StoreResult]) -> Answer:
        try:
            return call()
        except Exception as error:
            return error
        finally:
            connection.close()

    asked: list[Future[Answer]] = []
    with ThreadPoolExecutor(len(calls)) as pool:
        with transaction.atomic():
            for number, call in enumerate(calls):
                asked.append(pool.submit(run, call))
                _wait_until(lambda number=number: len(together._TOGETHER._waiting) == number)
        return [future.result() for future in asked]


def _wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 15
    while not (is_so() and together._TOGETHER._is_busy):
        assert time.monotonic() < end, "The stores did not meet."
        time.sleep(0.005)


def ready(actor: Actor, text: str, **fields: object) -> PreparedDraft:
    return prepare_store(actor, Draft(text, group="ledger", scope="group", **fields))  # type: ignore[arg-type]


def calls_of(actors: Sequence[Actor], drafts: Sequence[PreparedDraft]) -> list[Callable[[], StoreResult]]:
    return [
        lambda a=actor, d=draft: store_prepared(a, d) for actor, draft in zip(actors, drafts, strict=True)
    ]


def is_whole() -> bool:
    return is_log_whole() and search_index().find_errors() == []


def test_each_store_has_its_own_actor_change_rows_and_undo(
    alice: User, bob: User, ledger: Group, groups: list[int]
) -> None:
    secrets = [make_token((alice, bob)[number % 2], name=f"agent {number}")[1] for number in range(8)]
    actors = [actor_for_secret(secret) for secret in secrets]
    works: dict[str, Work] = {}

    def call(actor: Actor, text: str) -> StoreResult:
        with collecting_rows() as work:
            works[text] = work
            return store(actor, Draft(text, group="ledger", scope="group"))

    pairs = list(zip(actors, TEXTS, strict=True))
    answers = at_once([lambda a=actor, t=text: call(a, t) for actor, text in pairs])
    assert groups == [1, 7]
    assert [getattr(answer, "outcome", answer) for answer in answers] == ["created"] * 8
    assert len({work.change for work in works.values()}) == 8
    for actor, text in pairs:
        memory = Memory.objects.get(content=text)
        assert (memory.author_name, memory.token_id) == (actor.name, actor.token_key)
        row = AuditEntry.objects.get(operation="store", memory_id=memory.id)
        assert (row.actor, row.token, row.change) == (actor.name, actor.token_id, works[text].change)
        assert [each.key for each in works[text].rows] == [row.key]
        changed = RowChange.objects.filter(change=works[text].change)
        assert [(each.op, each.kept, each.row, each.vals) for each in changed] == [
            ("i", "memories_memory", memory.key, None)
        ]
    assert Piece.objects.count() == 8
    assert is_whole()
    undone = undo_id_of(actors[3], works[TEXTS[3]])
    assert undone
    undo_write(actors[3], undone)
    assert Counter(Memory.objects.values_list("state", flat=True))["live"] == 7
    assert Memory.objects.get(content=TEXTS[3]).state != "live"


def test_a_group_is_as_one_store_after_the_other(alice: User, ledger: Group, groups: list[int]) -> None:
    """The same text, one in other dress, one that contradicts, turns of a conversation, one source: all see those before."""
    actor = person(alice)
    same = "The safe of the ledger stands in room 12."
    drafts = [
        ready(actor, TEXTS[1]),
        ready(actor, same),
        ready(actor, same),
        ready(actor, f"{same[:-1]}!"),
        ready(actor, same.replace("12", "14")),
        ready(actor, TEXTS[2], type="episodic", thread="talk"),
        ready(actor, TEXTS[3], type="episodic", thread="talk"),
        ready(actor, TEXTS[4], source="notes", source_ref="1"),
        ready(actor, TEXTS[4], source="notes", source_ref="1"),
        ready(actor, TEXTS[5]),
    ]
    answers = at_once(calls_of([actor] * len(drafts), drafts))
    together_ = [(each.outcome, len(each.neighbours)) for each in answers if isinstance(each, StoreResult)]
    assert groups == [1, 9]
    assert is_whole()
    assert [*Memory.objects.exclude(thread=None).order_by("key").values_list("position", flat=True)] == [0, 1]
    Memory.objects.update(state="forgotten", trust="active", source_ref="")
    Group.objects.create(slug="other")
    one_by_one = [
        store(actor, replace(draft.draft, group="other", thread=f"{draft.draft.thread}")) for draft in drafts
    ]
    assert together_ == [(each.outcome, len(each.neighbours)) for each in one_by_one]


def test_one_that_is_refused_touches_no_other(
    alice: User, bob: User, ledger: Group, groups: list[int]
) -> None:
    actor, other = person(alice), person(bob)
    withdrawn = kept(actor, "The gate opens at seven.", group="ledger", scope="group")
    drafts = [ready(actor, text) for text in TEXTS[:4]]
    drafts.insert(2, ready(actor, withdrawn.content))
    retract(actor, withdrawn.id)
    Group.objects.create(slug="garden")
    drafts.insert(4, replace(drafts[4], draft=replace(drafts[4].draft, group="garden")))
    groups.clear()
    answers = at_once(calls_of([actor, actor, actor, actor, other, actor], drafts))
    assert groups == [1, 5]
    assert [getattr(answer, "outcome", type(answer)) for answer in answers] == [
        "created", "created", "refused", "created", GroupNotFound, "created",
    ]  # fmt: skip
    assert Memory.objects.filter(state="live").count() == 4
    assert AuditEntry.objects.filter(operation="refuse").count() == 1
    assert is_whole()


def test_one_that_fails_inside_fails_alone(alice: User, ledger: Group, groups: list[int]) -> None:
    actor = person(alice)
    drafts = [ready(actor, text) for text in TEXTS]
    broken = drafts[5].embedded
    drafts[5] = replace(drafts[5], embedded=replace(broken, vectors=broken.vectors[:, :7]))
    before = AuditEntry.objects.count()
    answers = at_once(calls_of([actor] * 8, drafts))
    assert groups[:2] == [1, 7]
    assert [isinstance(answer, Exception) for answer in answers] == [False] * 5 + [True] + [False] * 2
    assert not isinstance(answers[5], LociError)
    assert Memory.objects.count() == 7
    assert AuditEntry.objects.count() == before + 7
    assert is_whole()


def test_one_that_the_commit_refuses_fails_alone(alice: User, ledger: Group, groups: list[int]) -> None:
    """Foreign keys are checked at the end: a token that is gone."""
    actor = person(alice)
    gone = replace(actor_for_secret(make_token(alice)[1]), token_key=9_999_999)
    answers = at_once(calls_of([actor] * 2 + [gone] + [actor] * 5, [ready(actor, text) for text in TEXTS]))
    assert groups[:2] == [1, 7]
    assert isinstance(answers[2], IntegrityError)
    assert Memory.objects.count() == 7
    assert is_whole()


def test_a_store_that_comes_alone_or_inside_a_transaction_waits_for_none(
    alice: User, ledger: Group, groups: list[int]
) -> None:
    actor = person(alice)
    store(actor, Draft(TEXTS[0], group="ledger"))
    assert groups == [1]
    with transaction.atomic():
        store(actor, Draft(TEXTS[1], group="ledger"))
    assert groups == [1]
    assert Memory.objects.count() == 2
