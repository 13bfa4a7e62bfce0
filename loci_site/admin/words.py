"""The filter that shows a stored word, such as a state, in the reader's language."""

from django import template
from django.utils.translation import gettext

from access.admin.columns import in_words

register = template.Library()


@register.filter
def word(value: object) -> str:
    """The word as the reader says it."""
    return in_words(value)


@register.filter
def translated(text: object) -> str:
    """A text that Python code marked with gettext_noop()."""
    return gettext(str(text)) if text else ""
