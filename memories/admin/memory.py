"""Memories in the admin: the list, the page of one memory, its verbs, and the forms to add and edit."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext

from access.actor import WRITE, Actor
from access.admin.caller import actor_of
from access.admin.columns import column, field_column, in_words, shorten
from access.admin.confirm import Confirmation, confirm, show_refusal
from access.admin.form_errors import try_form
from access.audit import collecting_rows
from access.errors import LociError, NotPermitted
from memories.admin.bulk import BULK_ACTIONS, BulkActionsMixin, last_action_on, menu_entry, note_action
from memories.admin.filters import (
    DoubtFilter,
    GroupFilter,
    OwnFilter,
    SummaryFilter,
    TagFilter,
    find_by_words,
)
from memories.admin.forms import DraftForm, EditForm, MemoryForm
from memories.admin.memory_page import graph_json, page_context
from memories.admin.outcomes import check_may_store, report_edited, report_stored
from memories.admin.pair_page import describe_change, pair_view
from memories.browse.history import SHOWN_FIELDS, format_value
from memories.entities.statements import find_neighbourhood
from memories.lifecycle.edit import edit
from memories.lifecycle.purge import Certificate
from memories.lifecycle.restore import RESTORABLE
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import undo_id_of
from memories.lifecycle.verbs import VERBS, Verb
from memories.models import LinkStatus, Memory
from memories.queries.labels import doubts_of, read_doubts, standing
from memories.queries.versions import find_current, find_memory, parse_short_id
from memories.queries.visibility import as_q, is_outlasting, listed_by
from memories.review.links import close_link, find_link
from memories.store import store
from memories.types import State, Trust, Type

_LIST_CHARS = 140
_ASKED = "question"  # the parameter of the form's address with what an agent asked


@admin.register(Memory)
class MemoryAdmin(BulkActionsMixin):
    """All memories that the caller may see, in any state."""

    list_name = gettext_lazy("Memories")
    add_label = gettext_lazy("New memory")
    show_add_link = False  # the frame has the button
    list_before_template = "admin/memories/memory/list_tools.html"
    list_display = ("text", "standing_badges", "group", "author_label", "stored_at")
    list_display_links = ("text",)
    list_select_related = ("group",)
    list_filter = (
        GroupFilter,
        "type",
        "state",
        "trust",
        DoubtFilter,
        OwnFilter,
        SummaryFilter,
        "scope",
        "pinned",
        TagFilter,
    )
    # Only makes the admin show the search box: get_search_results() uses the keyword index.
    search_fields = ("content",)
    search_help_text = gettext_lazy("Words of the memory, or its id")
    quick_filters = (
        ("mine", "mine", "1"),
        *((name, "type__exact", name) for name in Type.values),
        *((name, "trust__exact", name) for name in (Trust.CANDIDATE, Trust.VERIFIED)),
        ("disputed", "doubt", "open"),
        ("pinned", "pinned__exact", "1"),
    )
    empty_hint = gettext_lazy(
        "Connect an agent with a token and it will store what is worth keeping; or add a memory yourself."
    )
    actions = tuple(map(menu_entry, BULK_ACTIONS))
    own_pages = {
        "undo_last": ("undo-last/", "undo_last_view"),
        "edit": ("<str:object_id>/edit/", "edit_view"),
        "dismiss": ("links/<uuid:link>/dismiss/", "dismiss_view"),
        "graph": ("<str:object_id>/graph/", "graph_view"),
        "verb": ("<str:object_id>/<str:verb>/", "verb_view"),
    }
    ordering = ("-key",)

    def visible(self, rows: QuerySet[Any], actor: Actor) -> QuerySet[Any]:
        """The rows that the actor may see, by the rule of every interface."""
        return rows.filter(as_q(listed_by(actor, None)))

    def prepare_rows(self, request: HttpRequest, rows: QuerySet[Any]) -> None:
        """Read the doubts of the page's memories at once."""
        read_doubts(rows)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Memory], search_term: str
    ) -> tuple[QuerySet[Memory], bool]:
        """The matches of the keyword index, best first unless the list is sorted by a column."""
        if not search_term.strip():
            return queryset, False
        is_sorted = "o" in request.GET
        return find_by_words(actor_of(request), queryset, search_term, best_first=not is_sorted), False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return actor_of(request).may_somewhere(WRITE)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one memory; `?query=` explains why a question finds it or not, and asks for one if it is empty."""
        actor = actor_of(request)
        memory = find_memory(actor, _parse_object_id(object_id))
        query = request.GET.get("query")
        context = page_context(self, actor, memory, query=query and query[:500])
        context |= {"last_action": last_action_on(request, request.path)}
        return self.render(request, "admin/memories/memory/page.html", context)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form of a new memory, store it, and show it with the outcome; `?question=` is what it answers."""
        actor = actor_of(request)
        check_may_store(actor)
        initial = {name: request.GET[name] for name in ("supersedes", "group", "type") if name in request.GET}
        form = DraftForm(actor, request.POST if request.method == "POST" else None, initial=initial)

        def save() -> HttpResponse | None:
            stored = store(actor, form.draft())
            if stored.memory is None or not report_stored(request, stored):
                form.add_error(None, gettext("Not stored: {why}.").format(why=stored.why))
                return None
            return HttpResponseRedirect(self.url("change", stored.memory.id))

        asked = request.GET.get(_ASKED, "")[:500]
        context = {
            "title": gettext("New memory"),
            "form": form,
            "asked": asked,
            "may_import": not asked and "supersedes" not in initial,
            "back": self.url("changelist"),
        }
        return try_form(form, save) or self.render_form(request, form, context)

    def edit_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Show the form of a correction and save it; a new text becomes a new version."""
        actor = actor_of(request)
        memory = find_current(actor, _parse_object_id(object_id))
        if not actor.may(WRITE, memory.group_id):
            line = gettext("You may read this memory, but not change it: it belongs to the group '{slug}'.")
            hint = gettext("Ask an admin of that group to make you a contributor.")
            raise NotPermitted(line.format(slug=memory.group.slug), hint=hint)
        form = EditForm(memory, request.POST if request.method == "POST" else None)

        def save() -> HttpResponse:
            with collecting_rows() as work:
                edited = edit(actor, memory.id, form.edit(), reason=form.cleaned_data["reason"])
            report_edited(request, edited)
            page = self.url("change", edited.memory.id)
            note_action(request, [undo_id_of(actor, work)], pgettext("word", "edited"), page=page)
            return HttpResponseRedirect(page)

        context = {"title": gettext("Correct a memory"), "form": form, "back": self.url("change", memory.id)}
        return try_form(form, save) or self.render_form(request, form, context)

    def render_form(self, request: HttpRequest, form: MemoryForm, context: dict[str, Any]) -> HttpResponse:
        """The form's page; status 422 if the form has errors."""
        status = 422 if form.errors else 200
        return self.render(request, "admin/memories/memory/form.html", context, status=status)

    def dismiss_view(self, request: HttpRequest, link: UUID) -> HttpResponse:
        """Ask for the reason, then dismiss a link, such as wrong evidence."""
        actor = actor_of(request)
        tie = find_link(actor, link)
        back = self.url("change", tie.source.id)
        meaning = gettext("there is nothing to decide: both texts are right as they are")
        question = Confirmation(
            gettext("Dismiss this link?"), gettext("Dismiss"), back, consequences=(meaning,)
        )

        def close(reason: str) -> str:
            close_link(actor, link, status=LinkStatus.DISMISSED, reason=reason)
            return gettext("The link is {status}.").format(status=in_words(LinkStatus.DISMISSED))

        return confirm(self, request, question, close)

    def graph_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The neighbourhood of a memory as JSON, for the graph on its page."""
        actor = actor_of(request)
        found = find_neighbourhood(actor, find_memory(actor, _parse_object_id(object_id)))
        return JsonResponse(graph_json(found))

    def verb_view(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Show the consequences of a verb, ask for the reason, then carry it out."""
        chosen = VERBS.get(verb)
        if chosen is None:
            raise Http404
        actor = actor_of(request)
        memory = find_memory(actor, _parse_object_id(object_id))
        # A verb that acts on a hidden row itself must keep that row. What is sent is about the text that the page showed.
        follows = chosen.button.follows and memory.state not in RESTORABLE and request.method != "POST"
        if follows and (head := find_current(actor, memory.id)).key != memory.key:
            query = request.GET.urlencode()
            return HttpResponseRedirect(f"{self.url('verb', head.id, verb)}{query and f'?{query}'}")
        back = self.url("change", memory.id)
        if chosen.other:
            return pair_view(self, request, actor, memory, chosen)
        try:
            would = chosen.apply(actor, memory.id, dry_run=True)
        except LociError as refusal:
            return show_refusal(request, refusal, back)

        def carry_out(reason: str, quotes: bool = False) -> str:
            with collecting_rows() as work:
                done = chosen.apply(actor, memory.id, reason=reason, quotes=quotes)
            if done.certificate is not None:
                return _describe_purge(done.certificate)
            note_action(request, [undo_id_of(actor, work)], pgettext("word", chosen.button.past), page=back)
            return describe_change(chosen, done)

        question = _confirmation_of(chosen, memory, would, back)
        question = replace(question, onward=self.url("changelist")) if chosen.takes_quotes else question
        return confirm(self, request, question, carry_out)

    @column(gettext_lazy("memory"))
    def text(self, memory: Memory) -> SafeString:
        """The start of the text, with an icon if it is pinned."""
        short = shorten(" ".join(memory.content.split()), _LIST_CHARS)
        pin = SafeString('<span class="material-symbols-outlined loci-pin">keep</span>')
        return format_html('<span class="loci-line">{}{}</span>', pin if memory.pinned else "", short)

    @column("")
    def standing_badges(self, memory: Memory) -> SafeString | str:
        """What deviates from a live, active fact, as badges."""
        words = [
            memory.type if memory.type != Type.SEMANTIC else "",
            standing(memory) if memory.state != State.LIVE or is_outlasting(memory, timezone.now()) else "",
            memory.trust if memory.trust != Trust.ACTIVE else "",
            "disputed" if doubts_of(memory) else "",
        ]
        return format_html_join(
            " ",
            '<span class="loci-badge loci-is-{}">{}</span>',
            ((word, in_words(word)) for word in words if word),
        )

    author_label = field_column(gettext_lazy("author"), "author_name")
    stored_at = field_column(gettext_lazy("stored"), "created_at")


