"""Actions on many memories of the list: chosen, previewed, carried out one by one, and taken back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext, gettext_lazy, gettext_noop, ngettext, pgettext
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from access.actor import Actor
from access.admin.caller import actor_of
from access.admin.columns import shorten
from access.admin.confirm import ReasonForm
from access.admin.page import LociAdmin
from access.audit import collecting_rows
from access.errors import LociError
from memories.admin.forms import group_choices
from memories.draft import EditDraft, check_tags
from memories.lifecycle.edit import EditOutcome, edit
from memories.lifecycle.regroup.left_behind import describe_traces
from memories.lifecycle.regroup.move import move_chosen
from memories.lifecycle.undo import undo_id_of, undo_write
from memories.lifecycle.verbs import VERBS
from memories.models import Memory

_MAX_AT_ONCE = 500  # each memory is changed in a transaction of its own
_MAX_TRIED = 100  # memories that the preview tries
_MAX_ERRORS_SHOWN = 5
_LAST = "last-action"  # in the session
_OF_VERBS = ("approve", "reject", "verify", "pin", "unpin", "forget", "restore")


_Effect = Literal["changed", "queued", ""]
# Actor, memory, reason, what the action's own field holds (tags, or one group), dry_run.
_Change = Callable[[Actor, Memory, str, tuple[str, ...], bool], _Effect]


@dataclass
class _BulkResult:
    """What became of the chosen memories."""

    changed: int = 0
    queued: int = 0
    refused: list[str] = field(default_factory=list)
    undo_ids: list[str] = field(default_factory=list)


_Apply = Callable[[Actor, Sequence[Memory], str, tuple[str, ...], bool], _BulkResult]


@dataclass(frozen=True)
class _BulkAction:
    """One entry of the list's menu of actions. `past` completes "12 memories …"; `asks` names its own field of the form."""

    name: str
    label: str
    past: str
    apply: _Apply
    needs_reason: bool = False
    asks: Literal["tags", "group", ""] = ""
    is_dangerous: bool = False


class _BulkForm(ReasonForm):
    """The reason, and the tags or the group where the action needs them."""

    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        help_text=gettext_lazy("Separate with commas."),
        max_length=500,
        widget=UnfoldAdminTextInputWidget(),
    )
    group = forms.ChoiceField(label=gettext_lazy("Move to"), widget=UnfoldAdminSelectWidget())
    field_order = ("tags", "group", "reason")

    def __init__(self, action: _BulkAction, actor: Actor, data: Any = None) -> None:
        super().__init__(data, is_required=action.needs_reason)
        self.fields["group"].choices = group_choices(actor)  # type: ignore[attr-defined]
        for name in {"tags", "group"} - {action.asks}:
            del self.fields[name]
        self._asks = action.asks

    def given(self) -> tuple[str, ...]:
        """The tags that were typed, or the group that was chosen."""
        typed = self.cleaned_data[self._asks] if self._asks and self.is_valid() else ""
        return tuple(part.strip() for part in typed.split(",") if part.strip())


def note_action(request: HttpRequest, undo_ids: Sequence[str], what: str, *, page: str) -> None:
    """Note in the session how the person's last action is taken back, and the page that shows it then."""
    if any(undo_ids):
        request.session[_LAST] = {"ids": [*filter(None, undo_ids)], "what": what, "page": page}


def last_action_on(request: HttpRequest, page: str = "") -> dict[str, Any] | None:
    """The last action if it can be taken back; with `page`, only if it was done there."""
    last: dict[str, Any] | None = request.session.get(_LAST)
    return last if last and page in ("", last["page"]) else None


