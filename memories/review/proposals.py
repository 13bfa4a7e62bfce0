"""Proposals in the Review: list them, carry one out or decline it, and open one again.

The kinds of the memory verbs are registered here; `memories.lifecycle.propose` makes proposals.
"""

from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, pgettext

from access.actor import CURATE, READ, Actor
from access.answers import Answer, ShownAs
from access.audit import OWN
from access.audit.operations import Operation
from access.errors import Conflict, LociError, NotFound, NotPermitted
from access.models import AuditEntry
from memories.browse.listing import in_groups
from memories.draft import MAX_REASON_CHARS, EditDraft
from memories.draft.registry import values_from_json
from memories.lifecycle.edit import EDIT_FIELDS, edit
from memories.lifecycle.propose import (
    FILE_TEXT,
    ProposalKind,
    is_stale,
    log_proposal,
    memory_version_now,
    proposal_kinds,
    waiting_proposals,
)
from memories.lifecycle.restore import carry_out as carry_out_restore
from memories.lifecycle.retract import retract
from memories.lifecycle.target import ChangeResult, check_shown
from memories.lifecycle.verbs import VERBS
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.pages import DEFAULT_LIMIT, Page, page_of
from memories.queries.snapshot import RELATED_ROWS
from memories.queries.versions import find_memory, head_of, parse_id
from memories.store.policy import Change
from memories.types import State
from storage.changes import current_change

RELATED: Final = ("group", *(f"memory__{name}" for name in RELATED_ROWS))
BATCH_ROWS: Final = 200
OTHERS: Final = ("by", "into", "successor")  # the second memory of a proposal, whose text its card shows


def list_proposals(
    actor: Actor, *, group: str | None = None, cursor: str = "", limit: int = DEFAULT_LIMIT
) -> Page[Proposal]:
    """A page of the proposals that wait in one group, or in all that the actor may enter; stale ones are left out.

    Raises:
        GroupNotFound, NotPermitted: the group is missing or closed to the actor.
    """
    rows = waiting_proposals(timezone.now()).filter(in_groups(actor, group, "group"))
    page = page_of(rows.select_related(*RELATED), cursor=cursor, limit=limit)
    return Page(tuple(row for row in page.rows if not is_stale(row)), page.next)


def find_proposal(actor: Actor, id_: str | UUID, *, right: str = READ) -> Proposal:
    """The proposal with this id; the actor needs the right in its group.

    Raises:
        NotFound: there is none in a group that the actor may enter.
        NotPermitted: the actor lacks the right there.
    """
    proposal = Proposal.objects.select_related(*RELATED).filter(id=parse_id(id_, field="proposal")).first()
    if proposal is None or not actor.may_enter(proposal.group_id):
        raise NotFound("No proposal of that id, or you don't have access.", field="proposal")
    if not actor.may(right, proposal.group_id):
        raise NotPermitted(
            f"You may not {'decide about' if right == CURATE else 'read'} proposals of the group "
            f"'{proposal.group.slug}'.",
            hint=f"Needs scope '{right}' and a role in the group that allows it.",
        )
    return proposal


def approve_proposal(
    actor: Actor, id_: str | UUID, *, reason: str = ""
) -> tuple[ChangeResult, tuple[str, ...]]:
    """Carry a proposal out with the curator's own rights, inside the caller's transaction.

    Returns the change, and the names of the audit rows that undo it; none if it cannot be undone.

    Raises:
        Conflict: it is closed, stale or expired, its second memory has a later version, or the verb does not fit any more.
        NotFound, NotPermitted: see find_proposal().
    """
    proposal = find_open(actor, id_)
    named = {name: str(proposal.arguments.get(name, "")) for name in OTHERS}
    check_shown(actor, **{name: value for name, value in named.items() if is_id(value)})
    name = close(actor, proposal, ProposalStatus.APPROVED, reason=reason)
    why = "; ".join(filter(None, (f"proposed by {proposal.actor}", proposal.reason, reason)))
    done = proposal_kinds()[proposal.verb].carry_out(actor, proposal, why[:MAX_REASON_CHARS])
    # The proposal's own row comes first: undone last, it sees the target as it was before.
    operation = proposal_kinds()[proposal.verb].undone_from
    about = {"memory_id": done.id} if proposal.memory is not None else {"group": proposal.group.id}
    entries = last_entry(operation, **about) if operation is not None else ()
    return done, (name, *entries) if entries else ()


