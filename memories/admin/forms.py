"""The forms of a memory: a new one becomes a Draft for store(), and the changes of one an EditDraft for edit().

Most inputs come from the registry of its fields.
"""

from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import (
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from access.actor import CREATE_GROUP, CURATE, WRITE, Actor
from access.admin.columns import in_words
from access.admin.confirm import ReasonForm
from access.admin.day_range import local_moment
from access.admin.form_errors import VOUCHED, vouched_kinds
from access.errors import InvalidInput
from access.groups import entered_groups
from memories.draft import EDITED, STORED, Draft, EditDraft
from memories.draft.kinds import Kind, Moment, Number, OneOf, Tags
from memories.draft.registry import FieldInput, RecordField, offered_in
from memories.language.cleaning import parse_moment
from memories.models import Memory

_NEW_GROUP = "new_group"
_DRAFT_FIELDS = offered_in(FieldInput.NEW_FORM, STORED)
_EDIT_FIELDS = offered_in(FieldInput.EDIT_FORM, EDITED)


class MemoryInput(UnfoldAdminTextInputWidget):  # type: ignore[misc]  # unfold has no types
    """An input for a memory's id; with its script one types words and chooses."""

    class Media:
        js = ("loci/picker.js",)

    def __init__(self) -> None:
        super().__init__(attrs={"data-pick": "memory"})


def group_choices(actor: Actor) -> list[tuple[str, str]]:
    """The groups that the actor may curate, for a menu."""
    return [
        ("", gettext("choose")),
        *((each.slug, each.slug) for each in entered_groups(actor, CURATE)),
    ]


class _LocalMoment(forms.CharField):
    """A moment in the reader's time zone; of two that are called the same, the first."""

    def clean(self, value: Any) -> datetime | None:
        text = super().clean(value)
        try:
            return (
                parse_moment(text, field=str(self.label), zone=timezone.get_current_timezone())
                if text
                else None
            )
        except InvalidInput as refusal:
            raise forms.ValidationError(refusal.message) from None


def _form_field(field: RecordField) -> forms.Field:
    """The input for a field's kind; the services check the value."""
    match field.kind:
        case OneOf(choices, unset):
            return forms.ChoiceField(
                required=not unset,
                choices=[("", in_words(unset)), *choices.choices] if unset else choices.choices,
                label=in_words(field.title),
                widget=UnfoldAdminSelectWidget(),
            )
        case Number(low, high, step) as number:
            made = forms.IntegerField if number.is_whole else forms.FloatField
            attributes = {"type": "number", "step": str(step), "min": str(low), "max": str(high)}
            return made(
                required=not field.is_optional,
                label=in_words(field.title),
                help_text=gettext("{low} to {high}.").format(low=low, high=high),
                widget=UnfoldAdminTextInputWidget(attrs=attributes),
            )
        case Moment():
            return _LocalMoment(
                required=False,
                label=in_words(field.title),
                help_text=gettext("In your time zone, {zone}.").format(
                    zone=timezone.get_current_timezone_name()
                ),
                widget=UnfoldAdminTextInputWidget(attrs={"type": "datetime-local"}),
            )
    help_text = gettext("Separate with commas.") if isinstance(field.kind, Tags) else in_words(field.help)
    return forms.CharField(
        required=False, label=in_words(field.title), help_text=help_text, widget=UnfoldAdminTextInputWidget()
    )


def _as_input(kind: Kind, value: Any) -> Any:
    """A value as its input shows it: times in the reader's zone without seconds, tags separated by commas."""
    if isinstance(value, datetime):
        return f"{local_moment(value):%Y-%m-%dT%H:%M}"
    return ", ".join(value) if isinstance(kind, Tags) else value


def _from_input(kind: Kind, value: Any) -> Any:
    """The value of an input's cleaned data."""
    if not isinstance(kind, Tags):
        return value
    return tuple(tag.strip() for tag in value.split(",") if tag.strip())


class MemoryForm(forms.Form):
    """A form of a memory: the fields named in `first` are shown, the others wait under *More*."""

    first: tuple[str, ...] = ()
    button: ClassVar[Any]

    @property
    def shown(self) -> list[forms.BoundField]:
        """The fields that are shown at once: the first ones, and what a refusal asks for."""
        return [each for each in self.visible_fields() if each.name in (*self.first, VOUCHED)]

    @property
    def folded(self) -> list[forms.BoundField]:
        return [each for each in self.visible_fields() if each.name not in (*self.first, VOUCHED)]

    @property
    def is_folded_wrong(self) -> bool:
        """True if a folded field has an error."""
        return any(each.errors for each in self.folded)


class DraftForm(MemoryForm):
    """A new memory."""

    first: tuple[str, ...] = ("content", "group", _NEW_GROUP)
    button = gettext_lazy("Save")
    content = forms.CharField(
        label=gettext_lazy("What should be remembered?"),
        # Newlines belong to the text; store() trims and cleans it.
        strip=False,
        help_text=gettext_lazy(
            "One thing per memory, so that it can be corrected on its own. Write it so that it still makes sense in a year."
        ),
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 5, "autofocus": True, "dir": "auto"}),
    )
    group = forms.ChoiceField(label=gettext_lazy("Group"), widget=UnfoldAdminSelectWidget())
    new_group = forms.CharField(
        required=False,
        max_length=80,
        label=gettext_lazy("Or a new group"),
        widget=UnfoldAdminTextInputWidget(),
    )
    supersedes = forms.UUIDField(
        label=gettext_lazy("Supersedes"),
        required=False,
        help_text=gettext_lazy(
            "The memory that this one replaces: type words of it and choose, or paste its id."
        ),
        widget=MemoryInput(),
    )
    # Others follow.
    field_order = (
        "content", "group", _NEW_GROUP, "tags", "type", "scope", "valid_from", "valid_to", "importance", "confidence",
        "supersedes",
    )  # fmt: skip

    def __init__(self, actor: Actor, data: Any = None, *, initial: dict[str, Any] | None = None) -> None:
        default = Draft("")
        start = {field.name: _as_input(field.kind, getattr(default, field.name)) for field in _DRAFT_FIELDS}
        super().__init__(data, initial=start | (initial or {}))
        self.fields.update({field.name: _form_field(field) for field in _DRAFT_FIELDS})
        self.order_fields(self.field_order)
        if "supersedes" in self.initial:
            self.first = (*self.first, "supersedes")  # what it replaces is seen before it is stored
        happened = gettext("Of an event, when it happened.")
        self.fields["valid_from"].help_text = f"{happened} {self.fields['valid_from'].help_text}"
        groups = [(group.slug, group.title or group.slug) for group in entered_groups(actor, WRITE)]
        if len(groups) == 1:
            self.initial.setdefault("group", groups[0][0])
        if actor.may(CREATE_GROUP):
            self.fields["group"].required = False
        else:
            del self.fields[_NEW_GROUP]
        self.fields["group"].choices = [("", gettext("choose")), *groups]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Require a group, existing or new."""
        data: dict[str, Any] = super().clean() or {}
        if not data.get("group") and not data.get(_NEW_GROUP) and "group" not in self.errors:
            self.add_error("group", gettext("Choose a group, or name a new one."))
        return data

    def draft(self) -> Draft:
        data = self.cleaned_data
        values = {field.name: _from_input(field.kind, data[field.name]) for field in _DRAFT_FIELDS}
        group = data.get(_NEW_GROUP) or data["group"]
        return Draft(
            data["content"], **values, supersedes=data["supersedes"], group=group, allow=vouched_kinds(self)
        )


class EditForm(ReasonForm, MemoryForm):
    """A memory's fields with their current values."""

    first = ("content", "reason")
    button = gettext_lazy("Save the correction")
    content = forms.CharField(
        label=gettext_lazy("Corrected text"),
        strip=False,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 6, "autofocus": True, "dir": "auto"}),
    )
    version = forms.IntegerField(widget=forms.HiddenInput())
    # Others follow.
    field_order = ("content", "reason", "tags", "type", "importance", "valid_from", "expires_at", "version")

    def __init__(self, memory: Memory, data: Any = None) -> None:
        super().__init__(data)
        self.fields.update({field.name: _form_field(field) for field in _EDIT_FIELDS})
        self.order_fields(self.field_order)
        self.initial = {
            "content": memory.content,
            "version": memory.version,
            **{field.name: _as_input(field.kind, getattr(memory, field.name)) for field in _EDIT_FIELDS},
        }

    def edit(self) -> EditDraft:
        """The changed fields. The inputs have no seconds, so an untouched time counts as unchanged and keeps its own."""
        data = self.cleaned_data
        # A browser sends line ends as CR LF; that does not change the text.
        content = data["content"].replace("\r\n", "\n")
        changed = {"content": content} if content != self.initial["content"] else {}
        for field in _EDIT_FIELDS:
            value = _from_input(field.kind, data[field.name])
            if _as_input(field.kind, value) != self.initial[field.name]:
                changed[field.name] = value
        return EditDraft(**changed, version=data["version"], allow=vouched_kinds(self))
