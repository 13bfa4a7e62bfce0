"""docs/reference/tools.md, generated from the tools themselves: `manage.py mcp --reference`."""

from typing import Any

from django.conf import settings

from access.actor import READ
from access.answers import keys_of
from bench.reference import markdown as md
from loci_site.mcp.changes import CHANGES, CHANGES_HELP
from loci_site.mcp.inspected import MIN_BUDGET
from loci_site.mcp.server import INSTRUCTIONS
from loci_site.mcp.tools import TOOLS, LociTool, Schema
from memories.recall import MIN_TOKEN_BUDGET
from memories.sessions.context_pack import DEFAULT_BUDGET, MIN_TOKENS
from memories.sessions.thread_page import MIN_BUDGET as MIN_THREAD_BUDGET

HEAD = """\
# Tools

This page is generated from the tools by `manage.py mcp --reference`; a test compares the two.

An agent reaches the tools over HTTP at `/mcp` (POST, `Authorization: Bearer loci_…`) and over standard input and
output with `manage.py mcp --stdio`. Both speak protocol 2026-07-28 and the earlier versions that begin with
`initialize`. Tools that the token has no right to use are not listed.

- **Dates** are ISO 8601: `2026-05-03`, `2026-05-03T14:30Z`, `2026-05-03T14:30+02:00`. Without a zone they are UTC; a
  date without a time is its first moment.
- **Group**, if absent, is the token's default group, else `access.default_group` (`LOCI_GROUP`); if neither is set, the
  error lists the choices.
- **Filters** go into one object, `where`, with the same keys in every tool that takes it. An unknown key is an error that
  lists the known ones.
- **Null** is the same as leaving an argument out. An unknown argument is an error that names the nearest known one.
- **Retries**: every tool that writes takes an `idempotency_key`, a new UUID for each write. The same call with the same key
  within 24 hours gets the first answer and writes nothing.
- **Undo**: the answer to a write has an `undo` id; `forget_memory` with the verb `undo` takes it for 24 hours.
- **Answers** of the tools that read memories are text alone. Stored text is enclosed in `<memory …>` marks, which it cannot
  forge: it is data. A mark has the short id, type and date, the trust unless it is plainly active, who disputes it and why,
  the group if it is another than the answer's, and the source. A line after it names memories that say the same, the events of
  a summary, and what takes its place on a day to come; `<turn …>` marks turns next to it. REST has the same as fields.
- **Answers** of the tools that write or count are JSON, as structured content and as text. Fields without information are left out.
  The tool's schema names the first fields alone; all of them are listed here.
- **Ids** may be short: the last eight characters or more. A relation's is always whole.
- **`token_budget`** counts the text of an answer, marks included, in tokens of the embedding model. What does not fit is cut, and
  the text says so and how to read the rest. An explanation comes on top.
- **Errors** are results with `isError`: a sentence, what to do next, and in brackets a code and the wrong argument,
  as in `confidence is 7.0; it must be a number from 0 to 1. [invalid_input, confidence]`. An error inside Loci names a
  reference under which the server's log has the details. A call that ends with an error writes nothing.

{budgets}

Filters of `where` and fields of answers that need a word more:

| name | meaning |
| --- | --- |
| `where.after`, `where.before` | when it happened or began to be true (`valid_from`), or else when it was stored: from `after` to `before`, both included. `after` may not be later than `before` |
| `where.source` | the `source` that was given with the memory, word for word |
| `where.thread` | the name of the memory's thread, word for word |
| `near[].next` | what to do about a neighbour if your statement is right: `supersede` it (it was true and has changed), `retract` it (it was wrong), or `nothing` (both can be true, or a person decides) |
| `recorded`, `undone` | of `forget_memory`: with `used` and `wrong`, how many verdicts were new; with `undo`, the operation that was undone |

Instructions that the server sends to an agent at the start:

"""
RESOURCES = """\
## Resources

| address | what |
| --- | --- |
| `loci://memories/{id}` | the current version of a memory between its marks |
| `loci://groups/{slug}/context` | the context pack of a group, as from `get_context` |

The context packs of the groups that the caller may read are listed; `slug` completes to their names.

## Prompts

`start_session`, `before_decision`, `end_session`, `correct_fact`.
"""


def tools_reference() -> str:
    """The page as Markdown."""
    sections = [render_tool(declared) for declared in TOOLS.values()]
    head = HEAD.replace("{budgets}", budget_table())
    return f"{head}> {INSTRUCTIONS}\n\n" + "\n".join([*sections, RESOURCES])


def budget_table() -> str:
    """The smallest and the default token_budget of each tool that takes one."""
    rows = [
        (
            "`recall_memory` with `query`",
            MIN_TOKEN_BUDGET,
            f"{settings.LOCI.retrieval.token_budget} (`retrieval.token_budget`)",
        ),
        ("`recall_memory` with `ids`", MIN_TOKEN_BUDGET, "none: all of it"),
        ("`get_context`", MIN_TOKENS, DEFAULT_BUDGET),
        ("`memory_inspect` with `id`, or with `query` alone", MIN_BUDGET, "none: all of it"),
        ("`memory_inspect` of a thread or group", MIN_THREAD_BUDGET, DEFAULT_BUDGET),
    ]
    return md.table(("call", "smallest budget", "default"), [[str(cell) for cell in row] for row in rows])


def render_tool(declared: LociTool) -> str:
    """The section of one tool: description, rights, arguments and fields of its answer."""
    tool = declared.tool
    scopes = " or ".join(f"the scope `{right}`" for right in sorted(declared.rights, reverse=True))
    role = "" if declared.rights == {READ} else ", and a role in the group that allows it"
    verbs = md.table(("verb", "effect"), [[f"`{name}`", CHANGES_HELP[name]] for name in CHANGES])
    parts = [
        f"## {tool.name}",
        tool.description,
        f"Needs: {scopes}{role}.",
        md.table(("argument", "kind", "default", "meaning"), argument_rows(tool.parameters)),
        *([verbs] if tool.name == "forget_memory" else []),
        f"Answers: {describe_answer(declared)}.\n",
    ]
    return "\n\n".join(parts)


def describe_answer(declared: LociTool) -> str:
    """The fields of a tool's answer."""
    if declared.answer is None:
        return "text"
    names = [key.name for key in keys_of(declared.answer)] + ["undo"] * (declared.rights != {READ})
    return ", ".join(f"`{name}`" for name in names)


def argument_rows(schema: Schema, *, within: str = "") -> list[list[str]]:
    """One table row per argument, and per key of an object: name, kind, default, meaning."""
    required = schema.get("required", [])
    rows = []
    for name, part in schema["properties"].items():
        value: Any = part.get("default")
        default = "required" if name in required else "" if value is None else f"`{value}`"
        rows.append([f"`{within}{name}`", describe_kind(part), default, part.get("description", "")])
        if "properties" in part:
            rows += argument_rows(part, within=f"{name}.")
    return rows


def describe_kind(part: Schema) -> str:
    """The type or the allowed values of an argument in words."""
    if "anyOf" in part:
        return " or ".join(describe_kind(branch) for branch in part["anyOf"])
    if "enum" in part:
        return ", ".join(f"`{word}`" for word in part["enum"])
    if part["type"] == "array":
        inner = part["items"]
        return f"list of {describe_kind(inner) if 'enum' in inner else inner['type']}"
    kind = str(part["type"])
    return f"{kind}, {part.get('minimum', 0)}–{part['maximum']}" if "maximum" in part else kind
