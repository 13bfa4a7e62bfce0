"""The workspace's forms. The services validate; forms only ask and show the errors."""

from datetime import UTC, datetime, time
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from access.admin.form_errors import vouched_kinds
from access.models import Group
from memories.draft import MAX_REASON_CHARS, UNCHANGED, Draft, EditDraft
from memories.models import Memory
from memories.types import Scope, Type

TYPES = (
    (Type.SEMANTIC, gettext_lazy("A fact")),
    (Type.PROCEDURAL, gettext_lazy("A procedure: how something is done")),
    (Type.EPISODIC, gettext_lazy("An event: something that happened")),
    (Type.ENTITY, gettext_lazy("A person or thing")),
)
SCOPES = (
    ("", gettext_lazy("Default of the group")),
    (Scope.GROUP, gettext_lazy("This group only")),
    (Scope.GLOBAL, gettext_lazy("Every group")),
)
_TAGS_HINT = gettext_lazy("Separate with commas.")


class _PeopleForm(forms.Form):
    """A form whose errors a screen reader finds at their fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class StoreForm(_PeopleForm):
    """A new memory."""

    content = forms.CharField(
        label=gettext_lazy("What should be remembered?"),
        widget=forms.Textarea(attrs={"rows": 5, "autofocus": True}),
        help_text=gettext_lazy(
            "One thing per memory, so that it can be corrected on its own. Write it so that it still makes sense in a year."
        ),
    )
    type = forms.ChoiceField(label=gettext_lazy("What is it?"), choices=TYPES)
    happened = forms.DateField(
        label=gettext_lazy("When did it happen?"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text=gettext_lazy("For events. Leave empty for today."),
    )
    group = forms.ChoiceField(label=gettext_lazy("Group"))
    scope = forms.ChoiceField(label=gettext_lazy("Who sees it?"), choices=SCOPES, required=False)
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False, help_text=_TAGS_HINT)

    def __init__(
        self, data: Any = None, *, groups: list[Group], initial: dict[str, Any] | None = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.fields["group"].choices = [(group.slug, group.title or group.slug) for group in groups]  # type: ignore[attr-defined]

    def draft(self) -> Draft:
        """The input as a draft; an event happens at noon UTC, the same day in most of the world."""
        data = self.cleaned_data
        day = data["happened"] if data["type"] == Type.EPISODIC else None
        return Draft(
            data["content"],
            type=data["type"],
            group=data["group"],
            scope=data["scope"],
            tags=_split_tags(data["tags"]),
            valid_from=datetime.combine(day, time(12), tzinfo=UTC) if day else None,
            allow=vouched_kinds(self),
        )


class CorrectForm(_PeopleForm):
    """A new text or other tags for the version of a memory that the form was opened with."""

    content = forms.CharField(
        label=gettext_lazy("Corrected text"), widget=forms.Textarea(attrs={"rows": 6, "autofocus": True})
    )
    tags = forms.CharField(label=gettext_lazy("Tags"), required=False, help_text=_TAGS_HINT)
    reason = forms.CharField(
        label=gettext_lazy("Why?"),
        required=False,
        max_length=MAX_REASON_CHARS,
        help_text=gettext_lazy("Kept in the audit log with your name. Others see what changed."),
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    def edit(self, memory: Memory) -> EditDraft:
        """The fields that differ from the memory, bound to the version the user saw."""
        data = self.cleaned_data
        # Browsers send line ends as CRLF, whatever they were.
        is_same_text = data["content"].replace("\r\n", "\n").strip() == memory.content.strip()
        tags = _split_tags(data["tags"])
        return EditDraft(
            content=UNCHANGED if is_same_text else data["content"],
            tags=UNCHANGED if tags == tuple(memory.tags) else tags,
            version=data["version"],
            allow=vouched_kinds(self),
        )


class FlagForm(_PeopleForm):
    """Why a memory is disputed."""

    reason = forms.CharField(
        label=gettext_lazy("What is wrong with it?"),
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
        help_text=gettext_lazy(
            "A curator reads it. Until they decide, the memory is still found, marked as disputed."
        ),
    )


def _split_tags(text: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())
