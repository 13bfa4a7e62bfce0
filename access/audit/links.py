"""The chain of heads: each of its rows links the ends of the chains that have grown since the last one."""

from django.db import transaction
from django.db.models import F, QuerySet

from access import audit
from access.actor import Actor
from access.audit.chains import HEADS, OWN
from access.audit.operations import Operation
from access.models import AuditHead


def has_unlinked() -> bool:
    """True if a chain has grown since it was last linked."""
    return unlinked_heads().exists()


def link_heads(actor: Actor) -> None:
    """Link the ends of the chains that have grown since the last time, in one row; none if nothing has."""
    if not has_unlinked():
        return
    with transaction.atomic():
        heads = list(unlinked_heads().select_for_update().order_by("chain"))
        if not heads:
            return
        payload = {"chains": {head.chain: [head.seq, head.hash] for head in heads}}
        row = audit.append(actor, Operation.HEADS, chain=HEADS, payload=payload)
        linked = AuditHead.objects.filter(pk__in=[head.pk for head in heads])
        linked.update(linked=F("seq"), linked_in=row.seq)


def unlinked_heads() -> QuerySet[AuditHead]:
    """The heads of this store's chains that have grown since they were last linked."""
    return AuditHead.objects.filter(origin=OWN, seq__gt=F("linked")).exclude(chain=HEADS)


def unlink_dropped(through: int) -> None:
    """Have the chains linked anew whose last link is a row of the chain of heads that retention dropped."""
    AuditHead.objects.filter(origin=OWN, linked_in__range=(1, through)).update(linked=0, linked_in=0)
