"""Proposals: a change that waits for a curator is recorded here, with everything needed to carry it out later.

Each verb that may wait is a `ProposalKind` that an app adds. `memories.review.proposals` lists and decides proposals.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from access import audit
from access.actor import Actor
from access.additions import additions
from access.audit import collecting_rows
from access.audit.operations import Operation
from access.groups import hold_groups
from access.groups.guarding import OnHold, admit
from access.models import ApiToken, Group
from memories.draft import clean_reason
from memories.lifecycle.target import ChangeResult
from memories.models import Memory, Proposal, ProposalStatus
from memories.queries.snapshot import as_json
from memories.store.for_review import DISPUTES, REPLACEMENTS, Cap
from memories.store.policy import Change, held_back, held_with
from memories.store.withdrawn.marks import refuse_withdrawn_reason
from storage.canonical_json import canonical_json

# The verb of a proposal to take the text of a file that changed together with its memory.
FILE_TEXT: Final = "file"
# A change of one of these makes a proposal about the memory stale. Trust is not among them: whoever proposes to retract
# a memory may dispute it as well.
_WATCHED: Final = ("state", "pinned", "tags", "importance", "expires_at", "metadata", "superseded_by_id")


@dataclass(frozen=True)
class ProposalKind:
    """What a proposal's verb does.

    `label` is its sentence on the card, `carry_out` runs it with the rights of the curator who approves it, and
    `version` returns the target's version as it is now, empty if the target is gone. `undone_from` is the operation of
    the audit row from which the Review undoes it; None: it cannot be undone there. A kind about no memory has `compare`,
    the target's text now and as it would be, and `name`, which lists show.
    """

    verb: str
    label: str
    carry_out: Callable[[Actor, Proposal, str], ChangeResult]
    version: Callable[[Proposal], str]
    undone_from: Operation | None = None
    compare: Callable[[Proposal], tuple[str, str]] | None = None
    name: Callable[[Proposal], str] | None = None


@cache
def proposal_kinds() -> dict[str, ProposalKind]:
    """What the apps can propose, by verb."""
    return {kind.verb: kind for kind in additions("proposals")}


def change_or_propose(
    actor: Actor,
    change: Change,
    memory: Memory,
    run: Callable[..., ChangeResult],
    *,
    reason: str = "",
    dry_run: bool = False,
    arguments: dict[str, Any] | None = None,
    confidence: float | None = None,
    reached: Callable[[], list[Memory]] = list,
    preview: Callable[[], ChangeResult] | None = None,
    why: str = "",
) -> ChangeResult:
    """Carry a change out, or record it as a proposal if the table of memories.store.policy says that it waits.

    `run(dry_run=…)` carries it out; a proposal is made only of a change that would succeed. `preview` tells what approving
    it would do, if that differs from a dry run. `reached` are other memories that it would withdraw or
    hide: one that the table holds back makes it wait too. `why`: the caller's own reason to wait.

    Raises:
        NotPermitted: the table refuses the change.
    """
    why = why or held_back(actor, change, memory, confidence=confidence)
    why = why or held_with(actor, change, memory, reached())
    if not why:
        return run(dry_run=dry_run)
    version = memory_version(memory)  # as the caller saw it: the dry run changes the object
    with collecting_rows():  # what a dry run appends is rolled back: it is not part of this write
        would = preview() if preview is not None else run(dry_run=True)
    consequences = (
        gettext("it waits for a curator: {why}").format(why=why),
        *(gettext("if approved: {line}").format(line=line) for line in would.consequences),
    )
    proposal = None if dry_run else propose(
        actor, change.value, group=memory.group, memory=memory, version=version,
        arguments=arguments or {}, reason=reason, why=why,
    )  # fmt: skip
    now = Memory.objects.only("state", "trust").get(pk=memory.pk)
    return replace(
        would, id=memory.id, state=now.state, trust=now.trust, changed=0, consequences=consequences, dry_run=dry_run,
        successor=None, queued=why, proposal=proposal.id if proposal is not None else None,
    )  # fmt: skip


def waiting_proposals(now: datetime) -> QuerySet[Proposal]:
    """The proposals that are undecided and have not expired; some may be stale, see is_stale()."""
    return Proposal.objects.filter(status=ProposalStatus.WAITING, expires_at__gt=now)


def propose(
    actor: Actor,
    verb: str,
    *,
    group: Group,
    version: str,
    why: str,
    memory: Memory | None = None,
    subject: str = "",
    arguments: dict[str, Any] | None = None,
    reason: str = "",
    allows_instructions: bool = False,
) -> Proposal:
    """Record a proposal, and log it, in one transaction. The same one again returns the one that waits already.

    `allows_instructions`: its text is meant to instruct agents, and the person who decides reads it. What else the guard
    finds is masked instead of refused.
    """
    reason, now = clean_reason(reason), timezone.now()
    arguments = admit(
        arguments or {}, actor.door, group, field="content", may_instruct=allows_instructions,
        on_hold=OnHold.MASK if allows_instructions else OnHold.REFUSE,
    ).value  # fmt: skip
    refuse_withdrawn_reason(actor, group, reason)
    expires = now + timedelta(days=settings.LOCI.maintenance.proposal_days)
    with transaction.atomic():
        hold_groups([group.key])
        waiting = waiting_proposals(now).filter(
            verb=verb, group=group, memory=memory, subject=subject, version=version,
            token=actor.token_id, actor=actor.name,
        )  # fmt: skip
        same = next((row for row in waiting.order_by("key") if row.arguments == arguments), None)
        if same is not None:
            return same
        _PROPOSALS.check(actor, group)
        proposal = Proposal.objects.create(
            verb=verb, group=group, memory=memory, subject=subject, version=version, arguments=arguments,
            reason=reason, why=why, actor=actor.name, via=actor.via, token=actor.token_id, client=actor.client[:120],
            created_at=now, expires_at=expires,
        )  # fmt: skip
        log_proposal(actor, proposal, "proposed", reason=reason)
    return proposal


def _find_own(actor: Actor) -> Iterator[int]:
    """The group's key of each proposal of a person, with whichever token, that waits and is not stale."""
    tokens = ApiToken.objects.filter(user=actor.user_id).values("id")
    own = Q(token__in=tokens) | Q(token=None, actor=actor.name)
    rows = waiting_proposals(timezone.now()).filter(own).select_related("memory")
    return (row.group_id for row in rows if not is_stale(row))


