"""Inputs of moments in UTC, whatever the reader's time zone is: what is typed is stored."""

from datetime import UTC
from typing import Any

from django import forms
from django.utils import timezone


class UtcMoment(forms.DateTimeField):
    """A date and time that is meant in UTC, as its hint says."""

    def to_python(self, value: Any) -> Any:
        """The moment."""
        with timezone.override(UTC):
            return super().to_python(value)

    def prepare_value(self, value: Any) -> Any:
        """The moment as the input shows it."""
        with timezone.override(UTC):
            return super().prepare_value(value)
