"""Carry out a review decision: one verb, or a few that belong together, and the link that it settles.

Each decision returns the numbers of the audit rows that it wrote; `memories.review.undo` undoes it from them.
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
from memories.lifecycle.target import ChangeResult, require_person
from memories.models import LinkStatus
from memories.queries.versions import find_memory, head_of, parse_id
from memories.review.links import close_link, visible_links
from memories.types import Trust

VERBS: Final = ("approve", "reject", "edit", "edit-approve", "merge", "supersede", "dismiss")
AT_ONCE: Final = ("approve", "reject", "dismiss")  # verbs for many memories at once
MAX_AT_ONCE: Final = 500


@dataclass(frozen=True)
class ReviewDecision:
    """A person's decision: a verb for a memory, and its arguments.

    `other` is the memory that is replaced or merged into; `content` is the new text of `edit` and `merge`. `link` is
    the open link that the decision settles; `dismiss` takes nothing else.
    """

    verb: str
    id: str | UUID = ""
    other: str | UUID = ""
    link: str | UUID = ""
    content: str = ""
    reason: str = ""


@dataclass(frozen=True)
class DecisionResult:
    """The consequences in words, the id of the current memory, and the numbers of the audit rows that undo it."""

    consequences: tuple[str, ...]
    id: UUID
    entries: tuple[int, ...] = ()


@dataclass(frozen=True)
class DecisionResults:
    """The results of many decisions: those that were carried out, and the ids of the others with the reason."""

    done: tuple[DecisionResult, ...]
    failed: tuple[tuple[UUID, str], ...]


def decide(actor: Actor, decision: ReviewDecision, *, dry_run: bool = False) -> DecisionResult:
    """Carry a decision out; with `dry_run` only return the consequences.

    One transaction, unless there is a new text: that has its own, since it is embedded before it.

    Raises:
        InvalidInput: the verb does not exist, or one of its arguments is missing.
        NotFound, NotPermitted: the actor may not see one of the memories, or may not decide about it.
        Conflict: somebody else decided meanwhile, or the verb does not fit.
    """
    require_person(actor, "review")
    check_choice(decision.verb, list(VERBS), field="verb")
    embeds = decision.content and decision.verb in ("edit", "edit-approve", "merge")
    with nullcontext() if embeds and not dry_run else transaction.atomic():
        steps = STEPS[decision.verb](actor, decision)
        if decision.link and decision.verb != "dismiss":
            steps += settle_link(actor, decision)
        if dry_run:
            transaction.set_rollback(True)
    consequences = tuple(dict.fromkeys(line for step in steps for line in step.consequences))
    entries = tuple(number for step in steps for number in step.entries)
    return DecisionResult(consequences, steps[0].id, () if dry_run else entries)


def decide_many(
    actor: Actor, decisions: Sequence[ReviewDecision], *, dry_run: bool = False
) -> DecisionResults:
    """Carry out each decision in its own transaction, so that one that fails does not stop the others.

    With `dry_run` nothing is kept, and each is tried on its own.

    Raises:
        InvalidInput: there are too many, or a verb cannot be used for many at once.
    """
    if len(decisions) > MAX_AT_ONCE:
        raise InvalidInput(
            f"{len(decisions)} decisions are too many; at most {MAX_AT_ONCE} are allowed at once.",
            field="ids",
        )
    for decision in decisions:
        check_choice(decision.verb, list(AT_ONCE), field="verb")
    done, failed = list[DecisionResult](), list[tuple[UUID, str]]()
    for decision in decisions:
        try:
            done.append(decide(actor, decision, dry_run=dry_run))
        except LociError as refusal:
            failed.append((parse_id(decision.id or decision.link), str(refusal)))
    return DecisionResults(tuple(done), tuple(failed))


def approve_one(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Approve the memory."""
    return [_result(verbs.approve(actor, _single_id(decision), reason=decision.reason))]