class BulkActionsMixin(LociAdmin):
    """A list of memories whose actions ask first."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """The list, with the last action if it can be taken back."""
        extra = {"last_action": last_action_on(request), **(extra_context or {})}
        answer: HttpResponse = super().changelist_view(request, extra)
        return answer

    def run_action(
        self, request: HttpRequest, rows: QuerySet[Memory], action: _BulkAction
    ) -> HttpResponse | None:
        """Ask with a preview; once that is answered, change the memories."""
        chosen = list(rows[: _MAX_AT_ONCE + 1])
        if len(chosen) > _MAX_AT_ONCE:
            line = gettext("Nothing was changed: at most {max_at_once} memories at once. Filter the list.")
            messages.error(request, line.format(max_at_once=_MAX_AT_ONCE))
            return None
        is_answered = "confirm" in request.POST
        is_sent = is_answered or action.asks in request.POST
        actor = actor_of(request)
        form = _BulkForm(action, actor, request.POST if is_sent else None)
        if not is_answered or not form.is_valid():
            return self.ask(request, chosen, action, form)
        done = action.apply(actor, chosen, form.cleaned_data["reason"], form.given(), False)
        _report(request, action, done, len(chosen))
        return HttpResponseRedirect(request.get_full_path())

    def ask(
        self, request: HttpRequest, chosen: Sequence[Memory], action: _BulkAction, form: _BulkForm
    ) -> HttpResponse:
        given, would = form.given(), None
        if given or not action.asks:
            would = action.apply(actor_of(request), chosen[:_MAX_TRIED], "preview", given, True)
        title = ngettext("{label}: {count} memory?", "{label}: {count} memories?", len(chosen))
        context = {
            "title": title.format(label=gettext(action.label), count=len(chosen)),
            "action": action,
            "form": form,
            "chosen": chosen,
            "would": would,
            "notes": _lines_on_traces(chosen) if would and action.asks == "group" else (),
            "untried": max(0, len(chosen) - _MAX_TRIED),
            "back": request.get_full_path(),
        }
        return self.render(request, "admin/memories/memory/bulk.html", context)

    def undo_last_view(self, request: HttpRequest) -> HttpResponse:
        """Take the last action back, memory by memory; by POST only."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        last = request.session.pop(_LAST, None) or {"ids": [], "page": self.url("changelist")}
        undone, refused = 0, list[str]()
        for undo_id in last["ids"]:
            try:
                undo_write(actor_of(request), undo_id)
                undone += 1
            except LociError as refusal:
                refused.append(refusal.message)
        if undone:
            line = gettext("Taken back: {undone} of {last}.").format(undone=undone, last=len(last["ids"]))
            messages.success(request, line)
        for line in refused[:_MAX_ERRORS_SHOWN]:
            messages.error(request, line)
        return HttpResponseRedirect(last["page"])


def _to_each(change: _Change) -> _Apply:
    """The action that changes each memory in a transaction of its own; refusals are collected."""

    def apply(
        actor: Actor, chosen: Sequence[Memory], reason: str, given: tuple[str, ...], dry_run: bool
    ) -> _BulkResult:
        done = _BulkResult()
        for memory in chosen:
            try:
                with collecting_rows() as work:
                    effect = change(actor, memory, reason, given, dry_run)
            except LociError as refusal:
                text = shorten(memory.content, 60)
                done.refused.append(gettext("“{text}”: {refusal}").format(text=text, refusal=refusal))
                continue
            done.changed += effect == "changed"
            done.queued += effect == "queued"
            if not dry_run and (undo_id := undo_id_of(actor, work)):
                done.undo_ids.append(undo_id)
        return done

    return apply


def _report(request: HttpRequest, action: _BulkAction, done: _BulkResult, count: int) -> None:
    """Say what was done, and note in the session how it is taken back."""
    past = pgettext("word", action.past)
    if done.changed:
        line = ngettext("{changed} of {count} memory {past}.", "{changed} of {count} memories {past}.", count)
        messages.success(request, line.format(changed=done.changed, count=count, past=past))
    elif not done.queued and not done.refused:
        messages.info(request, gettext("Nothing differs: no memory was changed."))
    if done.queued:
        line = gettext("{queued} waiting for a curator: see the Review.").format(queued=done.queued)
        messages.success(request, line)
    for line in done.refused[:_MAX_ERRORS_SHOWN]:
        messages.error(request, line)
    if (more := len(done.refused) - _MAX_ERRORS_SHOWN) > 0:
        messages.error(request, gettext("{refused} more were refused.").format(refused=more))
    what = gettext("{count} {past}").format(count=len(done.undo_ids), past=past)
    note_action(request, done.undo_ids, what, page=request.get_full_path())


