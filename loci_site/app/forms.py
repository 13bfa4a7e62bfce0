"""What is typed on the pages for everybody. The services check it; forms only ask and show what they say."""

from datetime import UTC, date, datetime, time
from typing import Any

from django import forms

from access.errors import LociError
from access.models import Group
from memories.draft import MAX_REASON_CHARS, Draft
from memories.lifecycle.edit import UNCHANGED, EditDraft
from memories.models import Memory
from memories.types import Scope, Type

KINDS = (
    (Type.SEMANTIC, "A fact"),
    (Type.PROCEDURAL, "A way of doing something"),
    (Type.EPISODIC, "An event, something that happened"),
    (Type.ENTITY, "Who or what something is"),
)
PLACES = (
    (Scope.GROUP, "This group alone"),
    (Scope.GLOBAL, "Every group"),
)
TAGS_HINT = "Words to find it by, with commas between them."


class PeopleForm(forms.Form):
    """A form whose faults a screen reader finds at their fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def refuse(self, refusal: LociError) -> None:
        """Show what a service refused, at the field that is at fault where the form has it."""
        self.add_error(refusal.field if refusal.field in self.fields else None, str(refusal))


class StoreForm(PeopleForm):
    """A new memory."""

    content = forms.CharField(
        label="What is to be remembered?",
        widget=forms.Textarea(attrs={"rows": 5, "autofocus": True}),
        help_text="One thing per memory, so that it can be corrected by itself. Write it so that it is understood a year from now.",
    )
    type = forms.ChoiceField(label="What is it?", choices=KINDS)
    happened = forms.DateField(
        label="When did it happen?",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="For an event. Left empty, it is today.",
    )
    group = forms.ChoiceField(label="Group")
    scope = forms.ChoiceField(label="Who sees it?", choices=PLACES)
    tags = forms.CharField(label="Tags", required=False, help_text=TAGS_HINT)

    def __init__(
        self, data: Any = None, *, groups: list[Group], initial: dict[str, Any] | None = None
    ) -> None:
        super().__init__(data, initial=initial)
        self.fields["group"].choices = [(group.slug, group.title or group.slug) for group in groups]  # type: ignore[attr-defined]

    def draft(self) -> Draft:
        """Give what was typed as a draft."""
        said = self.cleaned_data
        moment = said["happened"] if said["type"] == Type.EPISODIC else None
        return Draft(
            said["content"],
            type=said["type"],
            group=said["group"],
            scope=said["scope"],
            tags=_tags(said["tags"]),
            valid_from=_noon(moment) if moment else None,
        )


class CorrectForm(PeopleForm):
    """Another text or other tags for a memory, as it stood when the form was opened."""

    content = forms.CharField(
        label="What it should say", widget=forms.Textarea(attrs={"rows": 6, "autofocus": True})
    )
    tags = forms.CharField(label="Tags", required=False, help_text=TAGS_HINT)
    reason = forms.CharField(
        label="Why?",
        required=False,
        max_length=MAX_REASON_CHARS,
        help_text="Kept in the log with your name. Others see what changed.",
    )
    version = forms.IntegerField(widget=forms.HiddenInput)

    def edit(self, memory: Memory) -> EditDraft:
        """Give what differs from the memory, tied to the version that was seen."""
        said = self.cleaned_data
        tags = _tags(said["tags"])
        return EditDraft(
            content=UNCHANGED if _same(said["content"], memory.content) else said["content"],
            tags=UNCHANGED if tags == tuple(memory.tags) else tags,
            version=said["version"],
        )


class FlagForm(PeopleForm):
    """Why a memory is doubted."""

    reason = forms.CharField(
        label="What is wrong with it?",
        max_length=MAX_REASON_CHARS,
        widget=forms.Textarea(attrs={"rows": 3, "autofocus": True}),
        help_text="A curator reads it. The memory is still found until somebody decides, and says that it is disputed.",
    )


def _tags(typed: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in typed.split(",") if tag.strip())


def _same(typed: str, stored: str) -> bool:
    """Browsers send line ends as CRLF, whatever they were."""
    return typed.replace("\r\n", "\n").strip() == stored.strip()


def _noon(day: date) -> datetime:
    """Give noon of that day: it is the same day in most of the world."""
    return datetime.combine(day, time(12), tzinfo=UTC)
