"""Admin pages of links: possible duplicates and conflicts with both memories side by side."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin
from django.contrib.admin.filters import ChoicesFieldListFilter
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from access.actor import CURATE, Actor
from access.admin.caller import actor_of
from access.admin.columns import field_column, in_words, start_column
from access.admin.confirm import Confirmation, confirm
from access.admin.page import LociChangeList, PageAdmin
from memories.models import REVIEWED_KINDS, Link, LinkKind, LinkStatus
from memories.review.links import close_link, visible_links

_CLOSING = {
    "settle": (
        LinkStatus.SETTLED,
        gettext_lazy("Settle"),
        gettext_lazy("Settle this link?"),
        gettext_lazy(
            "it is dealt with, for example one text was corrected by hand; the link leaves the Review"
        ),
    ),
    "dismiss": (
        LinkStatus.DISMISSED,
        gettext_lazy("Dismiss"),
        gettext_lazy("Dismiss this link?"),
        gettext_lazy(
            "there is nothing to decide: both texts are right as they are; the link leaves the Review"
        ),
    ),
}
LIST_CHARS = 90
_TITLES = {
    LinkKind.DUPLICATE: gettext_lazy("Possible duplicate"),
    LinkKind.CONFLICT: gettext_lazy("Conflict"),
    LinkKind.DERIVED: gettext_lazy("Derived from another memory"),
    LinkKind.EVIDENCE: gettext_lazy("Evidence"),
}
# Derivation needs no decision; wrong evidence can be dismissed.
_CLOSED_BY = {
    LinkKind.DUPLICATE: ("settle", "dismiss"),
    LinkKind.CONFLICT: ("settle", "dismiss"),
    LinkKind.EVIDENCE: ("dismiss",),
}
# Headings of the two memories.
ENDS = {
    LinkKind.DERIVED: (gettext_lazy("Summary"), gettext_lazy("Source")),
    LinkKind.EVIDENCE: (gettext_lazy("Fact"), gettext_lazy("Evidence")),
}


class _AskingLinks(LociChangeList):
    """The links that need a decision; a summary has dozens of others, which its own page shows."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        return rows.filter(kind__in=REVIEWED_KINDS)


class _AskingKindFilter(ChoicesFieldListFilter):
    """Filter by the kinds that the list shows, and no others."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        """All, and each kind that needs a decision."""
        shown = {LinkKind(kind).label for kind in REVIEWED_KINDS}
        everything, *kinds = super().choices(changelist)
        yield everything
        yield from (kind for kind in kinds if kind["display"] in shown)


@admin.register(Link)
class LinkAdmin(PageAdmin):
    """Links between two memories that the caller may see."""

    list_name = gettext_lazy("Duplicates and conflicts")
    list_display = ("what", "first", "second", "cosine", "status_label", "created_at")
    list_display_links = ("what", "first", "second")
    list_filter = ("status", ("kind", _AskingKindFilter))
    empty_hint = gettext_lazy("Links appear when a new memory may repeat or contradict an existing one.")
    list_class = _AskingLinks
    own_pages = {"close": ("<str:object_id>/<str:verb>/", "close_view")}
    ordering = ("-key",)

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        return visible_links(actor)

    def show_row(self, request: HttpRequest, link: Link) -> HttpResponse:
        """Show both memories side by side with the reason for the link."""
        actor = actor_of(request)
        may_close = any(actor.may(CURATE, end.group_id) for end in (link.source, link.target))
        kind = LinkKind(link.kind)
        headings = ENDS.get(kind, (gettext("First"), gettext("Second")))
        closing = _CLOSED_BY.get(kind, ()) if may_close and link.status == LinkStatus.OPEN else ()
        context = {
            "title": _TITLES[kind],
            "link": link,
            "says_status": kind in REVIEWED_KINDS or link.status != LinkStatus.OPEN,
            "sides": list(zip(headings, (link.source, link.target), strict=True)),
            "closing": [(name, _CLOSING[name][1]) for name in closing],
            "meanings": [_CLOSING[name][1::2] for name in closing],
            "review_url": f"{reverse('review')}?kind={kind}" if closing and kind in REVIEWED_KINDS else "",
        }
        return self.render(request, "admin/memories/link/page.html", context)

    def close_view(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Ask for the reason, then close the link."""
        if verb not in _CLOSING:
            raise Http404
        link: Link = self.get_or_404(request, object_id)
        status, label, title, meaning = _CLOSING[verb]
        back = self.url("change", link.id)
        question = Confirmation(str(title), str(label), back, consequences=(str(meaning),))

        def close(reason: str) -> str:
            close_link(actor_of(request), link.id, status=status, reason=reason)
            return gettext("The link is {status}.").format(status=in_words(status))

        return confirm(self, request, question, close)

    what = field_column(gettext_lazy("kind"), "kind", labels={"conflict": "danger", "duplicate": "warning"})

    first = start_column(gettext_lazy("first"), "source.content", LIST_CHARS)
    second = start_column(gettext_lazy("second"), "target.content", LIST_CHARS)
    cosine = field_column(gettext_lazy("cosine"), "score", ".2f", empty="—")
    status_label = field_column(
        gettext_lazy("status"), "status", labels={"open": "warning", "settled": "success"}
    )
