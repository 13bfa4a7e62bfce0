"""The page of a verb that takes a second memory, or a group: ask for the other one, preview, carry out."""

from dataclasses import replace
from typing import Any, Final

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy, pgettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from access.actor import Actor
from access.admin.columns import join_clauses, shorten
from access.admin.confirm import ReasonForm
from access.admin.form_errors import show_error
from access.admin.page import LociAdmin
from access.audit import collecting_rows
from access.errors import LociError
from memories.admin.bulk import note_action
from memories.admin.forms import MemoryInput, group_choices
from memories.lifecycle.target import ChangeResult
from memories.lifecycle.undo import undo_id_of
from memories.lifecycle.verbs import Verb
from memories.models import Memory
from memories.queries.versions import find_memory

_NAME_CHARS: Final = 60  # of a text that names its memory


def describe_change(verb: Verb, done: ChangeResult) -> str:
    """The result of a verb in one sentence."""
    line = gettext("The memory is {past}: {consequences}.")
    if done.queued:
        line = gettext("{label}: proposed. {consequences}.")
    past, label = pgettext("word", verb.button.past), gettext(verb.button.label)
    return line.format(past=past, label=label, consequences=join_clauses(done.consequences))


class _PairForm(ReasonForm):
    """The other memory or the group, the new text of the one that stays, and the reason."""

    other = forms.CharField(
        label=gettext_lazy("Other"),
        help_text=gettext_lazy("Type words of the memory and choose it, or paste its id."),
        max_length=100,
        widget=MemoryInput(),
    )
    content = forms.CharField(
        label=gettext_lazy("New text"),
        required=False,
        strip=False,
        help_text=gettext_lazy("Text of the memory that stays; leave empty to keep its text."),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 4}),
    )
    field_order = ("other", "content", "reason")

    def __init__(self, verb: Verb, actor: Actor, data: Any, initial: dict[str, str]) -> None:
        super().__init__(data)
        if verb.button.takes_group:
            self.fields["other"] = forms.ChoiceField(
                choices=group_choices(actor), widget=UnfoldAdminSelectWidget()
            )
            self.order_fields(self.field_order)
        self.initial = initial
        self.fields["other"].label = gettext(verb.button.other)
        if not verb.text:
            del self.fields["content"]

    def value(self, name: str) -> str:
        """A field's text with LF line ends; a browser sends CR LF."""
        return str(self.cleaned_data.get(name, "")).replace("\r\n", "\n")


def pair_view(
    admin: LociAdmin, request: HttpRequest, actor: Actor, memory: Memory, verb: Verb
) -> HttpResponse:
    """Ask for the other memory or the group (`?other=` preselects it), then preview or carry out the verb."""
    if not actor.may(verb.right, memory.group_id):
        raise PermissionDenied(
            gettext("You may not do this: it needs the right to {right} in the memory's group.").format(
                right=pgettext("word", verb.right)
            )
        )
    initial = {"other": request.GET["other"]} if "other" in request.GET else {}
    form = _PairForm(verb, actor, request.POST if request.method == "POST" else None, initial)
    context = {
        "title": gettext(verb.button.question),
        "form": form,
        "button": gettext(verb.button.label),
        "back": admin.url("change", memory.id),
        "memory": memory,
    }
    if request.method == "POST" and form.is_valid():
        is_preview = "preview" in request.POST
        try:
            # Named before the change, which may make a new version of it.
            other = (
                None if verb.button.takes_group else find_memory(actor, form.value("other"), field="other")
            )
            with collecting_rows() as work:
                done = verb.apply(
                    actor, memory.id, other=form.value("other"), text=form.value("content"), reason=form.value("reason"),
                    dry_run=is_preview,
                )  # fmt: skip
            done = _by_their_texts(done, memory, other)
            if is_preview:
                remains = form.value("content") or (other.content if other else "")
                context |= {"would": done, "remains": remains}
                return admin.render(request, "admin/memories/memory/pair.html", context)
            messages.success(request, describe_change(verb, done))
            page = admin.url("change", memory.id)
            note_action(request, [undo_id_of(actor, work)], pgettext("word", verb.button.past), page=page)
            return HttpResponseRedirect(page)
        except LociError as refusal:
            if refusal.field == verb.other:
                refusal.field = "other"
            show_error(form, refusal)
    return admin.render(request, "admin/memories/memory/pair.html", context)


def _by_their_texts(done: ChangeResult, *memories: Memory | None) -> ChangeResult:
    """The result with the memories named by their texts: an id says nothing to a person."""
    lines = done.consequences
    for memory in filter(None, memories):
        name = f"“{shorten(' '.join(memory.content.split()), _NAME_CHARS)}”"
        lines = tuple(line.replace(str(memory.id), name) for line in lines)
    return replace(done, consequences=lines)
