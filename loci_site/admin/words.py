"""Filters for texts in the reader's language: stored words, such as a state, and the start of a long text."""

from django import template
from django.utils.translation import gettext

from access.admin.columns import in_brackets, in_words, interface_name, join_list, shorten
from access.admin.day_range import ago
from loci_site.admin.phrases import in_sentence
from memories.models.short_id import short_id
from memories.queries.labels import label_of, standing

register = template.Library()
register.filter(ago)
register.filter(in_brackets)
register.filter("interface", interface_name)
register.filter("listed", join_list)
register.filter("phrase", in_sentence)
register.filter("word", in_words)
register.filter(label_of)
register.filter(standing)
register.filter(short_id)


@register.filter
def browser_name(text: str) -> str:
    """A browser and its system, such as "Firefox on Linux"."""
    browser, _, system = text.partition(" on ")
    return gettext("{browser} on {system}").format(browser=browser, system=system) if system else text


@register.filter
def sentence(text: object) -> str:
    """A text with the full stop of the reader's language."""
    return gettext("{text}.").format(text=text)


@register.filter
def translated(text: object) -> str:
    """A text that Python code marked with gettext_noop()."""
    return gettext(str(text)) if text else ""


@register.filter
def shortened(text: object, chars: int) -> str:
    """The start of a text, for lists."""
    return shorten(str(text), chars)


@register.filter
def within(content: str, text: str) -> str:
    """A translated text with `{content}` filled in: in a list, a tenth of the cost of {% blocktranslate %}."""
    return text.format(content=content)
