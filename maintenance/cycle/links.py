"""Links that a run makes: kept with it, so that undoing it takes them away again."""

from collections.abc import Sequence
from typing import Any

from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Turn
from memories.models import Link, LinkKind, Memory


def tie(
    recorder: Recorder,
    turn: Turn,
    source: Memory,
    target: Memory,
    *,
    kind: LinkKind,
    score: float | None = None,
    reason: str = "",
    evidence: dict[str, Any] | None = None,
) -> bool:
    """Tie two chains' roots; False where they are tied so already, or are one chain. Inside the batch's transaction."""
    if source.root_key == target.root_key:
        return False
    link, is_new = Link.objects.get_or_create(
        kind=kind,
        source_id=source.root_key,
        target_id=target.root_key,
        defaults={
            "score": score,
            "reason": reason,
            "evidence": evidence or {},
            "created_at": turn.now,
            "author_name": recorder.actor.name,
            "run": recorder.actor.run,
        },
    )
    if is_new:
        recorder.made(link, "status")
    return is_new


def tie_new(
    recorder: Recorder, turn: Turn, source: Memory, targets: Sequence[Memory], *, kind: LinkKind, reason: str
) -> int:
    """Tie a memory that this batch made, and that has no links of the kind yet, to each of several chains."""
    roots = dict.fromkeys(target.root_key for target in targets)
    links = [
        Link(
            kind=kind,
            source_id=source.root_key,
            target_id=root,
            reason=reason,
            created_at=turn.now,
            author_name=recorder.actor.name,
            run=recorder.actor.run,
        )
        for root in roots
    ]
    for link in Link.objects.bulk_create(links):
        recorder.made(link, "status")
    return len(links)
