"""Write the models and calls of clients/python from the OpenAPI document; with `--check` only say whether they are up to date.

`python -m bench.client [--check]`. Answers become models, which ignore what a newer server adds; requests become functions
with typed arguments.
"""

import os
import sys
from collections.abc import Iterator
from keyword import iskeyword
from pathlib import Path
from typing import Any

import django
from pydantic import BaseModel

Json = dict[str, Any]
FILE = Path(__file__).resolve().parents[1] / "clients/python/loci_team_memory_client/calls.py"
_HEAD = '''\
"""The answers and calls of Loci's REST API, and the methods of both clients.

Written by `python -m bench.client`; change the API, not this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from loci_team_memory_client.sending import OMIT, Answer, AsyncMethod, Call, Method, Omit
'''


def render(document: Json) -> str:
    """The file for an OpenAPI document."""
    schemas = document["components"]["schemas"]
    operations = [
        (path, method.upper(), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    names = [operation["operationId"] for _, _, operation in operations]
    parts = [_model(name, schemas[name]) for name in _answers(schemas, operations)]
    parts += [_call(schemas, *each) for each in operations]
    for base, descriptor in (("Methods", "Method"), ("AsyncMethods", "AsyncMethod")):
        lines = "\n".join(f"    {name} = {descriptor}({name})" for name in names)
        parts.append(f'class {base}:\n    """One method for each call."""\n\n{lines}')
    return _HEAD + "".join(f"\n\n{part}\n" for part in parts)


def _answers(schemas: Json, operations: list[tuple[str, str, Json]]) -> list[str]:
    """The names of the schemas that answers consist of, in the document's order."""
    wanted, open_ = set[str](), [_answer_of(operation) for _, _, operation in operations]
    while open_:
        if (name := open_.pop()) not in wanted:
            wanted.add(name)
            open_ += _references(schemas[name])
    return [name for name, schema in schemas.items() if name in wanted and "properties" in schema]


def _answer_of(operation: Json) -> str:
    [name] = {
        _name_in(response["content"]["application/json"]["schema"])
        for status, response in operation["responses"].items()
        if int(status) < 300
    }
    return name


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield _name_in(schema)
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from _references(part)


def _name_in(schema: Json) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _model(name: str, schema: Json) -> str:
    lines = [f"class {name}(Answer):", f"    {_docstring(schema.get('description', name))}", ""]
    for field, part in schema["properties"].items():
        kind = _type_of(part, of_request=False)
        is_required = field in schema.get("required", ())
        kind += "" if is_required or kind == "Any" or "None" in kind else " | None"
        default = "" if is_required else " = None"
        if iskeyword(field) or hasattr(BaseModel, field):
            default = f' = Field(alias="{field}")' if is_required else f' = Field(None, alias="{field}")'
            field += "_"
        lines.append(f"    {field}: {kind}{default}")
    return "\n".join(lines)


def _call(schemas: Json, path: str, method: str, operation: Json) -> str:
    answer = _answer_of(operation)
    sent: dict[str, dict[str, str]] = {"path": {}, "query": {}, "header": {}, "body": {}}
    required, others = list[str](), list[str]()
    values = [
        (each["name"], each["in"], each["schema"], each["required"]) for each in operation["parameters"]
    ]
    body = _body_of(schemas, operation)
    values += [(name, "body", part, name in body.get("required", ())) for name, part in body.get("properties", {}).items()]  # fmt: skip
    for name, place, part, is_required in values:
        argument = f"{name}_" if iskeyword(name) else name
        sent[place][name] = argument
        if place == "header":  # the client makes its key
            continue
        kind = _type_of(part, of_request=True)
        if is_required:
            required.append(f"    {argument}: {kind},")
        else:
            others.append(f"    {argument}: {kind} | Omit = OMIT,")
    name = operation["operationId"]
    arguments = (
        "\n".join(["", *required, *(["    *,", *others] if others else []), ""]) if required or others else ""
    )
    lines = [
        f"def {name}({arguments}) -> Call[{answer}]:",
        f"    {_docstring(operation['description'])}",
        "    return Call(",
        f'        {answer}, "{method}", "{path}",',
        *(_dictionary(place, sent[place]) for place in ("path", "query", "body") if sent[place]),
        *(["        takes_key=True,"] if sent["header"] else []),
        "    )",
    ]
    return "\n".join(lines)


def _dictionary(place: str, names: dict[str, str]) -> str:
    return f"        {place}={{{', '.join(f'{chr(34)}{name}{chr(34)}: {argument}' for name, argument in names.items())}}},"


def _body_of(schemas: Json, operation: Json) -> Json:
    if "requestBody" not in operation:
        return {}
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    found: Json = schemas[_name_in(schema.get("allOf", [schema])[0])]
    return found


def _type_of(schema: Json, *, of_request: bool) -> str:
    """The type as Python says it. An answer's words are `str`: a newer server may know more of them."""
    if "allOf" in schema:
        return _type_of(schema["allOf"][0], of_request=of_request)
    if "$ref" in schema:
        name = _name_in(schema)
        return (
            "Mapping[str, Any]" if of_request else name if name.endswith(("Out", "Page", "List")) else "str"
        )
    if "anyOf" in schema:
        kinds = [_type_of(each, of_request=of_request) for each in schema["anyOf"]]
        return " | ".join(sorted(dict.fromkeys(kinds), key="None".__eq__))
    if "enum" in schema and of_request:
        return f"Literal[{', '.join(f'{chr(34)}{word}{chr(34)}' for word in schema['enum'])}]"
    match schema.get("type"):
        case "array":
            inner = _type_of(schema.get("items", {}), of_request=of_request)
            return f"Sequence[{inner}]" if of_request else f"list[{inner}]"
        case "object" if of_request:
            return "Mapping[str, Any]"
        case "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {_type_of(values if isinstance(values, dict) else {}, of_request=False)}]"
        case "string":
            return "datetime | str" if of_request and schema.get("format") == "date-time" else "str"
        case "null":
            return "None"
        case kind:
            return {"integer": "int", "number": "float", "boolean": "bool"}.get(kind or "", "Any")


def _docstring(text: str) -> str:
    line = " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")
    return f'"""{line}"""'


def main() -> None:
    """Write the file, or check it."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    django.setup()
    from loci_site.api import api  # noqa: PLC0415 - needs the models

    text = render(api.get_openapi_schema(path_prefix="/api/"))
    if sys.argv[1:] == ["--check"]:
        is_stale = not FILE.is_file() or FILE.read_text(encoding="utf-8") != text
        sys.exit(f"Out of date: {FILE.name}. Run 'python -m bench.client'." if is_stale else 0)
    FILE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
