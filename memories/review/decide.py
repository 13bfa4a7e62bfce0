"""Carry out a review decision: one verb, or a few that belong together, and the link that it settles; and undo it.

`CHOICES` at the end is the registry of decisions, which the cards, the page and its script read. Each decision returns
the names of the audit rows that it wrote; take_back() undoes the changes that these rows belong to, as a whole.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from access.actor import CURATE, Actor
from access.audit import find_row, one_change
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, LociError, NotFound
from access.models import AuditEntry
from memories.draft import EditDraft, check_choice
from memories.lifecycle import verbs
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.target import check_shown, require_person, require_right
from memories.lifecycle.undo.reverse import Terms, reverse
from memories.lifecycle.undo.rows import changes_of, rows_of, rows_of_log
from memories.models import LinkStatus
from memories.queries.versions import find_memory, head_of, parse_id
from memories.review.links import close_link, visible_links
from memories.review.proposals import approve_proposal, find_proposal, last_entry, reject_proposal
from memories.review.sensitive import OLD_VERSION, keep_text, mask_values
from memories.types import Trust
from storage.changes import apart

MAX_AT_ONCE: Final = 500
MAX_ENTRIES: Final = 6  # a decision names at most three
_FIELD: Final = "entries"
DECISIONS: Final = frozenset(
    {
        Operation.TRUST, Operation.VERIFY, Operation.MERGE, Operation.SUPERSEDE, Operation.EDIT, Operation.FORGET,
        Operation.RETRACT, Operation.RESTORE, Operation.PIN, Operation.UNPIN, Operation.LINK, Operation.GUARD,
    }
)  # fmt: skip


@dataclass(frozen=True)
class ReviewDecision:
    """A person's decision: a verb for a memory, and its arguments.

    `other` is the memory that is replaced or merged into; `content` is the new text of `edit` and `merge`. `link` is
    the open link that the decision settles; `dismiss` takes nothing else. With `proposal`, approving carries out that
    proposal and rejecting declines it.
    """

    verb: str
    id: str | UUID = ""
    other: str | UUID = ""
    link: str | UUID = ""
    content: str = ""
    reason: str = ""
    proposal: str | UUID = ""


@dataclass(frozen=True)
class _DecisionResult:
    """The consequences in words, the id of the current memory, and the names of the audit rows that undo it."""

    consequences: tuple[str, ...]
    id: UUID
    entries: tuple[str, ...] = ()


@dataclass(frozen=True)
class _DecisionResults:
    """The results of many decisions: those that were carried out, and the ids of the others with the reason."""

    done: tuple[_DecisionResult, ...]
    failed: tuple[tuple[UUID, str], ...]


@dataclass(frozen=True)
class Choice:
    """A decision as the Review offers it.

    `key` presses its button; without a key it has none. `past` is the outcome in a word, `help` its line in the list of
    keys, and `undo` the effect of undoing it, empty if it cannot be undone. `takes_other`: it is about two memories;
    `takes_text`: with a new text, which is embedded before the transaction, as is one that the decision itself makes
    (`makes_text`); `at_once`: for many memories at once.
    `preview` is its name in the preview of recall; without one, it is not previewed.
    """

    verb: str
    carry_out: Callable[[Actor, ReviewDecision], list[_DecisionResult]]
    key: str
    label: str
    past: str
    help: str = ""
    undo: str = ""
    preview: str = ""
    takes_other: bool = False
    takes_text: bool = False
    makes_text: bool = False
    is_dangerous: bool = False
    at_once: bool = False


@one_change
def decide(actor: Actor, decision: ReviewDecision, *, dry_run: bool = False) -> _DecisionResult:
    """Carry a decision out; with `dry_run` only return the consequences.

    One transaction, unless there is a new text: that has its own, since it is embedded before it.

    Raises:
        InvalidInput: the verb does not exist, or one of its arguments is missing.
        NotFound, NotPermitted: the actor may not see one of the memories, or may not decide about it.
        Conflict: another person decided meanwhile, one of the memories has a later version, or the verb does not fit.
    """
    require_person(actor, "review")
    check_choice(decision.verb, list(CHOICES), field="verb")
    choice = CHOICES[decision.verb]
    if decision.proposal and decision.verb not in ("approve", "reject"):
        raise InvalidInput("A proposal is approved or rejected.", field="verb")
    if not decision.proposal:
        check_shown(actor, id=decision.id, other=decision.other)
    embeds = choice.makes_text or (decision.content and choice.takes_text)
    with nullcontext() if embeds and not dry_run else transaction.atomic():
        steps = choice.carry_out(actor, decision)
        if decision.link and decision.verb != "dismiss":
            steps += _settle_link(actor, decision)
        if dry_run:
            transaction.set_rollback(True)
    consequences = tuple(dict.fromkeys(line for step in steps for line in step.consequences))
    entries = tuple(name for step in steps for name in step.entries)
    return _DecisionResult(consequences, steps[0].id, () if dry_run else entries)


def decide_many(
    actor: Actor, decisions: Sequence[ReviewDecision], *, dry_run: bool = False
) -> _DecisionResults:
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
        check_choice(decision.verb, AT_ONCE, field="verb")
    done, failed = list[_DecisionResult](), list[tuple[UUID, str]]()
    for decision in decisions:
        try:
            with apart():  # each can be taken back without the others
                done.append(decide(actor, decision, dry_run=dry_run))
        except LociError as refusal:
            id_ = decision.proposal or decision.id or decision.link
            failed.append((parse_id(id_), str(refusal)))
    return _DecisionResults(tuple(done), tuple(failed))


def _apply_verb(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Apply the verb of that name to the memory, or to both."""
    verb = verbs.VERBS[decision.verb]
    id_, other = (decision.id, _other_id(decision)) if verb.other else (_single_id(decision), "")
    done = verb.apply(actor, id_, other=str(other), text=decision.content, reason=decision.reason)
    return [_DecisionResult(done.consequences, done.id, last_entry(Operation(done.verb), memory_id=done.id))]


