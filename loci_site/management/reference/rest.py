"""docs/reference/rest.md: every address, read from the OpenAPI document."""

from typing import Any

from loci_site.api import api
from loci_site.management.reference import markdown as md

Json = dict[str, Any]
INTRO = """\
REST is at `/api/`; `/api/docs` shows the same as a page to try out, `/api/openapi.json` as an OpenAPI document. Both hold
no data and are open; everything else takes a token, or the session of a browser that is logged in (with the header
`X-CSRFToken` for what changes something).

```
curl -H "Authorization: Bearer loci_…" "http://127.0.0.1:8000/api/recall?query=deploy+port&group=ledger"
```

- A field or query parameter that is not known is an error: a misspelt filter never widens an answer.
- Moments are ISO 8601: `2026-11-21`, `2026-11-21T09:30Z`, `2026-11-21T10:30+01:00`. Without a zone they are UTC; a date alone
  is its first moment.
- Lists give `items`, newest first, and `next`: pass it as `cursor` for the page after; null ends the list. `limit` is at
  most 100.
- Any version's id leads to the memory; verbs and edits act on the version that counts.
- A store answers 201 created, 200 reinforced or unchanged, 202 queued for a curator, 409 refused.
- Errors: [errors.md](errors.md). Every address may also answer 400, 401, 403, 404, 413, 422, 500 and 503."""


def page() -> str:
    """Give the page."""
    document = api.get_openapi_schema(path_prefix="/api/")
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            sections.setdefault(operation["tags"][0], []).append(
                _operation(document, method, path, operation)
            )
    parts = [part for tag, found in sections.items() for part in (f"## {tag.capitalize()}", *found)]
    return md.page("REST", INTRO, *parts)


def _operation(document: Json, method: str, path: str, operation: Json) -> str:
    rows = [
        _row(document, p["name"], p["schema"], where=p["in"], required=p["required"])
        for p in operation["parameters"]
    ]
    body = operation.get("requestBody")
    if body:
        schema = _resolved(document, body["content"]["application/json"]["schema"])
        needed = schema.get("required", [])
        rows += [
            _row(document, n, s, where="body", required=n in needed) for n, s in schema["properties"].items()
        ]
    answers = [_answer(status, said) for status, said in operation["responses"].items() if int(status) < 300]
    parts = [f"### {method.upper()} {path}", operation["description"].replace("\n", " ")]
    if rows:
        parts.append(md.table(("name", "in", "value", "what it is"), rows))
    return "\n\n".join([*parts, f"Answers {' · '.join(sorted(answers))}."])


def _row(document: Json, name: str, schema: Json, *, where: str, required: bool) -> list[str]:
    said = schema.get("description", "")
    default = schema.get("default")
    value = _value(document, schema) + (
        "" if default in (None, "", [], {}) else f", default {md.code(_shown(default))}"
    )
    return [md.code(name) + (" (needed)" if required else ""), where, value, said]


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(document: Json, schema: Json) -> str:
    """Say in words what may stand there."""
    schema = _resolved(document, schema)
    if "anyOf" in schema:
        return " or ".join(_value(document, kind) for kind in schema["anyOf"] if kind.get("type") != "null")
    words = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if words:
        return ", ".join(md.code(str(word)) for word in words)
    if schema.get("type") == "array":
        return f"list of {_value(document, schema.get('items', {}))}"
    kind = "moment" if schema.get("format") == "date-time" else str(schema.get("type", "any"))
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind} {low}–{high}" if low is not None and high is not None else kind


def _resolved(document: Json, schema: Json) -> Json:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        found: Json = document["components"]["schemas"][name]
        return found
    return (
        schema["allOf"][0]
        if "allOf" in schema and "$ref" not in schema["allOf"][0]
        else (_resolved(document, schema["allOf"][0]) if "allOf" in schema else schema)
    )


def _answer(status: Any, said: Json) -> str:
    schema = said["content"]["application/json"]["schema"]
    return f"{status} {md.code(schema.get('$ref', '').rsplit('/', 1)[-1])}"
