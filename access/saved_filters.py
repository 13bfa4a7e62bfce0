"""Filters of lists that people keep: saved, listed and deleted by the person alone whose they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.models import SavedFilter
from access.unstorable_text import refuse_unstorable

MAX_NAME_CHARS = 60
MAX_VALUES = 40  # names with a value in one filter
MAX_VALUE_CHARS = 500
MAX_PER_LIST = 50  # of one person: more than can be looked over above a list
SEARCH_PARAMETER = "q"  # what was searched for, which the log does not keep
FilterValues = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SavedResult:
    """The filter as it is kept now, and whether it took the place of another of the same name."""

    saved: SavedFilter
    is_replaced: bool


def saved_filters(actor: Actor, list_name: str) -> list[SavedFilter]:
    """List the actor's own filters of a list, by name; none for whoever is no person."""
    return list(_own(actor).filter(list_name=list_name))


def save_filter(actor: Actor, *, list_name: str, name: str, asked: FilterValues) -> SavedResult:
    """Keep what a list is narrowed by; under a name that there is, it takes that one's place. One transaction.

    Raises:
        NotPermitted: the actor is no person who is logged in.
        InvalidInput: the name is empty or too long, or there is nothing to keep.
        Conflict: the person keeps as many as may be.
    """
    if not actor.is_person or actor.user_id is None:
        raise NotPermitted("Only a person who is logged in keeps filters.")
    name, pairs = _checked_name(name), _checked(asked)
    with transaction.atomic():
        mine = _own(actor).filter(list_name=list_name)
        before = mine.filter(name=name).first()
        if before is None and mine.count() >= MAX_PER_LIST:
            raise Conflict(f"You keep {MAX_PER_LIST} filters of this list already.", hint="Delete one first.")
        saved, _ = SavedFilter.objects.update_or_create(
            user_id=actor.user_id, list_name=list_name, name=name, defaults={"asked": pairs}
        )
        _log(actor, saved, "save" if before is None else "replace")
    return SavedResult(saved, before is not None)


def find_filter(actor: Actor, filter_id: UUID) -> SavedFilter:
    """Give one of the actor's own filters.

    Raises:
        NotFound: there is none of this id that is the actor's.
    """
    found = _own(actor).filter(id=filter_id).first()
    if found is None:
        raise NotFound("There is no such filter of yours.", hint="It may be deleted already.")
    return found


def delete_filter(actor: Actor, filter_id: UUID) -> SavedFilter:
    """Delete one of the actor's own filters, and give what it was. One transaction.

    Raises:
        NotFound: there is none of this id that is the actor's.
    """
    found = find_filter(actor, filter_id)
    with transaction.atomic():
        if not SavedFilter.objects.filter(pk=found.pk).delete()[0]:
            raise NotFound("There is no such filter of yours.", hint="It may be deleted already.")
        _log(actor, found, "delete")
    return found


def _own(actor: Actor) -> QuerySet[SavedFilter]:
    """Give the filters of a person who is logged in; nothing for anybody else."""
    rows = SavedFilter.objects.all()
    return rows.none() if actor.user_id is None or not actor.is_person else rows.filter(user_id=actor.user_id)


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise InvalidInput("The filter has no name.", hint="Say what it shows.", field="name")
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"The name is longer than {MAX_NAME_CHARS} characters.", field="name")
    refuse_unstorable(name, field="name")
    return name


def _checked(asked: FilterValues) -> list[list[str]]:
    pairs = sorted([name, value] for name, value in asked if value)
    if not pairs:
        raise InvalidInput("The list is not narrowed.", hint="Choose filters or search first.", field="asked")
    if len(pairs) > MAX_VALUES or any(len(part) > MAX_VALUE_CHARS for pair in pairs for part in pair):
        raise InvalidInput(
            f"The filter is too long to be kept: at most {MAX_VALUES} values of {MAX_VALUE_CHARS} characters.",
            field="asked",
        )
    for _, value in pairs:
        refuse_unstorable(value, field="asked")
    return pairs


def _log(actor: Actor, saved: SavedFilter, action: str) -> None:
    said = [pair for pair in saved.asked if pair[0] != SEARCH_PARAMETER]
    payload = {"action": action, "name": saved.name, "list": saved.list_name, "filters": said}
    audit.append(actor, Operation.FILTER, subject=f"filter:{saved.id}", payload=payload)