def is_id(value: str) -> bool:
    """True if an argument is a memory's id."""
    try:
        parse_id(value)
    except LociError:
        return False
    return True


def reject_proposal(actor: Actor, id_: str | UUID, *, reason: str = "") -> tuple[Proposal, tuple[str, ...]]:
    """Decline a proposal: nothing changes. Raises as approve_proposal() does."""
    proposal = find_open(actor, id_)
    return proposal, (close(actor, proposal, ProposalStatus.REJECTED, reason=reason),)


def find_open(actor: Actor, id_: str | UUID) -> Proposal:
    """A proposal that can be decided now."""
    proposal = find_proposal(actor, id_, right=CURATE)
    if proposal.status != ProposalStatus.WAITING:
        raise Conflict(f"This proposal is {proposal.status} already.", hint="Nothing was changed.")
    if proposal.expires_at <= timezone.now():
        raise Conflict(
            f"This proposal expired on {proposal.expires_at:%Y-%m-%d}.", hint="Nothing was changed."
        )
    if is_stale(proposal):
        raise Conflict(
            "This proposal is stale: its target has changed since.",
            hint="Nothing was changed. Look at the memory, and change it yourself if needed.",
        )
    return proposal


def close(actor: Actor, proposal: Proposal, status: ProposalStatus, *, reason: str = "") -> str:
    """Close a waiting proposal by compare-and-set, and log it; returns the name of the log row."""
    now = timezone.now()
    waiting = Proposal.objects.filter(pk=proposal.pk, status=ProposalStatus.WAITING)
    if waiting.update(status=status, closed_at=now, closed_by=actor.name) != 1:
        raise Conflict("Another person decided about this proposal just now.", hint="Nothing was changed.")
    return log_proposal(actor, proposal, status.value, reason=reason)


def close_overdue(actor: Actor, *, now: datetime) -> int:
    """Close the waiting proposals that have expired or are stale; returns their number. One transaction for each."""
    rows = Proposal.objects.filter(status=ProposalStatus.WAITING).select_related(*RELATED).order_by("key")
    closed = 0
    for proposal in rows.iterator(chunk_size=BATCH_ROWS):
        has_expired = proposal.expires_at <= now
        if not (has_expired or is_stale(proposal)):
            continue
        status = ProposalStatus.EXPIRED if has_expired else ProposalStatus.STALE
        with suppress(Conflict), transaction.atomic():  # a person decided meanwhile
            close(actor, proposal, status)
            closed += 1
    return closed


def last_entry(operation: Operation, **about: object) -> tuple[str, ...]:
    """The name of the audit row of an operation that this change has written; empty if it wrote none."""
    rows = AuditEntry.objects.filter(origin=OWN, change=current_change(), operation=operation, **about)
    return tuple(row.name for row in rows.order_by("-key")[:1])


def _status_now(proposal: Proposal, _: bool) -> str:
    """The status; a waiting one may be stale or expired by now."""
    if proposal.status != ProposalStatus.WAITING:
        return proposal.status
    if proposal.expires_at <= timezone.now():
        return ProposalStatus.EXPIRED.value
    return ProposalStatus.STALE.value if is_stale(proposal) else proposal.status


class ProposalOut(Answer):
    """A change that waits for a curator; `verb` and `arguments` say what it would do to `memory`."""

    id: UUID
    verb: str
    memory: Annotated[UUID | None, ShownAs("memory.id")]
    subject: str
    group: Annotated[str, ShownAs("group.slug")]
    arguments: dict[str, Any]
    reason: str
    why: str
    actor: str
    via: str
    client: str
    created_at: datetime
    expires_at: datetime
    status: Annotated[str, ShownAs(_status_now, about="waiting, approved, rejected, stale or expired")]
    closed_at: datetime | None
    closed_by: str


