"""Options of commands for a memory's fields, from the registry of fields, and those for moments."""

from collections.abc import Iterable
from typing import Any, Final

from access.management.command import Option, option
from memories.draft import Draft
from memories.draft.kinds import Moment, Number, OneOf, Tags
from memories.draft.registry import RecordField
from memories.language.cleaning import parse_moment

AS_OF: Final = option(
    "--as-of", metavar="TIME", read=parse_moment, help="what was true then: 2026-11-21T09:30:00Z"
)
KNOWN_AT: Final = option("--known-at", metavar="TIME", read=parse_moment, help="what Loci knew then")
SINCE: Final = option(
    "--since", metavar="TIME", read=parse_moment, help="from this moment on: 2026-05-01T09:30Z"
)
UNTIL: Final = option("--until", metavar="TIME", read=parse_moment, help="before this moment")


def option_of(field: RecordField) -> str:
    """The name of its option, without dashes: `tag` for tags, since each is given on its own."""
    return "tag" if isinstance(field.kind, Tags) else field.name


def field_options(fields: Iterable[RecordField], *, is_edit: bool = False) -> tuple[Option, ...]:
    """An option for each field. `is_edit`: without the option the field stays as it is."""
    made = []
    defaults = Draft("")
    for field in fields:
        how: dict[str, Any] = {"help": field.help or None}
        if not is_edit:
            how["default"] = getattr(defaults, field.name) or None
        match field.kind:
            case OneOf(choices) as one_of:
                how |= {"choices": one_of.words, "help": field.help or "; ".join(map(str, choices.labels))}
            case Number(low, high) as number:
                how |= {"type": int if number.is_whole else float, "metavar": f"{low}..{high}"}
            case Moment():
                how["metavar"] = "TIME"
            case Tags():
                note = "replaces its tags; may be repeated" if is_edit else "may be repeated"
                how |= {"action": "append", "metavar": "WORD", "help": note}
        made.append(option(f"--{option_of(field).replace('_', '-')}", **how))
    return tuple(made)


def read_fields(options: dict[str, Any], fields: Iterable[RecordField]) -> dict[str, Any]:
    """The fields whose options are given, with their values as a draft holds them."""
    values = dict[str, Any]()
    for field in fields:
        value = options[option_of(field)]
        match field.kind:
            case Moment():
                value = parse_moment(value, field=field.name) if value else None
            case Tags():
                value = None if value is None else tuple(value)
        if value is not None:
            values[field.name] = value
    return values
