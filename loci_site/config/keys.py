"""How one setting is declared, read and checked; `sections.py` lists the settings themselves."""

import difflib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_TRUE_WORDS = ("1", "true", "yes", "on")
_FALSE_WORDS = ("0", "false", "no", "off")


class WrongValue(ValueError):
    """The value is not allowed; the message describes the allowed values."""


def key(
    default: Any,
    meaning: str,
    *,
    unit: str = "",
    low: float = -math.inf,
    high: float = math.inf,
    variable: str = "",
    secret: bool = False,
) -> Any:
    """A dataclass field that declares one setting: default, meaning, unit, range and short variable.

    Every number has a range; the settings reference and the errors state it. The value of a secret is never shown.
    """
    stated = {
        "meaning": meaning,
        "unit": unit,
        "low": low,
        "high": high,
        "variable": variable,
        "is_secret": secret,
    }
    return field(default=default, metadata=stated)


@dataclass(frozen=True)
class ConfigKey:
    """One setting, as the readers check it and as the settings reference shows it."""

    section: str
    name: str
    kind: type
    default: Any
    choices: tuple[str, ...]
    meaning: str
    unit: str
    low: float
    high: float
    variable: str
    is_secret: bool

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables that set this key; the first that is set wins."""
        long = f"LOCI_{self.section}_{self.name}".upper()
        return (long, self.variable) if self.variable else (long,)

    @property
    def allowed(self) -> str:
        if self.choices:
            return "one of " + ", ".join(self.choices)
        words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
        kind = words.get(self.kind, "a path" if self.kind is Path else "a list of strings")
        span = f"from {self.low} to {self.high}" if self.kind in (int, float) else ""
        return " ".join(part for part in (kind, span, self.unit and f"({self.unit})") if part)

    def from_text(self, text: str, *, base: Path) -> Any:
        """The checked value of an environment variable's text."""
        value: Any = text.strip()
        if self.kind is bool:
            if value.casefold() not in _TRUE_WORDS + _FALSE_WORDS:
                raise WrongValue(self.allowed)
            value = value.casefold() in _TRUE_WORDS
        elif self.kind in (int, float):
            try:
                value = self.kind(value)
            except ValueError as error:
                raise WrongValue(self.allowed) from error
        elif self.kind is tuple:
            value = [part.strip() for part in value.split(",") if part.strip()]
        return self.checked(value, base=base)

    def checked(self, value: Any, *, base: Path) -> Any:
        """The value in the key's type; a relative path starts at `base`. Raises WrongValue."""
        if self.choices:
            return self._choice(value)
        if self.kind in (int, float):
            return self._number(value)
        if self.kind is tuple:
            if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
                raise WrongValue(self.allowed)
            return tuple(value)
        if self.kind is Path:
            return self._path(value, base)
        if not isinstance(value, self.kind):
            raise WrongValue(self.allowed)
        return value

    def _choice(self, value: Any) -> str:
        by_folded = {choice.casefold(): choice for choice in self.choices}
        if not isinstance(value, str) or value.casefold() not in by_folded:
            raise WrongValue(self.allowed)
        return by_folded[value.casefold()]

    def _number(self, value: Any) -> int | float:
        kinds = (int, float) if self.kind is float else (int,)  # not bool, which is an int to isinstance
        if (
            type(value) not in kinds or not self.low <= value <= self.high
        ):  # the range excludes NaN and infinity
            raise WrongValue(self.allowed)
        return float(value) if self.kind is float else int(value)

    def _path(self, value: Any, base: Path) -> Path:
        if not isinstance(value, str) or not value or "\0" in value:
            raise WrongValue(self.allowed)
        return (base / Path(value).expanduser()).absolute()

    def default_value(self, *, base: Path) -> Any:
        """The default in the key's type; a relative path starts at `base`."""
        return (base / self.default).absolute() if isinstance(self.default, Path) else self.default


def keys_of(section: str, declared: type) -> dict[str, ConfigKey]:
    """The keys of one section's dataclass by name, in order of declaration."""
    hints = get_type_hints(declared)
    keys = {}
    for entry in fields(declared):
        hint = hints[entry.name]
        if get_origin(hint) in (Union, UnionType):
            hint = next(part for part in get_args(hint) if part is not type(None))
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        kind = str if choices else get_origin(hint) or hint
        keys[entry.name] = ConfigKey(section, entry.name, kind, entry.default, choices, **entry.metadata)
    return keys


def suggest(word: str, known: Iterable[str]) -> str:
    """The sentence "Did you mean …?" for a misspelt word; empty if nothing is close."""
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"Did you mean {close[0]}?" if close else ""


def nearest(word: str, known: Iterable[str]) -> str:
    """suggest() as the end of a sentence."""
    return suggest(word, known).replace("Did", "did", 1)
