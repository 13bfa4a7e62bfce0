"""The verbs of a memory: check the right, change the rows and audit, in one transaction.

`VERBS` at the end is their registry, which REST, MCP, the commands and the admin read. Add a verb here: a function, and
its entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop, pgettext

from access.actor import CURATE, WRITE, Actor
from access.audit import one_change
from access.audit.operations import Operation
from access.errors import Conflict
from access.groups import hold_groups
from memories.draft import clean_reason
from memories.lifecycle.approve import approve_text
from memories.lifecycle.merge import merge, supersede
from memories.lifecycle.propose import change_or_propose
from memories.lifecycle.purge import preview_purge, purge_rows
from memories.lifecycle.regroup.move import move
from memories.lifecycle.restore import RESTORABLE, restore
from memories.lifecycle.retract import confirm_retraction, find_confirmable, retract
from memories.lifecycle.target import (
    ChangeResult,
    barred_line,
    change_fields,
    check_not_barred,
    find_head,
    find_shown,
    find_version,
    refuse_stale,
    require_person,
    require_state,
    require_whole_id,
)
from memories.models import Memory
from memories.queries.by_text import find_counting_same, left_out_with
from memories.queries.labels import doubts_of
from memories.queries.versions import head_of
from memories.queries.visibility import is_outlasting
from memories.store.derived import DerivedChanges, find_reach, withdraw_derived
from memories.store.for_review import check_may_doubt, raise_doubt
from memories.store.policy import Change
from memories.store.withdrawn.left_out import also_left_out
from memories.store.withdrawn.marks import refuse_withdrawn_reason
from memories.store.withdrawn.tombstones import barred_with, follow_trust
from memories.types import VISIBLE_TRUSTS, WITHDRAWN_TRUSTS, State, Trust

__all__ = [
    "EVERYBODY",
    "VERBS",
    "ChangeResult",
    "Face",
    "Verb",
    "approve",
    "dispute",
    "forget",
    "merge",
    "move",
    "offered_by",
    "pin",
    "purge",
    "quarantine",
    "reject",
    "restore",
    "retract",
    "supersede",
    "unpin",
    "verify",
]


@one_change
def forget(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Hide a memory from recall; it can be restored for maintenance.retention_days."""
    memory = find_head(actor, id_, right=WRITE)
    require_state(memory, State.LIVE, State.DORMANT, verb="forget")
    return change_or_propose(
        actor, Change.FORGET, memory, partial(_forget, actor, memory, reason=reason), reason=reason, dry_run=dry_run,
        reached=lambda: list(find_reach(memory, [memory]).summaries),
    )  # fmt: skip