def reject_one(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Reject the memory."""
    return [_result(verbs.reject(actor, _single_id(decision), reason=decision.reason))]


def edit_text(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Write the memory's new text."""
    if not decision.content.strip():
        raise InvalidInput("The new text is empty.", hint="Type the new text.", field="content")
    edited = edit(actor, decision.id, EditDraft(content=decision.content), reason=decision.reason)
    consequence = "a new version has this text" if not edited.why else f"it waits: {edited.why}"
    entry = _last_entry(edited.memory.id, Operation.EDIT)
    return [DecisionResult((consequence,), edited.memory.id, entry)]


def edit_and_approve(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Edit, then approve. Two transactions, since the text is embedded first; a refused approval keeps the edit."""
    edited = edit_text(actor, decision)
    return [*edited, *approve_one(actor, ReviewDecision("approve", edited[0].id, reason=decision.reason))]


def merge_pair(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Merge the memory into the other one."""
    other = _other_id(decision)
    done = verbs.merge(actor, decision.id, other, content=decision.content, reason=decision.reason)
    return [_result(done)]


def replace_other(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Replace the other memory by this one; a candidate is approved first."""
    by = head_of(find_memory(actor, decision.id))
    approved = approve_one(actor, decision) if by.trust == Trust.CANDIDATE else []
    old = find_memory(actor, _other_id(decision), field="other")
    if approved and old.superseded_by_id is not None and head_of(old).key == by.key:
        return approved  # the approval has replaced the other already
    return [*approved, _result(verbs.supersede(actor, old.id, by.id, reason=decision.reason))]


def dismiss_link(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Close the link without changing either memory."""
    if not decision.link:
        raise InvalidInput(
            "Only a possible duplicate or a conflict can be dismissed.",
            hint="Approve or reject this one.",
            field="link",
        )
    link = close_link(
        actor, parse_id(decision.link, field="link"), status=LinkStatus.DISMISSED, reason=decision.reason
    )
    entry = _last_entry(link.source.id, Operation.LINK)
    return [DecisionResult(("both memories stay as they are",), link.source.id, entry)]


def settle_link(actor: Actor, decision: ReviewDecision) -> list[DecisionResult]:
    """Settle the decision's link, unless the verb has closed it."""
    id_ = parse_id(decision.link, field="link")
    link = visible_links(actor).filter(id=id_).first()
    if link is None or link.status != LinkStatus.OPEN:
        return []
    close_link(actor, id_, status=LinkStatus.SETTLED, reason=decision.reason)
    entry = _last_entry(link.source.id, Operation.LINK)
    return [DecisionResult(("the link is settled",), link.source.id, entry)]


def _single_id(decision: ReviewDecision) -> str | UUID:
    if not decision.id:
        raise InvalidInput(
            f"This card is about two memories, and '{decision.verb}' takes one.",
            hint="Open the card and choose one of the two, or dismiss it.",
            field="id",
        )
    return decision.id


def _other_id(decision: ReviewDecision) -> str | UUID:
    if not decision.other:
        raise InvalidInput(
            f"'{decision.verb}' takes two memories.", hint="Choose the other one.", field="other"
        )
    return decision.other


def _result(done: ChangeResult) -> DecisionResult:
    return DecisionResult(done.consequences, done.id, _last_entry(done.id, Operation(done.verb)))


def _last_entry(memory_id: UUID, operation: Operation) -> tuple[int, ...]:
    """The number of the audit row just written about the memory."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, memory_id=memory_id, operation=operation)
    return tuple(rows.order_by("-key").values_list("seq", flat=True)[:1])


STEPS: Final[dict[str, Callable[[Actor, ReviewDecision], list[DecisionResult]]]] = {
    "approve": approve_one,
    "reject": reject_one,
    "edit": edit_text,
    "edit-approve": edit_and_approve,
    "merge": merge_pair,
    "supersede": replace_other,
    "dismiss": dismiss_link,
}
