"""Links that a run creates, recorded so that undo removes them."""

from collections.abc import Sequence

from maintenance.cycle.recorder import Recorder
from maintenance.cycle.step import Turn
from memories.models import Link, LinkKind, Memory


def create_links(
    recorder: Recorder, turn: Turn, source: Memory, targets: Sequence[Memory], *, kind: LinkKind, reason: str
) -> int:
    """Link a memory to each of several chains; return the number of links.

    The memory was created in this batch, so it has no links of this kind yet.
    """
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
    return len(Link.objects.bulk_create(links))
