"""Base of all admin pages: visible rows only, identified by UUID, changed through services only."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ORDER_VAR
from django.core.exceptions import ValidationError
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy
from unfold.admin import ModelAdmin
from unfold.templatetags.unfold_list import result_headers
from unfold.views import ChangeList

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import Label, in_words
from access.admin.list_rows import draw_rows
from access.errors import InvalidInput


@dataclass(frozen=True)
class _FilterChip:
    """A filter above a list; its link sets it, or removes it if it is active."""

    label: str
    url: str
    is_active: bool


def _filter_chips(cl: Any) -> list[_FilterChip]:
    """The list's quick filters, then every other active one, such as those chosen under *Filters*."""
    active = {name: value for name, value in cl.params.items() if value}
    quick = [_quick_chip(cl, active, *each) for each in cl.model_admin.quick_filters]
    shown = {(name, value) for _, name, value in cl.model_admin.quick_filters}
    others = [
        _FilterChip(
            gettext("{name}: {value}").format(name=spec.title, value=_chosen_label(cl, spec, active[name])),
            cl.get_query_string(remove=[name]),
            True,
        )
        for spec in cl.filter_specs
        for name in spec.expected_parameters()
        if name in active and (name, active[name]) not in shown
    ]
    return [*quick, *others]


def _quick_chip(cl: Any, active: dict[str, str], label: str, name: str, value: str) -> _FilterChip:
    """A chip that sets the parameter, or removes it if it has this value."""
    is_active = active.get(name) == value
    # A page number of the longer list would lead past the end of the shorter one.
    new, old = ({}, [name, "p"]) if is_active else ({name: value}, ["p"])
    return _FilterChip(in_words(label), cl.get_query_string(new, remove=old), is_active)


def _chosen_label(cl: Any, spec: Any, value: str) -> str:
    """The value of an active filter as its choices name it."""
    named = [
        str(each["display"]) for each in spec.choices(cl) if each.get("selected") and each.get("display")
    ]
    # "live: current" explains itself in the drawer.
    return re.split("[:：]", named[0])[0] if named else value


MAX_COUNTED_ROWS = 10_000  # rows; a list is narrowed by filters and search long before its 200th page


class _BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Counts at most MAX_COUNTED_ROWS rows, so that a page costs the same in a store of a million.

    `is_cut` is True, after counting, if there are more. A page's keys are read first: an index that covers the filters
    holds them, so skipped rows are never read.
    """

    is_cut = False

    @cached_property
    def count(self) -> int:
        """The number of rows, at most MAX_COUNTED_ROWS."""
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin always gives a query
        counted = rows.order_by()[: MAX_COUNTED_ROWS + 1].count()
        self.is_cut = counted > MAX_COUNTED_ROWS
        return min(counted, MAX_COUNTED_ROWS)

    def page(self, number: int | str) -> Page:  # type: ignore[type-arg]  # as above
        """The rows of a page in order, with two queries."""
        number = self.validate_number(number)
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # as above
        start = (number - 1) * self.per_page
        keys = list(rows.values_list("pk", flat=True)[start : min(start + self.per_page, self.count)])
        return Page(rows.filter(pk__in=keys), number, self)


_UNSORTED_MESSAGE = gettext_lazy(
    "The list has more than {max_counted_rows:,} rows and is shown in its default order. Filter it to sort it."
).format(max_counted_rows=MAX_COUNTED_ROWS)


class _LociChangeList(ChangeList):  # type: ignore[misc]  # unfold has no types
    """A list whose links identify rows by the admin's `named_by`."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.pk_attname = self.model_admin.named_by

    queryset: QuerySet[Any]

    def get_results(self, request: HttpRequest) -> None:
        """Read the rows of the page; a list beyond the counted rows is not sorted by a column, which would read all of it."""
        if ORDER_VAR in self.params:
            counted = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
            if counted.count and counted.is_cut:
                del self.params[ORDER_VAR]
                self.queryset = self.queryset.order_by(*self.model_admin.get_ordering(request))
                messages.info(request, _UNSORTED_MESSAGE)
        super().get_results(request)
        if not self.multi_page:
            self.result_list = self.paginator.page(1).object_list
        self.model_admin.prepare_rows(request, self.result_list)  # read once: the page shows the same objects
        # Rows without the filters are not counted, and the page must not offer to show them.
        self.full_result_count = self.result_count

    def get_filters(self, request: HttpRequest) -> Any:
        """Django's filters, with their titles in the reader's language."""
        found = super().get_filters(request)
        for spec in found[0]:
            spec.title = in_words(spec.title)
        return found

    @cached_property
    def table(self) -> dict[str, Any]:
        """The context of list_table.html: the headers, the number of sorted ones and the rows."""
        headers = list(result_headers(self))
        for header in headers:  # of a plain field, its name in the model
            header["text"] = in_words(header["text"])
        return {
            "headers": headers,
            "sorted": sum(bool(header["sortable"] and header["sorted"]) for header in headers),
            "rows": draw_rows(self, [header["text"] for header in headers]),
        }

    @cached_property
    def chips(self) -> list[_FilterChip]:
        """The chips above the list."""
        return _filter_chips(self)


