"""Saved list filters: saved, listed and deleted by their owner only."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from access import audit
from access.actor import Actor
from access.audit.operations import Operation
from access.errors import Conflict, InvalidInput, NotFound, NotPermitted
from access.groups.guarding import mask_words
from access.models import SavedFilter
from access.unstorable_text import refuse_unstorable

MAX_NAME_CHARS = 60
MAX_VALUES = 40  # names with a value in one filter
MAX_VALUE_CHARS = 500
MAX_PER_LIST = 50  # per person: more would not fit above a list
SEARCH_PARAMETER = "q"  # the searched words, which the log does not store
FilterValues = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class SavedResult:
    """The saved filter, and whether it replaced one with the same name."""

    saved: SavedFilter
    is_replaced: bool


def saved_filters(actor: Actor, list_name: str) -> list[SavedFilter]:
    """The actor's own filters of a list, by name; empty if the actor is not a person."""
    return list(_own_filters(actor).filter(list_name=list_name))


def save_filter(actor: Actor, *, list_name: str, name: str, values: FilterValues) -> SavedResult:
    """Save the values that narrow a list, replacing a filter with the same name. One transaction.

    Raises:
        NotPermitted: the actor is not a logged-in person.
        InvalidInput: the name is empty or too long, or there are no values.
        Conflict: the person has reached the maximum number of filters.
    """
    if not actor.is_person or actor.user_id is None:
        raise NotPermitted("Only a logged-in person can save filters.")
    name, pairs = mask_words(clean_name(name))[:MAX_NAME_CHARS], clean_values(values)
    with transaction.atomic():
        own = _own_filters(actor).filter(list_name=list_name)
        before = own.filter(name=name).first()
        if before is None and own.count() >= MAX_PER_LIST:
            raise Conflict(f"You have {MAX_PER_LIST} filters of this list already.", hint="Delete one first.")
        saved, _ = SavedFilter.objects.update_or_create(
            user_id=actor.user_id, list_name=list_name, name=name, defaults={"asked": pairs}
        )
        _log(actor, saved, "save" if before is None else "replace")
    return SavedResult(saved, before is not None)


def find_filter(actor: Actor, filter_id: UUID) -> SavedFilter:
    """One of the actor's own filters.

    Raises:
        NotFound: the actor has no filter with this id.
    """
    found = _own_filters(actor).filter(id=filter_id).first()
    if found is None:
        raise NotFound("You have no such filter.", hint="It may have been deleted already.")
    return found


def delete_filter(actor: Actor, filter_id: UUID) -> SavedFilter:
    """Delete one of the actor's own filters and return it. One transaction.

    Raises:
        NotFound: the actor has no filter with this id.
    """
    found = find_filter(actor, filter_id)
    with transaction.atomic():
        if not SavedFilter.objects.filter(pk=found.pk).delete()[0]:
            raise NotFound("You have no such filter.", hint="It may have been deleted already.")
        _log(actor, found, "delete")
    return found


def clean_name(name: str) -> str:
    """The name with single spaces; raises InvalidInput if it is empty, too long or not storable."""
    name = " ".join(name.split())
    if not name:
        raise InvalidInput("The filter has no name.", hint="Name it after what it shows.", field="name")
    if len(name) > MAX_NAME_CHARS:
        raise InvalidInput(f"The name is longer than {MAX_NAME_CHARS} characters.", field="name")
    refuse_unstorable(name, field="name")
    return name


def clean_values(values: FilterValues) -> list[list[str]]:
    """The non-empty values as sorted pairs; raises InvalidInput if there are none, too many or not storable ones."""
    pairs = sorted(
        [name, value] for name, value in ((name, mask_words(value)) for name, value in values) if value
    )
    if not pairs:
        raise InvalidInput("The list is not filtered.", hint="Choose filters or search first.", field="asked")
    if len(pairs) > MAX_VALUES or any(len(part) > MAX_VALUE_CHARS for pair in pairs for part in pair):
        raise InvalidInput(
            f"The filter is too long to save: at most {MAX_VALUES} values of {MAX_VALUE_CHARS} characters.",
            field="asked",
        )
    for _, value in pairs:
        refuse_unstorable(value, field="asked")
    return pairs


def _own_filters(actor: Actor) -> QuerySet[SavedFilter]:
    """The filters of a logged-in person; none for any other actor."""
    rows = SavedFilter.objects.all()
    return rows.none() if actor.user_id is None or not actor.is_person else rows.filter(user_id=actor.user_id)


def _log(actor: Actor, saved: SavedFilter, action: str) -> None:
    filters = [pair for pair in saved.asked if pair[0] != SEARCH_PARAMETER]
    payload = {"action": action, "name": saved.name, "list": saved.list_name, "filters": filters}
    audit.append(actor, Operation.FILTER, subject=f"filter:{saved.id}", payload=payload)
