"""The filters of a recall as one object, `where`: one table for every interface that takes such an object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from access.errors import InvalidInput
from access.visibility import Narrowing
from memories.draft.kinds import check_choice, check_range, check_tags
from memories.language.cleaning import clean_line, parse_moment
from memories.types import Scope, Type

MAX_FILTER_CHARS: Final = 1000


@dataclass(frozen=True)
class Filter:
    """A filter: its JSON schema, whose type decides how a value is read, and its meaning."""

    schema: dict[str, Any]
    help: str = ""

    def read(self, value: Any, *, field: str) -> Any:
        """The value as Narrowing holds it. Raises InvalidInput with the field and what is allowed."""
        match self.schema:
            case {"type": "array"}:
                return self._read_words(value, field)
            case {"type": kind, "minimum": low, "maximum": high}:
                check_range(value, low, high, field=field)
                if kind == "integer" and not isinstance(value, int):
                    raise InvalidInput(f"'{field}' must be a whole number.", field=field)
                return value
            case {"type": "boolean"}:
                if not isinstance(value, bool):
                    raise InvalidInput(f"'{field}' must be true or false.", field=field)
                return value
        text = clean_line(_require_text(value, field), field=field, max_chars=MAX_FILTER_CHARS)
        if text and "enum" in self.schema:
            check_choice(text, self.schema["enum"], field=field)
        if self.schema.get("format") == "date-time":
            return parse_moment(text, field=field) if text else None
        return text

    def _read_words(self, value: Any, field: str) -> frozenset[str]:
        if not isinstance(value, list | tuple):
            raise InvalidInput(f"'{field}' must be a list of texts.", field=field)
        words = tuple(_require_text(word, field) for word in value)
        for word in words if "enum" in self.schema["items"] else ():
            check_choice(word, self.schema["items"]["enum"], field=field)
        return frozenset(check_tags(words))


_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}
# Named and ordered as the fields of Narrowing, which tests compare.
WHERE: Final[dict[str, Filter]] = {
    "types": Filter({"type": "array", "items": {"type": "string", "enum": Type.values}}),
    "scope": Filter({"type": "string", "enum": Scope.values}),
    "tags": Filter({"type": "array", "items": _TEXT}, "all of them"),
    "min_confidence": Filter({"type": "number", "minimum": 0, "maximum": 1}),
    "min_importance": Filter({"type": "integer", "minimum": 0, "maximum": 10}),
    "thread": Filter(_TEXT),
    "source": Filter(_TEXT),
    "as_of": Filter(_TIME, "what was true then"),
    "known_at": Filter(_TIME, "what was known then"),
    "after": Filter(_TIME, "happened then or later"),
    "before": Filter(_TIME),
    "include_orphans": Filter({"type": "boolean"}),
}


def where_schema() -> dict[str, Any]:
    """The JSON schema of the object."""
    properties = {
        name: each.schema | ({"description": each.help} if each.help else {}) for name, each in WHERE.items()
    }
    return {"type": "object", "properties": properties, "additionalProperties": False}


def parse_where(where: Mapping[str, Any]) -> Narrowing:
    """The filters of the object; null leaves one out.

    Raises:
        InvalidInput: a key is unknown, or a value is not allowed; `field` names it.
    """
    values: dict[str, Any] = {}
    for name, value in where.items():
        if name not in WHERE:
            raise InvalidInput(
                f"There is no filter '{name[:40]}'.", hint=f"'where' takes {', '.join(WHERE)}.", field="where"
            )
        if value is not None:
            values[name] = WHERE[name].read(value, field=name)
    narrowing = Narrowing(**values)
    check_order(narrowing)
    return narrowing


def check_order(narrowing: Narrowing) -> None:
    """Raise InvalidInput if `after` is later than `before`: nothing could match."""
    if narrowing.after and narrowing.before and narrowing.after > narrowing.before:
        raise InvalidInput("after is later than before.", hint="Swap them, or leave one out.", field="after")


def _require_text(value: Any, field: str) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise InvalidInput(f"'{field}' must be text.", field=field)
    return value