def target_of(proposal: Proposal) -> Memory:
    """The memory that a proposal is about."""
    if proposal.memory is None:
        raise Conflict("The memory of this proposal is gone.", hint="Nothing was changed.")
    return proposal.memory


def run_verb(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Carry out a verb of the registry, with its second memory and new text."""
    verb, arguments = VERBS[proposal.verb], proposal.arguments
    return verb.apply(
        actor, target_of(proposal).id, reason=reason,
        other=arguments.get(verb.other, ""), text=arguments.get(verb.text, ""),
    )  # fmt: skip


def _run_retraction(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Retract; the curator has seen the successor, so it does not wait again."""
    successor = proposal.arguments.get("successor", "")
    return retract(actor, target_of(proposal).id, successor=successor, reason=reason, is_decided=True)


def _run_restoring(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Restore a former version, or take a retraction back."""
    version = find_memory(actor, proposal.arguments["version"])
    return carry_out_restore(actor, version, reason=reason, dry_run=False)


def _run_edit(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Change the proposed fields, which the curator has seen; new times are a new version with the same text."""
    wanted = EditDraft(**values_from_json(proposal.arguments))
    edited = edit(actor, target_of(proposal).id, wanted, reason=reason, is_decided=True)
    memory = edited.memory
    line = gettext("{label}: {text}")
    lines = tuple(
        line.format(label=pgettext("word", name.replace("_", " ")), text=f"{in_words(old)} → {in_words(new)}")
        for name, (old, new) in edited.changes.items()
        if name in proposal.arguments
    )
    return ChangeResult("edit", memory.id, memory.state, memory.trust, 1, lines, changes=edited.changes)


def in_words(value: object) -> str:
    """A field's value for people: a dash for nothing, a list without brackets."""
    if value in (None, "", [], {}):
        return "–"
    return gettext(", ").join(map(str, value)) if isinstance(value, list) else pgettext("word", str(value))


def _chain_now(proposal: Proposal) -> str:
    """The chain of the memory, as the version of a file's text: later edits of the memory do not make it stale."""
    head = head_of(proposal.memory) if proposal.memory is not None else None
    return str(head.root_key) if head is not None and head.state == State.LIVE else ""


# Verb, sentence, how it is carried out, and the operation from whose row it is undone.
_VERBS: Final = (
    (Change.FORGET, gettext_noop("Forget it"), run_verb, Operation.FORGET),
    (Change.RETRACT, gettext_noop("Retract it"), _run_retraction, Operation.RETRACT),
    (Change.SUPERSEDE, gettext_noop("Replace it by another memory"), run_verb, Operation.SUPERSEDE),
    (Change.MERGE, gettext_noop("Merge it into another memory"), run_verb, Operation.MERGE),
    (Change.PIN, gettext_noop("Pin it: every context pack will have it"), run_verb, Operation.PIN),
    (Change.UNPIN, gettext_noop("Remove its pin"), run_verb, Operation.UNPIN),
    (
        Change.RESTORE_VERSION,
        gettext_noop("Make a former text current again"),
        _run_restoring,
        Operation.RESTORE,
    ),
    (Change.RESTORE, gettext_noop("Restore"), _run_restoring, Operation.RESTORE),
    (EDIT_FIELDS, gettext_noop("Change its fields"), _run_edit, Operation.EDIT),
)
MEMORY_PROPOSALS: Final = (
    *(
        ProposalKind(str(verb), label, run, memory_version_now, operation)
        for verb, label, run, operation in _VERBS
    ),
    ProposalKind(FILE_TEXT, gettext_noop("Take the text of the file"), _run_edit, _chain_now, Operation.EDIT),
)
