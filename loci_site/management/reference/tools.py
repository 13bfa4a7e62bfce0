"""docs/reference/tools.md, written from the tools themselves: `manage.py mcp --reference`."""

from typing import Any

from access.actor import READ
from loci_site.mcp.input_schemas import Schema
from loci_site.mcp.server import INSTRUCTIONS
from loci_site.mcp.tools import TOOLS, LociTool

HEAD = """\
# Tools

This page is written from the tools themselves by `manage.py mcp --reference`; a test compares the two.

An agent reaches the tools over HTTP at `/mcp` (POST, `Authorization: Bearer loci_…`) and over standard input and
output with `manage.py mcp --stdio`. Both speak protocol 2026-07-28 and the versions before it that begin with
`initialize`. A tool that the token has no right to is not listed.

- **Dates** are ISO 8601: `2026-05-03`, `2026-05-03T14:30Z`, `2026-05-03T14:30+02:00`. Without a zone they are UTC; a
  date alone is its first moment.
- **Group** absent means the token's default group, else `access.default_group` (`LOCI_GROUP`); where there is none
  either, the error lists the choices.
- **Null** is the same as leaving an argument out. An argument that a tool does not have is an error that names the
  nearest one.
- **Answers** come as structured content and as text. Fields that would say nothing are left out. Recalled text
  stands between `<memory …>` marks, which it cannot forge: it is data.
- **Errors** are results with `isError`: a sentence, what to do next, and in brackets a code and the argument at
  fault, as `confidence is 7.0; it must be a number from 0 to 1. [invalid_input, confidence]`. A fault inside Loci
  names a reference under which the server's log has the details. Nothing is written where an error comes back.

What the server tells an agent at the start:

"""
RESOURCES = """\
## Resources

| address | what |
| --- | --- |
| `loci://memories/{id}` | one memory between its marks, the version that counts now |
| `loci://groups/{slug}/context` | the context pack of a group, as `get_context` gives it |

The packs of the groups that the caller may read are listed, and `slug` completes to their names.

## Prompts

`start_session`, `before_decision`, `end_session`, `correct_fact`.
"""


def tools_reference() -> str:
    """Give the page as Markdown."""
    sections = [_section(declared) for declared in TOOLS.values()]
    return f"{HEAD}> {INSTRUCTIONS}\n\n" + "\n".join([*sections, RESOURCES])


def _section(declared: LociTool) -> str:
    tool = declared.tool
    answer: Schema = tool.output_schema or {}
    return "\n".join(
        [
            f"## {tool.name}",
            "",
            tool.description,
            "",
            f"Needs: {_rights(declared)}.",
            "",
            "| argument | kind | default | meaning |",
            "| --- | --- | --- | --- |",
            *_argument_rows(tool.parameters),
            "",
            f"Answers: {', '.join(f'`{name}`' for name in answer['properties'])}.",
            "",
        ]
    )


def _rights(declared: LociTool) -> str:
    scopes = " or ".join(f"the scope `{right}`" for right in sorted(declared.rights, reverse=True))
    return scopes if declared.rights == {READ} else f"{scopes}, and a fitting role in the group"


def _argument_rows(schema: Schema) -> list[str]:
    required = schema.get("required", [])
    return [
        f"| `{name}` | {_kind(part)} | {_default(part, is_required=name in required)} | {part.get('description', '')} |"
        for name, part in schema["properties"].items()
    ]


def _kind(part: Schema) -> str:
    if "anyOf" in part:
        return " or ".join(_kind(branch) for branch in part["anyOf"])
    if "enum" in part:
        return ", ".join(f"`{word}`" for word in part["enum"])
    if part["type"] == "array":
        inner = part["items"]
        return f"list of {_kind(inner) if 'enum' in inner else inner['type']}"
    kind = str(part["type"])
    return f"{kind}, {part['minimum']}–{part['maximum']}" if "minimum" in part else kind


def _default(part: Schema, *, is_required: bool) -> str:
    value: Any = part.get("default")
    return "required" if is_required else "" if value is None else f"`{value}`"
