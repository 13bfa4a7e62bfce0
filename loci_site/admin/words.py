"""The filter that shows a stored word, such as a state, in the reader's language."""

from django import template
from django.utils.translation import gettext, pgettext

register = template.Library()
WORD = "word"  # the context of these msgids: a stored word, not a label of the same spelling


@register.filter
def word(value: object) -> str:
    """The word as the reader says it; unknown ones as they are."""
    return in_words(value)


@register.filter
def translated(text: object) -> str:
    """A text that Python code marked with gettext_noop()."""
    return gettext(str(text)) if text else ""


def in_words(value: object) -> str:
    """The same for Python code of this package."""
    text = str(value)
    return pgettext(WORD, text) if text else ""
