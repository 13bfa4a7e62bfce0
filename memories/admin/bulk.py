"""Actions on many memories of the list: chosen, previewed, carried out one by one, and taken back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from django.utils.text import Truncator
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext, pgettext
from unfold.widgets import UnfoldAdminTextInputWidget

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.confirm import ReasonForm
from access.admin.saved_filters import SavedFiltersMixin
from access.audit.collect import collecting_rows
from access.errors import LociError
from memories.draft import EditDraft
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import VERBS
from memories.models import Memory

MAX_AT_ONCE = 500  # each memory is changed in a transaction of its own
MAX_TRIED = 100  # memories that the preview tries
MAX_ERRORS_SHOWN = 5
SESSION_KEY = "bulk-undo"
OF_VERBS = ("approve", "reject", "verify", "pin", "unpin", "forget", "restore")


class BulkEffect(StrEnum):
    """What an action did to a memory, or would do."""

    CHANGED = "changed"
    QUEUED = "queued"
    NONE = "none"


Apply = Callable[[Actor, Memory, str, tuple[str, ...], bool], BulkEffect]  # …, reason, tags, dry_run


@dataclass(frozen=True)
class BulkAction:
    """One entry of the list's menu of actions. `past` completes "12 memories …"."""

    name: str
    label: str
    past: str
    apply: Apply
    needs_reason: bool = False
    needs_tags: bool = False
    is_dangerous: bool = False


@dataclass
class BulkResult:
    """What became of the chosen memories."""

    changed: int = 0
    queued: int = 0
    refused: list[str] = field(default_factory=list)
    undo_ids: list[str] = field(default_factory=list)


class BulkForm(ReasonForm):
    """The reason, and the tags where the action needs them."""

    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        help_text=gettext_lazy("Separate with commas."),
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
    )
    field_order = ("tags", "reason")

    def __init__(self, action: BulkAction, data: Any = None) -> None:
        super().__init__(data, is_required=action.needs_reason)
        if not action.needs_tags:
            del self.fields["tags"]

    def tag_names(self) -> tuple[str, ...]:
        """The tags that were typed."""
        typed = self.cleaned_data.get("tags", "") if self.is_valid() else ""
        return tuple(tag.strip().lower() for tag in typed.split(",") if tag.strip())


