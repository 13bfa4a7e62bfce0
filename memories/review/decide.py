"""A decision of the review deck: one verb or the few that belong together, and the link that it settles.

Each names the rows of the log that it wrote; `memories.review.undo` undoes it from them.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError
from access.models import AuditEntry
from memories.draft import check_choice
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditDraft, edit
from memories.lifecycle.target import ChangeResult, must_be_person
from memories.models import LinkStatus
from memories.queries.versions import find_memory, head_of, parse_id
from memories.review.links import close_link, visible_links
from memories.types import Trust

VERBS: Final = ("approve", "reject", "edit", "edit-approve", "merge", "supersede", "dismiss")
AT_ONCE: Final = ("approve", "reject", "dismiss")  # what can be decided of many
MAX_AT_ONCE: Final = 500


@dataclass(frozen=True)
class ReviewDecision:
    """What a person decides: a verb for a memory, and what it takes.

    `other` is the memory that is replaced or merged into; for `edit` and `merge`, `content` is the text that is to
    stand. `link` is the open link that the decision settles; `dismiss` takes it alone.
    """

    verb: str
    id: str | UUID = ""
    other: str | UUID = ""
    link: str | UUID = ""
    content: str = ""
    reason: str = ""


@dataclass(frozen=True)
class DecisionResult:
    """What came of it: in words, the memory that counts now, and the numbers of the log's rows that undo it."""

    said: tuple[str, ...]
    id: UUID
    entries: tuple[int, ...] = ()


@dataclass(frozen=True)
class DecisionResults:
    """What came of many: those that were decided, and the others, each with why not."""

    done: tuple[DecisionResult, ...]
    failed: tuple[tuple[UUID, str], ...]


def decide(actor: Actor, decision: ReviewDecision, *, dry_run: bool = False) -> DecisionResult:
    """Carry a decision out; with `dry_run` only say what would follow.

    One transaction, except that a new text has one of its own: it is embedded before.

    Raises:
        InvalidInput: the verb is none of a review, or lacks what it takes.
        NotFound, NotPermitted: something of it is not the actor's to see or to decide.
        Conflict: it was decided meanwhile, or does not fit.
    """
    must_be_person(actor, "review")
    check_choice(decision.verb, list(VERBS), field="verb")
    embeds = decision.content and decision.verb in ("edit", "edit-approve", "merge")
    with nullcontext() if embeds and not dry_run else transaction.atomic():
        done = _STEPS[decision.verb](actor, decision)
        if decision.link and decision.verb != "dismiss":
            done += _settle(actor, decision)
        if dry_run:
            transaction.set_rollback(True)
    said = tuple(dict.fromkeys(line for step in done for line in step.said))
    entries = tuple(number for step in done for number in step.entries)
    return DecisionResult(said, done[0].id, () if dry_run else entries)


def decide_many(
    actor: Actor, decisions: Sequence[ReviewDecision], *, dry_run: bool = False
) -> DecisionResults:
    """Decide each in a transaction of its own: what cannot be decided does not hold up the others.

    With `dry_run` nothing is kept, and each is tried as if the others were not.

    Raises:
        InvalidInput: there are too many, or the verb is none that is decided of many.
    """
    _check_many(decisions)
    done, failed = list[DecisionResult](), list[tuple[UUID, str]]()
    for decision in decisions:
        try:
            done.append(decide(actor, decision, dry_run=dry_run))
        except LociError as refusal:
            failed.append((parse_id(decision.id or decision.link), str(refusal)))
    return DecisionResults(tuple(done), tuple(failed))


def _check_many(decisions: Sequence[ReviewDecision]) -> None:
    if len(decisions) > MAX_AT_ONCE:
        raise InvalidInput(
            f"{len(decisions)} are too many; at most {MAX_AT_ONCE} are decided at once.", field="ids"
        )
    for decision in decisions:
        check_choice(decision.verb, list(AT_ONCE), field="verb")


def _approve(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    return [_done(verbs.approve(actor, _one(decision), reason=decision.reason))]


def _reject(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    return [_done(verbs.reject(actor, _one(decision), reason=decision.reason))]


def _edit(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    if not decision.content.strip():
        raise InvalidInput("A new text is needed.", hint="Say what it shall read.", field="content")
    edited = edit(actor, decision.id, EditDraft(content=decision.content), reason=decision.reason)
    said = "a new version says so" if not edited.why else f"it waits: {edited.why}"
    return [DecisionResult((said,), edited.memory.id, _entry(edited.memory.id, Operation.EDIT))]


def _edit_and_approve(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Two transactions, since the text is embedded before its own; the edit stays where approving is refused."""
    edited = _edit(actor, decision)
    return [*edited, *_approve(actor, ReviewDecision("approve", edited[0].id, reason=decision.reason))]


def _merge(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    done = verbs.merge(actor, decision.id, _other(decision), content=decision.content, reason=decision.reason)
    return [_done(done)]


def _supersede(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Let the memory take the other's place; one that waits is approved first."""
    by = head_of(find_memory(actor, decision.id))
    first = _approve(actor, decision) if by.trust == Trust.CANDIDATE else []
    old = find_memory(actor, _other(decision), field="other")
    if first and old.superseded_by_id is not None and head_of(old).key == by.key:
        return first  # approving it has replaced the other already
    done = verbs.supersede(actor, old.id, by.id, reason=decision.reason)
    return [*first, _done(done)]


def _dismiss(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    if not decision.link:
        raise InvalidInput(
            "Only a possible duplicate or a conflict is dismissed.",
            hint="Approve or reject this one.",
            field="link",
        )
    link = close_link(
        actor, parse_id(decision.link, field="link"), status=LinkStatus.DISMISSED, reason=decision.reason
    )
    said = ("there was nothing to do; both memories stay as they are",)
    return [DecisionResult(said, link.source.id, _entry(link.source.id, Operation.LINK))]


def _settle(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Close the link that was decided about, unless the verb has closed it."""
    id_ = parse_id(decision.link, field="link")
    link = visible_links(actor).filter(id=id_).first()
    if link is None or link.status != LinkStatus.OPEN:
        return []
    close_link(actor, id_, status=LinkStatus.SETTLED, reason=decision.reason)
    return [DecisionResult(("the link is settled",), link.source.id, _entry(link.source.id, Operation.LINK))]


def _one(decision: ReviewDecision) -> str | UUID:
    if not decision.id:
        raise InvalidInput(
            f"This is about two memories, and '{decision.verb}' takes one.",
            hint="Open it and say which of the two, or dismiss it.",
            field="id",
        )
    return decision.id


def _other(decision: ReviewDecision) -> str | UUID:
    if not decision.other:
        raise InvalidInput(
            f"'{decision.verb}' takes two memories.", hint="Choose the other one.", field="other"
        )
    return decision.other


def _done(done: ChangeResult) -> DecisionResult:
    return DecisionResult(done.consequences, done.id, _entry(done.id, Operation(done.verb)))


def _entry(memory_id: UUID, operation: Operation) -> tuple[int, ...]:
    """Give the number of the row that was just written about the memory."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, memory_id=memory_id, operation=operation)
    return tuple(rows.order_by("-key").values_list("seq", flat=True)[:1])


_STEPS: Final[dict[str, Callable[[Actor, ReviewDecision], list[DecisionResult]]]] = {
    "approve": _approve,
    "reject": _reject,
    "edit": _edit,
    "edit-approve": _edit_and_approve,
    "merge": _merge,
    "supersede": _supersede,
    "dismiss": _dismiss,
}
