"""Relations that an importer found: each is stored once."""

from typing import Final

from access import audit
from access.actor import WRITE, Actor
from access.audit.operations import Operation
from access.errors import InvalidInput, LociError
from access.groups import find_group
from access.models import AuditEntry
from memories.entities.store_relation import RelationDraft, check_relation, find_entity, store_relation
from relations.models import Relation

MAX_NAME_CHARS: Final = 80  # longer ones are no names by which an entity is found
UNDO_SUBJECT: Final = "undo:"  # of the log row of an undone import, before its run's id


def import_relation(actor: Actor, draft: RelationDraft, *, dry_run: bool) -> bool:
    """Store a relation between two entities by their names; False if it is known, or was and a person ended it.

    Raises:
        LociError: it cannot be stored.
    """
    for name in (draft.subject, draft.object):
        if len(name) > MAX_NAME_CHARS:
            raise InvalidInput(f"The name '{name[:40]}…' is too long for a relation.", field="subject")
    if _is_known(actor, draft):
        return False
    if not dry_run:
        store_relation(actor, draft)
    return True


def _is_known(actor: Actor, draft: RelationDraft) -> bool:
    """True if the relation is stored, whether it counts or not; one that an undone import made is not."""
    predicate = check_relation(draft)
    try:
        group = find_group(actor, draft.group, right=WRITE)
    except LociError:
        return False
    subject, object_ = find_entity(actor, group, draft.subject), find_entity(actor, group, draft.object)
    if subject is None or object_ is None:
        return False
    same = Relation.objects.filter(
        group=group, subject=subject.root_key, predicate=predicate, object=object_.root_key
    )
    return any(row.retired_at is None or not is_undone(str(row.run or "")) for row in same)


def is_undone(run: str) -> bool:
    """True if an import was undone."""
    rows = AuditEntry.objects.filter(origin=audit.OWN, operation=Operation.IMPORT)
    return bool(run) and rows.filter(subject=f"{UNDO_SUBJECT}{run}").exists()