class BulkActionsMixin(SavedFiltersMixin):
    """A list of memories whose actions ask first."""

    def get_urls(self) -> list[URLPattern]:
        """The URL that takes the last action back, before any URL with a row's id."""
        view = self.admin_site.admin_view(self.undo_bulk_view)
        return [path("undo-last/", view, name="memories_memory_undo_last"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list, with the last action if it can be taken back."""
        extra = {"last_bulk": request.session.get(SESSION_KEY), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def run_action(
        self, request: HttpRequest, rows: QuerySet[Memory], action: BulkAction
    ) -> HttpResponse | None:
        """Ask with a preview; once that is answered, change the memories."""
        chosen = list(rows[: MAX_AT_ONCE + 1])
        if len(chosen) > MAX_AT_ONCE:
            messages.error(
                request,
                gettext(
                    "Nothing was changed: at most {max_at_once} memories at once. Filter the list."
                ).format(max_at_once=MAX_AT_ONCE),
            )
            return None
        is_answered = "confirm" in request.POST
        form = BulkForm(action, request.POST if is_answered or "tags" in request.POST else None)
        if not is_answered or not form.is_valid():
            return self.ask(request, chosen, action, form)
        reason = form.cleaned_data["reason"]
        done = apply_to_each(actor_of(request), chosen, action, reason=reason, tags=form.tag_names())
        report(request, action, done, len(chosen))
        return HttpResponseRedirect(request.get_full_path())

    def ask(
        self, request: HttpRequest, chosen: Sequence[Memory], action: BulkAction, form: BulkForm
    ) -> HttpResponse:
        """The page with what the action would do."""
        tags = form.tag_names()
        would = None
        if tags or not action.needs_tags:
            tried = chosen[:MAX_TRIED]
            would = apply_to_each(actor_of(request), tried, action, reason="preview", tags=tags, dry_run=True)
        context = {
            "title": ngettext("{label}: {count} memory?", "{label}: {count} memories?", len(chosen)).format(
                label=gettext(action.label), count=len(chosen)
            ),
            "action": action,
            "form": form,
            "chosen": chosen,
            "would": would,
            "untried": max(0, len(chosen) - MAX_TRIED),
            "back": request.get_full_path(),
        }
        return self.render(request, "admin/memories/memory/bulk.html", context)

    def undo_bulk_view(self, request: HttpRequest) -> HttpResponse:
        """Take the last action back, memory by memory; by POST only."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        last = request.session.pop(SESSION_KEY, None) or {"ids": []}
        undone, refused = 0, list[str]()
        for undo_id in last["ids"]:
            try:
                undo_write(actor_of(request), undo_id)
                undone += 1
            except LociError as refusal:
                refused.append(refusal.message)
        if undone:
            messages.success(
                request,
                gettext("Taken back: {undone} of {last}.").format(undone=undone, last=len(last["ids"])),
            )
        for line in refused[:MAX_ERRORS_SHOWN]:
            messages.error(request, line)
        return HttpResponseRedirect(self.url("changelist"))


def apply_to_each(
    actor: Actor,
    chosen: Sequence[Memory],
    action: BulkAction,
    *,
    reason: str,
    tags: tuple[str, ...],
    dry_run: bool = False,
) -> BulkResult:
    """Apply the action to each memory in a transaction of its own; refusals are collected."""
    done = BulkResult()
    for memory in chosen:
        try:
            with collecting_rows() as rows:
                effect = action.apply(actor, memory, reason, tags, dry_run)
        except LociError as refusal:
            done.refused.append(f"“{Truncator(memory.content).chars(60)}”: {refusal}")
            continue
        done.changed += effect is BulkEffect.CHANGED
        done.queued += effect is BulkEffect.QUEUED
        if rows and not dry_run and (undo_id := undo_id_of(actor, rows)):
            done.undo_ids.append(undo_id)
    return done


def report(request: HttpRequest, action: BulkAction, done: BulkResult, count: int) -> None:
    """Say what was done, and note in the session how it is taken back."""
    if done.changed:
        messages.success(
            request,
            ngettext(
                "{changed} of {count} memory {past}.", "{changed} of {count} memories {past}.", count
            ).format(changed=done.changed, count=count, past=pgettext("word", action.past)),
        )
    elif not done.queued and not done.refused:
        messages.info(request, gettext("Nothing differs: no memory was changed."))
    if done.queued:
        messages.success(
            request, gettext("{queued} waiting for a curator: see the Review.").format(queued=done.queued)
        )
    for line in done.refused[:MAX_ERRORS_SHOWN]:
        messages.error(request, line)
    if len(done.refused) > MAX_ERRORS_SHOWN:
        messages.error(
            request,
            gettext("{refused} more were refused.").format(refused=len(done.refused) - MAX_ERRORS_SHOWN),
        )
    if done.undo_ids:
        request.session[SESSION_KEY] = {
            "ids": done.undo_ids,
            "what": f"{len(done.undo_ids)} {pgettext('word', action.past)}",
        }


def verb_action(name: str) -> BulkAction:
    """The action that applies a verb."""
    verb = VERBS[name]

    def apply(actor: Actor, memory: Memory, reason: str, tags: tuple[str, ...], dry_run: bool) -> BulkEffect:
        done = verb.apply(actor, memory.id, reason=reason, dry_run=dry_run)
        if done.queued:
            return BulkEffect.QUEUED
        return BulkEffect.CHANGED if done.changed or dry_run else BulkEffect.NONE

    return BulkAction(
        name,
        verb.button.label,
        verb.button.past,
        apply,
        needs_reason=verb.button.needs_reason,
        is_dangerous=verb.button.is_dangerous,
    )


def add_tags(actor: Actor, memory: Memory, reason: str, tags: tuple[str, ...], dry_run: bool) -> BulkEffect:
    """Give the memory the tags that it lacks."""
    wanted = tuple(dict.fromkeys((*memory.tags, *tags)))
    return change_tags(actor, memory, wanted, reason=reason, dry_run=dry_run)


def remove_tags(
    actor: Actor, memory: Memory, reason: str, tags: tuple[str, ...], dry_run: bool
) -> BulkEffect:
    """Take the tags from the memory."""
    wanted = tuple(tag for tag in memory.tags if tag not in tags)
    return change_tags(actor, memory, wanted, reason=reason, dry_run=dry_run)


def change_tags(
    actor: Actor, memory: Memory, wanted: tuple[str, ...], *, reason: str, dry_run: bool
) -> BulkEffect:
    """Set the tags if they differ."""
    if wanted == tuple(memory.tags):
        return BulkEffect.NONE
    edited = edit(actor, memory.id, EditDraft(tags=wanted), reason=reason, dry_run=dry_run)
    return BulkEffect.QUEUED if edited.outcome == EditOutcome.QUEUED else BulkEffect.CHANGED


BULK_ACTIONS = (
    *(verb_action(name) for name in OF_VERBS),
    BulkAction("tag", gettext_noop("Add tags"), "tagged", add_tags, needs_tags=True),
    BulkAction("untag", gettext_noop("Remove tags"), "untagged", remove_tags, needs_tags=True),
)


def menu_entry(action: BulkAction) -> Callable[..., HttpResponse | None]:
    """The action as Django's list offers it."""

    def run(admin: BulkActionsMixin, request: HttpRequest, rows: QuerySet[Memory]) -> HttpResponse | None:
        return admin.run_action(request, rows, action)

    run.__name__ = f"{action.name}_selected"
    run.short_description = gettext_lazy(action.label)  # type: ignore[attr-defined]  # read by Django
    return run
