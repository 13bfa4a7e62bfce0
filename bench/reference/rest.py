"""docs/reference/rest.md: every address, read from the OpenAPI document."""

from typing import Any

from bench.reference import markdown as md
from loci_site.api import api

Json = dict[str, Any]
INTRO = """\
REST is at `/api/`. `/api/docs` is a page to try it out, `/api/openapi.json` the OpenAPI document; both contain no data
and need no token. Everything else needs a token, or the session of a logged-in browser (with the header `X-CSRFToken` for
requests that change something).

```
curl -H "Authorization: Bearer loci_…" "http://127.0.0.1:8000/api/recall?query=deploy+port&group=ledger"
```

- An unknown field or query parameter is an error: a misspelt filter never widens an answer.
- Timestamps are ISO 8601: `2026-11-21`, `2026-11-21T09:30Z`, `2026-11-21T10:30+01:00`. Without a zone they are UTC; a date without
  a time is its first moment.
- Lists have `items`, newest first, and `next`: pass it as `cursor` for the next page; null marks the last one. `limit` is at
  most 100.
- The id of any version leads to the memory; verbs and edits apply to its current version.
- A write takes the header `Idempotency-Key`, a new UUID for each write. Sent again with the same key and body within 24 hours, it
  gets the first answer, with `Idempotent-Replay: true`, and writes nothing. The key with another request is a 422, and while the
  first is under way a 409 with `Retry-After`.
- The answer to a write has `undo`: for 24 hours, `POST /api/undo` with it takes the write back, from the same token. It is null if
  nothing was written, and after a purge.
- A store answers 201 created, 200 reinforced or unchanged, 202 queued for a curator, 409 refused.
- Errors: [errors.md](errors.md). Every address may also answer 400, 401, 403, 404, 413, 422, 500 and 503."""


def page() -> str:
    """The page as Markdown."""
    document = api.get_openapi_schema(path_prefix="/api/")
    sections: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            text = render_operation(document, f"{method.upper()} {path}", operation)
            sections.setdefault(operation["tags"][0], []).append(text)
    parts = [part for tag, texts in sections.items() for part in (f"## {tag.capitalize()}", *texts)]
    return md.page("REST", INTRO, *parts)


def render_operation(document: Json, title: str, operation: Json) -> str:
    """One operation: description, parameters, fields of the body, and successful answers."""
    rows = [
        value_row(document, p["name"], p["schema"], where=p["in"], is_required=p["required"])
        for p in operation["parameters"]
    ]
    body = operation.get("requestBody")
    if body:
        schema = resolve(document, body["content"]["application/json"]["schema"])
        required = schema.get("required", [])
        rows += [
            value_row(document, name, part, where="body", is_required=name in required)
            for name, part in schema["properties"].items()
        ]
    answers = []
    for status, response in operation["responses"].items():
        if int(status) < 300:
            reference = response["content"]["application/json"]["schema"].get("$ref", "")
            answers.append(f"{status} {md.code(reference.rsplit('/', 1)[-1])}")
    parts = [f"### {title}", operation["description"].replace("\n", " ")]
    if rows:
        parts.append(md.table(("name", "in", "value", "what it is"), rows))
    return "\n\n".join([*parts, f"Answers {' · '.join(sorted(answers))}."])


def value_row(document: Json, name: str, schema: Json, *, where: str, is_required: bool) -> list[str]:
    """Name, place, allowed values and meaning of a parameter or field."""
    default = schema.get("default")
    value = describe_values(document, schema)
    if default not in (None, "", [], {}):
        value += f", default {md.code(str(default).lower() if isinstance(default, bool) else str(default))}"
    return [
        md.code(name) + (" (required)" if is_required else ""),
        where,
        value,
        schema.get("description", ""),
    ]


def describe_values(document: Json, schema: Json) -> str:
    """The allowed values in words."""
    schema = resolve(document, schema)
    if "anyOf" in schema:
        kinds = [kind for kind in schema["anyOf"] if kind.get("type") != "null"]
        return " or ".join(describe_values(document, kind) for kind in kinds)
    words = schema.get("enum") or ([schema["const"]] if "const" in schema else [])
    if words:
        return ", ".join(md.code(str(word)) for word in words)
    if schema.get("type") == "array":
        return f"list of {describe_values(document, schema.get('items', {}))}"
    kind = "timestamp" if schema.get("format") == "date-time" else str(schema.get("type", "any"))
    low, high = schema.get("minimum"), schema.get("maximum")
    return f"{kind} {low}–{high}" if low is not None and high is not None else kind


def resolve(document: Json, schema: Json) -> Json:
    """The schema that a `$ref`, or an `allOf` around one, points to; any other schema itself."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        found: Json = document["components"]["schemas"][name]
        return found
    if "allOf" in schema:
        first: Json = schema["allOf"][0]
        return resolve(document, first) if "$ref" in first else first
    return schema