def _approve_one(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Approve the memory, or carry out the proposal."""
    if not decision.proposal:
        return _apply_verb(actor, replace(decision, verb="approve"))
    done, entries = approve_proposal(actor, decision.proposal, reason=decision.reason)
    return [_DecisionResult(done.consequences, done.id, entries)]


def _reject_one(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Reject the memory, or decline the proposal."""
    if not decision.proposal:
        return _apply_verb(actor, decision)
    proposal, entries = reject_proposal(actor, decision.proposal, reason=decision.reason)
    about = proposal.memory.id if proposal.memory is not None else proposal.id
    return [_DecisionResult((gettext("nothing changes"),), about, entries)]


def edit_text(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Write the memory's new text."""
    if not decision.content.strip():
        raise InvalidInput("The new text is empty.", hint="Type the new text.", field="content")
    edited = edit(actor, decision.id, EditDraft(content=decision.content), reason=decision.reason)
    is_queued = edited.outcome == EditOutcome.QUEUED
    waits = gettext("it waits: {why}").format(why=edited.why)
    consequence = waits if is_queued else gettext("a new version has this text")
    entry = last_entry(Operation.EDIT, memory_id=edited.memory.id)
    return [_DecisionResult((consequence,), edited.memory.id, entry)]


def _edit_and_approve(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Edit, then approve. Two transactions, since the text is embedded first; a refused approval keeps the edit."""
    edited = edit_text(actor, decision)
    return [*edited, *_approve_one(actor, replace(decision, id=edited[0].id))]


def _mask_one(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Write the memory's text without the values that a scan found."""
    edited = mask_values(actor, _single_id(decision), reason=decision.reason)
    lines = (gettext("a new version has the text without them"), gettext(OLD_VERSION))
    return [_DecisionResult(lines, edited.memory.id)]  # no undo: the guard would mask the former text again


def _keep_one(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Leave sensitive text as it is."""
    memory, _ = keep_text(actor, _single_id(decision), reason=decision.reason)
    lines = (gettext("the text stays as it is"), gettext("secrets of a certain format reach no agent"))
    return [_DecisionResult(lines, memory.id, last_entry(Operation.GUARD, memory_id=memory.id))]


def _replace_other(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Replace the other memory by this one; a candidate is approved first."""
    by = head_of(find_memory(actor, decision.id))
    approved = _approve_one(actor, decision) if by.trust == Trust.CANDIDATE else []
    old = find_memory(actor, _other_id(decision), field="other")
    if approved and old.superseded_by_id is not None and head_of(old).key == by.key:
        return approved  # the approval has replaced the other already
    return [*approved, *_apply_verb(actor, replace(decision, id=old.id, other=by.id))]


def _dismiss_link(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    if not decision.link:
        raise InvalidInput(
            "Only a possible duplicate or a conflict can be dismissed.",
            hint="Approve or reject this one.",
            field="link",
        )
    link = close_link(
        actor, parse_id(decision.link, field="link"), status=LinkStatus.DISMISSED, reason=decision.reason
    )
    entry = last_entry(Operation.LINK, memory_id=link.source.id)
    return [_DecisionResult((gettext("both memories stay as they are"),), link.source.id, entry)]


def _settle_link(actor: Actor, decision: ReviewDecision) -> list[_DecisionResult]:
    """Settle the decision's link, unless the verb has closed it."""
    id_ = parse_id(decision.link, field="link")
    link = visible_links(actor).filter(id=id_).first()
    if link is None or link.status != LinkStatus.OPEN:
        return []
    close_link(actor, id_, status=LinkStatus.SETTLED, reason=decision.reason)
    entry = last_entry(Operation.LINK, memory_id=link.source.id)
    return [_DecisionResult((gettext("the link is settled"),), link.source.id, entry)]


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


@one_change
def take_back(actor: Actor, entries: Sequence[str]) -> tuple[str, ...]:
    """Undo the decisions that wrote the audit rows with these names (AuditEntry.name); the consequences in words.

    All of it or nothing.

    Raises:
        InvalidInput: there are too many names.
        NotFound: a name belongs to no row about a memory that the actor may see.
        NotPermitted: the actor is not a person, or may not curate the memory's group.
        Conflict: what the decision did has changed since, or cannot be taken back.
    """
    require_person(actor, "undo a decision about")
    if not entries:
        raise Conflict(
            "This decision has no undo.",
            hint="A masked or edited text stays in the history of the memory, for people only.",
            field=_FIELD,
        )
    if len(entries) > MAX_ENTRIES:
        raise InvalidInput(f"Name at most {MAX_ENTRIES} audit rows.", field=_FIELD)
    found = [_find_decision(actor, name) for name in entries]
    changes = changes_of(found)
    rows = rows_of(changes) + rows_of_log([entry for entry in found if entry.change is None])
    if not rows:
        raise Conflict("It was undone already.", hint="Nothing was changed.", field=_FIELD)
    reason = f"audit row {found[0].name} was undone"
    done = reverse(actor, rows, Terms(reason, right=CURATE, besides=changes, is_decision=True, field=_FIELD))
    return tuple(dict.fromkeys(done.lines))


def _find_decision(actor: Actor, name: str) -> AuditEntry:
    """The row of this store's audit log with this name, with its payload; the actor needs the right to undo it."""
    entry = find_row(name)
    if entry is not None and hasattr(entry, "payload_row") and "proposal" in entry.payload:
        find_proposal(actor, entry.payload["proposal"], right=CURATE)
        return entry
    if entry is None or entry.memory_id is None:
        raise NotFound("The audit log has no such row about a memory that you may see.", field=_FIELD)
    memory = find_memory(actor, entry.memory_id, field=_FIELD)
    require_right(actor, memory, right=CURATE)
    if entry.operation not in DECISIONS or not hasattr(entry, "payload_row"):
        raise Conflict(f"'{entry.operation}' cannot be undone from here.", hint="Nothing was changed.")
    return entry


# In the order of the list of keys.
CHOICES: Final[dict[str, Choice]] = {
    choice.verb: choice
    for choice in (
        Choice("approve", _approve_one, "a", gettext_noop("Approve"), gettext_noop("Approved"), gettext_noop("approve: recall returns it from now on"),
               undo=gettext_noop("it waits again"), preview="approve", at_once=True),
        Choice("reject", _reject_one, "r", gettext_noop("Reject"), gettext_noop("Rejected"), gettext_noop("reject: recall never returns it"),
               undo=gettext_noop("its former trust comes back"), preview="reject", is_dangerous=True, at_once=True),
        Choice("verify", _apply_verb, "v", gettext_noop("Still true"), gettext_noop("Confirmed"), gettext_noop("still true: a person confirmed it today"),
               undo=gettext_noop("it is as before, and the question waits again")),
        Choice("retract", _apply_verb, "n", gettext_noop("No longer true"), gettext_noop("Retracted"), gettext_noop("no longer true: recall never returns it"),
               undo=gettext_noop("it counts again, and the question waits again"), preview="retract", is_dangerous=True),
        Choice("edit", edit_text, "e", gettext_noop("Edit"), gettext_noop("Edited"), gettext_noop("edit the text"),
               undo=gettext_noop("the former text is the newest version again"), takes_text=True),
        Choice("edit-approve", _edit_and_approve, "", gettext_noop("Save and approve"), gettext_noop("Edited and approved"), takes_text=True),
        Choice("merge", _apply_verb, "m", gettext_noop("Merge"), gettext_noop("Merged"), gettext_noop("merge it into the selected memory"),
               undo=gettext_noop("the two are separate again"), preview="merge", takes_other=True, takes_text=True),
        Choice("supersede", _replace_other, "s", gettext_noop("Replace"), gettext_noop("Replaced"), gettext_noop("replace the selected memory by it"),
               undo=gettext_noop("both are live again"), preview="replace", takes_other=True),
        Choice("mask", _mask_one, "h", gettext_noop("Mask"), gettext_noop("Masked"), gettext_noop("mask the values in a new version"),
               makes_text=True),
        Choice("quarantine", _apply_verb, "q", gettext_noop("Quarantine"), gettext_noop("Quarantined"), gettext_noop("quarantine: agents never see it"),
               undo=gettext_noop("its former trust comes back"), at_once=True),
        Choice("keep", _keep_one, "y", gettext_noop("Keep"), gettext_noop("Kept"), gettext_noop("keep sensitive text as it is"),
               undo=gettext_noop("it is listed again"), at_once=True),
        Choice("dismiss", _dismiss_link, "d", gettext_noop("Dismiss"), gettext_noop("Dismissed"), gettext_noop("dismiss: both stay as they are"),
               undo=gettext_noop("the link is open again"), at_once=True),
    )
}  # fmt: skip
AT_ONCE: Final = [verb for verb, choice in CHOICES.items() if choice.at_once]
