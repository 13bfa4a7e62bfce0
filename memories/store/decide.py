"""What becomes of a draft, by rules that one store and many at once share."""

from datetime import datetime
from enum import Enum
from typing import NamedTuple

from access.actor import CURATE, WRITE, Actor
from access.errors import Conflict, InvalidInput, NotPermitted
from access.models import Group
from memories.draft import Draft
from memories.models import Memory, Tombstone
from memories.queries.versions import has_lapsed, head_of, head_to_replace
from memories.store import write as writing
from memories.store.existing import StoredSource
from memories.types import Scope, State, Trust, Type


class Fate(Enum):
    """What is to happen with a draft."""

    UNCHANGED = "unchanged"  # its source has said this
    REFUSED = "refused"
    RESTATED = "restated"  # a live memory has this text
    NEW = "new"


class WriteContext(NamedTuple):
    """A draft with what is known of its text; `replaces` is what the caller names, or what its source said before."""

    draft: Draft
    group: Group
    origin: StoredSource | None = None
    replaces: Memory | None = None
    tombstone: Tombstone | None = None
    exact: Memory | None = None
    former: Memory | None = None

    @property
    def replaced(self) -> Memory | None:
        """What would be superseded: a text that was hidden or withdrawn since stays so."""
        return self.replaces if self.replaces is not None and self.replaces.state == State.LIVE else None


class Decision(NamedTuple):
    """What is to happen and why. `memory` has the text already; `lapsed` had it, until its time was over."""

    fate: Fate
    memory: Memory | None = None
    why: str = ""
    lapsed: Memory | None = None


def with_scope(draft: Draft, group: Group, replaces: Memory | None) -> Draft:
    """Give the draft with its scope, where the caller named none.

    Events stay in their group, a private group keeps all, and what replaces a group's memory stays in the group.
    """
    if draft.scope:
        return draft
    is_inner = replaces is not None and replaces.scope == Scope.GROUP
    is_inner = is_inner or group.private or draft.type == Type.EPISODIC
    return draft.in_scope(Scope.GROUP if is_inner else Scope.GLOBAL)


def judge(actor: Actor, case: WriteContext, *, at: datetime) -> Decision:
    """Say what is to happen with a draft; writes nothing.

    Raises:
        InvalidInput: it is global and the group is private, or it would supersede itself.
        NotPermitted: its source's text went on in a group that the actor may not write, or it would make global what
            a group keeps to itself and the actor may not curate there.
    """
    known = case.origin.texts.get(case.draft.hash) if case.origin else None
    if known is not None:
        return Decision(Fate.UNCHANGED, known, "this source's text is stored already")
    if case.replaces is not None and not actor.may(WRITE, case.replaces.group_id):
        writing.refuse_write(case.replaces.group.slug)
    _check_scope(actor, case)
    if case.tombstone is not None:
        said = case.tombstone.reason or "no reason was given"
        return Decision(Fate.REFUSED, None, f"this text was {case.tombstone.kind} here before: {said}")
    exact = case.exact
    if exact is None:
        return Decision(Fate.NEW)
    if has_lapsed(exact, at):
        return Decision(Fate.NEW, lapsed=exact)
    if exact.trust in (Trust.REJECTED, Trust.QUARANTINED):
        return Decision(Fate.REFUSED, exact, f"this text is {exact.trust} here; a curator can change that")
    if case.replaces is not None and case.replaces.key == exact.key:
        raise InvalidInput("A memory cannot supersede itself.", hint="Change the text.", field="supersedes")
    return Decision(Fate.RESTATED, exact)


def doubt_of(actor: Actor, case: WriteContext) -> str:
    """Say why a person has to look at a new text first; empty where nobody has to."""
    if case.former is not None and case.replaces is None:
        current = head_of(case.former)
        return f"this text was superseded by {current.id}; pass supersedes to make it current again"
    return writing.policy_doubt(actor, case.group, case.draft.confidence)


def to_replace(case: WriteContext) -> Memory | None:
    """Give the memory whose place a candidate is to take once it is approved; None where it takes nobody's.

    That is what the caller or the source names; of a text that was superseded, what says otherwise now: a person who
    approves it says that it is true again.
    """
    if case.replaces is not None or case.former is None:
        return case.replaces
    try:
        head = head_to_replace(case.former)
    except Conflict:  # it went into a summary of several
        return None
    return head if head.state == State.LIVE and head.group_id == case.group.key else None


def replacing_doubt(actor: Actor, exact: Memory) -> str:
    """Say why a text that is there already may not take another's place yet; empty where it may."""
    if exact.trust == Trust.CANDIDATE:
        return "what would replace it waits for a curator itself"
    return writing.policy_doubt(actor, exact.group, exact.confidence)


def _check_scope(actor: Actor, case: WriteContext) -> None:
    if case.group.private and case.draft.scope == Scope.GLOBAL:
        raise InvalidInput(
            f"The group '{case.group.slug}' is private: nothing in it is global.",
            hint="Use scope 'group'.",
            field="scope",
        )
    old = case.replaces
    widens = old is not None and old.scope == Scope.GROUP and case.draft.scope == Scope.GLOBAL
    if old is not None and widens and not actor.may(CURATE, old.group_id):
        raise NotPermitted(
            f"You may not make what '{old.group.slug}' keeps to itself global.",
            hint="Use scope 'group', or let a curator of the group store it (a token needs the scope 'curate').",
            field="scope",
        )
