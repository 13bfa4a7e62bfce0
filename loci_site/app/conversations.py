"""The pages of conversations: the list with its filters, one with its turns, moving, tagging, deleting, bringing back and purging."""

from datetime import date, datetime, timedelta
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_GET, require_POST

from access.actor import CURATE, READ, WRITE
from access.admin.caller import actor_of
from access.admin.day_range import parse_day, start_of
from access.admin.page import render_in_site
from access.groups import entered_groups
from loci_site.app.page import framed_page
from memories.language.cleaning import parse_moment
from memories.sessions.conversations import (
    ConversationFilter,
    find_conversation,
    list_conversations,
    read_conversation,
    readable,
    with_counts,
)
from memories.sessions.conversations.change import bring_back, delete, purge, tag
from memories.sessions.conversations.move import assign, may_move

LISTED = 30
FILTERS = ("q", "group", "platform", "tag", "after", "before")


def _day_bound(text: str, *, field: str, more_days: int) -> datetime | None:
    """The start of the day in the reader's time zone, `more_days` later; of a moment, the moment itself.

    Raises:
        InvalidInput: the text is neither a day nor a moment.
    """
    zone = timezone.get_current_timezone()
    day = parse_day(text)
    if day is not None and day < date.max:
        return start_of(day + timedelta(days=more_days), zone)
    return parse_moment(text, field=field, zone=zone) if text else None


def _render(request: HttpRequest, page: str, context: dict[str, Any]) -> HttpResponse:
    """A page of conversations, with the way back to their list."""
    way = {"list_name": gettext("Conversations"), "list_url": reverse("people:conversations")}
    return render_in_site(request, f"admin/conversations/{page}.html", way | context)


@framed_page
@require_GET
def conversations(request: HttpRequest) -> HttpResponse:
    """The filtered list of conversations, newest first."""
    actor = actor_of(request)
    asked = {name: request.GET.get(name, "").strip() for name in FILTERS}
    wanted = ConversationFilter(
        group=asked["group"] or None,
        platform=asked["platform"] or None,
        tag=asked["tag"].lower(),
        words=asked["q"],
        after=_day_bound(asked["after"], field="after", more_days=0),
        before=_day_bound(asked["before"], field="before", more_days=1),
    )
    page = list_conversations(actor, wanted, cursor=request.GET.get("cursor", ""), limit=LISTED)
    rest = {name: value for name, value in asked.items() if value} | {"cursor": page.next or ""}
    platforms = readable(actor).exclude(platform="").values_list("platform", flat=True).distinct()
    context = {
        "title": gettext("Conversations"),
        "rows": with_counts(actor, page.rows),
        "asked": asked,
        "is_filtered": any(asked.values()),
        "groups": entered_groups(actor, READ),
        "targets": entered_groups(actor, WRITE),
        "platforms": sorted(platforms.order_by("platform")),
        "more": f"{request.path}?{urlencode(rest)}" if page.next else "",
    }
    return _render(request, "list", context)


@framed_page
@require_GET
def conversation(request: HttpRequest, id_: str) -> HttpResponse:
    actor = actor_of(request)
    after = request.GET.get("after", "")
    found = read_conversation(actor, id_, after=int(after) if after.isdecimal() and len(after) < 9 else -1)
    thread = found.conversation.thread
    context: dict[str, Any] = {
        "title": thread.label,
        "found": found,
        "thread": thread,
        "may_write": actor.may(WRITE, thread.group_id),
        "may_move": may_move(actor, thread),
        "targets": [group for group in entered_groups(actor, WRITE) if group.key != thread.group_id],
        "tags": ", ".join(thread.tags),
        "more": f"{request.path}?after={found.next}" if found.next is not None else "",
    }
    return _render(request, "page", context)


@framed_page
@require_POST
def move(request: HttpRequest, id_: str) -> HttpResponse:
    moved = assign(actor_of(request), id_, request.POST.get("group", ""))
    if moved.queued:
        line = gettext("It waits for a curator of {group}.").format(group=request.POST["group"])
    else:
        line = gettext("“{label}” is in {group}; it was in {former}.")
        line = line.format(label=moved.thread.label, group=moved.group, former=moved.former)
    messages.success(request, line)
    if request.POST.get("from") == "list":  # the form was there
        return redirect("people:conversations")
    return redirect("people:conversation", id_)


@framed_page
@require_POST
def set_tags(request: HttpRequest, id_: str) -> HttpResponse:
    names = [each.strip() for each in request.POST.get("tags", "").split(",")]
    tag(actor_of(request), id_, [each for each in names if each])
    messages.success(request, gettext("Saved."))
    return redirect("people:conversation", id_)


@framed_page
def remove(request: HttpRequest, id_: str) -> HttpResponse:
    """Ask for confirmation, then delete a conversation with its turns."""
    actor = actor_of(request)
    if request.method == "POST":
        gone = delete(actor, id_)
        line = ngettext("Deleted, with {count} turn.", "Deleted, with {count} turns.", gone.memories)
        messages.success(request, line.format(count=gone.memories))
        context = {"title": gettext("Deleted"), "thread": gone.thread}
        return _render(request, "deleted", context)
    [found] = with_counts(actor, (find_conversation(actor, id_, right=WRITE),))
    context = {
        "title": gettext("Delete a conversation"),
        "found": found,
        "may_purge": actor.may(CURATE, found.thread.group_id),
    }
    return _render(request, "delete", context)


@framed_page
def destroy(request: HttpRequest, id_: str) -> HttpResponse:
    """Show what a purge of a conversation destroys, then destroy it and show the certificate."""
    actor, is_decided = actor_of(request), request.method == "POST"
    purged = purge(actor, id_, dry_run=not is_decided)
    title = gettext("Purged") if is_decided else gettext("Purge a conversation")
    context = {"title": title, "purged": purged}
    return _render(request, "purge", context)


@framed_page
@require_POST
def restore(request: HttpRequest, id_: str) -> HttpResponse:
    back = bring_back(actor_of(request), id_)
    line = ngettext("It is back, with {count} turn.", "It is back, with {count} turns.", back.memories)
    messages.success(request, line.format(count=back.memories))
    return redirect("people:conversation", id_)