def _forget(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    until = timezone.now() + timedelta(days=settings.LOCI.maintenance.retention_days)
    line = gettext("it is hidden from recall; 'restore' brings it back until {until:%Y-%m-%d}")
    consequences = (line.format(until=until),)
    new = {"state": State.FORGOTTEN, "retired_at": timezone.now(), "superseded_by": None}

    with transaction.atomic():
        hold_groups([memory.group_id])
        reach = find_reach(memory, [memory])  # before the row loses the key of its summary
        return change_fields(
            actor, memory, Operation.FORGET, new, consequences,
            reason=reason, dry_run=dry_run, follow_up=partial(withdraw_derived, actor, reach),
        )  # fmt: skip


@one_change
def dispute(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Doubt a memory: its trust and rank stay, and recall labels it with who doubts it and why until a person decides.

    Raises:
        Conflict: it is not trusted yet, the actor disputes it already, or has too many open disputes in its group.
    """
    memory = find_head(actor, id_, right=WRITE)
    require_state(memory, State.LIVE, verb="dispute")
    if memory.trust not in VISIBLE_TRUSTS:
        raise Conflict(f"{memory.id} is {memory.trust}; only an active or verified memory can be disputed.")
    reason = clean_reason(reason)
    consequences = (gettext("recall returns it, labelled 'disputed'; its trust and its place stay"),)

    def follow_up() -> None:
        check_may_doubt(actor, memory)
        raise_doubt(actor, memory, reason)

    return change_fields(
        actor,
        memory,
        Operation.DISPUTE,
        {},
        consequences,
        reason=reason,
        dry_run=dry_run,
        follow_up=follow_up,
    )


@one_change
def verify(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Confirm a memory, also again, by the id of the text that was read; only a person with the right to curate can."""
    memory = find_shown(actor, id_, right=CURATE)
    require_person(actor, "verify")
    require_state(memory, State.LIVE, verb="verify")
    check_not_barred(actor, memory)
    again = gettext("it stays verified, and is confirmed as of today")
    first = gettext("recall prefers it; decay and cleanup leave it alone")
    consequences = (again if memory.trust == Trust.VERIFIED else first,)
    new = {"trust": Trust.VERIFIED}
    return change_fields(
        actor, memory, Operation.VERIFY, new, consequences,
        reason=reason, dry_run=dry_run, follow_up=lambda: follow_trust(actor, memory, reason=reason), settles=True,
    )  # fmt: skip


@one_change
def approve(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Activate a candidate, rejected or quarantined memory, or settle the doubt about one that counts; for curators.

    By the id of the text that was read: a later version is another text.
    """
    memory = find_shown(actor, id_, right=CURATE)
    if memory.trust in VISIBLE_TRUSTS and doubts_of(memory):
        return _settle_doubt(actor, memory, reason=reason, dry_run=dry_run)
    consequence = gettext("recall returns it")
    return _set_trust(
        actor, memory.id, Trust.ACTIVE, consequence, reason=reason, dry_run=dry_run, follow_up=approve_text
    )


def _settle_doubt(actor: Actor, memory: Memory, *, reason: str, dry_run: bool) -> ChangeResult:
    require_person(actor, "approve")
    require_state(memory, State.LIVE, verb="approve")
    line = gettext("it stays {trust}, and the dispute is settled").format(
        trust=pgettext("word", memory.trust)
    )
    return change_fields(
        actor, memory, Operation.TRUST, {}, (line,), reason=reason, dry_run=dry_run, settles=True
    )


@one_change
def reject(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Reject a memory: recall never returns it and its text is barred, as by a retraction; for curators.

    The text of a candidate or quarantined memory that repeats one which counts in its group is not barred. Rejecting what an agent
    retracted confirms the retraction.
    """
    if (memory := find_confirmable(actor, id_)) is not None:
        return confirm_retraction(actor, memory, reason=reason, dry_run=dry_run)
    return _set_trust(actor, id_, Trust.REJECTED, reason=reason, dry_run=dry_run)


@one_change
def quarantine(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Keep a text away from agents: no answer, pack or context contains it, and it is barred as by reject. For curators.

    Use it for text that may do harm when read: instructions to a model, secrets. Approving the memory reverses it.
    """
    consequence = gettext("recall never returns it, and its neighbours no longer show its words")
    return _set_trust(actor, id_, Trust.QUARANTINED, consequence, reason=reason, dry_run=dry_run)


@one_change
def pin(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Protect a memory from decay and cleanup and put it into every context pack. An agent's pin waits for a curator."""
    return _set_pin(actor, id_, pinned=True, reason=reason, dry_run=dry_run)


@one_change
def unpin(actor: Actor, id_: str | UUID, *, reason: str = "", dry_run: bool = False) -> ChangeResult:
    """Undo a pin."""
    return _set_pin(actor, id_, pinned=False, reason=reason, dry_run=dry_run)


@one_change
def purge(
    actor: Actor, id_: str | UUID, *, reason: str = "", quotes: bool = False, dry_run: bool = False
) -> ChangeResult:
    """Destroy all versions of a memory, by the current one's id: text, words, vectors, log payloads. Irreversible.

    `quotes`: also the memories that quote it, where the actor curates; only for people. A dry run names them, and every
    other place that has the text.

    Raises:
        NotPermitted: the actor may not curate the group, or is an agent and a person verified or pinned the memory.
        InvalidInput: too many memories quote it.
        Conflict: the id is a former version's; the current text may be one that the caller has not seen.
    """
    if quotes:
        require_person(actor, "purge what quotes")
    memory = find_version(actor, id_, right=CURATE)
    if not dry_run:
        require_whole_id(actor, id_, memory, verb="purge")
    head = head_of(memory)
    if head.root_key == memory.root_key:
        refuse_stale(memory.id, memory, head)
    reason = clean_reason(reason)
    refuse_withdrawn_reason(actor, memory.group, reason)
    consequences: tuple[str, ...] = (
        gettext("its text, words, vectors and log payloads are destroyed"),
        barred_line(memory),
    )
    if dry_run:
        consequences = (*consequences, *preview_purge(actor, [memory], quotes=quotes))
        return ChangeResult("purge", memory.id, "purged", memory.trust, 0, consequences, dry_run=True)
    purged = purge_rows(actor, [memory], reason=reason, quotes=quotes)
    certificate, followed = purged.certificate, purged.followed
    return ChangeResult(
        "purge", memory.id, "purged", memory.trust, certificate.memories + followed.changed,
        (*consequences, *followed.consequences), certificate=certificate,
    )  # fmt: skip


def _set_trust(
    actor: Actor,
    id_: str | UUID,
    trust: Trust,
    consequence: str = "",
    *,
    reason: str,
    dry_run: bool,
    follow_up: Callable[[Actor, Memory], tuple[str, ...]] | None = None,
) -> ChangeResult:
    memory = find_head(actor, id_, right=CURATE)
    require_person(actor, f"set the trust '{trust}' of")
    require_state(memory, State.LIVE, verb="set the trust of")
    if memory.trust == trust:
        raise Conflict(f"{memory.id} is already {trust}.")
    if trust == Trust.ACTIVE:
        check_not_barred(actor, memory)
    is_rejected = trust == Trust.REJECTED
    hidden = left_out_with([memory]) if is_rejected else []
    same = None if memory.trust in VISIBLE_TRUSTS else find_counting_same(memory, hidden)

    consequences = _rejection_lines(memory, same, hidden) if is_rejected else (consequence,)
    if trust == Trust.QUARANTINED:
        barred = [memory, *barred_with(memory)]
        hidden = left_out_with(barred)
        consequences = (consequence, barred_line(memory), *also_left_out(barred, hidden))

    def run_follow_up() -> DerivedChanges:
        follow_trust(actor, memory, reason=reason, same=same)
        if trust in WITHDRAWN_TRUSTS:
            return withdraw_derived(actor, find_reach(memory, [memory], hidden=[] if same else hidden))
        return DerivedChanges(consequences=follow_up(actor, memory) if follow_up is not None else ())

    return change_fields(
        actor, memory, Operation.TRUST, {"trust": trust}, consequences,
        reason=reason, dry_run=dry_run, follow_up=run_follow_up, settles=True,
    )  # fmt: skip


def _rejection_lines(memory: Memory, same: Memory | None, hidden: list[Memory]) -> tuple[str, ...]:
    """The consequences of a rejection; `same` counts and has the same text, and recall would leave out `hidden`."""
    if same is None:
        refused = gettext("recall does not return it, and the same text is refused")
        return refused, *also_left_out([memory], hidden)
    return (
        gettext("recall does not return it"),
        gettext(
            "the same text is live as {id}, so no tombstone is created; merge it into that one to keep its wording"
        ).format(id=same.id),
    )


def _set_pin(actor: Actor, id_: str | UUID, *, pinned: bool, reason: str, dry_run: bool) -> ChangeResult:
    # An agent only proposes the pin.
    right = WRITE if pinned and not actor.is_person else CURATE
    find = find_shown if pinned and actor.is_person else find_head
    memory = find(actor, id_, right=right)
    require_state(memory, State.LIVE, verb="pin")
    if memory.pinned == pinned:
        raise Conflict(f"{memory.id} is {'already' if pinned else 'not'} pinned.")
    operation = Operation.PIN if pinned else Operation.UNPIN
    consequence = (
        gettext("decay and cleanup leave it alone")
        if pinned
        else gettext("decay and cleanup treat it like any other memory")
    )
    run = partial(change_fields, actor, memory, operation, {"pinned": pinned}, (consequence,), reason=reason)
    change = Change.PIN if pinned else Change.UNPIN
    return change_or_propose(actor, change, memory, run, reason=reason, dry_run=dry_run)


def _is_retractable(memory: Memory) -> bool:
    """True if the memory is live or hidden, or was superseded by nothing."""
    is_loose = memory.state == State.SUPERSEDED and memory.superseded_by_id is None
    return is_loose or memory.state in (State.LIVE, *RESTORABLE)


_DOUBTFUL: Final = frozenset({Trust.CANDIDATE, Trust.REJECTED, Trust.QUARANTINED})


class Face(StrEnum):
    """An interface that offers verbs by name. Each verb also has a button in the admin."""

    COMMAND = "loci memory VERB ID"
    REST = "POST /api/memories/{id}/VERB"
    AGENTS = "forget_memory"


PEOPLE: Final = (Face.COMMAND, Face.REST)
EVERYBODY: Final = (Face.COMMAND, Face.REST, Face.AGENTS)


@dataclass(frozen=True)
class _VerbButton:
    """A verb on a memory's page. It is shown if `fits`; the verb itself decides what is allowed.

    `order` places it among the buttons, the most common first. `follows`: on an old version's page, it acts on the
    current version. `question` is the title of the page that asks. `other` is the label of the field for the second
    memory, or if the button `takes_group`, for the group.
    """

    label: str
    past: str
    icon: str
    order: int
    fits: Callable[[Memory], bool]
    question: str
    needs_reason: bool = False
    is_dangerous: bool = False
    follows: bool = True
    warnings: tuple[str, ...] = ()
    other: str = ""
    takes_group: bool = False


@dataclass(frozen=True)
class Verb:
    """A verb of a memory.

    `run` takes the actor and the memory's id, the keywords `reason` and `dry_run`, and the arguments named here: the id of
    a second memory, or a group's name, as `other`, a new text as `text`, and if `takes_quotes`, `quotes`. `right` is the right that it needs in the memory's group
    (`people_right` that of people, if agents propose it with less), `help` its line in `loci memory --help`,
    `agents_help` its part of the description of `forget_memory`, and `log_color` the colour of its rows in the audit log:
    warning, danger or none.
    """

    name: str
    run: Callable[..., ChangeResult]
    operation: Operation
    right: str
    help: str
    offered: tuple[Face, ...]
    button: _VerbButton
    other: str = ""
    text: str = ""
    agents_help: str = ""
    log_color: str = ""
    people_right: str = ""
    takes_quotes: bool = False

    def apply(
        self,
        actor: Actor,
        id_: str | UUID,
        *,
        other: str = "",
        text: str = "",
        reason: str = "",
        quotes: bool = False,
        dry_run: bool = False,
    ) -> ChangeResult:
        """Run the verb; arguments that it does not take are ignored. A dry run returns the consequences."""
        ids = (id_, other) if self.other else (id_,)
        taken: dict[str, Any] = {"reason": reason}
        if self.text:
            taken[self.text] = text
        if self.takes_quotes:
            taken["quotes"] = quotes
        return self.run(actor, *ids, dry_run=dry_run, **taken)


def is_live(memory: Memory) -> bool:
    """True if the memory is live."""
    return memory.state == State.LIVE


def _is_doubtful(memory: Memory) -> bool:
    """True if the memory is live and a person has to decide about it."""
    return is_live(memory) and (memory.trust in _DOUBTFUL or bool(doubts_of(memory)))


def _is_verifiable(memory: Memory) -> bool:
    """True if the memory is live and not verified, or disputed since."""
    return is_live(memory) and (memory.trust != Trust.VERIFIED or bool(doubts_of(memory)))


def is_trusted(memory: Memory) -> bool:
    """True if the memory is live and active or verified."""
    return is_live(memory) and memory.trust in VISIBLE_TRUSTS


def _is_former(memory: Memory) -> bool:
    """True for a version whose successor counts now."""
    is_replaced = memory.state == State.SUPERSEDED and memory.superseded_by_id is not None
    return is_replaced and not is_outlasting(memory, timezone.now())


def _is_live_unlike(trust: Trust) -> Callable[[Memory], bool]:
    """A condition: the memory is live and has another trust."""
    return lambda memory: is_live(memory) and memory.trust != trust


# In the order in which commands, REST and MCP list them.
VERBS: Final[dict[str, Verb]] = {
    verb.name: verb
    for verb in (
        Verb("forget", forget, Operation.FORGET, WRITE, "hide it; 'restore' brings it back", EVERYBODY,
             _VerbButton(gettext_noop("Forget"), "forgotten", "visibility_off", 120, is_live, gettext_noop("Forget this memory?")),
             agents_help="forget hides it (restore undoes that)", log_color="warning"),
        Verb("restore", restore, Operation.RESTORE, WRITE,
             "bring it back, undo a merge, or restore a former version", EVERYBODY,
             _VerbButton(gettext_noop("Restore"), "restored", "undo", 100, lambda m: m.state in RESTORABLE, gettext_noop("Restore this memory?"), follows=False)),
        # The same function; only the button differs.
        Verb("restore-version", restore, Operation.RESTORE, WRITE, "restore a former version", (),
             _VerbButton(gettext_noop("Restore this version"), "restored", "history", 110,
                        _is_former, gettext_noop("Restore this version?"), follows=False)),
        Verb("retract", retract, Operation.RETRACT, WRITE, "withdraw it as wrong, and store the right text", EVERYBODY,
             _VerbButton(gettext_noop("Retract"), "retracted", "cancel", 130, _is_retractable, gettext_noop("Retract this memory?"), needs_reason=True, is_dangerous=True),
             text="successor", agents_help="retract: it was wrong, its text stays barred", log_color="danger"),
        Verb("dispute", dispute, Operation.DISPUTE, WRITE, "mark it as doubtful", EVERYBODY,
             _VerbButton(gettext_noop("Flag"), "disputed", "flag", 50, is_trusted, gettext_noop("What is wrong with this memory?"), needs_reason=True),
             agents_help="dispute: you doubt it, recall says so", log_color="warning"),
        Verb("verify", verify, Operation.VERIFY, CURATE, "confirm it", PEOPLE,
             _VerbButton(gettext_noop("Verify"), "verified", "verified", 20, _is_verifiable, gettext_noop("Verify this memory?"))),
        Verb("approve", approve, Operation.TRUST, CURATE, "activate a candidate", PEOPLE,
             _VerbButton(gettext_noop("Approve"), "approved", "check", 10, _is_doubtful, gettext_noop("Approve this memory?"))),
        Verb("reject", reject, Operation.TRUST, CURATE, "reject it; its text is refused from now on", PEOPLE,
             _VerbButton(gettext_noop("Reject"), "rejected", "block", 30, _is_live_unlike(Trust.REJECTED), gettext_noop("Reject this memory?"),
                        needs_reason=True, is_dangerous=True)),
        Verb("quarantine", quarantine, Operation.TRUST, CURATE, "keep its text away from agents", PEOPLE,
             _VerbButton(gettext_noop("Quarantine"), "quarantined", "gpp_bad", 40, _is_live_unlike(Trust.QUARANTINED), gettext_noop("Quarantine this memory?"),
                        needs_reason=True, is_dangerous=True)),
        Verb("pin", pin, Operation.PIN, WRITE, "protect it from decay and put it into every context pack", EVERYBODY,
             _VerbButton(gettext_noop("Pin"), "pinned", "keep", 60, lambda m: is_live(m) and not m.pinned, gettext_noop("Pin this memory?")),
             people_right=CURATE, agents_help="pin asks a person to put it into every context"),
        Verb("unpin", unpin, Operation.UNPIN, CURATE, "remove the pin", PEOPLE,
             _VerbButton(gettext_noop("Unpin"), "unpinned", "keep_off", 70, lambda m: is_live(m) and m.pinned, gettext_noop("Unpin this memory?"))),
        # REST has routes of their own for the verbs that take a second memory, or a group.
        Verb("merge", merge, Operation.MERGE, CURATE, "merge it into another memory", (Face.COMMAND,),
             _VerbButton(gettext_noop("Merge into another"), "merged", "merge", 80, is_live, gettext_noop("Merge this memory into another?"), other=gettext_noop("Merge into")),
             other="into", text="content"),
        Verb("supersede", supersede, Operation.SUPERSEDE, WRITE, "replace it by an existing memory", (Face.COMMAND,),
             _VerbButton(gettext_noop("Replace by another"), "superseded", "swap_horiz", 90, is_live, gettext_noop("Replace this memory by another?"), other=gettext_noop("Replace by")), other="by"),
        Verb("move", move, Operation.MOVE, CURATE, "move it to another group", (Face.COMMAND,),
             _VerbButton(gettext_noop("Move to another group"), "moved", "drive_file_move", 95, is_live, gettext_noop("Move this memory to another group?"), other=gettext_noop("Move to"),
                        takes_group=True),
             other="to"),
        Verb("purge", purge, Operation.PURGE, CURATE, "destroy it irreversibly", EVERYBODY,
             _VerbButton(gettext_noop("Purge"), "purged", "delete_forever", 140, lambda _: True, gettext_noop("Purge this memory?"), needs_reason=True, is_dangerous=True,
                        follows=False, warnings=(gettext_noop("all of its versions are destroyed"), gettext_noop("this cannot be undone"))),
             agents_help="purge destroys it for ever (needs curate)", log_color="danger", takes_quotes=True),
    )
}  # fmt: skip


def offered_by(face: Face) -> dict[str, Verb]:
    """The verbs that an interface offers."""
    return {name: verb for name, verb in VERBS.items() if face in verb.offered}
