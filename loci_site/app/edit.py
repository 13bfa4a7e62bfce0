"""Storing, correcting and flagging. Each answer says truthfully what became of it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from access.actor import WRITE, Actor
from access.admin.caller import actor_of
from access.errors import LociError, NotPermitted
from loci_site.app.forms import CorrectForm, FlagForm, PeopleForm, StoreForm
from loci_site.app.page import for_people, rooms_of, show, writable_groups
from loci_site.app.read import ROOM_IN_SESSION
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.verbs import dispute
from memories.models import Memory
from memories.queries.versions import find_memory, head_of
from memories.store import Outcome, StoreResult, store

get_or_post = require_http_methods(["GET", "POST"])
SAID = {
    Outcome.CREATED: "Remembered.",
    Outcome.REINFORCED: "This was known already; your word makes it surer.",
    Outcome.UNCHANGED: "This was known already, letter by letter. Nothing changed.",
    Outcome.QUEUED: "Kept, and waiting for a curator: it is not found until somebody approves it.",
}
SAID_OF_EDIT = {
    EditOutcome.NEW_VERSION: "Corrected. The former text is kept below.",
    EditOutcome.CHANGED: "Changed.",
    EditOutcome.QUEUED: "Your correction waits for a curator. Until then the former text counts.",
}


@for_people
@get_or_post
def store_new(request: HttpRequest) -> HttpResponse:
    """Ask for a new memory and store it."""
    actor = actor_of(request)
    groups = writable_groups(actor)
    if not groups:
        raise _nowhere(actor)
    first = request.session.get(ROOM_IN_SESSION) or groups[0].slug
    form = StoreForm(request.POST or None, groups=groups, initial={"group": first})
    if form.is_valid():
        try:
            stored = store(actor, form.draft())
        except LociError as refusal:
            form.refuse(refusal)
        else:
            if stored.memory is not None and stored.outcome in SAID:
                _tell(request, stored)
                return redirect("people:memory", str(stored.memory.id))
            form.add_error(None, f"This is not stored: {stored.why}.")
    return _show_form(request, form, title="New memory", button="Remember it")


@for_people
@get_or_post
def correct(request: HttpRequest, id_: str) -> HttpResponse:
    """Ask for the right text and write it as a new version."""
    actor, memory = _writable(request, id_)
    seen = {"content": memory.content, "tags": ", ".join(memory.tags), "version": memory.version}
    form = CorrectForm(request.POST or None, initial=seen)
    if form.is_valid():
        try:
            edited = edit(actor, memory.id, form.edit(memory), reason=form.cleaned_data["reason"])
        except LociError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, SAID_OF_EDIT[edited.outcome])
            return redirect("people:memory", str(edited.memory.id))
    return _show_form(request, form, title="Correct a memory", button="Save the correction", memory=memory)


@for_people
@get_or_post
def flag(request: HttpRequest, id_: str) -> HttpResponse:
    """Ask what is wrong and mark the memory as disputed."""
    actor, memory = _writable(request, id_)
    form = FlagForm(request.POST or None)
    if form.is_valid():
        try:
            dispute(actor, memory.id, reason=form.cleaned_data["reason"])
        except LociError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, "Flagged. A curator will look at it.")
            return redirect("people:memory", str(memory.id))
    return _show_form(request, form, title="Flag a memory", button="Flag it", memory=memory)


def _nowhere(actor: Actor) -> NotPermitted:
    """Say why there is no group to store in, and who can change that."""
    if actor.all_groups:
        return NotPermitted("There is no group to store in yet.", hint="Make one first: Curate, then Groups.")
    if not rooms_of(actor):
        return NotPermitted(
            "You belong to no group, so there is nowhere to store.",
            hint="Ask an admin to make you a contributor of yours.",
        )
    return NotPermitted(
        "You may read here, but not store.", hint="Ask an admin of your group to make you a contributor."
    )


def _writable(request: HttpRequest, id_: str) -> tuple[Actor, Memory]:
    """Find the version that counts; refuse before anything is typed where the caller may not write."""
    actor = actor_of(request)
    memory = head_of(find_memory(actor, id_))
    if not actor.may(WRITE, memory.group_id):
        raise NotPermitted(
            f"You may read this memory, but not change it: it belongs to the group '{memory.group.slug}'.",
            hint="Ask an admin of that group to make you a contributor.",
        )
    return actor, memory


def _tell(request: HttpRequest, stored: StoreResult) -> None:
    why = (
        f" {stored.why[:1].upper()}{stored.why[1:]}."
        if stored.why and stored.outcome == Outcome.QUEUED
        else ""
    )
    messages.success(request, SAID[stored.outcome] + why)
    doubtful = [near for near in stored.near if stored.outcome == Outcome.CREATED and near.why]
    if doubtful:
        messages.info(request, f"Something near is known: “{doubtful[0].memory.content[:160]}”")


def _show_form(
    request: HttpRequest, form: PeopleForm, *, title: str, button: str, memory: Memory | None = None
) -> HttpResponse:
    context = {"title": title, "form": form, "button": button, "memory": memory}
    return show(request, "people/form.html", context, status=422 if form.errors else 200)
