"""`manage.py inspect`: look at one memory from all sides."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from memories.inspect import Inspection, Why, inspect_memory
from memories.management.output import FaceCommand, columns, plain, wrapped
from memories.render import inspection_json

EXAMPLES: Final = """\
examples:
  manage.py inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f
  manage.py inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --query "deploy port"     why it is found, or not
  manage.py inspect 0190c2a4-7b1e-7cc3-98c4-dc0c0c07398f --json
"""


class Command(FaceCommand):
    """Prints a memory's text, versions, ties and history."""

    help = "Show all there is to say of a memory."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("id", help="the memory's id; any version's will do")
        parser.add_argument("--query", default="", help="say why this question brings it, or does not")

    def act(self, options: dict[str, Any]) -> int:
        seen = inspect_memory(operator(), options["id"], query=options["query"])
        if options["json"]:
            self.print_json(inspection_json(seen, is_person=True))
        else:
            self._print(seen)
        return 0

    def _print(self, seen: Inspection) -> None:
        for line in seen.memory.content.splitlines():
            self.stdout.write("\n".join(wrapped(line, width=columns())))
        self.stdout.write("")
        self.print_table(_facts(seen))
        self._print_rows("Versions", [[str(v.version), v.state, str(v.id), v.content] for v in seen.versions])
        self._print_rows(
            "Links",
            [[tie.kind, tie.status, f"{tie.source.id} – {tie.target.id}", tie.reason] for tie in seen.links],
        )
        said = [(s.subject.content[:40], s.relation.predicate, s.object.content[:40]) for s in seen.relations]
        self._print_rows("Relations", [list(ends) for ends in said])
        self._print_rows(
            "History", [[row["at"][:19], row["operation"], row["actor"], row["reason"]] for row in seen.log]
        )
        if seen.why:
            self._print_why(seen.why)

    def _print_rows(self, title: str, rows: list[list[str]]) -> None:
        if rows:
            self.stdout.write(f"\n{title}")
            self.print_table(rows)

    def _print_why(self, why: Why) -> None:
        self.stdout.write(f"\nAsked “{plain(why.query)}”: {plain(why.reason)}.")
        self.print_table([[name, f"{value:g}"] for name, value in why.numbers.items()])


def _facts(seen: Inspection) -> list[list[str]]:
    memory = seen.memory
    facts = {
        "id": str(memory.id),
        "counts now": "" if seen.head.id == memory.id else str(seen.head.id),
        "type": memory.type,
        "group": f"{memory.group.slug} ({memory.scope})",
        "state": f"{memory.state}, {memory.trust}{', pinned' if memory.pinned else ''}: recall does '{seen.shown}'",
        "tags": ", ".join(memory.tags),
        "confidence": f"{memory.confidence:.2f}",
        "importance": str(memory.importance),
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
