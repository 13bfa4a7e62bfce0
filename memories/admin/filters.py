"""Filters of the list of memories beyond its own columns, and its search through the keyword index."""

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat, StrIndex
from django.http import HttpRequest
from django.utils.translation import gettext
from unfold.contrib.filters.admin import TextFilter

from access.actor import Actor
from access.admin.caller import actor_of
from access.errors import InvalidInput, NotFound
from access.groups import entered_groups
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.queries.labels import is_doubted
from memories.queries.versions import full_id
from memories.queries.visibility import listed_by
from memories.search.base import search_index
from memories.search.query_terms import match_for
from memories.types import State


class ColumnFilter(admin.SimpleListFilter):
    """A filter by one value of a column, which has the filter's name unless `column` names another."""

    column: ClassVar[str] = ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        column = self.column or str(self.parameter_name)
        return queryset.filter(**{column: self.value()}) if self.value() else queryset


class GroupFilter(ColumnFilter):
    """Filter by a group that the caller may enter; no other name is shown."""

    title = "group"
    parameter_name = "group"
    column = "group__slug"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(group.slug, group.slug) for group in entered_groups(actor_of(request))]


class DoubtFilter(admin.SimpleListFilter):
    """Filter by open doubts."""

    title = "doubt"
    parameter_name = "doubt"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", gettext("disputed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        return queryset.filter(is_doubted()) if self.value() else queryset


class OwnFilter(admin.SimpleListFilter):
    """Filter by what the caller stored, and what agents stored with the caller's tokens, without former texts."""

    title = "mine"
    parameter_name = "mine"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("1", gettext("mine"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        if not self.value():
            return queryset
        own = queryset.filter(author=actor_of(request).user_id)
        return own.exclude(state__in=(State.SUPERSEDED, State.MERGED))


class SummaryFilter(admin.SimpleListFilter):
    """Events behind summaries: those of one, all, or, where nothing is searched for, none."""

    title = "summary"
    parameter_name = "summary"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("any", gettext("events behind summaries"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        wanted = self.value()
        if not wanted:
            return queryset if request.GET.get("q") else queryset.filter(summary=None)
        if wanted == "any":
            return queryset.exclude(summary=None)
        try:
            return queryset.filter(summary__id=UUID(wanted))
        except ValueError:
            return queryset.none()


class TagFilter(TextFilter):  # type: ignore[misc]  # unfold has no types
    """Filter by one typed tag: a list of all tags would have to read every row."""

    title = "tag"
    parameter_name = "tag"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        tag = (self.value() or "").strip().lower()
        return queryset.filter(HasTag(F("tags"), tag)) if tag else queryset


SEARCH_LIMIT = 200  # best matches: after four pages, better words help more than further results


def find_by_words(actor: Actor, rows: QuerySet[Memory], term: str, *, best_first: bool) -> QuerySet[Memory]:
    """The best matches for the words among the rows, or the memory whose id was typed."""
    try:
        return rows.filter(id=full_id(actor, term))
    except (InvalidInput, NotFound):
        match = match_for(term)
    if match is None:
        return rows.none()
    keys = [hit.key for hit in search_index().keyword(match, listed_by(actor, None), limit=SEARCH_LIMIT)]
    found = rows.filter(key__in=keys)
    if not best_first or not keys:
        return found
    # One string with all keys in order: the ORM took 20 ms to compile a CASE with as many branches.
    order = Value(f",{','.join(map(str, keys))},")
    comma = Value(",", output_field=TextField())  # PostgreSQL joins texts of one type alone
    return found.order_by(StrIndex(order, Concat(comma, Cast("key", TextField()), comma)))
