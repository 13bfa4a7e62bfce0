"""`loci memory inspect`: everything about one memory."""

from typing import Any, Final

from access.management.command import CommandAnswer, CommandVerb, option
from access.tokens import operator
from access.visibility import Narrowing
from memories.browse.history import further_facts
from memories.browse.inspection import Inspection, inspect_memory
from memories.browse.serializers import InspectionOut
from memories.management.field_options import AS_OF, KNOWN_AT
from memories.management.output import printable, table_text, terminal_columns, wrap_text
from memories.models import Memory
from memories.queries.as_of import known_span, true_span
from memories.queries.labels import label_of


def inspect(options: dict[str, Any]) -> CommandAnswer:
    """A memory's text, versions, links, relations and history."""
    narrowing = Narrowing(as_of=options["as_of"], known_at=options["known_at"])
    seen = inspect_memory(operator(), options["id"], query=options["query"], narrowing=narrowing)
    return CommandAnswer(InspectionOut.json(seen, is_person=True), inspection_text(seen))


def inspection_text(seen: Inspection) -> str:
    """What is known about a memory, as text and tables."""
    links = [[k.kind, k.status, f"{k.source.id} – {k.target.id}", k.reason] for k in seen.links]
    relations = [[end_text(s.subject), s.relation.predicate, end_text(s.object)] for s in seen.relations]
    history = [[row["at"][:19], row["operation"], row["actor"], row["reason"]] for row in seen.log]
    tables = (
        ("Versions", [version_row(version) for version in seen.versions]),
        ("Links", links), ("Relations", relations), ("History", history),
    )  # fmt: skip
    width = terminal_columns()
    lines = [
        line for part in seen.memory.content.splitlines() for line in wrap_text(part, width=width) or [""]
    ]
    lines += ["", table_text(fact_rows(seen))]
    for title, rows in tables:
        lines += [f"\n{title}", table_text(rows)] if rows else []
    if (why := seen.why) is not None:
        numbers = [[name, f"{value:g}"] for name, value in why.numbers.items()]
        lines.append(f"\nAsked “{printable(why.query)}”: {printable(why.reason)}.")
        lines += [table_text(numbers)] if numbers else []
    return "\n".join(lines)


def version_row(version: Memory) -> list[str]:
    """A row of the table of versions."""
    spans = f"true {true_span(version)}; known {known_span(version)}"
    return [str(version.version), label_of(version) or version.state, str(version.id), spans, version.content]


def end_text(memory: Memory) -> str:
    """The start of one end of a relation, with its label if it is not current."""
    label = label_of(memory)
    return f"{memory.content[:40]} ({label})" if label else memory.content[:40]


def fact_rows(seen: Inspection) -> list[list[str]]:
    """The memory's fields with values, as (name, value)."""
    memory = seen.memory
    facts = {
        "id": str(memory.id),
        "current version": "" if seen.head.id == memory.id else str(seen.head.id),
        "type": memory.type,
        "group": f"{memory.group.slug} ({memory.scope})",
        "state": f"{memory.state}, {memory.trust}{', pinned' if memory.pinned else ''}: recall {seen.recall_treatment}s it",
        "label": seen.label,
        "tags": ", ".join(memory.tags),
        "confidence": f"{memory.confidence:.2f}",
        "importance": str(memory.importance),
        **{title.lower(): "" if value == "—" else value for title, value in further_facts(memory)},
        "thread": f"{memory.thread.name} at {memory.position}" if memory.thread else "",
        "source": memory.source,
        "author": memory.author_name,
        "stored": f"{memory.created_at:%Y-%m-%d %H:%M} UTC",
        "true from": f"{memory.valid_from:%Y-%m-%d %H:%M} UTC" if memory.valid_from else "",
        "true until": f"{memory.valid_to:%Y-%m-%d %H:%M} UTC" if memory.valid_to else "",
        "recalled": f"{memory.access_count} times",
        "pieces": f"{seen.pieces}"
        + (f", {seen.pieces_owed} without vectors yet" if seen.pieces_owed else ""),
    }
    return [[name, value] for name, value in facts.items() if value]


INSPECT: Final = CommandVerb(
    inspect,
    "show everything about a memory",
    (
        option("id", help="the id of any of its versions"),
        option("--query", default="", help="explain why this question finds it or not"),
        AS_OF,
        KNOWN_AT,
    ),
)