_PROPOSALS: Final = Cap("proposals of yours wait", "undo some", _find_own)
CAPS: Final = (DISPUTES, REPLACEMENTS, _PROPOSALS)


def log_proposal(actor: Actor, proposal: Proposal, action: str, **details: Any) -> str:
    """Log what happened to a proposal; returns the row's name."""
    about = proposal.memory.id if proposal.memory is not None else None
    entry = audit.append(
        actor, Operation.PROPOSE, memory_id=about, group=proposal.group.id, subject=f"proposal:{proposal.id}",
        payload={"action": action, "proposal": str(proposal.id), "verb": proposal.verb, **details},
    )  # fmt: skip
    return entry.name


def memory_version(memory: Memory) -> str:
    """A fingerprint of a row and of the fields whose change makes a proposal about it stale."""
    watched = {name: as_json(getattr(memory, name)) for name in _WATCHED}
    return hashlib.sha256(canonical_json({"id": str(memory.id), **watched}).encode()).hexdigest()


def memory_version_now(proposal: Proposal) -> str:
    """The fingerprint of the proposal's memory as it is now; empty if it is gone."""
    return memory_version(proposal.memory) if proposal.memory is not None else ""


def is_stale(proposal: Proposal) -> bool:
    """True if the target has changed since it was proposed, or the verb is no longer known."""
    kind = proposal_kinds().get(proposal.verb)
    return kind is None or kind.version(proposal) != proposal.version
