"""JSON schemas as agents pay for them: nothing in them that says nothing."""

from typing import Any

Schema = dict[str, Any]


def trimmed(schema: Schema) -> Schema:
    """Give the schema without pydantic's titles, without branches for null, without empty defaults.

    A null that is sent all the same counts as absent, and results hold none.
    """
    result: Schema = {}
    for name, value in schema.items():
        if name == "title" or (name == "default" and not value):
            continue
        if name in ("properties", "$defs"):  # here a key is somebody's name, even `title`
            result[name] = {key: trimmed(part) for key, part in value.items()}
        elif name == "anyOf":
            result |= _without_null([trimmed(part) for part in value])
        else:
            result[name] = trimmed(value) if isinstance(value, dict) else value
    return result


def _without_null(branches: list[Schema]) -> Schema:
    rest = [branch for branch in branches if branch.get("type") != "null"]
    return rest[0] if len(rest) == 1 else {"anyOf": rest}
