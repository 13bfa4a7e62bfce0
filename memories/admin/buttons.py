"""The verbs as buttons, and which of them fit a memory's state and trust. The verb itself decides what is allowed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from access.actor import CURATE, WRITE, Actor
from memories.lifecycle import verbs
from memories.lifecycle.verbs import ChangeResult
from memories.models import Memory
from memories.types import State, Trust

RESTORABLE = frozenset({State.FORGOTTEN, State.EXPIRED, State.COMPACTED, State.MERGED})
RETRACTABLE = RESTORABLE | {State.LIVE}
DOUBTFUL = frozenset({Trust.CANDIDATE, Trust.DISPUTED, Trust.REJECTED, Trust.QUARANTINED})


@dataclass(frozen=True)
class Button:
    """A verb as a button. `asks_reason` None: the verb takes no reason; True: the reason is required.

    `follows` is True if the verb acts on the current version, whichever version it was called on.
    """

    name: str
    label: str
    past: str
    icon: str
    right: str
    verb: Callable[..., ChangeResult]
    fits: Callable[[Memory], bool]
    asks_reason: bool | None = False
    is_dangerous: bool = False
    follows: bool = True
    warnings: tuple[str, ...] = ()
    other: str = ""  # the label of the other memory's field, if the verb takes two
    takes_text: bool = False

    def press(
        self,
        actor: Actor,
        memory: Memory,
        *,
        other: str = "",
        content: str = "",
        reason: str = "",
        dry_run: bool = False,
    ) -> ChangeResult:
        """Run the verb; a dry run returns the consequences. `other` and `content` are for the verbs that take them."""
        extra: dict[str, Any] = {} if self.asks_reason is None else {"reason": reason}
        if self.takes_text:
            extra["content"] = content
        ids = (memory.id, other) if self.other else (memory.id,)
        return self.verb(actor, *ids, dry_run=dry_run, **extra)


def is_live(memory: Memory) -> bool:
    """True if the memory is live."""
    return memory.state == State.LIVE


def is_doubtful(memory: Memory) -> bool:
    """True if the memory is live and somebody has to decide about it."""
    return is_live(memory) and memory.trust in DOUBTFUL


def is_trusted(memory: Memory) -> bool:
    """True if the memory is live and active or verified."""
    return is_live(memory) and memory.trust in (Trust.ACTIVE, Trust.VERIFIED)


BUTTONS: dict[str, Button] = {
    button.name: button
    for button in (
        Button("approve", "Approve", "approved", "check", CURATE, verbs.approve, is_doubtful),
        Button("verify", "Verify", "verified", "verified", CURATE, verbs.verify,
               lambda m: is_live(m) and m.trust != Trust.VERIFIED),
        Button("reject", "Reject", "rejected", "block", CURATE, verbs.reject,
               lambda m: is_live(m) and m.trust != Trust.REJECTED, asks_reason=True, is_dangerous=True),
        Button("quarantine", "Quarantine", "quarantined", "gpp_bad", CURATE, verbs.quarantine,
               lambda m: is_live(m) and m.trust != Trust.QUARANTINED, asks_reason=True, is_dangerous=True),
        Button("dispute", "Dispute", "disputed", "help", WRITE, verbs.dispute, is_trusted, asks_reason=True),
        Button("pin", "Pin", "pinned", "keep", CURATE, verbs.pin, lambda m: is_live(m) and not m.pinned,
               asks_reason=None),
        Button("unpin", "Unpin", "unpinned", "keep_off", CURATE, verbs.unpin, lambda m: is_live(m) and m.pinned,
               asks_reason=None),
        Button("merge", "Merge into another", "merged", "merge", CURATE, verbs.merge, is_live,
               other="Merge into", takes_text=True),
        Button("supersede", "Replace by another", "superseded", "swap_horiz", WRITE, verbs.supersede, is_live,
               other="Replace by"),
        Button("restore", "Restore", "restored", "undo", WRITE, verbs.restore, lambda m: m.state in RESTORABLE,
               follows=False),
        # A superseded version comes back as the newest version.
        Button("restore-version", "Restore this version", "restored", "history", CURATE, verbs.restore,
               lambda m: m.state == State.SUPERSEDED and m.superseded_by_id is not None, follows=False),
        Button("forget", "Forget", "forgotten", "visibility_off", WRITE, verbs.forget, is_live),
        Button("retract", "Retract", "retracted", "cancel", WRITE, verbs.retract,
               lambda m: m.state in RETRACTABLE or (m.state == State.SUPERSEDED and m.superseded_by_id is None),
               asks_reason=True, is_dangerous=True),
        Button("purge", "Purge", "purged", "delete_forever", CURATE, verbs.purge, lambda _: True,
               asks_reason=True, is_dangerous=True, follows=False,
               warnings=("all of its versions are destroyed", "this cannot be undone")),
    )
}  # fmt: skip


def buttons_for(actor: Actor, memory: Memory) -> list[Button]:
    """The buttons that fit the memory and that the actor has the right to use, most common first."""
    return [b for b in BUTTONS.values() if actor.may(b.right, memory.group_id) and b.fits(memory)]
