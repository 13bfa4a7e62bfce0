"""Proposals to change a group's instructions, made of instruction files such as CLAUDE.md.

What a file says reaches agents only after a curator has seen the difference. The text of a file is one part of the
instructions: a newer text of the same file replaces the one that was accepted.
"""

import hashlib
from typing import Final

from django.db import transaction
from django.utils.translation import gettext, gettext_noop

from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import GroupChange, check_texts, update_group
from access.groups.guarding import OnHold, admit
from access.models import Group
from guard import Door
from memories.lifecycle.propose import ProposalKind, log_proposal, propose
from memories.lifecycle.target import ChangeResult
from memories.models import Proposal, ProposalStatus

INSTRUCTIONS: Final = "instructions"  # the verb
WHY: Final = "a curator decides what agents are told at the start"
_PART: Final = "part"  # the version of a proposal that is compared with the instructions as they are now
_SUBJECT_CHARS: Final = 200


def propose_instructions(actor: Actor, group: Group, text: str, *, file: str, is_whole: bool = False) -> bool:
    """Propose an instruction file's text for the group's instructions; False if there is nothing new to decide.

    `file` names the file for people and for its newer texts. `is_whole`: the text is all of the instructions instead of a
    part. A text that a curator declined is not proposed again. An older text of the file waits no longer. Secrets are
    masked.

    Raises:
        InvalidInput: the instructions would be too long, or the text cannot be stored.
    """
    text = text.replace("\r\n", "\n").strip()
    text = admit(text, Door.OUTSIDE, group, on_hold=OnHold.MASK, may_instruct=True).value
    subject = f"{INSTRUCTIONS}:{file}"[:_SUBJECT_CHARS]
    current = group.instructions.strip()
    wanted = text if is_whole else _with_part(current, _former_text(group, subject), text)
    if not text or wanted == current:
        return False
    check_texts(instructions=wanted)
    version = _version_of(group, is_whole=is_whole, text=text)
    about = Proposal.objects.filter(verb=INSTRUCTIONS, group=group, subject=subject)
    waiting = list(about.filter(status=ProposalStatus.WAITING))
    if any(row.arguments.get("text") == text and row.version == version for row in waiting):
        return False
    declined = about.filter(status=ProposalStatus.REJECTED).order_by("-key")[:50]
    if any(row.arguments.get("text") == text for row in declined):
        return False
    with transaction.atomic():
        for row in waiting:
            if about.filter(pk=row.pk, status=ProposalStatus.WAITING).update(status=ProposalStatus.STALE):
                log_proposal(actor, row, "stale")
        propose(
            actor, INSTRUCTIONS, group=group, version=version, why=WHY, subject=subject, reason=f"from {file}"[:500],
            arguments={"text": text, "file": file, "whole": is_whole}, allows_instructions=True,
        )  # fmt: skip
    return True


def _with_part(current: str, former: str, text: str) -> str:
    """The instructions with a file's text: in the place of its former text, else at the end."""
    if text in current:
        return current
    if former and former in current:
        return current.replace(former, text, 1)
    return "\n\n".join(filter(None, (current, text)))


def _former_text(group: Group, subject: str, *, before: int = 0) -> str:
    """The text of the file that a curator accepted last, before the proposal with this key; empty if none."""
    accepted = Proposal.objects.filter(
        verb=INSTRUCTIONS, group=group, subject=subject, status=ProposalStatus.APPROVED
    )
    newest = accepted.exclude(pk=before).order_by("-closed_at", "-key").first()
    return str(newest.arguments.get("text", "")) if newest is not None else ""


def _version_of(group: Group, *, is_whole: bool, text: str) -> str:
    """The version of the instructions; empty for a part that they have already."""
    if is_whole:
        return hashlib.sha256(group.instructions.encode()).hexdigest()
    return "" if text in group.instructions else _PART


def _version_now(proposal: Proposal) -> str:
    whole, text = bool(proposal.arguments.get("whole")), str(proposal.arguments.get("text", ""))
    return _version_of(proposal.group, is_whole=whole, text=text)


def compare(proposal: Proposal) -> tuple[str, str]:
    """The instructions now, and as they would be."""
    current, text = proposal.group.instructions.strip(), str(proposal.arguments.get("text", ""))
    if proposal.arguments.get("whole"):
        return current, text
    former = _former_text(proposal.group, proposal.subject, before=proposal.pk)
    return current, _with_part(current, former, text)


def accept(actor: Actor, proposal: Proposal, reason: str) -> ChangeResult:
    """Change the group's instructions as proposed, with the right to curate. In the caller's transaction."""
    proposal.group = Group.objects.select_for_update().get(pk=proposal.group_id)
    if _version_now(proposal) != proposal.version:
        raise Conflict(
            gettext("The instructions have changed just now."), hint=gettext("Nothing was changed.")
        )
    _, wanted = compare(proposal)
    details = {"proposal": str(proposal.id)}
    update_group(actor, proposal.group.slug, GroupChange(instructions=wanted), right=CURATE, details=details)
    line = gettext("agents get the new instructions of {group} at the start of a session")
    return ChangeResult(INSTRUCTIONS, proposal.id, "", "", 1, (line.format(group=proposal.group.slug),))


def name_of(proposal: Proposal) -> str:
    """The proposal in a list: its group and file."""
    return gettext("Instructions of {group}: {file}").format(
        group=proposal.group.slug, file=proposal.arguments.get("file", "")
    )


INSTRUCTIONS_PROPOSAL: Final = ProposalKind(
    INSTRUCTIONS, gettext_noop("Take the file into the group's instructions"),
    accept, _version_now, Operation.GROUP, compare=compare, name=name_of,
)  # fmt: skip
