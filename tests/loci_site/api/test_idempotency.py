"""A write with an Idempotency-Key happens once, whatever is sent again; its answer obeys a purge and ends after a day."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from access import audit
from access.audit.operations import Operation
from access.audit.verify import is_log_whole
from access.errors import Conflict
from access.models import AuditEntry, Group, StoredAnswer
from access.sign_in.lockouts import tidy_access
from access.tokens import operator
from access.tokens.stored_answers import KeyedWrite
from loci_site.server import write_once
from memories.models import Checkpoint, Memory
from tests.loci_site.api.conftest import Caller
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.model]

TEXT = "The gate opens at seven."
KEY = "0190c2a4-77aa-7000-8000-0123456789ab"


def send(caller: Caller, method: str, path: str, body: Any, *, key: str = KEY) -> Any:
    """The response to a request with a key."""
    call = getattr(caller.client, method)
    return call(
        f"/api{path}",
        data=body,
        content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {caller.secret}",
        HTTP_IDEMPOTENCY_KEY=key,
    )


def store(caller: Caller, content: str = TEXT, *, key: str = KEY, **fields: Any) -> Any:
    body = {"content": content, "group": "ledger", "scope": "group"} | fields
    return send(caller, "post", "/memories", body, key=key)


def test_a_retry_gets_the_first_answer_and_writes_nothing(member: Caller) -> None:
    first = store(member)
    rows = AuditEntry.objects.count()
    again = store(member)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert ("Idempotent-Replay" in first, again["Idempotent-Replay"]) == (False, "true")
    assert (Memory.objects.count(), AuditEntry.objects.count()) == (1, rows)
    assert Memory.objects.get().confidence == pytest.approx(0.7)
    assert is_log_whole()


def test_the_order_of_the_bodys_fields_is_no_difference(member: Caller) -> None:
    first = store(member)
    body = {"scope": "group", "group": "ledger", "content": TEXT}
    assert send(member, "post", "/memories", body).json() == first.json()


@pytest.mark.parametrize("what", ["body", "path", "method"])
def test_a_key_for_another_request_is_refused(member: Caller, what: str) -> None:
    stored = store(member).json()
    answer = {
        "body": lambda: store(member, "The gate opens at nine."),
        "path": lambda: send(member, "post", "/checkpoints", {"group": "ledger", "state": "here"}),
        "method": lambda: send(member, "patch", f"/memories/{stored['id']}", {"importance": 9}),
    }[what]()
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
    assert (Memory.objects.count(), Checkpoint.objects.count()) == (1, 0)


def test_keys_are_each_tokens_own(member: Caller, bob: User, caller: Callable[..., Caller]) -> None:
    store(member)
    other = store(caller(bob))
    assert "Idempotent-Replay" not in other
    assert other.json()["outcome"] == "reinforced"


def test_each_write_takes_a_key(owner: Caller) -> None:
    first, second = owner.store(TEXT), owner.store("The cat sleeps on the roof.")
    path = f"/memories/{first['id']}"
    writes: list[tuple[str, str, Any]] = [
        ("post", f"{path}/forget", {}),
        ("post", f"{path}/restore", {}),
        ("patch", path, {"content": "The gate opens at nine."}),
        ("post", f"{path}/dispute", {"reason": "so"}),
        ("post", f"{path}/pin", {}),
        ("post", f"{path}/retract", {"successor": "The gate opens at ten."}),
        ("post", "/relations", {"subject": "gate", "predicate": "has", "object": "lamp", "group": "ledger"}),
        ("post", "/checkpoints", {"group": "ledger", "state": "here"}),
        ("post", "/groups", {"slug": "kitchen"}),
        ("patch", "/groups/kitchen", {"title": "What we cook"}),
        ("delete", f"/memories/{second['id']}", None),
    ]
    for number, (method, address, body) in enumerate(writes):
        answer = send(owner, method, address, body, key=f"key-{number}")
        assert answer.status_code in (200, 201, 202), (address, answer.content)
        rows = AuditEntry.objects.count()
        again = send(owner, method, address, body, key=f"key-{number}")
        assert (again.json(), again["Idempotent-Replay"]) == (answer.json(), "true"), address
        assert AuditEntry.objects.count() == rows, address


def test_a_purge_takes_a_key_and_deletes_the_answers_that_hold_its_text(owner: Caller) -> None:
    stored = store(owner, key="store").json()
    send(owner, "patch", f"/memories/{stored['id']}", {"importance": 9}, key="edit")
    kept = owner.store("The cat sleeps on the roof.")
    send(owner, "post", f"/memories/{kept['id']}/dispute", {}, key="other")
    purged = send(owner, "post", f"/memories/{stored['id']}/purge", {"reason": "private"}, key="purge")
    assert purged.json()["certificate"]["cleared"]["stored answers"] == 2
    assert (
        send(owner, "post", f"/memories/{stored['id']}/purge", {"reason": "private"}, key="purge").json()
        == purged.json()
    )
    assert StoredAnswer.objects.count() == 2
    assert not any(TEXT in str(row.answer) for row in StoredAnswer.objects.all())
    # The retry of the first store finds the tombstone.
    assert store(owner, key="store").status_code == 409


def test_a_refusal_that_was_logged_is_replayed(owner: Caller) -> None:
    stored = owner.store(TEXT)
    owner.post(f"/memories/{stored['id']}/retract", {"reason": "wrong"})
    first = store(owner)
    rows = AuditEntry.objects.count()
    again = store(owner)
    assert (first.status_code, again.status_code) == (409, 409)
    assert (again.json(), again["Idempotent-Replay"]) == (first.json(), "true")
    assert AuditEntry.objects.count() == rows


def test_a_conflict_whose_log_row_was_rolled_back_is_no_logged_refusal(alice: User, ledger: Group) -> None:
    """Another writer was first: the work is undone, its log row with it, and the retry may succeed."""

    def job() -> write_once.WrittenAnswer:
        with transaction.atomic():
            audit.append(person(alice), Operation.STORE, group=ledger.id, payload={})
            if not tried:
                tried.append(True)
                raise Conflict("It was changed just now.")
        return write_once.WrittenAnswer(201, {"outcome": "created"})

    tried: list[bool] = []
    write = KeyedWrite(KEY, {"content": TEXT}, "Idempotency-Key")
    with pytest.raises(Conflict):
        write_once.write_once(person(alice), write, job)
    assert not StoredAnswer.objects.exists()
    assert write_once.write_once(person(alice), write, job).status == 201


def test_an_error_is_not_kept(member: Caller) -> None:
    assert store(member, "").status_code == 422
    assert StoredAnswer.objects.count() == 0
    assert store(member).status_code == 201


@pytest.mark.parametrize("key", ["", " ", "x" * 201, "a b", "ü"])
def test_a_key_that_is_not_allowed_is_named(member: Caller, key: str) -> None:
    answer = store(member, key=key)
    assert (answer.status_code, answer.json()["field"]) == (422, "Idempotency-Key")
    assert Memory.objects.count() == 0


def test_a_key_is_forgotten_after_a_day(member: Caller) -> None:
    store(member)
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    again = store(member)
    assert "Idempotent-Replay" not in again
    assert again.json()["outcome"] == "reinforced"
    StoredAnswer.objects.update(created_at=timezone.now() - timedelta(hours=25))
    assert tidy_access(operator()) == "1 rows deleted"


def test_neither_key_nor_text_can_be_read_from_the_row(member: Caller) -> None:
    store(member)
    row = StoredAnswer.objects.get()
    assert KEY not in (row.digest, row.fingerprint)
    assert TEXT not in str(row.answer)


def test_without_a_key_nothing_is_kept_or_asked(member: Caller, django_assert_num_queries: Any) -> None:
    with connection.execute_wrapper(refuse_stored_answers):
        member.store(TEXT)


def refuse_stored_answers(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    assert "stored_answer" not in sql
    return execute(sql, params, many, context)


def test_a_write_under_way_is_named_with_the_time_to_wait(
    member: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = write_once.KeyedWrite(KEY, [], "Idempotency-Key")
    from access.tokens import actor_for_secret

    with write_once.in_flight(row, row.digest(actor_for_secret(member.secret))):
        answer = store(member)
    assert (answer.status_code, answer.json()["code"], answer["Retry-After"]) == (409, "in_flight", "1")
    assert store(member).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_a_text_is_embedded_before_the_transaction(
    member: Caller, ledger: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memories.embedding.encoder import Encoder

    inside: list[bool] = []
    encode = Encoder.encode

    def watched(self: Any, texts: Any, *args: Any, **kwargs: Any) -> Any:
        inside.append(connection.in_atomic_block)
        return encode(self, texts, *args, **kwargs)

    monkeypatch.setattr(Encoder, "encode", watched)
    assert store(member).status_code == 201
    stored = store(member, "The cat sleeps on the roof.", key="two").json()
    assert (
        send(
            member, "patch", f"/memories/{stored['id']}", {"content": "The cat sleeps."}, key="three"
        ).status_code
        == 200
    )
    assert len(inside) == 3
    assert not any(inside)


@pytest.mark.django_db(transaction=True)
def test_two_retries_at_once_write_once(member: Caller, ledger: Group) -> None:
    for number in range(5):
        answers: list[Any] = []

        def retry(number: int = number, answers: list[Any] = answers) -> None:
            try:
                answers.append(store(member, f"Gate {number} opens at seven.", key=f"key-{number}"))
            finally:
                connection.close()

        threads = [threading.Thread(target=retry) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {answer.status_code for answer in answers} <= {201, 409}
        created = [answer for answer in answers if answer.status_code == 201]
        assert len({answer.json()["id"] for answer in created}) == 1
        assert sum("Idempotent-Replay" not in answer for answer in created) == 1
    assert Memory.objects.count() == 5
    assert AuditEntry.objects.filter(operation="store").count() == 5
    assert not AuditEntry.objects.filter(operation="reinforce").exists()
