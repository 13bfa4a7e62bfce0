"""Sentences that services write in English, because programs read them, in the reader's language."""

import re
from functools import lru_cache

from django.utils.translation import gettext, gettext_noop

from access.admin.columns import in_words, join_list

# As services write them. Values of `kind` are words themselves, `why` is another phrase; all others stay as they are.
PHRASES = (
    # Health
    gettext_noop("{size} GB free"),
    gettext_noop("reported {seconds} s ago"),
    gettext_noop("on time; paused: {jobs}"),
    gettext_noop("{job} is overdue"),
    gettext_noop("{job} failed {times}×"),
    gettext_noop("{why}: see 'loci schedule'"),
    # Why two memories are linked
    gettext_noop("contradicts: {kind}, “{old}” against “{new}”"),
    gettext_noop("similar in meaning (cosine {cosine})"),
    gettext_noop("nearly the same words (cosine {cosine})"),
    gettext_noop("similar in their first {chars} characters (cosine {cosine})"),
    gettext_noop("the same words in a different order"),
    gettext_noop("the same words"),
    gettext_noop("names in a different order"),
    gettext_noop("names differ: only the first word differs"),
    gettext_noop("negation differs: one says the opposite"),
    gettext_noop("one may say the opposite"),
    gettext_noop("written in different case: {words}"),
    gettext_noop("{kind} differ: {difference}"),
    gettext_noop("what it rested on was withdrawn"),
    gettext_noop("will {kind} it once approved"),
    gettext_noop("summarises it"),
    gettext_noop("states the same"),
    # Why a line of a file is skipped
    gettext_noop("it is not JSON: {error}"),
    # Why a question finds a memory or does not
    gettext_noop("it ranks {rank}, but {why}"),
    gettext_noop("it ranks {rank}"),
    gettext_noop("it is dormant, and live memories answer"),
    gettext_noop("beyond the first {limit}"),
    gettext_noop("neither search has it among its first {limit}"),
    gettext_noop("nothing found is close enough to be an answer"),
    gettext_noop("it shares no word with the question and is not close in meaning"),
    gettext_noop("it is another group's, and far below the best"),
    gettext_noop("it is far below the best (a request that names max_results gets it)"),
    gettext_noop("another one that is shown says the same"),
    gettext_noop("it is shown with the memory that it will replace"),
    gettext_noop("the question asks for all of something else"),
    gettext_noop("it changed or was deleted while the question was answered"),
    gettext_noop("recall leaves it out: {why}"),
    gettext_noop("its text was withdrawn in this group"),
    gettext_noop("the filter '{filter}' leaves it out"),
    gettext_noop("recall hides {kind} memories"),
    gettext_noop("it counts from {at} UTC"),
    gettext_noop("it expired at {at} UTC"),
    gettext_noop("it was true until {at} UTC"),
    gettext_noop("you may not recall it"),
)
_NAMES = ("job", "rank", "limit", "size", "seconds")  # one word each, or two phrases would pass for one


def in_sentence(text: object) -> str:
    """The sentence as the reader says it, or several that "and" or commas join; an unknown one as it is."""
    said = str(text)
    if (whole := _translated(said)) is not None:
        return whole
    for joint in re.finditer(" and ", said):
        first, second = _translated(said[: joint.start()]), _translated(said[joint.end() :])
        if first is not None and second is not None:
            return gettext("{first} and {second}").format(first=first, second=second)
    parts = [_translated(part) for part in said.split(", ")]
    return in_words(said) if None in parts else join_list(parts)


def _translated(said: str) -> str | None:
    """The sentence in the reader's language; None if it is none of PHRASES."""
    for phrase, pattern in _patterns():
        if match := pattern.fullmatch(said):
            values = {name: _value(name, each) for name, each in match.groupdict().items()}
            return gettext(phrase).format(**values)
    return None


def _value(name: str, text: str) -> str:
    match name:
        case "kind":
            return in_words(text)
        case "why":
            return in_sentence(text)
    return text


@lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """A pattern for each phrase, in which a place holder is any text."""
    return tuple((each, re.compile(_pattern(each), re.DOTALL)) for each in PHRASES)


def _pattern(phrase: str) -> str:
    parts = re.split(r"\{(\w+)\}", phrase)  # texts and names in turn
    return "".join(
        f"(?P<{part}>{r'[^ ,]+' if part in _NAMES else '.+?'})" if at % 2 else re.escape(part)
        for at, part in enumerate(parts)
    )
