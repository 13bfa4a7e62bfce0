"""A text whose phrases of time are replaced by marks, so that longer phrases can be read around them."""

import re
from collections.abc import Callable
from datetime import date

from memories.recall.dates.spans import NamedTime

# Characters that no text means anything with (Unicode's private use area); each stands for one time.
_FIRST_MARK = 0xE000
MAX_TIMES = 32  # a text that names more is no question
PHRASE = f"[{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + MAX_TIMES - 1)}]"
_ANY = re.compile(PHRASE)


def falls_on(time: NamedTime, weekday: int, today: date) -> bool:
    """Whether a named day falls on a weekday; without a year, the latest such day."""
    first = time.latest(today).first
    return first is not None and first.weekday() == weekday


class Phrases:
    """A text, the times found in it, and the words that name each."""

    def __init__(self, text: str) -> None:
        self.text = " ".join(_ANY.sub(" ", text).split())
        self._times: list[NamedTime] = []
        self._words: list[str] = []

    def mark(self, pattern: re.Pattern[str], read: Callable[[re.Match[str]], NamedTime | None]) -> None:
        """Replace what the pattern matches by a mark wherever `read` makes a time of it."""

        def replace(match: re.Match[str]) -> str:
            if len(self._times) >= MAX_TIMES:
                return match[0]
            time = read(match)
            if time is None:
                return match[0]
            self._times.append(time)
            self._words.append(self.restore(match[0]))
            return chr(_FIRST_MARK + len(self._times) - 1)

        self.text = pattern.sub(replace, self.text)

    def time_of(self, mark: str) -> NamedTime:
        """The time that a mark stands for."""
        return self._times[ord(mark) - _FIRST_MARK]

    def day_on(self, weekday: int, today: date) -> NamedTime | None:
        """The first day that the text names besides and that falls on this weekday (0 is Monday): Tuesday, 1 September."""
        named = (time for time in self._times if time.is_day)
        return next((time for time in named if falls_on(time, weekday, today)), None)

    def restore(self, text: str) -> str:
        """A text with the words that its marks stand for."""
        return _ANY.sub(lambda mark: self._words[ord(mark[0]) - _FIRST_MARK], text)

    def found(self) -> list[str]:
        """The marks that are left in the text, each once, in order."""
        return list(dict.fromkeys(_ANY.findall(self.text)))

    def rest(self) -> str:
        """The text without its times."""
        return _ANY.sub(" ", self.text)
