"""The verbs as buttons: which of them fit a memory as it stands. The verb itself decides what is allowed."""

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
    """A verb as a person sees it. `asks_reason` None: the verb takes none; True: it must be given.

    `follows` says whether the verb acts on the version that counts, whichever version it was called on.
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
    other: str = ""  # how the other memory is asked for, where the verb takes two
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
        """Do it, or with `dry_run` say what would follow; `other` and `content` are for the verbs that take them."""
        extra: dict[str, Any] = {} if self.asks_reason is None else {"reason": reason}
        if self.takes_text:
            extra["content"] = content
        ids = (memory.id, other) if self.other else (memory.id,)
        return self.verb(actor, *ids, dry_run=dry_run, **extra)


def _is_live(memory: Memory) -> bool:
    return memory.state == State.LIVE


def _is_doubtful(memory: Memory) -> bool:
    return _is_live(memory) and memory.trust in DOUBTFUL


def _is_trusted(memory: Memory) -> bool:
    return _is_live(memory) and memory.trust in (Trust.ACTIVE, Trust.VERIFIED)


BUTTONS: dict[str, Button] = {
    button.name: button
    for button in (
        Button("approve", "Approve", "approved", "check", CURATE, verbs.approve, _is_doubtful),
        Button("verify", "Verify", "verified", "verified", CURATE, verbs.verify,
               lambda m: _is_live(m) and m.trust != Trust.VERIFIED),
        Button("reject", "Reject", "rejected", "block", CURATE, verbs.reject,
               lambda m: _is_live(m) and m.trust != Trust.REJECTED, asks_reason=True, is_dangerous=True),
        Button("quarantine", "Quarantine", "quarantined", "gpp_bad", CURATE, verbs.quarantine,
               lambda m: _is_live(m) and m.trust != Trust.QUARANTINED, asks_reason=True, is_dangerous=True),
        Button("dispute", "Dispute", "disputed", "help", WRITE, verbs.dispute, _is_trusted, asks_reason=True),
        Button("pin", "Pin", "pinned", "keep", CURATE, verbs.pin, lambda m: _is_live(m) and not m.pinned,
               asks_reason=None),
        Button("unpin", "Unpin", "unpinned", "keep_off", CURATE, verbs.unpin, lambda m: _is_live(m) and m.pinned,
               asks_reason=None),
        Button("merge", "Merge into another", "merged", "merge", CURATE, verbs.merge, _is_live,
               other="Into the memory", takes_text=True),
        Button("supersede", "Replace by another", "superseded", "swap_horiz", WRITE, verbs.supersede, _is_live,
               other="By the memory"),
        Button("restore", "Restore", "restored", "undo", WRITE, verbs.restore, lambda m: m.state in RESTORABLE,
               follows=False),
        # What was replaced comes back as the newest version.
        Button("restore-version", "Bring this version back", "restored", "history", CURATE, verbs.restore,
               lambda m: m.state == State.SUPERSEDED and m.superseded_by_id is not None, follows=False),
        Button("forget", "Forget", "forgotten", "visibility_off", WRITE, verbs.forget, _is_live),
        Button("retract", "Retract", "retracted", "cancel", WRITE, verbs.retract,
               lambda m: m.state in RETRACTABLE or (m.state == State.SUPERSEDED and m.superseded_by_id is None),
               asks_reason=True, is_dangerous=True),
        Button("purge", "Purge", "purged", "delete_forever", CURATE, verbs.purge, lambda _: True,
               asks_reason=True, is_dangerous=True, follows=False,
               warnings=("every version of it goes", "nothing brings it back")),
    )
}  # fmt: skip


def buttons_for(actor: Actor, memory: Memory) -> list[Button]:
    """List the verbs that fit the memory and that the actor has the right to, the most usual first."""
    return [b for b in BUTTONS.values() if actor.may(b.right, memory.group_id) and b.fits(memory)]
