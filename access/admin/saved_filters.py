"""Lists whose filters a person may keep: the bar above the list, and what its buttons call."""

from copy import copy
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    QueryDict,
)
from django.urls import URLPattern, path

from access.admin.caller import actor_of
from access.admin.page import LociAdmin
from access.errors import InvalidInput, LociError
from access.models import SavedFilter
from access.saved_filters import delete_filter, find_filter, save_filter, saved_filters

# What an address says beside what the list is narrowed by: the page, an error, everything at once.
IGNORED_PARAMETERS = frozenset({"p", "e", "all", "_changelist_filters", "_popup", "_to_field"})


@dataclass(frozen=True)
class SavedFilterLink:
    """A filter as the bar shows it. `is_here`: it is what the list shows now."""

    name: str
    url: str
    delete_url: str
    is_here: bool


@dataclass(frozen=True)
class FilterBar:
    """What stands above a list. `query` is what may be saved now; empty where nothing is narrowed or it is saved already."""

    kept: tuple[SavedFilterLink, ...]
    query: str
    save_url: str


class SavedFiltersMixin(LociAdmin):
    """A list with saved filters; its template includes `admin/loci/saved_filters.html`."""

    def get_urls(self) -> list[URLPattern]:
        """Add what saves and what deletes, before any address that takes a row's id."""
        view = self.admin_site.admin_view
        return [
            path("filters/save/", view(self.save_filter_view), name=self._page("filter_save")),
            path(
                "filters/<str:filter_id>/delete/",
                view(self.delete_filter_view),
                name=self._page("filter_delete"),
            ),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the list under the caller's own filters."""
        extra = {"filter_bar": self._bar(request), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def save_filter_view(self, request: HttpRequest) -> HttpResponse:
        """Keep what the list is narrowed by under the name that was typed."""
        if not self.has_view_permission(request):
            raise PermissionDenied("You may not see this list, so there is no filter of it to keep.")
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        query = request.POST.get("query", "")
        back = f"{self.url('changelist')}?{query}"
        try:
            asked = self._checked(request, query)
            name = request.POST.get("name", "")
            done = save_filter(actor_of(request), list_name=self.opts.label_lower, name=name, asked=asked)
        except LociError as refusal:
            messages.error(request, str(refusal))
            is_lost = isinstance(refusal, InvalidInput) and refusal.field == "asked"
            return HttpResponseRedirect(self.url("changelist") if is_lost else back)
        said = "It now shows this list." if done.is_replaced else "It stands above the list, for you alone."
        messages.success(request, f"Saved as “{done.saved.name}”. {said}")
        return HttpResponseRedirect(back)

    def delete_filter_view(self, request: HttpRequest, filter_id: str) -> HttpResponse:
        """Delete one of the caller's own filters."""
        try:
            found = find_filter(actor_of(request), UUID(filter_id))
        except ValueError:
            raise Http404 from None
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        delete_filter(actor_of(request), found.id)
        messages.success(request, f"The filter “{found.name}” is deleted. No memory was touched.")
        return HttpResponseRedirect(self.url("changelist"))

    def _bar(self, request: HttpRequest) -> FilterBar:
        here = _pairs(request.GET)
        kept = tuple(
            self._shown(saved, here) for saved in saved_filters(actor_of(request), self.opts.label_lower)
        )
        is_new = bool(here) and not any(one.is_here for one in kept)
        return FilterBar(kept, _query(here) if is_new else "", self.url("filter_save"))

    def _shown(self, saved: SavedFilter, here: list[list[str]]) -> SavedFilterLink:
        url = f"{self.url('changelist')}?{_query(saved.asked)}"
        return SavedFilterLink(saved.name, url, self.url("filter_delete", saved.id), saved.asked == here)

    def _checked(self, request: HttpRequest, query: str) -> list[tuple[str, str]]:
        """Give what an address narrows this list by.

        Raises:
            InvalidInput: the list knows no such filter, or no such value.
        """
        asked = copy(request)
        asked.method, asked.GET = "GET", QueryDict(query)
        try:
            self.get_changelist_instance(asked)
        except (IncorrectLookupParameters, SuspiciousOperation, ValueError):
            raise InvalidInput(
                "The list has no such filter.", hint="Open the list and choose.", field="asked"
            ) from None
        return [(name, value) for name, value in _pairs(asked.GET)]

    def _page(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"


def _query(pairs: list[list[str]]) -> str:
    return urlencode([(name, value) for name, value in pairs])


def _pairs(asked: QueryDict) -> list[list[str]]:
    """Give what an address narrows by, in one order, so that the same filter is known again."""
    pairs = [[name, value] for name, values in asked.lists() for value in values]
    return sorted(pair for pair in pairs if pair[0] not in IGNORED_PARAMETERS and pair[1])
