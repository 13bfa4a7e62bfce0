"""Filters of the list of memories beyond its own columns."""

from typing import Any

from django.contrib import admin
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from unfold.contrib.filters.admin import TextFilter

from access.admin.caller import actor_of
from access.groups import entered_groups
from memories.models import Memory
from memories.queries.expressions import HasTag
from memories.queries.labels import is_doubted


class GroupFilter(admin.SimpleListFilter):
    """Filter by a group that the caller may enter; no other name is shown."""

    title = "group"
    parameter_name = "group"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The names of the groups."""
        return [(group.slug, group.slug) for group in entered_groups(actor_of(request))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The rows of the chosen group."""
        return queryset.filter(group__slug=self.value()) if self.value() else queryset


class DoubtFilter(admin.SimpleListFilter):
    """Filter by open doubts."""

    title = "doubt"
    parameter_name = "doubt"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The one choice beyond all."""
        return [("open", gettext("disputed"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        """The memories with an open doubt."""
        return queryset.filter(is_doubted()) if self.value() else queryset


class TagFilter(TextFilter):  # type: ignore[misc]  # unfold has no types
    """Filter by one typed tag: a list of all tags would have to read every row."""

    title = "tag"
    parameter_name = "tag"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Memory]) -> QuerySet[Memory]:
        """The memories with the tag."""
        tag = (self.value() or "").strip().lower()
        return queryset.filter(HasTag(F("tags"), tag)) if tag else queryset
