"""Storing, correcting and flagging memories. The message afterwards states the actual outcome."""

from collections.abc import Sequence
from typing import Final

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_http_methods

from access.actor import READ, WRITE, Actor
from access.admin.caller import actor_of
from access.admin.form_errors import try_form
from access.errors import NotPermitted
from access.groups import entered_groups
from access.groups.guarding import TextFinding
from loci_site.app.forms import CorrectForm, FlagForm, StoreForm
from loci_site.app.page import render_page, workspace_page
from loci_site.app.read import GROUP_IN_SESSION
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.verbs import dispute
from memories.models import Memory
from memories.queries.versions import find_current
from memories.store import Outcome, StoreResult, store

get_or_post = require_http_methods(["GET", "POST"])
MAX_FOUND: Final = 20  # findings that are shown as messages
_STORE_MESSAGES = {
    Outcome.CREATED: gettext_lazy("Saved."),
    Outcome.REINFORCED: gettext_lazy("This was known already. Its confidence went up."),
    Outcome.UNCHANGED: gettext_lazy("Exactly this was known already. Nothing changed."),
    Outcome.QUEUED: gettext_lazy("Saved. It is not found until a curator approves it."),
}
_EDIT_MESSAGES = {
    EditOutcome.NEW_VERSION: gettext_lazy("Corrected. The old text is listed below."),
    EditOutcome.CHANGED: gettext_lazy("Changed."),
    EditOutcome.QUEUED: gettext_lazy(
        "Your correction waits for a curator. Until then the old text stays in use."
    ),
}


@workspace_page
@get_or_post
def store_new(request: HttpRequest) -> HttpResponse:
    """The form for a new memory; stores it when posted."""
    actor = actor_of(request)
    groups = entered_groups(actor, WRITE)
    if not groups:
        raise _no_writable_group(actor)
    first = request.session.get(GROUP_IN_SESSION) or groups[0].slug
    form = StoreForm(request.POST or None, groups=groups, initial={"group": first})

    def save() -> HttpResponse | None:
        stored = store(actor, form.draft())
        if stored.memory is not None and stored.outcome in _STORE_MESSAGES:
            _report_outcome(request, stored)
            return redirect("people:memory", str(stored.memory.id))
        form.add_error(None, gettext("Not stored: {why}.").format(why=stored.why))
        return None

    return try_form(form, save) or render_form(
        request, form, title=gettext("New memory"), button=gettext("Save")
    )


@workspace_page
@get_or_post
def correct(request: HttpRequest, id_: str) -> HttpResponse:
    """The form for a correction; writes it as a new version when posted."""
    actor, memory = _find_writable(request, id_)
    seen = {"content": memory.content, "tags": ", ".join(memory.tags), "version": memory.version}
    form = CorrectForm(request.POST or None, initial=seen)

    def save() -> HttpResponse:
        edited = edit(actor, memory.id, form.edit(memory), reason=form.cleaned_data["reason"])
        messages.success(request, _EDIT_MESSAGES[edited.outcome])
        _report_findings(request, edited.findings)
        return redirect("people:memory", str(edited.memory.id))

    title, button = gettext("Correct a memory"), gettext("Save the correction")
    return try_form(form, save) or render_form(request, form, title=title, button=button, memory=memory)


@workspace_page
@get_or_post
def flag(request: HttpRequest, id_: str) -> HttpResponse:
    """The form for what is wrong with a memory; marks it as disputed when posted."""
    actor, memory = _find_writable(request, id_)
    form = FlagForm(request.POST or None)

    def save() -> HttpResponse:
        dispute(actor, memory.id, reason=form.cleaned_data["reason"])
        messages.success(request, gettext("Flagged. A curator will look at it."))
        return redirect("people:memory", str(memory.id))

    title, button = gettext("Flag a memory"), gettext("Flag it")
    return try_form(form, save) or render_form(request, form, title=title, button=button, memory=memory)


def _no_writable_group(actor: Actor) -> NotPermitted:
    """The refusal for an actor without a group to store in; its hint says who can change that."""
    if actor.all_groups:
        return NotPermitted(
            gettext("There is no group to store in yet."),
            hint=gettext("Create one first: Curate, then Group settings."),
        )
    if not entered_groups(actor, READ):
        return NotPermitted(
            gettext("You belong to no group, so there is nowhere to store."),
            hint=gettext("Ask an admin of a group to make you a contributor."),
        )
    return NotPermitted(
        gettext("You may read here, but not store."),
        hint=gettext("Ask an admin of your group to make you a contributor."),
    )


def _find_writable(request: HttpRequest, id_: str) -> tuple[Actor, Memory]:
    """The actor and the current version of a memory.

    Raises:
        NotPermitted: the actor may not write it; before anything is typed.
    """
    actor = actor_of(request)
    memory = find_current(actor, id_)
    if not actor.may(WRITE, memory.group_id):
        line = gettext("You may read this memory, but not change it: it belongs to the group '{slug}'.")
        hint = gettext("Ask an admin of that group to make you a contributor.")
        raise NotPermitted(line.format(slug=memory.group.slug), hint=hint)
    return actor, memory


def _report_outcome(request: HttpRequest, stored: StoreResult) -> None:
    """Add a message with the outcome, and one with the first similar memory that needs a look."""
    why = f" {capfirst(stored.why)}." if stored.why and stored.outcome == Outcome.QUEUED else ""
    messages.success(request, _STORE_MESSAGES[stored.outcome] + why)
    _report_findings(request, stored.findings)
    doubtful = [near for near in stored.neighbours if stored.outcome == Outcome.CREATED and near.why]
    if doubtful:
        line = gettext("A similar memory exists: “{content}”")
        messages.info(request, line.format(content=doubtful[0].memory.content[:160]))


def _report_findings(request: HttpRequest, findings: Sequence[TextFinding]) -> None:
    """Add a message for each thing that the guard found in the text; of many, for the first ones."""
    for found in findings[:MAX_FOUND]:
        messages.info(request, gettext("Found {words}.").format(words=found.words))
    if len(findings) > MAX_FOUND:
        messages.info(request, f"… +{len(findings) - MAX_FOUND}")


def render_form(
    request: HttpRequest,
    form: Form,
    *,
    title: str,
    button: str,
    memory: Memory | None = None,
    back: str = "admin:explore_recall",
) -> HttpResponse:
    """The form's page; status 422 if the form has errors. *Cancel* leads to the memory, else to the page `back`."""
    context = {"title": title, "form": form, "button": button, "memory": memory, "back": back}
    return render_page(request, "people/form.html", context, status=422 if form.errors else 200)
