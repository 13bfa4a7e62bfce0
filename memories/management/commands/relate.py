"""`manage.py relate`: store a relation between two memories or names."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from memories.browse.serializers import relation_json
from memories.draft import DEFAULT_CONFIDENCE
from memories.entities.store_relation import RelationDraft, store_relation
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand, printable

EXAMPLES: Final = """\
examples:
  loci relate "Invoice service" owned_by_team Payments --group ledger
  loci relate "Maria Keller" works_at Nordwind --valid-from 2026-03-01T00:00:00Z --group ledger
  loci relate Ledger depends_on PostgreSQL --evidence 4f2a9c1e --json
"""


class Command(FaceCommand):
    """Stores one relation; names that are not known yet become entities."""

    help = 'Relate two memories or names, for questions such as "which team owns the invoice service?".'
    examples = EXAMPLES
    uses_model = True

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("subject", help="a name, or the id of a memory")
        parser.add_argument("predicate", help="what holds between them, such as owned_by_team")
        parser.add_argument("object", help="a name, or the id of a memory")
        parser.add_argument(
            "--evidence",
            action="append",
            default=[],
            metavar="ID",
            help="a memory that proves it; may be repeated",
        )
        parser.add_argument(
            "--confidence",
            type=float,
            default=DEFAULT_CONFIDENCE,
            metavar="0..1",
            help="default: %(default)s",
        )
        parser.add_argument(
            "--valid-from", metavar="TIME", help="since when it is true: 2026-11-21T09:30:00Z"
        )
        parser.add_argument("--valid-to", metavar="TIME", help="until when it is true")

    def act(self, options: dict[str, Any]) -> int:
        moments = {
            n: parse_moment(options[n], field=n) if options[n] else None for n in ("valid_from", "valid_to")
        }
        draft = RelationDraft(
            options["subject"],
            options["predicate"],
            options["object"],
            group=options["group"],
            evidence=tuple(options["evidence"]),
            confidence=options["confidence"],
            **moments,
        )
        stored = store_relation(operator(), draft)
        if options["json"]:
            self.print_json(relation_json(stored))
            return 0
        new = " (a new group)" if stored.group_created else ""
        line = f"{stored.subject.content} —{stored.relation.predicate}→ {stored.object.content}"
        why = f": {stored.why}" if stored.why else ""
        self.stdout.write(
            printable(
                f"{stored.outcome.capitalize()} {stored.relation.id} in {stored.group}{new}: {line}{why}"
            )
        )
        if stored.entities_created:
            self.stdout.write(printable(f"New entities: {', '.join(stored.entities_created)}."))
        return 0
