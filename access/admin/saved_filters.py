"""Saved filters of a list: the bar above the list and the views behind its buttons."""

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
from django.utils.translation import gettext

from access.admin.caller import actor_of
from access.admin.page import LociAdmin
from access.errors import InvalidInput, LociError
from access.models import SavedFilter
from access.saved_filters import delete_filter, find_filter, save_filter, saved_filters

# Parameters that are not filters: the page, an error, "show all" and Django's own.
IGNORED_PARAMETERS = frozenset({"p", "e", "all", "_changelist_filters", "_popup", "_to_field"})


@dataclass(frozen=True)
class SavedFilterLink:
    """A filter in the bar. `is_here` is True if the list shows it now."""

    name: str
    url: str
    delete_url: str
    is_here: bool


@dataclass(frozen=True)
class FilterBar:
    """The bar above a list. `query` is the filter that can be saved; empty if there is none or it is saved already."""

    saved: tuple[SavedFilterLink, ...]
    query: str
    save_url: str


class SavedFiltersMixin(LociAdmin):
    """A list with saved filters; its template includes `admin/loci/saved_filters.html`."""

    def get_urls(self) -> list[URLPattern]:
        """The URLs that save and delete, before any URL with a row's id."""
        view = self.admin_site.admin_view
        return [
            path("filters/save/", view(self.save_filter_view), name=self._url_name("filter_save")),
            path(
                "filters/<str:filter_id>/delete/",
                view(self.delete_filter_view),
                name=self._url_name("filter_delete"),
            ),
            *super().get_urls(),
        ]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list below the caller's own filters."""
        extra = {"filter_bar": self._bar(request), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def save_filter_view(self, request: HttpRequest) -> HttpResponse:
        """Save the current filter of the list under the submitted name."""
        if not self.has_view_permission(request):
            raise PermissionDenied(gettext("You may not see this list, so you cannot save a filter of it."))
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        query = request.POST.get("query", "")
        back = f"{self.url('changelist')}?{query}"
        try:
            values = self._parse_filter(request, query)
            name = request.POST.get("name", "")
            result = save_filter(actor_of(request), list_name=self.opts.label_lower, name=name, values=values)
        except LociError as error:
            messages.error(request, str(error))
            is_unusable = isinstance(error, InvalidInput) and error.field == "asked"
            return HttpResponseRedirect(self.url("changelist") if is_unusable else back)
        effect = (
            gettext("It replaces the one of that name.")
            if result.is_replaced
            else gettext("Only you see it above the list.")
        )
        messages.success(
            request, gettext("Saved as “{name}”. {effect}").format(name=result.saved.name, effect=effect)
        )
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
        messages.success(
            request, gettext("The filter “{name}” is deleted. No memory was changed.").format(name=found.name)
        )
        return HttpResponseRedirect(self.url("changelist"))

    def _bar(self, request: HttpRequest) -> FilterBar:
        here = filter_pairs(request.GET)
        links = tuple(
            self._link(saved, here) for saved in saved_filters(actor_of(request), self.opts.label_lower)
        )
        is_new = bool(here) and not any(link.is_here for link in links)
        return FilterBar(links, build_query(here) if is_new else "", self.url("filter_save"))

    def _link(self, saved: SavedFilter, here: list[list[str]]) -> SavedFilterLink:
        url = f"{self.url('changelist')}?{build_query(saved.asked)}"
        return SavedFilterLink(saved.name, url, self.url("filter_delete", saved.id), saved.asked == here)

    def _parse_filter(self, request: HttpRequest, query: str) -> list[tuple[str, str]]:
        """The filter in a query string.

        Raises:
            InvalidInput: the list has no such filter, or the filter has no such value.
        """
        probe = copy(request)
        probe.method, probe.GET = "GET", QueryDict(query)
        try:
            self.get_changelist_instance(probe)
        except (IncorrectLookupParameters, SuspiciousOperation, ValueError):
            raise InvalidInput(
                gettext("The list has no such filter."),
                hint=gettext("Open the list and choose a filter."),
                field="asked",
            ) from None
        return [(name, value) for name, value in filter_pairs(probe.GET)]

    def _url_name(self, name: str) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"


def build_query(pairs: list[list[str]]) -> str:
    """The pairs as a query string."""
    return urlencode([(name, value) for name, value in pairs])


def filter_pairs(query: QueryDict) -> list[list[str]]:
    """The filter parameters of a query string as sorted pairs, so that equal filters compare equal."""
    pairs = [[name, value] for name, values in query.lists() for value in values]
    return sorted(pair for pair in pairs if pair[0] not in IGNORED_PARAMETERS and pair[1])
