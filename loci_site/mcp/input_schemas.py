"""JSON schemas without redundant parts: agents pay for every token of them."""

from typing import Any

Schema = dict[str, Any]
DROPPED = ("title", "format", "additionalProperties")


def trim_schema(schema: Schema) -> Schema:
    """The schema without pydantic's titles, null branches, empty defaults and what the tool checks and describes itself.

    A null in arguments counts as absent anyway, and results contain none.
    """
    result: Schema = {}
    for name, value in schema.items():
        if name in DROPPED or (name in ("default", "minimum") and not value):
            continue
        if name in ("properties", "$defs"):  # its keys are names of arguments, even `title`
            result[name] = {key: trim_schema(part) for key, part in value.items()}
        elif name == "anyOf":
            branches = [trim_schema(part) for part in value if part.get("type") != "null"]
            result |= branches[0] if len(branches) == 1 else {"anyOf": branches}
        else:
            result[name] = trim_schema(value) if isinstance(value, dict) else value
    return result