def _verb_action(name: str) -> _BulkAction:
    verb = VERBS[name]

    def change(actor: Actor, memory: Memory, reason: str, given: tuple[str, ...], dry_run: bool) -> _Effect:
        done = verb.apply(actor, memory.id, reason=reason, dry_run=dry_run)
        if done.queued:
            return "queued"
        return "changed" if done.changed or dry_run else ""

    button = verb.button
    return _BulkAction(
        name, button.label, button.past, _to_each(change),
        needs_reason=button.needs_reason, is_dangerous=button.is_dangerous,
    )  # fmt: skip


def _tag_action(
    name: str, label: str, past: str, wanted: Callable[[list[str], tuple[str, ...]], tuple[str, ...]]
) -> _BulkAction:
    """The action that sets the tags that `wanted` makes of the memory's and the typed ones, if they differ."""

    def change(actor: Actor, memory: Memory, reason: str, given: tuple[str, ...], dry_run: bool) -> _Effect:
        tags = wanted(memory.tags, given)
        if check_tags(tags) == tuple(memory.tags):
            return ""
        edited = edit(actor, memory.id, EditDraft(tags=tags), reason=reason, dry_run=dry_run)
        return "queued" if edited.outcome == EditOutcome.QUEUED else "changed"

    return _BulkAction(name, label, past, _to_each(change), asks="tags")


def _move_all(
    actor: Actor, chosen: Sequence[Memory], reason: str, given: tuple[str, ...], dry_run: bool
) -> _BulkResult:
    """Move the memories to the chosen group, those of each group in one transaction."""
    done = _BulkResult()
    texts = {memory.id: shorten(memory.content, 60) for memory in chosen}
    for group in {memory.group_id: memory.group for memory in chosen}.values():
        rows = [memory for memory in chosen if memory.group_id == group.key and group.slug != given[0]]
        if not rows:
            continue
        try:
            with collecting_rows() as work:
                moved = move_chosen(actor, rows, given[0], reason=reason, dry_run=dry_run)
        except LociError as refusal:
            line = gettext("{count} of '{group}': {refusal}")
            done.refused.append(line.format(count=len(rows), group=group.slug, refusal=refusal))
            continue
        done.changed += moved.moved
        done.refused += [
            gettext("“{text}”: {refusal}").format(text=texts.get(each.id, each.id), refusal=each.why)
            for each in moved.staying
        ]
        if not dry_run and (undo_id := undo_id_of(actor, work)):
            done.undo_ids.append(undo_id)
    return done


def _lines_on_traces(chosen: Sequence[Memory]) -> tuple[str, ...]:
    """What keeps naming the memories in each group that they would leave."""
    groups = {memory.group_id: memory.group for memory in chosen}
    lines = (
        describe_traces([m for m in chosen if m.group_id == key], group) for key, group in groups.items()
    )
    return tuple(filter(None, lines))


BULK_ACTIONS = (
    *(_verb_action(name) for name in _OF_VERBS),
    _tag_action("tag", gettext_noop("Add tags"), "tagged", lambda own, given: tuple(dict.fromkeys((*own, *given)))),
    _tag_action("untag", gettext_noop("Remove tags"), "untagged", lambda own, given: tuple(tag for tag in own if tag not in check_tags(given))),
    _BulkAction("move", gettext_noop("Move to another group"), "moved", _move_all, asks="group"),
)  # fmt: skip


def menu_entry(action: _BulkAction) -> Callable[..., HttpResponse | None]:
    """The action as Django's list offers it."""

    def run(admin: BulkActionsMixin, request: HttpRequest, rows: QuerySet[Memory]) -> HttpResponse | None:
        return admin.run_action(request, rows, action)

    run.__name__ = f"{action.name}_selected"
    run.short_description = gettext_lazy(action.label)  # type: ignore[attr-defined]  # read by Django
    return run
