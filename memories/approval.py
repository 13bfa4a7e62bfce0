"""What approving a candidate brings with it: it takes the place of what it was written to replace."""

from django.utils import timezone

from access.actor import Actor
from memories import writing
from memories.chains import head_of
from memories.models import Link, LinkKind, LinkStatus, Memory
from memories.types import Operation, State


def carry_out_approval(actor: Actor, memory: Memory) -> int:
    """Supersede what the memory was to replace, where that still counts; give how many. Inside the transaction.

    A correction that was queued as an edit says that the old text was never right, so its record time ends as well.
    """
    done = 0
    waiting = Link.objects.filter(source=memory.root_key, kind=LinkKind.CONFLICT, status=LinkStatus.OPEN)
    for tie in waiting.select_related("target__group", "target__thread"):
        operation = tie.evidence.get(writing.ON_APPROVAL)
        old = head_of(tie.target)
        if operation and old.state == State.LIVE and old.key != memory.key:
            writing.supersede(actor, old, memory)
            if operation == Operation.EDIT:
                Memory.objects.filter(pk=old.pk).update(
                    retired_at=timezone.now(), valid_to=None, valid_to_known_at=None
                )
            done += 1
        if operation:
            Link.objects.filter(pk=tie.pk).update(
                status=LinkStatus.SETTLED, settled_at=timezone.now(), settled_by=actor.name
            )
    return done
