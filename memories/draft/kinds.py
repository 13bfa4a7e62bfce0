"""Kinds of values that a memory's fields hold, and how each is cleaned and bounded.

Each face asks a field's kind which input, option or schema fits it.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import TextChoices

from access.errors import InvalidInput
from memories.draft.checks import check_choice, check_metadata, check_range, check_tags, check_zone
from memories.language.cleaning import clean_line


@dataclass(frozen=True)
class Kind:
    """A value that needs no check, because no caller sets it."""

    def clean(self, value: Any, *, field: str) -> Any:
        """The value as it is stored. Raises InvalidInput or TooLarge with the field and what is allowed."""
        return value

    def from_json(self, value: Any) -> Any:
        """A stored value, not None, that was written as JSON."""
        return value


class Text(Kind):
    """The content; check_draft() cleans it, since it counts the removed characters."""


class Flag(Kind):
    """True or false."""


class Id(Kind):
    """A UUID."""


@dataclass(frozen=True)
class Line(Kind):
    """A short text on one line; it may be empty."""

    max_chars: int

    def clean(self, value: Any, *, field: str) -> Any:
        return clean_line(value, field=field, max_chars=self.max_chars)


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some words. `unset` says what an empty value means; "" if it may not be empty."""

    choices: type[TextChoices]
    unset: str = ""

    @cached_property
    def words(self) -> list[str]:
        """The words that are allowed."""
        return [*self.choices.values]

    def clean(self, value: Any, *, field: str) -> Any:
        if value or not self.unset:
            check_choice(value, self.words, field=field)
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A number from `low` to `high`; a whole one if `step` is. Answers round it to `digits` decimals."""

    low: int
    high: int
    step: float = 1
    digits: int | None = None

    @property
    def is_whole(self) -> bool:
        """True if only whole numbers are meant."""
        return isinstance(self.step, int)

    def clean(self, value: Any, *, field: str) -> Any:
        check_range(value, self.low, self.high, field=field)
        if self.is_whole and value != int(value):
            raise InvalidInput(f"{field} is {value!r}; it must be a whole number.", field=field)
        return value


class Moment(Kind):
    """A time with its zone."""

    def clean(self, value: Any, *, field: str) -> Any:
        check_zone(value, field=field)
        return value

    def from_json(self, value: Any) -> datetime:
        return datetime.fromisoformat(value)


class Tags(Kind):
    """Words in lower case."""

    def clean(self, value: Any, *, field: str) -> Any:
        return check_tags(value)


class Metadata(Kind):
    """A JSON object."""

    def clean(self, value: Any, *, field: str) -> Any:
        return check_metadata(value)
