"""Closing links: an open one is settled (it was acted on) or dismissed (nothing had to be done)."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from access import audit
from access.actor import CURATE, Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from memories.draft import clean_reason
from memories.models import Link, LinkStatus, Memory
from memories.queries.visibility import as_q, listed_by


def visible_links(actor: Actor) -> QuerySet[Link]:
    """The links between two memories that the actor may see."""
    links = Link.objects.select_related("source__group", "target__group")
    visibility = listed_by(actor, None)
    if visibility.groups is None:
        return links
    seen = Memory.objects.filter(as_q(visibility)).values("key")
    return links.filter(source__in=seen, target__in=seen)


def find_link(actor: Actor, id_: UUID) -> Link:
    """The link of this id, for an actor who curates the group of either end. Raises NotFound or NotPermitted."""
    link = visible_links(actor).filter(id=id_).first()
    if link is None:
        raise NotFound("No link of that id, or you don't have access.")
    if not any(actor.may(CURATE, end.group_id) for end in (link.source, link.target)):
        raise NotPermitted(
            "You may not decide about this link.", hint="Ask a curator of the group of either memory."
        )
    return link


def close_link(actor: Actor, id_: UUID, *, status: str, reason: str = "") -> Link:
    """Settle or dismiss an open link; the actor must curate the group of either end. One transaction.

    Raises:
        NotFound, NotPermitted: see find_link().
        Conflict: it is closed already.
        InvalidInput: the status does not close a link, or the reason is too long.
    """
    if status not in (LinkStatus.SETTLED, LinkStatus.DISMISSED):
        raise InvalidInput(
            f"'{status[:40]}' does not close a link.", hint="Use settled or dismissed.", field="status"
        )
    reason = clean_reason(reason)
    link = find_link(actor, id_)
    with transaction.atomic():
        closed = Link.objects.filter(pk=link.pk, status=LinkStatus.OPEN).update(
            status=status, settled_at=timezone.now(), settled_by=actor.name
        )
        if closed != 1:
            raise Conflict("The link is already closed.", hint="Nothing was changed.")
        payload = {"action": status, "kind": link.kind, "link": str(link.id)}
        payload |= {"target": str(link.target.id), "reason": reason}
        group = link.source.group.id
        audit.append(actor, Operation.LINK, memory_id=link.source.id, group=group, payload=payload)
    link.refresh_from_db(fields=["status", "settled_at", "settled_by"])
    return link
