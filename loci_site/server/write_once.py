"""A write with a key happens once: a retry gets the stored answer.

The answer is stored in the transaction of the write, so a process that is killed in between has done both or neither.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import transaction

from access.actor import Actor
from access.audit import collecting_rows, current_work, one_change
from access.errors import Conflict, InFlight, LociError
from access.groups.guarding import safe_error
from access.models import AuditEntry
from access.tokens.stored_answers import KeyedWrite, find_answer, keep_answer
from memories.embedding.long_texts import run_apart
from storage.dialect import hold_until_commit


@dataclass(frozen=True)
class WrittenAnswer:
    """The answer to a write: HTTP's status, the body as JSON values; `is_replay` if it was stored before."""

    status: int
    body: Any
    is_replay: bool = False


class ReplayedError(Conflict):
    """The stored answer to a write that was refused."""

    def __init__(self, answer: WrittenAnswer) -> None:
        body = answer.body
        super().__init__(body["message"], hint=body.get("hint", ""), field=body.get("field", ""))
        self.code, self.status = body["code"], answer.status  # type: ignore[misc]  # those of the first refusal


_IN_FLIGHT: set[str] = set()
_LOCK = threading.Lock()


def write_once(
    actor: Actor,
    write: KeyedWrite | None,
    job: Callable[[], WrittenAnswer],
    *,
    in_one_transaction: bool = True,
) -> WrittenAnswer:
    """Run a job that writes, or return the stored answer of an earlier one with the same key.

    Without a key, the job just runs. `in_one_transaction` False: the job has transactions of its own, and its answer is
    stored after them; for a purge, and for maintenance runs.

    Raises:
        InvalidInput: the key is not allowed, or was sent with another request.
        InFlight: a write with this key is under way in this process.
    """
    if write is None:
        with collecting_rows():
            return job()
    write.check()
    with in_flight(write, write.digest(actor)):
        if not in_one_transaction:
            return _write(actor, write, job)
        return run_apart(partial(_write_whole, actor, write, job))


@contextmanager
def in_flight(write: KeyedWrite, digest: str) -> Iterator[None]:
    """Refuse a second write with the same key while the first is under way.

    Other processes wait for the lock of its transaction instead, and then find the stored answer.
    """
    with _LOCK:
        if digest in _IN_FLIGHT:
            raise InFlight(
                "A write with this key is under way.", hint="Try again in 1 s.", field=write.field, wait_s=1
            )
        _IN_FLIGHT.add(digest)
    try:
        yield
    finally:
        with _LOCK:
            _IN_FLIGHT.discard(digest)


@one_change
def _write_whole(actor: Actor, write: KeyedWrite, job: Callable[[], WrittenAnswer]) -> WrittenAnswer:
    """The job and its stored answer in one transaction. An error that the caller can act on does not undo what is logged."""
    refusal: LociError | None = None
    with transaction.atomic():
        hold_until_commit([f"answer {write.digest(actor)}"])
        try:
            return _write(actor, write, job)
        except LociError as error:
            refusal = error
    raise refusal


def _write(actor: Actor, write: KeyedWrite, job: Callable[[], WrittenAnswer]) -> WrittenAnswer:
    kept = find_answer(actor, write)
    if kept is not None:
        answer = WrittenAnswer(kept.status, kept.answer, is_replay=True)
        if answer.status >= 400:
            raise ReplayedError(answer)
        return answer
    with collecting_rows():
        try:
            answer = job()
        except LociError as error:
            # A transaction that was rolled back took its log rows along.
            logged = AuditEntry.objects.filter(key__in=[row.key for row in current_work().rows])
            if logged.exists():  # the retry gets this refusal too, and logs nothing
                keep_answer(actor, write, status=error.status, answer=safe_error(error))
            raise
    keep_answer(actor, write, status=answer.status, answer=answer.body)
    return answer