def _parse_object_id(object_id: str) -> UUID | str:
    """The full or short id in an address; raises Http404 if it is none."""
    if short := parse_short_id(object_id):
        return short
    try:
        return UUID(object_id)
    except ValueError:
        raise Http404 from None


def _confirmation_of(verb: Verb, memory: Memory, would: ChangeResult, back: str) -> Confirmation:
    """The confirmation page of a verb, with the consequences of its dry run."""
    names = [name for name in SHOWN_FIELDS if name in would.changes]
    pairs = {name: " → ".join(in_words(format_value(each)) for each in would.changes[name]) for name in names}
    changed = tuple((in_words(name.replace("_", " ")), pair) for name, pair in pairs.items())
    return Confirmation(
        title=gettext(verb.button.question),
        button=gettext(verb.button.label),
        back=back,
        about=shorten(memory.content, 300),
        consequences=(*would.consequences, *map(gettext, verb.button.warnings)),
        facts=changed,
        is_dangerous=verb.button.is_dangerous,
        asks_reason=verb.button.needs_reason,
        offers_quotes=verb.takes_quotes,
    )


def _describe_purge(proof: Certificate) -> str:
    """What a purge destroyed, and what it checked."""
    line = ngettext(
        "Purged: {memories} memory, {pieces} pieces, {links} links, {payloads} log payloads,"
        " {recalls} logged recalls; {blanked} questions blanked.",
        "Purged: {memories} memories, {pieces} pieces, {links} links, {payloads} log payloads,"
        " {recalls} logged recalls; {blanked} questions blanked.",
        proof.memories,
    )
    line = line.format(
        memories=proof.memories, pieces=proof.pieces, links=proof.links, payloads=proof.log_payloads,
        recalls=proof.recall_logs, blanked=proof.recalls_blanked,
    )  # fmt: skip
    places = ", ".join(f"{place} {count}" for place, count in proof.cleared.items())
    cleared = [gettext("Cleared in other places: {places}.").format(places=places)] if places else []
    checked = [gettext("Checked: {place}.").format(place=place) for place in proof.checked]
    remains = [gettext("Still there: {place}.").format(place=place) for place in proof.remains]
    return " ".join([line, *cleared, *checked, *remains])