def render_in_site(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> TemplateResponse:
    """A page inside the site's frame."""
    request.current_app = admin.site.name
    return TemplateResponse(request, template, admin.site.each_context(request) | context, status=status)


@dataclass(frozen=True)
class Secret:
    """What a page shows once: its name with a remark, the text, and a line below."""

    name: str
    text: str
    remark: str = ""
    below: str = ""


def render_secrets(request: HttpRequest, secrets: Iterable[Secret], context: dict[str, Any]) -> HttpResponse:
    """The page with the secrets, which no cache stores; the context has `title` and `back`."""
    note = gettext("Copy it now. It is not shown again.")
    answer = render_in_site(request, "admin/loci/secret.html", {"note": note, "secrets": secrets} | context)
    answer["Cache-Control"] = "no-store"
    return answer


class NamedList(ModelAdmin):  # type: ignore[misc]  # unfold has no types
    """A list under a heading, and further pages: by the name of the URL, the address and the view."""

    list_name: ClassVar[Label] = ""
    own_pages: ClassVar[Mapping[str, tuple[str, str]]] = {}

    def get_urls(self) -> list[URLPattern]:
        """Django's pages, such as …/change/, then `own_pages`, then Django's catch-all."""
        *urls, last = super().get_urls()
        prefix, wrap = f"{self.opts.app_label}_{self.opts.model_name}", self.admin_site.admin_view
        own = [
            path(address, wrap(getattr(self, view)), name=f"{prefix}_{name}")
            for name, (address, view) in self.own_pages.items()
        ]
        return [*urls, *own, last]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"title": self.list_name, **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, context)
        return answer


class LociAdmin(NamedList):
    """A read-only list and pages of the rows that the caller may see.

    `named_by` is the column used in URLs, `add_label` the button of an empty list if it is not "Add …". Subclasses define the
    rows in visible() and a row's page in show_row(); services change rows, and the admin itself never saves or deletes anything.
    """

    named_by: ClassVar[str] = "id"
    add_label: ClassVar[Label] = ""
    empty_hint: ClassVar[Label] = ""
    quick_filters: ClassVar[tuple[tuple[Label, str, str], ...]] = ()  # label, parameter, value
    list_per_page = 50
    list_max_show_all = 50
    show_full_result_count = False
    # Counts next to each filter would read the whole table once per filter.
    show_facets = ShowFacets.NEVER
    paginator = _BoundedPaginator
    actions: ClassVar[Any] = None
    list_filter_submit = True
    change_list_template = "admin/loci/list.html"

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The rows that the actor may see."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The rows of the list and of every page."""
        return self.visible(super().get_queryset(request), actor_of(request))

    def prepare_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Attach to the rows of a list's page what their cells show, in few queries."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[_LociChangeList]:
        return _LociChangeList

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponseBase | None:
        for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
            if not (chosen.isascii() and chosen.isdigit() and len(chosen) < 19):
                line = gettext("'{chosen}' is not a row of this list.").format(chosen=chosen[:40])
                raise InvalidInput(line, field=ACTION_CHECKBOX_NAME)
        answer: HttpResponseBase | None = super().response_action(request, queryset)
        return answer

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model | None:
        """The row with this `named_by`; None if the caller may not see it or it does not exist."""
        try:
            value: Any = UUID(object_id) if self.named_by == "id" else int(object_id)
            found: Model | None = self.get_queryset(request).filter(**{self.named_by: value}).first()
        except (ValueError, OverflowError, ValidationError):
            return None
        return found

    def get_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The row with this `named_by`, or a 404 response."""
        row = self.get_object(request, object_id)
        if row is None:
            raise Http404
        return row

    def show_row(self, request: HttpRequest, row: Any) -> HttpResponse:
        """The page of a row, or the answer to what it sends; 404 for rows without one."""
        raise Http404

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """show_row() of the row with this `named_by`."""
        return self.show_row(request, self.get_or_404(request, object_id))

    def url(self, page: str, *args: Any) -> str:
        """The URL of one of this model's pages: changelist, add, change or a custom one."""
        opts = self.opts
        return reverse(f"{self.admin_site.name}:{opts.app_label}_{opts.model_name}_{page}", args=args)

    def render(
        self, request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
    ) -> TemplateResponse:
        """A custom page inside the site's frame."""
        own = {"opts": self.opts, "list_name": self.list_name, "list_url": self.url("changelist")}
        return render_in_site(request, template, own | context, status=status)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Every logged-in user sees the lists; visible() decides about their rows."""
        return actor_of(request).user_id is not None

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self.has_module_permission(request)

    # Subclasses may allow it. Rows are only forgotten, purged or revoked through services.
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> NoReturn:
        """404: Django's own history is empty, and the pages show the audit log."""
        raise Http404
