"""`manage.py inspect`: show everything about one memory."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from access.visibility import Narrowing
from memories.browse.facts import further_facts
from memories.browse.inspection import Inspection, RecallReason, inspect_memory
from memories.browse.serializers import inspection_json
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand, printable, terminal_columns, wrap_text
from memories.models import Memory
from memories.queries.as_of import known_span, true_span
from memories.queries.labels import label_of

EXAMPLES: Final = """\
examples:
  loci inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f
  loci inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --query "deploy port"     why recall finds it or not
  loci inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --as-of 2026-03-01       the version that was true then
  loci inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --known-at 2026-03-01    the version that Loci knew then
  loci inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --json
"""


class Command(FaceCommand):
    """Prints a memory's text, versions, links, relations and history."""

    help = "Show everything about a memory."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="the id of any of its versions")
        parser.add_argument("--query", default="", help="explain why this question finds it or not")
        parser.add_argument(
            "--as-of", metavar="TIME", help="the version that was true then: 2026-11-21T09:30Z"
        )
        parser.add_argument("--known-at", metavar="TIME", help="the version that Loci knew then")

    def act(self, options: dict[str, Any]) -> int:
        as_of, known_at = (
            parse_moment(options[name], field=name) if options[name] else None
            for name in ("as_of", "known_at")
        )
        seen = inspect_memory(
            operator(),
            options["id"],
            query=options["query"],
            narrowing=Narrowing(as_of=as_of, known_at=known_at),
        )
        if options["json"]:
            self.print_json(inspection_json(seen, is_person=True))
        else:
            self._print(seen)
        return 0

    def _print(self, seen: Inspection) -> None:
        for line in seen.memory.content.splitlines():
            self.stdout.write("\n".join(wrap_text(line, width=terminal_columns())))
        self.stdout.write("")
        self.print_table(fact_rows(seen))
        self._print_rows("Versions", [version_row(version) for version in seen.versions])
        self._print_rows(
            "Links",
            [
                [link.kind, link.status, f"{link.source.id} – {link.target.id}", link.reason]
                for link in seen.links
            ],
        )
        self._print_rows(
            "Relations",
            [[end_text(s.subject), s.relation.predicate, end_text(s.object)] for s in seen.relations],
        )
        self._print_rows(
            "History", [[row["at"][:19], row["operation"], row["actor"], row["reason"]] for row in seen.log]
        )
        if seen.why:
            self._print_why(seen.why)

    def _print_rows(self, title: str, rows: list[list[str]]) -> None:
        if rows:
            self.stdout.write(f"\n{title}")
            self.print_table(rows)

    def _print_why(self, why: RecallReason) -> None:
        self.stdout.write(f"\nAsked “{printable(why.query)}”: {printable(why.reason)}.")
        self.print_table([[name, f"{value:g}"] for name, value in why.numbers.items()])


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
