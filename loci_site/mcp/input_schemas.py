"""JSON schemas without redundant parts: agents pay for every token of them."""

from typing import Any

Schema = dict[str, Any]


def trim_schema(schema: Schema) -> Schema:
    """The schema without pydantic's titles, null branches and empty defaults.

    A null in arguments counts as absent anyway, and results contain none.
    """
    result: Schema = {}
    for name, value in schema.items():
        if name == "title" or (name == "default" and not value):
            continue
        if name in ("properties", "$defs"):  # its keys are names of arguments, even `title`
            result[name] = {key: trim_schema(part) for key, part in value.items()}
        elif name == "anyOf":
            branches = [trim_schema(part) for part in value if part.get("type") != "null"]
            result |= branches[0] if len(branches) == 1 else {"anyOf": branches}
        else:
            result[name] = trim_schema(value) if isinstance(value, dict) else value
    return result
